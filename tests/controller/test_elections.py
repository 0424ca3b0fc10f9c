"""The four election strategies: who leads, and what becomes of the ISR."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replication_stories import leader_and_isr
from tidegauge.controller.partitions.leader_and_isr import (
    ELECTED,
    ELECTED_UNCLEAN,
    NO_LEADER,
    NOBODY_ELECTED,
    controlled_shutdown_partition_leader_election,
    offline_partition_leader_election,
    preferred_replica_partition_leader_election,
    reassign_partition_leader_election,
)
from tidegauge.replication.records import LeaderAndIsr
from tidegauge.replication.replica_list import pack, unpack

STRATEGIES = ["offline", "unclean", "reassign", "preferred", "controlled shutdown"]
EPOCH = 8

some_replicas = st.lists(st.integers(0, 5), unique=True)


@dataclass
class Case:
    """One partition before an election, drawn at random."""

    assignment: list[int]
    isr: list[int]
    live: list[int]
    shutting_down: list[int]

    def elect(self, strategy: str) -> tuple[int, LeaderAndIsr]:
        """The outcome, and the state after it."""
        state = leader_and_isr(NO_LEADER, self.isr, EPOCH, partition_epoch=3)
        assignment, live = pack(self.assignment), pack(self.live)
        if strategy == "reassign":
            return reassign_partition_leader_election(state, assignment, live), state
        if strategy == "preferred":
            return preferred_replica_partition_leader_election(state, assignment, live), state
        if strategy == "controlled shutdown":
            leaving = pack(self.shutting_down)
            return controlled_shutdown_partition_leader_election(
                state, assignment, live, leaving
            ), state
        return offline_partition_leader_election(
            state, assignment, live, strategy == "unclean"
        ), state


cases = st.builds(
    Case,
    assignment=some_replicas.filter(bool),
    isr=some_replicas.filter(bool),
    live=some_replicas,
    shutting_down=some_replicas,
)
any_strategy = st.sampled_from(STRATEGIES)


@settings(deadline=None)
@given(strategy=any_strategy, case=cases)
def test_a_winner_is_live_assigned_and_in_sync_unless_the_election_is_unclean(
    strategy: str, case: Case
) -> None:
    outcome, state = case.elect(strategy)
    if outcome != NOBODY_ELECTED:
        assert state.leader in case.live
        assert state.leader in case.assignment
        assert (state.leader in case.isr) == (outcome == ELECTED)
        assert outcome == ELECTED or strategy == "unclean"


@settings(deadline=None)
@given(strategy=any_strategy, case=cases)
def test_the_leader_epoch_grows_by_one_if_somebody_is_elected_and_else_nothing_changes(
    strategy: str, case: Case
) -> None:
    outcome, state = case.elect(strategy)
    if outcome == NOBODY_ELECTED:
        assert (state.leader, unpack(state.isr)) == (NO_LEADER, case.isr)
    assert state.leader_epoch == EPOCH + (outcome != NOBODY_ELECTED)
    assert state.partition_epoch == 3


@settings(deadline=None)
@given(strategy=any_strategy, case=cases)
def test_the_leader_is_in_the_new_isr_which_keeps_the_stored_order(
    strategy: str, case: Case
) -> None:
    outcome, state = case.elect(strategy)
    isr = unpack(state.isr)
    if outcome == ELECTED:
        assert state.leader in isr
        assert isr == [replica for replica in case.isr if replica in isr]
    elif outcome == ELECTED_UNCLEAN:
        assert isr == [state.leader]


@settings(deadline=None)
@given(strategy=any_strategy, case=cases, order=st.randoms(use_true_random=False))
def test_assignment_order_decides_and_the_order_of_the_isr_never(
    strategy: str, case: Case, order: Random
) -> None:
    outcome, state = case.elect(strategy)
    shuffled = Case(case.assignment, case.isr.copy(), case.live.copy(), case.shutting_down)
    order.shuffle(shuffled.isr)
    order.shuffle(shuffled.live)
    same_outcome, same_state = shuffled.elect(strategy)
    assert (outcome, state.leader) == (same_outcome, same_state.leader)


@settings(deadline=None)
@given(case=cases)
def test_clean_before_unclean(case: Case) -> None:
    """Allowed or not, an unclean election only comes where no member of the ISR is live."""
    clean, state = case.elect("offline")
    if clean == ELECTED:
        allowed, same_state = case.elect("unclean")
        assert allowed == ELECTED
        assert same_state.leader == state.leader
    else:
        assert not set(case.isr) & set(case.live) & set(case.assignment)


@settings(deadline=None)
@given(case=cases)
def test_nobody_moves_to_a_broker_that_is_shutting_down(case: Case) -> None:
    outcome, state = case.elect("controlled shutdown")
    if outcome == ELECTED:
        assert not set(unpack(state.isr)) & set(case.shutting_down)


def test_the_isr_of_an_offline_election_keeps_its_live_part() -> None:
    state = leader_and_isr(NO_LEADER, [4, 1, 3, 2], EPOCH)
    assert (
        offline_partition_leader_election(state, pack([1, 2, 3, 4]), pack([2, 3, 4]), False)
        == ELECTED
    )
    assert state.leader == 2
    assert unpack(state.isr) == [4, 3, 2]


def test_an_unclean_election_picks_the_first_live_replica_not_the_longest_log() -> None:
    """The controller does not know how long the logs are."""
    state = leader_and_isr(NO_LEADER, [1], EPOCH)
    assert (
        offline_partition_leader_election(state, pack([1, 3, 2]), pack([2, 3]), True)
        == ELECTED_UNCLEAN
    )
    assert state.leader == 3
    assert unpack(state.isr) == [3]


@pytest.mark.parametrize("strategy", ["reassign", "preferred"])
def test_a_planned_election_leaves_the_isr_alone(strategy: str) -> None:
    """Even a member that is not live just now: removing it is somebody else's business."""
    outcome, state = Case([2, 1, 3], [1, 2, 3], [1, 2], []).elect(strategy)
    assert outcome == ELECTED
    assert state.leader == 2
    assert unpack(state.isr) == [1, 2, 3]


def test_the_preferred_replica_is_the_head_of_the_assignment_or_nobody() -> None:
    """The next one in line is not second best."""
    assert Case([2, 1], [1], [1, 2], []).elect("preferred")[0] == NOBODY_ELECTED
    assert Case([2, 1], [1, 2], [1], []).elect("preferred")[0] == NOBODY_ELECTED


def test_a_sole_member_of_the_isr_cannot_be_moved_away_from() -> None:
    """Its broker tries controlled.shutdown.max.retries times, then leaves all the same."""
    assert Case([1, 2], [1], [1, 2], [1]).elect("controlled shutdown")[0] == NOBODY_ELECTED


def test_all_who_are_shutting_down_leave_the_isr_at_once() -> None:
    outcome, state = Case([1, 2, 3], [3, 2, 1], [1, 2, 3], [1, 2]).elect("controlled shutdown")
    assert outcome == ELECTED
    assert state.leader == 3
    assert unpack(state.isr) == [3]
