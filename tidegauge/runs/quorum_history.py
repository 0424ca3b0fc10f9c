"""The controllers of a KRaft cluster over time: who leads in which epoch, who has how much.

Of a controller each change of its state and of its log is a row; of a broker, which observes the
quorum, a sample of what it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tidegauge.simulation.trace_rows.codes import CLEANED, LEADER, VOTER_STATES, VOTER_STOPPED
from tidegauge.traces.run_folder import RunFolder, TraceRow

_STATE = "voter_state"
_SAMPLED = "metadata_sampled"
_SNAPSHOT = "metadata_snapshot"
#: Another end of a controller's metadata log, or another high watermark.
VOTER_LOG = "voter_log"
_KINDS = frozenset({_STATE, VOTER_LOG, _SAMPLED, _SNAPSHOT})


class QuorumNode(NamedTuple):
    """A node of the quorum: a controller, or a broker, which observes it."""

    node: int
    log_end_offset: int
    #: -1: it does not know.
    high_watermark: int
    #: When that was so last, as far as a row says.
    time_us: int
    #: ``leader``, ``follower``, ``candidate``...; ``observer``: a broker.
    state: str
    is_voter: bool
    is_running: bool
    #: Where its log begins, and the end of its newest snapshot; 0: it has none.
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
        """How far the log is committed, as any controller knows."""
        return max((node.high_watermark for node in self.nodes if node.is_voter), default=-1)

    def lag_of(self, node: QuorumNode) -> int:
        """How many records a node lacks."""
        return max(0, self.log_end_offset - node.log_end_offset)


class QuorumTerm(NamedTuple):
    """A controller has led the quorum."""

    epoch: int
    leader: int
    began_us: int
    #: When it left that state, and for which; None: it leads at the end of the run.
    ended_us: int | None
    next_state: str | None


def described_quorum(run: RunFolder, at_us: int | None = None) -> DescribedQuorum | None:
    """The quorum at a time (by default the end of the run); None: nothing is known of it yet.

    Raises:
        TraceError: a trace file is damaged.
    """
    end_us = run.end_us if at_us is None else at_us
    (quorum,) = quorum_over_time(run, [end_us])
    return quorum if any(node.is_voter for node in quorum.nodes) else None


def quorum_over_time(run: RunFolder, times_us: Sequence[int]) -> Iterator[DescribedQuorum]:
    """The quorum at each of these times, which are in order.

    Raises:
        TraceError: a trace file is damaged.
    """
    known = _KnownQuorum(run)
    rows = run.all_rows(wanted=lambda kind: kind.name in _KINDS)
    row = next(rows, None)
    for time_us in times_us:
        while row is not None and row["time_us"] <= time_us:
            known.take(row)
            row = next(rows, None)
        yield known.described(time_us)


def quorum_terms(run: RunFolder) -> list[QuorumTerm]:
    """Each time that a controller has led the quorum, in order.

    Raises:
        TraceError: a trace file is damaged.
    """
    terms: list[QuorumTerm] = []
    leading: dict[int, int] = {}
    for row in run.all_rows(wanted=lambda kind: kind.name == _STATE):
        broker, time_us = row["broker"], row["time_us"]
        place = leading.pop(broker, None)
        if place is not None:
            state = VOTER_STATES[row["voter_state"]]
            terms[place] = terms[place]._replace(ended_us=time_us, next_state=state)
        if row["voter_state"] == LEADER:
            leading[broker] = len(terms)
            leader = run.directory.member_id(broker) or 0
            terms.append(QuorumTerm(row["quorum_epoch"], leader, time_us, None, None))
    return terms


class _KnownQuorum:
    """What rows have said of each node so far, by its number."""

    def __init__(self, run: RunFolder) -> None:
        self._names = run.directory
        self._states: dict[int, TraceRow] = {}
        self._logs: dict[int, TraceRow] = {}
        self._samples: dict[int, TraceRow] = {}
        self._starts: dict[int, int] = {}
        self._snapshots: dict[int, int] = {}

    def take(self, row: TraceRow) -> None:
        """Take the next row."""
        number = row["broker"]
        if row.kind == _STATE:
            self._states[number] = row
            # What was sampled of a leader is over with that.
            self._samples.pop(number, None)
        elif row.kind == _SNAPSHOT:
            self._starts[number] = row["log_start_offset"]
            if row["snapshot_step"] != CLEANED:
                self._snapshots[number] = row["end_offset"]
        else:
            self._logs[number] = row
            if row.kind == _SAMPLED:
                self._samples[number] = row

    def described(self, time_us: int) -> DescribedQuorum:
        """The quorum, as it is known now."""
        epoch = max((row["quorum_epoch"] for row in self._states.values()), default=0)
        leaders = [row for row in self._states.values() if row["voter_state"] == LEADER]
        newest = max(leaders, key=lambda row: int(row["quorum_epoch"]), default=None)
        leader = None if newest is None else newest["broker"]
        numbers = sorted({*self._states, *self._logs})
        voters = [number for number in numbers if number >= len(self._names.brokers)]
        brokers = [number for number in numbers if number < len(self._names.brokers)]
        voters.sort(key=lambda number: (number != leader, number))
        nodes = [self._node(number) for number in (*voters, *brokers)]
        return DescribedQuorum(
            time_us,
            None if leader is None else self._names.member_id(leader),
            epoch,
            nodes,
        )

    def _node(self, number: int) -> QuorumNode:
        log = self._logs.get(number)
        sample = self._samples.get(number)
        state = self._states.get(number)
        is_voter = number >= len(self._names.brokers)
        words = "observer"
        if is_voter:
            words = VOTER_STATES[int(VOTER_STOPPED) if state is None else state["voter_state"]]
        return QuorumNode(
            self._names.member_id(number) or 0,
            0 if log is None else log["log_end_offset"],
            -1 if log is None else log["high_watermark"],
            0 if log is None else log["time_us"],
            words,
            is_voter,
            words != VOTER_STATES[int(VOTER_STOPPED)],
            self._starts.get(number, 0),
            self._snapshots.get(number, 0),
            0 if sample is None else sample["queue_length"],
            0 if sample is None else sample["deferred"],
        )
