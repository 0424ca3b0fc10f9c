"""All that the files of a cluster tell, read by as many processes as there are CPUs for.

Each file is read in blocks. In a block the markers of all kinds of lines are looked for, which the
C library does at a gigabyte a second, and only lines that have one are matched against a pattern.
A large file is cut into parts, so that one process does not read it alone.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import chain, pairwise, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.real_logs.event_lines import EVENT_LINES, SETTINGS, EventLine
from tidegauge.real_logs.log_files import LogFile
from tidegauge.real_logs.log_layout import HEADER, SAMPLE_BYTES, Layout, LogClock, layout_of
from tidegauge.real_logs.log_stream import LogStream
from tidegauge.real_logs.partition_lines import PARTITION_LINES, PartitionLine
from tidegauge.real_logs.told import (
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
_MOST_SECONDS = 100_000
#: Events of a part are no more; a log that has them is not that of a cluster.
_MOST_EVENTS = 2_000_000


#: So much of a message's beginning chooses the kinds of lines that it may be of.
_KEY_BYTES = 6


def _kinds_by_beginning() -> dict[bytes, tuple[tuple[bytes, PartitionLine | EventLine], ...]]:
    """The kinds of lines by the first bytes of their messages, and of what follows the speaker.

    A message is ``[Controller id=1 epoch=2] Changed partition ...``: it is looked up with
    ``Chan``, and if that is not there without. Kinds in which anything may follow are in all of
    these.
    """
    kinds: dict[bytes, list[tuple[bytes, PartitionLine | EventLine]]] = {}
    following = {line.marker: _following(line.pattern.pattern) for line in _ALL_KINDS}
    for line in _ALL_KINDS:
        for begins in line.begins:
            key = begins[:_KEY_BYTES]
            kinds.setdefault(key, [])
            kinds.setdefault(key + following[line.marker], [])
    for key, of_key in kinds.items():
        for line in _ALL_KINDS:
            keys = [begins[:_KEY_BYTES] for begins in line.begins]
            if any(key in (each, each + following[line.marker]) for each in keys) or (
                not following[line.marker] and key[:_KEY_BYTES] in keys
            ):
                of_key.append((line.marker, line))
        if len(key) == _KEY_BYTES:
            # Another word follows than those that have an entry of their own.
            of_key[:] = [each for each in of_key if not following[each[0]]]
    return {key: tuple(of_key) for key, of_key in kinds.items()}


_FOLLOWS_SPEAKER = re.compile(rb"\\\] (\w[\w ]{3})")


def _following(pattern: bytes) -> bytes:
    """The first bytes after the speaker of a pattern; empty if anything may follow."""
    found = _FOLLOWS_SPEAKER.search(pattern)
    return found[1] if found is not None and pattern.startswith(rb"\[") else b""


_ALL_KINDS: tuple[PartitionLine | EventLine, ...] = (*PARTITION_LINES, *EVENT_LINES)
_KINDS = _kinds_by_beginning()
_KEYS = tuple(dict.fromkeys(key[:_KEY_BYTES] for key in _KINDS))
#: A line of the layout of Kafka's own configurations, of any kind: time, ms, its first bytes.
_PLAIN_LINE = re.compile(
    rb"\[(20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d)[,.](\d{3})\]"
    rb" (?:INFO|WARN|DEBUG|TRACE|ERROR|FATAL) (\[(?:"
    + b"|".join(re.escape(key[1:]) for key in _KEYS if key.startswith(b"["))
    + rb")|"
    + b"|".join(re.escape(key) for key in _KEYS if not key.startswith(b"["))
    + b")"
)
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
    files: list[LogFile], progress: Callable[[int, int], None] = lambda _done, _all: None
) -> ClusterTold:
    """Read all files.

    Args:
        files: the files.
        progress: called with the bytes that are read, and those of all files.
    """
    parts = [part for file in files for part in _parts_of(file)]
    whole = sum(part.end - part.begin for part in parts)
    done = 0
    reads: list[Read] = []
    for read in _all_read(parts, whole):
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


def _all_read(parts: list[Part], whole: int) -> Iterator[Read]:
    processes = min(len(os.sched_getaffinity(0)), 4, len(parts))
    if whole < _FEW_BYTES or processes < 2:  # noqa: PLR2004  # one process
        yield from map(read_part, parts)
        return
    with ProcessPoolExecutor(processes) as pool:
        # The largest first: a small one fills the end.
        largest = sorted(parts, key=lambda part: part.begin - part.end)
        waiting = [pool.submit(read_part, part) for part in largest]
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
        self._seconds: dict[bytes, int] = {}
        self._first_ms = self._last_ms = -1
        self._bytes = 0

    def read(self, stream: LogStream, part: Part) -> None:
        """Read the entries that begin in a part."""
        layout = layout_of(stream.read(SAMPLE_BYTES))
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
        return FileTold(
            self._rows.all(),
            list(self._names.partitions),
            list(self._names.isrs),
            list(self._names.assignments),
            list(self._events),
            self._first_ms,
            self._last_ms,
            self._bytes,
        )

    def _read_block(self, block: bytes, layout: Layout) -> None:
        if not block:
            return
        self._note_span(block, layout)
        if layout.is_plain:
            self._read_plain_lines(block)
        else:
            for line in _ALL_KINDS:
                self._read_marked_lines(block, line, layout.beginning)
            for setting in _SETTING_LINE.finditer(block):
                self._take_setting(setting)
        self._rows.compact()

    def _read_plain_lines(self, block: bytes) -> None:
        """Read a block of the layout that Kafka's own configurations have.

        The first bytes of a message choose the kinds of lines that it may be of; most are of none.
        A line that was torn may have the next one right behind it: so a line begins wherever a
        time is.
        """
        find = block.find
        known: re.Match[bytes] | None = None
        for found in chain(_PLAIN_LINE.finditer(block), (None,)):
            header, known = known, found
            if header is None:
                continue
            end = find(b"\n", header.end())
            if end < 0:  # a torn line
                break
            self._read_plain_line(block, header, end if found is None else min(end, found.start()))
        if find(b" values: ") >= 0:
            for setting in _SETTING_LINE.finditer(block):
                self._take_setting(setting)

    def _read_plain_line(self, block: bytes, header: re.Match[bytes], end: int) -> None:
        find, begin, key = block.find, header.start(), header[3]
        said = find(b"] ", header.end(), end) + 2
        of_kind = _KINDS.get(key + block[said : said + 4]) if said > 1 else None
        for marker, kind in _KINDS[key] if of_kind is None else of_kind:
            if find(marker, begin, end) < 0:
                continue
            match = kind.pattern.search(block, begin, end)
            if match is None:
                continue
            second = self._seconds.get(header[1])
            if second is None:
                second = self._second_of(header[1])
            if second < 0:
                return
            if isinstance(kind, PartitionLine):
                self._take_rows(kind, match, second + int(header[2]))
            else:
                before = block[max(0, begin - _FIRST_LINES_BYTES) : begin]
                self._take(kind, match, second + int(header[2]), before)

    def _second_of(self, second: bytes) -> int:
        """The time of a second, kept for the lines that have it, too; -1 if there is none."""
        header = HEADER.match(b"[" + second + b",000] INFO ")
        time_ms = -1 if header is None else self._clock.time_ms(header)
        if len(self._seconds) > _MOST_SECONDS:
            self._seconds.clear()
        self._seconds[second] = time_ms
        return time_ms

    def _take_setting(self, setting: re.Match[bytes]) -> None:
        values = tuple(each.decode("utf-8", "replace") for each in setting.groups())
        if ("setting", values) not in self._said_once:
            self._said_once.add(("setting", values))
            self._events[Event("setting", max(self._first_ms, 0), self._node, values)] = None

    def _read_marked_lines(
        self, block: bytes, line: PartitionLine | EventLine, beginning: bytes
    ) -> None:
        """Read the lines of a kind in a block of another layout."""
        marker = line.marker
        at = block.find(marker)
        while at >= 0:
            end = block.find(b"\n", at)
            if end < 0:  # a torn line
                return
            begin, time_ms = self._time_of(block, block.rfind(beginning, 0, at), beginning)
            match = line.pattern.search(block, begin, end) if time_ms >= 0 else None
            if match is not None:
                if isinstance(line, PartitionLine):
                    self._take_rows(line, match, time_ms)
                else:
                    before = block[max(0, begin - _FIRST_LINES_BYTES) : begin]
                    self._take(line, match, time_ms, before)
            at = block.find(marker, end)

    def _take_rows(self, line: PartitionLine, match: re.Match[bytes], time_ms: int) -> None:
        for kind, teller, *rest in line.rows(match, self._names):
            told_by = self._node if teller == UNTOLD else teller
            self._rows.extend((kind, time_ms, told_by, *rest))

    def _take(self, line: EventLine, match: re.Match[bytes], time_ms: int, before: bytes) -> None:
        values = line.values(match)
        teller = int(match["node"]) if "node" in line.pattern.groupindex else self._node
        if line.once:
            if (line.kind, values) in self._said_once:
                return
            self._said_once.add((line.kind, values))
        if line.kind == "starting":
            # The last line of the life before: nothing else tells when a killed process ended.
            values = (self._last_before(before),)
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

    def _time_of(self, block: bytes, begin: int, beginning: bytes) -> tuple[int, int]:
        """Where the entry of a marker begins, and its time; a time of -1 if it has none."""
        while begin >= 0:
            header = HEADER.match(block, begin)
            if header is not None:
                return begin, self._clock.time_ms(header)
            begin = block.rfind(beginning, 0, begin)
        return 0, -1

    def _note_span(self, block: bytes, layout: Layout) -> None:
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
