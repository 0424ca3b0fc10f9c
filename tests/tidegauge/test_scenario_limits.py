"""The limits of a scenario's size are where tables begin to be too large for a machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from small_clusters import cluster_of
from tidegauge.compiled.records import dtype_of
from tidegauge.engine.group import Group
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.limits import (
    MOST_BROKERS,
    MOST_CLIENTS,
    MOST_PARTITIONS,
    MOST_REPLICAS,
)
from tidegauge.scenario.reading import Scenario, ScenarioError, scenario_from_mapping
from tidegauge.simulation.kernel import Link

WRITER = {"name": "p", "topics": ["t"], "batches_per_second": 1}

#: Addresses that all tables may take: what is reserved in them takes no memory until it is used.
ROOM_BYTES = 32 * 2**30


def scenario(brokers: int, partitions: int, replicas: int = 3, **parts: Any) -> Scenario:
    topic = {"name": "t", "partitions": partitions, "replication_factor": replicas}
    plain = {
        "duration": "1m",
        "release": "2.6",
        "cluster": {"brokers": brokers},
        "topics": [topic],
    }
    return scenario_from_mapping(plain | parts, "test.yaml")


def table_bytes(brokers: int, partitions: int, replicas: int) -> int:
    """All tables of a run at its beginning."""
    plan = ClusterPlan(scenario(brokers, partitions, replicas))
    group = Group(plan, range(len(plan.processes)))
    return sum(
        np.asarray(table).nbytes
        for table in vars(group.world).values()
        if hasattr(table, "__len__")
    )


def test_a_cluster_within_all_limits_is_taken() -> None:
    producers = [
        {"name": f"p{n}", "topics": ["t"], "batches_per_second": 1000, "clients": 1}
        for n in range(4)
    ]
    largest = scenario(MOST_BROKERS, MOST_PARTITIONS, workload={"producers": producers})
    assert len(largest.broker_ids()) == MOST_BROKERS


@pytest.mark.parametrize(
    ("brokers", "partitions", "replicas", "message"),
    [
        (3, MOST_PARTITIONS + 1, 1, "topics[0].partitions: must be less than or equal to 2000000"),
        (MOST_BROKERS + 1, 1, 1, "cluster.brokers: must be from 1 to 2000"),
        (15, MOST_REPLICAS // 15 + 1, 15, "topics: have 6,000,015 replicas; 6,000,000 is the most"),
    ],
)
def test_one_more_is_refused(brokers: int, partitions: int, replicas: int, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario(brokers, partitions, replicas)
    assert message in str(error.value)


def test_topics_are_counted_together() -> None:
    topics = [{"name": f"t{n}", "partitions": 1_500_000} for n in range(2)]
    with pytest.raises(ScenarioError, match="topics: have 3,000,000 partitions"):
        scenario(3, 1, topics=topics)


def test_clients_are_counted_together_and_with_their_partitions() -> None:
    readers = [{"name": f"c{n}", "topics": ["t"], "clients": 600} for n in range(2)]
    with pytest.raises(ScenarioError, match="workload: has 1,200 clients; 1,000 is the most"):
        scenario(3, 1, workload={"consumers": readers})
    writers = [{"name": "p", "topics": ["t"], "clients": 900, "batches_per_second": 1}]
    with pytest.raises(ScenarioError, match="clients have 8,100,000 partitions together"):
        scenario(3, 9_000, workload={"producers": writers})


def test_every_broker_has_room_for_all_that_groups_commit() -> None:
    """The coordinator of a group can become any broker that has a replica of its partition."""
    groups = [
        {"name": f"g{n}", "topics": ["t"], "settings": {"enable.auto.commit": True}}
        for n in range(2)
    ]
    with pytest.raises(ScenarioError, match="brokers have room for 100,001,000 offsets"):
        scenario(
            500, 100_001, replicas=1, workload={"consumers": groups[:1], "producers": [WRITER]}
        )
    assert scenario(3, 100_001, replicas=1, workload={"consumers": groups}).commits()


@pytest.mark.parametrize(("most", "replicas"), [(MOST_PARTITIONS, 3), (MOST_REPLICAS // 15, 15)])
def test_the_tables_of_the_most_partitions_fit(most: int, replicas: int) -> None:
    few, more = (table_bytes(15, partitions, replicas) for partitions in (500, 1500))
    assert 0 < (more - few) / 1000 * most < ROOM_BYTES


def test_the_links_of_the_most_processes_fit() -> None:
    processes = 2 * MOST_BROKERS + MOST_CLIENTS + 2
    assert processes**2 * dtype_of(Link).itemsize < ROOM_BYTES / 10


def test_many_faults_have_room_to_wait_from_the_beginning_on() -> None:
    """Compiled code does not look where it writes: a table that is too small is a wrong run."""
    faults = [
        {"name": f"pause-{number}", "kind": "pause", "brokers": [2], "at": "2s", "for": "1ms"}
        for number in range(500)
    ]
    plan = ClusterPlan(cluster_of(faults=faults))
    group = Group(plan, range(len(plan.processes)))
    context = group.world.context[0]
    waiting = context.heap_size + context.later_heap_size
    assert waiting > 2 * len(faults)
    assert context.event_slots.free >= group.reserve
    assert len(group.world.heap) >= waiting + group.reserve
    assert len(group.world.later_heap) >= waiting + group.reserve
