"""The work of reading traces, cut into parts that can run in parallel.

Files are cut between frames, and small ones are put together, so that parts are alike.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.analysis.frame_index import FramePlace, TraceBytes, frames_of_file, read_frame
from tidegauge.analysis.requests import FoundRun, TraceRequest, runs_at
from tidegauge.traces.run_files import trace_files
from tidegauge.traces.trace_file import Frame


class TimeRange(NamedTuple):
    """From a microsecond to before another; None: without a limit."""

    from_us: int | None
    to_us: int | None

    def meets(self, first_us: int, last_us: int) -> bool:
        """Whether anything from the first to the last of these times is within it."""
        return (self.from_us is None or last_us >= self.from_us) and (
            self.to_us is None or first_us < self.to_us
        )

    def rows_of(self, frame: Frame) -> NDArray[np.bool_] | slice:
        """Flags of the rows of a frame within the range."""
        all_after = self.from_us is None or frame.first_time_us >= self.from_us
        all_before = self.to_us is None or frame.last_time_us < self.to_us
        if all_after and all_before:
            return slice(None)
        time_us = frame.column("time_us")
        after = time_us >= (time_us if self.from_us is None else self.from_us)
        return after if self.to_us is None else after & (time_us < self.to_us)


@dataclass(frozen=True, slots=True)
class FilePart:
    """The requested frames of one file."""

    run: str
    path: Path
    times: TimeRange
    frames: tuple[FramePlace, ...]


def find_frames(request: TraceRequest) -> tuple[FilePart, ...]:
    """The frames of all runs with requested rows, file by file.

    Raises:
        RunError: a path is not that of a run.
        TraceError: a trace file is damaged, or of a later release.
        OSError: a file cannot be read.
    """
    kinds = {*request.wanted_kinds}
    files = []
    for run in runs_at(request.paths):
        times = _times(request, run)
        for path in trace_files(run.folder):
            with TraceBytes(path) as file:
                frames = tuple(
                    frame
                    for frame in frames_of_file(file)
                    if frame.kind.name in kinds
                    and times.meets(frame.first_time_us, frame.last_time_us)
                )
            if frames:
                files.append(FilePart(run.name, path, times, frames))
    return tuple(files)


def _times(request: TraceRequest, run: FoundRun) -> TimeRange:
    ends_us = [] if request.to_us is None else [request.to_us]
    if request.within_run:
        ends_us.append(run.end_us())
    return TimeRange(request.from_us, min(ends_us, default=None))


def parts_of(files: tuple[FilePart, ...], part_bytes: int) -> list[list[FilePart]]:
    """The same frames in parts of about as many bytes, each with pieces of one file or several.

    In each piece frames of one kind follow each other: rows that Spark keeps are then quickly
    looked through for those of one kind.
    """
    parts: list[list[FilePart]] = []
    room = 0
    for file in files:
        taken: list[FramePlace] = []
        for frame in file.frames:
            if room <= 0:
                _end_piece(parts, file, taken)
                parts.append([])
                taken, room = [], part_bytes
            taken.append(frame)
            room -= frame.size
        _end_piece(parts, file, taken)
    return parts


def _end_piece(parts: list[list[FilePart]], file: FilePart, frames: list[FramePlace]) -> None:
    if frames:
        by_kind = tuple(sorted(frames, key=lambda frame: frame.kind.number))
        parts[-1].append(FilePart(file.run, file.path, file.times, by_kind))


def frames_of(part: list[FilePart]) -> Iterator[tuple[FilePart, Frame]]:
    """The frames of a part, one after the other.

    Raises:
        TraceError: one is damaged.
        OSError: a file cannot be read.
    """
    for piece in part:
        with TraceBytes(piece.path) as file:
            for place in piece.frames:
                yield piece, read_frame(file, place)
