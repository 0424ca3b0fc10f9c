"""The saved state of a group of processes continues in several groups, each with a part of it."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

from both_modes import MODES, in_mode
from fault_schedules import schedule
from gates import assert_met
from interrupted_runs import figures_of_meaning, interrupted
from kraft_schedules import kraft_schedule
from small_clusters import cluster_of
from tidegauge.engine.contract import EngineError
from tidegauge.engine.grouping import finer_grouping, grouping_of
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.resuming import resume
from tidegauge.engine.row_stream import LOG_DIRECTORIES
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario
from tidegauge.simulation.kernel import QUORUM_CONTROLLER
from tidegauge.traces.run_folder import RunFolder

SECOND = 1_000_000


def assert_finer_groups_come_to_the_same_end(
    scenario: Scenario, folder: Path, snapshots_us: list[int], first: int, finer: list[int]
) -> RunFolder:
    """Save a run in some groups, and continue it in more; return the undisturbed run."""
    plan = ClusterPlan(scenario)
    saved = grouping_of(plan, first).hosted if first > 1 else [[*range(len(plan.processes))]]
    run = simulate(scenario, folder / "run", make_engine=inline(saved), snapshots_us=snapshots_us)
    for time_us in snapshots_us:
        for count in finer:
            cut = finer_grouping(plan, saved, count) if first > 1 else grouping_of(plan, count)
            parts = cut.hosted
            past = interrupted(run, time_us, folder / f"{count}-from-{time_us}")
            again = resume(past, inline(parts))
            where = f"{scenario.name}: {first} groups, from {time_us} us on in {parts}"
            assert figures_of_meaning(again) == figures_of_meaning(run), where
            assert again.summary is not None
            assert len(again.summary["groups"]) == len(parts)
    return run


@pytest.mark.parametrize("mode", MODES)
def test_one_group_continues_in_three_and_in_one_for_each_broker(mode: str, tmp_path: Path) -> None:
    """Two brokers die and come back; the snapshots lie before, between and behind.

    Some fetches are computed as each is made. Those of two brokers that part are handled again.
    """
    scenario = in_mode(mode, trace="transitions")
    assert_finer_groups_come_to_the_same_end(
        scenario, tmp_path, [20 * SECOND, 45_123_456, 80 * SECOND], 1, [3, 5]
    )


@pytest.mark.parametrize("mode", MODES)
def test_three_groups_continue_in_one_for_each_broker(mode: str, tmp_path: Path) -> None:
    """Of fetches that two groups compute together, each group has given its end to one of its own.

    With ZooKeeper the controllers stay with their brokers, so there are no more groups.
    """
    scenario = in_mode(mode, trace="transitions")
    assert_finer_groups_come_to_the_same_end(
        scenario, tmp_path, [20 * SECOND, 45_123_456], 3, [3, 4, 5]
    )


def test_a_part_is_saved_and_cut_again(tmp_path: Path) -> None:
    """What is left in it of other processes stays unseen."""
    scenario = in_mode("kraft", trace="transitions")
    plan = ClusterPlan(scenario)
    times_us = [20 * SECOND, 45_123_456, 80 * SECOND]
    run = simulate(scenario, tmp_path / "run", snapshots_us=times_us)
    two = grouping_of(plan, 2)
    three = finer_grouping(plan, two.hosted, 3)
    four = finer_grouping(plan, three.hosted, 4)
    for parts, time_us in zip((two, three, four), times_us, strict=True):
        past = interrupted(RunFolder(run.path), time_us, tmp_path / f"from-{time_us}")
        again = resume(past, inline(parts.hosted))
        assert figures_of_meaning(again) == figures_of_meaning(run)
        run = again


@pytest.mark.parametrize("seed", [3, *(pytest.param(n, marks=pytest.mark.long) for n in range(10))])
def test_schedules_continue_in_finer_groups(seed: int, tmp_path: Path) -> None:
    """Whatever overlaps as the snapshot is made: cuts, pauses, losses of power, elections."""
    for make in (schedule, kraft_schedule):
        scenario = make(seed)
        brokers = len(scenario.broker_ids())
        third_us = scenario.duration_us // 3 + seed
        folder = tmp_path / make.__name__
        finer = [min(3, brokers), brokers + 1]
        assert_met(
            assert_finer_groups_come_to_the_same_end(scenario, folder / "1", [third_us], 1, finer)
        )
        assert_finer_groups_come_to_the_same_end(
            scenario, folder / "2", [2 * third_us], 2, [brokers]
        )


def test_checkpoint_files_continue_with_their_brokers(tmp_path: Path) -> None:
    scenario = cluster_of(
        checkpoint_files=True,
        duration="10s",
        faults=[{"kind": "crash", "brokers": [2], "at": "5s", "for": "2s"}],
    )
    run = assert_finer_groups_come_to_the_same_end(scenario, tmp_path, [6 * SECOND], 1, [3])
    again = tmp_path / f"3-from-{6 * SECOND}"
    files = [file for file in (run.path / LOG_DIRECTORIES).rglob("*") if file.is_file()]
    assert files
    for file in files:
        assert (again / file.relative_to(run.path)).read_bytes() == file.read_bytes()


def test_finer_groups_are_parts_of_the_saved_ones() -> None:
    """The quorum stays whole, and nobody is left out."""
    plan = ClusterPlan(in_mode("kraft"))
    quorum = {*plan.process_ranges[QUORUM_CONTROLLER]}
    for saved_groups in range(2, 6):
        saved = grouping_of(plan, saved_groups).hosted
        for count in range(1, 7):
            finer = finer_grouping(plan, saved, count, machines=2)
            assert sorted(chain.from_iterable(finer.hosted)) == [*range(len(plan.processes))]
            assert all(any({*part} <= {*each} for each in saved) for part in finer.hosted)
            assert quorum <= {*finer.hosted[finer.controllers]}
            assert sorted(finer.machines) == [*finer.machines]
            # There are four brokers; only a group that was saved so has controllers alone.
            number = max(saved_groups, min(count, 4))
            assert len(finer.hosted) == number
            told = f"of {saved_groups} groups of processes continues on {number} actors, not on"
            assert (told in finer.notice) == (number != count)


def test_groups_are_never_joined(tmp_path: Path) -> None:
    """Their tables have no common numbers; in one interpreter they run as they are, in turn."""
    scenario = in_mode("kraft")
    plan = ClusterPlan(scenario)
    saved = inline(grouping_of(plan, 3).hosted)
    run = simulate(scenario, tmp_path / "run", make_engine=saved, snapshots_us=[50 * SECOND])
    past = interrupted(run, 50 * SECOND, tmp_path / "past")
    with pytest.raises(EngineError, match="state of 3 groups of processes cannot be joined"):
        resume(past, inline([range(len(plan.processes))]))
    again = resume(past)
    assert again.summary is not None
    assert len(again.summary["groups"]) == 3
    assert figures_of_meaning(again) == figures_of_meaning(run)
