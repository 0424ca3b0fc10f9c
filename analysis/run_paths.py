"""The runs of paths and patterns, and their names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from itertools import count
from pathlib import Path

from tidegauge.analysis.frame_index import TraceBytes, frames_of_file
from tidegauge.simulation.durations import parse_duration
from tidegauge.simulation.enumerations import ENUMERATIONS, Enumerations
from tidegauge.traces.run_files import (
    MANIFEST,
    RunError,
    end_of_run_us,
    is_sweep,
    read_manifest,
    read_summary,
    runs_of_sweep,
    trace_files,
)
from tidegauge.traces.trace_file import enumerations_of, read_header


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
            planned_us = parse_duration(read_manifest(self.folder)["scenario"]["duration"])
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, RunError):
                raise
            raise RunError(
                f"{self.folder / MANIFEST}: does not have the duration of the run"
            ) from error
        has_summary = read_summary(self.folder) is not None
        return end_of_run_us(planned_us, lambda: last_time_us(self.folder), has_summary=has_summary)

    def enumerations(self) -> Enumerations:
        """The names of numbers in its rows, from the header of a trace file.

        Raises:
            TraceError: a trace file is damaged.
        """
        for file in trace_files(self.folder):
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
        raise RunError("no path of a run is given")
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


def common_folder(paths: Sequence[str], runs: Sequence[FoundRun]) -> Path | None:
    """The folder of one run, or of one sweep that all runs are of; None if there is none such."""
    if len(paths) == 1 and is_sweep(Path(paths[0])):
        return from_here(Path(paths[0]).resolve())
    return from_here(runs[0].folder) if len(runs) == 1 else None


def last_time_us(folder: Path) -> int:
    """The virtual time of the last row in a run's trace files, by the heads of their frames.

    Raises:
        TraceError: a trace file is damaged.
    """
    latest_us = 0
    for path in trace_files(folder):
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
        matches = [Path(each) for each in glob(path) if (Path(each) / MANIFEST).is_file()]  # noqa: PTH207 - pathlib's takes no absolute pattern
        if not matches:
            raise RunError(f"{path}: matches no folder of a run")
        return matches
    if not folder.exists():
        raise RunError(f"{path}: no such folder")
    if is_sweep(folder):
        runs = runs_of_sweep(folder)
        if not runs:
            raise RunError(f"{path}: the folder of a sweep, of which no run has begun yet")
        return runs
    read_manifest(folder)
    return [folder]


def _names(folders: Sequence[Path]) -> list[str]:
    for depth in count(1):
        names = ["/".join(folder.parts[-depth:]) for folder in folders]
        if len({*names}) == len(folders):
            break
    return names
