"""Consumers that fetch from the closest replica (KIP-392).

Broker 1 leads, in rack west; broker 2 is in east and 3 in north. The consumer is in east.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from process_groups import groups_of
from scenario_runs import rows_of, run_of
from small_clusters import BROKER_1, BROKER_2, SECOND, cluster_of, producers_of, times_us
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import Scenario
from tidegauge.scenario.text.errors import ScenarioError
from tidegauge.traces.run_folder import RunFolder

SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def near(
    release: str = "3.4", rack: str | None = "east", selector: str | None = SELECTOR, **parts: Any
) -> Scenario:
    """A producer of 20 batches a second, and a consumer in a rack."""
    consumer = {"name": "readers", "topics": ["story"], "start": "3s"}
    if rack is not None:
        consumer["rack"] = rack
    settings = {} if selector is None else {"replica.selector.class": selector}
    return cluster_of(
        release=release,
        mode="zookeeper",
        cluster={
            "brokers": 3,
            "racks": {"west": [1], "east": [2], "north": [3]},
            "start": {3: "0s", 1: "500ms", 2: "500ms"},
            "settings": {"replica.fetch.wait.max.ms": 5000, **settings},
        },
        workload={"producers": [producers_of(20, "3s", "9s")], "consumers": [consumer]},
        **({"duration": "10s"} | parts),
    )


def readers_process(run: RunFolder) -> int:
    processes = run.directory.processes
    return next(number for number, each in processes.items() if each.name == "client readers-0")


def answers_with_records(run: RunFolder, after_us: int = 0) -> Counter[int]:
    """How many responses with records each broker sent to the consumer."""
    me = readers_process(run)
    return Counter(
        row["process"]
        for row in rows_of(run, "fetch_answered", to_process=me)
        if row["end_offset"] > row["fetch_offset"] and row["time_us"] >= after_us
    )


def consumed(run: RunFolder) -> int:
    assert run.summary is not None
    return int(run.summary["records_consumed"])


@pytest.mark.parametrize("release", ["2.4", "2.6", "3.4"])
def test_a_consumer_reads_from_the_replica_in_its_rack(release: str, tmp_path: Path) -> None:
    """The leader names the replica and sends nothing; only broker 2 sends records."""
    run = run_of(near(release), tmp_path / "run")
    assert answers_with_records(run).keys() == {BROKER_2}
    (changed,) = run.rows("read_replica_changed")
    assert (changed["broker"], changed["old_broker"]) == (BROKER_2, -1)
    assert consumed(run) >= 118


@pytest.mark.parametrize(
    ("release", "rack", "selector"),
    [
        ("2.3", "east", SELECTOR),
        ("3.4", None, SELECTOR),
        ("3.4", "west", SELECTOR),
        ("3.4", "east", None),
        ("3.4", "east", "org.apache.kafka.common.replica.LeaderSelector"),
    ],
)
def test_otherwise_it_reads_from_the_leader(
    release: str, rack: str | None, selector: str | None, tmp_path: Path
) -> None:
    """Before 2.4, without rack or selector, or if the leader is in the rack."""
    run = run_of(near(release, rack, selector), tmp_path / "run")
    assert answers_with_records(run).keys() == {BROKER_1}
    assert list(run.rows("read_replica_changed")) == []
    assert consumed(run) >= 118


def test_a_follower_serves_up_to_its_own_high_watermark(tmp_path: Path) -> None:
    """Which it learns with the next response of the leader."""
    run = run_of(near(), tmp_path / "run")
    for row in rows_of(run, "fetch_answered", to_process=readers_process(run)):
        assert row["end_offset"] <= max(row["high_watermark"], row["fetch_offset"])


def test_from_3_4_a_follower_wakes_fetches_when_its_high_watermark_moves(tmp_path: Path) -> None:
    """Before, a fetch at a follower waits for fetch.max.wait.ms (500 ms)."""
    new = answers_with_records(run_of(near("3.4"), tmp_path / "new"), 4 * SECOND)
    old = answers_with_records(run_of(near("3.3"), tmp_path / "old"), 4 * SECOND)
    assert new[BROKER_2] > 4 * old[BROKER_2] > 0


def test_a_follower_that_dies_sends_its_consumers_back_to_the_leader(tmp_path: Path) -> None:
    crash = {"kind": "crash", "at": "6s", "for": "30s", "brokers": [2]}
    run = run_of(near(faults=[crash], duration="30s"), tmp_path / "run")
    changes = [row["broker"] for row in run.rows("read_replica_changed")]
    assert changes[:2] == [BROKER_2, -1]
    assert answers_with_records(run, 8 * SECOND).keys() == {BROKER_1}
    assert consumed(run) >= 118


def test_metadata_max_age_sends_it_to_the_leader_for_a_moment(tmp_path: Path) -> None:
    """The leader is asked which replica is nearest, every metadata.max.age.ms."""
    scenario = near()
    group = scenario.workload.consumers[0]
    older = group.model_copy(update={"settings": {"metadata.max.age.ms": 2000}})
    workload = scenario.workload.model_copy(update={"consumers": (older,)})
    run = run_of(scenario.model_copy(update={"workload": workload}), tmp_path / "run")
    changes = list(run.rows("read_replica_changed"))
    assert [row["broker"] for row in changes[:3]] == [BROKER_2, -1, BROKER_2]
    assert times_us(changes)[1] - times_us(changes)[0] >= 2 * SECOND
    assert answers_with_records(run).keys() == {BROKER_2}


def test_any_grouping_of_processes_gives_the_same_trace(tmp_path: Path) -> None:
    """And another rack another one: the hash is worth something."""
    scenario = near()

    def sha256(name: str, story: Scenario, groups: list[list[int]]) -> str:
        run = simulate(story, tmp_path / name, make_engine=inline(groups))
        assert run.summary is not None
        return str(run.summary["trace_sha256"])

    whole = sha256("whole", scenario, groups_of(scenario, 1))
    assert sha256("parts", scenario, groups_of(scenario, 3)) == whole
    assert sha256("other", near(rack="north"), groups_of(scenario, 3)) != whole


def test_a_rack_must_be_one_of_the_cluster() -> None:
    with pytest.raises(ScenarioError, match="there is no rack south"):
        near(rack="south")


def test_a_selector_must_be_a_class_of_kafka() -> None:
    with pytest.raises(ScenarioError, match=r"replica\.selector\.class\]: must be one of"):
        near(selector="RackAware")
