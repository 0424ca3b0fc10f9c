"""How a follower finds out where its log leaves the leader's, in five generations."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replication_stories import with_fields
from tidegauge.compiled.records import new_record
from tidegauge.replication import errors
from tidegauge.replication.records import Partition, PartitionFetchState
from tidegauge.replication.releases import rules_of
from tidegauge.replication.truncation import (
    DROP_ANSWER,
    PARTITION_FENCED,
    RETRY_AFTER_BACKOFF,
    TAKE_ANSWER,
    asks_for_epoch_end,
    epoch_answer_action,
    fallback_offset,
    initial_fetch_offset,
    is_fenced,
    offset_truncation_state,
)

UNDEFINED = -1


def follower(epochs: int = 1) -> Partition:
    """Ten records, of which it knows six to be committed."""
    return with_fields(
        new_record(Partition), log_end_offset=10, high_watermark=6, epoch_count=epochs
    )


@pytest.mark.parametrize(
    ("release", "protocol", "offset"),
    [
        *[("0.10.2", None, 10), ("1.0", None, 10), ("1.1", None, 6), ("2.6", None, 6)],
        *[("2.7", None, 6), ("2.8", None, 10), ("2.8", "2.6", 6), ("3.9", None, 10)],
    ],
)
def test_with_which_offset_a_partition_is_handed_to_the_fetcher(
    release: str, protocol: str | None, offset: int
) -> None:
    """KIP-113 made it the high watermark; with truncation on fetch it is the log end again."""
    assert initial_fetch_offset(rules_of(release, protocol), follower()) == offset


def test_with_truncation_on_fetch_a_log_without_epochs_starts_at_its_high_watermark() -> None:
    """KIP-595: it has no epoch to tell, so the leader could not see where it diverges."""
    assert initial_fetch_offset(rules_of("2.8"), follower(epochs=0)) == 6


@pytest.mark.parametrize(
    ("release", "protocol", "with_epochs", "without"),
    [
        ("0.10.2", None, False, False),
        ("2.6", "0.10.2", False, False),
        ("1.1", None, True, True),
        ("2.0", None, True, True),
        ("2.1.0", None, True, True),
        ("2.1.1", None, True, False),
        ("3.9", "2.6", True, False),
    ],
)
def test_who_asks_where_an_epoch_ended(
    release: str, protocol: str | None, with_epochs: bool, without: bool
) -> None:
    """Up to 2.1.0 an empty cache asks for epoch -1, to be told that nobody knows."""
    rules = rules_of(release, protocol)
    assert asks_for_epoch_end(rules, follower()) == with_epochs
    assert asks_for_epoch_end(rules, follower(epochs=0)) == without


@pytest.mark.parametrize(("release", "fallback"), [("0.11", 6), ("1.0", 6), ("1.1", 4), ("2.6", 4)])
def test_the_fallback_is_the_high_watermark_of_when_it_was_told_to_follow(
    release: str, fallback: int
) -> None:
    """From 1.1 on; before, the one at the time of the answer. Here it rose from 4 to 6."""
    rules = rules_of(release)
    fetch = with_fields(new_record(PartitionFetchState), fetch_offset=4)
    assert fallback_offset(rules, follower(), fetch) == fallback


def test_kip_279_two_rounds_where_kip_101_has_one() -> None:
    """The leader has never seen epoch 2 and answers with epoch 1, which ended at 3 there.

    The follower knows epochs 0 and 2: it cuts to the end of 0 and asks again. With an answer
    that carries no epoch it would have cut to 3 at once, and kept a record of epoch 2.
    """
    assert offset_truncation_state(1, 3, 0, 2, 5, fallback_offset=0) == (2, False)
    assert offset_truncation_state(UNDEFINED, 3, 0, 2, 5, fallback_offset=0) == (3, True)


@pytest.mark.parametrize(("leaders_end", "own_end", "offset"), [(3, 4, 3), (4, 3, 3), (9, 9, 5)])
def test_of_an_epoch_that_both_have_they_keep_what_both_have(
    leaders_end: int, own_end: int, offset: int
) -> None:
    told = offset_truncation_state(1, leaders_end, 1, own_end, 5, fallback_offset=0)
    assert told == (offset, True)


@settings(deadline=None)
@given(
    answer=st.tuples(st.integers(-1, 5), st.integers(-1, 20)),
    own=st.tuples(st.integers(-1, 5), st.integers(-1, 20)),
    log_end=st.integers(0, 20),
)
def test_truncation_never_lengthens_a_log_and_an_answer_without_epoch_settles_it(
    answer: tuple[int, int], own: tuple[int, int], log_end: int
) -> None:
    epoch, end = answer
    offset, settled = offset_truncation_state(*answer, *own, log_end, fallback_offset=log_end)
    assert 0 <= offset <= log_end
    if epoch == UNDEFINED or own[1] == UNDEFINED or end == UNDEFINED:
        assert settled
    elif settled:
        assert offset <= end


@pytest.mark.parametrize(
    ("release", "action"), [("2.1.0", TAKE_ANSWER), ("2.1.1", DROP_ANSWER), ("3.9", DROP_ANSWER)]
)
def test_an_answer_that_was_asked_for_in_another_epoch(release: str, action: int) -> None:
    """KAFKA-7786: meanwhile a LeaderAndIsr has come, the answer is about another term."""
    rules = rules_of(release)
    assert epoch_answer_action(rules, errors.NONE, 5, 6) == action
    assert epoch_answer_action(rules, errors.NONE, 6, 6) == TAKE_ANSWER


@pytest.mark.parametrize("release", ["0.11", "1.1", "2.1", "2.6"])
@pytest.mark.parametrize(
    "error",
    [
        errors.UNKNOWN_LEADER_EPOCH,
        errors.NOT_LEADER_OR_FOLLOWER,
        errors.UNKNOWN_TOPIC_OR_PARTITION,
        errors.KAFKA_STORAGE_ERROR,
    ],
    ids=lambda error: errors.NAMES[int(error)],
)
def test_other_errors_pass(release: str, error: int) -> None:
    """The leader does not know its term yet, or any more: ask again after the back-off."""
    assert epoch_answer_action(rules_of(release), error, 5, 5) == RETRY_AFTER_BACKOFF


def test_fenced_in_the_current_epoch_it_waits_for_the_next_leader_and_isr() -> None:
    """KIP-320: the leader is further than this follower, which will be told."""
    for release in ("2.1", "2.4", "2.5", "3.9"):
        action = epoch_answer_action(rules_of(release), errors.FENCED_LEADER_EPOCH, 5, 5)
        assert action == PARTITION_FENCED


@pytest.mark.parametrize(("release", "fenced"), [("2.1", True), ("2.4", True), ("2.5", False)])
def test_fenced_in_an_epoch_of_the_past(release: str, fenced: bool) -> None:
    """KAFKA-9654: the LeaderAndIsr that it would wait for has come already."""
    assert is_fenced(rules_of(release), in_current_epoch=False) == fenced
