"""Lines about partitions: their patterns, and the rows that are read from them.

``PARTITION_LINES`` is the table. A line is found by its opening; its whole pattern must match, or
the line has no row: a torn line does not. A named group of a pattern is the column of that name.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from tidegauge.real_cluster.logs.log_layout import LinePattern, line_pattern
from tidegauge.real_cluster.logs.partition_rows import (
    BY_LEADER,
    MISSING,
    Assignment,
    LineKind,
    Names,
    PartitionRow,
    brokers_in,
)

Match = re.Match[bytes]


class PartitionLine(NamedTuple):
    """A line about a partition that is read."""

    line: LinePattern
    rows: Callable[[Match, Names, int], Iterable[Sequence[int]]]


def _integer(_: Names, text: bytes | None) -> int:
    return MISSING if text is None else int(text)


def _partition(names: Names, partition: bytes | None, topic: bytes, number: bytes) -> int:
    return names.partition(topic + b"-" + number if partition is None else partition)


#: The readers of columns that are not integers, and the groups of each.
_READERS: dict[str, tuple[Callable[..., int], tuple[str, ...]]] = {
    "partition": (_partition, ("partition", "topic", "number")),
    "isr": (Names.isr, ("isr", "members")),
    "assignment": (Names.assignment, ("replicas", "adding", "removing")),
}


_TIME_MS = PartitionRow._fields.index("time_ms")


class _RowReader:
    """Makes the row of a line whose groups are its columns."""

    def __init__(self, kind: LineKind, pattern: re.Pattern[bytes]) -> None:
        self._empty = list(PartitionRow(kind, 0))
        #: For each column of an integer that the line has: its place, and the number of the group.
        self._integers: list[tuple[int, int]] = []
        #: For each other column: place, reader, numbers of groups (0: it has none).
        self._columns: list[tuple[int, Callable[..., int], tuple[int, ...]]] = []
        for place, column in enumerate(PartitionRow._fields):
            read, groups = _READERS.get(column, (_integer, (column,)))
            if column == "leader" and kind in BY_LEADER:
                groups = ("node",)
            if any(group in pattern.groupindex for group in groups):
                numbers = tuple(pattern.groupindex.get(group, 0) for group in groups)
                if read is _integer:
                    self._integers.append((place, numbers[0]))
                else:
                    self._columns.append((place, read, numbers))

    def __call__(self, match: Match, names: Names, time_ms: int) -> Iterable[Sequence[int]]:
        row = self._empty.copy()
        row[_TIME_MS] = time_ms
        texts = (None, *match.groups())
        for place, number in self._integers:
            text = texts[number]
            if text is not None:
                row[place] = int(text)
        for place, read, numbers in self._columns:
            row[place] = read(names, *[texts[number] for number in numbers])
        return (row,)


def _line(kind: LineKind, speaker: bytes, words: bytes, rest: bytes) -> PartitionLine:
    """A line with one row: ``speaker`` and ``words`` find it, and ``rest`` must follow."""
    line = line_pattern(speaker, words, rest)
    return PartitionLine(line, _RowReader(kind, line.pattern))


# Records of the metadata log: ``leader=1, isr=[1, 2], partitionEpoch=3``.
_FIELD = re.compile(rb"(\w+)=(\[[^\]]*\]|[^,)]+)")
_CHANGED_FIELD = re.compile(rb"(\w+): (\[[^\]]*\]|[^,\s]+) -> (\[[^\]]*\]|[^,\s]+)")
#: The leader in a record that does not change it.
_SAME_LEADER = -2
#: The fields of a change of the assignment; the others have values that mean no change.
_LISTS = {b"replicas", b"addingReplicas", b"removingReplicas"}


def _with_fields(row: PartitionRow, fields: Mapping[bytes, bytes], names: Names) -> PartitionRow:
    """A row with the fields of a record."""

    def integer(name: bytes) -> int:
        return int(fields.get(name, MISSING))

    def brokers(name: bytes) -> tuple[int, ...] | None:
        text = fields.get(name, b"null")
        return None if text == b"null" else brokers_in(text)

    recovery = fields.get(b"leaderRecoveryState")
    assignment = Assignment(
        brokers(b"replicas"),
        brokers(b"addingReplicas"),
        brokers(b"removingReplicas"),
        brokers(b"elr"),
        brokers(b"lastKnownElr"),
        None if recovery is None else recovery != b"RECOVERED",
    )
    return row._replace(
        leader=integer(b"leader"),
        leader_epoch=integer(b"leaderEpoch"),
        version=integer(b"partitionEpoch"),
        isr=names.isr(fields.get(b"isr")),
        assignment=names.assignment_of(assignment),
    )


def _new_record(match: Match, names: Names, time_ms: int) -> Iterable[PartitionRow]:
    partition = names.partition(match["partition"])
    row = PartitionRow(LineKind.CREATED, time_ms, int(match["node"]), partition)
    yield _with_fields(row, dict(_FIELD.findall(match["fields"])), names)


def _before_unclean_election(match: Match, names: Names, time_ms: int) -> Iterable[PartitionRow]:
    # The topic has its id here; its TopicRecord has its name.
    partition = names.partition(b"\0" + match["topic_id"] + b"-" + match["number"])
    row = PartitionRow(LineKind.BEFORE, time_ms, partition=partition)
    yield _with_fields(row, dict(_FIELD.findall(match["fields"])), names)


def _change_record(match: Match, names: Names, time_ms: int) -> Iterable[PartitionRow]:
    """The states before and after a change."""
    changed = [(name, (old, new)) for name, old, new in _CHANGED_FIELD.findall(match["fields"])]
    partition = names.partition(match["partition"])
    kind = LineKind.UNCLEAN if match["unclean"] else LineKind.STATE
    for side, each in enumerate((LineKind.BEFORE, kind)):
        row = PartitionRow(each, time_ms, int(match["node"]), partition)
        yield _with_fields(row, {name: values[side] for name, values in changed}, names)


def _registration(match: Match, names: Names, time_ms: int) -> Iterable[PartitionRow]:
    """The state that a broker has skipped, since its role stays the same."""
    partition = names.partition(match["partition"])
    row = PartitionRow(LineKind.STATE, time_ms, int(match["node"]), partition)
    yield _with_fields(row, dict(_FIELD.findall(match["fields"])), names)


def _assignment_record(match: Match, names: Names, time_ms: int) -> Iterable[PartitionRow]:
    """The lists of a change of the assignment; from 4.3 on also the state after it."""
    fields = dict(_FIELD.findall(match["fields"]))
    if fields.get(b"replicas", b"null") == b"null" or not fields.get(b"partitionId"):
        return
    partition = names.partition(match["topic"] + b"-" + fields[b"partitionId"])
    row = PartitionRow(LineKind.ASSIGNED, time_ms, int(match["node"]), partition)
    lists = {name: text for name, text in fields.items() if name in _LISTS}
    row = _with_fields(row, lists, names)
    yield row
    if match["version"] is not None:
        leader = int(fields[b"leader"])
        yield row._replace(
            kind=LineKind.STATE,
            leader=MISSING if leader == _SAME_LEADER else leader,
            leader_epoch=int(match["leader_epoch"]),
            version=int(match["version"]),
            isr=names.isr(match["isr"]),
        )


_CONTROLLER = rb"\[Controller id=(?P<node>\d+)\] "
_CONTROLLER_IN_EPOCH = rb"\[Controller id=(?P<node>\d+) epoch=\d+\] "
#: ... in lines without another controller epoch.
_CONTROLLER_WITH_EPOCH = rb"\[Controller id=(?P<node>\d+) epoch=(?P<controller_epoch>\d+)\] "
_BROKER = rb"\[Broker id=(?P<node>\d+)\] "
_PARTITION = rb"\[Partition (?P<partition>\S+) broker=(?P<node>\d+)\] "
_LOG = rb"\[(?:Log|UnifiedLog) partition=(?P<partition>[^\s,]+), dir=[^\]]*\] "
_QUORUM = rb"\[QuorumController id=(?P<node>\d+)\] "
_LEADER_AND_ISR = (
    rb"LeaderAndIsr\(leader=(?P<leader>-?\d+), ?leaderEpoch=(?P<leader_epoch>\d+), ?"
    rb"(?:isr=List\((?P<isr>[\d, ]*)\)|isrWithBrokerEpoch=List\((?P<members>.*?)\)), ?"
    rb"(?:leaderRecoveryState=\w+, ?)?(?:zkVersion|partitionEpoch)=(?P<version>\d+)\)"
)
#: As the controller of ZooKeeper writes the state that it sends.
_SHORT_STATE = (
    rb"\(Leader:(?P<leader>-?\d+),ISR:(?P<isr>[\d,]*),(?:LeaderRecoveryState:\w+,)?"
    rb"LeaderEpoch:(?P<leader_epoch>\d+),(?:ZkVersion:(?P<version>\d+),)?"
    rb"ControllerEpoch:(?P<controller_epoch>\d+)\)"
)
_ASSIGNMENT = (
    rb"ReplicaAssignment\(replicas=(?P<replicas>[\d,]*), addingReplicas=(?P<adding>[\d,]*),"
    rb" removingReplicas=(?P<removing>[\d,]*)\)"
)
#: Leader -2 is that of a topic that is being deleted. Some releases send controller epoch -1.
_STATE = (
    rb"topicName='(?P<topic>[^']*)', partitionIndex=(?P<number>\d+),"
    rb" controllerEpoch=(?:(?P<controller_epoch>\d+)|-\d+), leader=(?P<leader>\d+|-1),"
    rb" leaderEpoch=(?P<leader_epoch>-?\d+), isr=\[(?P<isr>[\d, ]*)\],"
    rb" (?:zkVersion|partitionEpoch)=(?P<version>\d+), replicas=\[(?P<replicas>[\d, ]*)\]"
    rb"(?:, addingReplicas=\[(?P<adding>[\d, ]*)\], removingReplicas=\[(?P<removing>[\d, ]*)\])?"
)
#: In brokers' lines about their role.
_ROLE = (
    rb"(?P<partition>\S+) (?:with topic id \S+ )?starts at leader epoch (?P<leader_epoch>\d+)"
    rb" from offset (?P<offset>\d+) with (?:partition epoch (?P<version>\d+)(?:,| and) )?"
    rb"high watermark \d+"
)

PARTITION_LINES: tuple[PartitionLine, ...] = (
    # The controller of a cluster with ZooKeeper, in state-change.log.
    _line(
        LineKind.CREATED,
        _CONTROLLER_WITH_EPOCH,
        rb"Changed partition (?P<partition>\S+) from NewPartition to OnlinePartition with state ",
        _LEADER_AND_ISR,
    ),
    _line(
        LineKind.ELECTED,
        _CONTROLLER_WITH_EPOCH,
        rb"Changed partition (?P<partition>\S+) from O\w+ to OnlinePartition with state ",
        _LEADER_AND_ISR,
    ),
    _line(
        LineKind.REMOVED,
        _CONTROLLER_IN_EPOCH,
        rb"Partition (?P<partition>\S+) state changed to ",
        _SHORT_STATE + rb".* as part of transition to OfflineReplica",
    ),
    _line(
        LineKind.REASSIGNED,
        _CONTROLLER_IN_EPOCH,
        rb"Sent LeaderAndIsr request ",
        _SHORT_STATE
        + rb" with new replica assignment "
        + _ASSIGNMENT
        + rb" to leader -?\d+ for partition being reassigned (?P<partition>\S+)",
    ),
    # Empty groups: a new partition adds no replica and removes none.
    _line(
        LineKind.ASSIGNED,
        _CONTROLLER_IN_EPOCH,
        rb"Changed partition (?P<partition>\S+) state from NonExistentPartition to NewPartition"
        rb" with assigned",
        rb" replicas (?P<replicas>[\d,]+)(?P<adding>)(?P<removing>)(?= )",
    ),
    _line(LineKind.STATE, _CONTROLLER_IN_EPOCH, rb"Sending .*?PartitionState\(", _STATE),
    # ... and in controller.log.
    _line(
        LineKind.ALTERED,
        _CONTROLLER,
        rb"ISR for partition (?P<partition>\S+) updated to ",
        _LEADER_AND_ISR,
    ),
    _line(
        LineKind.ASSIGNED,
        _CONTROLLER,
        rb"Successfully updated assignment of partition ",
        rb"(?P<partition>\S+) to " + _ASSIGNMENT,
    ),
    # Brokers, in state-change.log.
    _line(
        LineKind.LEADS,
        _BROKER,
        rb"Leader ",
        _ROLE
        + rb",? ISR \[(?P<isr>[\d,]*)\],? adding ?[rR]eplicas \[(?P<adding>[\d,]*)\](?: and|,)?"
        rb" removing ?[rR]eplicas \[(?P<removing>[\d,]*)\]",
    ),
    _line(
        LineKind.FOLLOWS,
        _BROKER,
        rb"Follower ",
        _ROLE + rb"\.(?: Current leader is (?P<leader>-?\d+)\.)?",
    ),
    _line(LineKind.STATE, _BROKER, rb"(?:Received|Cached|Skipped) .*?PartitionState\(", _STATE),
    # ... from 4.2 on.
    PartitionLine(
        line_pattern(
            _BROKER,
            rb"Skipped the become-\w+ state change for ",
            rb"(?P<partition>\S+) with topic id \S+ partition registration"
            rb" PartitionRegistration\((?P<fields>.*?partitionEpoch=\d+)\)",
        ),
        _registration,
    ),
    # Leaders, in server.log.
    _line(
        LineKind.ISR_UPDATED,
        _PARTITION,
        rb"ISR updated to ",
        rb"\[?(?P<isr>[\d,]*)\]? +(?:\([\w-]+\) +)?and (?:zkVersion|version) updated to"
        rb" \[?(?P<version>\d+)[\] ]",
    ),
    _line(
        LineKind.SHRINKING, _PARTITION, rb"Shrinking ISR from ", rb"[\d,]* to (?P<isr>[\d,]*)[. ]"
    ),
    _line(
        LineKind.EXPANDING, _PARTITION, rb"Expanding ISR from ", rb"[\d,]* to (?P<isr>[\d,]*)[. ]"
    ),
    _line(LineKind.TRUNCATED, _LOG, rb"Truncating to offset ", rb"(?P<offset>\d+) "),
    # The controllers of a quorum, in controller.log.
    PartitionLine(
        line_pattern(
            _QUORUM,
            rb"Replayed PartitionRecord for new partition ",
            rb"(?P<partition>\S+) with topic ID \S+ and"
            rb" PartitionRegistration\((?P<fields>.*?partitionEpoch=\d+)\)",
        ),
        _new_record,
    ),
    PartitionLine(
        line_pattern(
            _QUORUM,
            rb"(?:Replayed )?(?P<unclean>UNCLEAN )?partition change for ",
            rb"(?P<partition>\S+) with topic ID [^:\s]+:"
            rb" (?P<fields>.*? -> .*partitionEpoch: \d+ -> \d+(?= ).*)",
        ),
        _change_record,
    ),
    PartitionLine(
        line_pattern(
            _QUORUM,
            rb"Replayed partition assignment change ",
            rb"PartitionChangeRecord\((?P<fields>.*?)\) for topic (?P<topic>\S+?)\.?"
            rb"(?: \(isr: \[[^\]]*\] -> (?P<isr>\[[^\]]*\]), .*?"
            rb"partitionEpoch: (?P<version>\d+), leaderEpoch: (?P<leader_epoch>\d+)\))?(?= )",
        ),
        _assignment_record,
    ),
    PartitionLine(
        line_pattern(
            b"",
            rb"Setting new leader for topicId ",
            rb"(?P<topic_id>\S+), partition (?P<number>\d+) to -?\d+ using an unclean election\."
            rb" Previous partition: PartitionRegistration\((?P<fields>.*?partitionEpoch=\d+)\)",
        ),
        _before_unclean_election,
    ),
)
