"""Mechanism 2: a follower's log end offset (LEO) is kept twice.

The scenario is ``02-two-log-end-offsets``: broker 1 leads, 2 follows.
"""

from __future__ import annotations

import pytest

from partition_lines import BROKER_1, BROKER_2, lines_of
from sampled_replicas import samples_of
from scenario_runs import rows_of, run_of, shipped
from tidegauge.simulation.trace_rows.codes import MOMENT_FETCH
from tidegauge.traces.run_folder import RunFolder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return run_of(shipped("02-two-log-end-offsets"), tmp_path_factory.mktemp("row-2") / "run")


def copies_over_time(run: RunFolder) -> list[tuple[int, int, int]]:
    """Each moment in ms at which one of the two moves: the follower's own, the leader's."""
    own, leaders = 0, 0
    copies = []
    for row in run.all_rows(0, wanted=lambda kind: kind.name in ("appended", "fetch_counted")):
        before = (own, leaders)
        if row.kind == "fetch_counted":
            leaders = row["fetch_offset"]
        elif row["process"] == BROKER_2:
            own = row["end_offset"]
        if (own, leaders) != before:
            copies.append((row["time_us"] // 1000, own, leaders))
    return copies


def test_the_followers_copy_moves_when_it_appends_the_leaders_with_its_next_fetch(
    run: RunFolder,
) -> None:
    """Rule 1.2: the fetch offset is the follower's LEO.

    The fetch leaves when the append has ended, after 0.2 ms; it takes 1 ms to the leader.
    """
    assert copies_over_time(run)[:2] == [(3_004, 1, 0), (3_006, 1, 1)]
    (appended,) = rows_of(run, "appended", process=BROKER_2, end_offset=1)
    (counted,) = rows_of(run, "fetch_counted", old_offset=0, fetch_offset=1)
    assert counted["time_us"] - appended["time_us"] == 200 + 1_000


def test_the_two_differ_for_as_long_as_no_fetch_gets_through(run: RunFolder) -> None:
    """Observed (u2): the follower has the records, but the leader never hears of it."""
    assert copies_over_time(run)[2:] == [(3_804, 4, 1), (9_700, 4, 4)]


def test_the_high_watermark_waits_for_the_leaders_copy(run: RunFolder) -> None:
    """Rule 2.1: HW = min over what the leader knows, not over what there is."""
    told = {
        "appended": "end_offset",
        "fetch_counted": "old_offset fetch_offset",
        "high_watermark_moved": "high_watermark moment",
        "produce_answered": "end_offset error",
    }
    assert lines_of(run, told, 3_800, 10_000) == [
        ("appended", BROKER_1, 4),
        ("appended", BROKER_2, 4),
        ("fetch_counted", BROKER_1, 1, 4),
        ("high_watermark_moved", BROKER_1, 4, MOMENT_FETCH),
        ("produce_answered", BROKER_1, 4, 0),
    ]


def test_meanwhile_both_logs_are_equal_and_no_one_may_read_their_end(run: RunFolder) -> None:
    """Both brokers have LEO 4 and HW 1, second by second, until the cut is over."""
    for second in (4, 5, 6, 7, 8, 9):
        ends = [
            (row["log_end_offset"], row["high_watermark"])
            for row in samples_of(run, time_us=second * 1_000_000)
        ]
        assert ends == [(4, 1), (4, 1)]
