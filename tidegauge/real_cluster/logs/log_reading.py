"""All that the files of a cluster tell, read by as many processes as there are CPUs for.

Each file is read in blocks. One pattern finds the lines of a block that may tell something
(``log_openings.py``), and only these are matched against the patterns of their kinds. A large file
is cut into parts, so that one process does not read it alone.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from itertools import pairwise, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.real_cluster.logs.log_events import EVENT_LINES, SETTINGS, EventLine
from tidegauge.real_cluster.logs.log_files import LogFile, LogStream
from tidegauge.real_cluster.logs.log_layout import (
    ASIDE,
    HEADER,
    SAMPLE_BYTES,
    LogClock,
    beginning_of,
    header_of,
    in_order,
    pattern_of,
)
from tidegauge.real_cluster.logs.partition_lines import PARTITION_LINES, PartitionLine
from tidegauge.real_cluster.logs.partition_rows import (
    UNTOLD,
    Assignment,
    Column,
    Event,
    FileTold,
    Names,
    ToldRows,
    first_told,
)

#: Read at once.
_BLOCK_BYTES = 4 << 20
#: A file of more is read in parts of this size.
_PART_BYTES = 64 << 20
#: Files of less in all are read by this process alone.
_FEW_BYTES = 24 << 20
#: The first line of a process has this, so many bytes at most before it says that it starts.
_FIRST_LINE = b"kafka:type=kafka.Log4jController"
_FIRST_LINES_BYTES = 64 << 10
#: Events of a part are no more; a log that has them is not that of a cluster.
_MOST_EVENTS = 2_000_000


_ALL_KINDS: tuple[PartitionLine | EventLine, ...] = (*PARTITION_LINES, *EVENT_LINES)
_OPENINGS = in_order([kind.opening for kind in _ALL_KINDS])
#: The kinds of lines of each opening.
_KINDS = [tuple(kind for kind in _ALL_KINDS if kind.opening == each) for each in _OPENINGS]


class _Layout(NamedTuple):
    """How the entries of a file begin, and the patterns that find them."""

    #: The first bytes of each entry.
    beginning: bytes
    header: re.Pattern[bytes]
    #: Header and opening of a line that may tell something. Its groups 1 to 3 are those of the
    #: header, and the group ``message`` marks where the message begins.
    line: re.Pattern[bytes]
    message: int


@cache
def _layout(beginning: bytes, aside: bytes) -> _Layout:
    header = re.compile(header_of(beginning))
    line = pattern_of(header.pattern + aside, _OPENINGS)
    return _Layout(beginning, header, line, header.groups + 1)


def _layout_of(sample: bytes) -> _Layout | None:
    """The layout of a file that begins so; None if it is no log."""
    beginning = beginning_of(sample)
    if beginning is None:
        return None
    layout = _layout(beginning, b"")
    if layout.line.search(sample) is None:
        # Half as fast, and right for a file whose beginning tells nothing, too.
        return _layout(beginning, ASIDE)
    return layout


#: The settings of interest in the dump of a start.
_SETTING_LINE = re.compile(
    rb"\n\t(" + b"|".join(re.escape(name.encode()) for name in SETTINGS) + rb") = ([^\r\n]*)"
)


class Part(NamedTuple):
    """A part of a file; of a compressed file the whole."""

    file: LogFile
    begin: int
    end: int


class Read(NamedTuple):
    """What a part has told, or why it could not be read."""

    part: Part
    told: FileTold
    problem: str | None


class ClusterTold(NamedTuple):
    """What all files tell, with common numbers for names."""

    rows: NDArray[np.int64]
    partitions: list[str]
    isrs: list[tuple[int, ...]]
    assignments: list[Assignment]
    events: list[Event]
    #: Of each file: bytes, first and last time, the problem.
    files: dict[LogFile, tuple[int, int, int, str | None]]


def read_logs(
    files: list[LogFile],
    progress: Callable[[int, int], None] = lambda _done, _all: None,
    meanwhile: Callable[[], None] = lambda: None,
) -> ClusterTold:
    """Read all files.

    Args:
        files: the files.
        progress: called with the bytes that are read, and those of all files.
        meanwhile: called once, while other processes read if there are such.
    """
    parts = [part for file in files for part in _parts_of(file)]
    whole = sum(part.end - part.begin for part in parts)
    done = 0
    reads: list[Read] = []
    for read in _all_read(parts, whole, meanwhile):
        reads.append(read)
        done += read.part.end - read.part.begin
        progress(done, whole)
    order = {part: place for place, part in enumerate(parts)}
    reads.sort(key=lambda read: order[read.part])
    return _together(reads)


def _parts_of(file: LogFile) -> list[Part]:
    try:
        size = file.path.stat().st_size
    except OSError:
        size = 0
    if file.path.suffix == ".gz" or size <= 2 * _PART_BYTES:
        return [Part(file, 0, size)]
    cuts = [*range(0, size, _PART_BYTES), size]
    return [Part(file, begin, end) for begin, end in pairwise(cuts)]


def _all_read(parts: list[Part], whole: int, meanwhile: Callable[[], None]) -> Iterator[Read]:
    processes = min(len(os.sched_getaffinity(0)), 4, len(parts))
    if whole < _FEW_BYTES or processes < 2:  # noqa: PLR2004  # one process
        meanwhile()
        yield from map(read_part, parts)
        return
    with ProcessPoolExecutor(processes) as pool:
        # The largest first: a small one fills the end.
        largest = sorted(parts, key=lambda part: part.begin - part.end)
        waiting = [pool.submit(read_part, part) for part in largest]
        meanwhile()
        for future in as_completed(waiting):
            yield future.result()


def read_part(part: Part) -> Read:
    """Read a part of a file."""
    reader = _Reader(part.file)
    problem = None
    try:
        with LogStream(part.file.path) as stream:
            reader.read(stream, part)
            if stream.is_torn:
                problem = "is torn: the end of the compressed file is missing"
    except (OSError, zlib.error) as error:
        problem = f"cannot be read: {getattr(error, 'strerror', None) or error}"
    return Read(part, reader.told(), problem)


class _Reader:
    """What one part of a file tells."""

    def __init__(self, file: LogFile) -> None:
        self._node = UNTOLD if file.node is None else file.node
        self._names = Names()
        self._rows = ToldRows()
        self._events: dict[Event, None] = {}
        self._said_once: set[tuple[str, object]] = set()
        self._clock = LogClock()
        self._first_ms = self._last_ms = -1
        self._bytes = 0

    def read(self, stream: LogStream, part: Part) -> None:
        """Read the entries that begin in a part."""
        layout = _layout_of(stream.read(SAMPLE_BYTES))
        if layout is None:
            return
        stream.seek(part.begin)
        first = b"\n" + layout.beginning
        carried = b""
        left = part.end - part.begin
        is_whole = stream.is_compressed
        is_first = part.begin > 0
        while is_whole or left > 0:
            read = stream.read(_BLOCK_BYTES if is_whole else min(_BLOCK_BYTES, left))
            if not read:
                break
            left -= len(read)
            self._bytes += len(read)
            data = carried + read if carried else read
            if is_first:
                # What begins in the part before is read with that.
                begin = data.find(first)
                if begin < 0:
                    continue
                data, is_first = data[begin + 1 :], False
            cut = data.rfind(first)
            if cut < 0:
                carried = data if len(data) < 2 * _BLOCK_BYTES else b""
                continue
            self._read_block(data[: cut + 1], layout)
            carried = data[cut + 1 :]
        if not is_whole and part.end:
            # The last entry goes on in the next part.
            more = stream.read(SAMPLE_BYTES)
            end = more.find(first)
            carried += more if end < 0 else more[: end + 1]
        self._read_block(carried, layout)

    def told(self) -> FileTold:
        """All that was told so far."""
        rows = self._rows.all()
        rows[rows[:, Column.TELLER] == UNTOLD, Column.TELLER] = self._node
        return FileTold(
            rows,
            list(self._names.partitions),
            list(self._names.isrs),
            list(self._names.assignments),
            list(self._events),
            self._first_ms,
            self._last_ms,
            self._bytes,
        )

    def _read_block(self, block: bytes, layout: _Layout) -> None:
        if not block:
            return
        self._note_span(block, layout)
        self._read_lines(block, layout)
        if block.find(b" values: ") >= 0:
            for setting in _SETTING_LINE.finditer(block):
                self._take_setting(setting)
        self._rows.compact()

    def _read_lines(self, block: bytes, layout: _Layout) -> None:
        """Read the lines of a block.

        A line that was torn may have the next one right behind it: so a line begins wherever a
        header is.
        """
        first_opening = layout.message + 1
        for found in layout.line.finditer(block):
            begin = found.start(layout.message)
            end = block.find(b"\n", found.end())
            if end < 0:  # a torn line
                break
            next_header = layout.header.search(block, begin, end)
            if next_header is not None:
                end = next_header.start()
            for kind in _KINDS[(found.lastindex or 0) - first_opening]:
                match = kind.pattern.match(block, begin, end)
                if match is None:
                    continue
                time_ms = self._clock.time_ms(found)
                if time_ms < 0:
                    break
                if isinstance(kind, PartitionLine):
                    self._rows.add(kind.rows(match, self._names), time_ms)
                else:
                    self._take(kind, match, time_ms, block)

    def _take_setting(self, setting: re.Match[bytes]) -> None:
        values = tuple(each.decode("utf-8", "replace") for each in setting.groups())
        if ("setting", values) not in self._said_once:
            self._said_once.add(("setting", values))
            self._events[Event("setting", max(self._first_ms, 0), self._node, values)] = None

    def _take(self, line: EventLine, match: re.Match[bytes], time_ms: int, block: bytes) -> None:
        values = line.values(match)
        teller = int(match[line.node]) if line.node else self._node
        if line.once:
            if (line.kind, values) in self._said_once:
                return
            self._said_once.add((line.kind, values))
        if line.kind == "starting":
            # The last line of the life before: nothing else tells when a killed process ended.
            begin = block.rfind(b"\n", 0, match.start()) + 1
            values = (self._last_before(block[max(0, begin - _FIRST_LINES_BYTES) : begin]),)
        if len(self._events) < _MOST_EVENTS:
            self._events[Event(line.kind, time_ms, teller, values)] = None

    def _last_before(self, before: bytes) -> int:
        """The time of the last line before the first line of a start; -1: there is none."""
        first = before.rfind(_FIRST_LINE)
        lines = before[: first if first >= 0 else len(before)].split(b"\n")
        # The last of these is the beginning of the first line itself.
        for line in lines[-2::-1]:
            header = HEADER.match(line)
            if header is not None and (time_ms := self._clock.time_ms(header)) >= 0:
                return time_ms
        return self._ended_before

    def _note_span(self, block: bytes, layout: _Layout) -> None:
        """Note the times of the first and the last entry of a block."""
        self._ended_before = self._last_ms
        header = HEADER.match(block)
        if header is not None and self._first_ms < 0:
            self._first_ms = self._clock.time_ms(header)
        place = block.rfind(b"\n" + layout.beginning, 0, len(block) - 1)
        header = HEADER.match(block, place + 1) or header
        if header is not None:
            self._last_ms = max(self._last_ms, self._clock.time_ms(header))


def _together(reads: list[Read]) -> ClusterTold:
    """What all parts tell, with common numbers."""
    names = Names()
    tables = []
    events: dict[Event, None] = {}
    files: dict[LogFile, tuple[int, int, int, str | None]] = {}
    for read in reads:
        told = read.told
        tables.append(_renumbered(told, names))
        events.update(zip(told.events, repeat(None)))
        size, first_ms, last_ms, problem = files.get(read.part.file, (0, -1, -1, None))
        files[read.part.file] = (
            size + told.bytes_read,
            first_ms if first_ms >= 0 else told.first_ms,
            max(last_ms, told.last_ms),
            problem or read.problem,
        )
    rows = np.concatenate(tables) if tables else np.empty((0, len(Column)), np.int64)
    return ClusterTold(
        first_told(rows) if len(rows) else rows,
        [name.decode("utf-8", "replace") for name in names.partitions],
        list(names.isrs),
        list(names.assignments),
        sorted(events, key=lambda event: event.time_ms),
        files,
    )


def _renumbered(told: FileTold, names: Names) -> NDArray[np.int64]:
    rows = told.rows.copy()
    for column, numbers in (
        (Column.PARTITION, [names.partition(each) for each in told.partitions]),
        (Column.ISR, [names.isr_of(each) for each in told.isrs]),
        (Column.ASSIGNMENT, [names.assignment(each) for each in told.assignments]),
    ):
        known = rows[:, column] >= 0
        if known.any():
            rows[known, column] = np.array(numbers, np.int64)[rows[known, column]]
    return rows
