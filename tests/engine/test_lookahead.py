"""How far a group may run ahead: the shortest way from the others, over whatever lies between."""

from __future__ import annotations

import numpy as np

from small_clusters import cluster_of, topic_of
from tidegauge.engine.exchange.lookahead import distances_us, lookaheads_us
from tidegauge.scenario.cluster_plan import ClusterPlan

NETWORK = {
    "within_host": "20us",
    "within_rack": "100us",
    "between_racks": "250us",
    "clients": "300us",
}


def plan_of(**network: str) -> ClusterPlan:
    """Brokers 1 and 2 in a rack, 3 in another, a producer and the operator: 9 processes."""
    cluster = {"brokers": 3, "racks": {"a": [1, 2], "b": [3]}}
    workload = {"producers": [{"name": "shop", "topics": ["story"], "batches_per_second": 1}]}
    return ClusterPlan(
        cluster_of(
            cluster=cluster,
            topics=[topic_of([1, 2, 3])],
            network=NETWORK | network,
            workload=workload,
        )
    )


def test_a_broker_is_nearest_to_the_controller_on_its_machine() -> None:
    plan = plan_of()
    to_broker_1 = distances_us(plan, [0])
    assert to_broker_1.tolist()[:7] == [20, 100, 250, 20, 100, 250, 250]
    assert to_broker_1[7] == 300


def test_groups_that_are_racks_may_go_further_than_parts_of_one() -> None:
    plan = plan_of()
    by_rack = lookaheads_us(plan, [[0, 1], [2]])
    assert np.array_equal(by_rack, [[0, 250], [250, 0]])
    apart = lookaheads_us(plan, [[0], [1], [2]])
    assert np.array_equal(apart, [[0, 100, 250], [100, 0, 250], [250, 250, 0]])


def test_controllers_are_as_near_as_the_machines_that_they_stand_on() -> None:
    """Though what a broker tells its controller cannot be with another broker so soon."""
    plan = plan_of()
    table = lookaheads_us(plan, [[0], [1, 2], [3, 4, 5, 6]])
    assert table[0, 2] == table[2, 0] == 20
    assert table[0, 1] == 100


def test_a_detour_that_is_shorter_counts() -> None:
    """From rack to rack over a client takes 2 x 50 us, where the direct way takes 250 us."""
    plan = plan_of(clients="50us")
    assert lookaheads_us(plan, [[0, 1], [2]])[0, 1] == 100
