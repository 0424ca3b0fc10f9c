"""Saved and resumed on Ray, at length; and runs whose actors, nodes and drivers are killed.

The nodes are processes of this machine (``killed_clusters.py``), and reach each other by TCP.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from both_modes import MODES, in_mode
from fault_schedules import schedule
from interrupted_runs import figures_of_meaning, interrupted
from killed_clusters import KilledRun, Process, ThreeNodes
from kraft_schedules import kraft_schedule
from scenario_runs import shipped
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.ray_engine import on_ray
from tidegauge.engine.resuming import resume
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import Scenario
from tidegauge.traces.run_files import snapshot_times_us
from tidegauge.traces.run_folder import RunFolder

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("ray")]

SECOND = 1_000_000


def assert_saved_on_ray_it_comes_to_the_same_end(
    scenario: Scenario, folder: Path, actors: int, finer: list[int]
) -> None:
    """Save on so many actors, and continue here and on more of them."""
    time_us = scenario.duration_us // 2 + 1
    run = simulate(scenario, folder / "run", make_engine=on_ray(actors), snapshots_us=[time_us])
    alone = simulate(scenario, folder / "alone", snapshots_us=[time_us])
    assert figures_of_meaning(run) == figures_of_meaning(alone)
    for count in (0, *finer):
        past = interrupted(run, time_us, folder / f"on-{count}")
        again = resume(past, on_ray(count) if count else inline())
        assert figures_of_meaning(again) == figures_of_meaning(alone), count


@pytest.mark.parametrize("actors", [1, 3, 7])
@pytest.mark.usefixtures("ray_here")
def test_quickstart_saved_on_actors_is_resumed_here_and_there(actors: int, tmp_path: Path) -> None:
    finer = [count for count in (actors, 6) if count >= actors]
    assert_saved_on_ray_it_comes_to_the_same_end(shipped("quickstart"), tmp_path, actors, finer)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.usefixtures("ray_here")
def test_both_modes_saved_on_actors_are_resumed(mode: str, tmp_path: Path) -> None:
    assert_saved_on_ray_it_comes_to_the_same_end(in_mode(mode), tmp_path, 2, [4])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.usefixtures("ray_here")
def test_schedules_saved_on_actors_are_resumed(seed: int, tmp_path: Path) -> None:
    for make in (schedule, kraft_schedule):
        folder = tmp_path / make.__name__
        assert_saved_on_ray_it_comes_to_the_same_end(make(seed), folder, 2, [2])


# Whatever is killed.


@pytest.fixture(scope="module")
def nodes() -> Iterator[ThreeNodes]:
    cluster = ThreeNodes()
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The run that nobody disturbs."""
    folder = tmp_path_factory.mktemp("quiet") / "run"
    return simulate(half_a_minute(), folder, snapshots_us=SNAPSHOTS_US)


SNAPSHOTS_US = [time_s * SECOND for time_s in (5, 10, 15, 20, 25)]
#: Before the first snapshot, and behind others: before a crash, in it, and after it.
MOMENTS_US = [time_s * SECOND for time_s in (2, 8, 13, 18, 27)]


def half_a_minute() -> Scenario:
    """The first half minute of quickstart, with a crash."""
    faults = [{"name": "crash", "kind": "crash", "at": "12s", "for": "8s", "brokers": [2]}]
    return shipped("quickstart", {"duration": "30s", "faults": faults})


Victims = Callable[[ThreeNodes], list[Process]]


#: What is killed; the actors of a raylet that dies alone live on for a while.
VICTIMS: dict[str, Victims] = {
    "broker": lambda nodes: nodes.actors("BrokerActor")[:1],
    "controller": lambda nodes: nodes.actors("ControllerActor")[:1],
    "raylet": lambda nodes: nodes.busy_node()[:1],
    "node": ThreeNodes.busy_node,
}


def begun(nodes: ThreeNodes, folder: Path) -> KilledRun:
    nodes.complete()
    file = folder / "quickstart.yaml"
    file.write_text(json.dumps(half_a_minute().resolved()))
    return KilledRun(
        file, folder / "run", 3, address=nodes.address, speed=1, snapshots_us=SNAPSHOTS_US
    )


@pytest.mark.parametrize("victims", VICTIMS.values(), ids=VICTIMS)
def test_a_run_survives_five_deaths(
    victims: Victims, nodes: ThreeNodes, quiet: RunFolder, tmp_path: Path
) -> None:
    """A machine that is gone is replaced by another one later on.

    The actors of a raylet that dies alone may come to the end before Ray misses it.
    """
    run = begun(nodes, tmp_path)
    took_s: list[float | None] = []
    try:
        for moment_us in MOMENTS_US:
            run.wait_until(moment_us)
            for process in victims(nodes):
                process.kill()
            took_s.append(run.continues())
            nodes.complete()
        assert run.end() == 0, run.told
    finally:
        run.close()
    deaths = [each for each in took_s if each is not None]
    assert len(deaths) >= len(MOMENTS_US) - 1, run.told
    # Ray finds that a node is gone after some seconds, and starts actors for as long.
    assert max(deaths) < 90, took_s
    ended = RunFolder(tmp_path / "run")
    assert ended.summary is not None
    assert [f"told {each}" for each in ended.summary["warnings"]] == run.told[:-1]
    assert figures_of_meaning(ended) | {"warnings": []} == figures_of_meaning(quiet)


def test_a_run_whose_driver_is_killed_is_resumed(
    nodes: ThreeNodes, quiet: RunFolder, tmp_path: Path
) -> None:
    """Four times; before the first snapshot there is nothing to resume."""
    run = begun(nodes, tmp_path)
    try:
        for moment_us in MOMENTS_US[1:]:
            run.wait_until(moment_us)
            while not snapshot_times_us(tmp_path / "run"):
                time.sleep(0.1)
            run.driver.kill()
            run.close()
            run = KilledRun(Path(), tmp_path / "run", 3, address=nodes.address, speed=2)
        assert run.end() == 0, run.told
    finally:
        run.close()
    assert figures_of_meaning(RunFolder(tmp_path / "run")) == figures_of_meaning(quiet)


def test_a_run_moves_from_one_machine_to_three_and_back(
    nodes: ThreeNodes, quiet: RunFolder, tmp_path: Path
) -> None:
    """Fetches that groups have computed together are handled again where memory is not shared."""
    past = interrupted(quiet, 15 * SECOND, tmp_path / "run")
    run = KilledRun(Path(), past, 3, address=nodes.address, speed=100)
    try:
        assert run.end() == 0, run.told
    finally:
        run.close()
    there = RunFolder(past)
    assert figures_of_meaning(there) == figures_of_meaning(quiet)
    again = resume(interrupted(there, 20 * SECOND, tmp_path / "again"))
    assert again.summary is not None
    assert len(again.summary["groups"]) == 3
    assert figures_of_meaning(again) == figures_of_meaning(quiet)
