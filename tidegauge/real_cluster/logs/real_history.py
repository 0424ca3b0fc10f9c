"""All that the logs of a cluster tell: partitions, brokers, controllers, on one clock."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.real_cluster.logs.broker_states import (
    ACTIVE,
    FENCED,
    SHUTTING_DOWN,
    BrokerChange,
    ControllerChange,
    Life,
    broker_changes,
    controllers_of,
    lives_of,
    session_timeout_ms,
    with_deaths,
)
from tidegauge.real_cluster.logs.clock_offsets import ClockOffset, clock_offsets
from tidegauge.real_cluster.logs.log_files import FoundLogs, LogsError
from tidegauge.real_cluster.logs.log_reading import ClusterTold, read_logs
from tidegauge.real_cluster.logs.partition_rows import (
    UNTOLD,
    Assignment,
    Column,
    Event,
    Told,
    first_told,
)
from tidegauge.real_cluster.logs.partition_states import Line, State, earlier_by_brokers, states_of

#: More would take more than a gigabyte of memory.
_MOST_LINES = 500_000


class TopicPartition(NamedTuple):
    """A partition."""

    topic: str
    number: int


class AssignmentTold(NamedTuple):
    """An assignment, from the time that a line tells it."""

    time_ms: int
    assignment: Assignment


class Truncation(NamedTuple):
    """A replica has taken records off its log."""

    time_ms: int
    broker: int
    offset: int


class Role(NamedTuple):
    """A broker leads a partition, or follows, from a time on."""

    time_ms: int
    broker: int
    leads: bool
    #: The leader; -1: none; None: the line does not name it.
    leader: int | None
    leader_epoch: int
    #: Unknown below 0.
    version: int
    isr: tuple[int, ...] | None
    log_end_offset: int


class PartitionTold(NamedTuple):
    """All that is told of a partition."""

    partition: TopicPartition
    states: list[State]
    assignments: list[AssignmentTold]
    truncations: list[Truncation]
    roles: list[Role]


class RealHistory(NamedTuple):
    """All that the logs of a cluster tell."""

    found: FoundLogs
    told: ClusterTold
    offsets: list[ClockOffset]
    #: All events on the common clock.
    events: list[Event]
    partitions: list[PartitionTold]
    brokers: list[BrokerChange]
    controllers: list[ControllerChange]
    lives: list[Life]
    is_kraft: bool
    #: The first and the last time of any line, on the common clock.
    first_ms: int
    last_ms: int


def real_history(
    found: FoundLogs,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
    meanwhile: Callable[[], None] = lambda: None,
) -> RealHistory:
    """Read the logs of a cluster, and put together what they tell.

    Args:
        found: the files.
        progress: called with the bytes that are read, and those of all files.
        meanwhile: called once, while other processes read if there are such.
    """
    told = read_logs(found.files, progress, meanwhile)
    nodes = {file.node for file in found.files if file.node is not None}
    offsets = clock_offsets(told, nodes)
    ahead = {each.node: each.offset_ms for each in offsets}
    events = sorted(
        (_on_common_clock(event, ahead) for event in told.events), key=lambda event: event.time_ms
    )
    spans = [
        (first - ahead.get(file.node or 0, 0), last - ahead.get(file.node or 0, 0), file.node)
        for file, (_, first, last, _) in told.files.items()
        if first >= 0
    ]
    last_of: dict[int, int] = {}
    for _, last, node in spans:
        if node is not None:
            last_of[node] = max(last, last_of.get(node, last))
    is_kraft = any(
        event.kind in ("register_record", "change_record", "quorum_leader", "active", "incarnation")
        for event in events
    )
    lives = lives_of(events, last_of)
    controllers = controllers_of(events)
    brokers = broker_changes(events, lives)
    timeout_ms = session_timeout_ms(events, is_kraft=is_kraft)
    lives = with_deaths(lives, brokers, last_of, timeout_ms)
    partitions = _partitions(told, ahead, events, brokers if is_kraft else [])
    # The rows are in the states now; they may be hundreds of megabytes.
    told = told._replace(rows=told.rows[:0])
    return RealHistory(
        *(found, told, offsets, events, partitions, brokers, controllers, lives, is_kraft),
        min((first for first, _, _ in spans), default=0),
        max((last for _, last, _ in spans), default=0),
    )


def _on_common_clock(event: Event, ahead: dict[int, int]) -> Event:
    offset = ahead.get(event.teller, 0)
    if not offset:
        return event
    values = event.values
    if event.kind == "starting" and isinstance(values[0], int) and values[0] >= 0:
        values = (values[0] - offset,)
    return event._replace(time_ms=event.time_ms - offset, values=values)


def _partitions(
    told: ClusterTold, ahead: dict[int, int], events: list[Event], fences: list[BrokerChange]
) -> list[PartitionTold]:
    names = _named(told.partitions, events)
    births, deaths = _topics_lives(events)
    gone, back = _fences(fences)
    rows = told.rows.copy()
    for node, offset in ahead.items():
        if offset:
            rows[rows[:, Column.TELLER] == node, Column.TIME_MS] -= offset
    # Lines of one partition together, in the order of time.
    if not len(rows):
        return []
    rows[:, Column.PARTITION] = _same_partition(names)[rows[:, Column.PARTITION]]
    rows = rows[rows[:, Column.PARTITION] >= 0]
    roles = _roles(rows, told, events)
    rows = first_told(rows, (Told.SHRINKING, Told.EXPANDING, Told.TRUNCATED))
    rows = rows[np.lexsort((rows[:, Column.TIME_MS], rows[:, Column.PARTITION]))]
    if len(rows) > _MOST_LINES:
        raise LogsError(
            f"the logs tell of {len(rows):,} changes of partitions, more than the {_MOST_LINES:,}"
            " that a run can hold: read fewer nodes, or a shorter time"
        )
    found, begins = np.unique(rows[:, Column.PARTITION], return_index=True)
    partitions: list[PartitionTold] = []
    for number, begin, end in zip(
        found.tolist(), begins.tolist(), [*begins[1:].tolist(), len(rows)], strict=False
    ):
        name = names[number]
        assert name is not None
        lines = [_line(row, told) for row in rows[begin:end].tolist()]
        created = births.get(name.topic) or _created_again(lines, deaths.get(name.topic, []))
        states = states_of(lines, created, deaths.get(name.topic, []))
        if fences:
            earlier_by_brokers(states, gone, back)
        if states:
            partitions.append(_partition(name, states, lines, roles.get(number, [])))
    partitions.sort(key=lambda each: each.partition)
    return partitions


def _topics_lives(events: list[Event]) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """When topics were created, as far as ids tell it, and deleted."""
    births: dict[str, list[int]] = defaultdict(list)
    deaths: dict[str, list[int]] = defaultdict(list)
    topic_ids: set[object] = set()
    for event in events:
        if event.kind == "topic_record" and event.values[1] not in topic_ids:
            topic_ids.add(event.values[1])
            births[str(event.values[0])].append(event.time_ms)
        elif event.kind == "topic_deleted":
            deaths[str(event.values[0])].append(event.time_ms)
    return births, deaths


def _fences(changes: list[BrokerChange]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """When each broker was fenced, or began to shut down; and when it was unfenced."""
    gone: dict[int, list[int]] = defaultdict(list)
    back: dict[int, list[int]] = defaultdict(list)
    for change in changes:
        if change.state in (FENCED, SHUTTING_DOWN):
            gone[change.broker].append(change.time_ms)
        elif change.state == ACTIVE:
            back[change.broker].append(change.time_ms)
    return gone, back


def _roles(
    rows: NDArray[np.int64], told: ClusterTold, events: list[Event]
) -> dict[int, list[Role]]:
    """The roles that brokers took, by the number of the partition.

    A broker that takes the role that it has already adds none, unless it has started again since.
    """
    starts: dict[int, list[int]] = defaultdict(list)
    for event in events:
        if event.kind == "starting":
            starts[event.teller].append(event.time_ms)
    kinds = rows[:, Column.KIND]
    if not (kinds == Told.LEADS).any():
        # Kafka 2.5 and before tell roles by the states that brokers receive.
        rows = rows[kinds == Told.STATE]
        leads = rows[:, Column.LEADER] == rows[:, Column.TELLER]
        rows[:, Column.KIND] = np.where(leads, Told.LEADS, Told.FOLLOWS)
        rows[:, Column.VALUE] = -1
        rows = rows[
            [
                teller in (told.assignments[assignment].replicas or ())
                for teller, assignment in rows[:, [Column.TELLER, Column.ASSIGNMENT]].tolist()
            ]
        ]
        kinds = rows[:, Column.KIND]
    rows = rows[(kinds == Told.LEADS) | (kinds == Told.FOLLOWS)]
    rows = rows[np.argsort(rows[:, Column.TIME_MS], kind="stable")]
    roles: dict[int, list[Role]] = defaultdict(list)
    last: dict[tuple[int, int], tuple[int, ...]] = {}
    for (
        kind,
        time_ms,
        broker,
        partition,
        leader,
        epoch,
        version,
        isr,
        _,
        _,
        offset,
    ) in rows.tolist():
        life = bisect_right(starts[broker], time_ms)
        role = (kind, epoch, life)
        if last.get((partition, broker)) == role:
            continue
        last[partition, broker] = role
        roles[partition].append(
            Role(
                *(time_ms, broker, kind == Told.LEADS, None if leader == UNTOLD else leader),
                *(epoch, max(version, -1), None if isr == UNTOLD else told.isrs[isr], offset),
            )
        )
    return roles


def _created_again(lines: list[Line], deaths: list[int]) -> list[int]:
    """The times at which ZooKeeper's controller created a partition, after it was deleted."""
    times: list[int] = []
    for line in lines:
        if line.kind == Told.CREATED and (
            not times or any(times[-1] <= death <= line.time_ms for death in deaths)
        ):
            times.append(line.time_ms)
    return times


def _named(texts: list[str], events: list[Event]) -> list[TopicPartition | None]:
    """The partitions of texts; None for a topic id without a name, and for what is none."""
    topics = {
        str(event.values[1]): str(event.values[0])
        for event in events
        if event.kind == "topic_record"
    }
    names: list[TopicPartition | None] = []
    for text in texts:
        topic, _, number = text.rpartition("-")
        known: str | None = topic
        if topic.startswith("\0"):
            known = topics.get(topic[1:])
        is_partition = bool(known) and number.isdigit() and topic != "__cluster_metadata"
        names.append(TopicPartition(str(known), int(number)) if is_partition else None)
    return names


def _same_partition(names: list[TopicPartition | None]) -> NDArray[np.int64]:
    """For each name the first number that is the same partition, -1 for none."""
    first: dict[TopicPartition, int] = {}
    return np.array(
        [
            -1 if name is None else first.setdefault(name, number)
            for number, name in enumerate(names)
        ],
        np.int64,
    )


def _line(row: list[int], told: ClusterTold) -> Line:
    kind, time_ms, teller, _, leader, epoch, version, isr, assignment, controller, value = row
    return Line(
        *(kind, time_ms, teller, leader, epoch, version),
        None if isr == UNTOLD else told.isrs[isr],
        None if assignment == UNTOLD else told.assignments[assignment],
        controller,
        value,
    )


def _partition(
    name: TopicPartition, states: list[State], lines: list[Line], roles: list[Role]
) -> PartitionTold:
    assigned = [
        AssignmentTold(line.time_ms, line.assignment)
        for line in lines
        if line.kind == Told.ASSIGNED and line.assignment is not None
    ]
    assigned += [
        AssignmentTold(state.time_ms, state.assignment)
        for state in states
        if state.assignment is not None
    ]
    assigned.sort(key=lambda each: each.time_ms)
    truncations = [
        Truncation(line.time_ms, line.teller, line.value)
        for line in lines
        if line.kind == Told.TRUNCATED
    ]
    return PartitionTold(name, states, assigned, truncations, roles)
