"""A broker's story, and its state at a time: ``tidegauge show broker``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from night_story import (
    ALL_SLOTS,
    BROKER_1,
    BROKER_2,
    BROKER_3,
    FIRST,
    NOT_LEADER,
    PARTITIONS,
    THIRD,
    WITHOUT_THIRD,
    ZOOKEEPER,
    a_night,
    folder_of,
    line_with,
    shown,
    the_evening,
)
from tidegauge.runs.brokers import is_about_broker
from written_rows import S, WrittenRows


@pytest.fixture
def night(tmp_path: Path) -> Path:
    return folder_of(a_night(), tmp_path / "night")


def test_requests_that_are_refused_are_counted_by_reason(night: Path) -> None:
    line = line_with("refuses", shown(night, "broker", "1"))
    assert "refuses 5 requests (5 PRODUCE NOT_LEADER_OR_FOLLOWER)" in line


def test_few_rows_are_told_one_by_one_with_their_partition(tmp_path: Path) -> None:
    rows = WrittenRows()
    for partition in (1, 2):
        rows.write("isr_shrunk", 5 * S, BROKER_1, partition=partition, isr=WITHOUT_THIRD,
                   old_isr=ALL_SLOTS)  # fmt: skip
    story = shown(folder_of(rows, tmp_path / "run"), "broker", "1")
    assert "orders-1: shrinks the ISR from [1,2,3] to [1,2]" in story
    assert "orders-2: shrinks the ISR" in story


def test_isr_changes_of_many_partitions_are_one_line_with_their_outcomes(tmp_path: Path) -> None:
    rows = WrittenRows()
    for partition in range(3):
        rows.write("isr_update_sent", 5 * S + partition, BROKER_1, partition=partition)
    rows.write("isr_shrunk", 6 * S, BROKER_1, partition=0)
    rows.write("isr_update_failed", 6 * S, BROKER_1, partition=1, error=NOT_LEADER)
    line = line_with("ISR", shown(folder_of(rows, tmp_path / "run"), "broker", "1"))
    assert "3 asked for, 1 ISRs shrunk, 1 refused (NOT_LEADER" in line
    assert line.endswith("(until 6.000s)")


@pytest.mark.parametrize(
    ("gap_us", "between", "lines"),
    [(S, False, 1), (S + 1, False, 2), (S, True, 2)],
    ids=["close together", "a longer pause", "something else between"],
)
def test_rows_are_put_together_only_if_nothing_is_between_them(
    tmp_path: Path, gap_us: int, between: bool, lines: int
) -> None:
    rows = WrittenRows()
    for time_us in (5 * S, 5 * S + gap_us):
        for partition in range(4):
            rows.write("partition_failed", time_us, BROKER_1, partition=partition)
        if between and time_us == 5 * S:
            rows.write("session_expired", 5 * S, ZOOKEEPER, broker=FIRST)
    story = shown(folder_of(rows, tmp_path / "run"), "broker", "1")
    assert story.count("gives up the partition") == lines


def test_accounts_and_single_rows_are_told_if_asked_for(night: Path) -> None:
    assert "acknowledged" not in shown(night, "broker", "1")
    story = shown(night, "broker", "1", "--all")
    assert story.count("acknowledged with") == 5
    assert story.count("becomes leader in epoch 0") == PARTITIONS
    assert "orders-0: leader: log end offset 40" in story


def test_a_broker_that_is_paused_leads_in_its_own_eyes_only(night: Path) -> None:
    state = shown(night, "broker", "1", "--at", "20s")
    assert state.splitlines()[0] == "Broker 1 at 20.000s: up since 1.000s"
    assert "hit by:      pause 'stop' (pause of 1), since 10.000s" in state
    assert "session:     none; 1 expired at 16.000s" in state
    assert "registered:  no, since 16.000s" in state
    assert "saw at 18.000s that it is gone" in state
    assert "leads 6, follows 0; 5 to look at" in state
    assert line_with("orders-0", state).endswith("broker 2 leads in epoch 1")
    assert line_with("orders-5", state).split()[1:4] == ["leader", "0", "[1,2,3]"]


def test_the_state_is_that_of_the_time_that_is_asked_for(night: Path) -> None:
    before = shown(night, "broker", "1", "--at", "8s")
    assert "registered:  yes, since 1.000s" in before
    assert "leads 6, follows 0\n" in before
    assert "hit by" not in before
    assert line_with("orders-0", before).split()[-3:] == ["10", "9", "3.000s"]
    after = shown(night, "broker", "1", "--at", "9s")
    assert line_with("orders-0", after).split()[-3:] == ["40", "30", "9.000s"]
    assert "hit by" in shown(night, "broker", "1", "--at", "29s")
    assert "hit by" not in shown(night, "broker", "1", "--at", "30s")


def test_before_a_broker_starts_nothing_is_known_of_it(night: Path) -> None:
    state = shown(night, "broker", "2", "--at", "500ms")
    assert "no start is recorded" in state
    assert "session:     none yet" in state
    assert "leads 0, follows 0, 6 without a role" in state


def test_a_follower_that_is_not_in_the_isr_is_to_be_looked_at(tmp_path: Path) -> None:
    rows = WrittenRows()
    the_evening(rows)
    rows.write("isr_shrunk", 8 * S, BROKER_1, partition=4, isr=WITHOUT_THIRD, version=1)
    rows.held(8 * S, 4, leader=FIRST, isr=WITHOUT_THIRD)
    state = shown(folder_of(rows, tmp_path / "run"), "broker", "3", "--at", "8s")
    line = line_with("not in the ISR", state)
    assert line.split()[:4] == ["orders-4", "follower", "0", "[1,2]"]


def test_a_broker_that_has_crashed_is_not_up_until_it_starts(tmp_path: Path) -> None:
    rows = a_night()
    rows.write("broker_loading", 48 * S, BROKER_3, broker=THIRD, logs=6, until_us=50 * S)
    rows.write("checkpoint_read", 48 * S, BROKER_3, partition=0, log_end_offset=7)
    rows.write("broker_started", 50 * S, BROKER_3, broker=THIRD)
    folder = folder_of(rows, tmp_path / "run")
    dead = shown(folder, "broker", "3", "--at", "41s")
    assert dead.startswith("Broker 3 at 41.000s: not up; at 40.000s: broker 3 is gone: killed")
    assert "hit by:      crash 'kill'" in dead
    assert "leads 0, follows 6" in dead
    loading = shown(folder, "broker", "3", "--at", "49s")
    assert loading.startswith("Broker 3 at 49.000s: not up; at 48.000s: broker 3 begins")
    risen = shown(folder, "broker", "3", "--at", "50s")
    assert risen.startswith("Broker 3 at 50.000s: up since 50.000s")
    for begun in (loading, risen):
        assert "leads 0, follows 0, 6 without a role" in begun
        assert line_with("orders-0", begun).split()[-3:] == ["7", "0", "48.000s"]


def test_logs_that_become_shorter_are_counted_with_their_records(tmp_path: Path) -> None:
    rows = WrittenRows()
    for partition in range(4):
        rows.write("truncated", 5 * S, BROKER_1, partition=partition, old_end_offset=9,
                   end_offset=7)  # fmt: skip
        rows.write("log_lost", 6 * S, BROKER_1, partition=partition, old_end_offset=7)
    folder = folder_of(rows, tmp_path / "run")
    story = shown(folder, "broker", "1")
    assert "truncates 4 logs, 8 records in all: orders-0" in story
    assert "loses the ends of 4 logs, 28 records in all: orders-0" in story
    assert line_with("orders-3", shown(folder, "broker", "1", "--at", "5s")).split()[4] == "7"


def test_a_replica_that_is_stopped_is_neither_leader_nor_follower(tmp_path: Path) -> None:
    rows = a_night()
    rows.write("replica_stopped", 45 * S, BROKER_2, partition=3, leader_epoch=2)
    state = shown(folder_of(rows, tmp_path / "run"), "broker", "2", "--at", "46s")
    assert "leads 4, follows 1, 1 without a role" in state
    assert line_with("orders-3", state).split()[:3] == ["orders-3", "stopped", "2"]


def test_a_row_of_any_kind_that_names_a_broker_is_about_it() -> None:
    column = np.array([0, 1, 2])
    others = np.array([7, 7, 7])
    for name in ("broker", "replica"):
        assert is_about_broker({"process": others, name: column}, 1).tolist() == [
            False,
            True,
            False,
        ]
    both = {"process": others, "leader": column, "old_leader": np.array([1, 5, 5])}
    assert is_about_broker(both, 1).tolist() == [True, True, False]
    assert not is_about_broker({"process": others, "leader": column}, 1).any()
