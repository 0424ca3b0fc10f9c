"""A run goes on by itself after a death: the whole run, or what comes after its last snapshot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interrupted_runs import figures_of_meaning
from small_clusters import cluster_of
from tidegauge.engine.branching import branch, branched_scenario, read_past
from tidegauge.engine.contract import (
    ActorError,
    EngineError,
    EngineInput,
    EngineMaker,
    RayUnavailableError,
)
from tidegauge.engine.grouping import Grouping
from tidegauge.engine.inline_engine import InlineEngine
from tidegauge.engine.resuming import resume
from tidegauge.engine.simulate import Scrapes, Watched, simulate
from tidegauge.traces.run_comparison import RunComparison
from tidegauge.traces.run_folder import RunFolder

SECOND = 1_000_000
SNAPSHOTS_US = [4 * SECOND, 8 * SECOND]
LEADER = "the actor of brokers 1, 2 died (process 7 on there)"


class MortalEngine(InlineEngine):
    """An engine whose actor dies when a virtual time is reached."""

    dies_at_us = 0

    def run_to(self, end_us: int) -> None:
        super().run_to(min(end_us, self.dies_at_us))
        if end_us >= self.dies_at_us:
            raise ActorError(LEADER, "; all stopped")


def deaths_at(*times_us: int, then: Callable[[EngineInput], None] = lambda _: None) -> EngineMaker:
    """Engines whose actors die at these times, one after the other; then one lives on."""
    left = [*times_us]

    def make(run: EngineInput) -> InlineEngine:
        grouping = Grouping(["all"], [[*range(len(run.plan.processes))]])
        if not left:
            then(run)
            return InlineEngine(run, grouping)
        engine = MortalEngine(run, grouping)
        engine.dies_at_us = left.pop(0)
        return engine

    return make


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    return simulate(cluster_of(duration="10s", liveness=True), folder, snapshots_us=SNAPSHOTS_US)


def test_a_run_goes_on_from_its_last_snapshot(undisturbed: RunFolder, tmp_path: Path) -> None:
    """... or from its beginning, before it has one; with the rows and figures of a quiet run."""
    lines: list[str] = []
    run = simulate(
        cluster_of(duration="10s", liveness=True),
        tmp_path / "run",
        make_engine=deaths_at(2 * SECOND, 7_500_000, 9 * SECOND),
        snapshots_us=SNAPSHOTS_US,
        tell=lines.append,
    )
    assert lines == [
        f"{LEADER}; continued from the beginning under generation 2",
        f"{LEADER}; continued from 4s under generation 3",
        f"{LEADER}; continued from 8s under generation 4",
    ]
    assert run.summary is not None
    assert run.summary["warnings"] == lines
    assert figures_of_meaning(run) == figures_of_meaning(undisturbed) | {"warnings": lines}
    assert RunComparison(undisturbed, RunFolder(run.path)).first is None


def test_a_branch_goes_on_from_its_joint(undisturbed: RunFolder, tmp_path: Path) -> None:
    """Its past is that of another run, in whose folder the snapshot is."""
    crash: dict[str, object] = {"kind": "crash", "brokers": [2], "at": "6s", "for": "2s"}
    scenario = branched_scenario(undisturbed, {}, faults=[crash])
    lines: list[str] = []
    ends = [
        branch(
            read_past(undisturbed.path, 4 * SECOND),
            scenario,
            tmp_path / name,
            make_engine=engines,
            watched=Watched(tell=lines.append),
            snapshots_us=[8 * SECOND],
        )
        for name, engines in (
            ("quiet", None),
            ("disturbed", deaths_at(7 * SECOND, 9 * SECOND)),
        )
    ]
    assert [line.split("; ")[-1] for line in lines] == [
        "continued from 4s under generation 2",
        "continued from 8s under generation 3",
    ]
    assert figures_of_meaning(ends[1]) | {"warnings": []} == figures_of_meaning(ends[0])
    assert RunComparison(*ends).first is None


def test_each_time_is_scraped_once(tmp_path: Path) -> None:
    """Although it is reached twice."""
    seen: list[int] = []
    scrapes = Scrapes(SECOND, lambda snapshot: seen.append(snapshot.time_us))
    simulate(
        cluster_of(duration="10s"),
        tmp_path / "run",
        make_engine=deaths_at(7_500_000),
        snapshots_us=SNAPSHOTS_US,
        scrapes=scrapes,
    )
    assert seen == [second * SECOND for second in range(1, 11)]


def test_three_deaths_after_one_snapshot_end_a_run(undisturbed: RunFolder, tmp_path: Path) -> None:
    """Whatever has killed the actors kills the next; later the run can be resumed."""
    folder = tmp_path / "run"
    with pytest.raises(ActorError) as error:
        simulate(
            cluster_of(duration="10s", liveness=True),
            folder,
            make_engine=deaths_at(*[5 * SECOND] * 3),
            snapshots_us=SNAPSHOTS_US,
        )
    assert str(error.value) == (
        f"{LEADER}; it is death number 3 after 4s; continue with: tidegauge resume {folder}"
    )
    assert figures_of_meaning(resume(folder)) == figures_of_meaning(undisturbed)


def test_actors_without_room_leave_a_run_that_can_be_resumed(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    def find_no_room(_: EngineInput) -> None:
        raise RayUnavailableError("Ray has no room for 3 actors")

    with pytest.raises(EngineError) as error:
        simulate(
            cluster_of(duration="10s"),
            folder,
            make_engine=deaths_at(5 * SECOND, then=find_no_room),
            snapshots_us=SNAPSHOTS_US,
        )
    assert str(error.value) == (
        f"Ray has no room for 3 actors; continue with: tidegauge resume {folder}"
    )
    assert resume(folder).summary is not None


def test_without_snapshots_a_death_ends_a_run_and_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(ActorError) as error:
        simulate(cluster_of(duration="10s"), tmp_path / "run", make_engine=deaths_at(5 * SECOND))
    assert str(error.value) == (
        f"{LEADER}; all stopped; with --snapshot-every 60s a run continues by itself"
    )
