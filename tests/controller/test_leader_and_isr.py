"""A partition's leader and ISR as the controller changes them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replication_stories import leader_and_isr
from tidegauge.compiled.records import new_record
from tidegauge.controller.partitions.leader_and_isr import (
    NO_LEADER,
    initialize_leader_and_isr,
    remove_replica_from_isr,
)
from tidegauge.replication.records import LeaderAndIsr
from tidegauge.replication.releases import rules_of
from tidegauge.replication.replica_list import EMPTY, pack, unpack


def after_deaths(release: str, *dead: int, unclean: bool = False) -> LeaderAndIsr:
    """Leader 0, ISR [2, 0, 1], epoch 6; then these replicas go offline one after the other."""
    state = leader_and_isr(0, [2, 0, 1], leader_epoch=6, partition_epoch=9)
    for replica in dead:
        remove_replica_from_isr(rules_of(release), state, replica, unclean)
    return state


def test_the_first_live_replica_of_a_new_partition_leads_and_all_live_ones_are_in_sync() -> None:
    state = new_record(LeaderAndIsr)
    assert initialize_leader_and_isr(state, pack([3, 1, 2]), pack([1, 2]))
    assert state.leader == 1
    assert unpack(state.isr) == [1, 2]
    assert state.leader_epoch == state.partition_epoch == 0


def test_a_new_partition_without_a_live_replica_gets_no_state() -> None:
    state = leader_and_isr(7, [7], leader_epoch=7)
    assert not initialize_leader_and_isr(state, pack([3, 1, 2]), pack([0, 4]))
    assert (state.leader, unpack(state.isr), state.leader_epoch) == (7, [7], 7)


def test_the_death_of_a_follower_raises_the_leader_epoch_though_the_leader_stays() -> None:
    state = after_deaths("2.6", 2)
    assert state.leader == 0
    assert unpack(state.isr) == [0, 1]
    assert state.leader_epoch == 7


def test_the_death_of_the_leader_leaves_nobody() -> None:
    """An election follows, or has come before."""
    state = after_deaths("2.6", 0)
    assert state.leader == NO_LEADER
    assert unpack(state.isr) == [2, 1]
    assert state.leader_epoch == 7


def test_a_replica_that_was_not_in_sync_changes_nothing() -> None:
    state = leader_and_isr(0, [0], leader_epoch=6)
    assert not remove_replica_from_isr(rules_of("2.6"), state, 1, unclean_election_enabled=False)
    assert (state.leader, unpack(state.isr), state.leader_epoch) == (0, [0], 6)


@pytest.mark.parametrize(
    ("release", "unclean", "isr"),
    [
        *[("1.0", False, [1]), ("1.0", True, []), ("0.10.2", True, [])],
        *[("1.1", False, [1]), ("1.1", True, [1]), ("3.9", True, [1])],
    ],
)
def test_the_last_member_of_the_isr(release: str, unclean: bool, isr: list[int]) -> None:
    """KAFKA-5642: from 1.1 on it always stays, so that it can lead again with all records."""
    state = after_deaths(release, 2, 0, 1, unclean=unclean)
    assert state.leader == NO_LEADER
    assert unpack(state.isr) == isr
    assert state.leader_epoch == 9


def test_when_all_die_at_once_the_one_handled_last_stays() -> None:
    """So its return alone brings the partition back, although the others had all records too."""
    assert unpack(after_deaths("2.6", 0, 1, 2).isr) == [2]
    assert unpack(after_deaths("2.6", 2, 1, 0).isr) == [0]


@settings(deadline=None)
@given(
    isr=st.permutations(range(5)).flatmap(lambda p: st.integers(1, 5).map(lambda n: p[:n])),
    deaths=st.lists(st.integers(0, 4), max_size=8),
    unclean=st.booleans(),
)
def test_the_isr_only_loses_members_keeps_its_order_and_each_change_is_one_epoch(
    isr: list[int], deaths: list[int], unclean: bool
) -> None:
    state = leader_and_isr(isr[0], isr, leader_epoch=3)
    changes = 0
    for replica in deaths:
        before = unpack(state.isr)
        changed = remove_replica_from_isr(rules_of("2.6"), state, replica, unclean)
        changes += bool(changed)
        assert bool(changed) == (replica in before)
        after = unpack(state.isr)
        assert after == ([r for r in before if r != replica] or before)
        assert state.leader in (NO_LEADER, isr[0])
    assert state.leader_epoch == 3 + changes
    assert state.isr != EMPTY
