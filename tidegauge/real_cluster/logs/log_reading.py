"""The content of all log files of a cluster, read by as many processes as there are CPUs for.

Each file is read in blocks. One pattern finds the lines of a block that may be of use
(``log_layout.py``), and only these are matched against the patterns of their kinds. A large file
is cut into parts, so that one process does not read it alone.
"""

from __future__ import annotations

import os
import re
import signal
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tidegauge.compiled.interruptions import interruptions_deferred
from tidegauge.real_cluster.logs import log_events, log_layout, partition_rows
from tidegauge.real_cluster.logs.log_files import LogFile
from tidegauge.real_cluster.logs.log_layout import ENTRY, HEADER, MILLISECONDS, step_ms
from tidegauge.real_cluster.logs.log_stream import LogStream, unreadable
from tidegauge.real_cluster.logs.partition_lines import PARTITION_LINES, PartitionLine
from tidegauge.real_cluster.logs.partition_rows import MISSING, Assignment, Names, Rows
from tidegauge.real_cluster.logs.shared_lines import ALL_LINES

#: A file of more is read in parts of this size.
_PART_BYTES = 64 << 20
#: Files of less in all are read by this process alone.
_FEW_BYTES = 24 << 20
#: The first line of a process has this, so many bytes at most before the line of its start.
_FIRST_LINE = b"kafka:type=kafka.Log4jController"
_FIRST_LINES_BYTES = 64 << 10
#: The most events of a part; a log with more is not that of a cluster.
_MOST_EVENTS = 2_000_000

_ALL_LINES: tuple[PartitionLine | log_events.EventLine, ...] = (
    *PARTITION_LINES,
    *log_events.EVENT_LINES,
)
_OPENINGS = log_layout.in_order([each.line.opening for each in _ALL_LINES])
#: The lines of each opening, each with the method that matches its whole pattern.
_LINES = [
    tuple((each.line.pattern.match, each) for each in _ALL_LINES if each.line.opening == one)
    for one in _OPENINGS
]


#: Header and opening of a line that may be of use. Its groups 1 to 4 are those of the header, the
#: next one marks where the message begins, and one more stands behind each opening.
_LINE = log_layout.pattern_of(HEADER.pattern, _OPENINGS)
_MESSAGE = HEADER.groups + 1
_FIRST_OPENING = _MESSAGE + 1
_FIRST_HEADER = re.compile(rb"^" + HEADER.pattern, re.MULTILINE)

#: The settings of interest in the dump of a start.
_SETTINGS = b" values: "
_SETTING_LINE = re.compile(
    rb"\n[ \t]+("
    + b"|".join(re.escape(name.encode()) for name in log_events.SETTINGS)
    + rb") = ([^\r\n]*)"
)


class Part(NamedTuple):
    """A part of a file; of a compressed file the whole."""

    file: LogFile
    begin: int
    end: int
    #: Earlier lines about partitions are left out.
    since_ms: int = 0


class Extent(NamedTuple):
    """The size and the times of a file, or of a part of it."""

    bytes_read: int
    #: The first and last time of any line; -1: there is none.
    first_ms: int
    last_ms: int
    #: The step of its clock.
    step_ms: int
    #: The reason why it was not read, or not to its end; None: it was.
    problem: str | None

    def with_next(self, other: Extent) -> Extent:
        """The extent of this part and the next together."""
        first_times_ms = [each for each in (self.first_ms, other.first_ms) if each >= 0]
        return Extent(
            self.bytes_read + other.bytes_read,
            min(first_times_ms, default=-1),
            max(self.last_ms, other.last_ms),
            max(self.step_ms, other.step_ms),
            self.problem or other.problem,
        )


class _PartContent(NamedTuple):
    """The content of a part, with numbers of its own for names."""

    part: Part
    rows: Rows
    names: Names
    events: list[log_events.LogEvent]
    extent: Extent


class ClusterContent(NamedTuple):
    """The content of all files, with common numbers for names."""

    rows: Rows
    partitions: list[str]
    isrs: list[tuple[int, ...]]
    assignments: list[Assignment]
    #: In the order of their times.
    events: list[log_events.LogEvent]
    files: dict[LogFile, Extent]


def read_logs(
    files: list[LogFile],
    progress: Callable[[int, int], None] = lambda _done, _all: None,
    meanwhile: Callable[[], None] = lambda: None,
    since_ms: Mapping[int, int] = {},
) -> ClusterContent:
    """Read all files.

    Args:
        files: the files.
        progress: called with the bytes that are read, and those of all files.
        meanwhile: called once, while other processes read if there are such.
        since_ms: by node, the time before which lines about partitions are left out.
    """
    parts = [
        part._replace(since_ms=since_ms.get(part.file.node or 0, 0))
        for file in files
        for part in _parts_of(file)
    ]
    whole = sum(part.end - part.begin for part in parts)
    done = 0
    contents: dict[Part, _PartContent] = {}
    for content in _contents(parts, whole, meanwhile):
        contents[content.part] = content
        done += content.part.end - content.part.begin
        progress(done, whole)
    return _together([contents[part] for part in parts])


def _parts_of(file: LogFile) -> list[Part]:
    try:
        size = file.path.stat().st_size
    except OSError:
        size = 0
    if file.path.suffix == ".gz" or size <= 2 * _PART_BYTES:
        return [Part(file, 0, size)]
    cuts = [*range(0, size, _PART_BYTES), size]
    return [Part(file, begin, end) for begin, end in pairwise(cuts)]


def _contents(
    parts: list[Part], whole: int, meanwhile: Callable[[], None]
) -> Iterator[_PartContent]:
    processes = min(len(os.sched_getaffinity(0)), 4, len(parts))
    if whole < _FEW_BYTES or processes < 2:  # noqa: PLR2004  # one process
        meanwhile()
        yield from map(_content_of, parts)
        return
    # Ctrl-C reaches all processes of the terminal. These end with the parts that they have.
    pool = ProcessPoolExecutor(
        processes, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)
    )
    # The largest first: a small one fills the end.
    largest = sorted(parts, key=lambda part: part.begin - part.end)
    try:
        # The first of them forks all processes.
        with interruptions_deferred():
            waiting = [pool.submit(_content_of, part) for part in largest]
        meanwhile()
        for future in as_completed(waiting):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _content_of(part: Part) -> _PartContent:
    """Read a part of a file."""
    reader = _Reader(part)
    problem = None
    try:
        with LogStream(part.file.path, is_day_first=part.file.is_day_first) as stream:
            end = None if stream.is_compressed else part.end
            for block in stream.entries(part.file.part, part.begin, end):
                reader.read(block)
            if stream.is_torn:
                problem = "is torn: the end of the compressed file is missing"
    except (OSError, zlib.error) as error:
        problem = unreadable(error)
    return reader.content(problem)


class _Reader:
    """Reads the blocks of one part of a file."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._node = MISSING if part.file.node is None else part.file.node
        self._is_of_several = part.file.part != ALL_LINES
        self._names = Names()
        self._rows = partition_rows.RowBuffer()
        self._events: dict[log_events.LogEvent, None] = {}
        #: Events that are kept once, without their times.
        self._kept_once: set[log_events.LogEvent] = set()
        #: Names and values of settings, of which each is an event.
        self._settings: set[tuple[bytes | None, ...]] = set()
        self._clock = log_layout.LogClock()
        self._first_ms = self._last_ms = -1
        self._step_ms = MILLISECONDS
        self._bytes = 0

    def content(self, problem: str | None) -> _PartContent:
        """The content of all blocks."""
        rows = self._rows.all()
        rows["node"][rows["node"] == MISSING] = self._node
        # Lines are not strictly in order.
        times_ms = [self._first_ms, self._last_ms, *(event.time_ms for event in self._events)]
        times_ms += rows["time_ms"][[0, -1]].tolist() if len(rows) else []
        extent = Extent(self._bytes, min(times_ms), max(times_ms), self._step_ms, problem)
        return _PartContent(self._part, rows, self._names, list(self._events), extent)

    def read(self, block: bytes) -> None:
        """Read the entries of a block."""
        self._bytes += len(block)
        self._note_times(block)
        self._read_lines(block)
        self._read_settings(block)
        self._rows.compact()

    def _read_lines(self, block: bytes) -> None:
        """Read the lines of a block.

        A line that was torn may have the next one right behind it: so a line begins wherever a
        header is.
        """
        for found in _LINE.finditer(block):
            begin = found.start(_MESSAGE)
            end = block.find(b"\n", found.end())
            if end < 0:  # a torn line
                break
            if block.find(ENTRY, begin, end) >= 0:
                next_header = HEADER.search(block, begin, end)
                end = end if next_header is None else next_header.start()
            for matching, line in _LINES[(found.lastindex or 0) - _FIRST_OPENING]:
                match = matching(block, begin, end)
                if match is None:
                    continue
                time_ms = self._clock.time_ms(found)
                if time_ms < 0:
                    break
                if isinstance(line, PartitionLine):
                    if time_ms < self._part.since_ms:
                        break
                    for row in line.rows(match, self._names, time_ms):
                        self._rows.add(row)
                else:
                    self._read_event(line, match, time_ms, block)

    def _read_settings(self, block: bytes) -> None:
        """Read the settings that starts print, each in a line of the same entry."""
        at = block.find(_SETTINGS)
        while at >= 0:
            end = block.find(b"\n" + ENTRY, at)
            end = len(block) if end < 0 else end
            for setting in _SETTING_LINE.finditer(block, at, end):
                name_and_value = setting.groups()
                if name_and_value in self._settings:
                    continue
                self._settings.add(name_and_value)
                name, value = (each.decode("utf-8", "replace") for each in name_and_value)
                self._add(log_events.Setting(max(self._first_ms, 0), self._node, name, value))
            at = block.find(_SETTINGS, end)

    def _read_event(
        self, line: log_events.EventLine, match: re.Match[bytes], time_ms: int, block: bytes
    ) -> None:
        if line.is_kept_once:
            timeless = line.event(match, 0, self._node)
            if timeless not in self._kept_once:
                self._kept_once.add(timeless)
                self._add(replace(timeless, time_ms=time_ms))
            return
        event = line.event(match, time_ms, self._node)
        if isinstance(event, log_events.ProcessStarting):
            begin = block.rfind(b"\n", 0, match.start()) + 1
            before = block[max(0, begin - _FIRST_LINES_BYTES) : begin]
            event = replace(event, previous_line_ms=self._previous_line_ms(before))
        self._add(event)

    def _add(self, event: log_events.LogEvent) -> None:
        if len(self._events) < _MOST_EVENTS:
            self._events[event] = None

    def _previous_line_ms(self, before: bytes) -> int:
        """The time of the last line before the first line of a start; -1: there is none."""
        first = before.rfind(_FIRST_LINE)
        lines = before[: first if first >= 0 else len(before)].split(b"\n")
        # The last of these is the beginning of the first line itself.
        for line in lines[-2::-1]:
            header = HEADER.match(line)
            if header is not None and (time_ms := self._clock.time_ms(header)) >= 0:
                return time_ms
        return self._before_block_ms

    def _note_times(self, block: bytes) -> None:
        """Note the times of the first and the last entry of a block, wherever they stand."""
        self._before_block_ms = self._last_ms
        first = _FIRST_HEADER.search(block)
        if first is None:
            return
        if self._first_ms < 0:
            self._first_ms = self._clock.time_ms(first)
            self._step_ms = step_ms(first)
        last, place = None, len(block)
        while last is None and place > first.start():
            place = block.rfind(b"\n" + ENTRY, first.start(), place)
            last = HEADER.match(block, place + 1) if place >= 0 else first
        ends = [first, last or first]
        if self._is_of_several:
            # The logs of several nodes may stand behind each other.
            ends += HEADER.finditer(block)
        times_ms = [self._clock.time_ms(end) for end in ends]
        self._first_ms = min([self._first_ms, *(each for each in times_ms if each >= 0)])
        self._last_ms = max([self._last_ms, *times_ms])


def _together(contents: list[_PartContent]) -> ClusterContent:
    """The content of all parts, with common numbers."""
    names = Names()
    tables = [np.empty(0, partition_rows.ROW)]
    events: dict[log_events.LogEvent, None] = {}
    files: dict[LogFile, Extent] = {}
    for content in contents:
        tables.append(_renumbered(content, names))
        events.update(dict.fromkeys(content.events))
        file = content.part.file
        before = files.get(file)
        files[file] = content.extent if before is None else before.with_next(content.extent)
    return ClusterContent(
        partition_rows.earliest(np.concatenate(tables)),
        [name.decode("utf-8", "replace") for name in names.partitions],
        list(names.isrs),
        list(names.assignments),
        sorted(events, key=lambda event: event.time_ms),
        files,
    )


def _renumbered(content: _PartContent, names: Names) -> Rows:
    own, rows = content.names, content.rows.copy()
    for column, numbers in (
        ("partition", [names.partition(each) for each in own.partitions]),
        ("isr", [names.isr_of(each) for each in own.isrs]),
        ("assignment", [names.assignment_of(each) for each in own.assignments]),
    ):
        known = rows[column] >= 0
        if known.any():
            rows[column][known] = np.array(numbers, np.int64)[rows[column][known]]
    return rows
