"""A folder of rows of many runs, as any tool reads it: ``FOLDER/<relation>/part-<n>.parquet``.

A part has whole runs, and all relations of a part have the same ones: small runs are put together
until they have some three million rows. Beside them are ``rows.json``, the manifest, and
``ROWS.md``, which describes each relation and column.

The manifest names the parts that count, and of each the runs with their traces. So exporting again
adds the runs that are new. A run whose trace is another one now is written anew: its part is
replaced by one without it. A part is written as a draft and renamed, and the manifest is replaced
after that; what a broken export leaves is removed by the next one.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from filelock import FileLock, Timeout

from tidegauge.analysis.frame_index import TraceBytes, frames_of_file
from tidegauge.analysis.requests import KINDS, FoundRun
from tidegauge.analysis.rows.exported_rows import (
    MANIFEST,
    Entry,
    Manifest,
    Part,
    RowsError,
    Trace,
    read_manifest,
    trace_of,
    write_manifest,
)
from tidegauge.analysis.rows.row_files import (
    PartWork,
    WrittenPart,
    part_file,
    write_part,
    write_without,
)
from tidegauge.analysis.rows.row_schema import CAUSES, RELATIONS, documentation
from tidegauge.analysis.tables.topology import TOPOLOGY
from tidegauge.scenario.text.errors import did_you_mean
from tidegauge.traces.run_files import trace_files
from tidegauge.traces.run_folder import write_text_atomically

DOCUMENTATION = "ROWS.md"
_LOCK = ".rows.lock"
_DRAFT = ".draft-"

#: Small runs are put together until they have so many rows.
PART_ROWS = 3_000_000

_PART = re.compile(r"part-(\d+)\.parquet")


#: Calls :func:`write_part` with each input, and yields the results in any order: :func:`in_turn`,
#: processes of this machine, or tasks of a cluster that sees the folder and can read scenarios.
Calls = Callable[[Callable[[PartWork], WrittenPart], Sequence[PartWork]], Generator[WrittenPart]]


def in_turn(
    work: Callable[[PartWork], WrittenPart], inputs: Sequence[PartWork]
) -> Generator[WrittenPart]:
    """Make the calls in this process, one after the other."""
    yield from map(work, inputs)


class Exported(NamedTuple):
    """The outcome of an export."""

    folder: Path
    #: Names of runs that were added, that were written anew, and that were there.
    new: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    #: Rows of the trace that were written, and the bytes of all files of the folder.
    rows: int
    size_bytes: int


def export_rows(
    runs: Sequence[FoundRun],
    folder: Path,
    kinds: Sequence[str] = (),
    calls: Calls = in_turn,
    done: Callable[[int, int], None] = lambda _, __: None,
) -> Exported:
    """Add the rows of runs to a folder, which is made if it is missing.

    Args:
        runs: the runs.
        folder: the folder.
        kinds: only rows of these kinds, or ``causes``; empty: those that the folder has, else all.
            Relations of objects are always there.
        calls: makes the calls of :func:`write_part`.
        done: called with the number of parts that are written, and of all.

    Raises:
        RowsError: there is no such kind; the folder is that of something else, has other kinds or
            columns, is being written to, or has another run of the same name.
        RunError, ScenarioError, TraceError: a run cannot be read.
        OSError: the folder cannot be written to.
    """
    for kind in kinds:
        if kind not in KINDS and kind != CAUSES:
            known = [*KINDS, CAUSES]
            raise RowsError(f"there is no kind of rows {kind!r}; {did_you_mean(kind, known)}")
    folder.mkdir(parents=True, exist_ok=True)
    is_known = (folder / MANIFEST).exists()
    if not is_known and any(each.name != _LOCK for each in folder.iterdir()):
        raise RowsError(f"{folder}: is not empty, and has no {MANIFEST}")
    try:
        with FileLock(folder / _LOCK, timeout=0):
            return _export(runs, _Parts(folder, kinds), calls, done)
    except Timeout:
        raise RowsError(f"{folder}: another export is writing to it") from None


def _export(
    runs: Sequence[FoundRun], parts: _Parts, calls: Calls, done: Callable[[int, int], None]
) -> Exported:
    # Before their rows are read: of a trace that grows the next export has more.
    traces = {run.folder: trace_of(run) for run in runs}
    kept: list[FoundRun] = []
    changed: list[FoundRun] = []
    new: list[FoundRun] = []
    for run in runs:
        before = parts.trace_of(run.folder)
        differing = new if before is None else changed
        (kept if before == traces[run.folder] else differing).append(parts.named(run))
    rows = 0
    with parts.draft() as draft, ExitStack() as open_:
        parts.remove({run.folder for run in changed}, draft)
        works = [
            PartWork(parts.next_number + place, tuple(of_part), parts.relations, draft)
            for place, of_part in enumerate(_in_parts([*changed, *new]))
        ]
        runs_of = {work.number: work.runs for work in works}
        for count, written in enumerate(open_.enter_context(closing(calls(write_part, works))), 1):
            rows += sum(written.rows[name] for name in written.rows if name in KINDS)
            entries = [
                Entry(run.name, run.folder, traces[run.folder]) for run in runs_of[written.number]
            ]
            parts.add(Part(written.number, entries, written.rows), draft)
            done(count, len(works))
    return Exported(
        parts.folder,
        tuple(run.name for run in new),
        tuple(run.name for run in changed),
        tuple(run.name for run in kept),
        rows,
        sum(file.stat().st_size for file in parts.folder.glob("*/*.parquet")),
    )


def _in_parts(runs: Sequence[FoundRun]) -> Iterator[list[FoundRun]]:
    """The runs in parts of about as many rows; a larger run is a part of its own."""
    part: list[FoundRun] = []
    rows_of_part = 0
    for run in runs:
        rows = _rows_of(run)
        if part and rows_of_part + rows > PART_ROWS:
            yield part
            part, rows_of_part = [], 0
        part.append(run)
        rows_of_part += rows
    if part:
        yield part


def _rows_of(run: FoundRun) -> int:
    rows = 0
    for path in trace_files(run.folder):
        with TraceBytes(path) as file:
            rows += sum(frame.rows for frame in frames_of_file(file))
    return rows


class _Parts:
    """The parts of a folder, as its manifest names them; each change writes the manifest."""

    def __init__(self, folder: Path, kinds: Sequence[str]) -> None:
        """Read the manifest, or begin one; remove what a broken export has left.

        Raises:
            RowsError: the folder is that of something else, or has other kinds or columns.
        """
        self.folder = folder
        self._file = folder / MANIFEST
        found = read_manifest(folder)
        #: That of the next part. None is given twice: a copy of the folder may have the former one.
        self.next_number = 0
        self._parts: dict[int, Part] = {}
        self._entries: dict[Path, Entry] = {}
        self._take([] if found is None else found.parts)
        asked = tuple(name for name in RELATIONS if name in {*kinds, *TOPOLOGY})
        self.relations = (asked if kinds else RELATIONS) if found is None else found.relations
        if kinds and self.relations != asked:
            raise RowsError(
                f"{self._file}: has rows of other kinds: leave out --kind, or export to another"
                " folder"
            )
        if found is None:
            self._write()
            write_text_atomically(folder / DOCUMENTATION, documentation(self.relations))
        self._remove_leftovers()

    def trace_of(self, run_folder: Path) -> Trace | None:
        """The trace of which the rows of a run are; None: it has none."""
        entry = self._entries.get(run_folder)
        return entry and entry.trace

    def named(self, run: FoundRun) -> FoundRun:
        """The run with the name that it has here.

        Raises:
            RowsError: another run has it.
        """
        entry = self._entries.get(run.folder)
        if entry is not None:
            return FoundRun(entry.name, run.folder)
        other = self._folders.get(run.name)
        if other is not None:
            raise RowsError(
                f"{self._file}: has another run {run.name!r}, of {other}: export {run.folder} to"
                " another folder"
            )
        return run

    @contextmanager
    def draft(self) -> Iterator[Path]:
        """A folder for incomplete files."""
        draft = Path(mkdtemp(prefix=_DRAFT, dir=self.folder))
        try:
            yield draft
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def add(self, part: Part, draft: Path) -> None:
        """Put a part in its place."""
        self._replace([], [part], draft)

    def remove(self, run_folders: Collection[Path], draft: Path) -> None:
        """Replace the parts that have some of these runs by parts without them."""
        old = [
            part
            for part in self._parts.values()
            if any(run.folder in run_folders for run in part.runs)
        ]
        new: list[Part] = []
        for part in old:
            gone = [run.name for run in part.runs if run.folder in run_folders]
            kept = [run for run in part.runs if run.folder not in run_folders]
            if kept:
                number = self.next_number + len(new)
                rows = {
                    name: write_without(
                        gone,
                        part_file(self.folder, name, part.number),
                        part_file(draft, name, number),
                    )
                    for name in self.relations
                }
                new.append(Part(number, kept, rows))
        if old:
            self._replace(old, new, draft)

    def _replace(self, old: Sequence[Part], new: Sequence[Part], draft: Path) -> None:
        for part in new:
            for name in self.relations:
                place = part_file(self.folder, name, part.number)
                place.parent.mkdir(exist_ok=True)
                part_file(draft, name, part.number).rename(place)
        for part in old:
            del self._parts[part.number]
            for run in part.runs:
                del self._entries[run.folder]
        self._take(new)
        self._write()
        for part in old:
            for name in self.relations:
                part_file(self.folder, name, part.number).unlink()

    def _take(self, parts: Iterable[Part]) -> None:
        for part in parts:
            self._parts[part.number] = part
            self.next_number = max(self.next_number, part.number + 1)
            self._entries |= {run.folder: run for run in part.runs}

    @cached_property
    def _folders(self) -> dict[str, Path]:
        """The folders of the runs that are there at first, by their names."""
        return {run.name: run.folder for run in self._entries.values()}

    def _write(self) -> None:
        parts = [part for _, part in sorted(self._parts.items())]
        write_manifest(self.folder, Manifest(self.relations, parts))

    def _remove_leftovers(self) -> None:
        """Remove drafts, and files of parts that do not count."""
        for draft in self.folder.glob(f"{_DRAFT}*"):
            shutil.rmtree(draft)
        for file in self.folder.glob("*/part-*.parquet"):
            number = _PART.fullmatch(file.name)
            if number is not None and int(number[1]) not in self._parts:
                file.unlink()
