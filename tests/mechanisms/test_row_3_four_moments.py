"""Mechanism 3: the four moments at which a leader tries to move its high watermark (HW).

The scenario is ``03-four-moments``: brokers 1 and 2 host the partition, 3 is the controller.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from partition_lines import BROKER_1, BROKER_2, lines_of
from scenario_runs import rows_of, run_of, shipped
from tidegauge.simulation.trace_rows.codes import (
    MOMENT_APPEND,
    MOMENT_FETCH,
    MOMENT_LEADER,
    MOMENT_SHRINK,
)
from tidegauge.traces.run_folder import RunFolder

# All of them wait 6 s for a session and 10 s for a follower.
RELEASES = ("0.10.2", "0.11", "1.1", "2.0", "2.3")


def story(release: str, folder: Path) -> RunFolder:
    return run_of(shipped("03-four-moments", {"release": release}), folder)


@pytest.mark.parametrize("release", RELEASES)
def test_each_of_the_four_moments_moves_a_leaders_high_watermark_once(
    release: str, tmp_path: Path
) -> None:
    """Rule 2.2: makeLeader, shrink, append, follower fetch."""
    run = story(release, tmp_path / "run")
    moves = [
        (row["process"], row["old_high_watermark"], row["high_watermark"], row["moment"])
        for row in rows_of(run, "high_watermark_moved", leads=1)
    ]
    assert moves == [
        (BROKER_1, 0, 1, MOMENT_FETCH),
        (BROKER_2, 0, 1, MOMENT_LEADER),
        (BROKER_2, 1, 3, MOMENT_APPEND),
        (BROKER_2, 3, 4, MOMENT_SHRINK),
    ]


def test_what_goes_before_each_move_is_that_moment_and_nothing_else(tmp_path: Path) -> None:
    """Rules 2.2 and 2.3, in order: who leads, appends, shrinks, and what its HW was then."""
    # The first column is 0 where a follower tells.
    told = {
        "became_leader": "is_new_leader log_end_offset high_watermark",
        "appended": "leads end_offset high_watermark",
        "fetch_counted": "fetch_offset log_end_offset high_watermark",
        "isr_shrunk": "log_end_offset",
        "isr_expanded": "log_end_offset",
        "high_watermark_moved": "leads high_watermark moment",
    }
    lines = lines_of(story("2.3", tmp_path / "run"), told, 3_000)
    assert [line for line in lines if line[2] != 0] == [
        # A follower's fetch: the record is appended, then fetched at 1.
        ("appended", BROKER_1, 1, 1, 0),
        ("fetch_counted", BROKER_1, 1, 1, 0),
        ("high_watermark_moved", BROKER_1, 1, 1, MOMENT_FETCH),
        # Becoming leader: broker 2 knows HW 0 of a log that ends at 1, and is the whole ISR.
        ("became_leader", BROKER_2, 1, 1, 0),
        ("high_watermark_moved", BROKER_2, 1, 1, MOMENT_LEADER),
        # An append to an ISR of one.
        ("appended", BROKER_2, 1, 3, 1),
        ("high_watermark_moved", BROKER_2, 1, 3, MOMENT_APPEND),
        # A shrink: broker 1 is back, and cut off before the next record.
        ("fetch_counted", BROKER_2, 1, 3, 3),
        ("fetch_counted", BROKER_2, 3, 3, 3),
        ("isr_expanded", BROKER_2, 3),
        ("appended", BROKER_2, 1, 4, 3),
        ("isr_shrunk", BROKER_2, 4),
        ("high_watermark_moved", BROKER_2, 1, 4, MOMENT_SHRINK),
    ]


@pytest.mark.parametrize(
    ("release", "protocol"), [("0.10.2", None), ("2.3", None), ("2.6", None), ("3.9", "2.6")]
)
def test_a_dead_followers_removal_by_the_controller_moves_it_as_becoming_leader_does(
    release: str, protocol: str | None, tmp_path: Path
) -> None:
    """Rule 2.2: a LeaderAndIsr that only shrinks the ISR runs makeLeader."""
    scenario = shipped("03-dead-follower", {"release": release, "protocol": protocol})
    told = {
        "appended": "end_offset high_watermark",
        "isr_shrunk": "isr",
        "became_leader": "is_new_leader log_end_offset high_watermark",
        "high_watermark_moved": "old_high_watermark high_watermark moment",
    }
    assert lines_of(run_of(scenario, tmp_path / "run"), told, 3_000) == [
        ("appended", BROKER_1, 1, 0),
        ("became_leader", BROKER_1, 0, 1, 0),
        ("high_watermark_moved", BROKER_1, 0, 1, MOMENT_LEADER),
    ]
