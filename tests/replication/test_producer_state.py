"""Properties of what a replica knows of an idempotent producer (KIP-98, KIP-360)."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegauge.compiled.records import new_record, new_records
from tidegauge.replication import errors
from tidegauge.replication.producer_state import (
    LOST_SEQUENCE,
    MAX_SEQUENCE,
    NO_BATCH,
    RETAINED_BATCHES,
    append_batch,
    decrement_sequence,
    increment_sequence,
    truncate_producer_to,
    validate_batch,
)
from tidegauge.replication.records import BatchMetadata, ProducerStateEntry
from tidegauge.replication.releases import rules_of

#: Releases in which a batch is answered differently.
RELEASES = ["0.11", "1.0", "1.1", "2.3", "2.4", "2.6", "3.9"]

COUNTS = st.lists(st.integers(1, 40), min_size=1, max_size=12)
FIRST_SEQUENCES = st.sampled_from([0, 7, MAX_SEQUENCE - 60, MAX_SEQUENCE - 1, MAX_SEQUENCE])


class Log:
    """A log to which one producer writes."""

    def __init__(self, release: str = "2.6", base: int = 10) -> None:
        self.rules = rules_of(release)
        self.entry = new_record(ProducerStateEntry)
        self.batches = new_records(BatchMetadata, base + int(RETAINED_BATCHES))
        self.entry.first_batch = base
        self.log_end_offset = 100

    def validate(self, first: int, count: int, epoch: int = 0) -> tuple[int, int]:
        last = increment_sequence(first, count - 1)
        return validate_batch(self.rules, self.entry, self.batches, epoch, first, last)

    def append(self, first: int, count: int, epoch: int = 0) -> None:
        batch = new_record(BatchMetadata)
        batch.first_sequence = first
        batch.last_sequence = increment_sequence(first, count - 1)
        batch.base_offset = self.log_end_offset
        batch.last_offset = self.log_end_offset + count - 1
        append_batch(self.rules, self.entry, self.batches, epoch, batch)
        self.log_end_offset += count

    def append_in_order(self, first: int, counts: Iterable[int], epoch: int = 0) -> int:
        """Append batches of these sizes; the next sequence number."""
        for count in counts:
            self.append(first, count, epoch)
            first = increment_sequence(first, count)
        return first

    def known(self) -> tuple[int, ...]:
        """What decides about the next batch."""
        kept = [
            self.batches[self.entry.first_batch + (self.entry.oldest + number) % 5]
            for number in range(self.entry.batch_count)
        ]
        ring = [(int(one.first_sequence), int(one.base_offset)) for one in kept]
        return (
            int(self.entry.producer_epoch),
            int(self.entry.last_sequence),
            *(number for batch in ring for number in batch),
        )


@settings(max_examples=100, deadline=None)
@given(first=st.integers(0, MAX_SEQUENCE), by=st.integers(0, MAX_SEQUENCE))
def test_sequence_numbers_wrap_around_and_back(first: int, by: int) -> None:
    later = increment_sequence(first, by)
    assert later == (first + by) % 2**31
    assert decrement_sequence(later, by) == first


@pytest.mark.parametrize("release", RELEASES)
@settings(max_examples=40, deadline=None)
@given(first=FIRST_SEQUENCES, counts=COUNTS)
def test_batches_in_order_are_accepted_also_over_the_largest_sequence_number(
    release: str, first: int, counts: list[int]
) -> None:
    log = Log(release)
    log.append(decrement_sequence(first, 1), 1)
    for count in counts:
        assert log.validate(first, count) == (errors.NONE, NO_BATCH)
        log.append(first, count)
        first = increment_sequence(first, count)


@settings(max_examples=60, deadline=None)
@given(first=FIRST_SEQUENCES, counts=COUNTS, back=st.integers(1, 12))
def test_a_batch_of_the_last_five_is_a_duplicate_and_an_older_one_out_of_order(
    first: int, counts: list[int], back: int
) -> None:
    log = Log()
    following = log.append_in_order(first, counts)
    back = min(back, len(counts))
    repeated = decrement_sequence(following, sum(counts[-back:]))
    error, place = log.validate(repeated, counts[-back])
    if back <= RETAINED_BATCHES:
        assert error == errors.NONE
        assert log.batches[place].base_offset == log.log_end_offset - sum(counts[-back:])
    else:
        assert (error, place) == (errors.OUT_OF_ORDER_SEQUENCE_NUMBER, NO_BATCH)


@settings(max_examples=60, deadline=None)
@given(counts=COUNTS, gap=st.integers(1, 1000))
def test_a_gap_is_out_of_order(counts: list[int], gap: int) -> None:
    log = Log()
    following = log.append_in_order(0, counts)
    assert log.validate(following + gap, 1) == (errors.OUT_OF_ORDER_SEQUENCE_NUMBER, NO_BATCH)


@settings(max_examples=80, deadline=None)
@given(counts=st.lists(st.integers(1, 40), min_size=1, max_size=5), cut=st.integers(0, 200))
def test_a_truncated_batch_was_never_appended(counts: list[int], cut: int) -> None:
    """A batch is cut off as a whole if its last record is."""
    log, never = Log(), Log()
    offset = log.log_end_offset + cut
    log.append_in_order(0, counts)
    first = 0
    for count in counts:
        if never.log_end_offset + count > offset:
            break
        never.append(first, count)
        first = increment_sequence(first, count)
    truncate_producer_to(log.entry, log.batches, offset)
    assert log.known() == never.known()


@settings(max_examples=80, deadline=None)
@given(counts=st.lists(st.integers(1, 40), min_size=6, max_size=12), back=st.integers(1, 12))
def test_after_a_truncation_of_up_to_five_batches_the_next_sequence_number_is_known(
    counts: list[int], back: int
) -> None:
    """Before those that are remembered one more is known by its end; then any number is taken."""
    log = Log()
    log.append_in_order(0, counts)
    back = min(back, len(counts))
    truncate_producer_to(log.entry, log.batches, log.log_end_offset - sum(counts[-back:]))
    following = sum(counts[:-back])
    assert log.validate(following, 1) == (errors.NONE, NO_BATCH)
    if back <= RETAINED_BATCHES:
        assert log.validate(following + 1, 1) == (errors.OUT_OF_ORDER_SEQUENCE_NUMBER, NO_BATCH)
    else:
        assert log.entry.last_sequence == LOST_SEQUENCE


def test_a_truncation_before_a_new_epoch_brings_back_the_epoch_before_it() -> None:
    log = Log()
    log.append_in_order(0, [3, 4])
    log.append(0, 5, epoch=1)
    assert log.validate(7, 1) == (errors.INVALID_PRODUCER_EPOCH, NO_BATCH)
    truncate_producer_to(log.entry, log.batches, 107)
    assert log.validate(7, 1) == (errors.NONE, NO_BATCH)
    assert log.validate(0, 5, epoch=1) == (errors.NONE, NO_BATCH)
    assert log.validate(8, 1) == (errors.OUT_OF_ORDER_SEQUENCE_NUMBER, NO_BATCH)


def test_two_producers_share_an_array_of_batches() -> None:
    one, other = Log(base=0), Log(base=5)
    other.batches = one.batches = new_records(BatchMetadata, 10)
    for number in range(7):
        one.append(number, 1)
        other.append(10 * number, 10)
    assert one.validate(6, 1) == (errors.NONE, 1)
    assert other.validate(60, 10) == (errors.NONE, 6)
    assert one.validate(60, 10)[0] == errors.OUT_OF_ORDER_SEQUENCE_NUMBER
