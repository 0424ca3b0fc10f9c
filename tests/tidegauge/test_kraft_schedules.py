"""Generated schedules of KRaft clusters: no law breaks, everything heals, one hash in all groups.

``kraft_schedules.py`` draws releases from 3.3 to 4.4, metadata versions, topics, faults of all
kinds that overlap freely, and an operator who deletes, creates, moves and configures topics
meanwhile. In the end every partition is led, written to, and in sync on all its replicas.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from gates import COMMITS, ELECTIONS, ISR_CHANGES, TRUNCATIONS, Reached, assert_reached, reached_by
from kraft_schedules import FAULT_KINDS, kraft_schedule
from process_groups import groups_of
from scenario_runs import run_of
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.replication.replica_list import size
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.trace_rows.codes import STATE_DELETED
from tidegauge.traces.checks.histories import (
    BY_DIVERGING_RESPONSE,
    BY_FENCED_LAST_KNOWN_LEADER,
    PERMITS,
)
from tidegauge.traces.run_folder import RunFolder

#: Releases 3.3 to 4.4, with and without ELR; in most of them something is moved or created again.
SHORT = (0, 7, 13, 14, 36, 80, 110, 116, 178, 187, 234, 243, 272)

#: In pytest's parameters ten schedules are one test, so that a failure names few.
TENS = range(30)

#: A schedule has as many of these, on an average, or its faults met nothing.
LEAST = {COMMITS: 30, ELECTIONS: 10, ISR_CHANGES: 5, TRUNCATIONS: 0.5}


def assert_no_check_is_broken(run: RunFolder) -> None:
    """What is broken is permitted by a setting, an election or a loss of power of the schedule."""
    assert run.summary is not None
    scenario = run.manifest["scenario"]
    settings = [topic["settings"] for topic in scenario["topics"]]
    settings += [step.get("settings") or {} for step in scenario["steps"]]
    may_lose = (
        any(each.get("unclean.leader.election.enable") for each in settings)
        or any(step["do"] == "unclean_election" for step in scenario["steps"])
        or any(fault["kind"] == "power_loss" for fault in scenario["faults"])
    )
    for name, found in run.summary["checks"].items():
        assert found["broken"] == 0, (name, found, run.summary["liveness"])
        if found["permitted_by"] == PERMITS[int(BY_FENCED_LAST_KNOWN_LEADER)]:
            assert (name, scenario["release"][:3]) == ("fenced_outside_isr", "4.0")
        elif found["permitted_by"] == PERMITS[int(BY_DIVERGING_RESPONSE)]:
            assert (name, scenario["release"][:3]) == ("committed_agree", "3.3")
        elif found["permitted"]:
            assert may_lose, (name, found)


def assert_all_is_well(run: RunFolder) -> None:
    """Each step found what it waited for; each partition takes a write, and is in sync."""
    assert run.summary is not None
    assert run.summary["liveness"]["reached"], run.summary["liveness"]["reasons"]
    assert not list(run.rows("step_timed_out"))
    assert not list(run.rows("step_unanswered"))
    steps = run.manifest["scenario"]["steps"]
    errors = {row["step"]: row["error"] for row in run.rows("step_answered")}
    writes = [number for number, step in enumerate(steps) if step["do"] == "produce"]
    assert [errors.get(number) for number in writes] == [0] * len(run.manifest["partitions"])
    states = {row["partition"]: row for row in run.rows("partition_state")}
    replicas = {row["partition"]: row["replicas"] for row in run.rows("partition_replicas")}
    for partition in range(len(run.manifest["partitions"])):
        assert states[partition]["change"] != STATE_DELETED
        assert states[partition]["leader"] >= 0
        assert size(states[partition]["isr"]) == size(replicas[partition])


@cache
def played(seed: int) -> RunFolder:
    """The run of a schedule in one group: it is played once."""
    return run_of(kraft_schedule(seed), Path(mkdtemp()) / f"kraft-{seed}")


def assert_keeps_its_laws(seed: int, folder: Path, counts: tuple[int, ...]) -> None:
    """A schedule keeps all checks, heals, and has one hash in so many groups as in one."""
    scenario = kraft_schedule(seed)
    run = played(seed)
    try:
        assert_no_check_is_broken(run)
        assert_all_is_well(run)
        assert run.summary is not None
        for count in counts:
            groups = groups_of(scenario, count)
            other = simulate(scenario, folder / str(count), make_engine=inline(groups))
            assert other.summary is not None
            assert other.summary["process_hashes"] == run.summary["process_hashes"], count
    except AssertionError as error:
        raise AssertionError(f"kraft_schedules.kraft_schedule({seed})") from error


@pytest.mark.parametrize("seed", SHORT)
def test_a_kraft_cluster_keeps_its_laws_and_heals(seed: int, tmp_path: Path) -> None:
    assert_keeps_its_laws(seed, tmp_path, ())


def test_the_schedules_reach_what_they_are_to_test() -> None:
    """The gate of the test above, whose runs are played already."""
    assert_reached((reached_by(played(seed)) for seed in SHORT), LEAST, FAULT_KINDS)


# Groups in threads of one interpreter take ten times as long as one group.


@pytest.mark.parametrize(("seed", "count"), [(0, 3), (36, 2)])
def test_a_kraft_cluster_has_one_hash_in_groups(seed: int, count: int, tmp_path: Path) -> None:
    assert_keeps_its_laws(seed, tmp_path, (count,))


@pytest.mark.long
@pytest.mark.parametrize("seed", SHORT)
def test_a_kraft_cluster_has_one_hash_in_any_groups(seed: int, tmp_path: Path) -> None:
    """In two and three; one of them with each process in a group of its own."""
    processes = len(ClusterPlan(kraft_schedule(seed)).processes)
    assert_keeps_its_laws(seed, tmp_path, (2, 3, processes) if seed == SHORT[0] else (2, 3))


@pytest.mark.long
@pytest.mark.parametrize("ten", TENS)
def test_300_schedules_keep_the_laws_of_kraft(ten: int, tmp_path: Path) -> None:
    """3 to 9 faults on 3 to 7 brokers, up to 15 partitions, up to eight of an operator's steps."""
    seeds = range(10 * ten, 10 * ten + 10)
    reached: list[Reached] = []
    for seed in seeds:
        assert_keeps_its_laws(seed, tmp_path / str(seed), (2,))
        reached.append(reached_by(played(seed)))
    drawn = (kraft_schedule(seed).faults for seed in seeds)
    assert_reached(reached, LEAST, {fault.kind for faults in drawn for fault in faults})


def test_the_schedules_have_every_release_and_fault() -> None:
    """The 300 schedules differ in all that a KRaft cluster can differ in."""
    scenarios = [kraft_schedule(seed) for seed in range(300)]
    releases = {scenario.release.rsplit(".", 1)[0] for scenario in scenarios}
    assert releases == {"3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.4"}
    assert 30 < sum(scenario.has_eligible_leader_replicas() for scenario in scenarios) < 270
    kinds = {fault.kind for scenario in scenarios for fault in scenario.faults}
    assert kinds == {
        *("crash", "power_loss", "restart", "pause", "rolling_restart"),
        *("cut_link", "slow_link", "slow_disk", "log_directory_failure"),
    }
    steps = {step.do for scenario in scenarios for step in scenario.steps}
    assert steps >= {
        *("preferred_election", "unclean_election", "configure"),
        *("delete_topic", "create_topic", "alter_reassignments"),
    }


#: The controller fences brokers, and leaves them in the ISRs (handleBrokerFenced without its part).
BROKEN = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from kraft_schedules import kraft_schedule
from process_groups import groups_of
from tidegauge.controller.kraft import broker_changes
from tidegauge.engine.simulate import simulate
if sys.argv[3] == "broken":
    broker_changes.remove_replica = lambda target, replica: None
run = simulate(kraft_schedule(int(sys.argv[4])), Path(sys.argv[2]))
"""


@pytest.mark.long
@pytest.mark.parametrize("protocol", ["whole", "broken"])
def test_a_controller_that_leaves_fenced_brokers_in_isrs_is_found(
    protocol: str, tmp_path: Path
) -> None:
    """The twin of the tests above: they fail when the protocol is broken."""
    support = Path(__file__).parents[1] / "support"
    subprocess.run(
        [sys.executable, "-c", BROKEN, str(support), str(tmp_path), protocol, "14"],
        env=os.environ | {"TIDEGAUGE_COMPILED": "0", "TIDEGAUGE_CHECKED": "0"},
        check=True,
    )
    run = RunFolder(tmp_path)
    if protocol == "whole":
        assert_no_check_is_broken(run)
        return
    with pytest.raises(AssertionError):
        assert_no_check_is_broken(run)
    assert run.summary is not None
    assert run.summary["checks"]["fenced_outside_isr"]["broken"] > 0
