"""The leader-epoch cache: what its generations accept, forget and answer."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegauge.compiled.records import Records, new_records
from tidegauge.replication.leader_epoch_cache import (
    assign,
    end_offset_for,
    entry_for_epoch,
    entry_for_offset,
    is_valid_entry,
    latest_epoch,
    load,
    next_entry,
    previous_entry,
    truncate_from_end,
    truncate_from_start,
)
from tidegauge.replication.records import EpochEntry
from tidegauge.replication.releases import rules_of

Pairs = list[tuple[int, int]]
UNKNOWN = (-1, -1)

#: A release of each generation.
GENERATIONS = ["1.1", "2.0.0", "2.6", "3.9"]


def entries_of(pairs: Iterable[tuple[int, int]]) -> tuple[Records[EpochEntry], int]:
    """An array of these (epoch, start offset), with some room, and how many they are."""
    listed = list(pairs)
    entries = new_records(EpochEntry, len(listed) + 4)
    for index, (epoch, start_offset) in enumerate(listed):
        entries[index].epoch = epoch
        entries[index].start_offset = start_offset
    return entries, len(listed)


def pairs_of(entries: Records[EpochEntry], count: int) -> Pairs:
    return [(int(entries[i].epoch), int(entries[i].start_offset)) for i in range(count)]


def assigned(release: str, pairs: Pairs, epoch: int, start_offset: int) -> Pairs:
    entries, count = entries_of(pairs)
    count = assign(rules_of(release), entries, count, epoch, start_offset)
    return pairs_of(entries, count)


@pytest.mark.parametrize("release", GENERATIONS)
def test_the_first_epoch_may_be_any(release: str) -> None:
    assert assigned(release, [], 0, 0) == [(0, 0)]
    assert assigned(release, [], 7, 20) == [(7, 20)]


@pytest.mark.parametrize(
    ("release", "cache"),
    [
        ("1.1", [(1, 5), (2, 5)]),
        ("2.0.0", [(1, 5), (2, 5)]),
        ("2.0.1", [(2, 5)]),
        ("3.9", [(2, 5)]),
    ],
)
def test_two_epochs_that_start_at_one_offset(release: str, cache: Pairs) -> None:
    """KAFKA-7415: the earlier one has written nothing, and is not kept any more."""
    assert assigned(release, [(1, 5)], 2, 5) == cache


@pytest.mark.parametrize("release", GENERATIONS)
def test_an_epoch_is_entered_with_its_first_batch_only(release: str) -> None:
    assert assigned(release, [(1, 5)], 2, 8) == [(1, 5), (2, 8)]
    assert assigned(release, [(1, 5), (2, 8)], 2, 9) == [(1, 5), (2, 8)]


@pytest.mark.parametrize(
    ("release", "cache"),
    [
        ("1.1", [(0, 0), (3, 10), (5, 20)]),
        ("2.0.0", [(0, 0), (3, 10), (5, 20)]),
        ("2.0.1", [(0, 0), (6, 7)]),
        ("3.9", [(0, 0), (6, 7)]),
    ],
)
def test_a_later_epoch_that_starts_earlier(release: str, cache: Pairs) -> None:
    """KAFKA-7415: the latest append is right, and what contradicts it goes."""
    assert assigned(release, [(0, 0), (3, 10), (5, 20)], 6, 7) == cache


@pytest.mark.parametrize(
    ("release", "cache"), [("2.0.0", [(1, 5), (4, 9)]), ("2.0.1", [(1, 5), (2, 9)])]
)
def test_an_older_epoch_at_the_log_end(release: str, cache: Pairs) -> None:
    """Up to 2.0.0 it is ignored; from 2.0.1 on it takes the place of the newer ones."""
    assert assigned(release, [(1, 5), (4, 9)], 2, 9) == cache


@pytest.mark.parametrize(
    ("release", "epoch", "start_offset", "valid"),
    [
        *[("1.1", 0, 0, True), ("1.1", -1, 0, False), ("2.6", 0, -1, True)],
        *[("2.7", 0, -1, False), ("3.9", -1, 0, False), ("3.9", 0, 0, True)],
    ],
)
def test_what_is_no_epoch_entry(release: str, epoch: int, start_offset: int, valid: bool) -> None:
    """Kafka throws an exception; a negative start offset is refused from 2.7 on."""
    assert is_valid_entry(rules_of(release), epoch, start_offset) == valid


@pytest.mark.parametrize(("release", "cache"), [("2.6", [(0, 0), (4, 9), (2, 5)]), ("2.7", None)])
def test_a_checkpoint_out_of_order_is_mended_from_2_7_on(release: str, cache: Pairs | None) -> None:
    checkpoint, count = entries_of([(0, 0), (4, 9), (2, 5)])
    entries, _ = entries_of([])
    entries_used = load(rules_of(release), checkpoint, count, entries)
    assert pairs_of(entries, entries_used) == (cache or [(0, 0), (2, 5)])


@pytest.mark.parametrize("release", ["0.11.0.2", "1.1.0"])
def test_an_empty_cache_took_its_log_end_for_the_end_of_epoch_minus_1(release: str) -> None:
    """KAFKA-6857: a follower with an empty cache asks so, and was told to keep everything."""
    entries, count = entries_of([])
    assert end_offset_for(rules_of(release), entries, count, 30, -1) == (-1, 30)


@pytest.mark.parametrize("release", ["1.1.1", "2.0.0", "2.6", "3.9"])
def test_epoch_minus_1_is_undefined_since_then(release: str) -> None:
    """KAFKA-6857."""
    for pairs in ([], [(0, 0), (1, 7)]):
        entries, count = entries_of(pairs)
        assert end_offset_for(rules_of(release), entries, count, 30, -1) == UNKNOWN


@pytest.mark.parametrize(
    ("release", "answer"),
    [("1.1", (-1, 20)), ("2.0.0", (3, 20)), ("2.6", (3, 20)), ("3.9", (3, 20))],
)
def test_a_request_between_two_epochs_is_answered_with_the_lower_one_since_kip_279(
    release: str, answer: tuple[int, int]
) -> None:
    """Without the epoch the follower cannot see that the leader has never had its own one."""
    entries, count = entries_of([(3, 10), (6, 20)])
    assert end_offset_for(rules_of(release), entries, count, 30, 4) == answer


@pytest.mark.parametrize(
    ("release", "answer"),
    [("1.1", UNKNOWN), ("2.0.0", UNKNOWN), ("2.0.1", (2, 10)), ("3.9", (2, 10))],
)
def test_an_epoch_below_all_ends_at_the_log_start_since_2_0_1(
    release: str, answer: tuple[int, int]
) -> None:
    """Its records have been deleted here; undefined would have sent the follower to its HW."""
    entries, count = entries_of([(3, 10), (6, 20)])
    assert end_offset_for(rules_of(release), entries, count, 30, 2) == answer


@pytest.mark.parametrize("release", ["2.0.1", "2.6", "3.9"])
@settings(deadline=None)
@given(
    steps=st.lists(st.tuples(st.integers(1, 3), st.integers(1, 5)), min_size=1, max_size=6),
    requested=st.integers(0, 20),
)
def test_an_answer_never_tells_of_a_later_epoch_than_was_asked_for(
    release: str, steps: Pairs, requested: int
) -> None:
    """... and lies where that epoch, or the next one known, begins or ends."""
    pairs, epoch, offset = [], 0, 0
    for epochs_on, records in steps:
        epoch, offset = epoch + epochs_on, offset + records
        pairs.append((epoch, offset))
    entries, count = entries_of(pairs)
    found, end = end_offset_for(rules_of(release), entries, count, offset + 3, requested)
    if requested > epoch:
        assert (found, end) == UNKNOWN
    else:
        assert found <= requested
        assert end == min([start for e, start in pairs if e > requested] or [offset + 3])


def test_truncation_forgets_the_epochs_that_start_at_the_new_log_end() -> None:
    entries, count = entries_of([(0, 0), (1, 5), (2, 8)])
    assert truncate_from_end(entries, count, 9) == 3
    assert truncate_from_end(entries, count, 8) == 2
    assert truncate_from_end(entries, count, 0) == 0
    assert truncate_from_end(entries, count, -1) == 3


@pytest.mark.parametrize(
    ("start", "cache"),
    [
        (0, [(0, 0), (1, 5), (2, 8)]),
        (4, [(0, 4), (1, 5), (2, 8)]),
        (5, [(1, 5), (2, 8)]),
        (7, [(1, 7), (2, 8)]),
        (20, [(2, 20)]),
    ],
)
def test_the_epoch_that_reaches_across_the_log_start_begins_there(start: int, cache: Pairs) -> None:
    entries, count = entries_of([(0, 0), (1, 5), (2, 8)])
    assert pairs_of(entries, truncate_from_start(entries, count, start)) == cache


@pytest.mark.parametrize("start", [0, 3])
def test_a_log_start_at_or_below_the_first_epoch_changes_nothing(start: int) -> None:
    entries, count = entries_of([(1, 3), (2, 8)])
    assert pairs_of(entries, truncate_from_start(entries, count, start)) == [(1, 3), (2, 8)]


def test_neighbours_of_an_epoch_and_of_an_offset() -> None:
    """nextEpoch, previousEpoch, epochEntry and epochForOffset, as indices."""
    entries, count = entries_of([(2, 10), (4, 20), (7, 30)])
    assert [next_entry(entries, count, epoch) for epoch in (1, 2, 5, 7)] == [0, 1, 2, 3]
    assert [previous_entry(entries, count, epoch) for epoch in (2, 3, 7, 9)] == [-1, 0, 1, 2]
    assert [entry_for_epoch(entries, count, epoch) for epoch in (1, 2, 3, 7)] == [-1, 0, -1, 2]
    assert [entry_for_offset(entries, count, o) for o in (9, 10, 19, 20, 99)] == [-1, 0, 0, 1, 2]
    assert latest_epoch(entries, count) == 7
    assert latest_epoch(entries, 0) == -1
