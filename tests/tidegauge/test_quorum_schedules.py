"""Schedules in which controllers fail: no law of Raft breaks, the quorum makes progress, one hash.

``quorum_schedules.py`` draws small clusters of 3.6 to 4.4 with 3 or 5 controllers, of which a
minority crashes, stops, pauses, loses power or is cut off at any time. The long tests run 2,000 of
them, or as many as ``TIDEGAUGE_QUORUM_SCHEDULES`` says: ``TIDEGAUGE_QUORUM_SCHEDULES=100000``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import judged_quorums
from broken_quorums import BROKEN
from judged_quorums import assert_keep_raft, judged_quorum
from quorum_schedules import quorum_schedule
from scenario_runs import rows_of, run_of, shipped
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario
from tidegauge.simulation.kernel import QUORUM_CONTROLLER
from tidegauge.simulation.trace_rows.codes import LEADER
from tidegauge.traces.run_folder import RunFolder

STORIES = ("22-quorum-lost", "23-isolated-controller", "24-returning-voter")

_COUNT = int(os.environ.get("TIDEGAUGE_QUORUM_SCHEDULES", "2000"))
#: The long ones are this many tests: a failure names its seeds.
_PARTS = 20


def test_schedules_with_a_minority_of_controllers_down_keep_raft_and_go_on() -> None:
    """The checks of the quorum, and a commit every 10 s while a majority is up and connected."""
    assert_keep_raft(range(60))


@pytest.mark.parametrize("seed", [12397, 103245])
def test_a_late_vote_elects_the_leader_of_an_epoch_that_is_over(seed: int, tmp_path: Path) -> None:
    """A cut, or the candidate's pause, delays it until the next epoch has committed.

    That is no breach of quorum_leader_complete.
    """
    assert judged_quorum(seed).broken == []
    led = rows_of(
        run_of(quorum_schedule(seed).scenario, tmp_path), "voter_state", voter_state=int(LEADER)
    )
    epochs = [row["quorum_epoch"] for row in led]
    assert epochs != sorted(epochs)


def test_a_suspended_broker_begins_with_a_topic_that_is_gone() -> None:
    """It was created and deleted twice in that time: no breach of one_leader_per_epoch."""
    assert judged_quorum(13429).broken == []


@pytest.mark.long
@pytest.mark.parametrize("part", range(_PARTS))
def test_thousands_of_schedules_keep_raft_and_go_on(part: int) -> None:
    assert_keep_raft(range(part * _COUNT // _PARTS, (part + 1) * _COUNT // _PARTS))


def test_the_schedules_have_every_release_and_fault_and_are_calm_for_long_enough() -> None:
    """... and in many of them a controller is down or cut off to the end."""
    schedules = [quorum_schedule(seed) for seed in range(200)]
    scenarios = [schedule.scenario for schedule in schedules]
    releases = {scenario.release.rsplit(".", 1)[0] for scenario in scenarios}
    assert releases == {"3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.4"}
    assert {scenario.controllers.count for scenario in scenarios} == {3, 5}
    faults = [fault for scenario in scenarios for fault in scenario.faults]
    assert Counter(fault.kind for fault in faults).keys() == {
        *("crash", "restart", "power_loss", "pause", "cut_link", "slow_link", "slow_disk"),
    }
    assert sum(fault.for_us is None for fault in faults) > 50
    assert sum(len(schedule.calm_s) for schedule in schedules) > 100


#: Prints the first seed whose schedule breaks the check of a protocol without its rule.
FIRST_FOUND = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from broken_quorums import BROKEN
from judged_quorums import judged_quorum
BROKEN[sys.argv[2]].leaves_out()
print(next(seed for seed in range(10) if sys.argv[2] in judged_quorum(seed).broken))
"""


@pytest.mark.long
@pytest.mark.parametrize("check", BROKEN)
def test_a_quorum_without_a_rule_of_raft_is_found_by_the_first_ten_schedules(check: str) -> None:
    """The twin: each broken protocol breaks its check, in plain Python."""
    support = Path(judged_quorums.__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", FIRST_FOUND, str(support), check],
        env=os.environ | {"TIDEGAUGE_COMPILED": "0", "TIDEGAUGE_CHECKED": "0"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


# One hash, whichever processes are together.


def groupings_of(scenario: Scenario) -> list[list[list[int]]]:
    """The quorum beside one of two groups of brokers, and in a group of its own, as on Ray.

    In the last one every other process has a group of its own, too.
    """
    plan = ClusterPlan(scenario)
    quorum = [*plan.process_ranges[QUORUM_CONTROLLER]]
    others = [number for number in range(len(plan.processes)) if number not in quorum]
    return [
        [[*others[::2], *quorum], others[1::2]],
        [others, quorum],
        [*([number] for number in others), quorum],
    ]


def assert_one_hash(scenario: Scenario, folder: Path, groupings: int = 3) -> RunFolder:
    alone = run_of(scenario, folder / "alone")
    assert alone.summary is not None
    for number, groups in enumerate(groupings_of(scenario)[:groupings]):
        run = simulate(scenario, folder / str(number), make_engine=inline(groups))
        assert run.summary is not None
        assert run.summary["process_hashes"] == alone.summary["process_hashes"], groups
        assert run.summary["checks"] == alone.summary["checks"]
    return alone


@pytest.mark.parametrize("seed", [1, 4])
def test_a_schedule_with_elections_has_one_hash_in_groups(seed: int, tmp_path: Path) -> None:
    run = assert_one_hash(quorum_schedule(seed).scenario, tmp_path, groupings=2)
    assert len({row["quorum_epoch"] for row in run.rows("voter_state")}) > 1


@pytest.mark.long
@pytest.mark.parametrize("name", STORIES)
def test_a_story_of_the_quorum_has_one_hash_in_every_grouping(name: str, tmp_path: Path) -> None:
    assert_one_hash(shipped(name), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("ten", range(10))
def test_100_schedules_of_the_quorum_have_one_hash_in_every_grouping(
    ten: int, tmp_path: Path
) -> None:
    for seed in range(10 * ten, 10 * ten + 10):
        assert_one_hash(quorum_schedule(seed).scenario, tmp_path / str(seed))
