"""The file of a snapshot, and the snapshots of a run's folder.

``RUN/snapshots/000060.000000s.snapshot`` is the whole state of the run after all events earlier
than that virtual time: a msgpack map, and behind it the SHA-256 of its bytes.

=================  ==============================================================================
entry              content
=================  ==============================================================================
``format``         ``tidegauge-snapshot``
``tidegauge``      the release that wrote it, and ``sources``, a digest of its sources: with other
                   rules the run would have another end
``architecture``   processor and byte order: tables are saved as they lie in memory
``run``            the SHA-256 of the run's manifest
``time_us``        the virtual time
``trace``          the length of each trace file then, in bytes, by its path in the run's folder
``groups``         for each group of processes its name, its processes, its tables
``stream``         tables of checks and figures (``engine/row_stream.py``)
``loop_seconds``   wall time and the number of windows of the loop so far, for the speed in the
``windows``        summary
=================  ==============================================================================

The file appears when it is whole. So a folder has whole snapshots only, unless a disk is damaged.
"""

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgpack  # type: ignore[import-untyped]  # it comes without types

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.compiled.kept_code import digest_of_sources
from tidegauge.compiled.rules import RUN
from tidegauge.simulation.quantities import whole_time_text
from tidegauge.simulation.trace_rows.schema import tidegauge_version
from tidegauge.traces.run_files import MANIFEST, snapshot_file, snapshot_times_us

FORMAT = "tidegauge-snapshot"

#: The remedy for a snapshot that cannot be used.
OTHERWISE = "delete it to use an earlier one"

_DIGEST_BYTES = sha256().digest_size


class SnapshotError(TidegaugeError):
    """A snapshot that cannot be used; the message is one line that names the file."""


class RunSnapshot(NamedTuple):
    """The state of a run at one virtual time."""

    time_us: int
    #: The length of each trace file, by its path in the run's folder.
    trace: Mapping[str, int]
    #: The state of each group of processes (``engine/group_snapshots.py``).
    groups: Sequence[Mapping[str, Any]]
    #: The state of checks and figures.
    stream: Mapping[str, Any]
    #: Wall time and the number of windows of the loop so far.
    loop_seconds: float
    windows: int


def write_snapshot(folder: Path, snapshot: RunSnapshot) -> None:
    """Write a snapshot into the run's folder; after an error there is none.

    Raises:
        OSError: the file cannot be written.
    """
    content = msgpack.packb({**_origin(folder), **snapshot._asdict()})
    file = snapshot_file(folder, snapshot.time_us)
    file.parent.mkdir(exist_ok=True)
    draft = file.with_name(f"{file.name}.tmp")
    try:
        with draft.open("wb") as stream:
            stream.write(content)
            stream.write(sha256(content).digest())
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(file)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise


def read_snapshot(folder: Path, time_us: int) -> RunSnapshot:
    """Read the snapshot of a run at a virtual time.

    Raises:
        SnapshotError: the snapshot is missing, damaged, of another run, of another release of
            Tidegauge, or of another kind of machine.
    """
    file = snapshot_file(folder, time_us)
    try:
        read = file.read_bytes()
    except FileNotFoundError:
        raise SnapshotError(_missing(folder, time_us)) from None
    except OSError as error:
        raise SnapshotError(f"{file}: cannot be read: {error.strerror}") from error
    content, digest = read[:-_DIGEST_BYTES], read[-_DIGEST_BYTES:]
    if sha256(content).digest() != digest:
        raise SnapshotError(f"{file}: is damaged or incomplete; {OTHERWISE}")
    saved = msgpack.unpackb(content, strict_map_key=False)
    _check_origin(file, saved, _origin(folder))
    if saved["time_us"] != time_us:
        raise SnapshotError(f"{file}: is of {whole_time_text(saved['time_us'])}; {OTHERWISE}")
    return RunSnapshot(*(saved[name] for name in RunSnapshot._fields))


def _origin(folder: Path) -> dict[str, Any]:
    """The entries that say of which run, release and machine a snapshot is."""
    return {
        "format": FORMAT,
        "tidegauge": tidegauge_version(),
        "sources": digest_of_sources(RUN),
        "architecture": f"{platform.machine()}, {sys.byteorder}-endian",
        "run": sha256((folder / MANIFEST).read_bytes()).hexdigest(),
    }


def _check_origin(file: Path, saved: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    if saved.get("format") != FORMAT:
        raise SnapshotError(f"{file}: is not a snapshot of Tidegauge")
    if saved["architecture"] != ours["architecture"]:
        raise SnapshotError(
            f"{file}: is of a machine with {saved['architecture']}; this one has "
            f"{ours['architecture']}"
        )
    if (saved["tidegauge"], saved["sources"]) != (ours["tidegauge"], ours["sources"]):
        raise SnapshotError(
            f"{file}: is of Tidegauge {saved['tidegauge']} ({saved['sources'][:8]}), and this is "
            f"{ours['tidegauge']} ({ours['sources'][:8]}): only the same release can continue a run"
        )
    if saved["run"] != ours["run"]:
        raise SnapshotError(
            f"{file}: is of another run than {file.parent.parent / MANIFEST}; {OTHERWISE}"
        )


def _missing(folder: Path, time_us: int) -> str:
    """An error that names the snapshots there are."""
    there = ", ".join(map(whole_time_text, snapshot_times_us(folder))) or "none"
    return f"{folder}: has no snapshot at {whole_time_text(time_us)} (snapshots: {there})"
