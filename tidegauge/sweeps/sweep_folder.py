"""The axes of a sweep: each is a path in the scenario, and the values that it takes.

The folder of a sweep: its finished runs, and whether they belong to this sweep.

The folder of each run is named after its changes and its seed, such as
``replica.lag.time.max.ms=10000,seed=7``. The name does not depend on the rest of the sweep. So a
stopped sweep resumes with the missing runs, and a sweep with more values or seeds runs only those.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from filelock import FileLock, Timeout

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication.ablations import switches_of
from tidegauge.scenario.reading import Scenario
from tidegauge.simulation.trace_rows.schema import SCHEMA_VERSION, tidegauge_version
from tidegauge.traces.run_files import MANIFEST, SUMMARY, SWEEP, SWEEP_LOCK, TRACE
from tidegauge.traces.run_folder import RunFolder


class Axis(NamedTuple):
    """A path in the scenario with several values, as they were typed."""

    path: str
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name in tables: the name of a setting, else the last two names of its path."""
        _, is_setting, setting = self.path.rpartition("settings.")
        return setting if is_setting else ".".join(self.path.split(".")[-2:])


_CLUSTER_SETTINGS = "cluster.settings."

#: File systems take 255 bytes; of a longer name the rest is a hash.
_LONGEST_NAME = 200
#: The longest value in a line.
_LONGEST_VALUE = 40


class SweepError(TidegaugeError):
    """The folder cannot be taken for this sweep; the message is one line."""


def run_name(changes: Mapping[str, str], seed: int) -> str:
    """The name of a run's folder, fit for any file system.

    Args:
        changes: the changes to the scenario, as text by their paths.
        seed: the seed of the run.
    """
    said = {path: value for path, value in changes.items() if path != "seed"}
    parts = [
        f"{path.removeprefix(_CLUSTER_SETTINGS)}={value}" for path, value in sorted(said.items())
    ]
    name = ",".join(quote(part, safe="=+ ").replace(" ", "_") for part in [*parts, f"seed={seed}"])
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[:_LONGEST_NAME]}~{sha256(name.encode()).hexdigest()[:8]}"


@contextmanager
def sweep_folder(out: Path) -> Iterator[None]:
    """Lock the folder of a sweep, new or existing, while entered.

    Raises:
        SweepError: the folder has other content, or another sweep uses it.
        OSError: the folder cannot be written to.
    """
    out.mkdir(parents=True, exist_ok=True)
    is_known = (out / SWEEP_LOCK).exists() or (out / SWEEP).exists()
    if not is_known and any(out.iterdir()):
        raise SweepError(f"{out}: is not empty, and has no sweep to resume")
    lock = FileLock(out / SWEEP_LOCK, timeout=0)
    try:
        with lock:
            yield
    except Timeout:
        raise SweepError(f"{out}: another sweep is running in it") from None


def finished_run(folder: Path, scenario: Callable[[], Scenario]) -> RunFolder | None:
    """The run in a folder, if it is finished.

    Args:
        folder: the folder of the run.
        scenario: makes the scenario of the run; called only if there is a run.

    Raises:
        SweepError: the folder has a run of another scenario.
        RunError: the run cannot be read.
    """
    if not (folder / MANIFEST).exists():
        return None
    run = RunFolder(folder)
    wanted = scenario()
    asked_for = {
        "tidegauge": tidegauge_version(),
        "schema_version": SCHEMA_VERSION,
        "switches": switches_of(wanted.ablations),
        "scenario": json.loads(json.dumps(wanted.resolved())),
    }
    recorded = {name: run.manifest.get(name) for name in asked_for}
    for path, there, wanted in _differences("", recorded, asked_for):
        raise SweepError(
            f"{folder}: is of another sweep: {path.removeprefix('scenario.')} is {_short(there)} "
            f"there, {_short(wanted)} here; choose another folder"
        )
    return None if run.summary is None else run


def remove_unfinished(folder: Path) -> None:
    """Remove the files of an unfinished run, which is repeated from its beginning.

    Any other folder stays unchanged.

    Raises:
        OSError: the files cannot be removed.
    """
    is_begun = (folder / MANIFEST).exists() or (folder / TRACE).exists()
    if is_begun and not (folder / SUMMARY).exists():
        shutil.rmtree(folder)


def _differences(path: str, one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    """The paths at which two JSON values differ, and both values."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in [*one, *(name for name in other if name not in one)]:
            yield from _differences(f"{path}.{name}", one.get(name), other.get(name))
    elif isinstance(one, list) and isinstance(other, list):
        for place, (each, its) in enumerate(zip_longest(one, other)):
            yield from _differences(f"{path}.{place}", each, its)
    elif one != other:
        yield path.removeprefix("."), one, other


def _short(value: Any) -> str:
    text = "missing" if value is None else str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
