"""The voters' logs: what is committed, how long that takes, what is taken off again."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenario_runs import run_of
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.trace_rows.codes import LEADER
from tidegauge.traces.run_folder import RunFolder
from voter_stories import SECOND, claims, fault, logs, states, voters_story


def commit_times_us(run: RunFolder, since_us: int) -> list[int]:
    """How long each record of the first leader took from its log to its high watermark."""
    rows = logs(run, 0)
    times = []
    for place, row in enumerate(rows):
        if row["time_us"] < since_us or row["log_end_offset"] == rows[place - 1]["log_end_offset"]:
            continue
        after = [
            later["time_us"]
            for later in rows[place:]
            if later["high_watermark"] >= row["log_end_offset"]
        ]
        times += [int(after[0]) - int(row["time_us"])] if after else []
    return times


@pytest.mark.parametrize(("slow", "is_delayed"), [((1,), False), ((1, 2), True)])
def test_slow_disks_of_a_majority(tmp_path: Path, slow: tuple[int, ...], is_delayed: bool) -> None:
    """KafkaRaftClient.appendAsFollower: a follower flushes before it fetches again.

    So a commit waits for the fastest majority: one slow disk of three delays nothing.
    """
    story = voters_story(
        [fault("slow_disk", *slow, at_s=3, for_s=10, delay="200ms")], duration="8s"
    )
    times_us = commit_times_us(run_of(story, tmp_path / "r"), 4 * SECOND)
    assert len(times_us) > 4
    if is_delayed:
        assert min(times_us) > 0.2 * SECOND
    else:
        assert max(times_us) < 0.05 * SECOND


@pytest.mark.parametrize("seed", [1, 2])
def test_a_new_leader_commits_nothing_without_a_record_of_its_own_epoch(
    tmp_path: Path, seed: int
) -> None:
    """LeaderState.maybeUpdateHighWatermark: until then its high watermark is unknown."""
    story = voters_story([fault("crash", 0, at_s=3, for_s=9)], seed=seed, duration="9s")
    run = run_of(story, tmp_path / "r")
    elected = [each for each in states(run) if each.state == LEADER][-1]
    rows = logs(run, elected.voter)
    before = [row for row in rows if row["time_us"] <= elected.time_us][-1]
    start_offset = before["log_end_offset"]
    after = [row for row in rows if row["time_us"] > elected.time_us]
    assert after[0]["quorum_epoch"] == elected.epoch
    marks = [row["high_watermark"] for row in after]
    assert marks[0] == NONE
    assert all(mark == NONE or mark > start_offset for mark in marks)
    assert max(marks) > start_offset
    claimed_us = claims(run)[-1][0]
    assert claimed_us >= next(row["time_us"] for row in after if row["high_watermark"] != NONE)


def test_what_was_not_flushed_is_lost_with_the_power(tmp_path: Path) -> None:
    """A follower with a slow disk has records in its log that are not on its disk yet.

    They are not counted as its own, so a loss of power takes no committed record from a majority.
    """
    faults = [
        fault("slow_disk", 1, at_s=3, for_s=10, delay="400ms"),
        fault("power_loss", 1, at_s=5, for_s=3),
    ]
    runs = [
        run_of(voters_story(faults, seed=seed, duration="12s"), tmp_path / str(seed))
        for seed in range(1, 5)
    ]
    lost = [row for run in runs for row in logs(run, 1) if row["truncated"]]
    assert lost
    for run in runs:
        last = [logs(run, voter)[-1] for voter in range(3)]
        assert max(row["log_end_offset"] for row in last) - last[1]["log_end_offset"] <= 1
