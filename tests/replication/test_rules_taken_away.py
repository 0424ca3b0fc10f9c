"""The switches that every release has alike: each takes exactly one condition away."""

from __future__ import annotations

import pytest

from replication_stories import LAG_MS, Leader, leader_and_isr, with_fields
from tidegauge.compiled.records import new_record
from tidegauge.controller.partitions.leader_and_isr import alter_partition_error
from tidegauge.replication import errors
from tidegauge.replication.in_sync_replicas import needs_expand_isr
from tidegauge.replication.isr_update import version_to_write_over
from tidegauge.replication.leader_read import epoch_to_check
from tidegauge.replication.records import Partition, PartitionFetchState
from tidegauge.replication.release_rules import (
    HIGH_WATERMARK_BY_COMMITTED_ISR,
    HIGH_WATERMARK_BY_PROPOSED_ISR,
    TRUNCATE_NEVER,
)
from tidegauge.replication.releases import rules_of
from tidegauge.replication.remote_replica import is_fetch_fenced, update_after_fenced_fetch
from tidegauge.replication.replica_list import EMPTY, pack
from tidegauge.replication.truncation import (
    asks_for_epoch_end,
    fallback_offset,
    initial_fetch_offset,
)

UNDEFINED = -1


@pytest.mark.parametrize(
    ("switch", "moves", "log_end_offset", "is_caught_up"),
    [
        (None, False, 0, False),
        ("fenced_fetch_expands_isr", False, 0, False),
        ("fenced_fetch_moves_high_watermark", True, 7, False),
        ("fenced_fetch_is_caught_up", False, 0, True),
    ],
)
def test_a_fetch_of_another_epoch_leaves_the_view_as_it_is(
    switch: str | None, moves: bool, log_end_offset: int, is_caught_up: bool
) -> None:
    """KIP-320: without the fence of one rule the others still have theirs."""
    leader = Leader("2.6", records=7)
    follower = leader.followers[1]
    follower.log_end_offset = 0
    follower.last_caught_up_time_ms = 0
    if switch is not None:
        setattr(leader.rules, switch, True)
    assert update_after_fenced_fetch(leader.rules, follower, 7, leader.now_ms, 7) == moves
    assert follower.log_end_offset == log_end_offset
    assert follower.last_caught_up_time_ms == (leader.now_ms if is_caught_up else 0)


@pytest.mark.parametrize("error", [errors.FENCED_LEADER_EPOCH, errors.UNKNOWN_LEADER_EPOCH])
def test_a_fetch_of_another_epoch_is_known_by_its_error_or_if_answered_by_its_epoch(
    error: int,
) -> None:
    """KIP-320, Partition.checkCurrentLeaderEpoch."""
    rules = rules_of("2.6")
    assert is_fetch_fenced(rules, error, error)
    assert not is_fetch_fenced(rules, errors.NONE, error)
    assert epoch_to_check(rules, 4, True) == 4
    rules.fenced_fetch_is_answered = True
    assert is_fetch_fenced(rules, errors.NONE, error)
    assert not is_fetch_fenced(rules, errors.NONE, errors.NONE)
    assert epoch_to_check(rules, 4, True) == UNDEFINED
    # A consumer's epoch is fenced as ever.
    assert epoch_to_check(rules, 4, False) == 4


def test_a_follower_below_the_high_watermark_stays_outside() -> None:
    """Partition.maybeExpandIsr: the start of the leader's epoch is a condition of its own."""
    leader = Leader("2.6", isr=[0], records=5)
    leader.appends(4)
    assert (leader.high_watermark, leader.partition.leader_epoch_start_offset) == (9, 5)
    expand = (leader.rules, leader.partition, 1)
    assert not needs_expand_isr(*expand, 8, EMPTY)
    leader.rules.expand_requires_high_watermark = False
    assert needs_expand_isr(*expand, 8, EMPTY)
    assert not needs_expand_isr(*expand, 4, EMPTY)


@pytest.mark.parametrize(
    ("rule", "while_joining", "while_leaving"),
    [
        (None, 5, 5),
        (HIGH_WATERMARK_BY_COMMITTED_ISR, 8, 5),
        (HIGH_WATERMARK_BY_PROPOSED_ISR, 5, 8),
    ],
)
def test_a_pending_change_of_the_isr_counts_with_its_larger_isr(
    rule: int | None, while_joining: int, while_leaving: int
) -> None:
    """KIP-497: the controller may have stored it or not."""
    joining = Leader("3.9", isr=[0], records=5, replicas=2)
    leaving = Leader("3.9", isr=[0, 1], records=5, replicas=2)
    for leader, proposed in ((joining, [0, 1]), (leaving, [0])):
        if rule is not None:
            leader.rules.high_watermark_rule = rule
        leader.partition.proposed_isr = pack(proposed)
        leader.partition.maximal_isr = pack([0, 1])
        leader.followers[1].log_end_offset = 5
        leader.waits(2 * LAG_MS)
        leader.appends(3)
        leader.attempt_high_watermark()
    assert (joining.high_watermark, leaving.high_watermark) == (while_joining, while_leaving)


def test_a_log_that_is_never_truncated_is_fetched_on_from_its_end() -> None:
    """AbstractFetcherThread.maybeTruncate, gone."""
    rules = rules_of("2.6")
    partition = with_fields(
        new_record(Partition), log_end_offset=10, high_watermark=6, epoch_count=1
    )
    assert (asks_for_epoch_end(rules, partition), initial_fetch_offset(rules, partition)) == (
        True,
        6,
    )
    rules.truncation_protocol = TRUNCATE_NEVER
    assert not asks_for_epoch_end(rules, partition)
    fetch = with_fields(
        new_record(PartitionFetchState), fetch_offset=initial_fetch_offset(rules, partition)
    )
    assert fallback_offset(rules, partition, fetch) == 10


@pytest.mark.parametrize("release", ["2.6", "3.2", "3.9"])
def test_an_isr_is_stored_over_the_version_that_its_leader_knows(release: str) -> None:
    """Up to 3.2 ZooKeeper compares the versions, from 3.3 on the controller does too."""
    rules = rules_of(release)
    proposal = (leader_and_isr(0, [0, 1], 5, 9), leader_and_isr(0, [0, 1, 2], 5, 8))
    refused = errors.INVALID_UPDATE_VERSION if release == "3.9" else errors.NONE
    assert alter_partition_error(rules, *proposal, pack([0, 1, 2])) == refused
    assert version_to_write_over(rules, 8) == 8
    rules.isr_version_checked = False
    assert alter_partition_error(rules, *proposal, pack([0, 1, 2])) == errors.NONE
    assert version_to_write_over(rules, 8) == UNDEFINED
