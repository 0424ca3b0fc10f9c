"""Files of many runs: Parquet by relation, each of a group of whole runs, and the list of groups.

``FOLDER/<relation>/part-<group>.parquet``, with the name of each row's run in the column ``run``;
and ``FOLDER/groups.json``: the runs of each group, the inputs that it was made of, and the
relations that it has. A folder for each run and relation would be 40,000 files for a sweep of a
thousand runs, which take longer to open than to read.

Groups are put in place as a whole: first their files, then the list by renaming. A reader goes by
the list, so that it never sees half of a group. A group is never changed: if the inputs of one of
its runs are others now, another group without that run takes its place, and its files are removed.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # the same
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # the same
from filelock import FileLock

from tidegauge.traces.run_files import RunError

#: The inputs of what was made of a run by their names, as JSON has them: equal ones, equal files.
MadeOf = Mapping[str, Any]

LIST = "groups.json"
_LOCK = ".groups.lock"
_FORMAT = "tidegauge-groups"
_PART = re.compile(r"part-(\d+)\.parquet", re.ASCII)


class Group(NamedTuple):
    """Runs whose rows share files."""

    number: int
    #: The inputs of each run, by its name.
    runs: Mapping[str, MadeOf]
    #: The relations that it has, each in a file of its own.
    relations: tuple[str, ...]


class FileOfRuns(NamedTuple):
    """A file, and the runs of interest in it."""

    file: Path
    runs: tuple[str, ...]
    #: It has other runs, too.
    has_others: bool


def part_file(folder: Path, relation: str, number: int) -> Path:
    """The file of a group's relation."""
    return folder / relation / f"part-{number:05}.parquet"


def groups_in(folder: Path) -> list[Group]:
    """The groups of a folder; none if it has no list.

    Raises:
        RunError: the list cannot be read.
    """
    try:
        return _groups(json.loads((folder / LIST).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise RunError(f"{folder / LIST}: is not a list of groups of Tidegauge") from error


def _groups(told: Mapping[str, Any]) -> list[Group]:
    if told["format"] != _FORMAT:
        raise ValueError(told["format"])
    return [
        Group(int(each["number"]), dict(each["runs"]), tuple(each["relations"]))
        for each in told["groups"]
    ]


def files_of(
    folder: Path, groups: Sequence[Group], relation: str, runs: Mapping[str, MadeOf]
) -> list[FileOfRuns]:
    """The files that have a relation of these runs, of just these inputs; each run is in one."""
    found = []
    wanted = dict(runs)
    for group in groups:
        if relation in group.relations:
            names = tuple(name for name in group.runs if group.runs[name] == wanted.get(name))
            for name in names:
                del wanted[name]
            if names:
                file = part_file(folder, relation, group.number)
                found.append(FileOfRuns(file, names, len(names) < len(group.runs)))
    return found


def complete_groups_in(folder: Path) -> list[Group]:
    """The groups of a folder of which no file was deleted.

    Raises:
        RunError: the list cannot be read.
    """
    return [group for group in groups_in(folder) if _is_complete(folder, group)]


def _is_complete(folder: Path, group: Group) -> bool:
    return all(part_file(folder, each, group.number).exists() for each in group.relations)


def relations_of(groups: Sequence[Group], run: str, made_of: MadeOf) -> frozenset[str]:
    """The relations that groups have of a run, of just these inputs."""
    return frozenset(
        relation
        for group in groups
        if group.runs.get(run) == made_of
        for relation in group.relations
    )


@contextmanager
def draft_in(folder: Path) -> Iterator[Path]:
    """A folder for incomplete files, on the same disk; it is removed in the end."""
    folder.mkdir(parents=True, exist_ok=True)
    draft = Path(mkdtemp(prefix=".draft-", dir=folder))
    try:
        yield draft
    finally:
        # Spark may still write there if an error ends the making.
        shutil.rmtree(draft, ignore_errors=True)


def put_groups(
    folder: Path, draft: Path, runs: Sequence[Mapping[str, MadeOf]], relations: Sequence[str]
) -> None:
    """Put the files of new groups in place, and take the runs that they replace out of others.

    Args:
        folder: the folder of groups.
        draft: the folder of their files, named as by :func:`part_file`, numbered from 0 on.
        runs: the inputs of the runs of each group.
        relations: the relations that all of them have.

    Raises:
        RunError: the list of groups cannot be read.
        OSError: the files cannot be put in place.
    """
    inputs = {name: made_of for group in runs for name, made_of in group.items()}
    with FileLock(folder / _LOCK):
        before = groups_in(folder)
        numbers = count(max((group.number for group in before), default=-1) + 1)
        kept = []
        for group in before:
            if not _is_complete(folder, group):
                continue
            # With equal inputs, another command has made the same relations at the same time.
            is_made_twice = not {*relations}.isdisjoint(group.relations)
            replaced = [
                name
                for name, made_of in group.runs.items()
                if name in inputs and (is_made_twice or inputs[name] != made_of)
            ]
            if not replaced:
                kept.append(group)
            elif len(replaced) < len(group.runs):
                kept.append(_without(group, replaced, folder, draft, next(numbers)))
        for place, group_runs in enumerate(runs):
            new = Group(next(numbers), group_runs, tuple(relations))
            for relation in relations:
                _put(part_file(draft, relation, place), part_file(folder, relation, new.number))
            kept.append(new)
        _write_list(folder, draft, kept)
        _remove_all_but(folder, kept)


def _without(group: Group, runs: Sequence[str], folder: Path, draft: Path, number: int) -> Group:
    """Put a group in place that has the runs of another one but for some."""
    for relation in group.relations:
        incomplete = draft / f"without-{number}-{relation}.parquet"
        _copy_without(runs, part_file(folder, relation, group.number), incomplete)
        _put(incomplete, part_file(folder, relation, number))
    kept = {name: made_of for name, made_of in group.runs.items() if name not in runs}
    return Group(number, kept, group.relations)


def _copy_without(runs: Sequence[str], file: Path, copy: Path) -> None:
    """Write the rows of a file again, without those of some runs, by its own groups of rows."""
    names = pa.array(runs, pa.string())
    with (
        pq.ParquetFile(file) as old,
        pq.ParquetWriter(copy, old.schema_arrow, compression="zstd") as new,
    ):
        for place in range(old.num_row_groups):
            rows = old.read_row_group(place)
            of_them = pc.is_in(rows["run"].cast(pa.string()), value_set=names)
            new.write_table(rows.filter(pc.invert(of_them)))


def _put(file: Path, place: Path) -> None:
    place.parent.mkdir(exist_ok=True)
    file.replace(place)


def _write_list(folder: Path, draft: Path, groups: Sequence[Group]) -> None:
    listed = {"format": _FORMAT, "groups": [group._asdict() for group in groups]}
    incomplete = draft / LIST
    with incomplete.open("w", encoding="utf-8") as file:
        json.dump(listed, file)
        file.flush()
        os.fsync(file.fileno())
    incomplete.replace(folder / LIST)


def _remove_all_but(folder: Path, groups: Sequence[Group]) -> None:
    """Remove files of former groups, and of those that were never put in the list."""
    known = {(relation, group.number) for group in groups for relation in group.relations}
    for file in folder.glob("*/part-*.parquet"):
        part = _PART.fullmatch(file.name)
        if part is not None and (file.parent.name, int(part[1])) not in known:
            file.unlink()
            if not any(file.parent.iterdir()):
                file.parent.rmdir()
