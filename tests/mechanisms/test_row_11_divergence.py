"""Mechanism 11: before 0.11 logs of equal length diverge for ever.

The scenario is ``11-equal-length-divergence``: A is broker 1, the follower, and B is 2, the
leader. Real brokers did the same (section 8 of what is known of them).
"""

from __future__ import annotations

from pathlib import Path

from partition_fates import Records, StateWrite, acknowledged, log_of, lost, state_writes
from partition_lines import BROKER_1, BROKER_2, lines_of
from scenario_runs import rows_of, run_of, shipped

SCENARIO = "11-equal-length-divergence"
A, B = BROKER_1, BROKER_2

#: Power fails.
OUTAGE_MS = 9_000


def test_all_lose_power_at_once_so_that_the_isr_stays(tmp_path: Path) -> None:
    """Nobody writes the state between its creation and A's return."""
    run = run_of(shipped(SCENARIO), tmp_path / "run")
    outage_us = OUTAGE_MS * 1000
    assert [row["time_us"] for row in run.rows("broker_stopped")] == [outage_us] * 3
    # B's checkpoint interval has passed since the last record.
    (high_watermark,) = rows_of(run, "high_watermark_moved", process=B, high_watermark=4)
    assert outage_us - high_watermark["time_us"] > 5_000_000
    assert state_writes(run) == [
        StateWrite(writer=3, leader=2, isr=[2, 1], leader_epoch=0, version=0),
        StateWrite(writer=1, leader=1, isr=[1], leader_epoch=1, version=1),
        StateWrite(writer=1, leader=1, isr=[1, 2], leader_epoch=1, version=2),
    ]


def test_b_has_nothing_to_truncate_and_nothing_to_fetch(tmp_path: Path) -> None:
    """Rule 4.3 (a): a returning replica compares offsets only; each of the numbers."""
    told = {
        "log_lost": "old_end_offset end_offset",
        "checkpoint_read": "high_watermark log_end_offset",
        "became_leader": "leader_epoch log_end_offset high_watermark",
        "became_follower": "leader leader_epoch log_end_offset high_watermark",
        "appended": "base_offset end_offset",
        "high_watermark_moved": "old_high_watermark high_watermark",
        "truncated": "old_end_offset end_offset",
        "isr_expanded": "log_end_offset",
    }
    assert lines_of(run_of(shipped(SCENARIO), tmp_path / "run"), told, OUTAGE_MS) == [
        ("log_lost", A, 4, 3),
        ("checkpoint_read", A, 4, 3),
        ("became_leader", A, 1, 3, 3),
        ("appended", A, 3, 4),
        ("high_watermark_moved", A, 3, 4),
        ("checkpoint_read", B, 4, 4),
        ("became_follower", B, A, 1, 4, 4),
        ("isr_expanded", A, 4),
    ]


def test_offset_3_holds_different_records_on_a_and_b(tmp_path: Path) -> None:
    """Both were acknowledged with acks=all, and both replicas are in the ISR."""
    run = run_of(shipped(SCENARIO), tmp_path / "run")
    assert acknowledged(run, acks=-1) == [Records(0, 0, 4), Records(1, 3, 4)]
    assert log_of(run, 1) == [Records(0, 0, 3), Records(1, 3, 4)]
    assert log_of(run, 2) == [Records(0, 0, 4)]
    assert lost(run, acks=-1, leader=1) == [3]
