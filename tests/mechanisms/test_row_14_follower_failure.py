"""Mechanism 14: a follower fails, leaves the in-sync replicas (ISR), and returns.

The scenario is ``14-follower-failure``: broker 1 leads with log end offset (LEO) 100, 2 has 100
and 3 has 95, so the high watermark (HW) is 95. Broker 2 dies.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from isr_stories import as_written
from partition_fates import Records, log_of, lost, state_writes
from partition_lines import BROKER_1, BROKER_2, BROKER_3, Line, lines_of
from scenario_runs import rows_of, run_of, shipped
from tidegauge.simulation.trace_rows.codes import REASON_STOP
from tidegauge.traces.run_folder import RunFolder

SCENARIO = "14-follower-failure"

TOLD = {
    "checkpoint_read": "log_end_offset high_watermark",
    "became_follower": "leader_epoch log_end_offset high_watermark",
    "epoch_answered": "to_process asked_epoch end_offset",
    "truncated": "old_end_offset end_offset",
    "appended": "leads base_offset end_offset",
    "isr_expanded": "log_end_offset",
}

#: Broker 2's LEO and HW, as it finds them on its disk, and as it is told to follow.
RETURN: list[Line] = [
    ("checkpoint_read", BROKER_2, 100, 95),
    ("became_follower", BROKER_2, 1, 100, 95),
]

TRUNCATES_TO_HIGH_WATERMARK = [("0.10.2", None), ("2.6", "0.10.2")]
ASKS_ITS_LEADER = [("0.11", None), ("1.1", None), ("2.0", None), ("2.6", None), ("3.9", "2.6")]


def story(release: str, protocol: str | None, folder: Path) -> RunFolder:
    return run_of(shipped(SCENARIO, {"release": release, "protocol": protocol}), folder)


def lines_of_return(run: RunFolder) -> list[Line]:
    """What is told from the moment on at which broker 2 is started again."""
    loading = rows_of(run, "broker_loading", process=BROKER_2)[0]
    return lines_of(run, TOLD, loading["time_us"] // 1000)


@pytest.mark.parametrize(("release", "protocol"), TRUNCATES_TO_HIGH_WATERMARK + ASKS_ITS_LEADER)
def test_the_dead_follower_leaves_the_isr_and_comes_back_to_it(
    release: str, protocol: str | None, tmp_path: Path
) -> None:
    """Real brokers, a1: the controller takes it out, epoch + 1; the leader takes it in."""
    run = story(release, protocol, tmp_path / "run")
    (death,) = rows_of(run, "broker_stopped", broker=BROKER_2)
    # What the leader knew of the followers' logs then, and what the dead one really had.
    counted = [row for row in run.rows("fetch_counted") if row.place < death.place]
    copies = {row["replica"]: row["fetch_offset"] for row in counted}
    assert copies == {BROKER_2: 100, BROKER_3: 95}
    assert log_of(run, 2, reason=REASON_STOP) == [Records(0, 0, 100)]
    assert state_writes(run) == [
        (1, 1, [1, 2, 3], 0, 0),
        (1, 1, [1, 3], 1, 1),
        (1, 1, [1, 3, 2], 1, 2),
    ]
    # It leads on in the new epoch, and broker 3 holds the HW back still.
    (leads_on,) = rows_of(run, "became_leader", leader_epoch=1)
    assert (leads_on["log_end_offset"], leads_on["high_watermark"]) == (100, 95)
    # Nothing is lost: three equal logs.
    assert [log_of(run, broker) for broker in (1, 2, 3)] == [[Records(0, 0, 100)]] * 3
    assert lost(run, acks=1, leader=1) == lost(run, acks=-1, leader=1) == []


@pytest.mark.parametrize(("release", "protocol"), TRUNCATES_TO_HIGH_WATERMARK)
def test_old_releases_delete_what_is_above_its_high_watermark_and_fetch_it_again(
    release: str, protocol: str | None, tmp_path: Path
) -> None:
    """Rule 4.3 (a): 95 is what it knew; the leader's HW is 100 by now."""
    assert lines_of_return(story(release, protocol, tmp_path / "run")) == [
        *RETURN,
        ("truncated", BROKER_2, 100, 95),
        ("appended", BROKER_2, 0, 95, 100),
        ("isr_expanded", BROKER_1, 100),
    ]


@pytest.mark.parametrize(("release", "protocol"), ASKS_ITS_LEADER)
def test_later_ones_ask_the_leader_first_and_keep_all(
    release: str, protocol: str | None, tmp_path: Path
) -> None:
    """Rule 4.3 (b) to (d): epoch 0 ended at 100, so there is nothing to truncate or fetch."""
    assert lines_of_return(story(release, protocol, tmp_path / "run")) == [
        *RETURN,
        ("epoch_answered", BROKER_1, BROKER_2, 0, 100),
        ("isr_expanded", BROKER_1, 100),
    ]


def test_it_comes_back_as_soon_as_it_has_all_below_the_high_watermark(tmp_path: Path) -> None:
    """Rule 1.5: LEO >= HW, not the leader's LEO. With 3 still cut off its first fetch will do."""
    steps = as_written(SCENARIO)["steps"]
    # When broker 2 is out of the ISR it is not the cut that ends, but its death.
    steps[4:6] = [steps[4] | {"fault": "death"}]
    run = run_of(shipped(SCENARIO, {"steps": steps}), tmp_path / "run")
    assert lines_of_return(run) == [
        *RETURN,
        ("truncated", BROKER_2, 100, 95),
        ("isr_expanded", BROKER_1, 100),
        ("appended", BROKER_2, 0, 95, 100),
    ]
