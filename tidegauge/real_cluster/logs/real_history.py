"""The history of a cluster from its logs: partitions, brokers and controllers, on one clock."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.real_cluster.logs import broker_states, log_events, partition_rows
from tidegauge.real_cluster.logs.broker_states import of_kind
from tidegauge.real_cluster.logs.clock_offsets import ClockOffset, clock_offsets
from tidegauge.real_cluster.logs.last_cluster import last_cluster
from tidegauge.real_cluster.logs.log_events import LogEvent
from tidegauge.real_cluster.logs.log_files import FoundLogs, LogsError
from tidegauge.real_cluster.logs.log_reading import ClusterContent, read_logs
from tidegauge.real_cluster.logs.log_window import (
    ALL_OR_LAST_DAY,
    LogWindow,
    brokers_within,
    controllers_within,
    ends_before,
    lives_within,
)
from tidegauge.real_cluster.logs.logged_configuration import (
    Configuration,
    ShownByPartitions,
    configuration_of,
)
from tidegauge.real_cluster.logs.partition_history import (
    PartitionHistory,
    Role,
    TopicPartition,
    partition_history,
    partition_within,
)
from tidegauge.real_cluster.logs.partition_states import Line, earlier_by_brokers, states_of
from tidegauge.replication.release_versions import KRAFT_MODE
from tidegauge.simulation.wall_clock import WallClock

#: More would take more than a gigabyte of memory.
_MOST_LINES = 500_000


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
    #: The shortest time from a killed process's last line to the end of its session.
    longest_session_ms: int | None
    configuration: Configuration
    is_kraft: bool
    #: Lines about all that is not as the logs print it, or of another cluster.
    notices: list[str]
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
    """Read the logs of a cluster, and derive its history: of the last one if its id changes.

    Args:
        found: the files.
        progress: called with the bytes that are read, and those of all files.
        meanwhile: called once, while other processes read if there are such.
        window: the part of the time that the history has.

    Raises:
        LogsError: the logs are of two clusters at once, or of a release that is too old; no line is
            in the window, or it has more changes than a run can hold.
    """
    content = read_logs(found.files, progress, meanwhile)
    cluster = last_cluster(content)
    if cluster.begins_ms:
        # Of equal lines about a partition the first is kept: it may be of the cluster before.
        content = read_logs(found.files, progress, since_ms=cluster.begins_ms)
        content = content._replace(events=cluster.events_in(content))
    nodes = {file.node for file in found.files if file.node is not None}
    offsets = clock_offsets(content, nodes)
    ahead = {each.node: each.offset_ms for each in offsets}
    events = sorted(
        (
            event.earlier(offset_ms) if (offset_ms := ahead.get(event.node, 0)) else event
            for event in content.events
        ),
        key=lambda event: event.time_ms,
    )
    spans = [
        (file.node, max(extent.first_ms, begin_ms) - offset_ms, extent.last_ms - offset_ms)
        for file, extent in content.files.items()
        for offset_ms in [ahead.get(file.node or 0, 0)]
        for begin_ms in [cluster.begins_ms.get(file.node or 0, 0)]
        if extent.first_ms >= 0 and extent.last_ms >= begin_ms
    ]
    last_of: dict[int, int] = {}
    for node, _, last_ms in spans:
        if node is not None:
            last_of[node] = max(last_ms, last_of.get(node, last_ms))
    lines = WallClock(
        min((first_ms for _, first_ms, _ in spans), default=0),
        max((last_ms for _, _, last_ms in spans), default=0),
    )
    rows = _rows_of(content, ahead)
    configuration = configuration_of(events, found.files, _shown_by_partitions(rows, content))
    lives = broker_states.lives_of(events, last_of)
    brokers = broker_states.broker_changes(events, lives)
    longest_session_ms = broker_states.longest_session_ms(lives, brokers, last_of)
    lives = broker_states.with_deaths(lives, brokers, last_of, configuration.session_timeout_ms)
    controllers = broker_states.controllers_of(events)
    named = _named_rows(rows, content, events)
    span = window.span(lines, _last_event_ms(named, brokers, controllers) or lines.last_ms)
    # Of all lines nothing is left out: an event before the first of them is an error.
    kept = span._replace(first_ms=0) if span == lines else span
    ends_ms = ends_before(lives, kept)
    partitions = [
        within
        for each in _partitions(named, events, brokers, configuration, span)
        for within in [partition_within(each, ends_ms, kept)]
        if within.states
    ]
    partitions.sort(key=lambda each: each.partition)
    brokers, active = brokers_within(brokers, kept)
    notices = [*found.notices, *cluster.notices, *configuration.notices]
    notices += _assumed(configuration, partitions)
    return RealHistory(
        found=found,
        # The rows are in the states now; they may be hundreds of megabytes.
        content=content._replace(rows=content.rows[:0]),
        offsets=offsets,
        events=[event for event in events if event.time_ms <= span.last_ms],
        partitions=partitions,
        brokers=brokers,
        controllers=controllers_within(controllers, kept),
        lives=lives_within(lives, kept),
        longest_session_ms=longest_session_ms,
        configuration=configuration,
        is_kraft=configuration.mode == KRAFT_MODE,
        notices=notices,
        active_at_begin=active,
        lines=lines,
        window=window,
        span=span,
    )


def _rows_of(content: ClusterContent, ahead: dict[int, int]) -> partition_rows.Rows:
    """The rows of partitions, on the common clock."""
    rows = content.rows.copy()
    for node, offset in ahead.items():
        if offset:
            rows["time_ms"][rows["node"] == node] -= offset
    return rows


def _shown_by_partitions(rows: partition_rows.Rows, content: ClusterContent) -> ShownByPartitions:
    """The parts of partitions' lines that show whether there are eligible leader replicas."""
    isrs = rows["isr"][(rows["leader"] == -1) & (rows["isr"] >= 0)]
    return ShownByPartitions(
        {content.isrs[number] for number in np.unique(isrs).tolist()},
        any(each.eligible_leaders for each in content.assignments),
    )


def _assumed(configuration: Configuration, partitions: list[PartitionHistory]) -> list[str]:
    """The line about eligible leader replicas, if states depend on them and no line shows them."""
    features = configuration.features
    depends = any(
        state.leader < 0 and not state.is_isr_logged for each in partitions for state in each.states
    )
    if features.is_logged or not depends:
        return []
    state = "on" if features.has_eligible_leader_replicas else "off"
    return [f"eligible leader replicas are taken as {state}, as in a new cluster: no line shows it"]


class _NamedRows(NamedTuple):
    """The lines about partitions that have names, and all that their numbers stand for."""

    rows: partition_rows.Rows
    names: list[TopicPartition | None]
    content: ClusterContent


def _named_rows(
    rows: partition_rows.Rows, content: ClusterContent, events: list[LogEvent]
) -> _NamedRows:
    names = _named(content.partitions, events)
    if len(rows):
        rows["partition"] = _same_partition(names)[rows["partition"]]
    return _NamedRows(rows[rows["partition"] >= 0], names, content)


def _last_event_ms(
    named: _NamedRows,
    brokers: list[broker_states.BrokerChange],
    controllers: list[broker_states.ControllerChange],
) -> int:
    """The time of the last event; 0: there is none."""
    times_ms = [*(each.time_ms for each in brokers), *(each.time_ms for each in controllers)]
    return max([*times_ms, int(named.rows["time_ms"].max(initial=0))])


def _partitions(
    named: _NamedRows,
    events: list[LogEvent],
    brokers: list[broker_states.BrokerChange],
    configuration: Configuration,
    span: WallClock,
) -> Iterator[PartitionHistory]:
    """The history of each partition up to the end of a window."""
    rows, names, content = named
    births, deaths = _topics_lives(events)
    has_elr = configuration.features.has_eligible_leader_replicas
    fences = brokers if configuration.mode == KRAFT_MODE else []
    gone, back = _fences(fences)
    rows = rows[rows["time_ms"] <= span.last_ms]
    # Lines of one partition together, in the order of time.
    if not len(rows):
        return
    roles = _roles(rows, content, events)
    rows = partition_rows.earliest(rows, partition_rows.INTENTS)
    rows = rows[np.lexsort((rows["time_ms"], rows["partition"]))]
    changes = np.count_nonzero(rows["time_ms"] >= span.first_ms)
    if changes > _MOST_LINES:
        raise LogsError(
            f"the logs have {changes:,} changes of partitions, more than the {_MOST_LINES:,} that"
            " a run can hold: read fewer nodes, or a shorter time (--from, --to)"
        )
    found, begins = np.unique(rows["partition"], return_index=True)
    for number, begin, end in zip(
        found.tolist(), begins.tolist(), [*begins[1:].tolist(), len(rows)], strict=True
    ):
        name = names[number]
        assert name is not None
        lines = [_line(row, content) for row in rows[begin:end].tolist()]
        created = births.get(name.topic) or _created_again(lines, deaths.get(name.topic, []))
        states = states_of(lines, created, deaths.get(name.topic, []), has_elr=has_elr)
        if fences:
            earlier_by_brokers(states, gone, back, has_elr=has_elr)
        yield partition_history(name, states, lines, roles.get(number, []))


def _topics_lives(events: list[LogEvent]) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """The times at which topics were created, as far as their ids show it, and deleted.

    Another id of the same name is another topic, so the one before was deleted.
    """
    births: dict[str, list[int]] = defaultdict(list)
    deaths: dict[str, list[int]] = defaultdict(list)
    topic_ids: set[str] = set()
    for event in events:
        if isinstance(event, log_events.TopicDeleted):
            deaths[event.topic].append(event.time_ms)
        elif (
            isinstance(event, log_events.TopicRecord | log_events.TopicIdLearned)
            and event.topic_id not in topic_ids
        ):
            topic_ids.add(event.topic_id)
            born, died = births[event.topic], deaths[event.topic]
            if born and not any(time_ms >= born[-1] for time_ms in died):
                died.append(event.time_ms)
            born.append(event.time_ms)
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
