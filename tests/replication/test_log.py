"""A replica's log: appending, cutting at either end, opening it again, comparing two."""

from __future__ import annotations

import pytest

from tidegauge.compiled.records import Records, new_record, new_records
from tidegauge.replication.log import (
    append,
    epoch_at,
    first_difference,
    increment_log_start_offset,
    open_log,
    truncate_fully_and_start_at,
    truncate_to,
)
from tidegauge.replication.records import EpochEntry, Partition
from tidegauge.replication.releases import rules_of

Pairs = list[tuple[int, int]]


class Log:
    """A replica's log of one release, with runs of (leader epoch, number of records)."""

    def __init__(self, release: str, runs: Pairs, protocol: str | None = None) -> None:
        self.rules = rules_of(release, protocol)
        self.partition = new_record(Partition)
        self.runs, self.entries = new_records(EpochEntry, 16), new_records(EpochEntry, 16)
        for epoch, records in runs:
            self.append(epoch, records)
        self.partition.high_watermark = self.partition.log_end_offset

    def append(self, epoch: int, records: int) -> int:
        return append(self.rules, self.partition, self.runs, self.entries, epoch, records)

    def truncate_to(self, offset: int) -> int:
        return truncate_to(self.rules, self.partition, self.runs, self.entries, offset)

    def delete_records_below(self, offset: int) -> None:
        increment_log_start_offset(self.partition, self.runs, self.entries, offset)

    def enter_epoch(self, epoch: int, start_offset: int) -> None:
        """A new leader's entry in the cache, with no record yet."""
        self.entries[self.partition.epoch_count].epoch = epoch
        self.entries[self.partition.epoch_count].start_offset = start_offset
        self.partition.epoch_count += 1

    def restart(self, high_watermark: int, checkpoint: Pairs) -> None:
        on_disk = new_records(EpochEntry, len(checkpoint) + 1)
        for index, (epoch, start_offset) in enumerate(checkpoint):
            on_disk[index].epoch = epoch
            on_disk[index].start_offset = start_offset
        partition, count = self.partition, len(checkpoint)
        open_log(self.rules, partition, on_disk, count, self.entries, high_watermark)

    def difference(self, other: Log) -> int:
        return first_difference(self.partition, self.runs, other.partition, other.runs)

    @property
    def cache(self) -> Pairs:
        return pairs(self.entries, self.partition.epoch_count)

    @property
    def content(self) -> Pairs:
        return pairs(self.runs, self.partition.run_count)

    @property
    def ends(self) -> tuple[int, int]:
        return self.partition.log_start_offset, self.partition.log_end_offset


def pairs(entries: Records[EpochEntry], count: int) -> Pairs:
    return [(int(entries[i].epoch), int(entries[i].start_offset)) for i in range(count)]


def test_batches_of_one_epoch_make_one_run() -> None:
    log = Log("2.6", [(0, 3), (0, 2)])
    assert log.append(4, 1) == 5
    assert log.content == log.cache == [(0, 0), (4, 5)]
    assert log.ends == (0, 6)


@pytest.mark.parametrize(("release", "protocol"), [("0.10.2", None), ("2.6", "0.10.2")])
def test_where_records_carry_no_epoch_the_truth_is_known_but_not_to_the_protocol(
    release: str, protocol: str | None
) -> None:
    log = Log(release, [(0, 3), (4, 2)], protocol)
    assert log.content == [(0, 0), (4, 3)]
    assert log.cache == []


def test_truncation_cuts_in_the_middle_of_a_run() -> None:
    log = Log("2.6", [(0, 3), (4, 5), (6, 2)])
    assert log.truncate_to(5) == 5
    assert log.content == log.cache == [(0, 0), (4, 3)]
    assert log.ends == (0, 5)


@pytest.mark.parametrize(("release", "high_watermark"), [("1.1", 10), ("2.3", 10), ("2.4", 4)])
def test_truncation_lowers_the_high_watermark_from_2_4_on(
    release: str, high_watermark: int
) -> None:
    """KAFKA-8457: before, it stayed above the log end."""
    log = Log(release, [(0, 10)])
    log.truncate_to(4)
    assert log.partition.high_watermark == high_watermark


@pytest.mark.parametrize("offset", [5, 6, 99])
@pytest.mark.parametrize(
    ("release", "cache"),
    [("2.6.0", [(0, 0), (1, 5)]), ("2.6.1", [(0, 0)]), ("2.7.0", [(0, 0)]), ("3.9", [(0, 0)])],
)
def test_truncation_that_removes_nothing(release: str, cache: Pairs, offset: int) -> None:
    """KAFKA-10706: an epoch whose leader wrote nothing is forgotten from 2.6.1 on.

    Asked where it ends, the next leader may answer with an epoch between that the follower
    does not have, and before the fix the two went round in circles.
    """
    log = Log(release, [(0, 5)])
    log.enter_epoch(1, 5)
    assert log.truncate_to(offset) == 0
    assert log.cache == cache
    assert log.ends == (0, 5)


def test_truncation_below_the_log_start_leaves_an_empty_log_there() -> None:
    log = Log("2.6", [(0, 10)])
    log.delete_records_below(6)
    assert log.truncate_to(3) == 4
    assert log.ends == (3, 3)
    assert log.content == log.cache == []


@pytest.mark.parametrize(("release", "high_watermark"), [("2.3", 10), ("2.6", 25)])
def test_starting_anew_above_the_old_end(release: str, high_watermark: int) -> None:
    """The leader has deleted everything that this replica had."""
    log = Log(release, [(0, 4), (2, 6)])
    truncate_fully_and_start_at(log.rules, log.partition, 25)
    assert log.ends == (25, 25)
    assert log.content == log.cache == []
    assert log.partition.high_watermark == high_watermark
    assert log.append(3, 1) == 25


def test_the_log_start_moves_up_only_and_keeps_the_epoch_across_it() -> None:
    log = Log("2.6", [(0, 3), (4, 5), (6, 2)])
    log.delete_records_below(5)
    assert log.content == log.cache == [(4, 5), (6, 8)]
    log.delete_records_below(2)
    assert log.ends == (5, 10)


def test_a_restart_forgets_an_epoch_without_records() -> None:
    """The cache is trimmed to the log: start == LEO is not in it."""
    log = Log("2.6", [(0, 5)])
    log.restart(high_watermark=3, checkpoint=[(0, 0), (1, 5)])
    assert log.cache == [(0, 0)]
    assert log.partition.high_watermark == 3


def test_a_restart_after_power_loss_finds_the_checkpoint_ahead_of_the_log() -> None:
    """The file is written through, the records are not."""
    log = Log("2.6", [(0, 5)])
    log.restart(high_watermark=9, checkpoint=[(0, 0), (1, 7), (2, 8)])
    assert log.cache == [(0, 0)]
    assert log.partition.high_watermark == 5


@pytest.mark.parametrize(("release", "high_watermark"), [("2.3", 0), ("2.4", 6)])
def test_a_high_watermark_that_was_never_checkpointed(release: str, high_watermark: int) -> None:
    """It is 0; from 2.4 on the log start."""
    log = Log(release, [(0, 10)])
    log.delete_records_below(6)
    log.restart(high_watermark=0, checkpoint=[(0, 0)])
    assert log.cache == [(0, 6)]
    assert log.partition.high_watermark == high_watermark


@pytest.mark.parametrize(("release", "cache"), [("2.1.0", [(0, 0)]), ("2.1.1", [])])
def test_a_restart_under_a_protocol_without_epochs_deletes_the_file_from_2_1_1_on(
    release: str, cache: Pairs
) -> None:
    """KAFKA-7897: the cache of an older message format is worse than none."""
    log = Log(release, [(0, 5)], protocol="0.10.2")
    log.restart(high_watermark=5, checkpoint=[(0, 0)])
    assert log.cache == cache


def test_two_logs_are_equal_if_their_epochs_and_ends_are() -> None:
    assert Log("2.6", [(0, 5), (2, 3)]).difference(Log("2.6", [(0, 5), (2, 3)])) == -1
    assert Log("2.6", []).difference(Log("2.6", [])) == -1


def test_same_offsets_under_other_epochs_are_other_records() -> None:
    """Both end at 8, and nothing but the epochs tells them apart."""
    assert Log("2.6", [(0, 5), (1, 3)]).difference(Log("2.6", [(0, 5), (2, 3)])) == 5
    one, other = Log("2.6", [(0, 8)]), Log("2.6", [(0, 5), (1, 3)])
    assert one.difference(other) == other.difference(one) == 5


def test_the_longer_log_differs_where_the_shorter_one_ends() -> None:
    assert Log("2.6", [(0, 5)]).difference(Log("2.6", [(0, 5), (2, 3)])) == 5
    assert Log("2.6", [(0, 7)]).difference(Log("2.6", [])) == 0


def test_only_what_both_still_have_is_compared() -> None:
    """From the later of the two log starts on."""
    one, other = Log("2.6", [(0, 5), (2, 3)]), Log("2.6", [(1, 5), (2, 3)])
    assert one.difference(other) == 0
    one.delete_records_below(5)
    assert one.difference(other) == -1
    one.delete_records_below(7)
    assert one.difference(other) == -1


def test_the_epoch_of_a_record() -> None:
    log = Log("2.6", [(0, 5), (2, 3)])
    log.delete_records_below(2)
    epochs = [epoch_at(log.runs, log.partition.run_count, offset) for offset in (1, 2, 4, 5, 7)]
    assert epochs == [-1, 0, 0, 2, 2]
