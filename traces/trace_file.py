"""Trace files: the recorded rows of a run, as a msgpack stream of blocks of columns.

A file is a header and then frames, each a msgpack map with string keys only. The header has the
kind of the file (``format``, ``schema_version``, ``tidegauge``), the columns that every row has
(``row_columns``), all kinds of rows with their number, name, columns and whether they are canonical
(``kinds``), and the names of numbers in them (``enumerations``). So a file explains itself, also
once the schema has changed.

A frame holds up to :data:`FRAME_ROWS` rows of one kind:

=====================================  ==================================================
key                                    value
=====================================  ==================================================
``kind``                               name of the kind
``rows``                               how many rows
``first_time_us``, ``last_time_us``    the earliest and the latest virtual time of them
``column_bytes``                       how long ``columns`` is in the file, to hop over it
``columns``                            name -> ``base``, ``width``, ``data``
``checksum``                           CRC-32 over all of the above (:func:`checksum_of`)
=====================================  ==================================================

A column is packed to a frame of reference: ``base`` is its smallest value, and ``data`` has,
compressed by zstd, the difference of each value from it, as a little-endian unsigned integer of
``width`` bytes (1, 2, 4 or 8). Any 64-bit integer comes back as it was.

Frames of earlier releases have no ``column_bytes``.

There is no footer. A file that is still being written, or whose writer died, ends anywhere
within a frame: it is read up to its last whole frame and called torn. Rows of one kind are in
the order in which they were written; between kinds, and between files, (time_us, process,
sequence, minor) is the order.
"""

from __future__ import annotations

import threading
import zlib
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self, cast

import msgpack  # type: ignore[import-untyped]  # it comes without types
import numpy as np
import zstandard
from numpy.typing import NDArray

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.simulation.trace_rows import schema

if TYPE_CHECKING:  # readers do without the kernel: its import takes a second
    from tidegauge.compiled.records import Records
    from tidegauge.simulation.trace_rows.row import RowSlot

#: The format's name in a header.
FORMAT = "tidegauge-trace"

#: The columns of every row, before those of its kind.
ROW_COLUMNS = tuple(schema.COMMON_COLUMNS)

#: Most rows of a frame: more are hardly smaller or faster, fewer cost both.
FRAME_ROWS = 10_000

#: The most frames that wait for the thread; then the simulation waits for it.
_MOST_TASKS = 16

#: Level 3 and more were slower and no smaller.
_COMPRESSION_LEVEL = 1
_WIDTHS = (1, 2, 4, 8)
_LOWEST_64_BITS = (1 << 64) - 1

#: Rows as the kernel has them: all of their fields are integers of 64 bits.
_Rows = NDArray[np.int64]

#: Columns of 64-bit integers of the same length, by name.
Table = dict[str, NDArray[np.int64]]


class TraceError(TidegaugeError):
    """A trace that cannot be read; the message is one line that names the file."""


class TraceKind(NamedTuple):
    """A kind of rows, as a file's header describes it."""

    number: int
    name: str
    #: The kind's own columns in the schema's order, without :data:`ROW_COLUMNS`.
    columns: tuple[str, ...]
    canonical: bool

    @property
    def all_columns(self) -> tuple[str, ...]:
        """The columns of a row of this kind, in order."""
        return ROW_COLUMNS + self.columns


class _FillingFrame:
    """Rows of one kind that will be a frame; once written, its memory is used again."""

    def __init__(self, words: int) -> None:
        #: A row has so many words: numpy copies words five times as fast as records.
        self._words = np.empty((FRAME_ROWS, words), np.int64)
        self.rows = 0

    @property
    def content(self) -> _Rows:
        """Its rows."""
        return self._words[: self.rows]

    def fill(self, words: _Rows, places: NDArray[np.int64]) -> int:
        """Copy the rows at some places, as many as there is room for; their number."""
        first = self.rows
        self.rows = min(first + len(places), FRAME_ROWS)
        fits = self.rows - first
        # Without the mode numpy would make a copy first.
        np.take(words, places[:fits], axis=0, out=self._words[first : self.rows], mode="clip")
        return fits


class TraceWriter:
    """Writes the rows of one group of processes to a file of its own.

    Rows wait until they fill a frame, or until :meth:`flush` or :meth:`close`. Frames are packed
    and written by a thread, so that the simulation goes on meanwhile.
    """

    def __init__(self, to: Path | BinaryIO, header: Mapping[str, object] | None = None) -> None:
        """Begin the file, replacing an older one.

        Args: to: the file, in a folder that exists; or a stream that takes its bytes, whole frames
        at once. header: the header's own entries besides those of every header: text and numbers.

        Raises:
            OSError: the file cannot be written.
        """
        self._file: BinaryIO = to.open("wb") if isinstance(to, Path) else to
        self._thread = ThreadPoolExecutor(1, "trace-writer")
        self._tasks: deque[Future[None]] = deque()
        self._filling: dict[int, _FillingFrame] = {}
        #: Frames that are written.
        self._spare: deque[_FillingFrame] = deque()
        #: For the thread alone.
        self._compressor = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL)
        try:
            self._file.write(msgpack.packb({**(header or {}), **_header()}))
            self._file.flush()
        except OSError:
            with suppress(OSError):
                self._file.close()
            raise

    def write(self, rows: Records[RowSlot]) -> None:
        """Take rows of any kinds, in the order in which the kernel wrote them.

        They are copied, so that the kernel can use their places again.

        Raises:
            OSError: earlier rows could not be written.
        """
        array = cast("NDArray[np.void]", rows)
        words = array.view(np.int64).reshape(len(array), array.dtype.itemsize // 8)
        # Few bits are sorted ten times as fast.
        kinds = array["kind"].astype(np.int16)
        places = np.argsort(kinds, kind="stable")
        counts = np.bincount(kinds)
        last = np.cumsum(counts)
        for kind in np.flatnonzero(counts).tolist():
            of_kind = places[last[kind] - counts[kind] : last[kind]]
            while len(of_kind):
                frame = self._frame(kind, words.shape[1])
                of_kind = of_kind[frame.fill(words, of_kind) :]
                if frame.rows == FRAME_ROWS:
                    self._begin_write(kind)

    def _frame(self, kind: int, words: int) -> _FillingFrame:
        """The frame that the next rows of a kind go to."""
        if kind not in self._filling:
            self._filling[kind] = self._spare.pop() if self._spare else _FillingFrame(words)
        return self._filling[kind]

    def _begin_write(self, kind: int) -> None:
        """Have the thread write the frame of a kind; wait if too many wait for it.

        Raises:
            OSError: earlier rows could not be written.
        """
        self._tasks.append(self._thread.submit(self._write, kind, self._filling.pop(kind)))
        while self._tasks and (self._tasks[0].done() or len(self._tasks) > _MOST_TASKS):
            self._tasks.popleft().result()

    def begin_flush(self) -> None:
        """Begin to write all rows taken so far, in frames however small, without waiting."""
        filling, self._filling = self._filling, {}
        self._tasks.append(self._thread.submit(self._write_all, filling))

    def flush(self) -> None:
        """Hand all rows taken so far to the operating system, in frames however small."""
        self.begin_flush()
        while self._tasks:
            self._tasks.popleft().result()

    @property
    def length_bytes(self) -> int:
        """The length of the file so far, after :meth:`flush`."""
        return self._file.tell()

    def close(self) -> None:
        """Flush, and end the file."""
        if not self._file.closed:
            with self._file, self._thread:
                self.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _write(self, kind: int, frame: _FillingFrame) -> None:
        """Write a frame: the work of the thread."""
        packed = _packed_frame(kind, frame.content, self._compressor)
        self._file.write(msgpack.packb(packed))
        frame.rows = 0
        self._spare.append(frame)

    def _write_all(self, filling: Mapping[int, _FillingFrame]) -> None:
        """Write frames of many kinds, and hand them to the operating system.

        It is one task: a handover to the thread takes as long as packing a small frame.
        """
        for kind, frame in filling.items():
            self._write(kind, frame)
        self._file.flush()


@cache
def _header() -> dict[str, Any]:
    return {
        "format": FORMAT,
        "schema_version": schema.SCHEMA_VERSION,
        "tidegauge": schema.tidegauge_version(),
        "row_columns": list(ROW_COLUMNS),
        "kinds": [
            {
                "number": kind.number,
                "name": kind.name,
                "columns": list(kind.columns),
                "canonical": kind.canonical,
            }
            for kind in schema.ROW_KINDS.values()
        ],
        # msgpack readers take strings for keys only.
        "enumerations": [
            {
                "columns": list(each.columns),
                # Some mappings are in the order in which modules were imported.
                "names": {str(int(number)): name for number, name in sorted(each.names.items())},
            }
            for each in schema.ALL_ENUMERATIONS
        ],
    }


@cache
def _places() -> dict[str, int]:
    """The place of each column among the numbers of a row; of ``values`` that of the first."""
    # Not above: readers do without the kernel.
    from tidegauge.compiled.records import dtype_of  # noqa: PLC0415
    from tidegauge.simulation.trace_rows.row import RowSlot  # noqa: PLC0415

    fields = cast("Any", dtype_of(RowSlot)).fields
    return {name: offset // 8 for name, (_, offset, *_) in fields.items()}


def _packed_frame(number: int, rows: _Rows, compressor: zstandard.ZstdCompressor) -> dict[str, Any]:
    kind = schema.ROW_KINDS[number]
    places = _places()
    first = places["values"]
    of_kind = range(first, first + len(kind.columns))
    # All columns at once: most frames are short, and a call for each would take longer.
    values = rows.T[[*(places[name] for name in ROW_COLUMNS), *of_kind]]
    bases = values.min(axis=1)
    # Modulo 2**64: above the smallest of all integers the largest one needs every bit.
    above = values.view(np.uint64) - bases.view(np.uint64)[:, None]
    spans = above.max(axis=1).tolist()
    columns = {
        name: _packed_column(base, span, numbers, compressor)
        for name, base, span, numbers in zip(
            (*ROW_COLUMNS, *kind.columns), bases.tolist(), spans, above, strict=True
        )
    }
    first_us, span_us = (each[ROW_COLUMNS.index("time_us")] for each in (bases.tolist(), spans))
    frame = {
        "kind": kind.name,
        "rows": len(rows),
        "first_time_us": first_us,
        "last_time_us": first_us + span_us,
        "column_bytes": len(msgpack.packb(columns)),
        "columns": columns,
    }
    return {**frame, "checksum": checksum_of(frame)}


def _packed_column(
    base: int, span: int, above: NDArray[np.uint64], compressor: zstandard.ZstdCompressor
) -> dict[str, Any]:
    width = next(width for width in _WIDTHS if span < 1 << 8 * width)
    data = compressor.compress(above.astype(f"<u{width}").data)
    return {"base": base, "width": width, "data": data}


def checksum_of(frame: Mapping[str, Any]) -> int:
    """CRC-32 over a frame without its checksum.

    It covers ``kind:rows:first_time_us:last_time_us;``, then ``column_bytes;`` if the frame has
    it, and then for each column, in the order of the frame, ``name:base:width;`` as ASCII and the
    compressed data.
    """
    head = "{kind}:{rows}:{first_time_us}:{last_time_us};".format_map(frame)
    if "column_bytes" in frame:
        head += f"{frame['column_bytes']};"
    checksum = zlib.crc32(head.encode())
    for name, column in frame["columns"].items():
        checksum = zlib.crc32(f"{name}:{column['base']}:{column['width']};".encode(), checksum)
        checksum = zlib.crc32(column["data"], checksum)
    return checksum


class _OfThread(threading.local):
    """A decompressor of each thread: to make one takes longer than to unpack a short column."""

    def __init__(self) -> None:
        self.decompressor = zstandard.ZstdDecompressor()


_OF_THREAD = _OfThread()


@dataclass(frozen=True, slots=True)
class Frame:
    """A block of rows of one kind; its columns are unpacked when they are asked for."""

    kind: TraceKind
    rows: int
    first_time_us: int
    last_time_us: int
    packed: Mapping[str, Mapping[str, Any]]

    def column(self, name: str) -> NDArray[np.int64]:
        """The values of one column, in the order of the rows."""
        column = self.packed[name]
        data = _OF_THREAD.decompressor.decompress(column["data"])
        above = np.frombuffer(data, f"<u{column['width']}", self.rows).astype(np.uint64)
        values: NDArray[np.uint64] = above + np.uint64(column["base"] & _LOWEST_64_BITS)
        return values.view(np.int64)


@dataclass(frozen=True)
class Trace:
    """A trace file as it was when it was read."""

    path: Path
    header: Mapping[str, Any]
    #: The kinds of rows of the file's own schema, by name.
    kinds: Mapping[str, TraceKind]
    frames: tuple[Frame, ...]
    #: The start of the rest behind the last whole frame, in bytes; None: there is no rest.
    torn_at: int | None

    @property
    def torn(self) -> bool:
        """Whether the file ends within a frame: its writer died, or is still at work."""
        return self.torn_at is not None

    @cached_property
    def enumerations(self) -> schema.Enumerations:
        """The names of numbers in its rows.

        Raises:
            TraceError: the header is damaged.
        """
        return enumerations_of(self.header, self.path)

    @cached_property
    def _frames_of_kinds(self) -> Mapping[str, list[Frame]]:
        frames: dict[str, list[Frame]] = {name: [] for name in self.kinds}
        for frame in self.frames:
            frames[frame.kind.name].append(frame)
        return frames

    def row_count(self, kind: str) -> int:
        """The number of rows of a kind in the file."""
        return sum(frame.rows for frame in self._frames_of_kinds.get(kind, []))

    def table(self, kind: str) -> Table:
        """All rows of a kind, in the order in which they were written.

        Raises:
            KeyError: the file's schema has no such kind.
        """
        frames = self._frames_of_kinds[kind]
        return {
            name: np.concatenate([np.empty(0, np.int64), *(frame.column(name) for frame in frames)])
            for name in self.kinds[kind].all_columns
        }


def read_trace(path: Path) -> Trace:
    """Read a trace file; every whole frame is checked against its checksum.

    Raises:
        TraceError: it is no trace, its schema is newer than this Tidegauge's, or a frame is
            damaged; the message names the file, the frame and where it begins.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        objects = _objects_in(file, path)
        header: Any
        _, header, end = next(objects, (0, None, 0))
        kinds = kinds_of(header, path)
        frames = []
        for number, (begin, value, after) in enumerate(objects, 1):
            frames.append(frame_of(value, kinds, f"{path}: frame {number} at byte {begin}"))
            end = after
        size = file.seek(0, 2)
    return Trace(path, header, kinds, tuple(frames), end if end < size else None)


def _objects_in(file: BinaryIO, path: Path) -> Iterator[tuple[int, Any, int]]:
    """Every whole object of a msgpack stream: where it begins, itself, and where it ends."""
    unpacker = msgpack.Unpacker(file, max_buffer_size=0)
    for number in count():
        begin = unpacker.tell()
        try:
            value = unpacker.unpack()
        except msgpack.OutOfData:
            return
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            if number == 0:
                raise not_a_trace(path) from error
            raise TraceError(f"{path}: frame {number} at byte {begin} is damaged") from error
        yield begin, value, unpacker.tell()


def not_a_trace(path: Path) -> TraceError:
    """The error about a file that does not begin with the header of a trace."""
    return TraceError(f"{path}: not a trace of Tidegauge: it does not begin as one")


def kinds_of(header: Any, path: Path) -> dict[str, TraceKind]:
    """The kinds of rows that a header declares, by name.

    Raises:
        TraceError: it is no header of a trace, or of one whose schema is newer.
    """
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise not_a_trace(path)
    schema_version = header.get("schema_version")
    if not isinstance(schema_version, int):
        raise TraceError(f"{path}: the header is damaged: it has no schema_version")
    if schema_version > schema.SCHEMA_VERSION:
        raise TraceError(newer_schema(path, schema_version, header.get("tidegauge")))
    try:
        kinds = [
            TraceKind(kind["number"], kind["name"], tuple(kind["columns"]), kind["canonical"])
            for kind in header["kinds"]
        ]
    except (KeyError, TypeError) as error:
        raise TraceError(f"{path}: the header is damaged: its kinds cannot be read") from error
    return {kind.name: kind for kind in kinds}


def enumerations_of(header: Mapping[str, Any], path: Path) -> schema.Enumerations:
    """The names of numbers that a header declares, by column and number.

    A header of an earlier release has none, or not all: its numbers are those of this release.

    Raises:
        TraceError: the header is damaged.
    """
    try:
        declared = {
            column: {int(number): name for number, name in each["names"].items()}
            for each in header.get("enumerations", ())
            for column in each["columns"]
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        message = f"{path}: the header is damaged: its enumerations cannot be read"
        raise TraceError(message) from error
    return {**schema.ENUMERATIONS, **declared}


def read_header(path: Path) -> Mapping[str, Any] | None:
    """The header of a trace file; None for a file that is still empty.

    Raises:
        TraceError: it is no trace, or its schema is newer than this Tidegauge's.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        header: Any
        _, header, _ = next(_objects_in(file, path), (0, None, 0))
    if header is not None:
        kinds_of(header, path)
    return cast("Mapping[str, Any] | None", header)


def newer_schema(path: Path, schema_version: int, writer: object) -> str:
    """The error about a file that was written by a later release, ``writer``."""
    return (
        f"{path}: has schema version {schema_version}, and Tidegauge {schema.tidegauge_version()}"
        f" reads up to {schema.SCHEMA_VERSION}: use Tidegauge {writer}, which wrote it, or a later"
        " one"
    )


def frame_of(value: Any, kinds: Mapping[str, TraceKind], place: str) -> Frame:
    """The frame that an object of a file is, once its checksum has been found right.

    Args: value: the object. kinds: the header's declarations, or as many of them as there can be
    here. place: the file, the frame, and its start: an error begins with it.

    Raises:
        TraceError: it is damaged.
    """
    try:
        if value["checksum"] != checksum_of(value):
            raise TraceError(f"{place} is damaged: its checksum does not match")
        kind = kinds[value["kind"]]
        columns = value["columns"]
        first_time_us, last_time_us = value["first_time_us"], value["last_time_us"]
        rows = value["rows"]
    except (KeyError, TypeError, AttributeError) as error:
        raise TraceError(f"{place} is damaged: it is no frame") from error
    if tuple(columns) != kind.all_columns:
        raise TraceError(f"{place} is damaged: it does not have the columns of {kind.name}")
    return Frame(kind, rows, first_time_us, last_time_us, columns)
