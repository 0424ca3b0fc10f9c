"""Fetches that bring nothing are computed, and leave behind what handling each would (KIP-227).

The oracle is the same run with every event handled, as ``TIDEGAUGE_EAGER=1`` has it.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from fault_schedules import schedule
from gates import assert_met
from kraft_schedules import kraft_schedule
from process_groups import groups_of
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.layout import cluster_tables
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario, load_scenario, scenario_from_mapping
from tidegauge.scenario.shipped import FOLDER, find_scenario
from tidegauge.traces.run_folder import RunFolder

#: Figures of the machine, and of how events were dealt with.
_OF_THE_LOOP = (
    *("loop_seconds", "loop_seconds_by_process_kind", "loop_samples", "events_computed"),
    *("events_per_second", "times_real_time", "groups", "wall_seconds"),
)
#: Of a scenario whose events are all handled here.
_MOST_PARTITIONS = 2_500
_SAMPLES = ("sampled", "no_longer_sampled", "broker_sampled")


def idle_cluster(**changes: Any) -> Scenario:
    """Twelve brokers without clients, of which one is killed."""
    story: dict[str, Any] = {
        "duration": "25s",
        "mode": "kraft",
        "release": "4.4",
        "cluster": {"brokers": 12},
        "topics": [{"name": "orders", "partitions": 60, "replication_factor": 3}],
        "faults": [{"kind": "crash", "brokers": [3], "at": "16s", "for": "3s"}],
        "liveness": False,
    }
    return scenario_from_mapping(story | changes, "idle")


def quiet(scenario: Scenario, seed: int) -> Scenario:
    """A schedule with few records, so that its brokers are idle between faults."""
    draw = Random(seed)  # noqa: S311  # nothing here is a secret
    story = scenario.resolved()
    settings = story["cluster"].setdefault("settings", {})
    settings["num.io.threads"] = draw.choice([4, 5, 8])
    settings["num.replica.fetchers"] = draw.choice([1, 1, 2, 3])
    settings["replica.fetch.wait.max.ms"] = draw.choice([100, 500, 500, 1000])
    for producers in story["workload"].get("producers", []):
        producers["batches_per_second"] = draw.choice([0.2, 1, 4])
    return scenario_from_mapping(story, f"quiet-{seed}")


def samples_of(folder: Path) -> list[list[tuple[int, ...]]]:
    """The rows that show the ends of replicas and the gauges of brokers, in their order."""
    tables = [RunFolder(folder).table(kind) for kind in _SAMPLES]
    return [list(zip(*(table[name].tolist() for name in table), strict=True)) for table in tables]


def computed_and_handled(
    scenario: Scenario, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The summaries of a scenario's two runs: idle fetches computed, and every event handled.

    The second one also looks at all replicas at each sample, not at those that have changed.
    """
    summaries = []
    for eager in (False, True):
        monkeypatch.setattr(cluster_tables, "EAGER", eager)
        summary = simulate(scenario, folder / str(eager)).summary
        assert summary is not None
        summaries.append(summary)
    assert samples_of(folder / "False") == samples_of(folder / "True")
    return summaries[0], summaries[1]


def assert_equal(computed: dict[str, Any], handled: dict[str, Any]) -> None:
    """Hashes, figures, and the number of events are the same."""
    assert handled["events_computed"] == 0
    differ = {
        name for name in handled if name not in _OF_THE_LOOP and computed.get(name) != handled[name]
    }
    assert not differ & {"trace_sha256", "events"}, differ
    assert all("window" in name or "second" in name for name in differ), differ


@pytest.mark.parametrize("mode", ["kraft", "zookeeper"])
def test_an_idle_cluster_whose_broker_dies(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Followers notice the death, and the fetches of all other brokers are computed on."""
    changes: dict[str, Any] = {} if mode == "kraft" else {"mode": mode, "release": "3.9"}
    scenario = idle_cluster(**changes)
    computed, handled = computed_and_handled(scenario, tmp_path, monkeypatch)
    assert_equal(computed, handled)
    assert computed["events_computed"] > 0.2 * computed["events"]


@pytest.mark.parametrize("groups", [2, 3])
def test_two_brokers_in_two_groups(groups: int, tmp_path: Path) -> None:
    """Their fetches are computed at both ends, and each end counts its own events."""
    scenario = idle_cluster()
    one = simulate(scenario, tmp_path / "one").summary
    grouping = groups_of(scenario, groups)
    several = simulate(scenario, tmp_path / "several", make_engine=inline(grouping)).summary
    assert one is not None
    assert several is not None
    for figure in ("trace_sha256", "events"):
        assert several[figure] == one[figure]
    assert several["events_computed"] > 0.9 * one["events_computed"]


def test_another_seed_gives_another_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computed, _ = computed_and_handled(idle_cluster(), tmp_path / "one", monkeypatch)
    other, _ = computed_and_handled(idle_cluster(seed=2), tmp_path / "other", monkeypatch)
    assert computed["trace_sha256"] != other["trace_sha256"]


def test_request_handlers_that_could_all_be_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four num.io.threads and requests of 20 ms: the queue is served event by event."""
    scenario = idle_cluster(
        cluster={"brokers": 12, "settings": {"num.io.threads": 4}}, costs={"request": "20ms"}
    )
    assert_equal(*computed_and_handled(scenario, tmp_path, monkeypatch))


def test_costs_that_are_drawn_have_every_event_handled(tmp_path: Path) -> None:
    """The draws of a process are numbered in the order of its events."""
    drawn = {"min": "100us", "p50": "200us", "max": "1ms"}
    summary = simulate(idle_cluster(costs={"request": drawn}), tmp_path / "run").summary
    assert summary is not None
    assert summary["events_computed"] == 0


def test_fetches_of_two_threads_that_arrive_at_one_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three num.replica.fetchers and one connection: their fetches expire as they have arrived."""
    story = kraft_schedule(355).resolved()
    story["cluster"]["settings"]["num.replica.fetchers"] = 3
    story["cluster"]["settings"]["num.io.threads"] = 8
    story["workload"]["producers"][0]["batches_per_second"] = 0.2
    story["faults"] = [fault for fault in story["faults"] if fault["at"] < "45"]
    scenario = scenario_from_mapping(story | {"duration": "50s", "steps": []}, "two-threads")
    assert_equal(*computed_and_handled(scenario, tmp_path, monkeypatch))


def test_a_fetch_that_waits_for_an_isr_to_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It expands the ISR, and begins to wait for records when that is done: it came before."""
    scenario = load_scenario(find_scenario("08-continuous-changes"))
    computed, handled = computed_and_handled(scenario, tmp_path, monkeypatch)
    assert_equal(computed, handled)
    assert computed["events_computed"] > 0


@pytest.mark.long
@pytest.mark.parametrize("file", sorted(FOLDER.rglob("*.yaml")), ids=lambda file: file.stem)
def test_every_scenario_that_ships(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = load_scenario(file)
    if len(ClusterPlan(scenario).partitions) > _MOST_PARTITIONS:
        pytest.skip("the invariants look at all of its replicas every 20,000 events")
    assert_equal(*computed_and_handled(scenario, tmp_path, monkeypatch))


@pytest.mark.parametrize("seed", range(3))
def test_generated_schedules(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, scenario in (("zookeeper", schedule(seed)), ("kraft", kraft_schedule(seed))):
        pair = computed_and_handled(quiet(scenario, seed), tmp_path / name, monkeypatch)
        assert_equal(*pair)
        assert_met(RunFolder(tmp_path / name / "True"))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 600))
def test_a_thousand_generated_schedules(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test_generated_schedules(seed, tmp_path, monkeypatch)
