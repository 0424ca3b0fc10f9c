"""The bytes of a log file: plain or compressed, whole or a part, in blocks of whole entries.

All that is readable of a torn compressed file is read.
"""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, cast

from tidegauge.real_cluster.logs.foreign_layout import Layout, layout_of
from tidegauge.real_cluster.logs.log_layout import ENTRY, SAMPLE_BYTES

#: Read at once; an entry of more than twice this is cut.
_BLOCK_BYTES = 4 << 20


def unreadable(error: Exception) -> str:
    """The problem of a file whose reading fails."""
    return f"cannot be read: {getattr(error, 'strerror', None) or error}"


class LogStream:
    """A log file, opened for reading."""

    def __init__(self, path: Path) -> None:
        """Open a file.

        Raises:
            OSError: it cannot be opened.
        """
        self.is_compressed = path.suffix == ".gz"
        opened = gzip.GzipFile(path) if self.is_compressed else path.open("rb")
        self._file = cast("BinaryIO", opened)
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

    def samples(self, count: int, size: int) -> Iterator[bytes]:
        """Parts of a plain file from behind the first sample to the end; none of a compressed one.

        Raises:
            OSError: they cannot be read.
        """
        whole = 0 if self.is_compressed else self._file.seek(0, os.SEEK_END)
        for place in range(SAMPLE_BYTES, whole, max((whole - SAMPLE_BYTES) // count, size)):
            self._file.seek(place)
            yield self.read(size)

    def lines(self) -> Iterator[bytes]:
        """The lines of the file, in blocks of whole lines.

        Raises:
            OSError, zlib.error: they cannot be read.
        """
        return self._pieces(b"\n", 0, None)

    def entries(
        self, names: tuple[bytes, ...], begin: int = 0, end: int | None = None
    ) -> Iterator[bytes]:
        """The entries of ``blocks``, in the layout that the sample has; none if it is no log.

        Args:
            names: those of the nodes whose lines are read, as in ``Layout.of``; empty: of all.
            begin: the first byte of the part.
            end: the byte behind the part; None: the end of the file.

        Raises:
            OSError, zlib.error: they cannot be read.
        """
        layout = layout_of(self.read(SAMPLE_BYTES))
        if layout is not None:
            yield from self.blocks(layout.of(names), begin, end)

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
        if layout.is_own:
            blocks = self._pieces(b"\n" + ENTRY, begin, end)
        else:
            blocks = self._translated(layout, begin, end)
        return map(layout.chosen, blocks)

    def _pieces(self, mark: bytes, begin: int, end: int | None) -> Iterator[bytes]:
        """The lines or entries that begin in a part of the file, in blocks of whole ones.

        One that begins with the first byte of a part belongs to the part before.

        Args:
            mark: a line break, and the first bytes of each.
            begin: the first byte of the part.
            end: the byte behind the part; None: the end of the file.
        """
        self._file.seek(begin)
        carried, is_inside, left = b"", begin == 0, _BLOCK_BYTES if end is None else end - begin
        while left > 0 and (read := self.read(min(_BLOCK_BYTES, left))):
            left -= 0 if end is None else len(read)
            data = carried + read
            if not is_inside:
                start = data.find(mark) + 1
                if not start:
                    continue
                data, is_inside = data[start:], True
            cut = data.rfind(mark) + 1
            if not cut and len(data) < 2 * _BLOCK_BYTES:
                carried = data
                continue
            cut = cut or len(data)
            yield data[:cut]
            carried = data[cut:]
        if end is not None and is_inside:
            # The last one continues in the next part.
            more = self.read(SAMPLE_BYTES)
            carried += more[: more.find(mark) + 1] or more
        if carried:
            yield carried

    def _translated(self, layout: Layout, begin: int, end: int | None) -> Iterator[bytes]:
        """The entries of ``blocks`` in a file of another layout."""
        carried, is_inside = b"", begin == 0
        for lines in self._pieces(b"\n", begin, end):
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
            more = layout.own(more[more.find(b"\n") + 1 :])
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
