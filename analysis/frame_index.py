"""The places of the frames of a trace file, found by reading only their heads.

A frame has the lengths of its columns (``traces/trace_file.py``), so that the next one is found by
hopping over them: some 200 bytes are read of each. A frame of an earlier release does not, and is
read through. Nothing is unpacked here but heads: whether a frame is sound inside is known when it
is read (:func:`read_frame`).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgpack  # type: ignore[import-untyped]  # it comes without types

from tidegauge.traces import trace_file

_log = logging.getLogger(__name__)

#: First reads of a header, of a frame's head, of the bytes behind its columns, and of a frame
#: without a length: enough for nearly all of them.
_HEADER_BYTES = 1 << 15
_HEAD_BYTES = 160
_CHECKSUM_BYTES = 15
_FRAME_BYTES = 1 << 12


class TraceBytes:
    """An open file."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            OSError: it cannot be opened.
        """
        self.path = path
        self._descriptor = os.open(path, os.O_RDONLY)

    def size(self) -> int:
        """The present size of the file in bytes."""
        return os.fstat(self._descriptor).st_size

    def read(self, begin: int, size: int) -> bytes:
        """The bytes from ``begin`` on: ``size`` of them, or fewer where the file ends."""
        return os.pread(self._descriptor, size, begin)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.close(self._descriptor)


@dataclass(frozen=True, slots=True)
class FramePlace:
    """A whole frame: its place and its head."""

    #: Its place among the frames of its file, from 1 on.
    number: int
    begin: int
    #: In bytes.
    size: int
    kind: trace_file.TraceKind
    rows: int
    first_time_us: int
    last_time_us: int


def frames_of_file(file: TraceBytes) -> Iterator[FramePlace]:
    """The whole frames of a trace file at its current length; a warning reports an incomplete one.

    Raises:
        TraceError: it is no trace, its schema is newer than this Tidegauge's, or a frame has no
            head; the message names the file, the frame and where it begins.
    """
    kinds, begin = _kinds(file)
    size = file.size()
    number = 1
    while begin < size:
        try:
            place = _frame_at(file, number, begin, kinds)
        except (ValueError, TypeError, LookupError, msgpack.UnpackException) as error:
            raise trace_file.TraceError(f"{_place(file.path, number, begin)} is damaged") from error
        if place is None:
            _log.warning("%s: ends within a frame, which begins at byte %d", file.path, begin)
            return
        yield place
        begin += place.size
        number += 1


def read_frame(file: TraceBytes, place: FramePlace) -> trace_file.Frame:
    """A frame with its columns, checked against its checksum.

    Raises:
        TraceError: it is damaged; the message names the file, the frame and where it begins.
    """
    where = _place(file.path, place.number, place.begin)
    try:
        value = msgpack.unpackb(file.read(place.begin, place.size))
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise trace_file.TraceError(f"{where} is damaged") from error
    return trace_file.frame_of(value, {place.kind.name: place.kind}, where)


def _place(path: Path, number: int, begin: int) -> str:
    return f"{path}: frame {number} at byte {begin}"


def _kinds(file: TraceBytes) -> tuple[dict[str, trace_file.TraceKind], int]:
    """The kinds that the header declares, and where the first frame begins."""
    try:
        header = _parsed(file, 0, _HEADER_BYTES, lambda unpacker: unpacker.unpack())
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise trace_file.not_a_trace(file.path) from error
    if header is None:
        raise trace_file.not_a_trace(file.path)
    return trace_file.kinds_of(header.value, file.path), header.end


def _frame_at(
    file: TraceBytes, number: int, begin: int, kinds: Mapping[str, trace_file.TraceKind]
) -> FramePlace | None:
    """The frame that begins there; None if the file ends within it."""
    head = _parsed(file, begin, _HEAD_BYTES, _head)
    if head is None:
        return None
    end = _end_of_frame(file, begin, head)
    if end is None:
        return None
    return FramePlace(
        number,
        begin,
        end - begin,
        kinds[head.value["kind"]],
        *(int(head.value[name]) for name in ("rows", "first_time_us", "last_time_us")),
    )


def _end_of_frame(file: TraceBytes, begin: int, head: _Object) -> int | None:
    if "column_bytes" not in head.value:
        frame = _parsed(file, begin, _FRAME_BYTES, lambda unpacker: unpacker.skip())
        return frame and frame.end
    after_columns = head.end + head.value["column_bytes"]
    checksum = _parsed(file, after_columns, _CHECKSUM_BYTES, _checksum)
    return checksum and checksum.end


class _Object(NamedTuple):
    value: Any
    #: Its end in the file, in bytes.
    end: int


def _parsed(file: TraceBytes, begin: int, size: int, parse: Callable[[Any], Any]) -> _Object | None:
    """The parsed object at a place, with as few reads as needed; None: the file ends."""
    content = b""
    while True:
        content += file.read(begin + len(content), size - len(content))
        unpacker = msgpack.Unpacker(max_buffer_size=0)
        unpacker.feed(content)
        try:
            return _Object(parse(unpacker), begin + unpacker.tell())
        except msgpack.OutOfData:
            if len(content) < size:
                return None
        size *= 4


def _head(unpacker: Any) -> dict[str, Any]:
    """The head of a frame, before its columns."""
    head: dict[str, Any] = {}
    for _ in range(unpacker.read_map_header()):
        key = unpacker.unpack()
        if key == "columns":
            return head
        head[key] = unpacker.unpack()
    raise ValueError("no columns")


def _checksum(unpacker: Any) -> int:
    """The end of a frame, after its columns."""
    if unpacker.unpack() != "checksum":
        raise ValueError("no checksum")
    return int(unpacker.unpack())
