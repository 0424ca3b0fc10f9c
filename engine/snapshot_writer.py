"""Snapshots of a run while it goes on.

A copy of all tables is taken between two events. A thread compresses it and writes the file, while
the run continues.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from tidegauge.engine.contract import Engine, EngineState
from tidegauge.engine.row_stream import RowStream, StreamCopy
from tidegauge.engine.run_snapshots.snapshot_file import RunSnapshot, write_snapshot


class SnapshotWriter:
    """Writes snapshots of one run; leaving it waits for the last one."""

    def __init__(self, folder: Path, engine: Engine, stream: RowStream) -> None:
        """Write to the run's folder the state of an engine, and of checks and figures."""
        self._folder = folder
        self._engine = engine
        self._stream = stream
        self._thread = ThreadPoolExecutor(1, "snapshot-writer")
        self._writing: Future[None] | None = None

    def take(self, time_us: int) -> None:
        """Save the state at the virtual time that all groups have reached.

        Raises:
            OSError: this snapshot, or the one before, cannot be written.
        """
        self._wait()
        state = self._engine.save()
        stream = self._stream.copy(time_us)
        self._writing = self._thread.submit(self._write, time_us, state, stream)

    def _write(self, time_us: int, state: EngineState, stream: StreamCopy) -> None:
        groups = [packed() for packed in state.groups]
        write_snapshot(self._folder, RunSnapshot(time_us, state.trace, groups, stream.packed()))

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
        with self._thread:
            self._wait()
