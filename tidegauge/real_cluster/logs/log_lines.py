"""The entries of a log file with certain literals: time, level, logger and message of each.

An entry is a line with a time and the lines without one that follow it: a stack trace, a dump of
settings, a message with line breaks. A log may have gigabytes, most of which are of no use: it is
read in blocks, and only entries that hold one of the wanted literals are parsed.
"""

import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.real_cluster.logs.foreign_layout import LOGGER_AT_END
from tidegauge.real_cluster.logs.log_files import LogFile, LogsError
from tidegauge.real_cluster.logs.log_layout import ENTRY, HEADER, LogClock, step_ms
from tidegauge.real_cluster.logs.log_stream import LogStream, unreadable

#: Characters of a message; the rest is left out.
_LONGEST_MESSAGE = 64 << 10


class LogLine(NamedTuple):
    """An entry of a log."""

    #: Milliseconds since 1970; a time without a zone is taken as UTC.
    time_ms: int
    #: The step of its clock: 1 ms, or a whole second.
    step_ms: int
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
    for _, lines in _read(file, markers):
        yield from lines


def times_and_lines_of(
    file: LogFile, markers: Sequence[str]
) -> Iterator[tuple[NDArray[np.int64], list[LogLine]]]:
    """For each block of a file the times of all its entries, and the entries of ``lines_of``.

    Times are in ms since 1970.

    Raises:
        LogsError: the file cannot be read; one line.
    """
    clock = LogClock()
    for block, lines in _read(file, markers):
        times_ms = np.fromiter(map(clock.time_ms, HEADER.finditer(block)), np.int64)
        yield times_ms[times_ms >= 0], lines


def _read(file: LogFile, markers: Sequence[str]) -> Iterator[tuple[bytes, list[LogLine]]]:
    """The file in blocks of whole entries, and the lines of each that hold a literal."""
    wanted = [marker.encode() for marker in markers]
    clock = LogClock()
    try:
        with LogStream(file.path, is_day_first=file.is_day_first) as stream:
            for block in stream.entries(file.part):
                entries = (block[begin:end] for begin, end in entries_with(block, wanted))
                lines = (_line_of(entry, clock, file) for entry in entries)
                yield block, [line for line in lines if line is not None]
    except (OSError, zlib.error) as error:
        raise LogsError(f"{file.path}: {unreadable(error)}") from error


def entries_with(block: bytes, markers: Sequence[bytes]) -> list[tuple[int, int]]:
    """The starts and ends of the entries of a block that hold one of the literals, in order."""
    first = b"\n" + ENTRY
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


def _line_of(entry: bytes, clock: LogClock, file: LogFile) -> LogLine | None:
    header = HEADER.match(entry)
    if header is None:
        return None
    time_ms = clock.time_ms(header)
    if time_ms < 0:
        return None
    end = header.end() + _LONGEST_MESSAGE
    named = LOGGER_AT_END.search(entry, header.end(), end)
    message = entry[header.end() : end]
    if named is not None:
        message = entry[header.end() : named.start()] + entry[named.end() : end]
    return LogLine(
        time_ms,
        step_ms(header),
        header[4].decode(),
        "" if named is None else named[1].decode(),
        message.decode("utf-8", "replace"),
        file,
    )
