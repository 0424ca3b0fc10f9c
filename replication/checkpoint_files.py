r"""The files with a broker's lasting state, in Kafka's own format.

Three files of a log directory hold one offset per partition, and each partition's own
folder holds its leader epochs:

==================================== =============================== ======================
file                                 an entry                        the offset
==================================== =============================== ======================
``replication-offset-checkpoint``    ``topic partition offset``      high watermark
``recovery-point-offset-checkpoint`` ``topic partition offset``      log is flushed up to it
``log-start-offset-checkpoint``      ``topic partition offset``      first one not deleted
``leader-epoch-checkpoint``          ``epoch start_offset``          first one of the epoch
==================================== =============================== ======================

All are text: a version, which is 0, then the number of entries, then the entries, one a
line. So this leader-epoch-checkpoint says that epoch 29 starts at offset 2485991681::

    0
    1
    29 2485991681

Here such a file is bytes, not text, because releases differ in their handling of bytes that are not
UTF-8. Nothing in this module touches a disk: ``actors/storage/log_dirs.py`` does.

There is no checksum. The count of entries catches most torn writes, but not all: no bytes at all
and a lone version line are empty checkpoints, and a file cut inside its very last number is a valid
file with a smaller offset. That is why Kafka replaces the file as a whole.

Reading follows Java to the letter, as some damaged files stop a broker and others do not:

* A line ends at LF, CR or CRLF (``BufferedReader.readLine``); the last end may be missing.
* Fields are separated by runs of ASCII white space (``Pattern.split("\s+")``). White space
  at the end of a line is ignored, at its start it makes an empty first field, so that
  ``" 1 5"`` is partition 1 of a topic without a name.
* A number is a sign or none and decimal digits of any script in the Basic Multilingual
  Plane (``Integer.parseInt``, ``Long.parseLong``): ``+7`` and ``007`` are 7, ``7_0`` and
  ``" 7"`` are not numbers. Versions, counts, partitions and epochs have 32 bits, offsets
  64. Partitions, epochs and offsets may be negative.

Source: OffsetCheckpoint@0.10.2.0; CheckpointFile@0.11.0.0, 2.1.0, 2.8.0 (Scala), 3.1.0,
3.8.0 (Java); OffsetCheckpointFile and LeaderEpochCheckpointFile of the same releases.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, TypeVar

from tidegauge.compiled.errors import TidegaugeError

REPLICATION_OFFSET_CHECKPOINT = "replication-offset-checkpoint"
RECOVERY_POINT_OFFSET_CHECKPOINT = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_CHECKPOINT = "log-start-offset-checkpoint"  #: from 0.11 on
LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"  #: from 0.11 on

VERSION = 0

_LINE_END = re.compile(r"\r\n|\r|\n")
_WHITE_SPACE = re.compile(r"\s+", re.ASCII)
_NUMBER = re.compile(r"([+-]?)(\d+)")

Entry = TypeVar("Entry")

#: The longest piece of a damaged line that a message shows.
_SHOWN_CHARACTERS = 80


class CheckpointFormat(Enum):
    """The reader of a checkpoint; the value is the first release that reads it so.

    All write alike. They differ in how they judge a file that they did not write.
    """

    #: ``OffsetCheckpoint``, up to 0.10.2: compares the count with the number of *distinct*
    #: partitions. Broken UTF-8 becomes U+FFFD.
    SCALA_0_10 = (0, 0)
    #: ``CheckpointFile``, 0.11 - 2.0: compares the count with the number of lines; of two
    #: lines about one partition the last is taken.
    SCALA_0_11 = (0, 11)
    #: The same, 2.1 - 3.0: broken UTF-8 is an I/O error (``Files.newBufferedReader``).
    SCALA = (2, 1)
    #: ``CheckpointFile`` in Java, from 3.1 on: a bad number in an entry and a negative count
    #: are unchecked exceptions, which the handler of I/O errors does not see.
    JAVA = (3, 1)

    @classmethod
    def of_release(cls, release: str) -> CheckpointFormat:
        """The reader of a Kafka release such as ``"2.6"`` or ``"0.10.2.2"``.

        Raises ValueError if the release does not begin with two numbers.
        """
        major, minor = release.split(".")[:2]
        return [reader for reader in cls if reader.value <= (int(major), int(minor))][-1]


class CheckpointFlaw(Enum):
    """The defects of a checkpoint, by the exception that Kafka throws for each."""

    UNRECOGNIZED_VERSION = "unrecognized_version"
    MALFORMED_LINE = "malformed_line"
    COUNT_MISMATCH = "count_mismatch"
    #: Not UTF-8: MalformedInputException.
    MALFORMED_INPUT = "malformed_input"
    #: NumberFormatException out of an entry.
    NUMBER_FORMAT_UNCHECKED = "number_format_unchecked"
    #: IllegalArgumentException: the count is the capacity of a new list.
    NEGATIVE_COUNT_UNCHECKED = "negative_count_unchecked"

    @property
    def is_io_error(self) -> bool:
        """Whether Kafka throws an IOException for it.

        From 1.0 on that takes the log directory offline, even where the reader's caller
        goes on without the file (recovery points, log start offsets). Unchecked exceptions
        pass by that handler and are the caller's alone.

        Source: CheckpointFile@1.0.0, CheckpointFileWithFailureHandler@3.1.0.
        """
        return self not in (
            CheckpointFlaw.NUMBER_FORMAT_UNCHECKED,
            CheckpointFlaw.NEGATIVE_COUNT_UNCHECKED,
        )


class CheckpointError(TidegaugeError):
    """A checkpoint that Kafka refuses to read; the message names file, line and flaw."""

    def __init__(
        self, flaw: CheckpointFlaw, reason: str, line_number: int, line: str, file: str | None
    ) -> None:
        super().__init__(flaw, reason, line_number, line, file)
        self.flaw = flaw
        self.reason = reason
        #: Counted from 1.
        self.line_number = line_number
        #: The whole line without its end; U+FFFD stands for bytes that are not UTF-8.
        self.line = line
        #: None if the parser's caller did not name it.
        self.file = file

    @property
    def is_io_error(self) -> bool:
        """See :attr:`CheckpointFlaw.is_io_error`."""
        return self.flaw.is_io_error

    def __str__(self) -> str:
        shown = self.line[:_SHOWN_CHARACTERS]
        more = "..." if len(self.line) > len(shown) else ""
        where = f"{self.file or 'checkpoint file'}, line {self.line_number}"
        return f"{where}: {self.reason}: {shown!a}{more}"


class TopicPartition(NamedTuple):
    """A partition, as offset checkpoints name it (Kafka: ``TopicPartition``)."""

    topic: str
    partition: int


class EpochStart(NamedTuple):
    """A line of a leader-epoch-checkpoint (Kafka: ``EpochEntry``)."""

    epoch: int
    #: Offset of the first record of the epoch.
    start_offset: int


def render_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """The offset checkpoint that holds these offsets, in the order of the mapping.

    Kafka writes in the order of a hash map, so readers cannot rely on any.

    Raises ValueError for values that no reader would give back: white space in a topic's name, or a
    number beyond its 32 or 64 bits.
    """
    return _render(
        f"{_word(topic)} {_number(partition, bits=32)} {_number(offset, bits=64)}"
        for (topic, partition), offset in offsets.items()
    )


def render_leader_epochs(entries: Iterable[EpochStart]) -> bytes:
    """The leader-epoch-checkpoint that holds these entries, in the given order.

    Raises ValueError for a number beyond its 32 or 64 bits.
    """
    return _render(
        f"{_number(epoch, bits=32)} {_number(start_offset, bits=64)}"
        for epoch, start_offset in entries
    )


def parse_offsets(
    content: bytes, reader: CheckpointFormat, file: str | None = None
) -> dict[TopicPartition, int]:
    """The offsets in an offset checkpoint, as this reader takes it.

    ``file`` is named in the message of the CheckpointError that a damaged file raises.

    Source: OffsetCheckpoint.read@0.10.2.0, OffsetCheckpointFile.read@2.8.0, 3.8.0.
    """
    distinct = reader is CheckpointFormat.SCALA_0_10
    size = _distinct_partitions if distinct else len
    return dict(_read(_lines(content, reader, file), _offset_of, size))


def parse_leader_epochs(
    content: bytes, reader: CheckpointFormat, file: str | None = None
) -> tuple[EpochStart, ...]:
    """The entries of a leader-epoch-checkpoint in their order, repeated ones included.

    Releases up to 0.10.2 have no such file; asked for, they read it as 0.11 would.
    ``file`` is named in the message of the CheckpointError that a damaged file raises.

    Source: LeaderEpochCheckpointFile.read@0.11.0.0, 2.8.0, 3.8.0.
    """
    return tuple(_read(_lines(content, reader, file), _epoch_start_of, len))


@dataclass(frozen=True, slots=True)
class _Line:
    """A line, with all the facts for an error about it."""

    line_number: int
    text: str
    reader: CheckpointFormat
    file: str | None

    def error(self, flaw: CheckpointFlaw, reason: str) -> CheckpointError:
        return CheckpointError(flaw, reason, self.line_number, self.text, self.file)

    def header(self, name: str) -> int:
        """The one number in the line of the version or of the count."""
        value = _parse_number(self.text, bits=32)
        if value is None:
            raise self.error(CheckpointFlaw.MALFORMED_LINE, f"{name} is not a 32-bit number")
        return value

    def fields(self, *names: str) -> list[str]:
        """The fields of an entry; MALFORMED_LINE unless there is one for each name."""
        fields = _WHITE_SPACE.split(self.text)
        # Pattern.split drops empty strings at the end, but keeps the one at the start.
        while fields and not fields[-1]:
            fields.pop()
        if len(fields) != len(names):
            reason = f"not {len(names)} fields ({' '.join(names)}) but {len(fields)}"
            raise self.error(CheckpointFlaw.MALFORMED_LINE, reason)
        return fields

    def number(self, name: str, text: str, bits: int) -> int:
        """The number in a field of an entry."""
        value = _parse_number(text, bits)
        if value is None:
            flaw = CheckpointFlaw.MALFORMED_LINE
            if self.reader is CheckpointFormat.JAVA:
                flaw = CheckpointFlaw.NUMBER_FORMAT_UNCHECKED
            raise self.error(flaw, f"{name} is not a {bits}-bit number")
        return value


def _lines(content: bytes, reader: CheckpointFormat, file: str | None) -> Iterator[_Line]:
    """The lines of a file one by one; MALFORMED_INPUT if it is not UTF-8 and the reader minds.

    A character that the end of the file cuts off is noticed only there, after the lines before it
    were read. Any other broken one is noticed at once: Kafka decodes ahead, 8 KiB at a time. (So in
    a larger file it may first report an error in an earlier block.)

    Up to 0.10.2 the platform's charset decodes, of which the modern UTF-8 is assumed.
    """
    texts = _LINE_END.split(content.decode(errors="replace"))
    if not texts[-1]:
        texts.pop()
    lines = [_Line(number, text, reader, file) for number, text in enumerate(texts, start=1)]
    try:
        content.decode()
    except UnicodeDecodeError as broken:
        if reader in (CheckpointFormat.SCALA, CheckpointFormat.JAVA):
            before = len(_LINE_END.split(content[: broken.start].decode())) - 1
            if broken.reason == "unexpected end of data":
                yield from lines[:before]
            raise lines[before].error(CheckpointFlaw.MALFORMED_INPUT, "not UTF-8") from None
    yield from lines


def _read(
    lines: Iterator[_Line], entry_of: Callable[[_Line], Entry], size: Callable[[list[Entry]], int]
) -> list[Entry]:
    """The entries of a checkpoint, with Kafka's checks in Kafka's order.

    The Java reader sets aside room for the announced entries before it reads them. A
    negative count is refused there; one so large that the JVM runs out of memory, which
    depends on its heap, is taken here for the mismatch that it is.
    """
    version_line = next(lines, None)
    if version_line is None:
        return []
    version = version_line.header("version")
    if version != VERSION:
        reason = f"version {version}, not {VERSION}"
        raise version_line.error(CheckpointFlaw.UNRECOGNIZED_VERSION, reason)
    count_line = next(lines, None)
    if count_line is None:
        return []
    count = count_line.header("count")
    if count < 0 and count_line.reader is CheckpointFormat.JAVA:
        raise count_line.error(CheckpointFlaw.NEGATIVE_COUNT_UNCHECKED, "negative count")
    entries = [entry_of(line) for line in lines]
    found = size(entries)
    if found != count:
        reason = f"found {found} entries, not {count}"
        raise count_line.error(CheckpointFlaw.COUNT_MISMATCH, reason)
    return entries


def _offset_of(line: _Line) -> tuple[TopicPartition, int]:
    topic, partition, offset = line.fields("topic", "partition", "offset")
    key = TopicPartition(topic, line.number("partition", partition, bits=32))
    return key, line.number("offset", offset, bits=64)


def _epoch_start_of(line: _Line) -> EpochStart:
    epoch, start_offset = line.fields("epoch", "start_offset")
    return EpochStart(
        line.number("epoch", epoch, bits=32), line.number("start_offset", start_offset, bits=64)
    )


def _distinct_partitions(entries: list[tuple[TopicPartition, int]]) -> int:
    return len(dict(entries))


def _parse_number(text: str, bits: int) -> int | None:
    """The result of Integer.parseInt (32 bits) or Long.parseLong (64); None if it throws.

    Python's ``int`` takes more (underscores, white space, digits beyond the Basic
    Multilingual Plane) and less (no more than some thousand digits, zeros included).
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    sign, digits = match.groups()
    limit = 1 << (bits - 1)
    value = 0
    for digit in digits:
        value = value * 10 + unicodedata.decimal(digit)
        if digit > "\uffff" or value > limit:
            return None
    value = -value if sign == "-" else value
    return value if value < limit else None


def _render(entries: Iterable[str]) -> bytes:
    lines = list(entries)
    return "".join(f"{line}\n" for line in (VERSION, len(lines), *lines)).encode()


def _word(text: str) -> str:
    if _WHITE_SPACE.search(text):
        raise ValueError(f"white space in {text!a} would split the line of a checkpoint")
    return text


def _number(value: int, bits: int) -> int:
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise ValueError(f"{value} does not fit into the {bits} bits of a checkpoint")
    return value
