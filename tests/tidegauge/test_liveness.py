"""The liveness phase: all faults end, all becomes well within its bound, or it is said why."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fault_schedules import schedule
from isr_stories import as_written
from small_clusters import BROKER_3, SECOND, cluster_of, producers_of
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.replication.replica_list import size
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.simulation.trace_rows.codes import REASON_END, REASON_LIVENESS
from tidegauge.traces.run_folder import RunFolder

#: Sessions end quickly, so that short stories have something to heal.
QUICK: dict[str, Any] = {
    "settings": {"zookeeper.session.timeout.ms": 1500, "replica.lag.time.max.ms": 3000},
    "zookeeper": {"tick_ms": 500},
}


def healed(tmp_path: Path, **parts: Any) -> RunFolder:
    """The story of a small cluster, and what comes after it."""
    parts = {"settings": {**QUICK["settings"], "replica.fetch.wait.max.ms": 500}, **parts}
    scenario = cluster_of(zookeeper=QUICK["zookeeper"], liveness=True, **parts)
    return simulate(scenario, tmp_path / "run")


def liveness_of(run: RunFolder) -> dict[str, Any]:
    assert run.summary is not None
    part: dict[str, Any] = run.summary["liveness"]
    return part


def test_faults_that_nobody_ends_are_ended_in_every_process_that_they_hit(tmp_path: Path) -> None:
    faults = [
        {"kind": "crash", "brokers": [3], "at": "2s"},
        {"kind": "cut_link", "between": [["broker:1"], ["broker:2"]], "at": "2s"},
        {"kind": "zookeeper_outage", "at": "4s"},
        {"kind": "pause", "brokers": [2], "at": "4500ms"},
    ]
    run = healed(tmp_path, faults=faults)
    began = {(row["process"], row["fault"]) for row in run.rows("fault_began")}
    ended = {(row["process"], row["fault"]): row["time_us"] for row in run.rows("fault_ended")}
    assert ended.keys() == began
    assert set(ended.values()) == {5 * SECOND}
    assert liveness_of(run)["reached"]


def test_a_cluster_without_topics_is_well_at_once(tmp_path: Path) -> None:
    """The shortest scenario that runs: nothing has to recover."""
    story = scenario_from_mapping({"duration": "1s", "cluster": {"brokers": 1}}, "shortest")
    liveness = liveness_of(simulate(story, tmp_path / "run"))
    assert (liveness["reached"], liveness["virtual_seconds"]) == (True, 1)


def test_a_broker_that_is_down_starts_and_comes_back_into_the_isr(tmp_path: Path) -> None:
    run = healed(tmp_path, faults=[{"kind": "crash", "brokers": [3], "at": "2s"}])
    (loading,) = run.rows("broker_loading")
    assert (loading["process"], loading["time_us"]) == (BROKER_3, 5 * SECOND)
    last = list(run.rows("isr_expanded"))[-1]
    assert size(last["isr"]) == 3
    assert 0 < liveness_of(run)["virtual_seconds"] < liveness_of(run)["bound_seconds"]


def test_a_broker_whose_registration_is_still_there_exits_and_is_started_again(
    tmp_path: Path,
) -> None:
    """It died a moment before: ZooKeeper has not noticed. Without a supervisor it stayed away."""
    settings = {"zookeeper.session.timeout.ms": 6000}
    run = healed(
        tmp_path, settings=settings, faults=[{"kind": "crash", "brokers": [3], "at": "4900ms"}]
    )
    stops = [row["stop"] for row in run.rows("broker_stopped")]
    assert len(stops) > 1
    assert liveness_of(run)["reached"]


def test_producers_stop_and_steps_that_were_not_taken_never_are(tmp_path: Path) -> None:
    run = healed(
        tmp_path,
        workload={"producers": [producers_of(10, "1s", "5s")]},
        duration="4s",
        steps=[
            {"at": "3s", "do": "wait"},
            {"when": {"unregistered": [1]}, "within": "60s", "do": "wait"},
        ],
    )
    assert [row["step"] for row in run.rows("step_taken")] == [0]
    assert not list(run.rows("step_timed_out"))
    assert run.summary is not None
    assert run.summary["records_sent"] == 30
    appended = [row["time_us"] for row in run.rows("appended") if row["leads"]]
    assert max(appended) < 4 * SECOND + 100_000


def test_a_fault_that_would_begin_later_does_not(tmp_path: Path) -> None:
    """A step begins a pause a moment before the end: the message arrives after it."""
    fault = {"name": "late", "kind": "pause", "brokers": [1], "for": "1s"}
    steps = [{"at": "4999500us", "do": "begin_fault", "fault": "late"}]
    run = healed(tmp_path, faults=[fault], steps=steps)
    assert [row["step"] for row in run.rows("step_taken")] == [0]
    assert not list(run.rows("fault_began"))


def test_where_logs_stay_apart_it_says_of_which_replica_and_ends_at_the_bound(
    tmp_path: Path,
) -> None:
    """Mechanism 11: two logs of one length diverge under 0.10.2, and nothing ever mends it."""
    scenario = scenario_from_mapping(as_written("11-equal-length-divergence"), "divergence")
    run = simulate(scenario, tmp_path / "run")
    found = liveness_of(run)
    assert not found["reached"]
    assert found["virtual_seconds"] == found["bound_seconds"]
    assert found["reasons"] == [
        "partition story-0: broker 2 has another log: its log ends at 4, as that of its leader 1"
    ]


def test_what_a_run_held_at_its_end_is_written_down_before_the_phase(tmp_path: Path) -> None:
    """Rows of the end stand at the run's end, those of the phase behind it; the hash has both."""
    run = healed(tmp_path, faults=[{"kind": "crash", "brokers": [3], "at": "2s"}])
    times = {
        reason: {row["time_us"] for row in run.rows("exposed") if row["reason"] == reason}
        for reason in (REASON_END, REASON_LIVENESS)
    }
    seconds = liveness_of(run)["virtual_seconds"]
    assert times[REASON_END] == {5 * SECOND}
    assert times[REASON_LIVENESS] == {5 * SECOND + round(seconds * SECOND)}


def test_without_it_a_run_ends_where_its_scenario_ends(tmp_path: Path) -> None:
    faults = [{"kind": "crash", "brokers": [3], "at": "2s"}]
    settings = {"zookeeper.session.timeout.ms": 1500}
    scenario = cluster_of(settings, faults=faults, zookeeper=QUICK["zookeeper"])
    run = simulate(scenario, tmp_path / "run")
    assert run.summary is not None
    assert run.summary["liveness"] is None
    assert run.summary["checks"]["liveness"]["verdict"] == "unknown"
    assert max(row["time_us"] for row in run.all_rows()) == 5 * SECOND


def in_groups(scenario: Scenario, count: int) -> list[list[int]]:
    processes = len(ClusterPlan(scenario).processes)
    return [list(range(first, processes, count)) for first in range(count)]


@pytest.mark.parametrize("seed", [3, 11])
def test_several_groups_heal_as_one_does(seed: int, tmp_path: Path) -> None:
    """All faults of a schedule are cut short, so that the phase has to end them."""
    story = schedule(seed).resolved() | {"duration": "40s", "steps": []}
    for producers in story["workload"]["producers"]:
        producers["stop"] = "40s"
    story["faults"] = [
        fault | {"at": "30s", "for": "9s" if number % 2 else "60s"}
        for number, fault in enumerate(story["faults"])
        if fault["kind"] != "controller_move"
    ]
    scenario = scenario_from_mapping(story, f"cut-short-{seed}")
    one, three = (
        simulate(scenario, tmp_path / str(count), make_engine=inline(in_groups(scenario, count)))
        for count in (1, 3)
    )
    assert one.summary is not None
    assert three.summary is not None
    assert one.summary["process_hashes"] == three.summary["process_hashes"]
    for part in ("checks", "liveness", "partition_seconds_offline", "controller_queue_ms"):
        assert one.summary[part] == three.summary[part]
    assert one.summary["liveness"]["reached"]


def test_time_goes_on_without_a_gap(tmp_path: Path) -> None:
    """Samples of a broker that lives are a second apart, through the end of the run."""
    run = healed(tmp_path, faults=[{"kind": "crash", "brokers": [3], "at": "4s"}])
    times = [row["time_us"] for row in run.rows("broker_sampled") if row["process"] == 0]
    assert times[-1] > 5 * SECOND
    assert {later - earlier for earlier, later in pairwise(times)} == {SECOND}
