"""min.insync.replicas: what is refused before the append, and what is told after it."""

from __future__ import annotations

import pytest

from replication_stories import LAG_MS, Leader
from tidegauge.replication import errors
from tidegauge.replication.in_sync_replicas import (
    ACKS_ALL,
    ACKS_LEADER,
    ACKS_NONE,
    append_error,
    check_enough_replicas_reach_offset,
)


@pytest.mark.parametrize("acks", [-2, 2, 3])
def test_other_acks_are_invalid_however_many_replicas_are_in_sync(acks: int) -> None:
    leader = Leader("2.6", min_insync_replicas=1)
    assert append_error(leader.rules, leader.partition, acks) == errors.INVALID_REQUIRED_ACKS


@pytest.mark.parametrize("release", ["0.10.2", "2.6", "3.9"])
def test_only_acks_all_asks_how_many_are_in_sync(release: str) -> None:
    leader = Leader(release, isr=[0], min_insync_replicas=2)
    assert append_error(leader.rules, leader.partition, ACKS_ALL) == errors.NOT_ENOUGH_REPLICAS
    assert append_error(leader.rules, leader.partition, ACKS_LEADER) == errors.NONE
    assert append_error(leader.rules, leader.partition, ACKS_NONE) == errors.NONE


def test_exactly_min_insync_replicas_is_enough() -> None:
    leader = Leader("2.6", isr=[0, 2], min_insync_replicas=2)
    assert append_error(leader.rules, leader.partition, ACKS_ALL) == errors.NONE


def test_a_replica_that_is_about_to_join_does_not_count_before_the_append() -> None:
    """KIP-497: it may be refused yet, the committed ISR counts."""
    leader = Leader("2.8", isr=[0], records=5, min_insync_replicas=2)
    leader.is_fetched_by(1, offset=5)
    assert leader.maximal_isr == [0, 1]
    assert append_error(leader.rules, leader.partition, ACKS_ALL) == errors.NOT_ENOUGH_REPLICAS


@pytest.mark.parametrize("release", ["0.10.2", "2.6", "3.6"])
def test_the_isr_shrinks_while_acks_all_waits(release: str) -> None:
    """The producer is told, but the records stay and consumers read them."""
    leader = Leader(release, replicas=2, records=5, min_insync_replicas=2)
    leader.is_fetched_by(1, offset=5)
    assert append_error(leader.rules, leader.partition, ACKS_ALL) == errors.NONE
    leader.appends()
    waiting = (leader.rules, leader.partition, 6)
    assert check_enough_replicas_reach_offset(*waiting) == (False, errors.NONE)
    leader.waits(LAG_MS + 1)
    leader.checks_its_isr()
    if leader.isr != [0]:
        leader.is_answered()
        leader.attempt_high_watermark()
    assert check_enough_replicas_reach_offset(*waiting) == (
        True,
        errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    )
    assert leader.high_watermark == 6


def test_from_3_7_it_waits_on_since_the_high_watermark_stands_still() -> None:
    """KAFKA-15583: nothing is committed under min ISR, so the request runs into its time-out."""
    leader = Leader("3.9", replicas=2, records=5, min_insync_replicas=2)
    leader.is_fetched_by(1, offset=5)
    leader.appends()
    leader.waits(LAG_MS + 1)
    leader.checks_its_isr()
    leader.is_answered()
    assert leader.isr == [0]
    done, error = check_enough_replicas_reach_offset(leader.rules, leader.partition, 6)
    assert not done
    assert error == errors.NONE


def test_acks_all_waits_for_the_offset_after_the_last_record() -> None:
    leader = Leader("2.6", isr=[0], records=5)
    assert check_enough_replicas_reach_offset(leader.rules, leader.partition, 5)[0]
    assert not check_enough_replicas_reach_offset(leader.rules, leader.partition, 6)[0]


def test_a_replica_that_is_about_to_join_counts_after_the_append() -> None:
    """KIP-497: the record was not acknowledged before it had it too."""
    leader = Leader("2.8", isr=[0], records=5, min_insync_replicas=2)
    leader.is_fetched_by(1, offset=5)
    leader.appends()
    leader.is_fetched_by(1, offset=6)
    assert leader.isr == [0]
    done, error = check_enough_replicas_reach_offset(leader.rules, leader.partition, 6)
    assert done
    assert error == errors.NONE


@pytest.mark.parametrize(
    ("release", "error"), [("3.6", errors.NOT_ENOUGH_REPLICAS), ("3.7", errors.NONE)]
)
def test_a_topic_with_fewer_replicas_than_min_insync_replicas_takes_acks_all_from_3_7_on(
    release: str, error: int
) -> None:
    """KAFKA-15583."""
    leader = Leader(release, replicas=2, min_insync_replicas=3)
    assert append_error(leader.rules, leader.partition, ACKS_ALL) == error
