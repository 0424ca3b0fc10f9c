"""The bytes of a log file, compressed or not; of a torn compressed file all that can be read."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, cast


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

    def seek(self, place: int) -> None:
        """Go on from this place."""
        self._file.seek(place)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()
