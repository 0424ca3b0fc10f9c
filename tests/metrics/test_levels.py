"""How much is shown of single partitions, and what stays true of sums."""

from __future__ import annotations

import pytest

from cluster_snapshots import healthy, partition_label, plan_of, row_of, values_of
from tidegauge.metrics.samples.exposition import Exposition, Presentation
from tidegauge.metrics.samples.layout import MOST_PARTITIONS_IN_FULL, Level, default_level
from tidegauge.metrics.samples.targets import EXPORTER, SIMULATION
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping

UNDER_REPLICATED = "kafka_cluster_partition_underreplicated"
LEFT_OUT = "tidegauge_metrics_truncated_partitions"


def shrunk_isr(plan: ClusterPlan) -> Snapshot:
    """Orders 0 has lost a replica of its ISR."""
    snapshot = healthy(plan)
    snapshot.replicas["under_replicated"][row_of(plan, "orders", 0, broker=1)] = True
    snapshot.partitions["in_sync_replicas"][plan.partition_number("orders", 0)] = 2
    return snapshot


@pytest.mark.parametrize("level", [Level.FULL, Level.TOPIC, Level.SPARSE])
def test_the_sum_over_a_cluster_is_the_same_at_each_level(level: Level) -> None:
    plan = plan_of()
    found = values_of(plan, shrunk_isr(plan), UNDER_REPLICATED, level)
    assert sum(found.values()) == 1


def test_topic_adds_up_a_brokers_partitions_of_a_topic() -> None:
    plan = plan_of()
    snapshot = healthy(plan)
    snapshot.replicas["size_bytes"] = 1_000
    found = values_of(plan, snapshot, "kafka_log_log_size", Level.TOPIC)
    assert found[0, 'topic="orders"'] == 2_000
    assert not [label_text for _, label_text in found if "partition=" in label_text]


@pytest.mark.parametrize(
    "name",
    [
        "kafka_topic_partition_leader",
        "kafka_topic_partition_leader_is_preferred",
        "tidegauge_partition_leader_epoch",
        "kafka_server_fetcherlagmetrics_consumerlag",
    ],
)
def test_topic_leaves_out_what_does_not_add_up(name: str) -> None:
    plan = plan_of()
    snapshot = healthy(plan)
    assert values_of(plan, snapshot, name, Level.FULL)
    assert not values_of(plan, snapshot, name, Level.TOPIC)


def test_sparse_shows_the_partition_that_is_not_healthy_and_zeros_for_the_rest() -> None:
    plan = plan_of()
    found = values_of(plan, shrunk_isr(plan), UNDER_REPLICATED, Level.SPARSE)
    zeros = {
        (broker, f'topic="{topic}"'): 0
        for broker in range(3)
        for topic in ("orders", "returns", "__consumer_offsets")
    }
    sick = {(broker, partition_label("orders", 0)): int(broker == 0) for broker in range(3)}
    assert found == zeros | sick


def test_sparse_shows_a_partition_whose_leader_does_not_answer() -> None:
    plan = plan_of()
    snapshot = healthy(plan)
    snapshot.brokers["answers"][1] = False
    found = values_of(plan, snapshot, "kafka_topic_partition_in_sync_replica", Level.SPARSE)
    shown = {label_text for _, label_text in found if "partition=" in label_text}
    assert shown == {partition_label(topic, 1) for topic in ("orders", "returns")}


def test_sparse_does_not_set_off_rules_that_ask_for_the_least() -> None:
    # min(kafka_topic_partition_in_sync_replica) by (topic) < 3, or == bool 0 of the preferred.
    plan = plan_of()
    for name in ("in_sync_replica", "leader_is_preferred"):
        found = values_of(plan, healthy(plan), f"kafka_topic_partition_{name}", Level.SPARSE)
        assert not found


def test_off_shows_nothing_of_partitions_but_still_counts_them() -> None:
    plan = plan_of()
    snapshot = healthy(plan)
    snapshot.brokers["under_replicated"][0] = 1
    labels = [
        label_text
        for samples in Exposition(plan, Presentation(Level.OFF)).series(snapshot)
        for label_text in samples.labels
    ]
    assert labels
    assert not [label_text for label_text in labels if "partition=" in label_text]
    counted = "kafka_server_replicamanager_underreplicatedpartitions"
    assert values_of(plan, snapshot, counted, Level.OFF)[0, ""] == 1
    assert not values_of(plan, snapshot, UNDER_REPLICATED, Level.OFF)


@pytest.mark.parametrize(
    ("level", "left_out"), [(Level.FULL, 0), (Level.TOPIC, 5), (Level.SPARSE, 4), (Level.OFF, 5)]
)
def test_a_view_that_was_cut_says_so(level: Level, left_out: int) -> None:
    plan = plan_of()
    snapshot = shrunk_isr(plan)
    assert values_of(plan, snapshot, LEFT_OUT, level) == {(SIMULATION, ""): left_out}
    shown = values_of(plan, snapshot, "tidegauge_metrics_level", level)
    assert shown == {(SIMULATION, f'level="{level}"'): 1}


def test_lags_of_groups_are_summed_as_everything_else() -> None:
    plan = plan_of()
    found = values_of(plan, healthy(plan), "kafka_consumergroup_lag", Level.TOPIC)
    assert found == {(EXPORTER, 'consumergroup="billing",topic="orders"'): 20}


@pytest.mark.parametrize(
    ("partitions", "level"),
    [(MOST_PARTITIONS_IN_FULL, Level.FULL), (MOST_PARTITIONS_IN_FULL + 1, Level.TOPIC)],
)
def test_a_large_cluster_is_shown_by_topic_unless_asked_otherwise(
    partitions: int, level: Level
) -> None:
    story = {
        "duration": "1s",
        "release": "2.6",
        "cluster": {"brokers": 1},
        "topics": [{"name": "orders", "partitions": partitions, "replication_factor": 1}],
    }
    plan = ClusterPlan(scenario_from_mapping(story, "large"))
    assert default_level(plan) == level
    assert Exposition(plan).level == level
    assert Exposition(plan, Presentation(Level.SPARSE)).level == Level.SPARSE
