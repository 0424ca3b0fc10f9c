"""``tidegauge blame``: what each fault of a run really cost, by runs without it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import tidegauge
from importing import in_one_line
from report_page import ReportPage
from tidegauge.command_line import app
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.branching import branch, branched_scenario, read_past
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.resuming import plan_of_run
from tidegauge.engine.simulate import simulate, simulate_plan
from tidegauge.runs.fault_costs import amounts_of, costs_of, stored_costs
from tidegauge.scenario.reading import load_scenario, scenario_from_mapping
from tidegauge.sweeps.fault_runs import (
    FaultRun,
    Start,
    _perform,
    faults_of,
    planned_runs,
    subsets_to_run,
)
from tidegauge.sweeps.many_runs import outcome_of
from tidegauge.traces.run_files import BLAME, snapshot_times_us
from tidegauge.traces.run_folder import RunFolder

SCENARIOS = Path(__file__).parents[1] / "data" / "scenarios"

#: A leader is cut off from its followers, and dies 20 s later: the followers have just come back.
FADING: dict[str, Any] = {
    "name": "fading",
    "duration": "60s",
    "release": "2.6",
    "liveness": False,
    "cluster": {
        "brokers": 4,
        "start": {1: "500ms", 2: "600ms", 3: "700ms", 4: "0ms"},
        "settings": {"zookeeper.session.timeout.ms": 6000, "replica.lag.time.max.ms": 10000},
    },
    "topics": [{"name": "orders", "assignment": {0: [1, 2, 3], 1: [2, 3, 1]}}],
    "workload": {
        "producers": [
            {
                "name": "shop",
                "topics": ["orders"],
                "batches_per_second": 4,
                "settings": {"acks": "1"},
            }
        ]
    },
    "faults": [
        {"name": "fades", "kind": "cut_link", "at": "20s", "between": [[1], [2, 3]], "for": "25s"},
        {"name": "dies", "kind": "crash", "brokers": [1], "for": "10s"},
    ],
    "steps": [{"do": "begin_fault", "at": "38s", "fault": "dies"}],
}


def blame(*words: str | Path) -> Any:
    return CliRunner().invoke(app, ["blame", *map(str, words)])


def figures_of(run: RunFolder) -> dict[str, float]:
    """The figures of a run of which a difference is a cost."""
    found = outcome_of(run, ()).figures
    return {each.name: found[each.name] for each in amounts_of([found])}


def without(manifest: Mapping[str, Any], place: int) -> dict[str, Any]:
    """The scenario of a run from which one fault is deleted, and the steps that begin or end it."""
    said = manifest["scenario"]
    name = said["faults"][place].get("name")
    return {
        **said,
        "seed": manifest["seed"],
        "faults": [each for number, each in enumerate(said["faults"]) if number != place],
        "steps": [each for each in said["steps"] if each.get("fault", "") != name],
    }


@pytest.fixture(scope="module")
def fading(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of it, with snapshots before its faults and between them."""
    folder = tmp_path_factory.mktemp("runs") / "fading"
    scenario = scenario_from_mapping(FADING, "fading")
    simulate(scenario, folder, snapshots_us=[15_000_000, 30_000_000])
    return folder


# Arithmetic.


@given(
    st.integers(1, 4).flatmap(
        lambda count: st.lists(
            st.decimals(-1000, 1000, places=6), min_size=2**count, max_size=2**count
        )
    )
)
def test_the_whole_is_its_parts_exactly(values: list[Decimal]) -> None:
    """f(all) = f(none) + the sum of all m(S); and each f(S) that of the parts of its subsets."""
    count = len(values).bit_length() - 1
    runs = dict(zip(subsets_to_run(count), values, strict=True))
    costs = costs_of(runs, count)
    assert costs.rest == 0
    assert costs.whole == costs.none + sum(costs.parts.values())
    for faults, value in runs.items():
        assert value == costs.none + sum(
            part for each, part in costs.parts.items() if each <= faults
        )


def test_faults_that_do_not_meet_have_no_cost_together() -> None:
    """If each adds its own, all else is 0; a pair that only together costs 5 has these 5."""
    alone = [Decimal(3), Decimal(-2), Decimal("0.5")]
    runs = {
        faults: sum((alone[each] for each in faults), Decimal(10)) + 5 * ({0, 2} <= faults)
        for faults in subsets_to_run(3)
    }
    costs = costs_of(runs, 3)
    assert {faults: part for faults, part in costs.parts.items() if part} == {
        **{frozenset({place}): each for place, each in enumerate(alone)},
        frozenset({0, 2}): 5,
    }
    # Without the third fault its pair's cost is saved, too.
    assert costs.whole - costs.all_but[2] == Decimal("5.5")


def test_of_many_faults_three_and_more_together_are_a_rest() -> None:
    """Eight faults: 46 runs in place of 256. What only three of them cause is the rest."""
    subsets = subsets_to_run(8)
    pairs = {frozenset(each) for size in (0, 1, 2) for each in combinations(range(8), size)}
    others = {frozenset(range(8)) - {place} for place in range(8)} | {frozenset(range(8))}
    assert {*subsets} == pairs | others
    assert len(subsets) == 46
    costs = costs_of(
        {faults: Decimal(len(faults) + 7 * ({1, 2, 3} <= faults)) for faults in subsets}, 8
    )
    assert costs.rest == 7
    assert costs.whole == costs.none + sum(costs.parts.values()) + costs.rest
    assert max(map(len, costs.parts)) == 2
    assert max(map(len, subsets_to_run(20))) == 20
    assert len(subsets_to_run(20)) == 42
    with pytest.raises(TidegaugeError, match="40 faults need 82 runs"):
        subsets_to_run(40)


# Runs without faults.


def test_a_run_without_a_fault_is_that_of_a_scenario_without_it(
    fading: Path, tmp_path: Path
) -> None:
    """A fault with a time, and one that a step begins: from the beginning, and from a snapshot."""
    run = RunFolder(fading)
    plan = plan_of_run(run)
    faults = faults_of(run, plan)
    assert [(each.name, each.acts_us) for each in faults] == [
        ("fades", 20_000_000),
        ("dies", 38_000_000),
    ]
    planned = planned_runs(run, plan, faults, subsets_to_run(2), [1], snapshot_times_us(fading))
    begin_us = {has: each.start and each.start.time_us for (_, has), each in planned.items()}
    assert begin_us == {
        frozenset(): 15_000_000,
        frozenset({0}): 30_000_000,
        frozenset({1}): 15_000_000,
    }
    for place in (0, 1):
        deleted = scenario_from_mapping(without(run.manifest, place), "deleted")
        expected = figures_of(simulate(deleted, tmp_path / f"deleted-{place}"))
        # The step that begins it is still taken, and does nothing to anybody.
        expected["steps_taken"] = 1
        left_out = frozenset({place})
        whole = simulate_plan(
            replace(plan, without=left_out), tmp_path / f"without-{place}", inline()
        )
        assert figures_of(whole) == expected
        assert RunFolder(whole.path).manifest["without"] == [faults[place].name]
        each = planned[1, frozenset({1 - place})]
        assert each.without == left_out
        found = _perform(each)
        assert {name: found.figures[name] for name in expected} == expected
        assert found.trace_sha256 == whole.summary["trace_sha256"]  # type: ignore[index]
    # Nothing but the fault differs from the run itself.
    assert figures_of(run) != expected


#: Faults of each kind in both modes: rolling restarts, lost power, full disks, cut links, and more.
@pytest.mark.long
@pytest.mark.parametrize("name", ["failing-machines", "kraft-cluster"])
def test_any_kind_of_fault_can_be_left_out(name: str, tmp_path: Path) -> None:
    """With drawn faults, too: as if it were deleted, also from the last snapshot before it."""
    snapshots_us = [5_000_000, 9_000_000, 22_000_000, 40_000_000]
    scenario = load_scenario(SCENARIOS / f"{name}.yaml")
    simulate(scenario, tmp_path / "whole", snapshots_us=snapshots_us)
    run = RunFolder(tmp_path / "whole")
    plan = plan_of_run(run)
    _is_as_deleted(run, range(len(plan.scenario.faults)), tmp_path)


@pytest.mark.parametrize(
    ("name", "places"),
    [("failing-machines", (3, 4, 10)), ("kraft-cluster", (2, 8))],
    ids=[
        "zookeeper: rolling restart, lost power, a drawn crash",
        "kraft: cut link, rolling restart",
    ],
)
def test_faults_can_be_left_out_in_both_modes(
    name: str, places: tuple[int, ...], tmp_path: Path
) -> None:
    """As if they were deleted, from the last snapshot before them."""
    scenario = load_scenario(SCENARIOS / f"{name}.yaml")
    simulate(scenario, tmp_path / "whole", snapshots_us=[9_000_000, 22_000_000])
    _is_as_deleted(RunFolder(tmp_path / "whole"), places, tmp_path)


def _is_as_deleted(run: RunFolder, places: Any, folder: Path) -> None:
    plan = plan_of_run(run)
    times_us = snapshot_times_us(run.path)
    for place in places:
        deleted = scenario_from_mapping(without(run.manifest, place), "deleted")
        expected = figures_of(simulate(deleted, folder / f"deleted-{place}"))
        begin_us = plan.scenario.faults[place].at_us
        assert begin_us is not None
        from_us = max(time_us for time_us in times_us if time_us <= begin_us)
        for start in (Start(run.path, from_us), None):
            found = _perform(FaultRun(run.path, frozenset({place}), plan.scenario.seed, start))
            assert found.error is None
            assert {name: found.figures[name] for name in expected} == expected, place


# The command.


@pytest.mark.usefixtures("ray_here")
def test_blame_splits_the_figures_of_a_run_among_its_faults(fading: Path, tmp_path: Path) -> None:
    """What each causes alone, and what only both together cause: stored, and told."""
    told = blame(fading)
    assert told.exit_code == 0, told.output
    assert "fading, seed 1: 2 faults; 3 more runs, 3 of them from a snapshot" in told.output
    assert "with all   with none" in told.output
    assert all(len(line) <= 100 for line in told.stdout.splitlines())
    stored = json.loads((fading / BLAME).read_text())
    assert stored["format"] == "tidegauge-blame"
    elections = stored["figures"]["leader_elections"]
    assert [part["faults"] for part in elections["parts"]] == [
        ["fades"],
        ["dies"],
        ["fades", "dies"],
    ]
    summary = RunFolder(fading).summary
    assert summary is not None
    assert elections["whole"] == [summary["leader_elections"]]
    assert elections["none"] == [0]
    costs = stored_costs(fading)
    assert costs is not None
    for each in costs.figures.values():
        (split,) = each.by_seed
        assert split.whole == split.none + sum(split.parts.values()) + split.rest, each.figure.name
    # The report shows them with its faults.
    written = CliRunner().invoke(app, ["report", str(fading), "--out", str(tmp_path)])
    assert written.exit_code == 0, written.output
    page = ReportPage((tmp_path / "report.html").read_text())
    assert any(text.startswith("The true costs, by runs without each") for text in page.captions)
    assert f"tidegauge blame {fading}" in page.commands
    assert (
        costs.figures["records_acknowledged_lost"].by_seed[0].whole
        == summary["records_acknowledged_lost"]
    )


@pytest.mark.usefixtures("ray_here")
def test_seeds_have_a_band_and_other_faults_stay(fading: Path) -> None:
    """Each cell has the median, the least and the most; one fault is judged, the other stays."""
    said = json.loads(blame(fading, "--seeds", "3", "--fault", "dies", "--json").stdout)
    assert (said["seeds"], said["faults"], said["others"]) == ([1, 2, 3], ["dies"], 1)
    assert (said["runs"], said["from_snapshots"]) == (5, 1)
    # The other one shrinks ISRs in every run.
    assert min(said["figures"]["isr_shrinks"]["none"]) > 0
    (dies,) = said["figures"]["leader_elections"]["parts"]
    assert len(dies["values"]) == 3
    assert min(dies["values"]) > 0
    told = blame(fading, "--seeds", "1..3", "--fault", "dies", "--figures", "leader_elections")
    assert "1 fault of 2, while the others stay" in in_one_line(told.output)
    assert "Each is the median over the seeds" in told.output


@pytest.mark.usefixtures("ray_here")
def test_python_has_the_same_as_a_table(fading: Path) -> None:
    """A row for each figure and seed, whose columns add up."""
    costs = tidegauge.Result(fading).blame(jobs=1)
    rows = {row["figure"]: row for row in costs.table.arrow().to_pylist()}
    row = rows["leader_elections"]
    assert row["whole"] == row["none"] + row["fades"] + row["dies"] + row["fades + dies"]
    assert row["without dies"] == row["none"] + row["fades"]
    assert "wall_seconds" not in rows


def test_runs_that_cannot_be_judged_are_refused(fading: Path, tmp_path: Path) -> None:
    """In one line, before anything is run."""
    unknown = blame(fading, "--fault", "dyes")
    assert unknown.exit_code == 2
    assert "--fault dyes: no such fault begins; did you mean dies?" in unknown.output
    assert "--figures leader_election: did you mean leader_elections?" in in_one_line(
        blame(fading, "--figures", "leader_election").output
    )
    assert "--seeds 0: must be 1 to" in blame(fading, "--seeds", "0").output
    quiet = scenario_from_mapping({**FADING, "faults": [], "steps": [], "duration": "10s"}, "quiet")
    simulate(quiet, tmp_path / "quiet")
    none = blame(tmp_path / "quiet")
    assert none.exit_code == 2
    assert "no fault begins in this run, so none has a cost" in in_one_line(none.output)
    (tmp_path / "quiet" / "summary.json").unlink()
    assert "the run is unfinished: run it again" in in_one_line(blame(tmp_path / "quiet").output)


@pytest.mark.usefixtures("ray_here")
def test_a_snapshot_that_cannot_be_used_costs_only_time(fading: Path, tmp_path: Path) -> None:
    """The runs begin at 0 then, and have the same figures."""
    copy = tmp_path / "copy"
    shutil.copytree(fading, copy)
    (copy / BLAME).unlink(missing_ok=True)
    expected = json.loads(blame(fading, "--json").stdout)
    for file in (copy / "snapshots").iterdir():
        file.write_bytes(file.read_bytes()[:-1])
    told = blame(copy, "--json")
    assert "is damaged or incomplete" in in_one_line(told.stderr)
    said = json.loads(told.stdout)
    assert (said["runs"], said["from_snapshots"]) == (4, 0)
    assert said["figures"] == expected["figures"]


@pytest.mark.usefixtures("ray_here")
def test_the_faults_of_a_branch_are_judged_from_where_it_begins(
    fading: Path, tmp_path: Path
) -> None:
    """A crash that a branch adds to its past: without it the branch is the run that it left."""
    crash = {"name": "another", "kind": "crash", "at": "50s", "brokers": [2]}
    scenario = branched_scenario(RunFolder(fading), {}, faults=[crash])
    branch(read_past(fading, 30_000_000), scenario, tmp_path / "branch")
    said = json.loads(blame(tmp_path / "branch", "--json").stdout)
    # The cut has begun in the past.
    assert (said["faults"], said["from_snapshots"]) == (["dies", "another"], 3)
    figures = said["figures"]["leader_elections"]
    summary = RunFolder(fading).summary
    assert summary is not None
    assert figures["without"]["another"] == [summary["leader_elections"]]
    assert figures["whole"] != figures["without"]["another"]


# A roll with a slow disk.


@pytest.mark.long
@pytest.mark.usefixtures("ray_here")
def test_a_slow_disk_during_a_roll_costs_no_elections(tmp_path: Path) -> None:
    """The account of causes charges the disk with hundreds of the roll's elections; it cost none.

    Nine brokers in three racks, 300 partitions; all are restarted one after the other from 30 s on,
    and from 60 s on the disk of broker 5 is slow for two minutes.
    """
    simulate(
        load_scenario(SCENARIOS / "roll-with-slow-disk.yaml"),
        tmp_path / "run",
        snapshots_us=[25_000_000, 55_000_000],
    )
    assert blame(tmp_path / "run").exit_code == 0
    costs = stored_costs(tmp_path / "run")
    assert costs is not None
    (elections,) = costs.figures["leader_elections"].by_seed
    roll, disk = (frozenset({costs.faults.index(name)}) for name in ("roll", "disk"))
    assert elections.parts[roll] > 500
    assert abs(elections.parts[disk]) <= 5
    assert abs(elections.whole - elections.all_but[costs.faults.index("disk")]) <= 5
    for each in costs.figures.values():
        (split,) = each.by_seed
        assert split.whole == split.none + sum(split.parts.values()), each.figure.name
        assert split.rest == 0
