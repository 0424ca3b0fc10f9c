"""On Ray: the same cluster in actors has the same rows and the same hash, and ends cleanly.

An actor is a process that takes seconds to start, so two ways to deal out the processes are tried
once by default: some brokers each, one each. Long tests try one actor for all, and
``test_on_ray_long.py`` plays whole scenarios, all mechanisms and more schedules in each way.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from descendants import descendants
from fault_schedules import schedule
from interrupted_runs import figures_of_meaning, interrupted
from quorum_schedules import quorum_schedule
from ray_runs import differences, differences_on_ray
from scenario_runs import shipped
from small_clusters import cluster_of
from tidegauge.command_line import app
from tidegauge.engine.contract import ActorError, EngineError, LoopFigures, Passed
from tidegauge.engine.ray_engine import on_ray
from tidegauge.engine.resuming import resume
from tidegauge.engine.simulate import Scrapes, simulate
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.scenario.reading import Scenario, load_scenario
from tidegauge.traces.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("ray_here")

KRAFT_CLUSTER = Path(__file__).parents[1] / "data" / "scenarios" / "kraft-cluster.yaml"


def quickstart(**changes: object) -> Scenario:
    """Its first minute, the crash included."""
    faults = [{"name": "crash", "kind": "crash", "at": "30s", "for": "20s", "brokers": [2]}]
    return shipped("quickstart", {"duration": "60s", "faults": faults, **changes})


def test_quickstart_is_the_same_on_three_actors(tmp_path: Path) -> None:
    """Each has a broker of every rack; to the end of the liveness phase."""
    assert differences_on_ray(quickstart(liveness=True), tmp_path, [3]) == []


@pytest.mark.long
def test_a_generated_schedule_is_the_same_on_one_actor_for_all(tmp_path: Path) -> None:
    """With ZooKeeper and the controllers."""
    assert differences_on_ray(schedule(2), tmp_path, [1]) == []


def test_a_kraft_cluster_is_the_same_on_an_actor_for_each_broker(tmp_path: Path) -> None:
    """Its quorum is on another one."""
    assert differences_on_ray(load_scenario(KRAFT_CLUSTER), tmp_path, [5]) == []


@pytest.mark.long
def test_failing_controllers_are_the_same_on_actors(tmp_path: Path) -> None:
    """An actor for each broker, and one for the controllers, of which one is cut off and killed."""
    scenario = quorum_schedule(1).scenario
    assert scenario.faults
    assert differences_on_ray(scenario, tmp_path, [len(scenario.broker_ids()) + 1]) == []


def test_another_seed_differs_on_ray_too(tmp_path: Path) -> None:
    """The twin of those above: the comparison does notice."""
    one = simulate(quickstart(duration="10s", faults=[]), tmp_path / "1")
    other = simulate(
        quickstart(duration="10s", faults=[], seed=2), tmp_path / "2", make_engine=on_ray(1)
    )
    assert "trace_sha256" in differences(one, other)


def test_checkpoint_files_come_home(tmp_path: Path) -> None:
    """What brokers write lies on the machines of their actors, and is fetched from there."""
    scenario = cluster_of(checkpoint_files=True)
    alone = simulate(scenario, tmp_path / "inline").path
    there = simulate(scenario, tmp_path / "ray", make_engine=on_ray(2)).path
    files = [file for file in alone.rglob("log-directories/**/*") if file.is_file()]
    assert files
    for file in files:
        assert (there / file.relative_to(alone)).read_bytes() == file.read_bytes()


def test_speed_paces_virtual_time(tmp_path: Path) -> None:
    scenario = cluster_of(duration="3s")
    started = time.monotonic()
    run = simulate(scenario, tmp_path / "run", make_engine=on_ray(1), speed=1.0)
    assert run.summary is not None
    assert 2.9 < run.summary["loop_seconds"] < time.monotonic() - started


class Looking:
    """An onlooker that keeps what it sees, twenty times a second (``engine.Onlooker``)."""

    def __init__(self) -> None:
        self.seen: list[Snapshot] = []
        self._due_s = 0.0

    def is_due(self) -> bool:
        return time.monotonic() >= self._due_s

    def look(self, snapshot: Snapshot, figures: LoopFigures) -> None:
        assert len(figures.groups) == 3
        self.seen.append(snapshot)
        self._due_s = time.monotonic() + 0.05


@pytest.mark.long
def test_actors_show_together_what_one_group_shows(tmp_path: Path) -> None:
    """Snapshots at the same virtual times are equal, whoever hosts what; and hashes are.

    To look at a run in real time as well does not change that.
    """
    onlooker = Looking()
    shown: list[list[Snapshot]] = [[], []]
    runs = [
        simulate(quickstart(), tmp_path / "inline", scrapes=Scrapes(10_000_000, shown[0].append)),
        simulate(
            quickstart(),
            tmp_path / "ray",
            make_engine=on_ray(3),
            scrapes=Scrapes(10_000_000, shown[1].append),
            onlooker=onlooker,
        ),
    ]
    assert differences(*runs) == []
    for alone, together in zip(*shown, strict=True):
        for columns, other in zip(alone[1:], together[1:], strict=True):
            assert (columns == other).all()
    assert shown[1][3].brokers["answers"].tolist() == [True, False, True, True, True, True]
    assert len(onlooker.seen) >= 3
    assert onlooker.seen[-1].brokers["alive"].all()
    times = [snapshot.time_us for snapshot in onlooker.seen]
    assert times == sorted(times)


# What goes wrong.


def test_an_actor_that_is_killed_ends_the_run_and_is_named(tmp_path: Path) -> None:
    """... within seconds; what it and the others have told until then can be read."""
    killed: list[tuple[int, float]] = []

    def kill_one(passed: Passed) -> None:
        if passed.time_us > 2_000_000 and not killed:
            lines = descendants(os.getpid())
            process = max(each for each in lines if lines[each].startswith("ray::BrokerActor"))
            os.kill(process, signal.SIGKILL)
            killed.append((process, time.monotonic()))

    scenario = quickstart(faults=[], liveness=False)
    with pytest.raises(ActorError) as error:
        simulate(scenario, tmp_path / "run", make_engine=on_ray(2), progress=kill_one, speed=2.0)
    ((process, when),) = killed
    assert time.monotonic() - when < 10
    assert "the actor of broker" in str(error.value)
    assert " died" in str(error.value)
    assert f"process {process} on " in str(error.value)
    run = RunFolder(tmp_path / "run")
    assert run.summary is None
    assert len(list(run.rows("broker_state"))) > 0


def test_a_run_with_snapshots_goes_on_after_the_death_of_an_actor(tmp_path: Path) -> None:
    """... from the last of them, with new actors; and its end is that of a quiet run."""
    killed: list[int] = []

    def kill_one(passed: Passed) -> None:
        if passed.time_us > 25_000_000 and not killed:
            lines = descendants(os.getpid())
            killed.append(max(each for each in lines if lines[each].startswith("ray::BrokerActor")))
            os.kill(killed[0], signal.SIGKILL)

    snapshots_us, lines = [20_000_000, 40_000_000], list[str]()
    run = simulate(
        quickstart(),
        tmp_path / "run",
        make_engine=on_ray(2),
        progress=kill_one,
        speed=10.0,
        snapshots_us=snapshots_us,
        tell=lines.append,
    )
    (line,) = lines
    assert f"died (process {killed[0]} on " in line
    assert line.endswith("; continued from 20s under generation 2")
    assert run.summary is not None
    assert run.summary["warnings"] == lines
    alone = simulate(quickstart(), tmp_path / "alone", snapshots_us=snapshots_us)
    assert differences(alone, run) == []
    # What both have saved at 40 s can be continued without Ray as well.
    for each in (alone, run):
        again = resume(interrupted(each, 40_000_000, tmp_path / f"again-{each.path.name}"))
        assert figures_of_meaning(again) | {"warnings": []} == figures_of_meaning(alone)


def test_a_run_moves_to_ray(tmp_path: Path) -> None:
    """Saved by one group here, it continues on an actor for each two brokers."""
    alone = simulate(quickstart(), tmp_path / "alone", snapshots_us=[20_000_000])
    past = interrupted(alone, 20_000_000, tmp_path / "there")
    assert figures_of_meaning(resume(past, on_ray(3))) == figures_of_meaning(alone)


def test_more_actors_than_brokers_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="can be hosted by 1 to 4 actors, not by 5"):
        simulate(cluster_of(), tmp_path / "run", make_engine=on_ray(5))
    assert not (tmp_path / "run").exists()


def test_the_command_runs_on_ray_and_says_what_the_windows_cost(tmp_path: Path) -> None:
    scenario = tmp_path / "tiny.yaml"
    scenario.write_text(
        "{name: tiny, duration: 4s, liveness: false, cluster: {brokers: 2},"
        " topics: [{name: orders, partitions: 1, replication_factor: 2}]}"
    )
    command = ["run", str(scenario), "--verbose", "--out"]
    result = CliRunner().invoke(app, [*command, str(tmp_path / "run"), "--ray"])
    assert result.exit_code == 0, result.output
    assert "3 actors: " in result.stdout
    assert "windows a virtual second" in result.stdout
    inline = CliRunner().invoke(app, [*command, str(tmp_path / "inline")])
    sha = [line for line in inline.stdout.splitlines() if line.startswith("trace_sha256")]
    assert sha[0] in result.stdout
