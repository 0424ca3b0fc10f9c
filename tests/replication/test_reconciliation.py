"""One follower meets one leader: the stories of KIP-101, KIP-279 and KIP-595, played through."""

from __future__ import annotations

import pytest

from tidegauge.replication.log import increment_log_start_offset
from tidegauge.replication.reconciliation import ReplicaLog, reconcile
from tidegauge.replication.releases import rules_of

Runs = list[tuple[int, int]]


def replica(release: str, runs: Runs, *, high_watermark: int = 0, epoch: int = -1) -> ReplicaLog:
    """A log with these runs (leader epoch, records); if it leads, the epoch in which it does."""
    log = ReplicaLog.of(rules_of(release), runs)
    log.partition.high_watermark = high_watermark
    if epoch >= 0:
        log.lead(epoch)
    return log


@pytest.mark.parametrize(("release", "records"), [("0.10.2", 3), ("0.11", 5), ("3.9", 5)])
def test_kip_101_a_quick_restart_loses_committed_records_up_to_0_10_2(
    release: str, records: int
) -> None:
    """A has all 5 records but knows of 3 committed ones when it restarts; then B dies.

    What A cut off it does not get back: it is elected, and B follows it.
    """
    a = replica(release, [(0, 5)], high_watermark=3)
    b = replica(release, [(0, 5)], high_watermark=5, epoch=0)
    if release == "0.10.2":
        a.truncate_to(int(a.partition.high_watermark))  # ... and B dies before it can fetch
    else:
        assert reconcile(b, a).removed == 0
    a.lead(1)
    b.partition.high_watermark = a.partition.high_watermark
    assert reconcile(a, b).first_difference == -1
    assert len(a.epochs()) == len(b.epochs()) == records


@pytest.mark.parametrize(
    ("release", "removed", "first_difference"), [("0.10.2", 0, 3), ("0.11", 1, -1), ("3.9", 1, -1)]
)
def test_kip_101_power_loss_lets_logs_diverge_up_to_0_10_2(
    release: str, removed: int, first_difference: int
) -> None:
    """Of 4 records A keeps 3 and B 4. A leads and writes another fourth one.

    B's high watermark is 4: below it nothing is compared, and there is nothing to fetch.
    """
    a = replica(release, [(0, 3)], epoch=1)
    a.append(1, 1)
    b = replica(release, [(0, 4)], high_watermark=4)
    told = reconcile(a, b)
    assert told.removed == removed
    assert told.first_difference == first_difference


@pytest.mark.parametrize(
    ("release", "truncations", "first_difference"),
    [("0.11", [10], 8), ("1.1", [10], 8), ("2.0", [8], -1), ("2.6", [8], -1), ("3.9", [8], -1)],
)
def test_kip_279_three_fast_elections_let_logs_diverge_up_to_1_1(
    release: str, truncations: list[int], first_difference: int
) -> None:
    """The leader has never seen epoch 1, in which the follower wrote 8 to 11.

    Asked where epoch 1 ended, it says at 10, where its epoch 2 begins. Only with the epoch
    of that answer, which is 0, does the follower see that 8 and 9 are not the leader's.
    """
    leader = replica(release, [(0, 10), (2, 2)], epoch=2)
    follower = replica(release, [(0, 8), (1, 4)])
    told = reconcile(leader, follower)
    assert told.truncations == truncations
    assert told.first_difference == first_difference


@pytest.mark.parametrize(("release", "truncations"), [("2.6", [4, 4]), ("2.8", [4]), ("3.9", [4])])
def test_neither_has_the_others_epoch(release: str, truncations: list[int]) -> None:
    """KIP-279: the follower cuts to the end of the epoch below, and asks once more.

    KIP-595: with truncation on fetch the next fetch is that question.
    """
    leader = replica(release, [(0, 5), (1, 5), (3, 2)], epoch=3)
    follower = replica(release, [(0, 4), (2, 6)])
    told = reconcile(leader, follower)
    assert told.truncations == truncations
    assert told.first_difference == -1
    assert told.removed == 6
    assert told.fetched == 8


@pytest.mark.parametrize(("release", "stuck"), [("2.6.0", True), ("2.6.1", False), ("3.9", False)])
def test_an_epoch_without_records_can_keep_a_follower_asking_for_ever(
    release: str, stuck: bool
) -> None:
    """KAFKA-10706: it led epoch 3 and wrote nothing; the leader has an epoch 2 instead.

    The answer is an epoch that it has not got, and truncating to its log end, where epoch 3
    was to begin, removes nothing: so it asks for epoch 3 again.
    """
    leader = replica(release, [(0, 3), (2, 2)], epoch=4)
    follower = replica(release, [(0, 5)], epoch=3)
    told = reconcile(leader, follower)
    assert told.stuck == stuck
    assert (told.first_difference == -1) != stuck


@pytest.mark.parametrize("release", ["0.10.2", "0.11", "1.1", "2.0", "2.6", "2.8", "3.9"])
def test_a_follower_whose_records_the_leader_has_deleted_starts_over(release: str) -> None:
    leader = replica(release, [(0, 30)], epoch=0)
    increment_log_start_offset(leader.partition, leader.runs, leader.entries, 20)
    follower = replica(release, [(0, 5)], high_watermark=5)
    told = reconcile(leader, follower)
    assert follower.partition.log_start_offset == 20
    assert told.removed == 5
    assert told.fetched == 10
    assert told.first_difference == -1


@pytest.mark.parametrize(
    ("release", "unclean", "stopped"),
    [("0.10.2", False, True), ("0.10.2", True, False), ("2.6", False, False)],
)
def test_a_follower_that_is_ahead_of_an_uncleanly_elected_leader(
    release: str, unclean: bool, stopped: bool
) -> None:
    """KAFKA-7414: where unclean election was disabled after it had happened, the broker exits."""
    leader = replica(release, [(0, 5)], epoch=1)
    follower = replica(release, [(0, 9)], high_watermark=9)
    told = reconcile(leader, follower, unclean_election_enabled=unclean)
    assert told.broker_stopped == stopped
    assert len(follower.epochs()) == (9 if stopped else 5)


def test_the_walkthrough_of_three_replicas() -> None:
    """C with 3 records is elected in epoch 1, then B in epoch 2, which writes two records."""
    a, b = replica("2.6", [(0, 5)]), replica("2.6", [(0, 5)])
    c = replica("2.6", [(0, 3)], epoch=1)
    assert reconcile(c, b).truncations == [3]
    b.lead(2)
    b.append(2, 2)
    told = reconcile(b, a)
    assert told.truncations == [3]
    assert told.first_difference == -1
    assert a.cache() == b.cache() == [(0, 0), (2, 3)]
    assert c.cache() == [(0, 0), (1, 3)]


def test_each_step_is_told_in_a_sentence() -> None:
    leader = replica("2.6", [(0, 3), (2, 1)], epoch=2)
    follower = replica("2.6", [(0, 5)])
    assert reconcile(leader, follower).story == [
        "asks where epoch 0 ended: epoch 0, offset 3",
        "truncates to 3, 2 records removed",
        "fetches from 3: 1 record",
    ]


def test_an_epoch_that_the_leader_has_never_heard_of_is_out_of_its_range() -> None:
    """No elected leader has an older epoch than a follower; if it had, both would go on so."""
    leader = replica("3.9", [(0, 6)])
    follower = replica("3.9", [(0, 3), (1, 2)])
    told = reconcile(leader, follower)
    assert told.stuck
    assert told.removed == 0
