"""The directory of a run: names for numbers, and what the manifest says of each."""

from __future__ import annotations

import pytest

from tidegauge.scenario.cluster_directory import directory_of
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.traces.directory import Directory
from zookeeper_stories import cluster

TOPICS = [
    {"name": "orders", "assignment": {0: [3, 1]}, "settings": {"min.insync.replicas": 3}},
    {"name": "logs", "assignment": {0: [2, 3], 1: [1, 2]}},
]


def directory(**parts: object) -> Directory:
    return Directory(directory_of(ClusterPlan(cluster(topics=TOPICS, **parts))))


def test_a_controller_has_the_number_of_its_broker_and_is_none() -> None:
    names = directory()
    for index, broker in enumerate(names.brokers):
        process = names.process_of_broker(broker)
        controller = names.processes_with_role("controller")[index]
        assert names.broker_of_process(process) == names.processes[controller].number == index
        assert names.process(controller) == f"controller of {names.process(process)}"
        assert names.broker_of_process(controller) == -1
    assert names.broker_id(-1) is None
    assert names.process_of_broker(99) == -1


def test_partitions_count_through_all_topics_and_name_their_brokers() -> None:
    names = directory()
    assert names.partitions == {"orders-0": 0, "logs-0": 1, "logs-1": 2}
    assert [each.topic_number for each in names.all_partitions] == [0, 1, 1]
    assert names.slots(0) == [3, 1]
    assert names.all_partitions[0].hosts == (2, 0)
    assert names.brokers_in(0x12, 0) == [1, 3]
    assert names.partition(-1) == "no partition"


@pytest.mark.parametrize(("release", "effective"), [("2.6", 3), ("3.9", 2)])
def test_newer_brokers_count_min_insync_replicas_to_the_replication_factor(
    release: str, effective: int
) -> None:
    """Partition.effectiveMinIsr (KAFKA-15583): a partition of two replicas never needs three."""
    orders = directory(release=release).all_partitions[0]
    assert orders.effective_min_isr(orders.min_insync_replicas) == effective
    assert orders.effective_min_isr(1) == 1
