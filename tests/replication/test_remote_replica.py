"""What a leader knows of its followers: when one counts as caught up, and what resets that."""

from __future__ import annotations

import pytest

from replication_stories import LAG_MS, Leader, with_fields
from tidegauge.compiled.records import new_record
from tidegauge.replication.records import RemoteReplica
from tidegauge.replication.releases import rules_of
from tidegauge.replication.remote_replica import (
    counts_fetch,
    initialize_follower,
    is_caught_up,
    is_within_lag_time,
    reset_replica_state,
    update_after_failed_read,
    update_fetch_state,
)

UNKNOWN = -1


def test_the_fetch_offset_is_the_followers_log_end_offset() -> None:
    """By asking for offset 4 it says that it has 0 to 3; it may also say less than before."""
    leader = Leader("2.6", records=7)
    leader.is_fetched_by(1, offset=4, log_start_offset=2)
    assert leader.followers[1].log_end_offset == 4
    assert leader.followers[1].log_start_offset == 2
    leader.is_fetched_by(1, offset=3)
    assert leader.followers[1].log_end_offset == 3


@pytest.mark.parametrize("release", ["0.10.2", "2.3", "2.6", "3.2", "3.3", "3.9"])
def test_a_follower_of_a_busy_leader_is_caught_up_as_of_its_previous_fetch(release: str) -> None:
    """KAFKA-4485: it never reaches the log end, but what that was half a second ago."""
    leader = Leader(release, records=10)
    follower = leader.followers[1]
    for _ in range(20):
        end_at_this_fetch = leader.partition.log_end_offset
        leader.appends(3)
        leader.is_fetched_by(1, offset=end_at_this_fetch)
        leader.waits(500)
    assert follower.log_end_offset < leader.partition.log_end_offset
    assert leader.now_ms - follower.last_caught_up_time_ms == 1_000


def test_a_follower_one_record_short_of_that_is_not_caught_up() -> None:
    leader = Leader("2.6", records=10)
    caught_up_ms = leader.followers[1].last_caught_up_time_ms
    for _ in range(20):
        end_before = leader.partition.log_end_offset
        leader.appends(3)
        leader.is_fetched_by(1, offset=end_before - 1)
        leader.waits(500)
    assert leader.followers[1].last_caught_up_time_ms == caught_up_ms


def test_the_caught_up_time_never_goes_back() -> None:
    """A fetch that only reaches the previous log end does not undo one that reached it all."""
    leader = Leader("2.6", records=10)
    leader.waits(100)
    leader.is_fetched_by(1, offset=10)
    caught_up_ms = leader.followers[1].last_caught_up_time_ms
    leader.followers[1].last_fetch_time_ms -= 50
    leader.appends()
    leader.is_fetched_by(1, offset=10)
    assert leader.followers[1].last_caught_up_time_ms == caught_up_ms == leader.now_ms


def test_a_failed_read_makes_the_follower_unknown_up_to_2_3() -> None:
    """KAFKA-8400: OFFSET_OUT_OF_RANGE set its log end offset to -1, which stops the HW."""
    leader = Leader("2.3", isr=[0, 1], records=5)
    leader.is_fetched_by(1, offset=5)
    leader.appends()
    update_after_failed_read(leader.rules, leader.followers[1])
    assert leader.followers[1].log_end_offset == UNKNOWN
    assert not leader.attempt_high_watermark()
    leader.is_fetched_by(1, offset=6)
    assert leader.high_watermark == 6


def test_a_failed_read_leaves_the_caught_up_time_alone() -> None:
    """KAFKA-8400: even so, the follower is not evicted before its lag time has passed."""
    leader = Leader("2.3", records=5)
    leader.is_fetched_by(1, offset=5)
    update_after_failed_read(leader.rules, leader.followers[1])
    assert leader.followers[1].last_caught_up_time_ms == leader.now_ms


def test_a_failed_read_does_not_count_from_2_4_on() -> None:
    """KAFKA-8400."""
    leader = Leader("2.4", records=5)
    leader.is_fetched_by(1, offset=5)
    update_after_failed_read(leader.rules, leader.followers[1])
    assert leader.followers[1].log_end_offset == 5


@pytest.mark.parametrize(("release", "last_fetch_time_ms"), [("2.3", -1), ("2.4", 0), ("3.9", 0)])
def test_a_new_leader_knows_nothing_of_its_followers(release: str, last_fetch_time_ms: int) -> None:
    leader = Leader(release, records=5)
    follower = leader.followers[1]
    assert follower.log_end_offset == UNKNOWN
    assert follower.log_start_offset == UNKNOWN
    assert follower.last_fetch_leader_log_end_offset == UNKNOWN
    assert follower.last_fetch_time_ms == last_fetch_time_ms


@pytest.mark.parametrize("release", ["0.10.2", "2.6", "3.9"])
def test_the_first_fetch_from_a_new_leader_does_not_date_back_to_the_unknown(release: str) -> None:
    """Any offset reaches the unknown "previous" log end, but that was no fetch with a time."""
    leader = Leader(release, isr=[0], records=5)
    leader.is_fetched_by(1, offset=0)
    assert leader.followers[1].last_caught_up_time_ms == 0


@pytest.mark.parametrize(("release", "last_fetch_is_now"), [("3.2", True), ("3.3", False)])
def test_re_election_can_date_the_last_fetch_of_a_follower_that_is_not_in_sync(
    release: str, last_fetch_is_now: bool
) -> None:
    """Up to 3.2 its next fetch counted as of the re-election, though it had fetched nothing.

    KAFKA-13790: from 3.3 on it is not brought back before it has fetched.
    """
    leader = Leader(release, isr=[0], records=5)
    leader.is_fetched_by(1, offset=2)
    leader.waits(500)
    leader.is_elected([0])
    assert (leader.followers[1].last_fetch_time_ms == leader.now_ms) == last_fetch_is_now
    assert leader.followers[1].log_end_offset == 2
    assert leader.followers[1].last_fetch_leader_log_end_offset == 5
    leader.appends()
    leader.waits(500)
    leader.is_fetched_by(1, offset=5)
    assert (leader.followers[1].last_caught_up_time_ms > 0) == last_fetch_is_now


@pytest.mark.parametrize(("release", "remembered"), [("3.2", 7), ("3.3", 9)])
def test_two_fetches_that_overtake_each_other_cannot_lower_the_bar(
    release: str, remembered: int
) -> None:
    """From 3.3 on the log end of the last fetch is a maximum: the older read came second."""
    rules, follower = rules_of(release), new_record(RemoteReplica)
    update_fetch_state(rules, follower, 3, 0, 100, leader_log_end_offset=9)
    update_fetch_state(rules, follower, 3, 0, 99, leader_log_end_offset=7)
    assert follower.last_fetch_leader_log_end_offset == remembered


def test_an_evicted_follower_starts_without_grace_and_a_member_with_a_full_lag_time() -> None:
    follower = new_record(RemoteReplica)
    reset_replica_state(rules_of("2.6"), follower, 77_000, 5, is_new_leader=True, is_in_isr=False)
    assert not is_within_lag_time(follower, 77_000, LAG_MS)
    reset_replica_state(rules_of("2.6"), follower, 77_000, 5, is_new_leader=True, is_in_isr=True)
    assert is_within_lag_time(follower, 77_000 + LAG_MS, LAG_MS)
    assert not is_within_lag_time(follower, 77_001 + LAG_MS, LAG_MS)


def test_a_follower_that_reaches_neither_log_end_is_not_caught_up_at_all() -> None:
    """Evicted long ago and still far behind: the fetch itself proves nothing."""
    leader = Leader("2.6", isr=[0], records=10)
    leader.is_fetched_by(1, offset=3)
    leader.is_fetched_by(1, offset=6)
    assert leader.followers[1].last_caught_up_time_ms == 0


def test_caught_up_is_the_log_end_or_the_lag_time() -> None:
    """ReplicaState.isCaughtUp: either is enough."""
    leader = Leader("3.9", records=5)
    follower = leader.followers[1]
    leader.is_fetched_by(1, offset=5)
    long_after_ms = leader.now_ms + 2 * LAG_MS
    assert is_caught_up(follower, 5, long_after_ms, LAG_MS)
    assert is_caught_up(follower, 6, leader.now_ms + LAG_MS, LAG_MS)
    assert not is_caught_up(follower, 6, long_after_ms, LAG_MS)


@pytest.mark.parametrize(
    ("release", "counts"),
    [("2.6", False), ("2.7.1", True), ("2.7.2", False), ("2.8.0", True), ("2.8.1", False)],
)
def test_a_fetch_of_a_diverging_log_does_not_count(release: str, counts: bool) -> None:
    """KAFKA-13141: its log end is about to be cut, and must not move the high watermark."""
    rules = rules_of(release)
    assert counts_fetch(rules, diverges=True) == counts
    assert counts_fetch(rules, diverges=False)


def test_nothing_is_known_of_a_new_replica() -> None:
    """It holds the high watermark back as soon as it is in the ISR, until it has fetched."""
    follower = with_fields(new_record(RemoteReplica), log_end_offset=7, last_fetch_time_ms=9)
    initialize_follower(follower, broker=4)
    assert (follower.broker, follower.log_end_offset, follower.last_fetch_time_ms) == (4, -1, 0)
    assert not is_within_lag_time(follower, now_ms=10_001, replica_lag_time_max_ms=10_000)
