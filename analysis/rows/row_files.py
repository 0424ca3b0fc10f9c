"""Rows of runs as Parquet files: one file for each relation, with whole runs one after the other.

The rows of a run are in their total order. A group of rows of the file ends with a run, unless runs
are small; so a reader of one run skips the others by the statistics. All 64-bit integers are packed
as differences, which is as small as dictionaries are, and reads two to four times as fast.

Traces are held as they are packed, some ten bytes a row, and unpacked kind by kind and part by
part: memory does not grow with the rows of a kind.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # the same
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # the same

from tidegauge.analysis.attribution import arrow_of_causes
from tidegauge.analysis.requests import FoundRun
from tidegauge.analysis.rows.row_names import RowNames
from tidegauge.analysis.rows.row_schema import CAUSES, NameColumn, names_of, schema_of
from tidegauge.analysis.tables.topology import TOPOLOGY, Topology
from tidegauge.traces.run_folder import RunFolder, in_total_order
from tidegauge.traces.trace_file import Frame, Table

#: Rows of a group of rows in a file, and rows that are unpacked at a time.
_MOST_ROWS = 500_000

#: A higher level is slower, and hardly smaller.
_COMPRESSION = {"compression": "zstd", "compression_level": 1}


def write_rows(
    runs: Sequence[FoundRun],
    relations: Sequence[str],
    place: Callable[[str], Path],
    *,
    with_names: bool,
) -> dict[str, int]:
    """Write relations of runs, each as one Parquet file.

    Args:
        runs: the runs, in the order in which their rows are to be in the files.
        relations: the names of the relations, of ``RELATIONS``.
        place: the file of a relation, whose folder is made if it is missing.
        with_names: whether rows have names and links, as :func:`schema_of` has it.

    Returns:
        The number of rows of each relation.

    Raises:
        KeyError: there is no such relation.
        RunError, ScenarioError, TraceError: a run cannot be read.
        OSError: a file cannot be written.
    """
    relations_of = _Relations(runs, with_names=with_names)
    counts = {}
    for name in relations:
        file = place(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        counts[name] = _write(file, schema_of(name, with_names=with_names), relations_of[name])
    return counts


class PartWork(NamedTuple):
    """A part to be written: the input of :func:`write_part`."""

    number: int
    runs: tuple[FoundRun, ...]
    relations: tuple[str, ...]
    draft: Path


class WrittenPart(NamedTuple):
    """A part that was written."""

    number: int
    #: The rows of each relation.
    rows: Mapping[str, int]


def write_part(work: PartWork) -> WrittenPart:
    """Write the files of a part into a draft.

    Raises:
        RunError, ScenarioError, TraceError: a run cannot be read.
        OSError: a file cannot be written.
    """
    rows = write_rows(
        work.runs,
        work.relations,
        lambda relation: part_file(work.draft, relation, work.number),
        with_names=True,
    )
    return WrittenPart(work.number, rows)


def part_file(folder: Path, relation: str, number: int) -> Path:
    """The file of a relation of a part."""
    return folder / relation / f"part-{number}.parquet"


def write_without(runs: Sequence[str], file: Path, to: Path) -> int:
    """Write a file of rows again, without those of some runs, by name; the number of its rows.

    Raises:
        OSError: a file cannot be read or written.
    """
    to.parent.mkdir(parents=True, exist_ok=True)
    gone = pa.array(runs, pa.string())
    with pq.ParquetFile(file) as old:
        groups = (old.read_row_group(place) for place in range(old.num_row_groups))
        kept = (
            group.filter(pc.invert(pc.is_in(group["run"].cast(pa.string()), value_set=gone)))
            for group in groups
        )
        return _write(to, old.schema_arrow, kept)


class _Relations:
    """The relations of some runs, each as Arrow tables with rows of one run, or of all."""

    def __init__(self, runs: Sequence[FoundRun], *, with_names: bool) -> None:
        self._found = runs
        self._with_names = with_names
        self._topology = Topology(runs)
        self._runs = [_RunRows(run) for run in runs]

    def __getitem__(self, name: str) -> Iterator[Any]:
        if name in TOPOLOGY:
            return iter([self._topology[name]])
        if name == CAUSES:
            return (arrow_of_causes(run) for run in self._found)
        return (
            table for run in self._runs for table in run.tables(name, with_names=self._with_names)
        )


class _RunRows:
    """The rows of a run, kind by kind."""

    def __init__(self, run: FoundRun) -> None:
        self._name = run.name
        self._end_us = run.end_us()
        self._folder = RunFolder(run.folder, was_just_written=True)
        self._names = RowNames(self._folder)

    @cached_property
    def _frames(self) -> Mapping[str, list[Frame]]:
        frames: dict[str, list[Frame]] = {}
        for trace in self._folder.traces:
            for frame in trace.frames:
                frames.setdefault(frame.kind.name, []).append(frame)
        return frames

    def tables(self, kind: str, *, with_names: bool) -> Iterator[Any]:
        """The rows of a kind in their total order, part by part."""
        schema = schema_of(kind, with_names=with_names)
        names = {each.name: each for each in names_of(kind)} if with_names else {}
        for rows in _parts_in_order(self._frames.get(kind, [])):
            yield pa.table([self._column(field, rows, names) for field in schema], schema=schema)

    def _column(self, field: Any, rows: Table, names: Mapping[str, NameColumn]) -> Any:
        if field.name in rows:
            return pa.array(rows[field.name])
        times_us = rows["time_us"]
        if field.name == "run":
            return pa.DictionaryArray.from_arrays(np.zeros(len(times_us), np.int32), [self._name])
        if field.name == "liveness":
            return pa.array(times_us >= self._end_us)
        # An earlier release may not have had the column.
        if field.name in names and names[field.name].of in rows:
            return self._names.column(names[field.name], rows)
        return pa.nulls(len(times_us), field.type)


def _parts_in_order(frames: Sequence[Frame]) -> Iterator[Table]:
    """The rows of frames of one kind in their total order, about so many at a time."""
    by_time = sorted(frames, key=lambda frame: frame.first_time_us)
    waiting: list[Table] = []
    for place, frame in enumerate(by_time, 1):
        waiting.append({name: frame.column(name) for name in frame.kind.all_columns})
        if place == len(by_time):
            yield in_total_order(waiting)
        elif sum(len(part["time_us"]) for part in waiting) >= _MOST_ROWS:
            rows = in_total_order(waiting)
            # Rows of later frames may come before all others.
            end = int(np.searchsorted(rows["time_us"], by_time[place].first_time_us))
            yield {name: values[:end] for name, values in rows.items()}
            waiting = [{name: values[end:] for name, values in rows.items()}]


def _write(file: Path, schema: Any, tables: Iterable[Any]) -> int:
    """Write a file; the number of its rows."""
    numbers = [each.name for each in schema if pa.types.is_int64(each.type)]
    texts = [each.name for each in schema if each.name not in numbers]
    lists = [f"{name}.list.element" for name in texts]
    rows = 0
    with pq.ParquetWriter(
        file,
        schema,
        use_dictionary=[*texts, *lists],
        column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        write_page_index=True,
        **_COMPRESSION,
    ) as writer:
        for group in _row_groups(tables):
            writer.write_table(group.cast(schema).unify_dictionaries(), _MOST_ROWS)
            rows += len(group)
    return rows


def _row_groups(tables: Iterable[Any]) -> Iterator[Any]:
    """Small tables put together; a larger one begins a group of its own."""
    waiting: list[Any] = []
    rows = 0
    for table in tables:
        if waiting and rows + len(table) > _MOST_ROWS:
            yield pa.concat_tables(waiting)
            waiting, rows = [], 0
        waiting.append(table)
        rows += len(table)
    if waiting:
        yield pa.concat_tables(waiting)
