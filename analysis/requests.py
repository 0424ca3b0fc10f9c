"""Requests to the data source: the runs of paths and patterns, and the rows and columns of them.

Rows of **one kind** have the columns ``run`` (text), those of every row, and those of the kind, as
``simulation/trace_rows`` lists them. Rows of **several kinds** have ``run``, ``kind`` (the name of
the row's kind; so a kind's own column ``kind`` is only in rows of one kind), the columns of every
row, and ``partition``. A schema may ask for fewer columns, and only these are unpacked; or for
more: any column that one of the kinds has.

Numbers are BIGINT as they were recorded, times in microseconds or in the unit of their name. A
column is null where a row's kind does not have it, or the release that recorded it did not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from glob import glob, has_magic
from itertools import count
from pathlib import Path

from tidegauge.analysis.frame_index import TraceBytes, frames_of_file
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.simulation.quantities import parse_duration
from tidegauge.simulation.trace_rows.schema import ENUMERATIONS, ROW_KINDS, Enumerations
from tidegauge.traces import run_files
from tidegauge.traces.trace_file import ROW_COLUMNS, enumerations_of, read_header

#: All kinds of rows, by their names.
KINDS = {kind.name: kind for kind in ROW_KINDS.values()}

#: Kinds whose rows are numbered and hashed, by their names.
CANONICAL = {name: kind for name, kind in KINDS.items() if kind.canonical}

#: Columns that hold text; all others are 64-bit integers.
TEXTS = ("run", "kind")


#: Smaller parts cost more to hand out than they gain.
PART_BYTES = 4_000_000


class QueryError(TidegaugeError):
    """A query of result tables is wrong; the message is one line."""


class RequestError(TidegaugeError):
    """A request for an unknown kind, column or option; the message is one line."""


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """The requested rows; a time range is from its first microsecond to before its end."""

    paths: Paths
    #: The only kind, whose own columns are wanted; None: columns that several kinds have.
    kind: str | None = None
    #: Which kinds; empty: all. Not beside ``kind``.
    kinds: tuple[str, ...] = ()
    from_us: int | None = None
    to_us: int | None = None
    #: Without rows of the liveness phase, which comes after the run.
    within_run: bool = False
    #: About so many bytes of frames are read by one task.
    part_bytes: int = PART_BYTES

    def __post_init__(self) -> None:
        if self.kind is not None and self.kinds:
            raise RequestError("give either kind, for its own columns, or kinds")
        for name in self.wanted_kinds:
            if name not in KINDS:
                raise RequestError(f"there is no kind of rows {name!r}{_meant(name, KINDS)}")

    @property
    def wanted_kinds(self) -> tuple[str, ...]:
        """The names of all kinds whose rows are requested."""
        if self.kind is not None:
            return (self.kind,)
        return self.kinds or tuple(KINDS)

    @property
    def columns(self) -> tuple[str, ...]:
        """The default columns of the rows."""
        if self.kind is not None:
            return ("run", *ROW_COLUMNS, *KINDS[self.kind].columns)
        return ("run", "kind", *ROW_COLUMNS, "partition")

    def is_text(self, column: str) -> bool:
        """Whether a column holds text: in rows of one kind, ``kind`` is a number like others."""
        return column in TEXTS and (column == "run" or self.kind is None)

    def check_columns(self, columns: Sequence[str]) -> None:
        """Check that the columns exist.

        Raises:
            RequestError: a column does not exist in any of these rows.
        """
        known = dict.fromkeys(self.columns)
        for kind in self.wanted_kinds:
            known |= dict.fromkeys(KINDS[kind].columns)
        for name in columns:
            if name not in known:
                rows = f"rows of kind {self.kind}" if self.kind else "these rows"
                raise RequestError(f"{rows} have no column {name!r}{_meant(name, known)}")

    def options(self) -> dict[str, str]:
        """The same as options of the data source."""
        paths = [self.paths] if isinstance(self.paths, str | Path) else self.paths
        options = {
            "paths": json.dumps([_as_json(path) for path in paths]),
            "kind": self.kind,
            "kinds": ",".join(self.kinds) or None,
            "from_us": self.from_us,
            "to_us": self.to_us,
            "within_run": str(self.within_run).lower(),
            "part_bytes": self.part_bytes,
        }
        return {name: str(value) for name, value in options.items() if value is not None}


def request_of(options: Mapping[str, str]) -> TraceRequest:
    """The request of a reader's options.

    Raises:
        RequestError: an option has no valid value, or no path is given.
    """
    paths = _paths_of(options["paths"]) if "paths" in options else options.get("path")
    if not paths:
        raise RequestError("no path of a run is given: use load(PATH)")
    kinds = (name.strip() for name in options.get("kinds", "").split(","))
    return TraceRequest(
        paths,
        options.get("kind"),
        tuple(name for name in kinds if name),
        _whole(options, "from_us", "microseconds"),
        _whole(options, "to_us", "microseconds"),
        _flag(options, "within_run"),
        _whole(options, "part_bytes", "bytes") or PART_BYTES,
    )


def _as_json(path: str | Path | FoundRun) -> str | list[str]:
    return [path.name, str(path.folder)] if isinstance(path, FoundRun) else str(path)


def _paths_of(text: str) -> Paths:
    """Paths as Spark's own ``load`` and as :meth:`TraceRequest.options` write them."""
    found = json.loads(text)
    runs = [FoundRun(each[0], Path(each[1])) for each in found if isinstance(each, list)]
    return runs or [str(each) for each in found]


def _whole(options: Mapping[str, str], name: str, unit: str) -> int | None:
    text = options.get(name)
    try:
        return None if text is None else int(text)
    except ValueError:
        raise RequestError(f"{name} must be whole {unit}, not {text!r}") from None


def _flag(options: Mapping[str, str], name: str) -> bool:
    text = options.get(name, "false").lower()
    if text not in {"true", "false"}:
        raise RequestError(f"{name} must be true or false, not {text!r}")
    return text == "true"


def _meant(name: str, known: Mapping[str, object]) -> str:
    close = get_close_matches(name, known, 1)
    return f": did you mean {close[0]!r}?" if close else ""


@dataclass(frozen=True, slots=True)
class FoundRun:
    """The folder of a run."""

    #: Its name: that of its folder; where two are equal, with as many parent folders as needed to
    #: distinguish them all.
    name: str
    folder: Path

    def end_us(self) -> int:
        """The virtual time at which the run itself ends, and the liveness phase begins.

        An unfinished run ends with its last row.

        Raises:
            RunError: the manifest or summary cannot be read, or lacks the duration.
            TraceError: a trace file is damaged.
        """
        try:
            planned_us = parse_duration(
                run_files.read_manifest(self.folder)["scenario"]["duration"]
            )
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, run_files.RunError):
                raise
            raise run_files.RunError(
                f"{self.folder / run_files.MANIFEST}: does not have the duration of the run"
            ) from error
        has_summary = run_files.read_summary(self.folder) is not None
        return run_files.end_of_run_us(
            planned_us, lambda: last_time_us(self.folder), has_summary=has_summary
        )

    def enumerations(self) -> Enumerations:
        """The names of numbers in its rows, from the header of a trace file.

        Raises:
            TraceError: a trace file is damaged.
        """
        for file in run_files.trace_files(self.folder):
            header = read_header(file)
            if header is not None:
                return enumerations_of(header, file)
        return ENUMERATIONS


#: One path or several: folders of runs, and patterns of such folders; or runs that were found.
Paths = str | Path | Sequence[str | Path] | Sequence[FoundRun]


def runs_at(paths: Paths) -> list[FoundRun]:
    """The existing runs, each once, in the order of their folders.

    A given folder must be that of a run, or of a sweep, which stands for all of its runs. Among the
    matches of a pattern (``runs/*``), only runs are used. Runs that were found before keep their
    names.

    Raises:
        RunError: a folder is not that of a run, or a pattern matches none.
    """
    wanted = [paths] if isinstance(paths, str | Path) else paths
    if not wanted:
        raise run_files.RunError("no path of a run is given")
    found = [each for each in wanted if isinstance(each, FoundRun)]
    if found:
        return found
    folders = {
        Path(os.path.realpath(folder))
        for path in wanted
        if not isinstance(path, FoundRun)
        for folder in _folders(os.fspath(path))
    }
    in_order = sorted(folders)
    return [FoundRun(name, folder) for name, folder in zip(_names(in_order), in_order, strict=True)]


#: The folder of tables and report of several runs, which are not those of one sweep.
OF_SEVERAL = Path("analysis")


def common_folder(paths: Sequence[str], runs: Sequence[FoundRun]) -> Path | None:
    """The folder of one run, or of one sweep that all runs are of; None if there is none such."""
    if len(paths) == 1 and run_files.is_sweep(Path(paths[0])):
        return from_here(Path(paths[0]).resolve())
    return from_here(runs[0].folder) if len(runs) == 1 else None


def last_time_us(folder: Path) -> int:
    """The virtual time of the last row in a run's trace files, by the heads of their frames.

    Raises:
        TraceError: a trace file is damaged.
    """
    latest_us = 0
    for path in run_files.trace_files(folder):
        with TraceBytes(path) as file:
            latest_us = max([latest_us, *(frame.last_time_us for frame in frames_of_file(file))])
    return latest_us


def from_here(folder: Path) -> Path:
    """A folder as typed here: relative, if it is below the working directory."""
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


def _folders(path: str) -> list[Path]:
    folder = Path(path)
    if has_magic(path) and not folder.exists():
        matches = [Path(each) for each in glob(path) if (Path(each) / run_files.MANIFEST).is_file()]  # noqa: PTH207 - pathlib's takes no absolute pattern
        if not matches:
            raise run_files.RunError(f"{path}: matches no folder of a run")
        return matches
    if not folder.exists():
        raise run_files.RunError(f"{path}: no such folder")
    if run_files.is_sweep(folder):
        runs = run_files.runs_of_sweep(folder)
        if not runs:
            raise run_files.RunError(
                f"{path}: the folder of a sweep, of which no run has begun yet"
            )
        return runs
    run_files.read_manifest(folder)
    return [folder]


def _names(folders: Sequence[Path]) -> list[str]:
    for depth in count(1):
        names = ["/".join(folder.parts[-depth:]) for folder in folders]
        if len({*names}) == len(folders):
            break
    return names
