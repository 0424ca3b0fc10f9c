"""The files of a run's folder: their names, and the content of its manifest and summary.

``traces/run_folder.py`` describes each of them, ``engine/run_snapshots`` a snapshot. A sweep has a
folder, too, with a folder for each of its runs (``tidegauge/sweeps/sweep_folder.py``).
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.simulation.trace_rows.schema import SCHEMA_VERSION, tidegauge_version
from tidegauge.traces.directory import LISTS
from tidegauge.traces.trace_file import newer_schema

#: The format that a manifest names.
FORMAT = "tidegauge-run"

#: The ``source`` that the manifest of a run names that was made of the logs of a real cluster.
OF_LOGS = "logs"

MANIFEST = "manifest.json"
SUMMARY = "summary.json"
TRACE = "trace"
#: The costs of the faults, if ``tidegauge blame`` has found them.
BLAME = "blame.json"
#: The folder of snapshots.
SNAPSHOTS = "snapshots"
_SNAPSHOT_SUFFIX = "s.snapshot"
#: The lock of the run or resume that writes into the folder; a complete run has none.
RUN_LOCK = ".run.lock"

#: In the folder of a sweep: the results of all runs of the last sweep.
SWEEP = "sweep.json"
#: The lock of the sweep that writes into the folder; the file stays, and marks the folder as a
#: sweep's.
SWEEP_LOCK = ".sweep.lock"

#: The first version of the schema with such a directory, and with rows of the cluster's state.
FIRST_SCHEMA_VERSION = 4


class WorstRun(NamedTuple):
    """The worst run of a sweep, as its table has it."""

    folder: Path
    #: The figure by which it is the worst; None: it was not as expected, or no run is worse.
    figure: str | None
    #: ``most`` or ``least`` of that figure is worst.
    worst_is: str | None


class RunError(TidegaugeError):
    """A folder that is not that of a run, or cannot be read; the message is one line."""


class SweepFolderError(RunError):
    """The folder of a sweep, where the folder of one run is needed."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: the folder of a sweep, not of a run: its runs are below it")


def is_sweep(folder: Path) -> bool:
    """Whether it is the folder of a sweep, complete or not."""
    is_run = (folder / MANIFEST).exists()
    return not is_run and ((folder / SWEEP).is_file() or (folder / SWEEP_LOCK).is_file())


def runs_of_sweep(folder: Path) -> list[Path]:
    """The folders of a sweep's runs: in the order of its table, then those of before by name.

    Raises:
        RunError: the table of the sweep cannot be read.
    """
    in_order = [folder / name for name in _told_of_sweep(folder)[0]]
    others = sorted(file.parent for file in folder.glob(f"*/{MANIFEST}"))
    return [each for each in dict.fromkeys((*in_order, *others)) if (each / MANIFEST).is_file()]


def worst_of_sweep(folder: Path) -> WorstRun | None:
    """The worst run of a sweep; None if the sweep is not complete.

    Raises:
        RunError: the table of the sweep cannot be read.
    """
    return _told_of_sweep(folder)[1]


def _told_of_sweep(folder: Path) -> tuple[list[str], WorstRun | None]:
    """The folders of runs in a sweep's table, and the worst run."""
    told = _read_json(folder / SWEEP)
    if told is None:
        return [], None
    try:
        worst = told["worst"]
        of_worst = WorstRun(
            folder / str(worst["folder"]), worst.get("figure"), worst.get("worst_is")
        )
        return [str(each["folder"]) for each in told["runs"]], of_worst
    except (AttributeError, KeyError, TypeError) as error:
        raise RunError(f"{folder / SWEEP}: is not the table of a sweep of Tidegauge") from error


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a run: its scenario, and the names for the numbers in its rows.

    Raises:
        RunError: the folder has no manifest that this version of Tidegauge can read.
        SweepFolderError: the folder is that of a sweep.
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
    if schema_version < FIRST_SCHEMA_VERSION:
        raise RunError(
            f"{file}: has schema version {schema_version}, and Tidegauge {tidegauge_version()}"
            f" reads from {FIRST_SCHEMA_VERSION} on: use Tidegauge {manifest.get('tidegauge')},"
            " which wrote it"
        )
    missing = [name for name in LISTS if not isinstance(manifest.get(name), list)]
    if missing:
        raise RunError(f"{file}: has no list of {missing[0]}")
    return manifest


def read_summary(folder: Path) -> dict[str, Any] | None:
    """Read the summary of a run; None if the run is not complete.

    Raises:
        RunError: the summary cannot be read.
    """
    return _read_json(folder / SUMMARY)


def end_of_run_us(planned_us: int, last_row_us: Callable[[], int], *, has_summary: bool) -> int:
    """The time at which a run itself ends, and its liveness phase begins.

    A run without a summary was interrupted. It ends with its last row: a state that holds then does
    not count until the planned end.

    Args:
        planned_us: the duration of the scenario.
        last_row_us: reads the time of the last row, which takes a while.
        has_summary: whether the run is complete.
    """
    return planned_us if has_summary else min(planned_us, last_row_us() + 1)


def trace_files(folder: Path) -> list[Path]:
    """The trace files of a run that have content."""
    files = sorted((folder / TRACE).glob("*.msgpack"))
    return [file for file in files if file.stat().st_size]


def trace_bytes_of(folder: Path) -> int:
    """The size of all trace files of a run."""
    return sum(file.stat().st_size for file in trace_files(folder))


def snapshot_file(folder: Path, time_us: int) -> Path:
    """The file of a run's snapshot at a virtual time."""
    name = f"{time_us // 1_000_000:06}.{time_us % 1_000_000:06}{_SNAPSHOT_SUFFIX}"
    return folder / SNAPSHOTS / name


def snapshot_times_us(folder: Path) -> list[int]:
    """The virtual times of the snapshots in a run's folder, the earliest first."""
    times_us = []
    for file in (folder / SNAPSHOTS).glob(f"*{_SNAPSHOT_SUFFIX}"):
        seconds, _, micros = file.name.removesuffix(_SNAPSHOT_SUFFIX).partition(".")
        if seconds.isdecimal() and micros.isdecimal():
            times_us.append(int(seconds) * 1_000_000 + int(micros))
    return sorted(times_us)


def _read_json(file: Path) -> dict[str, Any] | None:
    """The content of a JSON file; None if the file does not exist."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise RunError(f"{file}: cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise RunError(f"{file}: cannot be read: it holds no JSON object")
    return content
