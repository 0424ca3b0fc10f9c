"""The quorum of a KRaft cluster over time: its leaders by epoch, its voters, the logs of its nodes.

For a controller, each change of its state, of its log and of the voters in force on it is a row;
for a broker, which observes the quorum, a sample of its position is. A voter is known by its key:
the id of a controller with the number of its directory, such as ``3000#1``. A controller whose disk
was replaced has another key, and as long as the old one is a voter, both are nodes of the quorum.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
#: Other voters are in force on a controller, or the leader has committed them.
QUORUM_VOTERS = "quorum_voters"
_ANSWERED = "voter_change_answered"
_FAULT = "fault_began"
_KINDS = frozenset({VOTER_STATE, VOTER_LOG, QUORUM_VOTERS, _FAULT, _SAMPLED, _SNAPSHOT})
_LOSES_DISK = "disk_loss"


class QuorumNode(NamedTuple):
    """A node of the quorum: a controller, or a broker, which observes it."""

    node: int
    #: Its key: ``3000#2``; of a voter of controller.quorum.voters the id alone.
    key: str
    log_end_offset: int
    #: -1: it does not know.
    high_watermark: int
    #: The last time of that, as far as a row shows it.
    time_us: int
    #: The last time at which it had all of the leader's log; None: never.
    caught_up_us: int | None
    #: ``leader``, ``follower``, ``candidate``...; ``observer``: it follows, and is no voter;
    #: ``disk lost``: a voter whose directory is gone.
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
    #: The committed end of the log, as any controller knows.
    high_watermark: int
    #: The end of the leader's log; without a leader the end of the voters' longest one.
    log_end_offset: int
    #: 1: voters may change (KIP-853).
    kraft_version: int
    #: The record of the voters is committed.
    are_voters_committed: bool
    #: The leader first, then the other voters, other controllers, and brokers.
    nodes: list[QuorumNode]

    def lag_of(self, node: QuorumNode) -> int:
        """The number of records that a node lacks."""
        return max(0, self.log_end_offset - node.log_end_offset)

    @property
    def furthest_voter(self) -> QuorumNode | None:
        """The voter whose log is the shortest; None: there is no voter."""
        voters = (node for node in self.nodes if node.is_voter)
        return min(voters, key=lambda node: node.log_end_offset, default=None)


class QuorumTerm(NamedTuple):
    """A controller has led the quorum."""

    epoch: int
    leader: int
    began_us: int
    #: The time at which it left that state, and its next state; None: it leads at the end of the
    #: run.
    ended_us: int | None
    next_state: str | None


class VotersInForce(NamedTuple):
    """Voters that were in the log of a controller."""

    #: The time at which they were first in one.
    time_us: int
    #: Their keys.
    voters: list[str]
    #: The offset of their record; -1: directories were formatted with them, or they are static.
    offset: int
    kraft_version: int
    #: The time of the commit of their record; None: it never was.
    committed_us: int | None


class AnsweredChange(NamedTuple):
    """A request to add, remove or update a voter has been answered."""

    time_us: int
    #: The controller that was asked.
    asked: int
    #: ``add``, ``remove`` or ``update``.
    change: str
    #: The key of the voter.
    voter: str
    error: str
    #: Why it is refused; "none": it is not.
    refusal: str


def id_of_key(key: str) -> int:
    """The id of the controller with this key."""
    return int(key.partition("#")[0])


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


def voters_over_time(run: Run) -> list[VotersInForce]:
    """The voters of the logs of all controllers, in their order; none: they are static.

    Raises:
        TraceError: a trace file is damaged.
    """
    known: dict[tuple[int, tuple[str, ...]], VotersInForce] = {}
    for event in run.events_of(QUORUM_VOTERS):
        voters: list[str] = event.voters
        record = event.voters_offset, tuple(voters)
        if voters and record not in known:
            content = event.time_us, voters, event.voters_offset, event.kraft_version
            # Those at the beginning of the run were committed before.
            known[record] = VotersInForce(*content, None if event.time_us > 0 else 0)
        # Each leader tells once that it is committed.
        if event.voters_committed and known[record].committed_us is None:
            known[record] = known[record]._replace(committed_us=event.time_us)
    return list(known.values())


def answered_changes(run: Run) -> list[AnsweredChange]:
    """The answers to requests to change the voters, in their order.

    Raises:
        TraceError: a trace file is damaged.
    """
    return [
        AnsweredChange(
            event.time_us,
            run.directory.controllers[run.directory.processes[event.row["process"]].number],
            event.voter_change,
            f"{event.server}#{event.voter_directory}",
            event.error,
            event.voter_refusal,
        )
        for event in run.events_of(_ANSWERED)
    ]


class _KnownQuorum:
    """The last rows about each node, by its id."""

    def __init__(self, run: RunFolder) -> None:
        self._directory = run.directory
        self._states: dict[int, TraceEvent] = {}
        self._logs: dict[int, TraceEvent] = {}
        self._ends: dict[int, int] = {}
        self._samples: dict[int, TraceEvent] = {}
        self._starts: dict[int, int] = {}
        self._snapshots: dict[int, int] = {}
        self._voters: dict[int, TraceEvent] = {}
        #: The numbers of controllers' directories, where that is not 1; the last rows about logs
        #: on disks that are lost, by the keys of these.
        self._directories: dict[int, int] = {}
        self._lost_logs: dict[str, TraceEvent | None] = {}
        #: Controllers that have not been started since the loss of their disks.
        self._unstarted: set[int] = set()
        self._caught_up_us: dict[str, int] = {}
        self._leader: int | None = None

    def take(self, event: TraceEvent) -> None:
        """Take the next row."""
        if event.kind == _FAULT:
            self._take_fault(event)
            return
        node = event.broker
        if event.kind == VOTER_STATE:
            self._take_state(event)
        elif event.kind == QUORUM_VOTERS:
            self._voters[node] = event
        elif event.kind == _SNAPSHOT:
            self._starts[node] = event.log_start_offset
            if event.row["snapshot_step"] != codes.CLEANED:
                self._snapshots[node] = event.end_offset
        else:
            self._take_log(event)

    def _take_state(self, event: TraceEvent) -> None:
        self._states[event.broker] = event
        if event.row["voter_state"] != codes.VOTER_STOPPED:
            self._unstarted.discard(event.broker)
        # A sample of a leader no longer holds.
        self._samples.pop(event.broker, None)
        leaders = [
            each for each in self._states.values() if each.row["voter_state"] == codes.LEADER
        ]
        newest = max(leaders, key=lambda state: int(state.quorum_epoch), default=None)
        self._leader = None if newest is None else newest.broker

    def _take_log(self, event: TraceEvent) -> None:
        node, end_offset = event.broker, event.log_end_offset
        before = self._ends.get(node, 0)
        if node == self._leader and end_offset > before:
            for each in self._directory.controllers:
                if self._ends.get(each, 0) >= before:
                    self._caught_up_us[self._key_of(each)] = event.time_us
        self._logs[node] = event
        self._ends[node] = end_offset
        if event.kind == _SAMPLED:
            self._samples[node] = event
        if self._leader is not None and end_offset >= self._ends.get(self._leader, 0):
            self._caught_up_us[self._key_of(node)] = event.time_us

    def _take_fault(self, event: TraceEvent) -> None:
        if event.names.fault_kind(event.row["fault"]) != _LOSES_DISK:
            return
        node = self._directory.controllers[self._directory.processes[event.row["process"]].number]
        self._lost_logs[self._key_of(node)] = self._logs.get(node)
        self._directories[node] = self._directories.get(node, 1) + 1
        self._unstarted.add(node)
        self._starts.pop(node, None)
        self._snapshots.pop(node, None)

    def _key_of(self, node: int) -> str:
        return f"{node}#{self._directories.get(node, 1)}"

    def described(self, time_us: int) -> DescribedQuorum:
        """The quorum, as it is known now."""
        known = self._states.keys() | self._logs.keys()
        in_force = self._voters_in_force()
        controllers = [node for node in self._directory.controllers if node in known]
        voters = [str(node) for node in controllers] if in_force is None else in_force.voters
        nodes = [self._voter(key) for key in voters]
        # The leader knows observers by their fetches: none has come from an unused directory.
        nodes += [
            self._node(node, is_voter=False)
            for node in (*controllers, *self._directory.brokers)
            if node in known - self._unstarted and not {str(node), self._key_of(node)} & {*voters}
        ]
        nodes.sort(key=lambda node: node.node != self._leader or not node.is_running)
        high_watermark = max((self._high_watermark_of(node) for node in controllers), default=-1)
        ends = (node.log_end_offset for node in nodes if node.is_voter)
        log_end_offset = max(ends, default=0) if self._leader is None else nodes[0].log_end_offset
        return DescribedQuorum(
            time_us,
            self._leader,
            max((state.quorum_epoch for state in self._states.values()), default=0),
            high_watermark,
            log_end_offset,
            0 if in_force is None else in_force.kraft_version,
            in_force is None or in_force.voters_offset < high_watermark,
            [self._caught_up_now(node, log_end_offset, time_us) for node in nodes],
        )

    def _voters_in_force(self) -> TraceEvent | None:
        """The voters that count for the leader; without one, the newest of any log."""
        if self._leader is not None:
            return self._voters.get(self._leader)
        return max(self._voters.values(), key=lambda each: int(each.voters_offset), default=None)

    def _high_watermark_of(self, controller: int) -> int:
        log = self._logs.get(controller)
        return -1 if log is None else int(log.high_watermark)

    def _caught_up_now(self, node: QuorumNode, end_offset: int, time_us: int) -> QuorumNode:
        is_now = self._leader is not None and node.log_end_offset >= end_offset
        return node._replace(caught_up_us=time_us) if is_now else node

    def _voter(self, key: str) -> QuorumNode:
        node = id_of_key(key)
        if key in (str(node), self._key_of(node)):
            return self._node(node, is_voter=True)._replace(key=key)
        log = self._lost_logs.get(key)
        return QuorumNode(
            node,
            key,
            0 if log is None else log.log_end_offset,
            -1,
            0 if log is None else log.time_us,
            self._caught_up_us.get(key),
            "disk lost",
            is_voter=True,
            is_running=False,
            log_start_offset=0,
            snapshot_offset=0,
            queue_length=0,
            deferred=0,
        )

    def _node(self, node: int, *, is_voter: bool) -> QuorumNode:
        log, sample = self._logs.get(node), self._samples.get(node)
        state = self._state_of(node)
        if state == "follower" and not is_voter:
            state = "observer"
        return QuorumNode(
            node,
            self._key_of(node),
            0 if log is None else log.log_end_offset,
            -1 if log is None else log.high_watermark,
            0 if log is None else log.time_us,
            self._caught_up_us.get(self._key_of(node)),
            state,
            is_voter,
            state != _STOPPED,
            self._starts.get(node, 0),
            self._snapshots.get(node, 0),
            0 if sample is None else sample.queue_length,
            0 if sample is None else sample.deferred,
        )

    def _state_of(self, node: int) -> str:
        if node not in self._directory.controllers:
            return "observer"
        known = self._states.get(node)
        return _STOPPED if known is None else str(known.voter_state)


_STOPPED = codes.VOTER_STATES[int(codes.VOTER_STOPPED)]


def check_has_quorum(run: RunFolder, view: str) -> None:
    """Check that a run is one of a KRaft cluster.

    Raises:
        TidegaugeError: it has ZooKeeper.
    """
    if not run.directory.controllers:
        raise TidegaugeError(
            f"show {view}: the cluster has no quorum; show zookeeper has its ZooKeeper"
        )
