"""The folder that a run writes, read back: scenario, results, every row.

``manifest.json``
    is written at the start of the run: the resolved scenario, and the names for the numbers in
    rows of the trace (processes, brokers, partitions, faults).
``summary.json``
    is written at the end of the run; without it the run is unfinished.
``trace/*.msgpack``
    have the rows (``traces/trace_file.py``), one file for each group of processes. The
    number of groups makes no difference: rows are in their total order, (time_us, process,
    sequence, minor).
"""

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.simulation.quantities import parse_duration
from tidegauge.simulation.trace_rows.schema import ENUMERATIONS, STATE_ROWS, Enumerations
from tidegauge.simulation.wall_clock import WallClock
from tidegauge.traces import run_files
from tidegauge.traces.directory import Directory
from tidegauge.traces.trace_file import Table, Trace, TraceError, TraceKind, read_trace

#: The folder of runs without a folder of their own.
RUNS = Path("runs")


def new_run_folder(name: str) -> Path:
    """A new folder below :data:`RUNS` with this name, or with a number after it."""
    name = name.replace("/", "-")
    folder = RUNS / name
    for number in count(2):
        if not folder.exists():
            break
        folder = RUNS / f"{name}-{number}"
    return folder


@contextlib.contextmanager
def written_to(folder: Path, then: Callable[[], str] = str) -> Iterator[None]:
    """Make one error of those of the system while a folder is written.

    Args:
        folder: the folder.
        then: the end of the message, such as a remedy.

    Raises:
        TidegaugeError: it cannot be written to, or has something else.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno is None:
            raise TidegaugeError(str(error)) from error
        raise TidegaugeError(f"{folder}: cannot be written to: {error.strerror}{then()}") from error


def new_trace_files(folder: Path, groups: int) -> list[Path]:
    """A file for the rows of each group of processes, in a folder that only one run can make.

    Raises:
        FileExistsError: another run has begun in the folder of the run.
    """
    traces = folder / run_files.TRACE
    try:
        traces.mkdir(parents=True)
    except FileExistsError:
        raise FileExistsError(f"{folder}: another run has begun in it") from None
    return [traces / f"group-{group}.msgpack" for group in range(groups)]


def continued_trace_files(
    folder: Path, groups: int, time_us: int, lengths: Mapping[str, int]
) -> list[Path]:
    """A file for the later rows of each group of processes of a run that continues.

    Args:
        folder: the folder of the run.
        groups: the number of groups.
        time_us: the virtual time from which it continues.
        lengths: the length of each older trace file up to then, by its path in the folder. What
            is behind it is cut off, and other trace files are removed.

    Raises:
        TraceError: an older trace file ends before then; nothing has been changed.
        OSError: a file cannot be changed.
    """
    for path, needed in lengths.items():
        _check_length(folder / path, needed)
    for file in run_files.trace_files(folder):
        length = lengths.get(file.relative_to(folder).as_posix())
        if length is None:
            file.unlink()
        else:
            os.truncate(file, length)
    return [
        folder / run_files.TRACE / f"from-{time_us}us-group-{group}.msgpack"
        for group in range(groups)
    ]


def _check_length(file: Path, needed: int) -> None:
    length = file.stat().st_size if file.exists() else 0
    if length < needed:
        raise TraceError(f"{file}: has {length:,} bytes, and had {needed:,} at the snapshot")


#: Columns that put rows into their total order, the first one first.
ORDER = ("time_us", "process", "sequence", "minor")


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One row: the name of its kind, and its columns."""

    kind: str
    columns: dict[str, int]

    def __getitem__(self, column: str) -> int:
        return self.columns[column]

    @property
    def place(self) -> tuple[int, ...]:
        """Its place in the total order of all rows."""
        return tuple(self.columns[name] for name in ORDER)

    @property
    def handle(self) -> str:
        """Its handle for ``tidegauge show cause``: ``PROCESS:SEQUENCE``.

        It is empty for a sample or a single request, which have no number of their own.
        """
        return "{process}:{sequence}".format(**self.columns) if self["minor"] == 0 else ""


class _Numbered(NamedTuple):
    """The canonical rows of a process by their numbers, to find one without a search."""

    sequences: NDArray[np.int64]
    #: The kind, and the row of its table.
    kinds: NDArray[np.int64]
    places: NDArray[np.int64]


class RunFolder:
    """A run, finished or not. Trace files are read on first use."""

    def __init__(self, path: Path, *, was_just_written: bool = False) -> None:
        """Open the folder of a run.

        Args:
            path: the folder.
            was_just_written: its manifest, which may be long, is read only if it is asked for.

        Raises:
            RunError: the folder has no manifest of a run that this Tidegauge can read.
        """
        self.path = path
        if not was_just_written:
            vars(self)["manifest"] = run_files.read_manifest(path)
        #: None for an unfinished run.
        self.summary: dict[str, Any] | None = run_files.read_summary(path)
        self._tables: dict[str, Table] = {}

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Its scenario, and the names for the numbers in its rows."""
        return run_files.read_manifest(self.path)

    @property
    def is_of_logs(self) -> bool:
        """Whether it is that of a real cluster, made of its logs: there is nothing to repeat."""
        return bool(self.manifest.get("source") == run_files.OF_LOGS)

    @cached_property
    def directory(self) -> Directory:
        """The names for the numbers in its rows."""
        return Directory(self.manifest)

    @cached_property
    def traces(self) -> tuple[Trace, ...]:
        """The trace files; an empty file has not been begun yet.

        Raises:
            TraceError: one of them is damaged, or belongs to another run.
        """
        traces = tuple(read_trace(file) for file in run_files.trace_files(self.path))
        for trace in traces[1:]:
            if (trace.kinds, trace.enumerations) != (traces[0].kinds, traces[0].enumerations):
                raise TraceError(f"{trace.path}: has another schema than {traces[0].path}")
        return traces

    @property
    def torn(self) -> list[Trace]:
        """The trace files that end within a frame."""
        return [trace for trace in self.traces if trace.torn]

    @cached_property
    def last_time_us(self) -> int:
        """The virtual time of the last row, that of a liveness phase too; 0 if there is none.

        Raises:
            TraceError: a trace file is damaged.
        """
        return max(
            (frame.last_time_us for trace in self.traces for frame in trace.frames), default=0
        )

    @cached_property
    def end_us(self) -> int:
        """The end of the run itself (``end_of_run_us``).

        Raises:
            TraceError: a trace file is damaged.
        """
        planned_us = parse_duration(self.manifest["scenario"]["duration"])
        return run_files.end_of_run_us(
            planned_us, lambda: self.last_time_us, has_summary=self.summary is not None
        )

    @cached_property
    def wall_clock(self) -> WallClock | None:
        """The wall clock of a run from logs; None: the run is simulated."""
        if not self.is_of_logs:
            return None
        first_ms = int(self.manifest["logs"]["first_line_ms"])
        return WallClock(first_ms, first_ms + (self.end_us - 1) // 1000)

    @property
    def kinds(self) -> dict[str, TraceKind]:
        """The kinds of rows in the trace's schema, by name."""
        return dict(self.traces[0].kinds) if self.traces else {}

    @property
    def enumerations(self) -> Enumerations:
        """The names of numbers in rows, as the release that wrote the trace has them.

        Raises:
            TraceError: a trace file is damaged.
        """
        return self.traces[0].enumerations if self.traces else ENUMERATIONS

    def table(self, kind: str) -> Table:
        """All rows of a kind in their total order, as columns; empty if there is no such kind.

        Raises:
            TraceError: a trace file is damaged.
        """
        if kind not in self.kinds:
            return {}
        if kind not in self._tables:
            self._tables[kind] = in_total_order([trace.table(kind) for trace in self.traces])
        return self._tables[kind]

    def rows(self, kind: str) -> Iterator[TraceRow]:
        """All rows of a kind, in their total order.

        Raises:
            TraceError: a trace file is damaged.
        """
        return _rows_of(kind, self.table(kind))

    def all_rows(
        self,
        partition: int | None = None,
        *,
        process: int | None = None,
        wanted: Callable[[TraceKind], bool] = lambda _: True,
    ) -> Iterator[TraceRow]:
        """The rows of all kinds, in their total order.

        Args:
            partition: only rows about this partition, by its number; None for all rows.
            process: only rows of this process; None for those of all.
            wanted: whether a kind of row is wanted; by default all kinds are.

        Raises:
            TraceError: a trace file is damaged.
        """
        tables = [
            (kind.name, self.table(kind.name))
            for kind in self.kinds.values()
            if wanted(kind) and (partition is None or "partition" in kind.columns)
        ]
        for column, value in (("partition", partition), ("process", process)):
            if value is not None:
                tables = [(kind, _taken(table, table[column] == value)) for kind, table in tables]
        return _in_order(tables)

    def canonical_row(self, process: int, sequence: int) -> TraceRow | None:
        """The canonical row of a process with this number; None if the trace has none.

        Raises:
            TraceError: a trace file is damaged.
        """
        numbered = self._numbered.get(process)
        if numbered is None:
            return None
        place = int(np.searchsorted(numbered.sequences, sequence))
        if place == len(numbered.sequences) or numbered.sequences[place] != sequence:
            return None
        kind = list(self.kinds)[int(numbered.kinds[place])]
        row = int(numbered.places[place])
        return next(_rows_of(kind, _taken(self.table(kind), slice(row, row + 1))))

    def row_with_handle(self, handle: str) -> TraceRow | None:
        """The canonical row with this handle, ``PROCESS:SEQUENCE``; None if the trace has none.

        Raises:
            TraceError: a trace file is damaged.
        """
        return self.canonical_row(*map(int, handle.split(":")))

    def change_row(self, process: int, sequence: int) -> TraceRow | None:
        """The canonical row with this number, or the change whose result it states.

        A row of the cluster's state follows the row of the change. The latter is shown as the
        cause.

        Raises:
            TraceError: a trace file is damaged.
        """
        row = self.canonical_row(process, sequence)
        while row is not None and row.kind in STATE_ROWS:
            before = (process, row["sequence"] - 1)
            if before != (row["cause_process"], row["cause_sequence"]):
                break
            row = self.canonical_row(*before)
        return row

    def leads_to(self, row: TraceRow) -> TraceRow | None:
        """The row that another goes back to: its because, else its cause; None: the trace has none.

        Raises:
            TraceError: a trace file is damaged.
        """
        link = "because" if row["because_process"] >= 0 else "cause"
        return self.change_row(row[f"{link}_process"], row[f"{link}_sequence"])

    @cached_property
    def _numbered(self) -> dict[int, _Numbered]:
        tables = [
            (number, self.table(kind.name))
            for number, kind in enumerate(self.kinds.values())
            if kind.canonical
        ]
        if not tables:
            return {}
        process = np.concatenate([table["process"] for _, table in tables])
        sequence = np.concatenate([table["sequence"] for _, table in tables])
        kinds = np.concatenate([np.full(len(table["process"]), number) for number, table in tables])
        places = np.concatenate([np.arange(len(table["process"])) for _, table in tables])
        order = np.lexsort((sequence, process))
        processes, firsts = np.unique(process[order], return_index=True)
        parts = [np.split(values[order], firsts[1:]) for values in (sequence, kinds, places)]
        return {
            owner: _Numbered(*of_owner)
            for owner, *of_owner in zip(processes.tolist(), *parts, strict=True)
        }


def in_total_order(parts: Sequence[Table]) -> Table:
    """All rows of one kind, given in parts that have the same columns, in their total order."""
    table = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if _is_in_total_order(table):
        return table
    order = np.lexsort([table[name] for name in reversed(ORDER)])
    return {name: values[order] for name, values in table.items()}


def _is_in_total_order(table: Table) -> bool:
    """Whether no row comes before the one that precedes it: so most groups write their rows."""
    is_tie = np.ones(max(len(table[ORDER[0]]) - 1, 0), np.bool_)
    for name in ORDER:
        before, after = table[name][:-1], table[name][1:]
        if (is_tie & (after < before)).any():
            return False
        is_tie &= after == before
    return True


def _in_order(tables: list[tuple[str, Table]]) -> Iterator[TraceRow]:
    """The rows of several tables, each with the name of its kind, in their total order."""
    tables = [(kind, table) for kind, table in tables if len(table["process"])]
    if not tables:
        return
    keys = [np.concatenate([table[name] for _, table in tables]) for name in reversed(ORDER)]
    owners = np.concatenate(
        [np.full(len(table["process"]), place) for place, (_, table) in enumerate(tables)]
    )
    rows = [_rows_of(kind, table) for kind, table in tables]
    for owner in owners[np.lexsort(keys)].tolist():
        yield next(rows[owner])


def _rows_of(kind: str, table: Table) -> Iterator[TraceRow]:
    columns = [values.tolist() for values in table.values()]
    for values in zip(*columns, strict=True):
        yield TraceRow(kind, dict(zip(table, values, strict=True)))


def _taken(table: Table, which: NDArray[np.bool_] | slice) -> Table:
    return {name: values[which] for name, values in table.items()}


def write_text_atomically(file: Path, text: str | Iterable[str]) -> None:
    """Write a whole file, whose text may come in parts; or, after a failure or a crash, none.

    Raises:
        OSError: the file cannot be written.
    """
    draft = file.with_name(f"{file.name}.tmp")
    try:
        with draft.open("w", encoding="utf-8") as stream:
            stream.writelines([text] if isinstance(text, str) else text)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


class JsonLines(Sized, Protocol):
    """A list or a mapping that is written line by line: it may be too long to be held as text."""

    def json_lines(self) -> Iterator[str]:
        """The JSON of each entry, the key included."""

    def json_brackets(self) -> tuple[str, str]:
        """Those of a list or of a mapping."""


#: In the place of such content; no text of a scenario has this character.
_MARK = "\0"


def json_parts(content: object) -> Iterator[str]:
    """The text of JSON content, part by part; lists and mappings may be ``JsonLines``.

    Raises:
        TypeError, ValueError: JSON cannot express the content.
    """
    long: list[JsonLines] = []

    def mark(part: JsonLines) -> str:
        long.append(part)
        return _MARK

    text = json.dumps(content, indent=2, default=mark, ensure_ascii=False, allow_nan=False) + "\n"
    return _with_lines(text.split(json.dumps(_MARK)), long)


def _with_lines(pieces: list[str], between: list[JsonLines]) -> Iterator[str]:
    yield pieces[0]
    for before, part, behind in zip(pieces, between, pieces[1:], strict=False):
        line = before.rpartition("\n")[2]
        margin = " " * (len(line) - len(line.lstrip()))
        begin, end = part.json_brackets()
        for place, entry in enumerate(part.json_lines()):
            yield f"{',' if place else begin}\n{margin}  {entry}"
        yield f"\n{margin}{end}" if len(part) else f"{begin}{end}"
        yield behind


def write_json_atomically(file: Path, content: object) -> None:
    """Write a whole JSON file or, after a crash, none.

    Raises:
        OSError: the file cannot be written.
        TypeError, ValueError: JSON cannot express the content.
    """
    write_text_atomically(file, json_parts(content))
