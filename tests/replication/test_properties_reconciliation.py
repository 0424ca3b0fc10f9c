"""Whatever elections came before, a follower ends with its leader's log, or it does not.

With KIP-320 it does, unclean elections included, once KAFKA-10706 was mended in 2.6.1; from
2.1 to 2.6.0 it may also get stuck. In all releases before, logs can end up different, and
the tests below find histories that prove it: without them, a model in which logs can never
differ would pass as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from tidegauge.replication.reconciliation import ReplicaLog, reconcile
from tidegauge.replication.releases import rules_of

REPLICAS = 3

ELECT = st.tuples(st.just("elect"), st.integers(0, REPLICAS - 1))
WRITE = st.tuples(st.just("write"), st.integers(1, 3))
FETCH = st.tuples(st.just("fetch"), st.integers(0, REPLICAS - 1))
HISTORIES = st.lists(st.one_of(ELECT, WRITE, FETCH), max_size=40)

#: Any history will do as a proof: to make it shorter takes a hundred times as long as to find it.
FIRST_FOUND = settings(max_examples=2000, phases=[Phase.generate], deadline=None)

History = list[tuple[str, int]]


@dataclass
class Cluster:
    """Replicas of one partition. Anyone may be elected, which makes elections unclean."""

    release: str
    logs: list[ReplicaLog] = field(init=False)
    leader: int = 0
    epoch: int = -1

    def __post_init__(self) -> None:
        rules = rules_of(self.release)
        self.logs = [ReplicaLog.empty(rules) for _ in range(REPLICAS)]
        self.elect(0)

    def elect(self, replica: int) -> None:
        self.leader = replica
        self.epoch += 1
        self.logs[replica].lead(self.epoch)

    def live_through(self, history: History) -> None:
        for event, number in history:
            if event == "elect":
                self.elect(number)
            elif event == "write":
                self.logs[self.leader].append(self.epoch, number)
            elif number != self.leader:
                self.fetch(number)

    def fetch(self, follower: int) -> None:
        """Follow the leader, whose high watermark then covers what both have."""
        leader, log = self.logs[self.leader], self.logs[follower]
        reconcile(leader, log)
        leader.partition.high_watermark = leader.partition.log_end_offset
        log.partition.high_watermark = log.partition.log_end_offset

    def differences(self) -> list[int]:
        """Let everybody follow the leader; where logs differ from its log all the same."""
        differences = []
        for follower in range(REPLICAS):
            if follower != self.leader:
                self.fetch(follower)
                differences.append(self.logs[self.leader].first_difference(self.logs[follower]))
        return [int(offset) for offset in differences if offset != -1]


def diverges(release: str, history: History) -> bool:
    cluster = Cluster(release)
    cluster.live_through(history)
    return cluster.differences() != []


@pytest.mark.parametrize("release", ["2.6.1", "2.7", "2.8", "3.9"])
@settings(max_examples=200, deadline=None)
@given(history=HISTORIES)
def test_logs_end_equal_from_2_6_1_on(release: str, history: History) -> None:
    cluster = Cluster(release)
    cluster.live_through(history)
    assert cluster.differences() == []


@pytest.mark.parametrize("release", ["2.6", "3.9"])
@settings(max_examples=150, deadline=None)
@given(history=HISTORIES)
def test_reconciling_twice_changes_nothing_more(release: str, history: History) -> None:
    cluster = Cluster(release)
    cluster.live_through(history)
    cluster.differences()
    for follower in range(REPLICAS):
        if follower != cluster.leader:
            told = reconcile(cluster.logs[cluster.leader], cluster.logs[follower])
            assert told.removed == 0
            assert told.fetched == 0


def gets_stuck(release: str, history: History) -> bool:
    cluster = Cluster(release)
    cluster.live_through(history)
    return any(
        reconcile(cluster.logs[cluster.leader], log).stuck
        for replica, log in enumerate(cluster.logs)
        if replica != cluster.leader
    )


@pytest.mark.parametrize("release", ["2.1", "2.6.0"])
def test_an_epoch_without_records_can_stop_a_follower_up_to_2_6_0(release: str) -> None:
    """KAFKA-10706: it stays in the cache at the log end, and is asked for again and again."""
    history = find(HISTORIES, lambda history: gets_stuck(release, history), settings=FIRST_FOUND)
    assert not gets_stuck("2.6.1", history)


@settings(max_examples=200, deadline=None)
@given(history=HISTORIES)
def test_no_follower_gets_stuck_from_2_6_1_on(history: History) -> None:
    assert not gets_stuck("2.6.1", history)


@pytest.mark.parametrize("release", ["0.10.2", "1.1", "2.0.0", "2.0.1", "2.1", "2.6.0"])
def test_before_2_6_1_some_history_leaves_logs_unequal(release: str) -> None:
    """KIP-101's second scenario, KIP-279's three fast elections, KAFKA-10706."""
    try:
        history = find(HISTORIES, lambda history: diverges(release, history), settings=FIRST_FOUND)
    except NoSuchExample:
        pytest.fail(f"{release} kept all logs equal: the test above could not fail")
    assert not diverges("2.6.1", history)


@settings(max_examples=300, deadline=None)
@given(history=HISTORIES)
def test_a_follower_never_loses_what_its_leader_has(history: History) -> None:
    """Truncation stops at the first record in which the two logs differ (KIP-279)."""
    cluster = Cluster("2.6")
    cluster.live_through(history)
    for follower in range(REPLICAS):
        if follower == cluster.leader:
            continue
        leader, log = cluster.logs[cluster.leader], cluster.logs[follower]
        before = log.first_difference(leader)
        common = log.partition.log_end_offset if before == -1 else before
        told = reconcile(leader, log)
        assert all(offset >= common for offset in told.truncations)
