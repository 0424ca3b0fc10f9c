"""The files of a run's folder: how they are called, and what its manifest and summary hold.

``traces/run_folder.py`` says what each of them is. A sweep has a folder, too, in which each of
its runs has one (``tidegauge/sweeps/sweep_folder.py``).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tidegauge.simulation.row_kinds import SCHEMA_VERSION
from tidegauge.traces.trace_file import newer_schema

#: What a manifest says that it is of.
FORMAT = "tidegauge-run"

MANIFEST = "manifest.json"
SUMMARY = "summary.json"
TRACE = "trace"

#: In the folder of a sweep: what came of all runs that were asked for last.
SWEEP = "sweep.json"
#: ... held by the sweep that runs into it; it stays, and says whose folder it is.
SWEEP_LOCK = ".sweep.lock"

#: What a manifest lists, since rows call it by a number.
NAMED = ("processes", "brokers", "partitions", "faults")


class RunError(ValueError):
    """A folder that is no run, or one that cannot be read; the message is one line."""


class SweepFolderError(RunError):
    """The folder of a sweep, where that of one run is needed."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: the folder of a sweep, not of a run: its runs are below it")


def is_sweep(folder: Path) -> bool:
    """Whether it is the folder of a sweep, as far as that has come."""
    is_run = (folder / MANIFEST).exists()
    return not is_run and ((folder / SWEEP).is_file() or (folder / SWEEP_LOCK).is_file())


def runs_of_sweep(folder: Path) -> list[Path]:
    """The folders of a sweep's runs: in the order of its table, then those of before by name.

    Raises:
        RunError: what came of it cannot be read.
    """
    in_order = [folder / name for name in _told_of_sweep(folder)[0]]
    others = sorted(file.parent for file in folder.glob(f"*/{MANIFEST}"))
    return [each for each in dict.fromkeys((*in_order, *others)) if (each / MANIFEST).is_file()]


def worst_of_sweep(folder: Path) -> Path | None:
    """The folder of the run that fared worst; None if the sweep has not come to its end.

    Raises:
        RunError: what came of it cannot be read.
    """
    worst = _told_of_sweep(folder)[1]
    return None if worst is None else folder / worst


def _told_of_sweep(folder: Path) -> tuple[list[str], str | None]:
    """The folders of runs in a sweep's table, and of the one that fared worst."""
    told = _read_json(folder / SWEEP)
    if told is None:
        return [], None
    try:
        return [str(each["folder"]) for each in told["runs"]], str(told["worst"]["folder"])
    except (KeyError, TypeError) as error:
        raise RunError(f"{folder / SWEEP}: is not what a sweep of Tidegauge writes") from error


def read_manifest(folder: Path) -> dict[str, Any]:
    """What is run in this folder, and what the numbers in its rows stand for.

    Raises:
        RunError: there is no manifest in it that this Tidegauge can read.
        SweepFolderError: it is the folder of a sweep.
    """
    file = folder / MANIFEST
    manifest = _read_json(file)
    if manifest is None:
        if is_sweep(folder):
            raise SweepFolderError(folder)
        raise RunError(f"{folder}: not the folder of a run: it has no {MANIFEST}")
    if manifest.get("format") != FORMAT:
        raise RunError(f"{file}: not the manifest of a run of Tidegauge")
    schema_version = manifest.get("schema_version", 0)
    if schema_version > SCHEMA_VERSION:
        raise RunError(newer_schema(file, schema_version, manifest.get("tidegauge")))
    missing = [name for name in NAMED if not isinstance(manifest.get(name), list)]
    if missing:
        raise RunError(f"{file}: has no list of {missing[0]}")
    return manifest


def read_summary(folder: Path) -> dict[str, Any] | None:
    """What came of the run in this folder; None if it has not come to its end.

    Raises:
        RunError: the summary cannot be read.
    """
    return _read_json(folder / SUMMARY)


def end_of_run_us(planned_us: int, last_row_us: Callable[[], int], *, has_summary: bool) -> int:
    """Where a run itself ends, and its liveness phase begins.

    A run without a summary was interrupted, and ends with its last row: a state that holds then
    does not hold until the planned end.

    Args:
        planned_us: the duration of the scenario.
        last_row_us: reads the time of the last row, which takes a while.
        has_summary: whether the run has come to its end.
    """
    return planned_us if has_summary else min(planned_us, last_row_us() + 1)


def trace_files(folder: Path) -> list[Path]:
    """The trace files of a run that have been begun: an empty one has not been."""
    files = sorted((folder / TRACE).glob("*.msgpack"))
    return [file for file in files if file.stat().st_size]


def _read_json(file: Path) -> dict[str, Any] | None:
    """What a JSON file holds; None if there is no such file."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise RunError(f"{file}: cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise RunError(f"{file}: cannot be read: it holds no JSON object")
    return content
