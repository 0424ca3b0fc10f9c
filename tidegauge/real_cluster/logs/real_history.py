"""The history of a cluster from its logs: partitions, brokers and controllers, on one clock."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.real_cluster.logs import broker_states, log_events, partition_rows
from tidegauge.real_cluster.logs.broker_states import of_kind
from tidegauge.real_cluster.logs.clock_offsets import ClockOffset, clock_offsets
from tidegauge.real_cluster.logs.log_events import LogEvent
from tidegauge.real_cluster.logs.log_files import FoundLogs, LogsError
from tidegauge.real_cluster.logs.log_reading import ClusterContent, read_logs
from tidegauge.real_cluster.logs.log_window import (
    ALL_OR_LAST_DAY,
    LogWindow,
    brokers_within,
    controllers_within,
    lives_within,
    states_within,
)
from tidegauge.real_cluster.logs.partition_states import (
    Line,
    State,
    earlier_by_brokers,
    joined,
    states_of,
)
from tidegauge.simulation.wall_clock import WallClock

#: More would take more than a gigabyte of memory.
_MOST_LINES = 500_000


class TopicPartition(NamedTuple):
    """A partition."""

    topic: str
    number: int


class AssignmentChange(NamedTuple):
    """An assignment, from the time of the line that has it."""

    time_ms: int
    assignment: partition_rows.Assignment


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
    #: The leader; -1: none, or no line names that of the epoch.
    leader: int
    leader_epoch: int
    #: Unknown below 0.
    version: int
    isr: tuple[int, ...] | None
    log_end_offset: int


class PartitionHistory(NamedTuple):
    """The history of a partition."""

    partition: TopicPartition
    states: list[State]
    assignments: list[AssignmentChange]
    truncations: list[Truncation]
    roles: list[Role]


class RealHistory(NamedTuple):
    """The history of a cluster."""

    found: FoundLogs
    content: ClusterContent
    offsets: list[ClockOffset]
    #: All events on the common clock.
    events: list[LogEvent]
    partitions: list[PartitionHistory]
    brokers: list[broker_states.BrokerChange]
    controllers: list[broker_states.ControllerChange]
    lives: list[broker_states.Life]
    is_kraft: bool
    #: The brokers that are active as the window begins, and have no change that says so.
    active_at_begin: frozenset[int]
    #: From the first line to the last one, on the common clock.
    lines: WallClock
    #: The window that was asked for, and the time that it is.
    window: LogWindow
    span: WallClock

    @property
    def first_ms(self) -> int:
        """The begin of the window."""
        return self.span.first_ms

    @property
    def last_ms(self) -> int:
        """The end of the window."""
        return self.span.last_ms


def real_history(
    found: FoundLogs,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
    meanwhile: Callable[[], None] = lambda: None,
    window: LogWindow = ALL_OR_LAST_DAY,
) -> RealHistory:
    """Read the logs of a cluster, and derive its history.

    Args:
        found: the files.
        progress: called with the bytes that are read, and those of all files.
        meanwhile: called once, while other processes read if there are such.
        window: the part of the time that the history has.

    Raises:
        LogsError: no line is in the window, or it has more changes than a run can hold.
    """
    content = read_logs(found.files, progress, meanwhile)
    nodes = {file.node for file in found.files if file.node is not None}
    offsets = clock_offsets(content, nodes)
    ahead = {each.node: each.offset_ms for each in offsets}
    events = sorted(
        (event.earlier(ahead.get(event.node, 0)) for event in content.events),
        key=lambda event: event.time_ms,
    )
    extents = _extents(content, ahead)
    last_of: dict[int, int] = {}
    for each in extents:
        if each.node is not None:
            last_of[each.node] = max(each.last_ms, last_of.get(each.node, each.last_ms))
    is_kraft = any(
        isinstance(event, _OF_QUORUM) or _is_without_zookeeper(event) for event in events
    )
    lives = broker_states.lives_of(events, last_of)
    brokers = broker_states.broker_changes(events, lives)
    timeout_ms = broker_states.session_timeout_ms(events, is_kraft=is_kraft)
    lives = broker_states.with_deaths(lives, brokers, last_of, timeout_ms)
    lines = WallClock(
        min((each.first_ms for each in extents), default=0),
        max((each.last_ms for each in extents), default=0),
    )
    controllers = broker_states.controllers_of(events)
    names = _named(content.partitions, events)
    rows = _rows_of_partitions(content, ahead, names)
    events_ms = [*(each.time_ms for each in brokers), *(each.time_ms for each in controllers)]
    events_ms += [int(rows["time_ms"].max())] if len(rows) else []
    span = window.span(lines, max(events_ms, default=lines.last_ms))
    fences = brokers if is_kraft else []
    partitions = _partitions(_Rows(rows, names, content), events, fences, lives, span)
    brokers, active = brokers_within(brokers, span)
    return RealHistory(
        found=found,
        # The rows are in the states now; they may be hundreds of megabytes.
        content=content._replace(rows=content.rows[:0]),
        offsets=offsets,
        events=[event for event in events if event.time_ms <= span.last_ms],
        partitions=partitions,
        brokers=brokers,
        controllers=controllers_within(controllers, span),
        lives=lives_within(lives, span),
        is_kraft=is_kraft,
        active_at_begin=active,
        lines=lines,
        window=window,
        span=span,
    )


class _Extent(NamedTuple):
    """The time of the lines of a file, on the common clock."""

    node: int | None
    first_ms: int
    last_ms: int


def _extents(content: ClusterContent, ahead: dict[int, int]) -> list[_Extent]:
    return [
        _Extent(file.node, extent.first_ms - offset_ms, extent.last_ms - offset_ms)
        for file, extent in content.files.items()
        for offset_ms in [ahead.get(file.node or 0, 0)]
        if extent.first_ms >= 0
    ]


def _is_without_zookeeper(event: LogEvent) -> bool:
    """Whether a line names a release that has KRaft only (KIP-833: from 4.0 on)."""
    if not isinstance(event, log_events.KafkaVersion):
        return False
    major = event.release.partition(".")[0]
    return major.isdigit() and int(major) >= _FIRST_WITH_KRAFT_ONLY


_FIRST_WITH_KRAFT_ONLY = 4

#: Only a cluster with KRaft has such events.
_OF_QUORUM = (
    log_events.RegisterBrokerRecord,
    log_events.BrokerRegistrationChangeRecord,
    log_events.QuorumLeader,
    log_events.ActiveController,
    log_events.Incarnation,
)


def _rows_of_partitions(
    content: ClusterContent, ahead: dict[int, int], names: list[TopicPartition | None]
) -> partition_rows.Rows:
    """The lines about partitions with names, on the common clock."""
    rows = content.rows.copy()
    for node, offset in ahead.items():
        if offset:
            rows["time_ms"][rows["node"] == node] -= offset
    if len(rows):
        rows["partition"] = _same_partition(names)[rows["partition"]]
    named: partition_rows.Rows = rows[rows["partition"] >= 0]
    return named


class _Rows(NamedTuple):
    """The lines about partitions, and all that their numbers stand for."""

    rows: partition_rows.Rows
    names: list[TopicPartition | None]
    content: ClusterContent


def _partitions(
    of_partitions: _Rows,
    events: list[LogEvent],
    fences: list[broker_states.BrokerChange],
    lives: list[broker_states.Life],
    span: WallClock,
) -> list[PartitionHistory]:
    rows, names, content = of_partitions
    births, deaths = _topics_lives(events)
    gone, back = _fences(fences)
    rows = rows[rows["time_ms"] <= span.last_ms]
    # Lines of one partition together, in the order of time.
    if not len(rows):
        return []
    roles = _roles(rows, content, events)
    rows = partition_rows.earliest(rows, partition_rows.INTENTS)
    rows = rows[np.lexsort((rows["time_ms"], rows["partition"]))]
    in_window = np.count_nonzero(rows["time_ms"] >= span.first_ms)
    if in_window > _MOST_LINES:
        raise LogsError(
            f"the logs have {in_window:,} changes of partitions, more than the {_MOST_LINES:,} that"
            " a run can hold: read fewer nodes, or a shorter time (--from, --to)"
        )
    found, begins = np.unique(rows["partition"], return_index=True)
    partitions: list[PartitionHistory] = []
    for number, begin, end in zip(
        found.tolist(), begins.tolist(), [*begins[1:].tolist(), len(rows)], strict=True
    ):
        name = names[number]
        assert name is not None
        lines = [_line(row, content) for row in rows[begin:end].tolist()]
        created = births.get(name.topic) or _created_again(lines, deaths.get(name.topic, []))
        states = states_of(lines, created, deaths.get(name.topic, []))
        if fences:
            earlier_by_brokers(states, gone, back)
        history = _partition(name, states, lines, roles.get(number, []))
        within = _partition_within(history, lives, span)
        if within.states:
            partitions.append(within)
    partitions.sort(key=lambda each: each.partition)
    return partitions


def _topics_lives(events: list[LogEvent]) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """The times at which topics were created, as far as their ids show it, and deleted."""
    births: dict[str, list[int]] = defaultdict(list)
    deaths: dict[str, list[int]] = defaultdict(list)
    topic_ids: set[str] = set()
    for event in events:
        if isinstance(event, log_events.TopicRecord) and event.topic_id not in topic_ids:
            topic_ids.add(event.topic_id)
            births[event.topic].append(event.time_ms)
        elif isinstance(event, log_events.TopicDeleted):
            deaths[event.topic].append(event.time_ms)
    return births, deaths


def _fences(
    changes: list[broker_states.BrokerChange],
) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """The times at which each broker was fenced, or began to shut down; and was unfenced."""
    gone: dict[int, list[int]] = defaultdict(list)
    back: dict[int, list[int]] = defaultdict(list)
    for change in changes:
        if change.state in (broker_states.FENCED, broker_states.SHUTTING_DOWN):
            gone[change.broker].append(change.time_ms)
        elif change.state == broker_states.ACTIVE:
            back[change.broker].append(change.time_ms)
    return gone, back


def _roles(
    rows: partition_rows.Rows, content: ClusterContent, events: list[LogEvent]
) -> dict[int, list[Role]]:
    """The roles that brokers took, by the number of the partition.

    A broker that takes the role that it has already adds none, unless it has started again since.
    """
    starts = broker_states.start_times_ms(events)
    if not (rows["kind"] == partition_rows.LineKind.LEADS).any():
        rows = _roles_by_states(rows, content)
    rows = rows[
        np.isin(rows["kind"], (partition_rows.LineKind.LEADS, partition_rows.LineKind.FOLLOWS))
    ]
    rows = rows[np.argsort(rows["time_ms"], kind="stable")]
    roles: dict[int, list[Role]] = defaultdict(list)
    last: dict[tuple[int, int], tuple[int, ...]] = {}
    for row in map(partition_rows.PartitionRow._make, rows.tolist()):
        life = bisect_right(starts[row.node], row.time_ms)
        role = (row.kind, row.leader_epoch, life)
        if last.get((row.partition, row.node)) == role:
            continue
        last[row.partition, row.node] = role
        roles[row.partition].append(
            Role(
                time_ms=row.time_ms,
                broker=row.node,
                leads=row.kind == partition_rows.LineKind.LEADS,
                leader=row.leader,
                leader_epoch=row.leader_epoch,
                version=max(row.version, -1),
                isr=None if row.isr == partition_rows.MISSING else content.isrs[row.isr],
                log_end_offset=row.offset,
            )
        )
    return roles


def _roles_by_states(rows: partition_rows.Rows, content: ClusterContent) -> partition_rows.Rows:
    """Rows of roles, of Kafka 2.5 and before: the states that brokers receive show them."""
    rows = rows[rows["kind"] == partition_rows.LineKind.STATE]
    leads = rows["leader"] == rows["node"]
    rows["kind"] = np.where(leads, partition_rows.LineKind.LEADS, partition_rows.LineKind.FOLLOWS)
    rows["offset"] = -1
    is_replica = [
        node in (content.assignments[assignment].replicas or ())
        for node, assignment in rows[["node", "assignment"]].tolist()
    ]
    kept: partition_rows.Rows = rows[np.array(is_replica, bool)]
    return kept


def _created_again(lines: list[Line], deaths: list[int]) -> list[int]:
    """The times at which ZooKeeper's controller created a partition, after it was deleted."""
    times: list[int] = []
    for line in lines:
        if line.kind == partition_rows.LineKind.CREATED and (
            not times or any(times[-1] <= death <= line.time_ms for death in deaths)
        ):
            times.append(line.time_ms)
    return times


def _named(texts: list[str], events: list[LogEvent]) -> list[TopicPartition | None]:
    """The partitions of texts; None for a topic id without a name, and for another text."""
    topics = {each.topic_id: each.topic for each in of_kind(events, log_events.TopicRecord)}
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


def _line(cells: tuple[int, ...], content: ClusterContent) -> Line:
    row = partition_rows.PartitionRow._make(cells)
    return Line(
        *(row.kind, row.time_ms, row.node, row.leader, row.leader_epoch, row.version),
        None if row.isr == partition_rows.MISSING else content.isrs[row.isr],
        None if row.assignment == partition_rows.MISSING else content.assignments[row.assignment],
        *(row.controller_epoch, row.offset),
    )


def _partition(
    name: TopicPartition, states: list[State], lines: list[Line], roles: list[Role]
) -> PartitionHistory:
    assigned = [
        AssignmentChange(line.time_ms, line.assignment)
        for line in lines
        if line.kind == partition_rows.LineKind.ASSIGNED and line.assignment is not None
    ]
    assigned += [
        AssignmentChange(state.time_ms, state.assignment)
        for state in states
        if state.assignment is not None
    ]
    assigned.sort(key=lambda each: each.time_ms)
    truncations = [
        Truncation(line.time_ms, line.node, line.offset)
        for line in lines
        if line.kind == partition_rows.LineKind.TRUNCATED
    ]
    of_epoch = {state.leader_epoch: state.leader for state in reversed(states)}
    roles = [
        role._replace(leader=of_epoch.get(role.leader_epoch, -1))
        if role.leader == partition_rows.MISSING
        else role
        for role in roles
    ]
    return PartitionHistory(name, states, assigned, truncations, roles)


def _partition_within(
    history: PartitionHistory, lives: list[broker_states.Life], span: WallClock
) -> PartitionHistory:
    """The history of a partition in a window: first its state, assignment and roles at the begin.

    A role ends with the process that has it.
    """
    states = states_within(history.states, span)
    exists = bool(states) and states[0].time_ms < span.first_ms
    ends = [life for life in lives if life.end_ms is not None and life.end_ms < span.first_ms]
    assignment: list[AssignmentChange] = []
    roles: dict[int, Role] = {}
    if exists:
        assignment = [
            each for each in known_assignments(history.assignments) if each.time_ms < span.first_ms
        ][-1:]
        for role in history.roles:
            if role.time_ms < span.first_ms and not any(
                life.node == role.broker and role.time_ms <= (life.end_ms or 0) for life in ends
            ):
                roles[role.broker] = role

    def is_within(time_ms: int) -> bool:
        return span.first_ms <= time_ms <= span.last_ms

    return PartitionHistory(
        history.partition,
        states,
        [*assignment, *(each for each in history.assignments if is_within(each.time_ms))],
        [each for each in history.truncations if is_within(each.time_ms)],
        [*roles.values(), *(each for each in history.roles if is_within(each.time_ms))],
    )


def known_assignments(changes: Iterable[AssignmentChange]) -> Iterator[AssignmentChange]:
    """The whole assignment after each change, as far as lines have it."""
    known = partition_rows.Assignment()
    for time_ms, change in changes:
        if change.replicas is None and change.removing == () and known.removing:
            # Only the leader's line shows that a reassignment is done.
            left = tuple(each for each in known.replicas or () if each not in known.removing)
            change = change._replace(replicas=left or None)  # noqa: PLW2901
        known = joined(change, known) or change
        yield AssignmentChange(time_ms, known)
