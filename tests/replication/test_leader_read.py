"""What a broker answers to those who read: the order of the fences, and up to where."""

from __future__ import annotations

import pytest

from replication_stories import Leader, with_fields
from tidegauge.compiled.records import new_record
from tidegauge.replication import errors
from tidegauge.replication.leader_read import (
    FOLLOWER,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    diverging_epoch,
    last_offset_for_leader_epoch,
    latest_offset,
    local_log_error,
    missing_partition_error,
    offset_error,
    preferred_read_replica,
    read_limit,
)
from tidegauge.replication.log import increment_log_start_offset
from tidegauge.replication.records import Partition
from tidegauge.replication.releases import rules_of
from tidegauge.replication.replica_list import NO_REPLICA, pack

UNDEFINED = -1
NOTHING = (errors.NONE, UNDEFINED, UNDEFINED)
#: The epoch in which the broker of this file is.
EPOCH = 5


@pytest.mark.parametrize(
    ("request_epoch", "leads", "has_log", "error"),
    [
        # Everything is wrong: the epoch speaks first ...
        (4, False, False, errors.FENCED_LEADER_EPOCH),
        (6, False, False, errors.UNKNOWN_LEADER_EPOCH),
        # ... then leadership, then the log.
        (EPOCH, False, False, errors.NOT_LEADER_OR_FOLLOWER),
        (EPOCH, False, True, errors.NOT_LEADER_OR_FOLLOWER),
        (EPOCH, True, False, errors.NOT_LEADER_OR_FOLLOWER),
        (EPOCH, True, True, errors.NONE),
        # An epoch of the past is fenced even by the leader, one that is not told never.
        (4, True, True, errors.FENCED_LEADER_EPOCH),
        (UNDEFINED, True, True, errors.NONE),
    ],
)
@pytest.mark.parametrize("release", ["2.1", "2.6", "3.9"])
def test_the_order_of_the_fences(
    release: str, request_epoch: int, leads: bool, has_log: bool, error: int
) -> None:
    """KIP-320."""
    rules = rules_of(release)
    assert local_log_error(rules, EPOCH, request_epoch, leads, True, has_log) == error


@pytest.mark.parametrize(
    ("release", "error"),
    [("2.5", errors.REPLICA_NOT_AVAILABLE), ("2.6", errors.NOT_LEADER_OR_FOLLOWER)],
)
def test_a_follower_may_answer_a_consumer_if_it_has_the_log(release: str, error: int) -> None:
    """KAFKA-10223: consumers could not retry REPLICA_NOT_AVAILABLE."""
    rules = rules_of(release)
    assert local_log_error(rules, EPOCH, EPOCH, False, False, True) == errors.NONE
    assert local_log_error(rules, EPOCH, EPOCH, False, False, False) == error


@pytest.mark.parametrize(
    ("is_offline", "in_metadata_cache", "error"),
    [
        (True, True, errors.KAFKA_STORAGE_ERROR),
        (True, False, errors.KAFKA_STORAGE_ERROR),
        (False, True, errors.NOT_LEADER_OR_FOLLOWER),
        (False, False, errors.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_a_partition_that_is_not_hosted_here(
    is_offline: bool, in_metadata_cache: bool, error: int
) -> None:
    """A failed disk is the reason whatever else is known; elsewhere means: look again."""
    for asked_for_epoch in (False, True):
        answer = missing_partition_error(
            rules_of("2.6"), is_offline, in_metadata_cache, asked_for_epoch
        )
        assert answer == error


@pytest.mark.parametrize(
    ("release", "for_records", "for_epochs"), [("1.1", 3, 3), ("2.0", 6, 3), ("2.1", 6, 6)]
)
def test_where_a_partition_went_is_looked_up_from_2_0_on_and_for_epochs_from_2_1(
    release: str, for_records: int, for_epochs: int
) -> None:
    """UNKNOWN_TOPIC_OR_PARTITION (3) became NOT_LEADER_FOR_PARTITION (6)."""
    rules = rules_of(release)
    assert missing_partition_error(rules, False, True, False) == for_records
    assert missing_partition_error(rules, False, True, True) == for_epochs


def leader_with_two_epochs(release: str) -> Leader:
    """Offsets 0 to 4 of epoch 0, 5 to 7 of epoch 2."""
    leader = Leader(release, isr=[0])
    leader.appends(5)
    leader.is_elected([0], epochs_on=2)
    leader.appends(3)
    return leader


@pytest.mark.parametrize(
    ("request_epoch", "asked", "answer"),
    [
        (2, 0, (errors.NONE, 0, 5)),
        (2, 1, (errors.NONE, 0, 5)),
        (2, 2, (errors.NONE, 2, 8)),
        (2, 3, NOTHING),
        (UNDEFINED, 0, (errors.NONE, 0, 5)),
        (1, 0, (errors.FENCED_LEADER_EPOCH, UNDEFINED, UNDEFINED)),
        (3, 0, (errors.UNKNOWN_LEADER_EPOCH, UNDEFINED, UNDEFINED)),
    ],
)
def test_where_an_epoch_ended_is_told_within_the_current_term_only(
    request_epoch: int, asked: int, answer: tuple[int, int, int]
) -> None:
    """KIP-320."""
    leader = leader_with_two_epochs("2.6")
    asking = (leader.rules, leader.partition, leader.entries, request_epoch, asked)
    assert last_offset_for_leader_epoch(*asking, True) == answer


def test_a_follower_does_not_tell_where_an_epoch_ended() -> None:
    leader = leader_with_two_epochs("2.6")
    leader.partition.leader = 1
    asking = (leader.rules, leader.partition, leader.entries, 2, 0)
    error, epoch, end_offset = last_offset_for_leader_epoch(*asking, True)
    assert error == errors.NOT_LEADER_OR_FOLLOWER
    assert (epoch, end_offset) == (UNDEFINED, UNDEFINED)


@pytest.mark.parametrize(
    ("fetch_offset", "last_fetched_epoch", "answer"),
    [
        pytest.param(8, 2, NOTHING, id="it has all"),
        pytest.param(4, 0, NOTHING, id="a prefix"),
        pytest.param(5, 0, NOTHING, id="the whole of epoch 0"),
        pytest.param(0, UNDEFINED, NOTHING, id="it has no epochs to compare"),
        pytest.param(6, 0, (errors.NONE, 0, 5), id="more of epoch 0 than the leader"),
        pytest.param(9, 2, (errors.NONE, 2, 8), id="ahead in the same epoch"),
        pytest.param(5, 1, (errors.NONE, 0, 5), id="an epoch that the leader never had"),
        pytest.param(8, 3, (errors.OFFSET_OUT_OF_RANGE, UNDEFINED, UNDEFINED), id="a later epoch"),
    ],
)
def test_each_fetch_tells_its_last_epoch_and_is_told_where_the_logs_part(
    fetch_offset: int, last_fetched_epoch: int, answer: tuple[int, int, int]
) -> None:
    """KIP-595."""
    leader = leader_with_two_epochs("2.8")
    told = diverging_epoch(
        leader.rules, leader.partition, leader.entries, fetch_offset, last_fetched_epoch
    )
    assert told == answer


@pytest.mark.parametrize(
    ("release", "checked"), [("2.7.1", False), ("2.7.2", True), ("2.8.0", False), ("2.8.1", True)]
)
def test_below_the_log_start_comes_before_divergence(release: str, checked: bool) -> None:
    """KAFKA-12996: told where the logs part instead, the follower's partition failed."""
    leader = leader_with_two_epochs(release)
    leader.is_elected([0], epochs_on=2)
    leader.appends(2)
    increment_log_start_offset(leader.partition, leader.runs, leader.entries, 6)
    fetch = (leader.rules, leader.partition, leader.entries)
    out_of_range = (errors.OFFSET_OUT_OF_RANGE, UNDEFINED, UNDEFINED)
    parted = (errors.NONE, 2, 8)
    assert diverging_epoch(*fetch, 5, 3) == (out_of_range if checked else parted)
    assert diverging_epoch(*fetch, 6, 3) == parted


@pytest.mark.parametrize(
    ("offset", "error"),
    [
        (1, errors.OFFSET_OUT_OF_RANGE),
        (2, errors.NONE),
        (10, errors.NONE),
        (11, errors.OFFSET_OUT_OF_RANGE),
    ],
)
def test_between_the_log_start_and_the_log_end_nothing_is_out_of_range(
    offset: int, error: int
) -> None:
    """Above the high watermark there is nothing to read for a consumer, but no error either."""
    log = with_fields(
        new_record(Partition), log_start_offset=2, log_end_offset=10, high_watermark=4
    )
    assert offset_error(log, offset) == error


def test_up_to_where_one_reads_depends_on_who_one_is() -> None:
    log = with_fields(new_record(Partition), log_end_offset=10, high_watermark=7)
    assert read_limit(log, FOLLOWER, last_stable_offset=5) == 10
    assert read_limit(log, READ_UNCOMMITTED, last_stable_offset=5) == 7
    assert read_limit(log, READ_COMMITTED, last_stable_offset=5) == 5


@pytest.mark.parametrize("reader", [READ_UNCOMMITTED, READ_COMMITTED])
@pytest.mark.parametrize(
    ("release", "answer"),
    [("2.1", (errors.NONE, 3)), ("2.2", (errors.OFFSET_NOT_AVAILABLE, UNDEFINED))],
)
def test_a_new_leader_makes_clients_wait_rather_than_go_back(
    release: str, answer: tuple[int, int], reader: int
) -> None:
    """KIP-207: the latest offset would be less than its predecessor had told."""
    leader = Leader(release, records=5)
    leader.partition.high_watermark = 3
    assert latest_offset(leader.rules, leader.partition, reader, 3) == answer
    assert latest_offset(leader.rules, leader.partition, FOLLOWER, 3) == (errors.NONE, 5)


def test_it_answers_again_once_its_high_watermark_has_reached_its_epoch() -> None:
    """KIP-207: the start of the epoch itself is enough."""
    leader = Leader("2.6", records=5)
    leader.appends(2)
    leader.partition.high_watermark = 5
    assert latest_offset(leader.rules, leader.partition, READ_UNCOMMITTED, 5) == (errors.NONE, 5)


#: (log start, log end, last caught up) of the followers in slots 1 and 2.
Views = tuple[tuple[int, int, int], tuple[int, int, int]]


def sent_to(
    views: Views,
    fetch_offset: int = 5,
    same_rack: tuple[int, ...] = (1, 2),
    release: str = "2.6",
    isr: tuple[int, ...] = (0, 1, 2),
) -> int:
    leader = Leader(release, records=10, isr=isr)
    for replica, (start, end, caught_up_ms) in enumerate(views, 1):
        with_fields(
            leader.followers[replica],
            log_start_offset=start,
            log_end_offset=end,
            last_caught_up_time_ms=caught_up_ms,
        )
    return preferred_read_replica(
        leader.rules, leader.partition, leader.followers, fetch_offset, pack(same_rack)
    )


@pytest.mark.parametrize(
    ("views", "replica"),
    [
        pytest.param(((0, 8, 100), (0, 9, 50)), 2, id="the longer log first"),
        pytest.param(((0, 9, 100), (0, 9, 50)), 1, id="then who was caught up later"),
        pytest.param(((0, 9, 100), (0, 9, 100)), 2, id="then the greater broker id"),
    ],
)
def test_a_consumer_is_sent_to_the_most_caught_up_replica_of_its_rack(
    views: Views, replica: int
) -> None:
    """KIP-392: the order of ReplicaView."""
    assert sent_to(views) == replica


@pytest.mark.parametrize(
    ("fetch_offset", "replica"),
    [
        pytest.param(5, 2, id="both have it"),
        pytest.param(9, 2, id="next to be written on 2"),
        pytest.param(3, 2, id="the first that 2 has"),
        pytest.param(2, 1, id="deleted on 2"),
        pytest.param(10, NO_REPLICA, id="nobody has it but the leader"),
    ],
)
def test_who_has_not_the_offset_is_no_choice(fetch_offset: int, replica: int) -> None:
    """KIP-392: else the consumer would be out of range there."""
    assert sent_to(((0, 8, 100), (3, 9, 100)), fetch_offset) == replica


@pytest.mark.parametrize(("release", "replica"), [("2.6", 2), ("3.3.1", 2), ("3.3.2", 1)])
def test_from_3_3_2_on_a_consumer_is_sent_to_members_of_the_isr_only(
    release: str, replica: int
) -> None:
    """KAFKA-14372: who is outside may lag far behind its high watermark."""
    views = ((0, 8, 100), (0, 9, 100))
    assert sent_to(views, release=release, isr=(0, 1)) == replica


def test_the_leader_serves_its_own_rack_and_those_who_have_no_replica_in_theirs() -> None:
    """KIP-392: RackAwareReplicaSelector."""
    views = ((0, 10, 100), (0, 10, 100))
    assert sent_to(views, same_rack=(2, 0)) == NO_REPLICA
    assert sent_to(views, same_rack=()) == NO_REPLICA
    assert sent_to(views, same_rack=(1,)) == 1
