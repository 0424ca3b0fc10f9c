"""What holds back the high watermark, when it moves, and how followers take it over."""

from __future__ import annotations

import pytest

from replication_stories import LAG_MS, Leader, with_fields
from tidegauge.compiled.records import new_record
from tidegauge.replication.high_watermark import (
    check_high_watermark_of_new_leader,
    high_watermark_of_response,
    maybe_increment_high_watermark,
    takes_high_watermark_of_response,
    update_high_watermark,
)
from tidegauge.replication.records import Partition
from tidegauge.replication.releases import rules_of
from tidegauge.replication.replica_list import pack, single

EVERY_RULE = ["0.10.2", "2.0", "2.3", "2.6", "2.8", "3.3", "3.6", "3.9"]


@pytest.mark.parametrize("release", EVERY_RULE)
def test_a_new_leaders_high_watermark_waits_for_the_first_fetch_of_every_member(
    release: str,
) -> None:
    """It knows no log end offset of its followers yet, and -1 holds everything back."""
    leader = Leader(release, records=5)
    leader.appends(2)
    assert leader.high_watermark == 5
    leader.is_fetched_by(1, offset=7)
    assert leader.high_watermark == 5
    leader.is_fetched_by(2, offset=6)
    assert leader.high_watermark == 6


@pytest.mark.parametrize("release", EVERY_RULE)
def test_alone_in_its_isr_a_leader_commits_as_it_appends(release: str) -> None:
    leader = Leader(release, isr=[0], records=5)
    leader.partition.high_watermark = 2
    leader.is_elected([0])
    assert leader.high_watermark == 5
    leader.appends(3)
    assert leader.high_watermark == 8


@pytest.mark.parametrize("release", EVERY_RULE)
def test_a_replica_outside_the_isr_holds_it_back_as_long_as_it_was_caught_up_lately(
    release: str,
) -> None:
    """Else it could never enter: the high watermark would always be ahead of it."""
    leader = Leader(release, isr=[0], records=5)
    leader.followers[1].log_end_offset = 5
    leader.followers[1].last_caught_up_time_ms = leader.now_ms
    leader.waits(LAG_MS)
    leader.appends()
    assert leader.high_watermark == 5
    leader.waits(1)
    leader.attempt_high_watermark()
    assert leader.high_watermark == 6


def test_a_joining_replica_holds_it_back_before_the_controller_has_agreed() -> None:
    """KIP-497: should the answer be lost after the fact, nothing was committed without it."""
    leader = Leader("2.8", isr=[0], records=5)
    leader.is_fetched_by(1, offset=5)
    leader.followers[1].last_caught_up_time_ms = 0
    leader.appends()
    assert leader.isr == [0]
    assert leader.high_watermark == 5
    leader.is_fetched_by(1, offset=6)
    assert leader.high_watermark == 6


@pytest.mark.parametrize("release", ["2.8", "3.1", "3.9"])
def test_a_leaving_replica_holds_it_back_until_the_controller_has_agreed(release: str) -> None:
    """KIP-497: who leaves may be elected as long as the controller does not know."""
    leader = Leader(release, replicas=2, records=5)
    leader.is_fetched_by(1, offset=5)
    leader.appends()
    leader.waits(LAG_MS + 1)
    assert leader.checks_its_isr() == [1]
    assert not leader.attempt_high_watermark()
    leader.is_answered()
    leader.attempt_high_watermark()
    assert leader.high_watermark == 6


@pytest.mark.parametrize(("release", "high_watermark"), [("3.5", 5), ("3.6", 6)])
def test_from_3_6_a_caught_up_replica_that_may_not_enter_does_not_hold_it_back(
    release: str, high_watermark: int
) -> None:
    """KAFKA-15021: its broker is fenced or shutting down, the leader waited in vain."""
    leader = Leader(release, isr=[0], records=5)
    leader.ineligible = single(1)
    leader.is_fetched_by(1, offset=5)
    leader.appends()
    assert leader.high_watermark == high_watermark


def test_from_3_6_a_member_holds_it_back_even_if_it_may_not_enter_any_more() -> None:
    """KAFKA-15021 is about replicas outside the ISR only."""
    leader = Leader("3.6", isr=[0, 1], records=5)
    leader.ineligible = single(1)
    leader.is_fetched_by(1, offset=5)
    leader.appends()
    assert leader.high_watermark == 5


@pytest.mark.parametrize(("release", "high_watermark"), [("3.6", 6), ("3.7", 5), ("3.9", 5)])
def test_from_3_7_it_stands_still_under_min_isr_for_acks_1_too(
    release: str, high_watermark: int
) -> None:
    """KAFKA-15583."""
    leader = Leader(release, isr=[0], records=5, min_insync_replicas=2)
    leader.appends()
    assert leader.high_watermark == high_watermark


def test_a_single_replica_is_not_under_min_isr_whatever_the_setting_says() -> None:
    """KAFKA-15583: the effective min.insync.replicas is at most the number of replicas."""
    leader = Leader("3.9", replicas=1, records=5, min_insync_replicas=2)
    leader.appends()
    assert leader.high_watermark == 6


@pytest.mark.parametrize(("release", "high_watermark"), [("2.3", 6), ("2.4", 5)])
def test_from_2_4_a_fetch_at_the_same_offset_is_no_occasion_to_move_it(
    release: str, high_watermark: int
) -> None:
    """KAFKA-8841. The lag time of a replica outside the ISR has passed in between."""
    leader = Leader(release, isr=[0, 1], records=5)
    leader.is_fetched_by(1, offset=5)
    leader.followers[2].last_caught_up_time_ms = leader.now_ms
    leader.appends()
    leader.is_fetched_by(1, offset=6)
    assert leader.high_watermark == 5
    leader.waits(LAG_MS + 1)
    leader.is_fetched_by(1, offset=6)
    assert leader.high_watermark == high_watermark


def test_on_a_leader_it_never_goes_down() -> None:
    leader = Leader("2.6", isr=[0], records=5)
    assert not maybe_increment_high_watermark(leader.partition, 4)
    assert not maybe_increment_high_watermark(leader.partition, 5)
    assert leader.high_watermark == 5


def test_who_is_not_assigned_any_more_does_not_count() -> None:
    leader = Leader("2.6", records=5)
    leader.partition.replicas = leader.partition.isr = leader.partition.maximal_isr = pack([0])
    leader.appends()
    assert leader.high_watermark == 6


def follower(start: int, end: int, high_watermark: int) -> Partition:
    return with_fields(
        new_record(Partition),
        log_start_offset=start,
        log_end_offset=end,
        high_watermark=high_watermark,
    )


@pytest.mark.parametrize("release", EVERY_RULE)
def test_on_a_follower_it_is_cut_at_the_log_end_and_may_go_down(release: str) -> None:
    partition = follower(0, 10, high_watermark=10)
    update_high_watermark(rules_of(release), partition, 12)
    assert partition.high_watermark == 10
    update_high_watermark(rules_of(release), partition, 7)
    assert partition.high_watermark == 7


@pytest.mark.parametrize(("release", "high_watermark"), [("2.3", 2), ("2.4", 4)])
def test_from_2_4_a_follower_keeps_it_at_its_log_start_or_above(
    release: str, high_watermark: int
) -> None:
    """KAFKA-8457 moved it into the log."""
    partition = follower(4, 10, high_watermark=10)
    update_high_watermark(rules_of(release), partition, 2)
    assert partition.high_watermark == high_watermark


@pytest.mark.parametrize(
    ("release", "high_watermark"),
    [
        ("0.10.2", -1),
        ("0.11", -1),
        ("1.0.1", -1),
        ("1.0.2", 3),
        ("1.1", 3),
        ("2.3", 3),
        ("2.4", 12),
    ],
)
def test_up_to_2_3_a_leader_whose_high_watermark_is_above_its_log_starts_at_its_log_start(
    release: str, high_watermark: int
) -> None:
    """Replica.convertHWToLocalOffsetMetadata; from 2.4 on truncation has lowered it long before."""
    partition = follower(3, 10, high_watermark=12)
    check_high_watermark_of_new_leader(rules_of(release), partition)
    assert partition.high_watermark == high_watermark


@pytest.mark.parametrize("high_watermark", [3, 7, 10])
def test_a_new_leader_keeps_what_it_knew_as_a_follower(high_watermark: int) -> None:
    partition = follower(3, 10, high_watermark)
    check_high_watermark_of_new_leader(rules_of("2.3"), partition)
    assert partition.high_watermark == high_watermark


@pytest.mark.parametrize(
    ("release", "takes"), [("2.8", True), ("3.4.0", True), ("3.4.1", False), ("3.9", False)]
)
def test_a_response_that_diverges_should_not_move_it(release: str, takes: bool) -> None:
    """KAFKA-14704: records that are about to be cut were readable on the follower."""
    rules = rules_of(release)
    assert takes_high_watermark_of_response(rules, diverges=True) == takes
    assert takes_high_watermark_of_response(rules, diverges=False)


@pytest.mark.parametrize(
    ("release", "in_response"),
    [("0.11", 3), ("1.0.1", 5), ("1.0.2", 3), ("1.1.0", 5), ("1.1.1", 3), ("2.6", 3)],
)
def test_a_response_brings_the_high_watermark_of_before_the_fetch(
    release: str, in_response: int
) -> None:
    """KAFKA-7104: 1.0.0 to 1.1.0 let a fetch see what it had moved itself."""
    assert high_watermark_of_response(rules_of(release), 3, 5) == in_response
