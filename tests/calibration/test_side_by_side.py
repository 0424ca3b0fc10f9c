"""Calibrated costs move simulated times closer to those of real clusters.

Costs are fitted to the logs of some clusters, and times are compared in others of the same release.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tidegauge.real_cluster.costs.calibration import MARKERS, calibrate
from tidegauge.real_cluster.costs.estimator import read_cluster_logs
from tidegauge.real_cluster.costs.moments import (
    ASKED,
    EXITED,
    KILLED,
    LOST,
    REGISTERED,
    STARTS,
    STATE,
    TOLD,
    UNFENCED,
    Moment,
    durations_of,
)
from tidegauge.real_cluster.costs.recorded_times import (
    CLOSER,
    FARTHER,
    ComparedTime,
    compare_times,
    read_recorded,
)

REAL_LOGS = Path(__file__).parents[1] / "data" / "real_logs"
#: Clusters whose logs are read, and others that are compared.
CASES = [
    (["zk-2.6.3-rand312"], ["zk-2.6.3-c1_term_leader", "zk-2.6.3-b1_leader_kill"]),
    (
        [
            *("kraft-4.1.0-b1_leader_kill", "kraft-4.1.0-d2_lag_shrink_4s"),
            "kraft-4.1.0-f1_rf2_kill_ret12",
        ],
        ["kraft-4.1.0-c1_term_leader"],
    ),
    # Its own logs are among them: no others of the release have a stop.
    (
        [
            *("kraft-4.1.0-b1_leader_kill", "kraft-4.1.0-d2_lag_shrink_4s"),
            *("kraft-4.1.0-f1_rf2_kill_ret12", "kraft-4.1.0-c1_term_leader"),
        ],
        ["kraft-4.1.0-c1_term_leader"],
    ),
]


def compared(read: Sequence[str], played: Sequence[str], seeds: int) -> list[ComparedTime]:
    logs = [read_cluster_logs(REAL_LOGS / run, MARKERS) for run in read]
    recorded = [read_recorded(REAL_LOGS / run / "schedule.json") for run in played]
    calibration = calibrate(recorded[0].schedule.mode, logs)
    return compare_times(recorded, calibration.parts()["costs"], seeds)


@pytest.mark.parametrize("seeds", [3, pytest.param(20, marks=pytest.mark.long)])
@pytest.mark.parametrize(("read", "played"), CASES)
def test_at_least_four_of_five_figures_come_closer(
    read: list[str], played: list[str], seeds: int
) -> None:
    found = compared(read, played, seeds)
    assert len(found) >= 5
    closer = [each.measured.name for each in found if each.verdict == CLOSER]
    assert len(closer) >= 4
    assert {"start_to_registered", "registered_to_in_sync"} <= set(closer)
    assert all(each.verdict != FARTHER for each in found)


def test_recorded_times_are_those_of_the_truth() -> None:
    """zk-2.6.3-c1_term_leader: SIGTERM 459724 to exit 463778, start 468453 to znode 473218."""
    moments = read_recorded(REAL_LOGS / "zk-2.6.3-c1_term_leader" / "schedule.json").moments
    figures = {name: values for name, values in durations_of(moments).items() if values}
    assert {name: [round(value) for value in values] for name, values in figures.items()} == {
        "stop_to_exit": [4054],
        "stop_to_moved": [62],
        "start_to_registered": [4765],
        "registered_to_in_sync": [1323],
        "create_to_led": [131],
    }


def test_times_of_a_story() -> None:
    both, second = (1, 2), (2,)
    moments = [
        Moment(0, REGISTERED, 1),
        Moment(100, ASKED, about="t"),
        Moment(130, STATE, about="t-0", leader=1, isr=both),
        Moment(140, STATE, about="t-1", leader=2, isr=both),
        Moment(200, TOLD, 1),
        Moment(210, STATE, about="t-0", leader=2, isr=second),
        Moment(215, STATE, about="t-1", leader=2, isr=second),
        Moment(220, LOST, 1),
        Moment(300, EXITED, 1),
        Moment(400, STARTS, 1),
        Moment(450, REGISTERED, 1),
        Moment(460, UNFENCED, 1),
        Moment(470, STATE, about="t-0", leader=2, isr=both),
        Moment(480, STATE, about="t-1", leader=2, isr=both),
        Moment(500, KILLED, 2),
        Moment(900, LOST, 2),
        Moment(930, STATE, about="t-0", leader=1, isr=(1,)),
        Moment(940, STATE, about="t-1", leader=1, isr=(1,)),
    ]
    found = {name: values for name, values in durations_of(reversed(moments)).items() if values}
    assert found == {
        "create_to_led": [40],
        "stop_to_moved": [10],
        "stop_to_exit": [100],
        "start_to_registered": [50],
        "registered_to_unfenced": [10],
        "registered_to_in_sync": [30],
        "lost_to_moved": [40],
    }
