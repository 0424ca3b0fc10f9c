"""Fetch sessions (KIP-227) change what is looked at, never what happens.

Releases from 1.1 on fetch in sessions, and the leader looks only at partitions of which something
has changed. With the switch taken away every fetch names every partition, and the leader reads
them all. Both have to tell the same story: each row, with its time and its values. Only the order
of rows within one instant may differ, and with it what a row gives as its cause.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fault_schedules import schedule
from tidegauge.run_folder import RunFolder
from tidegauge.simulate import simulate
from tidegauge.simulation.scenario import scenario_from_mapping

#: Where a row stands among those of its process, and what led to it.
PLACE = {
    *("sequence", "minor", "cause_process", "cause_sequence"),
    *("because_process", "because_sequence"),
}


def story_of(run: RunFolder) -> Counter[tuple[str, tuple[tuple[str, int], ...]]]:
    """All rows of a run, whatever their order within an instant."""
    return Counter(
        (row.kind, tuple((name, value) for name, value in row.columns.items() if name not in PLACE))
        for row in run.all_rows()
    )


@pytest.mark.parametrize("seed", range(6))
def test_without_sessions_everything_happens_at_the_same_time(seed: int, tmp_path: Path) -> None:
    story = schedule(seed)
    with_sessions = simulate(story, tmp_path / "with")
    without = simulate(story, tmp_path / "without", switches={"fetch_sessions": False})
    told = story_of(with_sessions)
    assert told == story_of(without)
    assert told.total() > 1_000


def test_another_seed_is_another_story(tmp_path: Path) -> None:
    """The twin: what is compared above is fine enough to see other latencies."""
    again = scenario_from_mapping(schedule(3).resolved() | {"seed": 4}, "again")
    stories = [
        story_of(simulate(each, tmp_path / name))
        for name, each in (("as-it-is", schedule(3)), ("again", again))
    ]
    assert stories[0] != stories[1]
