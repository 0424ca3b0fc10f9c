"""Who leaves the ISR, who enters it, and what the gauges count."""

from __future__ import annotations

import pytest

from replication_stories import LAG_MS, Leader
from tidegauge.replication.in_sync_replicas import (
    effective_min_isr,
    is_at_min_isr,
    is_under_min_isr,
    is_under_replicated,
    needs_expand_isr,
)
from tidegauge.replication.replica_list import EMPTY, pack, single

EVERY_RULE = ["0.10.2", "2.0", "2.1", "2.6", "2.8", "3.9"]


@pytest.mark.parametrize("release", EVERY_RULE)
def test_a_follower_that_fetches_on_time_but_never_reaches_the_log_end_is_evicted(
    release: str,
) -> None:
    """A slow follower: it is the offset that it must keep up with, not the clock."""
    leader = Leader(release, replicas=2, records=10)
    for second in range(11):
        leader.appends(10)
        leader.is_fetched_by(1, offset=10 + second)
        leader.waits(1_000)
    assert leader.checks_its_isr() == [1]


@pytest.mark.parametrize("release", EVERY_RULE)
def test_at_exactly_the_lag_time_a_follower_stays(release: str) -> None:
    leader = Leader(release, replicas=2, records=5)
    leader.appends()
    leader.waits(LAG_MS)
    assert leader.checks_its_isr() == []
    leader.waits(1)
    assert leader.checks_its_isr() == [1]


@pytest.mark.parametrize(("release", "evicted"), [("2.0", [1]), ("2.1", []), ("3.9", [])])
def test_an_idle_follower_that_has_everything_is_evicted_up_to_2_0(
    release: str, evicted: list[int]
) -> None:
    """KAFKA-7152: nobody writes, and the follower has stopped fetching."""
    leader = Leader(release, replicas=2, records=5)
    leader.is_fetched_by(1, offset=5)
    leader.waits(100 * LAG_MS)
    assert leader.checks_its_isr() == evicted


def test_from_2_1_the_first_write_after_a_long_silence_costs_the_place() -> None:
    """The lag time is long over, it only did not matter yet."""
    leader = Leader("2.6", replicas=2, records=5)
    leader.is_fetched_by(1, offset=5)
    leader.waits(100 * LAG_MS)
    leader.appends()
    assert leader.checks_its_isr() == [1]


def test_all_who_are_out_of_sync_leave_in_one_change_and_the_others_keep_their_order() -> None:
    leader = Leader("2.6", replicas=5, isr=[3, 0, 4, 1, 2], records=5)
    version = leader.partition.partition_epoch
    leader.appends()
    leader.waits(LAG_MS + 1)
    leader.is_fetched_by(4, offset=6)
    assert leader.checks_its_isr() == [3, 1, 2]
    assert leader.isr == [0, 4]
    assert leader.partition.partition_epoch == version + 1


def test_the_leader_never_leaves_its_own_isr() -> None:
    leader = Leader("2.6", isr=[0], records=5)
    leader.appends()
    leader.waits(100 * LAG_MS)
    assert leader.checks_its_isr() == []


def test_every_member_has_a_full_lag_time_of_grace_after_an_election() -> None:
    """However far behind it is: LCU is set to the moment of the election."""
    leader = Leader("2.6", replicas=2, records=100)
    leader.is_fetched_by(1, offset=0)
    leader.waits(LAG_MS)
    assert leader.checks_its_isr() == []
    leader.waits(1)
    assert leader.checks_its_isr() == [1]


@pytest.mark.parametrize("release", EVERY_RULE)
def test_a_follower_enters_at_the_high_watermark_not_at_the_log_end(release: str) -> None:
    leader = Leader(release, isr=[0, 1], records=5)
    leader.appends(3)
    leader.is_fetched_by(1, offset=6)
    assert leader.high_watermark == 6
    leader.is_fetched_by(2, offset=5)
    assert 2 not in leader.maximal_isr
    leader.is_fetched_by(2, offset=6)
    assert leader.maximal_isr == [0, 1, 2]


def elected_with_a_lagging_high_watermark(release: str) -> Leader:
    """It has 9 records, all committed, but as a follower it has learned of 5 only."""
    leader = Leader(release, isr=[0, 1], records=9)
    leader.partition.high_watermark = 5
    return leader


def test_in_2_0_0_a_follower_without_committed_records_could_enter_the_isr() -> None:
    """KAFKA-7128: elected next, it would lose them."""
    leader = elected_with_a_lagging_high_watermark("2.0.0")
    leader.is_fetched_by(2, offset=5)
    assert leader.isr == [0, 1, 2]


@pytest.mark.parametrize("release", ["2.0.1", "2.1.0", "2.6", "3.9"])
def test_from_2_0_1_on_it_has_to_reach_the_start_of_the_leaders_epoch(release: str) -> None:
    """KAFKA-7128."""
    leader = elected_with_a_lagging_high_watermark(release)
    assert leader.partition.leader_epoch_start_offset == 9
    leader.is_fetched_by(2, offset=8)
    assert leader.maximal_isr == [0, 1]
    leader.is_fetched_by(2, offset=9)
    assert leader.maximal_isr == [0, 1, 2]


def test_only_an_assigned_replica_that_is_not_in_the_isr_enters_it() -> None:
    leader = Leader("2.6", isr=[0, 1], records=5)
    expand = (leader.rules, leader.partition)
    assert needs_expand_isr(*expand, 2, 5, EMPTY)
    assert not needs_expand_isr(*expand, 1, 5, EMPTY)
    leader.partition.replicas = pack([0, 1])
    assert not needs_expand_isr(*expand, 2, 5, EMPTY)


@pytest.mark.parametrize(("release", "isr"), [("3.2", [0, 1, 2]), ("3.3", [0, 1])])
def test_from_3_3_a_follower_whose_broker_is_not_known_as_alive_stays_outside(
    release: str, isr: list[int]
) -> None:
    """KAFKA-13916: it fetches, but the metadata cache of the leader has no such broker."""
    leader = Leader(release, isr=[0, 1], records=5)
    leader.ineligible = single(2)
    leader.is_fetched_by(2, offset=5)
    assert leader.maximal_isr == isr


def test_nobody_enters_or_leaves_while_a_change_is_in_flight() -> None:
    """KIP-497: one change of a partition at a time."""
    leader = Leader("2.8", replicas=4, isr=[0, 1], records=5)
    leader.is_fetched_by(2, offset=5)
    leader.is_fetched_by(3, offset=5)
    assert leader.maximal_isr == [0, 1, 2]
    leader.appends()
    leader.waits(LAG_MS + 1)
    assert leader.checks_its_isr() == []
    leader.is_answered()
    assert leader.checks_its_isr() == [1, 2]


@pytest.mark.parametrize("protocol", ["2.6", None])
def test_a_leader_that_writes_zookeeper_itself_admits_one_after_the_other(
    protocol: str | None,
) -> None:
    """Up to 2.6, and later under an older protocol, the write has succeeded at once."""
    leader = Leader("2.8" if protocol else "2.6", protocol, replicas=4, isr=[0, 1], records=5)
    leader.is_fetched_by(3, offset=5)
    leader.is_fetched_by(2, offset=5)
    assert leader.isr == [0, 1, 3, 2]


@pytest.mark.parametrize(("release", "under_replicated"), [("2.4", True), ("2.5", False)])
def test_replicas_that_a_reassignment_adds_are_not_missing_from_2_5_on(
    release: str, under_replicated: bool
) -> None:
    """KIP-352: two of four replicas are still being copied."""
    leader = Leader(release, replicas=4, isr=[0, 1])
    leader.partition.adding_replicas = pack([2, 3])
    assert is_under_replicated(leader.rules, leader.partition) == under_replicated
    leader.partition.isr = pack([0])
    assert is_under_replicated(leader.rules, leader.partition)


@pytest.mark.parametrize(("release", "effective"), [("3.6", 3), ("3.7", 1)])
def test_a_partition_needs_no_more_replicas_in_sync_than_it_has_from_3_7_on(
    release: str, effective: int
) -> None:
    """KAFKA-15583: min.insync.replicas 3 with one replica made acks=all impossible."""
    leader = Leader(release, replicas=1, min_insync_replicas=3)
    assert effective_min_isr(leader.rules, leader.partition) == effective
    assert is_under_min_isr(leader.rules, leader.partition) == (effective > 1)


@pytest.mark.parametrize(
    ("isr", "under", "at"), [([0], True, False), ([0, 1], False, True), ([0, 1, 2], False, False)]
)
def test_under_and_at_min_isr_exclude_each_other(isr: list[int], under: bool, at: bool) -> None:
    """KIP-427."""
    leader = Leader("2.6", isr=isr, min_insync_replicas=2)
    assert is_under_min_isr(leader.rules, leader.partition) == under
    assert is_at_min_isr(leader.rules, leader.partition) == at


def test_the_gauges_count_the_committed_isr() -> None:
    """A replica that is about to join does not count yet."""
    leader = Leader("2.8", isr=[0], records=5, min_insync_replicas=2)
    leader.is_fetched_by(1, offset=5)
    assert leader.maximal_isr == [0, 1]
    assert is_under_min_isr(leader.rules, leader.partition)
    leader.is_answered()
    assert not is_under_min_isr(leader.rules, leader.partition)
