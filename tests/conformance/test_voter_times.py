"""How long changes of a quorum's voters take (KIP-853), against controllers of 4.4.0.

The schedules are those of the recordings, played with many seeds; the recorded times are of all
recordings of such a change, also of those that do not come along.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import pytest

from recordings import GOLDEN_KRAFT_44
from scenario_runs import run_of
from tidegauge.laboratory.conformance.played_schedule import outcomes_of
from tidegauge.laboratory.conformance.played_state import StepOutcome
from tidegauge.laboratory.conformance.recorded_schedule import load_schedule
from tidegauge.laboratory.conformance.translation import translate

SEEDS = [8, pytest.param(100, marks=pytest.mark.long)]


@cache
def outcomes(name: str, seed: int) -> list[StepOutcome]:
    """The outcomes of the steps of a recorded schedule, played with a seed."""
    (file,) = (GOLDEN_KRAFT_44 / "new").glob(f"{name}_*.json")
    translation = translate(load_schedule(file), seed=seed)
    with TemporaryDirectory() as folder:
        found, stuck = outcomes_of(translation, run_of(translation.scenario, Path(folder) / "run"))
    assert stuck is None
    return found


def records(outcome: StepOutcome, name: str) -> list[float]:
    """The times of a step's records in milliseconds: ``voters`` or ``leaders``."""
    return [each.time_us / 1000 for each in outcome.quorum_records[name]]


@pytest.mark.parametrize("seeds", SEEDS)
def test_the_next_leader_comes_soon_after_the_removal_of_the_active_one(seeds: int) -> None:
    """It resigns once its removal is committed, which no election time-out has to find out.

    Recorded: 0.69 to 1.5 s, on a quiet machine 0.69 s.
    """
    away = []
    for seed in range(1, seeds + 1):
        removal = outcomes("q03", seed)[2]
        (removed,), (elected,) = records(removal, "voters"), records(removal, "leaders")
        away.append(elected - removed)
    assert 500 < min(away) < 700
    assert max(away) < 1500


@pytest.mark.parametrize("seeds", SEEDS)
def test_a_change_is_answered_as_soon_as_a_majority_has_fetched_it(seeds: int) -> None:
    """Recorded: 22 ms to 0.3 s for a removal, 59 ms to 0.62 s for an addition, under load."""
    played = [outcomes("q02", seed) for seed in range(1, seeds + 1)]
    removed = [each[3].times_ms["answer_ms"] for each in played]
    added = [each[6].times_ms["answer_ms"] for each in played]
    for took in (removed, added):
        assert 5 < min(took) <= max(took) < 100


@pytest.mark.parametrize("seeds", SEEDS)
def test_a_controller_that_joins_by_itself_asks_each_fetch_timeout(seeds: int) -> None:
    """controller.quorum.fetch.timeout.ms is 2 s (KafkaRaftClient.pollFollowerAsObserver@4.2.0).

    Recorded: from the removal of the voter with the lost disk to the addition 2.55 and 2.57 s.
    """
    apart = []
    for seed in range(1, seeds + 1):
        removed, added = records(outcomes("q07", seed)[6], "voters")
        apart.append(added - removed)
    assert min(apart) > 1950
    assert median(apart) < 2500
    assert max(apart) < 2700


@pytest.mark.parametrize("seeds", SEEDS)
def test_a_leader_without_a_majority_resigns_after_one_and_a_half_fetch_timeouts(
    seeds: int,
) -> None:
    """LeaderState.timeUntilCheckQuorumExpires@4.1.0: 3 s since the last fetch of the other voter.

    Recorded: 3.3 to 3.6 s until the request failed that waited for a commit.
    """
    failed = []
    for seed in range(1, seeds + 1):
        _, _, _, _, killed, probed, *_ = outcomes("q10", seed)
        at_ms = probed.begin_us / 1000 + probed.times_ms["probe_ms"]
        failed.append(at_ms - killed.begin_us / 1000)
        assert probed.result["probe"]["error"] == "NOT_CONTROLLER"
    assert min(failed) > 2450
    assert max(failed) < 3650
