"""Mechanism 10: before 0.11 a follower truncates to its high watermark (HW), and data is lost.

The scenario is ``10-truncation-to-high-watermark``: A is broker 1, the follower, and B is 2, the
leader; C is 3, the controller, and D is 4, the next one. Real brokers of 0.10.2.2 did the same
(section 8 of what is known of them).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from isr_stories import retold
from partition_fates import Records, StateWrite, acknowledged, log_of, lost, state_writes
from partition_lines import BROKER_1, BROKER_2, BROKER_3, lines_of
from scenario_runs import rows_of, run_of, shipped
from tidegauge.simulation.trace_rows.codes import REASON_STOP, STOP_KILLED, STOP_OUT_OF_RANGE
from tidegauge.traces.run_folder import RunFolder

SCENARIO = "10-truncation-to-high-watermark"
A, B, C = BROKER_1, BROKER_2, BROKER_3
D = 3

#: Three records are everywhere, and so is HW 3. Now two more come, and A crashes.
CRASH_MS = 8_000


def who_and_when(run: RunFolder) -> list[tuple[str, int]]:
    """What processes and sessions ended or began, and what a controller saw of it, in order."""
    told = {
        *("broker_stopped", "broker_started", "session_expired"),
        *("controller_elected", "broker_failed", "broker_registered"),
    }
    rows = run.all_rows(wanted=lambda kind: kind.name in told)
    return [(row.kind, row["broker"]) for row in rows if row["time_us"] >= CRASH_MS * 1000]


def test_nobody_notices_that_a_was_away(tmp_path: Path) -> None:
    """A's session expires without a controller, and A is back before the next one takes over."""
    run = run_of(shipped(SCENARIO), tmp_path / "run")
    assert who_and_when(run) == [
        ("broker_stopped", A),
        ("broker_stopped", C),
        ("session_expired", A),
        ("broker_started", A),
        ("session_expired", C),
        ("controller_elected", D),
        ("broker_stopped", B),
        ("session_expired", B),
        ("broker_failed", B),
        ("broker_started", B),
        ("broker_registered", B),
    ]
    # So A is in the ISR when B dies, and its election is clean.
    assert state_writes(run) == [
        StateWrite(writer=3, leader=2, isr=[2, 1], leader_epoch=0, version=0),
        StateWrite(writer=4, leader=1, isr=[1], leader_epoch=1, version=1),
        StateWrite(writer=1, leader=1, isr=[1, 2], leader_epoch=1, version=2),
    ]
    assert [row["unclean"] for row in run.rows("leader_elected")] == [0, 0]


def test_b_dies_before_it_would_take_a_out_of_the_isr(tmp_path: Path) -> None:
    """Rule 1.4, up to 2.0: from 30 s after A's last fetch on, though nothing was appended."""
    run = run_of(shipped(SCENARIO), tmp_path / "run")
    last_fetch = rows_of(run, "fetch_counted", process=B, replica=A)[-1]
    stopped = rows_of(run, "broker_stopped", broker=B)[0]
    assert stopped["time_us"] - last_fetch["time_us"] < 30_000_000
    assert rows_of(run, "isr_update_sent", process=B) == []


def test_a_truncates_to_its_checkpointed_high_watermark_and_b_to_what_a_has(
    tmp_path: Path,
) -> None:
    """Rule 4.3 (a), then 4.4: each of the numbers, from the crash on."""
    told = {
        "appended": "base_offset end_offset",
        "high_watermark_moved": "old_high_watermark high_watermark",
        "checkpoint_read": "high_watermark log_end_offset",
        "became_follower": "leader leader_epoch log_end_offset high_watermark",
        "became_leader": "leader_epoch log_end_offset high_watermark",
        "truncated": "old_end_offset end_offset leader_epoch",
    }
    assert lines_of(run_of(shipped(SCENARIO), tmp_path / "run"), told, CRASH_MS) == [
        # Two more records. A has them, and dies before it hears of HW 5.
        ("appended", B, 3, 5),
        ("appended", A, 3, 5),
        ("high_watermark_moved", B, 3, 5),
        # A is back, is told to follow, and cuts its log before it has asked anybody.
        ("checkpoint_read", A, 3, 5),
        ("became_follower", A, B, 0, 5, 3),
        ("truncated", A, 5, 3, 0),
        # B dies.
        ("became_leader", A, 1, 3, 3),
        # B is back, and out of range.
        ("checkpoint_read", B, 5, 5),
        ("became_follower", B, A, 1, 5, 5),
        ("truncated", B, 5, 3, 1),
        ("high_watermark_moved", B, 5, 3),
    ]


def test_two_records_are_lost_that_all_had_acknowledged_and_a_consumer_could_read(
    tmp_path: Path,
) -> None:
    """Row 10's count: offsets 3 and 4, on both replicas."""
    run = run_of(shipped(SCENARIO), tmp_path / "run")
    assert acknowledged(run, acks=-1) == [Records(0, 0, 5)]
    assert lost(run, acks=-1, leader=1) == [3, 4]
    assert log_of(run, 1) == log_of(run, 2) == [Records(0, 0, 3)]
    read = rows_of(run, "step_answered", from_process=B)[-1]
    assert (read["offset"], read["end_offset"], read["error"]) == (3, 5, 0)


def test_while_b_can_be_reached_a_fetches_again_what_it_has_cut(tmp_path: Path) -> None:
    """The same in 0.10.2 but for the link: A truncates to 3, and is elected with all five."""
    run = run_of(shipped("12-follower-asks-leader", {"release": "0.10.2"}), tmp_path / "run")
    told = {
        "truncated": "old_end_offset end_offset",
        "appended": "base_offset end_offset",
        "became_leader": "log_end_offset",
    }
    assert lines_of(run, told, CRASH_MS + 1_000) == [
        ("truncated", A, 5, 3),
        ("appended", A, 3, 5),
        ("became_leader", A, 5),
    ]
    assert lost(run, acks=-1, leader=1) == []


@pytest.mark.parametrize(
    ("release", "protocol", "exits"),
    [("0.10.2", None, True), ("2.0.0", "0.10.2", True), ("2.0.1", "0.10.2", False)],
)
def test_where_unclean_election_is_off_b_exits_rather_than_truncate_up_to_2_0_0(
    release: str, protocol: str | None, exits: bool, tmp_path: Path
) -> None:
    """Rule 4.4: B's log is longer than the leader's, which should never be."""
    settings = {"unclean.leader.election.enable": False}
    story = retold(SCENARIO, settings, release=release, protocol=protocol)
    run = run_of(story, tmp_path / "run")
    stops = [row["stop"] for row in rows_of(run, "broker_stopped", broker=B)]
    isr = state_writes(run)[-1].isr
    # A has truncated anyway, so the two are lost as long as A leads.
    assert lost(run, acks=-1, leader=1) == [3, 4]
    if exits:
        assert stops == [STOP_KILLED, STOP_OUT_OF_RANGE]
        assert log_of(run, 2, reason=REASON_STOP) == [Records(0, 0, 5)]
        assert isr == [1]
    else:
        assert stops == [STOP_KILLED]
        assert log_of(run, 2) == [Records(0, 0, 3)]
        assert isr == [1, 2]
