"""The bytes of a log file: plain or compressed, whole or a part, in blocks of whole entries.

All that is readable of a torn compressed file is read.
"""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, cast

from tidegauge.real_cluster.logs.foreign_dates import times_in
from tidegauge.real_cluster.logs.foreign_layout import Layout, layout_of
from tidegauge.real_cluster.logs.log_layout import ENTRY, SAMPLE_BYTES
from tidegauge.real_cluster.logs.shared_lines import ALL_LINES, LinesOf

#: Read at once; an entry of more than twice this is cut.
_BLOCK_BYTES = 4 << 20
#: A file is looked into at so many places: for the nodes that write to it, and the form of dates.
_SPREAD_SAMPLES = 8
_SPREAD_SAMPLE_BYTES = 16 << 10


def unreadable(error: Exception) -> str:
    """The problem of a file whose reading fails."""
    return f"cannot be read: {getattr(error, 'strerror', None) or error}"


class LogStream:
    """A log file, opened for reading."""

    def __init__(self, path: Path, *, is_day_first: bool | None = None) -> None:
        """Open a file.

        Args:
            path: the file.
            is_day_first: the order of day and month, if no line of the file shows it.

        Raises:
            OSError: it cannot be opened.
        """
        self.is_compressed = path.suffix == ".gz"
        opened = gzip.GzipFile(path) if self.is_compressed else path.open("rb")
        self._file = cast("BinaryIO", opened)
        self._is_day_first = is_day_first
        #: The end of the compressed file is missing.
        self.is_torn = False

    def read(self, size: int) -> bytes:
        """The next bytes, fewer only at the end of the file.

        Raises:
            OSError, zlib.error: they cannot be read.
        """
        if not self.is_compressed:
            return self._file.read(size)
        parts = []
        left = size
        try:
            while left and (part := cast("gzip.GzipFile", self._file).read1(left)):
                parts.append(part)
                left -= len(part)
        except EOFError:
            self.is_torn = True
        return b"".join(parts)

    def spread_samples(self) -> Iterator[bytes]:
        """Parts of a plain file from behind the first sample to the end; none of a compressed one.

        Raises:
            OSError: they cannot be read.
        """
        whole = 0 if self.is_compressed else self._file.seek(0, os.SEEK_END)
        apart = max((whole - SAMPLE_BYTES) // _SPREAD_SAMPLES, _SPREAD_SAMPLE_BYTES)
        for place in range(SAMPLE_BYTES, whole, apart):
            self._file.seek(place)
            yield self.read(_SPREAD_SAMPLE_BYTES)

    def layout(self, sample: bytes) -> Layout | None:
        """The layout of the file; None: it is no log.

        Args:
            sample: its beginning.

        Raises:
            UnreadTimesError: no line tells the meaning of its times.
            OSError: it cannot be read.
        """
        layout = layout_of(sample)
        if layout is None or layout.times is None or not layout.times.may_be_either:
            return layout
        if layout.times.is_day_first is not None:
            return layout
        spread = b"\n".join(self.spread_samples())
        shown = times_in(layout._replace(times=None).texts(spread))
        is_day_first = None if shown is None else shown.is_day_first
        if is_day_first is None:
            is_day_first = self._is_day_first
        return layout._replace(times=layout.times._replace(is_day_first=is_day_first))

    def raw(self, layout: Layout) -> Iterator[bytes]:
        """The bytes of the file, in blocks of whole lines or records.

        Raises:
            OSError, zlib.error: they cannot be read.
        """
        return self._pieces(layout, 0, None)

    def entries(
        self, part: LinesOf = ALL_LINES, begin: int = 0, end: int | None = None
    ) -> Iterator[bytes]:
        """The entries of ``blocks``, in the layout that the sample has; none if it is no log.

        Args:
            part: the lines that are read.
            begin: the first byte of the part.
            end: the byte behind the part; None: the end of the file.

        Raises:
            OSError, zlib.error: they cannot be read.
        """
        layout = self.layout(self.read(SAMPLE_BYTES))
        if layout is not None:
            yield from self.blocks(layout.of(part), begin, end)

    def blocks(self, layout: Layout, begin: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The entries that begin in a part of the file, in blocks of whole entries.

        They are in Kafka's own layout.

        Args:
            layout: that of the file.
            begin: the first byte of the part.
            end: the byte behind the part; None: the end of the file.

        Raises:
            OSError, zlib.error: they cannot be read.
        """
        read = self._pieces if layout.is_own else self._translated
        return map(layout.chosen, read(layout, begin, end if layout.mark else None))

    def _pieces(self, layout: Layout, begin: int, end: int | None) -> Iterator[bytes]:
        """The lines, entries or records that begin in a part of the file, in blocks of whole ones.

        One that begins with the first byte of a part belongs to the part before.

        Args:
            layout: that of the file; it tells where they begin.
            begin: the first byte of the part.
            end: the byte behind the part; None: the end of the file.
        """
        self._file.seek(begin)
        if not layout.mark:
            if begin == 0:
                yield b"".join(iter(lambda: self.read(_BLOCK_BYTES), b""))
            return
        carried, is_inside, left = b"", begin == 0, _BLOCK_BYTES if end is None else end - begin
        while left > 0 and (read := self.read(min(_BLOCK_BYTES, left))):
            left -= 0 if end is None else len(read)
            data = carried + read
            if not is_inside:
                start = layout.begin_of_whole(data)
                if not start:
                    continue
                data, is_inside = data[start:], True
            cut = layout.end_of_whole(data)
            if not cut and len(data) < 2 * _BLOCK_BYTES:
                carried = data
                continue
            cut = cut or len(data)
            yield data[:cut]
            carried = data[cut:]
        if end is not None and is_inside:
            # The last one continues in the next part.
            more = self.read(SAMPLE_BYTES)
            carried += more[: layout.begin_of_whole(more)] or more
        if carried:
            yield carried

    def _translated(self, layout: Layout, begin: int, end: int | None) -> Iterator[bytes]:
        """The entries of ``blocks`` in a file of another layout."""
        carried, is_inside = b"", begin == 0
        for lines in self._pieces(layout, begin, end):
            data = carried + layout.own(lines)
            if not is_inside:
                # An entry that begins in the part before is read with that.
                start = _first_entry(data)
                data, is_inside = data[start:], start < len(data)
            cut = data.rfind(b"\n" + ENTRY) + 1
            if not cut and len(data) < 2 * _BLOCK_BYTES:
                carried = data
                continue
            cut = cut or len(data)
            yield data[:cut]
            carried = data[cut:]
        if end is not None and is_inside:
            self._file.seek(end)
            more = self.read(SAMPLE_BYTES)
            more = layout.own(more[layout.begin_of_whole(more) :])
            carried += more[: _first_entry(more)]
        if carried:
            yield carried

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()


def _first_entry(lines: bytes) -> int:
    """The place of the first entry that begins in these lines; their end if none does."""
    if lines.startswith(ENTRY):
        return 0
    return lines.find(b"\n" + ENTRY) + 1 or len(lines)
