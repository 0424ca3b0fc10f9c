"""Becoming leader, becoming follower, and when a follower looks at its log again."""

from __future__ import annotations

import pytest

from replication_stories import Leader, leader_and_isr
from tidegauge.compiled.records import new_record
from tidegauge.replication.leader_read import READ_UNCOMMITTED, latest_offset
from tidegauge.replication.partition import (
    initialize_partition,
    is_leader,
    make_follower,
    make_leader,
)
from tidegauge.replication.records import Partition
from tidegauge.replication.release_rules import ReleaseRules
from tidegauge.replication.releases import rules_of
from tidegauge.replication.replica_list import EMPTY, pack

#: A release of each of the four restart rules.
ON_NEW_LEADER, UNLESS_NEXT_EPOCH, UNLESS_SAME_EPOCH, ON_NEW_EPOCH = "2.0.0", "2.0.1", "2.6", "3.3"


def follower_of(rules: ReleaseRules, leader: int, leader_epoch: int) -> Partition:
    partition = new_record(Partition)
    initialize_partition(partition, 0, pack([0, 1, 2]), 0, 1)
    make_follower(rules, partition, leader_and_isr(leader, [0, 1, 2], leader_epoch), 1)
    return partition


@pytest.mark.parametrize(
    ("release", "new_leader", "epochs_on", "restarts"),
    [
        # The same leader, epochs later: it may have cut its log in between.
        (ON_NEW_LEADER, 1, 1, False),
        (ON_NEW_LEADER, 1, 2, False),
        (UNLESS_NEXT_EPOCH, 1, 0, False),
        (UNLESS_NEXT_EPOCH, 1, 1, False),
        (UNLESS_NEXT_EPOCH, 1, 2, True),
        (UNLESS_SAME_EPOCH, 1, 0, False),
        (UNLESS_SAME_EPOCH, 1, 1, True),
        (ON_NEW_EPOCH, 1, 0, False),
        (ON_NEW_EPOCH, 1, 1, True),
        # Another leader.
        (ON_NEW_LEADER, 2, 1, True),
        (UNLESS_NEXT_EPOCH, 2, 1, True),
        (UNLESS_SAME_EPOCH, 2, 1, True),
        (ON_NEW_EPOCH, 2, 1, True),
        # From 3.3 on the epoch alone decides.
        (UNLESS_SAME_EPOCH, 2, 0, True),
        (ON_NEW_EPOCH, 2, 0, False),
    ],
)
def test_when_a_follower_starts_fetching_anew(
    release: str, new_leader: int, epochs_on: int, restarts: bool
) -> None:
    """KAFKA-7164: up to 2.0.0 only another leader id made it look for a diverging end."""
    rules = rules_of(release)
    partition = follower_of(rules, leader=1, leader_epoch=5)
    state = leader_and_isr(new_leader, [0, 1, 2], 5 + epochs_on, partition_epoch=3)
    assert make_follower(rules, partition, state, controller_epoch=4) == restarts
    assert partition.leader == new_leader
    assert partition.leader_epoch == 5 + epochs_on
    assert partition.partition_epoch == 3
    assert partition.controller_epoch == 4


@pytest.mark.parametrize("release", [ON_NEW_LEADER, UNLESS_NEXT_EPOCH, "2.6", ON_NEW_EPOCH])
def test_a_broker_that_has_just_started_always_does(release: str) -> None:
    rules = rules_of(release)
    partition = new_record(Partition)
    initialize_partition(partition, 0, pack([0, 1]), 0, 1)
    assert make_follower(rules, partition, leader_and_isr(1, [1], leader_epoch=0), 1)


def test_a_follower_knows_no_isr_and_no_start_of_its_epoch() -> None:
    """Both are the leader's business, what was pending included."""
    leader = Leader("2.8", isr=[0], records=5)
    leader.is_fetched_by(1, offset=5)
    make_follower(leader.rules, leader.partition, leader_and_isr(1, [0, 1], leader_epoch=1), 1)
    assert not is_leader(leader.partition)
    assert leader.isr == leader.maximal_isr == []
    assert leader.partition.proposed_isr == EMPTY
    assert leader.partition.leader_epoch_start_offset == -1


def test_a_former_leader_does_not_make_clients_wait_for_an_epoch_of_the_past() -> None:
    """KIP-207 holds for the leader of the epoch: a follower forgets where it began."""
    leader = Leader("2.6", records=5)
    leader.partition.high_watermark = 3
    make_follower(leader.rules, leader.partition, leader_and_isr(1, [1], leader_epoch=1), 1)
    assert latest_offset(leader.rules, leader.partition, READ_UNCOMMITTED, 3) == (0, 3)


def test_whether_it_led_before_is_told() -> None:
    leader = Leader("2.6")
    assert not leader.is_elected([0, 1])
    make_follower(leader.rules, leader.partition, leader_and_isr(1, [0, 1], leader_epoch=2), 1)
    assert leader.is_elected([0, 1])


@pytest.mark.parametrize(
    ("release", "protocol", "cache"),
    [
        ("1.1", None, [(0, 0)]),
        ("2.0.0", None, [(0, 0)]),
        ("2.0.1", None, [(0, 0), (4, 5)]),
        ("3.9", None, [(0, 0), (4, 5)]),
        ("2.0.0", "0.10.2", []),
        ("2.0.1", "0.10.2", [(0, 0), (4, 5)]),
        ("2.1.1", "0.10.2", []),
    ],
)
def test_from_2_0_1_a_leader_enters_its_epoch_before_it_has_written(
    release: str, protocol: str | None, cache: list[tuple[int, int]]
) -> None:
    """KAFKA-7415: else nobody could say where the epochs before it ended.

    KAFKA-7897: until 2.1.1 it did so even where its records carry no epochs.
    """
    leader = Leader(release, protocol)
    leader.appends(5)
    leader.is_elected([0, 1, 2], epochs_on=4)
    assert leader.epoch_cache == cache
    assert leader.partition.leader_epoch_start_offset == 5


@pytest.mark.parametrize(("release", "reset"), [("3.2", True), ("3.3", False)])
def test_a_leader_and_isr_of_the_same_epoch_resets_the_followers_up_to_3_2(
    release: str, reset: bool
) -> None:
    """KAFKA-13790: only the ISR has changed, and the leader's term goes on."""
    leader = Leader(release, isr=[0, 1], records=5)
    leader.is_fetched_by(1, offset=3)
    caught_up_ms = leader.followers[1].last_caught_up_time_ms
    leader.appends(2)
    leader.waits(400)
    leader.is_elected([0, 1, 2], epochs_on=0)
    assert leader.isr == [0, 1, 2]
    assert (leader.followers[1].last_caught_up_time_ms > caught_up_ms) == reset
    assert leader.partition.leader_epoch_start_offset == (7 if reset else 5)
    assert leader.followers[1].log_end_offset == 3


@pytest.mark.parametrize("release", ["2.6", "3.9"])
def test_re_elected_in_a_new_epoch_a_leader_keeps_what_it_knows_of_log_ends(release: str) -> None:
    """Only one who did not lead before begins with followers at -1."""
    leader = Leader(release, isr=[0, 1], records=5)
    leader.is_fetched_by(1, offset=5)
    leader.is_elected([0, 1])
    assert leader.followers[1].log_end_offset == 5
    leader.appends()
    leader.is_fetched_by(1, offset=6)
    assert leader.high_watermark == 6


def test_a_leader_remembers_which_controller_elected_it() -> None:
    """It writes that controller's epoch into the partition's state along with a new ISR."""
    leader = Leader("2.6", records=5)
    partition, state = leader.partition, leader_and_isr(0, [0, 1], leader_epoch=1)
    make_leader(leader.rules, partition, leader.followers, leader.entries, state, 12, 0)
    assert partition.controller_epoch == 12


def test_a_smaller_isr_from_the_controller_lets_the_high_watermark_move() -> None:
    """A dead follower was taken out of the ISR: same leader, next epoch."""
    leader = Leader("2.6", isr=[0, 1], records=5)
    leader.is_fetched_by(1, offset=5)
    leader.appends(2)
    assert leader.high_watermark == 5
    leader.is_elected([0])
    assert leader.high_watermark == 7


@pytest.mark.parametrize(("release", "exposed"), [("2.3", 0), ("2.4", 4)])
def test_a_truncated_follower_that_is_elected_exposes_nothing_it_appends_alone(
    release: str, exposed: int
) -> None:
    """Up to 2.3 it comes with a high watermark above its log end, and starts over."""
    leader = Leader(release, records=4)
    make_follower(leader.rules, leader.partition, leader_and_isr(1, [0, 1, 2], leader_epoch=1), 1)
    leader.partition.high_watermark = 9 if release == "2.3" else 4
    leader.is_elected([0, 1, 2])
    leader.appends(6)
    assert leader.high_watermark == exposed


def test_a_replica_of_which_nothing_is_known_yet() -> None:
    partition = new_record(Partition)
    initialize_partition(partition, 1, pack([0, 1]), 4, 2)
    assert not is_leader(partition)
    assert partition.leader == partition.leader_epoch == partition.partition_epoch == -1
    assert partition.leader_epoch_start_offset == -1
    assert partition.log_end_offset == partition.high_watermark == 0
