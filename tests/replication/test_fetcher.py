"""A follower's fetcher about one partition: what it does on an answer, an error, a failure."""

from __future__ import annotations

import pytest

from replication_stories import with_fields
from tidegauge.compiled.records import new_record
from tidegauge.replication import errors
from tidegauge.replication.fetcher import (
    FETCHING,
    KEEP_LOG,
    NOT_FETCHED,
    STOP_BROKER,
    TRUNCATE_FULLY_AND_START_AT,
    TRUNCATE_TO,
    TRUNCATING,
    add_partition,
    complete_truncation,
    delay_partition,
    fetch_offset_and_truncate,
    handle_append_failure,
    handle_fetch_error,
    leader_epoch_of_fetch,
    mark_partition_failed,
    restart_at,
    take_records,
    takes_response,
)
from tidegauge.replication.records import PartitionFetchState
from tidegauge.replication.releases import rules_of
from tidegauge.replication.truncation import leader_epoch_of_epoch_request

UNKNOWN = -1


def fetching(offset: int = 7, leader_epoch: int = 3) -> PartitionFetchState:
    return with_fields(
        new_record(PartitionFetchState),
        state=FETCHING,
        fetch_offset=offset,
        current_leader_epoch=leader_epoch,
        last_fetched_epoch=2,
    )


@pytest.mark.parametrize(
    ("release", "protocol", "own_epoch", "state", "last_fetched_epoch"),
    [
        ("1.1", None, 2, TRUNCATING, UNKNOWN),
        ("2.6", None, 2, TRUNCATING, UNKNOWN),
        ("2.7", None, 2, TRUNCATING, UNKNOWN),
        ("2.8", None, 2, FETCHING, 2),
        ("2.8", "2.6", 2, TRUNCATING, UNKNOWN),
        ("2.8", None, UNKNOWN, TRUNCATING, UNKNOWN),
        ("3.9", None, 2, FETCHING, 2),
    ],
)
def test_a_partition_begins_truncating_unless_each_fetch_tells_its_epoch(
    release: str, protocol: str | None, own_epoch: int, state: int, last_fetched_epoch: int
) -> None:
    """KIP-595: the follower of 2.8 needs no round of its own to find out."""
    fetch = new_record(PartitionFetchState)
    add_partition(rules_of(release, protocol), fetch, 7, 3, own_epoch)
    assert fetch.state == state
    assert fetch.last_fetched_epoch == last_fetched_epoch
    assert fetch.fetch_offset == 7
    assert fetch.current_leader_epoch == 3


@pytest.mark.parametrize(("leader_epoch", "offset"), [(3, 7), (4, 5)])
def test_in_the_same_leader_epoch_a_partition_goes_on_as_it_was(
    leader_epoch: int, offset: int
) -> None:
    """KIP-320: nothing can have been truncated on the leader within one term."""
    fetch = fetching(offset=7, leader_epoch=3)
    add_partition(rules_of("2.6"), fetch, 5, leader_epoch, latest_epoch=2)
    assert fetch.fetch_offset == offset


def test_a_partition_that_is_not_fetched_begins_anew_even_in_the_same_epoch() -> None:
    """The fetcher was stopped in between."""
    fetch = fetching()
    mark_partition_failed(rules_of("2.6"), fetch)
    add_partition(rules_of("2.6"), fetch, 5, 3, latest_epoch=2)
    assert fetch.state == TRUNCATING
    assert fetch.fetch_offset == 5


def test_a_leader_and_isr_brings_a_failed_partition_back() -> None:
    """KIP-461: a partition leaves failedPartitions when it is added again."""
    fetch = fetching()
    mark_partition_failed(rules_of("2.6"), fetch)
    assert (fetch.state, fetch.failed) == (NOT_FETCHED, True)
    add_partition(rules_of("2.6"), fetch, 5, 4, latest_epoch=2)
    assert (fetch.state, fetch.failed) == (TRUNCATING, False)


def test_a_leader_and_isr_ends_a_delay() -> None:
    fetch = fetching()
    delay_partition(fetch)
    add_partition(rules_of("2.6"), fetch, 5, 4, latest_epoch=2)
    assert not fetch.delayed


@pytest.mark.parametrize(
    ("release", "error", "state", "failed", "delayed"),
    [
        ("1.1", errors.CORRUPT_MESSAGE, FETCHING, False, True),
        ("2.6", errors.CORRUPT_MESSAGE, FETCHING, False, True),
        ("1.1", errors.KAFKA_STORAGE_ERROR, FETCHING, False, True),
        ("2.2", errors.KAFKA_STORAGE_ERROR, FETCHING, False, True),
        ("2.3", errors.KAFKA_STORAGE_ERROR, NOT_FETCHED, True, False),
        ("2.2", errors.UNKNOWN_SERVER_ERROR, NOT_FETCHED, False, False),
        ("2.3", errors.UNKNOWN_SERVER_ERROR, NOT_FETCHED, True, False),
    ],
)
def test_what_was_fetched_cannot_be_appended(
    release: str, error: int, state: int, failed: bool, delayed: bool
) -> None:
    """KIP-461: from 2.3 on the partition fails, before it came back or took the thread along."""
    fetch = fetching()
    handle_append_failure(rules_of(release), fetch, error)
    assert (fetch.state, fetch.failed, fetch.delayed) == (state, failed, delayed)


@pytest.mark.parametrize(
    "error",
    [
        errors.NOT_LEADER_OR_FOLLOWER,
        errors.UNKNOWN_LEADER_EPOCH,
        errors.UNKNOWN_TOPIC_OR_PARTITION,
        errors.KAFKA_STORAGE_ERROR,
    ],
    ids=lambda error: errors.NAMES[int(error)],
)
@pytest.mark.parametrize("release", ["0.10.2", "2.1", "3.9"])
def test_an_error_of_the_leader_delays_its_partition_alone(release: str, error: int) -> None:
    fetch = fetching()
    handle_fetch_error(rules_of(release), fetch, error, requested_in_epoch=3)
    assert fetch.state == FETCHING
    assert fetch.delayed


@pytest.mark.parametrize(
    ("release", "state", "failed"),
    [("2.2", NOT_FETCHED, False), ("2.4", NOT_FETCHED, True), ("2.5", FETCHING, False)],
)
def test_a_fetch_of_an_epoch_of_the_past_is_fenced(release: str, state: int, failed: bool) -> None:
    """KAFKA-9654: up to 2.4 the partition was given up although it knew the new epoch."""
    fetch = fetching(leader_epoch=4)
    handle_fetch_error(rules_of(release), fetch, errors.FENCED_LEADER_EPOCH, requested_in_epoch=3)
    assert (fetch.state, fetch.failed) == (state, failed)
    assert fetch.delayed == (state == FETCHING)


@pytest.mark.parametrize(
    ("release", "protocol", "of_fetch", "of_epoch_request"),
    [
        *[("2.0", None, -1, -1), ("2.1", "2.1-IV0", -1, -1), ("2.1", "2.1-IV1", -1, 3)],
        *[("2.1", "2.1-IV2", 3, 3), ("3.9", None, 3, 3), ("3.9", "2.0", -1, -1)],
    ],
)
def test_which_requests_are_made_in_the_followers_leader_epoch(
    release: str, protocol: str | None, of_fetch: int, of_epoch_request: int
) -> None:
    """KIP-320: fetches one internal version later than OffsetsForLeaderEpoch."""
    rules, fetch = rules_of(release, protocol), fetching(leader_epoch=3)
    assert leader_epoch_of_fetch(rules, fetch) == of_fetch
    assert leader_epoch_of_epoch_request(rules, fetch) == of_epoch_request


def test_success_is_no_error() -> None:
    fetch = fetching()
    handle_fetch_error(rules_of("2.6"), fetch, errors.NONE, requested_in_epoch=3)
    assert fetch.state == FETCHING
    assert not fetch.delayed


def test_a_response_is_taken_only_if_the_partition_still_waits_for_it() -> None:
    """It may have been truncated, delayed, removed or moved on while the request was away."""
    rules = rules_of("4.4")
    assert takes_response(rules, fetching(offset=7), 7, requested_in_epoch=3)
    assert not takes_response(rules, fetching(offset=6), 7, requested_in_epoch=3)
    truncating = with_fields(fetching(), state=TRUNCATING)
    assert not takes_response(rules, truncating, 7, requested_in_epoch=3)
    removed = with_fields(fetching(), state=NOT_FETCHED)
    assert not takes_response(rules, removed, 7, requested_in_epoch=3)
    delayed = fetching()
    delay_partition(delayed)
    assert not takes_response(rules, delayed, 7, requested_in_epoch=3)


@pytest.mark.parametrize("release", ["3.9.0", "3.9.1", "3.9.2", "4.0.0", "4.0.1", "4.1.0", "4.4"])
def test_a_response_of_another_leader_epoch_is_ignored_by_release(release: str) -> None:
    """KAFKA-18723: in 3.9.1, 4.0.1 and 4.1.0, not in 4.0.0; be its epoch earlier or later."""
    rules = rules_of(release)
    is_taken = release in {"3.9.0", "4.0.0"}
    for epoch in (2, 4):
        assert takes_response(rules, fetching(offset=7), 7, requested_in_epoch=epoch) == is_taken
    assert takes_response(rules, fetching(offset=7), 7, requested_in_epoch=3)
    # A fetch of a protocol before 2.1-IV2 names no epoch.
    assert takes_response(rules, fetching(offset=7), 7, requested_in_epoch=UNKNOWN)


@pytest.mark.parametrize(
    ("release", "settled", "state"),
    [
        *[("2.6", True, FETCHING), ("2.6", False, TRUNCATING)],
        *[("3.9", True, FETCHING), ("3.9", False, FETCHING)],
    ],
)
def test_after_a_truncation(release: str, settled: bool, state: int) -> None:
    """KIP-279 asks again; with truncation on fetch (KIP-595) the next fetch does."""
    fetch = with_fields(fetching(), state=TRUNCATING)
    complete_truncation(rules_of(release), fetch, 4, settled, latest_epoch=1)
    assert fetch.state == state
    assert fetch.fetch_offset == 4
    assert fetch.last_fetched_epoch == 1


@pytest.mark.parametrize(
    ("leader_log", "action", "offset"),
    [
        pytest.param((0, 9), TRUNCATE_TO, 9, id="the leader's log is shorter"),
        pytest.param((12, 20), TRUNCATE_FULLY_AND_START_AT, 12, id="it begins above"),
        pytest.param((10, 20), KEEP_LOG, 10, id="it begins exactly here"),
        pytest.param((0, 10), KEEP_LOG, 10, id="it ends exactly here"),
        pytest.param((0, 20), KEEP_LOG, 10, id="it has grown since"),
    ],
)
def test_out_of_range(leader_log: tuple[int, int], action: int, offset: int) -> None:
    """A follower with 10 records asks for the leader's end, then for its start."""
    rules = rules_of("2.6")
    assert fetch_offset_and_truncate(rules, 10, *leader_log, False) == (action, offset)


@pytest.mark.parametrize(
    ("release", "unclean", "action"),
    [
        *[("0.10.2", False, STOP_BROKER), ("2.0.0", False, STOP_BROKER)],
        *[("2.0.0", True, TRUNCATE_TO), ("2.0.1", False, TRUNCATE_TO)],
    ],
)
def test_up_to_2_0_0_a_follower_ahead_of_its_leader_stopped_its_broker(
    release: str, unclean: bool, action: int
) -> None:
    """KAFKA-7414: without unclean elections this was thought to be impossible."""
    decision, _ = fetch_offset_and_truncate(rules_of(release), 10, 0, 9, unclean)
    assert decision == action


def test_up_to_2_0_0_it_lives_on_if_it_is_not_ahead() -> None:
    """Only a leader's end below the own one is fatal, a start above it is not."""
    action, offset = fetch_offset_and_truncate(rules_of("2.0.0"), 10, 12, 20, False)
    assert (action, offset) == (TRUNCATE_FULLY_AND_START_AT, 12)


def test_back_in_range_it_fetches_at_once() -> None:
    fetch = fetching()
    delay_partition(fetch)
    restart_at(fetch, 12, latest_epoch=UNKNOWN)
    assert takes_response(rules_of("2.6"), fetch, 12, requested_in_epoch=3)
    assert fetch.last_fetched_epoch == UNKNOWN


@pytest.mark.parametrize(
    ("release", "epoch"), [("2.8", 4), ("3.5.0", 4), ("3.5.1", -1), ("3.6", -1), ("3.7", 4)]
)
def test_the_first_response_without_records_can_make_a_follower_forget_its_epoch(
    release: str, epoch: int
) -> None:
    """KAFKA-15510: its next fetch is then not checked for divergence."""
    rules = rules_of(release)
    fetch = new_record(PartitionFetchState)
    add_partition(rules, fetch, 10, 5, 4)
    take_records(rules, fetch, 10, -1)
    assert fetch.last_fetched_epoch == epoch
    take_records(rules, fetch, 12, 5)
    take_records(rules, fetch, 12, -1)
    assert (fetch.fetch_offset, fetch.last_fetched_epoch) == (12, 5)
