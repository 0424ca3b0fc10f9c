"""Mechanism 15: a leader fails, another replica is elected, and what had not reached it is gone.

In ``15-leader-failure`` broker 1 leads with log end offset (LEO) 103 and high watermark (HW)
95; broker 2 has 100 and 90, broker 3 has 95 and 90. In ``15-election-order`` leaders die.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from isr_stories import as_written, process_named
from partition_fates import Records, acknowledged, log_of, lost, state_writes
from partition_lines import BROKER_1, BROKER_2, BROKER_3, lines_of
from scenario_runs import rows_of, run_of, shipped
from tidegauge.replication import errors
from tidegauge.simulation.trace_rows.codes import MOMENT_FETCH, REASON_STOP
from tidegauge.traces.run_folder import RunFolder

SCENARIO = "15-leader-failure"

#: Releases in which a follower asks its leader where an epoch ended.
RELEASES = [("0.11", None), ("1.1", None), ("2.3", None), ("2.6", None), ("3.9", "2.6")]

#: What a new leader counts, and what its followers do about their logs.
TOLD = {
    "became_leader": "leader_epoch log_end_offset high_watermark",
    "became_follower": "leader leader_epoch log_end_offset high_watermark",
    "epoch_answered": "to_process asked_epoch end_offset",
    "truncated": "old_end_offset end_offset",
    "fetch_counted": "replica fetch_offset high_watermark",
    "high_watermark_moved": "leads old_high_watermark high_watermark moment",
}

#: Broker 1 is dead from then on; and when two records are written in epoch 1.
DEATH_MS, WRITE_MS = 5_430, 10_100


def story(folder: Path, release: str = "2.6", protocol: str | None = None) -> RunFolder:
    return run_of(shipped(SCENARIO, {"release": release, "protocol": protocol}), folder)


def with_3_before_2(folder: Path) -> RunFolder:
    """The same with broker 3 before 2 in the order of the assignment."""
    steps = as_written(SCENARIO)["steps"]
    steps[6]["when"]["leader"]["is"] = 3
    topics = [{"name": "story", "assignment": {"0": [1, 3, 2]}}]
    return run_of(shipped(SCENARIO, {"steps": steps, "topics": topics}), folder)


@pytest.mark.parametrize(("release", "protocol"), [("0.10.2", None), *RELEASES])
def test_the_first_in_assignment_order_that_is_alive_and_in_the_isr_is_elected(
    release: str, protocol: str | None, tmp_path: Path
) -> None:
    """Rule 6.2, and real brokers, 1.3 and 1.4: the ISR's own order does not count."""
    changes = {"release": release, "protocol": protocol}
    run = run_of(shipped("15-election-order", changes), tmp_path / "run")
    assert state_writes(run) == [
        (4, 1, [1, 2, 3], 0, 0),
        # 2 is evicted; it is alive when 1 dies, but 3 is in the ISR.
        (1, 1, [1, 3], 0, 1),
        (4, 3, [3], 1, 2),
        # 2 joins, 1 returns and joins. When 3 dies 2 is first in the ISR, but 1 in assignment.
        (3, 3, [3, 2], 1, 3),
        (3, 3, [3, 2, 1], 1, 4),
        (4, 1, [2, 1], 2, 5),
        # Of the ISR only 2 is alive.
        (4, 2, [2], 3, 6),
    ]
    assert rows_of(run, "leader_elected", unclean=1) == []


@pytest.mark.parametrize(("release", "protocol"), RELEASES)
def test_the_new_leader_keeps_its_high_watermark_until_the_whole_isr_has_fetched(
    release: str, protocol: str | None, tmp_path: Path
) -> None:
    """Rule 2.3: it is that of a follower, then the least LEO of the ISR: 90, 95, 100."""
    run = story(tmp_path / "run", release, protocol)
    assert log_of(run, 1, reason=REASON_STOP) == [Records(0, 0, 103)]
    (exposed,) = rows_of(run, "exposed", process=BROKER_1)
    assert exposed["high_watermark"] == 95
    assert lines_of(run, TOLD, DEATH_MS, WRITE_MS) == [
        ("became_leader", BROKER_2, 1, 100, 90),
        ("became_follower", BROKER_3, BROKER_2, 1, 95, 90),
        # Broker 3 asks where epoch 0 ended, has less than that, and truncates nothing.
        ("epoch_answered", BROKER_2, BROKER_3, 0, 100),
        ("fetch_counted", BROKER_2, BROKER_3, 95, 90),
        ("high_watermark_moved", BROKER_2, 1, 90, 95, MOMENT_FETCH),
        ("fetch_counted", BROKER_2, BROKER_3, 100, 95),
        ("high_watermark_moved", BROKER_2, 1, 95, 100, MOMENT_FETCH),
    ]


def test_consumers_read_what_is_below_the_high_watermark_of_the_moment(tmp_path: Path) -> None:
    """Rule 2.6: who has read to 95 from the old leader gets nothing, and no error."""
    run = story(tmp_path / "run")
    answers = rows_of(run, "fetch_answered", to_process=process_named(run, "operator"))
    columns = ("process", "fetch_offset", "end_offset", "high_watermark", "error")
    assert [tuple(row[name] for name in columns) for row in answers] == [
        (BROKER_1, 85, 95, 95, errors.NONE),
        (BROKER_2, 85, 90, 90, errors.NONE),
        (BROKER_2, 95, 95, 90, errors.NONE),
        (BROKER_2, 85, 95, 95, errors.NONE),
        (BROKER_2, 85, 100, 100, errors.NONE),
        (BROKER_2, 100, 102, 102, errors.NONE),
    ]


def test_a_follower_with_more_than_the_new_leader_truncates_and_follows(tmp_path: Path) -> None:
    """Real brokers, y2: assignment order, not the longest log. Broker 2 never restarts."""
    run = with_3_before_2(tmp_path / "run")
    assert lines_of(run, TOLD, DEATH_MS, WRITE_MS) == [
        ("became_follower", BROKER_2, BROKER_3, 1, 100, 90),
        ("became_leader", BROKER_3, 1, 95, 90),
        ("epoch_answered", BROKER_3, BROKER_2, 0, 95),
        ("truncated", BROKER_2, 100, 95),
        ("fetch_counted", BROKER_3, BROKER_2, 95, 90),
        ("high_watermark_moved", BROKER_3, 1, 90, 95, MOMENT_FETCH),
    ]
    assert lost(run, acks=1, leader=3) == list(range(95, 103))


def test_before_0_11_a_follower_truncates_to_its_own_high_watermark(tmp_path: Path) -> None:
    """Rule 4.3 (a): broker 3 deletes five records that its leader has, and fetches them again."""
    run = story(tmp_path / "run", "0.10.2")
    assert lines_of(run, TOLD, DEATH_MS, WRITE_MS)[:5] == [
        ("became_leader", BROKER_2, 1, 100, 90),
        ("became_follower", BROKER_3, BROKER_2, 1, 95, 90),
        ("truncated", BROKER_3, 95, 90),
        ("fetch_counted", BROKER_2, BROKER_3, 90, 90),
        ("fetch_counted", BROKER_2, BROKER_3, 100, 90),
    ]


@pytest.mark.parametrize(
    ("release", "protocol", "kept"), [("0.10.2", None, 90), *((*one, 100) for one in RELEASES)]
)
def test_what_was_never_replicated_is_gone_and_is_counted(
    release: str, protocol: str | None, kept: int, tmp_path: Path
) -> None:
    """Of 13 records that were acknowledged with acks=1 three are in no log at the end."""
    run = story(tmp_path / "run", release, protocol)
    (truncated,) = rows_of(run, "truncated", process=BROKER_1)
    assert (truncated["old_end_offset"], truncated["end_offset"]) == (103, kept)
    assert [log_of(run, broker) for broker in (1, 2, 3)] == [
        [Records(0, 0, 100), Records(1, 100, 102)]
    ] * 3
    assert acknowledged(run, acks=1) == [Records(0, 90, 103)]
    assert lost(run, acks=1, leader=2) == [100, 101, 102]
    assert acknowledged(run, acks=-1) == [Records(0, 0, 90), Records(1, 100, 102)]
    assert lost(run, acks=-1, leader=2) == []


def test_with_acks_all_the_same_records_are_gone_but_nobody_was_promised_them(
    tmp_path: Path,
) -> None:
    """Rule 7.3: the answer waits for the HW, and says REQUEST_TIMED_OUT with the offset."""
    steps = as_written(SCENARIO)["steps"]
    steps[4] |= {"acks": "all", "timeout": "100ms"}
    run = run_of(shipped(SCENARIO, {"steps": steps}), tmp_path / "run")
    (answered,) = rows_of(run, "step_answered", step=4)
    assert (answered["error"], answered["offset"]) == (errors.CODES["REQUEST_TIMED_OUT"], 100)
    assert log_of(run, 1, reason=REASON_STOP) == [Records(0, 0, 103)]
    assert log_of(run, 1) == log_of(run, 2) == [Records(0, 0, 100), Records(1, 100, 102)]
    assert acknowledged(run, acks=1) == [Records(0, 90, 100)]
    assert lost(run, acks=1, leader=2) == lost(run, acks=-1, leader=2) == []
