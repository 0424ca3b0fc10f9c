"""What kafka_exporter would say, from metadata, from leaders and from coordinators."""

from __future__ import annotations

from cluster_snapshots import healthy, partition_label, plan_of, row_of, values_of
from tidegauge.metrics.samples.targets import CONTROL_PLANE, EXPORTER

ORDERS_0 = EXPORTER, partition_label("orders", 0)
ORDERS_1 = EXPORTER, partition_label("orders", 1)
BILLING = 'consumergroup="billing"'


def test_a_partition_without_a_leader_is_under_replicated_here_and_not_at_brokers() -> None:
    # Brokers' gauges live on leaders: they clear when the last one is gone, this one does not.
    plan = plan_of()
    snapshot = healthy(plan)
    number = plan.partition_number("orders", 0)
    snapshot.partitions["leader"][number] = -1
    snapshot.partitions["in_sync_replicas"][number] = 1
    snapshot.partitions["leader_is_preferred"][number] = False
    snapshot.replicas["leads"][row_of(plan, "orders", 0, broker=1)] = False

    at_brokers = values_of(plan, snapshot, "kafka_cluster_partition_underreplicated")
    here = values_of(plan, snapshot, "kafka_topic_partition_under_replicated_partition")
    assert (sum(at_brokers.values()), here[ORDERS_0], here[ORDERS_1]) == (0, 1, 0)
    assert values_of(plan, snapshot, "kafka_topic_partition_leader")[ORDERS_0] == -1
    assert values_of(plan, snapshot, "kafka_topic_partition_leader_is_preferred")[ORDERS_0] == 0
    offline = values_of(plan, snapshot, "tidegauge_metadata_offline_partitions")
    assert offline == {(CONTROL_PLANE, ""): 1}


def test_leaders_are_named_by_their_ids() -> None:
    plan = plan_of()
    found = values_of(plan, healthy(plan), "kafka_topic_partition_leader")
    assert (found[ORDERS_0], found[ORDERS_1]) == (1, 2)


def test_the_current_offset_is_the_high_watermark_and_not_the_log_end() -> None:
    plan = plan_of()
    snapshot = healthy(plan)
    leader = row_of(plan, "orders", 0, broker=1)
    snapshot.replicas["log_end_offset"][leader] = 150
    snapshot.replicas["high_watermark"][leader] = 120
    snapshot.replicas["log_start_offset"][leader] = 20
    assert values_of(plan, snapshot, "kafka_topic_partition_current_offset")[ORDERS_0] == 120
    assert values_of(plan, snapshot, "kafka_topic_partition_oldest_offset")[ORDERS_0] == 20


def test_offsets_are_unknown_while_the_leader_does_not_answer() -> None:
    plan = plan_of()
    snapshot = healthy(plan)
    snapshot.brokers["answers"][0] = False  # paused: it still leads by the metadata
    offsets = values_of(plan, snapshot, "kafka_topic_partition_current_offset")
    assert ORDERS_0 not in offsets
    assert ORDERS_1 in offsets
    assert ORDERS_0 in values_of(plan, snapshot, "kafka_topic_partition_in_sync_replica")


def test_of_two_that_think_that_they_lead_the_metadata_decides() -> None:
    # A leader that is cut off (mechanism 16) goes on to believe; clients are sent to the new one.
    plan = plan_of()
    snapshot = healthy(plan)
    old, new = (row_of(plan, "orders", 0, broker) for broker in (1, 2))
    snapshot.replicas["leads"][new] = True
    snapshot.replicas["high_watermark"][old] = 500
    snapshot.replicas["high_watermark"][new] = 110
    snapshot.partitions["leader"][plan.partition_number("orders", 0)] = 1
    assert values_of(plan, snapshot, "kafka_topic_partition_current_offset")[ORDERS_0] == 110


def test_a_groups_lag_is_what_it_has_not_committed() -> None:
    plan = plan_of()
    snapshot = healthy(plan)
    found = values_of(plan, snapshot, "kafka_consumergroup_lag")
    labels = [f"{BILLING},{partition_label('orders', number)}" for number in (0, 1)]
    assert found == {(EXPORTER, label): 10 for label in labels}
    sums = values_of(plan, snapshot, "kafka_consumergroup_lag_sum")
    assert sums == {(EXPORTER, f'{BILLING},topic="orders"'): 20}
    offsets = values_of(plan, snapshot, "kafka_consumergroup_current_offset_sum")
    assert offsets == {(EXPORTER, f'{BILLING},topic="orders"'): 180}


def test_a_group_whose_coordinator_is_gone_is_not_listed() -> None:
    plan = plan_of()
    snapshot = healthy(plan)
    members = values_of(plan, snapshot, "kafka_consumergroup_members")
    assert members == {(EXPORTER, BILLING): 2}
    snapshot.committed["known"] = False
    snapshot.members["present"] = False
    for name in ("members", "current_offset", "lag", "lag_sum", "current_offset_sum"):
        assert not values_of(plan, snapshot, f"kafka_consumergroup_{name}")


def test_a_group_that_has_no_members_left_keeps_its_offsets() -> None:
    plan = plan_of()
    snapshot = healthy(plan)
    snapshot.members["present"] = False
    assert values_of(plan, snapshot, "kafka_consumergroup_members") == {(EXPORTER, BILLING): 0}
    assert len(values_of(plan, snapshot, "kafka_consumergroup_lag")) == 2


def test_brokers_are_those_that_are_registered() -> None:
    plan = plan_of()
    snapshot = healthy(plan)
    snapshot.brokers["registered"][1] = False
    snapshot.cluster["registered_brokers"] = 2
    assert values_of(plan, snapshot, "kafka_brokers") == {(EXPORTER, ""): 2}
    assert values_of(plan, snapshot, "kafka_broker_info") == {
        (EXPORTER, 'id="1",address="story-kafka-1:9092"'): 1,
        (EXPORTER, 'id="3",address="story-kafka-3:9092"'): 1,
    }


def test_a_topic_that_was_deleted_is_gone() -> None:
    plan = plan_of()
    snapshot = healthy(plan)
    gone = [number for number, planned in enumerate(plan.partitions) if planned.topic == "returns"]
    snapshot.partitions["exists"][gone] = False
    found = values_of(plan, snapshot, "kafka_topic_partitions")
    assert found == {(EXPORTER, 'topic="orders"'): 2, (EXPORTER, 'topic="__consumer_offsets"'): 1}
