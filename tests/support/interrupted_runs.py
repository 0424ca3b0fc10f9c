"""Runs as they lie on disk when somebody has interrupted them at a time behind a snapshot."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]  # it comes without types

from tidegauge.traces.run_files import SUMMARY, snapshot_file, snapshot_times_us, trace_files
from tidegauge.traces.run_folder import RunFolder

#: Figures that depend on the machine, and on how often a loop was interrupted.
OF_SPEED = {
    *("wall_seconds", "loop_seconds", "loop_seconds_by_process_kind", "loop_samples"),
    *("events_per_second", "times_real_time", "windows", "windows_per_virtual_second"),
    *("events_per_window", "groups"),
    # A fetch that finds nothing is handled if a snapshot cuts its computed cycles.
    "events_computed",
}


def interrupted(run: RunFolder, time_us: int, folder: Path) -> Path:
    """A copy of a complete run, as if it had died after its snapshot at this time.

    The trace has more rows than the snapshot knows of, and its last file ends within a frame. The
    next snapshot is a draft.
    """
    shutil.copytree(run.path, folder)
    (folder / SUMMARY).unlink()
    for later_us in snapshot_times_us(folder):
        if later_us > time_us:
            file = snapshot_file(folder, later_us)
            os.truncate(file, 100)
            file.replace(file.with_name(f"{file.name}.tmp"))
    last = max(trace_files(folder), key=lambda file: file.stat().st_mtime_ns)
    os.truncate(last, last.stat().st_size - 1)
    return folder


def figures_of_meaning(run: RunFolder) -> dict[str, Any]:
    """The summary of a complete run without figures of speed."""
    assert run.summary is not None
    return {name: value for name, value in run.summary.items() if name not in OF_SPEED}


def rewritten(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Write a snapshot again with other content, under a digest that is right."""
    content = msgpack.unpackb(file.read_bytes()[: -sha256().digest_size], strict_map_key=False)
    change(content)
    packed = msgpack.packb(content)
    file.write_bytes(packed + sha256(packed).digest())


def files_of(folder: Path) -> dict[str, bytes]:
    """All files below a folder, but for the lock, which remembers nothing."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != ".run.lock"
    }
