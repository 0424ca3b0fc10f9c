"""A branch: a run that goes on from a snapshot in another way.

The contract: what a branch becomes is what a run becomes that had the branch's scenario from its
beginning, if nothing before the snapshot could tell the two apart. Without a change it is the run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scenario_runs import shipped
from tidegauge.engine.branching import BranchError, branch, branched_scenario, past_until, read_past
from tidegauge.engine.grouping import grouping_of
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.resuming import resume
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario
from tidegauge.traces.run_files import SUMMARY, snapshot_file
from tidegauge.traces.run_folder import RunFolder, TraceRow

SECOND = 1_000_000
JOINT_US = 100 * SECOND

POWER_LOSS = {
    "name": "rack b",
    "kind": "power_loss",
    "at": "105s",
    "for": "20s",
    "brokers": ["rack:b"],
}

LATE = {"name": "late", "kind": "pause", "at": "170s", "for": "5s", "brokers": [1]}


def figures(run: RunFolder) -> dict[str, Any]:
    """All figures of a run but those of its speed, and its hash."""
    assert run.summary is not None
    return {
        name: value
        for name, value in run.summary.items()
        if not name.startswith(("loop", "events_", "times_", "windows", "wall"))
        and name != "groups"
    }


def before_the_joint(run: RunFolder, kind: str) -> list[TraceRow]:
    return [row for row in run.rows(kind) if row["time_us"] < JOINT_US]


@pytest.fixture(scope="module", params=["quickstart", "quickstart-zookeeper"])
def past(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Four minutes of six brokers in each mode, with a snapshot at 100 s."""
    folder = tmp_path_factory.mktemp("branching") / request.param
    return simulate(shipped(request.param), folder, snapshots_us=[JOINT_US])


Branched = Callable[..., RunFolder]


@pytest.fixture
def branched(past: RunFolder, tmp_path: Path) -> Branched:
    """Branches of the past at its snapshot."""

    def run(changes: dict[str, object], **more: Any) -> RunFolder:
        scenario = branched_scenario(past, changes, **more)
        past_of_both = read_past(past.path, JOINT_US)
        return branch(past_of_both, scenario, tmp_path / "branch", keeps_joint=True)

    return run


def test_a_branch_without_a_change_is_the_run(past: RunFolder, branched: Branched) -> None:
    assert figures(branched({})) == figures(past)


def test_a_fault_that_a_branch_adds_does_what_it_does_in_a_scenario_with_it(
    past: RunFolder, branched: Branched, tmp_path: Path
) -> None:
    """What if rack b had lost its power then? Brokers know what their disks had kept until then."""
    from_snapshot = branched({}, faults=[POWER_LOSS])
    scenario = branched_scenario(past, {}, faults=[POWER_LOSS])
    from_beginning = simulate(scenario, tmp_path / "whole")
    assert figures(from_snapshot) == figures(from_beginning)
    assert figures(from_snapshot)["trace_sha256"] != figures(past)["trace_sha256"]
    # The views read across the joint.
    began = [row["time_us"] for row in from_snapshot.rows("fault_began")]
    assert began == [row["time_us"] for row in from_beginning.rows("fault_began")]
    assert min(began) < JOINT_US < max(began)
    assert from_snapshot.manifest["past"]["at_us"] == JOINT_US


def test_a_fault_that_is_still_to_come_can_be_another_one(
    past: RunFolder, branched: Branched, tmp_path: Path
) -> None:
    """The partition begins at 130 s; the disk is slow from 90 s until the branch says."""
    changes: dict[str, object] = {
        "faults.partition.at": "150s",
        "faults.partition.for": "20s",
        "faults.disk.for": "45s",
    }
    from_snapshot = branched(changes)
    from_beginning = simulate(branched_scenario(past, changes), tmp_path / "whole")
    assert figures(from_snapshot) == figures(from_beginning)


def test_a_setting_holds_from_then_on(past: RunFolder, branched: Branched) -> None:
    """replica.lag.time.max.ms of 10 s: the partition at 130 s shrinks more ISRs, and earlier."""
    run = branched({"cluster.settings.replica.lag.time.max.ms": 10_000})
    assert figures(run)["isr_shrinks"] > figures(past)["isr_shrinks"]
    assert before_the_joint(run, "isr_shrunk") == before_the_joint(past, "isr_shrunk")


def test_another_seed_is_another_future_of_the_same_past(
    past: RunFolder, branched: Branched
) -> None:
    run = branched({"seed": 99})
    assert figures(run)["trace_sha256"] != figures(past)["trace_sha256"]
    for kind in ("isr_shrunk", "became_leader"):
        assert before_the_joint(run, kind) == before_the_joint(past, kind)


def test_a_branch_lasts_as_long_as_it_says(branched: Branched) -> None:
    run = branched({"duration": "5m"})
    assert run.end_us == 300 * SECOND
    assert figures(run)["virtual_seconds"] == 300


def test_a_step_that_a_branch_adds_is_taken(branched: Branched) -> None:
    step = {"at": "120s", "do": "preferred_election"}
    run = branched({}, steps=[step])
    assert [row["time_us"] for row in run.rows("step_taken")] == [120 * SECOND]


def test_branches_of_branches_keep_the_numbers_of_all_faults(
    branched: Branched, tmp_path: Path
) -> None:
    """A run branches at any time: its past is repeated from the last snapshot before."""
    first = branched({}, faults=[POWER_LOSS])
    at_us = 160 * SECOND
    scenario = branched_scenario(
        first,
        {},
        faults=[{"name": "late", "kind": "pause", "at": "170s", "brokers": [1], "for": "5s"}],
    )
    folder = past_until(first, at_us, tmp_path / "past")
    second = branch(read_past(folder, at_us, str(first.path)), scenario, tmp_path / "second")
    assert [each["name"] for each in second.manifest["faults"]][-2:] == ["rack b", "late"]
    joints = second.manifest["faults_before_joints"]
    assert joints[1] == joints[0] + 1 == len(scenario.faults) - 1
    whole = simulate(scenario, tmp_path / "whole")
    assert figures(second) == figures(whole)


def test_a_branch_that_was_interrupted_is_resumed(
    past: RunFolder, tmp_path: Path, branched: Branched
) -> None:
    scenario = branched_scenario(past, {}, faults=[POWER_LOSS])
    whole = branched({}, faults=[POWER_LOSS])
    folder = tmp_path / "again"
    at_us = [JOINT_US, 150 * SECOND]
    branch(read_past(past.path, JOINT_US), scenario, folder, snapshots_us=at_us)
    for time_us in reversed(at_us):
        (folder / SUMMARY).unlink()
        assert figures(resume(folder)) == figures(whole)
        snapshot_file(folder, time_us).unlink()


def test_a_branch_of_another_seed_has_its_own_past_only_with_a_snapshot(
    past: RunFolder, tmp_path: Path
) -> None:
    """From its beginning its scenario would give another past."""
    changed = branched_scenario(past, {"seed": 5})
    first = branch(read_past(past.path, JOINT_US), changed, tmp_path / "first")
    with pytest.raises(BranchError, match="has no snapshot until 130s: branch from "):
        past_until(first, 130 * SECOND, tmp_path / "past")


def test_groups_of_processes_branch_as_one_does(past: RunFolder, tmp_path: Path) -> None:
    scenario = shipped(str(past.manifest["scenario"]["name"]))
    groups = grouping_of(ClusterPlan(scenario), 3).hosted
    simulate(scenario, tmp_path / "groups", make_engine=inline(groups), snapshots_us=[JOINT_US])
    changed = branched_scenario(past, {}, faults=[POWER_LOSS])
    of_groups = branch(read_past(tmp_path / "groups", JOINT_US), changed, tmp_path / "a")
    of_one = branch(read_past(past.path, JOINT_US), changed, tmp_path / "b")
    assert figures(of_groups) == figures(of_one)
    # Parts of one group branch as well.
    finer = branch(
        read_past(past.path, JOINT_US), changed, tmp_path / "c", make_engine=inline(groups)
    )
    assert figures(finer) == figures(of_one)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"topics.0.partitions": 7}, "topics.0.partitions: cannot change while a run goes on"),
        ({"faults.crash.at": "110s"}, "faults[0].at: must not be before 100s"),
        ({"faults.partition.at": "40s"}, "faults[2].at: must not be before 100s"),
        ({"faults": []}, "faults[0]: is missing: a branch keeps all faults of its past"),
        ({"cluster.settings.num.io.threads": 3}, "threads: there are 48 of them, not 18"),
    ],
)
def test_what_no_run_can_change_half_way_is_refused(
    branched: Branched, changes: dict[str, object], said: str
) -> None:
    with pytest.raises(BranchError) as error:
        branched(changes)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_roll_goes_on_when_a_branch_adds_a_loss_of_power(tmp_path: Path) -> None:
    """What is lost when a rack loses power in the middle of a rolling restart?

    The restarts of the roll have numbers behind the scenario's faults. Rows of the past have them,
    so the fault that the branch adds has a number behind theirs.
    """
    scenario: Scenario = shipped("rolling-restart", {"duration": "3m"})
    run = simulate(scenario, tmp_path / "run", snapshots_us=[70 * SECOND])
    lost = {**POWER_LOSS, "at": "75s", "brokers": [4]}
    changed = branched_scenario(run, {}, faults=[lost])
    branched = branch(read_past(run.path, 70 * SECOND), changed, tmp_path / "branch")
    whole = simulate(changed, tmp_path / "whole")
    hashes = {"trace_sha256", "process_hashes"}
    of_both = [
        {name: value for name, value in figures(each).items() if name not in hashes}
        for each in (branched, whole)
    ]
    assert of_both[0] == of_both[1]
    names = [each["name"] for each in branched.manifest["faults"]]
    assert names.index("rack b") == len(names) - 1
    assert names.index("rack b") > names.index("roll of broker 1") > names.index("roll")


def test_a_branch_pins_fetches_that_its_past_has_computed(tmp_path: Path) -> None:
    """Idle fetches are handled, and counted, from the joint on, as in a run with the pin."""
    pin = {"hold": "FETCH", "to": "broker:1", "nth": 3, "after": "6s", "for": "2s"}
    idle = shipped("quickstart", {"duration": "12s", "workload": {}, "faults": []})
    past = simulate(idle, tmp_path / "past", snapshots_us=[5 * SECOND])
    changed = branched_scenario(past, {"pins": [pin]})
    run = branch(read_past(past.path, 5 * SECOND), changed, tmp_path / "branch")
    assert past.summary is not None
    assert past.summary["events_computed"] > 0
    assert len(list(run.rows("message_held"))) == 1
    assert figures(run) == figures(simulate(changed, tmp_path / "whole"))
