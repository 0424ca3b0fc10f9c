"""Lines about partitions: how each begins, its pattern, and what it tells.

``PARTITION_LINES`` is the table. A line is found by its opening; its whole pattern must match, or
the line tells nothing: a torn line does not. The function makes of the match a row without its
time (``told.Column``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tidegauge.real_cluster.logs.log_layout import Opening, opening_of
from tidegauge.real_cluster.logs.partition_rows import UNTOLD, Assignment, Names, Told, brokers_in

Match = re.Match[bytes]
#: Kind, teller, partition, leader, leader epoch, version, ISR, assignment, controller epoch, value.
Row = tuple[int, int, int, int, int, int, int, int, int, int]
Rows = tuple[Row, ...]

_NONE = UNTOLD


class PartitionLine(NamedTuple):
    """A kind of line about partitions."""

    opening: Opening
    #: Of the message from its beginning.
    pattern: re.Pattern[bytes]
    rows: Callable[[Match, Names], Rows]


def _line(
    speaker: bytes, words: bytes, rest: bytes, rows: Callable[[Match, Names], Rows]
) -> PartitionLine:
    """A kind of line: ``speaker`` and ``words`` find it, and ``rest`` must follow."""
    return PartitionLine(opening_of(speaker, words), re.compile(speaker + words + rest), rows)


_CONTROLLER = rb"\[Controller id=(\d+)\] "
_CONTROLLER_IN_EPOCH = rb"\[Controller id=(\d+) epoch=(\d+)\] "
_BROKER = rb"\[Broker id=(\d+)\] "
_PARTITION = rb"\[Partition (\S+) broker=(\d+)\] "
_LOG = rb"\[(?:Log|UnifiedLog) partition=([^\s,]+), dir=[^\]]*\] "
_QUORUM = rb"\[QuorumController id=(\d+)\] "
_LEADER_AND_ISR = (
    rb"LeaderAndIsr\(leader=(-?\d+), ?leaderEpoch=(\d+), ?"
    rb"(?:isr=List\(([\d, ]*)\)|isrWithBrokerEpoch=List\((.*?)\)), ?"
    rb"(?:leaderRecoveryState=\w+, ?)?(?:zkVersion|partitionEpoch)=(\d+)\)"
)
#: As the controller of ZooKeeper writes the state that it sends.
_SHORT_STATE = (
    rb"\(Leader:(-?\d+),ISR:([\d,]*),(?:LeaderRecoveryState:\w+,)?LeaderEpoch:(\d+),"
    rb"(?:ZkVersion:(\d+),)?ControllerEpoch:(\d+)\)"
)
_MEMBER = re.compile(rb"brokerId=(\d+)")


def _isr(names: Names, plain: bytes | None, with_epochs: bytes | None) -> int:
    if plain is not None:
        return names.isr(plain)
    return names.isr(b",".join(_MEMBER.findall(with_epochs or b"")))


def _changed(match: Match, names: Names) -> Rows:
    node, epoch, partition, before, leader, leader_epoch, isr, members, version = match.groups()
    kind = Told.CREATED if before == b"NewPartition" else Told.ELECTED
    members_isr = _isr(names, isr, members)
    partition_number = names.partition(partition)
    return (
        (
            *(kind, int(node), partition_number, int(leader), int(leader_epoch), int(version)),
            *(members_isr, _NONE, int(epoch), _NONE),
        ),
    )


def _removed(match: Match, names: Names) -> Rows:
    node, _, partition, leader, isr, leader_epoch, version, epoch = match.groups()
    return (
        (
            *(Told.REMOVED, int(node), names.partition(partition), int(leader), int(leader_epoch)),
            *(_NONE if version is None else int(version), names.isr(isr), _NONE, int(epoch), _NONE),
        ),
    )


def _sent(match: Match, names: Names) -> Rows:
    node, _, leader, isr, leader_epoch, version, epoch, *lists, partition = match.groups()
    assignment = names.assignment_in(*lists)
    return (
        (
            *(Told.REASSIGNED, int(node), names.partition(partition), int(leader)),
            *(int(leader_epoch), _NONE if version is None else int(version), names.isr(isr)),
            *(assignment, int(epoch), _NONE),
        ),
    )


def _altered(match: Match, names: Names) -> Rows:
    node, partition, leader, leader_epoch, isr, members, version = match.groups()
    return (
        (
            *(Told.ALTERED, int(node), names.partition(partition), int(leader), int(leader_epoch)),
            *(int(version), _isr(names, isr, members), _NONE, _NONE, _NONE),
        ),
    )


def _leads(match: Match, names: Names) -> Rows:
    node, partition, epoch, offset, version, isr, adding, removing = match.groups()
    assignment = names.assignment_in(None, adding, removing)
    return (
        (
            *(Told.LEADS, int(node), names.partition(partition), int(node), int(epoch)),
            *(_NONE if version is None else int(version), names.isr(isr), assignment, _NONE),
            int(offset),
        ),
    )


def _follows(match: Match, names: Names) -> Rows:
    node, partition, epoch, offset, version, leader = match.groups()
    return (
        (
            *(Told.FOLLOWS, int(node), names.partition(partition)),
            *(_NONE if leader is None else int(leader), int(epoch)),
            *(_NONE if version is None else int(version), _NONE, _NONE, _NONE, int(offset)),
        ),
    )


def _state(match: Match, names: Names) -> Rows:
    # A controller tells its epoch beside its id.
    node, *_ = groups = match.groups()
    topic, number, controller, leader, epoch, isr, version, replicas, adding, removing = groups[
        -10:
    ]
    if int(leader) < -1:  # the topic is being deleted
        return ()
    assignment = names.assignment_in(replicas, adding or b"", removing or b"")
    if adding is None:
        assignment = names.assignment(Assignment(brokers_in(replicas)))
    controller_epoch = int(controller)
    return (
        (
            *(Told.STATE, int(node), names.partition(topic + b"-" + number), int(leader)),
            *(int(epoch), int(version), names.isr(isr), assignment),
            *(controller_epoch if controller_epoch >= 0 else _NONE, _NONE),
        ),
    )


def _isr_updated(match: Match, names: Names) -> Rows:
    partition, node, isr, version = match.groups()
    broker = int(node)
    return (
        (
            *(Told.ISR_UPDATED, broker, names.partition(partition), broker, _NONE, int(version)),
            *(names.isr(isr), _NONE, _NONE, _NONE),
        ),
    )


def _intended(match: Match, names: Names) -> Rows:
    partition, node, verb, _, isr = match.groups()
    broker = int(node)
    kind = Told.SHRINKING if verb == b"Shrinking" else Told.EXPANDING
    return (
        (
            *(kind, broker, names.partition(partition), broker, _NONE, _NONE),
            *(names.isr(isr), _NONE, _NONE, _NONE),
        ),
    )


def _assigned_new(match: Match, names: Names) -> Rows:
    node, _, partition, replicas = match.groups()
    assignment = names.assignment(Assignment(brokers_in(replicas), (), ()))
    return ((Told.ASSIGNED, int(node), names.partition(partition), *_no_state(assignment)),)


def _assigned(match: Match, names: Names) -> Rows:
    node, partition, *lists = match.groups()
    assignment = names.assignment_in(*lists)
    return ((Told.ASSIGNED, int(node), names.partition(partition), *_no_state(assignment)),)


def _no_state(assignment: int) -> tuple[int, int, int, int, int, int, int]:
    return (_NONE, _NONE, _NONE, _NONE, assignment, _NONE, _NONE)


_FIELD = re.compile(rb"(\w+)=(\[[^\]]*\]|[^,)]+)")


def _registration(text: bytes, names: Names) -> tuple[int, int, int, int, int]:
    """Leader, epoch, version, ISR and assignment of a PartitionRegistration."""
    fields = {name: value.strip(b"[]") for name, value in _FIELD.findall(text)}

    def brokers(name: bytes) -> tuple[int, ...] | None:
        return None if name not in fields else brokers_in(fields[name])

    assignment = Assignment(
        brokers(b"replicas"),
        brokers(b"addingReplicas"),
        brokers(b"removingReplicas"),
        brokers(b"elr"),
        brokers(b"lastKnownElr"),
        fields.get(b"leaderRecoveryState", b"RECOVERED") != b"RECOVERED",
    )
    return (
        *(int(fields[b"leader"]), int(fields[b"leaderEpoch"]), int(fields[b"partitionEpoch"])),
        *(names.isr(fields[b"isr"]), names.assignment(assignment)),
    )


def _new_record(match: Match, names: Names) -> Rows:
    node, partition, _, text = match.groups()
    state = _registration(text, names)
    return ((Told.CREATED, int(node), names.partition(partition), *state, _NONE, _NONE),)


def _before(match: Match, names: Names) -> Rows:
    topic_id, number, text = match.groups()
    state = _registration(text, names)
    # The topic has its id here; `topic_names` of the whole gives its name.
    partition = names.partition(b"\0" + topic_id + b"-" + number)
    return ((Told.BEFORE, _NONE, partition, *state, _NONE, _NONE),)


_CHANGE = re.compile(rb"(\w+): (\[[^\]]*\]|[^,\s]+) -> (\[[^\]]*\]|[^,\s]+)")


def _changed_by_quorum(match: Match, names: Names) -> Rows:
    node, unclean, partition, text = match.groups()
    fields = {name: (old, new) for name, old, new in _CHANGE.findall(text)}
    if b"partitionEpoch" not in fields:
        return ()
    number = names.partition(partition)
    rows = []
    for side, kind in ((0, Told.BEFORE), (1, Told.UNCLEAN if unclean else Told.STATE)):
        known = {name: value[side].strip(b"[]") for name, value in fields.items()}

        def integer(name: bytes, known: dict[bytes, bytes] = known) -> int:
            return int(known[name]) if name in known else _NONE

        isr = names.isr(known[b"isr"]) if b"isr" in known else _NONE
        recovery = known.get(b"leaderRecoveryState")
        assignment = Assignment(
            eligible_leaders=brokers_in(known[b"elr"]) if b"elr" in known else None,
            last_known=brokers_in(known[b"lastKnownElr"]) if b"lastKnownElr" in known else None,
            recovering=None if recovery is None else recovery != b"RECOVERED",
        )
        rows.append(
            (
                *(int(kind), int(node), number, integer(b"leader"), integer(b"leaderEpoch")),
                *(integer(b"partitionEpoch"), isr, names.assignment(assignment), _NONE, _NONE),
            )
        )
    return tuple(rows)


def _assigned_by_quorum(match: Match, names: Names) -> Rows:
    node, text, topic = match.groups()
    fields = {name: value.strip(b"[]") for name, value in _FIELD.findall(text)}
    if fields.get(b"replicas", b"null") == b"null" or not fields.get(b"partitionId"):
        return ()

    def brokers(name: bytes) -> tuple[int, ...] | None:
        value = fields.get(name, b"null")
        return None if value == b"null" else brokers_in(value)

    assignment = names.assignment(
        Assignment(brokers(b"replicas"), brokers(b"addingReplicas"), brokers(b"removingReplicas"))
    )
    partition = names.partition(topic + b"-" + fields[b"partitionId"])
    return ((Told.ASSIGNED, int(node), partition, *_no_state(assignment)),)


def _truncated(match: Match, names: Names) -> Rows:
    partition, offset = match.groups()
    none = (_NONE, _NONE, _NONE, _NONE, _NONE, _NONE)
    return ((Told.TRUNCATED, _NONE, names.partition(partition), *none, int(offset)),)


_LISTS = (
    rb"ReplicaAssignment\(replicas=([\d,]*), addingReplicas=([\d,]*), removingReplicas=([\d,]*)\)"
)
_STATE = (
    rb"topicName='([^']*)', partitionIndex=(\d+), controllerEpoch=(-?\d+), leader=(-?\d+),"
    rb" leaderEpoch=(-?\d+), isr=\[([\d, ]*)\], (?:zkVersion|partitionEpoch)=(\d+),"
    rb" replicas=\[([\d, ]*)\](?:, addingReplicas=\[([\d, ]*)\], removingReplicas=\[([\d, ]*)\])?"
)

PARTITION_LINES: tuple[PartitionLine, ...] = (
    # The controller of a cluster with ZooKeeper, in state-change.log.
    _line(
        _CONTROLLER_IN_EPOCH,
        rb"Changed partition (\S+) from (\w+) to OnlinePartition with state ",
        _LEADER_AND_ISR,
        _changed,
    ),
    _line(
        _CONTROLLER_IN_EPOCH,
        rb"Partition (\S+) state changed to ",
        _SHORT_STATE + rb".* as part of transition to OfflineReplica",
        _removed,
    ),
    _line(
        _CONTROLLER_IN_EPOCH,
        rb"Sent LeaderAndIsr request ",
        _SHORT_STATE
        + rb" with new replica assignment "
        + _LISTS
        + rb" to leader -?\d+ for partition being reassigned (\S+)",
        _sent,
    ),
    _line(
        _CONTROLLER_IN_EPOCH,
        rb"Changed partition (\S+) state from NonExistentPartition to NewPartition with assigned",
        rb" replicas ([\d,]+)(?= )",
        _assigned_new,
    ),
    _line(_CONTROLLER_IN_EPOCH, rb"Sending .*?PartitionState\(", _STATE, _state),
    # ... and in controller.log.
    _line(_CONTROLLER, rb"ISR for partition (\S+) updated to ", _LEADER_AND_ISR, _altered),
    _line(
        _CONTROLLER,
        rb"Successfully updated assignment of partition ",
        rb"(\S+) to " + _LISTS,
        _assigned,
    ),
    # Brokers, in state-change.log.
    _line(
        _BROKER,
        rb"Leader ",
        rb"(\S+) (?:with topic id \S+ )?starts at leader epoch (\d+) from"
        rb" offset (\d+) with (?:partition epoch (\d+), )?high watermark \d+,? ISR"
        rb" \[([\d,]*)\],? adding ?[rR]eplicas \[([\d,]*)\](?: and|,)? removing ?[rR]eplicas"
        rb" \[([\d,]*)\]",
        _leads,
    ),
    _line(
        _BROKER,
        rb"Follower ",
        rb"(\S+) (?:with topic id \S+ )?starts at leader epoch (\d+) from"
        rb" offset (\d+) with (?:partition epoch (\d+) and )?high watermark \d+\."
        rb"(?: Current leader is (-?\d+)\.)?",
        _follows,
    ),
    _line(_BROKER, rb"(?:Received|Cached|Skipped) .*?PartitionState\(", _STATE, _state),
    # Leaders, in server.log.
    _line(
        _PARTITION,
        rb"ISR updated to ",
        rb"\[?([\d,]*)\]? +(?:\([\w-]+\) +)?and (?:zkVersion|version) updated to \[?(\d+)[\] ]",
        _isr_updated,
    ),
    _line(
        _PARTITION,
        rb"(Shrinking|Expanding) ISR from ",
        rb"([\d,]*) to ([\d,]*)[. ]",
        _intended,
    ),
    _line(_LOG, rb"Truncating to offset ", rb"(\d+) ", _truncated),
    # The controllers of a quorum, in controller.log.
    _line(
        _QUORUM,
        rb"Replayed PartitionRecord for new partition ",
        rb"(\S+) with topic ID (\S+) and PartitionRegistration\((.*?partitionEpoch=\d+)\)",
        _new_record,
    ),
    _line(
        _QUORUM,
        rb"(?:Replayed )?(UNCLEAN )?partition change for ",
        rb"(\S+) with topic ID [^:\s]+: (.*? -> .*partitionEpoch: \d+ -> \d+(?= ).*)",
        _changed_by_quorum,
    ),
    _line(
        _QUORUM,
        rb"Replayed partition assignment change ",
        rb"PartitionChangeRecord\((.*)\) for topic (\S+)(?= )",
        _assigned_by_quorum,
    ),
    _line(
        b"",
        rb"Setting new leader for topicId ",
        rb"(\S+), partition (\d+) to -?\d+ using an unclean election\. Previous partition:"
        rb" PartitionRegistration\((.*?partitionEpoch=\d+)\)",
        _before,
    ),
)
