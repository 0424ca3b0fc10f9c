"""Rows that were exported, for readers: the manifest of their folder, and the files of some runs.

``FOLDER/rows.json`` names the parts of the folder, the runs of each with their traces, and the
number of rows. A run is known by its folder, since its name depends on the runs beside it: the same
run may have another name here than in the files. Readers get rows with the names that runs have
here, and only the columns that result tables use.
"""

import hashlib
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # the same
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # the same

from tidegauge.analysis.requests import FoundRun, from_here
from tidegauge.analysis.rows.row_files import part_file
from tidegauge.analysis.rows.row_schema import RELATIONS, schema_of
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.simulation.trace_rows.schema import SCHEMA_VERSION, tidegauge_version
from tidegauge.traces.run_files import read_summary, trace_files
from tidegauge.traces.run_folder import write_json_atomically

#: The format that a manifest names.
FORMAT = "tidegauge-rows"
MANIFEST = "rows.json"

#: An error shows the folders of at most so many runs.
_SHOWN_RUNS = 3

#: The inputs that tell a trace: its hash, or the sizes of its files while it grows.
Trace = dict[str, Any]


class RowsError(TidegaugeError):
    """A folder of rows cannot be used, or a relation does not exist; the message is one line."""


class Entry(NamedTuple):
    """A run of a part."""

    name: str
    folder: Path
    trace: Trace


class Part(NamedTuple):
    """Whole runs, whose rows share files."""

    number: int
    runs: Sequence[Entry]
    #: The number of rows of each relation.
    rows: Mapping[str, int]

    def as_json(self) -> dict[str, Any]:
        """The part as the manifest has it."""
        runs = [{"run": each.name, "folder": str(each.folder), **each.trace} for each in self.runs]
        return {"part": self.number, "runs": runs, "rows": dict(self.rows)}


class Manifest(NamedTuple):
    """The content of a folder of rows."""

    relations: tuple[str, ...]
    parts: Sequence[Part]


def trace_of(run: FoundRun) -> Trace:
    """The inputs that tell the present trace of a run from an earlier one, as JSON has them.

    Raises:
        RunError: the summary cannot be read.
    """
    summary = read_summary(run.folder)
    if summary is not None:
        return {"trace_sha256": str(summary["trace_sha256"])}
    return {"trace_bytes": {file.name: file.stat().st_size for file in trace_files(run.folder)}}


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder; None: there is none yet.

    Raises:
        RowsError: it is that of something else, is damaged, or names other columns.
    """
    file = folder / MANIFEST
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise RowsError(f"{file}: cannot be read: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise RowsError(f"{file}: not the manifest of rows of Tidegauge")
    try:
        relations = tuple(map(str, content["relations"]))
        parts = [_part_of(each) for each in content["parts"]]
    except (KeyError, TypeError, ValueError) as error:
        raise RowsError(f"{file}: is damaged: its parts cannot be read") from error
    if content.get("columns_sha256") != _columns_sha256(relations):
        raise RowsError(
            f"{file}: its rows have the columns of Tidegauge {content.get('tidegauge')},"
            f" and this is {tidegauge_version()}: export to another folder"
        )
    return Manifest(relations, parts)


def _part_of(content: Mapping[str, Any]) -> Part:
    entries = [
        Entry(
            each["run"],
            Path(each["folder"]),
            {name: each[name] for name in ("trace_sha256", "trace_bytes") if name in each},
        )
        for each in content["runs"]
    ]
    return Part(int(content["part"]), entries, content["rows"])


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest of a folder.

    Raises:
        OSError: it cannot be written.
    """
    write_json_atomically(
        folder / MANIFEST,
        {
            "format": FORMAT,
            "schema_version": SCHEMA_VERSION,
            "tidegauge": tidegauge_version(),
            "columns_sha256": _columns_sha256(manifest.relations),
            "relations": manifest.relations,
            "parts": [part.as_json() for part in manifest.parts],
        },
    )


def _columns_sha256(relations: Iterable[str]) -> str:
    """A hash of the columns of relations: files with others cannot be read together."""
    known = [name for name in relations if name in RELATIONS]
    columns = {
        name: [(field.name, str(field.type)) for field in schema_of(name, with_names=True)]
        for name in known
    }
    return hashlib.sha256(json.dumps([*relations, columns]).encode()).hexdigest()


class ExportedFile(NamedTuple):
    """A file with a relation of some runs."""

    file: Path
    #: The number of its rows, those of other runs included.
    rows: int
    #: The names of the wanted runs, by those that they have in the file.
    names: Mapping[str, str]
    #: It has other runs, too.
    has_others: bool


class ExportedRows:
    """The exported rows of some runs, of their present traces."""

    def __init__(self, folder: Path, runs: Sequence[FoundRun]) -> None:
        """Read the manifest, and look all runs up.

        Args:
            folder: a folder that ``tidegauge export`` has written.
            runs: the runs, with the names that they have here.

        Raises:
            RowsError: the folder cannot be used, or does not have rows of the trace of a run.
            RunError: a summary cannot be read.
        """
        self._folder = folder
        #: The manifest.
        self.file = folder / MANIFEST
        manifest = read_manifest(folder)
        if manifest is None:
            raise RowsError(f"{folder}: has no {MANIFEST}; {self._export_of(runs)} writes the rows")
        self._relations = manifest.relations
        self._parts = manifest.parts
        self._check(runs)

    def _check(self, runs: Sequence[FoundRun]) -> None:
        exported = {entry.folder: entry.trace for part in self._parts for entry in part.runs}
        unlike = [run for run in runs if exported.get(run.folder) != trace_of(run)]
        if not unlike:
            return
        first, others = unlike[0], len(unlike) - 1
        lack = "rows of another trace" if first.folder in exported else "no rows"
        more = f" (and {others} more of the runs)" if others else ""
        raise RowsError(
            f"{self.file}: has {lack} of run {first.name}{more};"
            f" {self._export_of(unlike)} adds them"
        )

    def _export_of(self, runs: Sequence[FoundRun]) -> str:
        """The command that exports runs to this folder."""
        folders = [shlex.quote(str(from_here(run.folder))) for run in runs[:_SHOWN_RUNS]]
        more = ["..."] if len(runs) > _SHOWN_RUNS else []
        to = shlex.quote(str(self._folder))
        return f"`tidegauge export {' '.join([*folders, *more])} --to {to}`"

    def files_of(self, relation: str, runs: Iterable[FoundRun]) -> list[ExportedFile]:
        """The files that have a relation of some of the runs.

        Raises:
            RowsError: the folder does not have the relation.
        """
        if relation not in self._relations:
            raise RowsError(
                f"{self.file}: has no relation {relation}, which the tables need;"
                " export to another folder without --kind"
            )
        here = {run.folder: run.name for run in runs}
        return list(self._files(relation, here))

    def _files(self, relation: str, here: Mapping[Path, str]) -> Iterator[ExportedFile]:
        for part in self._parts:
            names = {run.name: here[run.folder] for run in part.runs if run.folder in here}
            if names:
                file = part_file(self._folder, relation, part.number)
                yield ExportedFile(file, part.rows[relation], names, len(names) < len(part.runs))


def columns_of(relation: str) -> list[str]:
    """The columns of a relation's files that result tables use."""
    names: list[str] = schema_of(relation, with_names=False).names
    return names


def rows_in(files: Iterable[ExportedFile], relation: str) -> Any:
    """The rows of the wanted runs as an Arrow table; the rows of a run are in their order.

    Args:
        files: the files of the relation, at least one.
        relation: its name.

    Raises:
        OSError: a file cannot be read.
    """
    return pa.concat_tables([_rows_in(each, columns_of(relation)) for each in files])


def _rows_in(exported: ExportedFile, columns: Sequence[str]) -> Any:
    wanted = pc.field("run").cast(pa.string()).isin([*exported.names])
    rows = pq.read_table(
        exported.file,
        columns=columns,
        filters=wanted if exported.has_others else None,
        partitioning=None,
    )
    if all(name == here for name, here in exported.names.items()):
        return rows
    runs = rows["run"].unify_dictionaries()
    renamed = [
        pa.DictionaryArray.from_arrays(
            chunk.indices,
            pa.array(
                [exported.names.get(name, name) for name in chunk.dictionary.to_pylist()],
                pa.string(),
            ),
        )
        for chunk in runs.chunks
    ]
    return rows.set_column(0, "run", pa.chunked_array(renamed, runs.type))
