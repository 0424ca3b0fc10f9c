"""The quorum of a KRaft cluster over time: its leaders by epoch, and the logs of its nodes.

For a controller, each change of its state and of its log is a row; for a broker, which observes the
quorum, a sample of its position is.

The metadata log is known as far as rows have it. The rows of the cluster's state are written as a
batch is committed, so they are its records, in their order: a state of a partition together with
its replicas is one, of a broker, of the settings of a topic. Records are named as ``kafka-dump-log
--cluster-metadata-decoder`` names them. NoOp records, features and offsets of records are no rows.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.runs.run import Run
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.simulation.trace_rows import codes
from tidegauge.traces.run_folder import RunFolder

VOTER_STATE = "voter_state"
_SAMPLED = "metadata_sampled"
_SNAPSHOT = "metadata_snapshot"
#: Another end of a controller's metadata log, or another high watermark.
VOTER_LOG = "voter_log"
_KINDS = frozenset({VOTER_STATE, VOTER_LOG, _SAMPLED, _SNAPSHOT})


class QuorumNode(NamedTuple):
    """A node of the quorum: a controller, or a broker, which observes it."""

    node: int
    log_end_offset: int
    #: -1: it does not know.
    high_watermark: int
    #: The last time of that, as far as a row shows it.
    time_us: int
    #: ``leader``, ``follower``, ``candidate``...; ``observer``: a broker.
    state: str
    is_voter: bool
    is_running: bool
    #: The start of its log, and the end of its newest snapshot; 0: it has none.
    log_start_offset: int
    snapshot_offset: int
    #: At the last sample of the active controller: events in its queue, responses that wait for a
    #: commit.
    queue_length: int
    deferred: int


class DescribedQuorum(NamedTuple):
    """The quorum at a time."""

    time_us: int
    #: Node id of the leader of the newest epoch that has one; None: there is none.
    leader: int | None
    #: The newest epoch of any controller.
    epoch: int
    #: The leader first, then the other controllers, then the brokers.
    nodes: list[QuorumNode]

    @property
    def log_end_offset(self) -> int:
        """The end of the leader's log; without a leader the end of the longest one."""
        ends = [node.log_end_offset for node in self.nodes if node.is_voter]
        return ends[0] if self.leader is not None else max(ends, default=0)

    @property
    def high_watermark(self) -> int:
        """The committed end of the log, as any controller knows."""
        return max((node.high_watermark for node in self.nodes if node.is_voter), default=-1)

    def lag_of(self, node: QuorumNode) -> int:
        """The number of records that a node lacks."""
        return max(0, self.log_end_offset - node.log_end_offset)


class QuorumTerm(NamedTuple):
    """A controller has led the quorum."""

    epoch: int
    leader: int
    began_us: int
    #: The time at which it left that state, and its next state; None: it leads at the end of the
    #: run.
    ended_us: int | None
    next_state: str | None


def described_quorum(run: Run, at_us: int | None = None) -> DescribedQuorum | None:
    """The quorum at a time (by default the end of the run); None: nothing is known of it yet.

    Raises:
        TraceError: a trace file is damaged.
    """
    end_us = run.end_us if at_us is None else at_us
    (quorum,) = quorum_over_time(run, [end_us])
    return quorum if any(node.is_voter for node in quorum.nodes) else None


def quorum_over_time(run: Run, times_us: Sequence[int]) -> Iterator[DescribedQuorum]:
    """The quorum at each of these times, which are in order.

    Raises:
        TraceError: a trace file is damaged.
    """
    known = _KnownQuorum(run)
    events = run.events_of(*_KINDS)
    event = next(events, None)
    for time_us in times_us:
        while event is not None and event.time_us <= time_us:
            known.take(event)
            event = next(events, None)
        yield known.described(time_us)


def quorum_terms(run: Run) -> list[QuorumTerm]:
    """Each time that a controller has led the quorum, in order.

    Raises:
        TraceError: a trace file is damaged.
    """
    terms: list[QuorumTerm] = []
    leading: dict[int, int] = {}
    for event in run.events_of(VOTER_STATE):
        place = leading.pop(event.broker, None)
        if place is not None:
            ended = {"ended_us": event.time_us, "next_state": event.voter_state}
            terms[place] = terms[place]._replace(**ended)
        if event.row["voter_state"] == codes.LEADER:
            leading[event.broker] = len(terms)
            terms.append(QuorumTerm(event.quorum_epoch, event.broker, event.time_us, None, None))
    return terms


class _KnownQuorum:
    """The last rows about each node, by its id."""

    def __init__(self, run: RunFolder) -> None:
        self._voters, self._brokers = run.directory.controllers, run.directory.brokers
        self._states: dict[int, TraceEvent] = {}
        self._logs: dict[int, TraceEvent] = {}
        self._samples: dict[int, TraceEvent] = {}
        self._starts: dict[int, int] = {}
        self._snapshots: dict[int, int] = {}

    def take(self, event: TraceEvent) -> None:
        """Take the next row."""
        node = event.broker
        if event.kind == VOTER_STATE:
            self._states[node] = event
            # A sample of a leader no longer holds.
            self._samples.pop(node, None)
        elif event.kind == _SNAPSHOT:
            self._starts[node] = event.log_start_offset
            if event.row["snapshot_step"] != codes.CLEANED:
                self._snapshots[node] = event.end_offset
        else:
            self._logs[node] = event
            if event.kind == _SAMPLED:
                self._samples[node] = event

    def described(self, time_us: int) -> DescribedQuorum:
        """The quorum, as it is known now."""
        epoch = max((state.quorum_epoch for state in self._states.values()), default=0)
        leaders = [
            each for each in self._states.values() if each.row["voter_state"] == codes.LEADER
        ]
        newest = max(leaders, key=lambda state: int(state.quorum_epoch), default=None)
        leader = None if newest is None else newest.broker
        known = self._states.keys() | self._logs.keys()
        voters = sorted(self._voters, key=lambda node: node != leader)
        nodes = [self._node(node) for node in (*voters, *self._brokers) if node in known]
        return DescribedQuorum(time_us, leader, epoch, nodes)

    def _node(self, node: int) -> QuorumNode:
        log, sample, state = (
            known.get(node) for known in (self._logs, self._samples, self._states)
        )
        is_voter = node in self._voters
        stopped = codes.VOTER_STATES[int(codes.VOTER_STOPPED)]
        words = "observer"
        if is_voter:
            words = stopped if state is None else state.voter_state
        return QuorumNode(
            node,
            0 if log is None else log.log_end_offset,
            -1 if log is None else log.high_watermark,
            0 if log is None else log.time_us,
            words,
            is_voter,
            words != stopped,
            self._starts.get(node, 0),
            self._snapshots.get(node, 0),
            0 if sample is None else sample.queue_length,
            0 if sample is None else sample.deferred,
        )


_RECORDED = ("partition_state", "partition_replicas", "broker_state", "topic_configured")

#: The fields of a PARTITION_CHANGE_RECORD that are there only if they have changed.
_CHANGED = (
    *("isr", "leader", "replicas", "removingReplicas", "addingReplicas"),
    *("leaderRecoveryState", "eligibleLeaderReplicas", "lastKnownElr"),
)


class NamedRecord(NamedTuple):
    """A record that was committed."""

    time_us: int
    #: Such as ``PARTITION_CHANGE_RECORD``.
    name: str
    data: dict[str, Any]


def check_has_quorum(run: RunFolder, view: str) -> None:
    """Check that a run is one of a KRaft cluster.

    Raises:
        TidegaugeError: it has ZooKeeper.
    """
    if not run.directory.controllers:
        raise TidegaugeError(
            f"show {view}: the cluster has no quorum; show zookeeper has its ZooKeeper"
        )


def metadata_records(run: Run) -> Iterator[NamedRecord]:
    """All records that were committed, in their order.

    Raises:
        TraceError: a trace file is damaged.
    """
    known: dict[str, dict[str, Any]] = {}
    created: set[str] = set()
    events = list(run.events_of(*_RECORDED))
    for event, behind in zip(events, [*events[1:], None], strict=True):
        if event.kind == "partition_state":
            yield from _partition(event, behind, known, created)
        elif event.kind == "broker_state":
            yield _broker(event)
        elif event.kind == "topic_configured":
            yield from _configs(event)


def _partition(
    event: TraceEvent,
    behind: TraceEvent | None,
    known: dict[str, dict[str, Any]],
    created: set[str],
) -> Iterator[NamedRecord]:
    name, time_us = str(event.partition), event.time_us
    topic, partition = event.names.topic_and_partition(event.row["partition"])
    place = {"partitionId": partition, "topicId": topic}
    if event.row["change"] == codes.STATE_DELETED:
        if topic in created:
            created.discard(topic)
            yield NamedRecord(time_us, "REMOVE_TOPIC_RECORD", {"topicId": topic})
        known.pop(name, None)
        return
    before = known.get(name, {})
    now = before | {"isr": event.isr, "leader": -1 if event.leader is None else event.leader}
    if behind is not None and (behind.kind, behind.partition) == ("partition_replicas", name):
        now |= _replicas(behind)
    known[name] = now
    if event.row["change"] == codes.STATE_CREATED:
        if topic not in created:
            created.add(topic)
            yield NamedRecord(time_us, "TOPIC_RECORD", {"name": topic, "topicId": topic})
        epochs = {"leaderEpoch": event.leader_epoch, "partitionEpoch": event.partition_epoch}
        yield NamedRecord(time_us, "PARTITION_RECORD", place | now | epochs)
        return
    changed = {field: now[field] for field in _CHANGED if now.get(field) != before.get(field)}
    yield NamedRecord(time_us, "PARTITION_CHANGE_RECORD", place | changed)


def _replicas(event: TraceEvent) -> dict[str, Any]:
    last = event.last_known_leader
    return {
        "replicas": event.replicas,
        "removingReplicas": event.removing,
        "addingReplicas": event.adding,
        "leaderRecoveryState": int(event.recovering),
        "eligibleLeaderReplicas": event.eligible_leaders,
        "lastKnownElr": [] if last is None else [last],
    }


def _broker(event: TraceEvent) -> NamedRecord:
    broker = {"brokerId": event.broker, "brokerEpoch": event.broker_epoch}
    if event.row["state_reason"] == codes.BROKER_REGISTERS:
        return NamedRecord(event.time_us, "REGISTER_BROKER_RECORD", broker | {"fenced": True})
    data = broker | {"state": event.state}
    return NamedRecord(event.time_us, "BROKER_REGISTRATION_CHANGE_RECORD", data)


def _configs(event: TraceEvent) -> Iterator[NamedRecord]:
    values = {
        "min.insync.replicas": event.min_insync_replicas,
        "unclean.leader.election.enable": event.unclean_enabled,
    }
    for name, value in values.items():
        data = {"resourceName": event.topic, "name": name, "value": value}
        yield NamedRecord(event.time_us, "CONFIG_RECORD", data)
