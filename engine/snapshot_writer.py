"""Snapshots of a run while it goes on.

A copy of all tables is taken between two events. A thread compresses it and writes the file, while
the run continues.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tidegauge.engine.contract import ActorError, Engine, EngineInput
from tidegauge.engine.run_snapshots.snapshot_file import RunSnapshot, write_snapshot
from tidegauge.simulation.quantities import format_duration, parse_duration, parse_time

#: More snapshots of one run are a mistake.
MOST_SNAPSHOTS = 10_000


def regular_times_us(text: str, duration_us: int) -> range:
    """The times of snapshots at an interval, such as ``60s``, in a run of this duration.

    Raises:
        ValueError: the text is no duration above 0, or there would be no snapshot, or too many.
    """
    period_us = parse_duration(text)
    if period_us == 0:
        raise ValueError("must be more than 0")
    times_us = range(period_us, duration_us, period_us)
    if not times_us:
        raise ValueError(f"the run ends at {format_duration(duration_us)}, before a snapshot")
    if len(times_us) > MOST_SNAPSHOTS:
        raise ValueError(
            f"{len(times_us):,} snapshots are too many; {MOST_SNAPSHOTS:,} are the most"
        )
    return times_us


def named_time_us(text: str, duration_us: int) -> int:
    """The time of one snapshot, such as ``63.2s``, in a run of this duration.

    Raises:
        ValueError: the text is no time above 0, or is not before the end of the run.
    """
    time_us = parse_time(text)
    if time_us == 0:
        raise ValueError("must be more than 0")
    if time_us >= duration_us:
        raise ValueError(f"must be before the end of the run, {format_duration(duration_us)}")
    return time_us


class SnapshotWriter:
    """Writes snapshots of one run; leaving it waits for the last one."""

    def __init__(self, run: EngineInput, engine: Engine) -> None:
        """Write to the run's folder the state of its engine, and of checks and figures."""
        self._run = run
        self._engine = engine
        self._thread = ThreadPoolExecutor(1, "snapshot-writer")
        self._writing: Future[None] | None = None

    def take(self, time_us: int) -> None:
        """Save the state at the virtual time that all groups have reached.

        Raises:
            OSError: this snapshot, or the one before, cannot be written.
        """
        self._wait()
        past, state = self._run.past, self._engine.save()
        stream, loop = self._run.stream.copy(time_us), self._engine.figures()
        trace = {**(past.trace if past else {}), **state.trace}

        def write() -> None:
            _hand_to_disk(self._run.folder / path for path in state.trace)
            groups = [packed() for packed in state.groups]
            write_snapshot(
                self._run.folder,
                RunSnapshot(time_us, trace, groups, stream.packed(), *loop.spent(past)),
            )

        self._writing = self._thread.submit(write)

    def _wait(self) -> None:
        if self._writing is not None:
            writing, self._writing = self._writing, None
            writing.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._thread, suppress(OSError, ActorError) if error is not None else nullcontext():
            self._wait()


def _hand_to_disk(files: Iterable[Path]) -> None:
    """Have what these files hold on disk: a snapshot is of no use without its trace."""
    for file in files:
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
