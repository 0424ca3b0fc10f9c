"""The entries of a log file with certain literals: time, level, logger and message of each.

An entry is a line with a time and the lines without one that follow it: a stack trace, a dump of
settings, a message with line breaks. A log may have gigabytes, most of which are of no use: it is
read in blocks, and only entries that hold one of the wanted literals are parsed.
"""

import re
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.real_cluster.logs import log_layout
from tidegauge.real_cluster.logs.log_files import LogFile, LogsError, LogStream, unreadable

#: Characters of a message; the rest is left out.
_LONGEST_MESSAGE = 64 << 10

#: ``(logger)`` at the end of a line; some layouts put the thread behind it.
_LOGGER = re.compile(r"[ ]\(([\w.$-]+)\)(?: \[[^\]]*\])?[ \r]*$", re.MULTILINE)


class LogLine(NamedTuple):
    """An entry of a log."""

    #: Milliseconds since 1970; a time without a zone is taken as UTC.
    time_ms: int
    level: str
    logger: str
    #: Without time, level and logger; with the lines that follow.
    message: str
    file: LogFile


def lines_of(file: LogFile, markers: Sequence[str]) -> Iterator[LogLine]:
    """The entries of a file that hold one of the literals, in the order of the file.

    The last entry of a file may be torn: it is given as far as it goes. A file that is not a log
    gives none.

    Raises:
        LogsError: the file cannot be read; one line.
    """
    clock = log_layout.LogClock()
    for block, beginning in _blocks_of(file):
        yield from _lines_in(block, beginning, markers, clock, file)


def times_and_lines_of(
    file: LogFile, markers: Sequence[str]
) -> Iterator[tuple[NDArray[np.int64], list[LogLine]]]:
    """For each block of a file the times of all its entries, and the entries of ``lines_of``.

    Times are in ms since 1970.

    Raises:
        LogsError: the file cannot be read; one line.
    """
    clock = log_layout.LogClock()
    for block, beginning in _blocks_of(file):
        headers = re.finditer(log_layout.header_of(beginning), block)
        times_ms = np.fromiter(map(clock.time_ms, headers), np.int64)
        lines = list(_lines_in(block, beginning, markers, clock, file))
        yield times_ms[times_ms >= 0], lines


def _lines_in(
    block: bytes,
    beginning: bytes,
    markers: Sequence[str],
    clock: log_layout.LogClock,
    file: LogFile,
) -> Iterator[LogLine]:
    wanted = [marker.encode() for marker in markers]
    for begin, end in entries_with(block, wanted, beginning):
        line = _line_of(block[begin:end], clock, file)
        if line is not None:
            yield line


def entries_with(block: bytes, markers: Sequence[bytes], beginning: bytes) -> list[tuple[int, int]]:
    """The starts and ends of the entries of a block that hold one of the literals, in order."""
    first = b"\n" + beginning
    found: dict[int, int] = {}
    find, rfind = block.find, block.rfind
    for marker in markers:
        at = find(marker)
        while at >= 0:
            begin = rfind(first, 0, at) + 1
            end = found.get(begin, 0)
            if not end:
                end = find(first, at)
                end = len(block) if end < 0 else end
                found[begin] = end
            at = find(marker, end)
    return sorted(found.items())


def _blocks_of(file: LogFile) -> Iterator[tuple[bytes, bytes]]:
    """The file in blocks of whole entries, and the first bytes of each entry."""
    try:
        with LogStream(file.path) as stream:
            beginning = log_layout.beginning_of(stream.read(log_layout.SAMPLE_BYTES))
            if beginning is not None:
                for block in stream.blocks(beginning):
                    yield block, beginning
    except (OSError, zlib.error) as error:
        raise LogsError(f"{file.path}: {unreadable(error)}") from error


def _line_of(entry: bytes, clock: log_layout.LogClock, file: LogFile) -> LogLine | None:
    header = log_layout.HEADER.match(entry)
    if header is None:
        return None
    time_ms = clock.time_ms(header)
    if time_ms < 0:
        return None
    message = entry[header.end() : header.end() + _LONGEST_MESSAGE].decode("utf-8", "replace")
    logger = ""
    named = _LOGGER.search(message)
    if named is not None:
        logger = named[1]
        message = message[: named.start()] + message[named.end() :]
    return LogLine(time_ms, header[4].decode(), logger, message, file)
