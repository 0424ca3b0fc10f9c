"""What a broker's page says: meanings that dashboards and alert rules rely on."""

from __future__ import annotations

import pytest

from cluster_snapshots import healthy, partition_label, plan_of, row_of, values_of
from tidegauge.metrics.samples.exposition import Exposition
from tidegauge.metrics.samples.targets import EXPORTER

ORDERS_0 = partition_label("orders", 0)
ORDERS_1 = partition_label("orders", 1)
BROKER_1, BROKER_2, BROKER_3 = 0, 1, 2


@pytest.mark.parametrize("state", ["down", "paused"])
def test_a_broker_that_does_not_answer_has_no_samples_at_all(state: str) -> None:
    # "Brokers Online" counts the series of leadercount: a dead broker has to lose its own.
    plan = plan_of()
    snapshot = healthy(plan)
    snapshot.brokers["answers"][BROKER_2] = False
    snapshot.brokers["alive"][BROKER_2] = state == "paused"
    targets = {
        int(target)
        for samples in Exposition(plan).series(snapshot)
        for target in samples.targets
        if target >= 0
    }
    assert targets == {BROKER_1, BROKER_3}
    assert not list(Exposition(plan).series(snapshot, target=BROKER_2))


def test_a_target_has_the_samples_that_all_targets_together_have_of_it() -> None:
    plan = plan_of()
    snapshot = healthy(plan)
    exposition = Exposition(plan)
    for target in (BROKER_1, BROKER_2, BROKER_3, EXPORTER):
        of_all = {
            (samples.family.name, *sample[1:])
            for samples in exposition.series(snapshot)
            for sample in zip(samples.targets, samples.labels, samples.values, strict=True)
            if sample[0] == target
        }
        alone = {
            (samples.family.name, *sample)
            for samples in exposition.series(snapshot, target=target)
            for sample in zip(samples.labels, samples.values, strict=True)
        }
        assert alone == of_all
        assert alone


def test_a_follower_has_series_of_a_partition_too_with_nothing_in_them() -> None:
    # Kafka registers these gauges at every replica; sums over brokers must not count twice.
    plan = plan_of()
    snapshot = healthy(plan)
    leader = row_of(plan, "orders", 0, broker=1)
    snapshot.replicas["under_replicated"][leader] = True
    found = values_of(plan, snapshot, "kafka_cluster_partition_underreplicated")
    assert [found[broker, ORDERS_0] for broker in (BROKER_1, BROKER_2, BROKER_3)] == [1, 0, 0]
    assert sum(found.values()) == 1


def test_traffic_is_told_by_topic_only() -> None:
    # Series over all topics have the same name: panels that sum would show twice the traffic.
    plan = plan_of()
    snapshot = healthy(plan)
    snapshot.broker_topics["bytes_in"][0] = 500
    found = values_of(plan, snapshot, "kafka_server_brokertopicmetrics_bytesin_total")
    assert all(label_text.startswith("topic=") for _, label_text in found)
    assert found[BROKER_1, 'topic="orders"'] == 500
    assert sum(found.values()) == 500


def test_replication_traffic_has_no_topic() -> None:
    plan = plan_of()
    snapshot = healthy(plan)
    snapshot.brokers["replication_bytes_in"] = 70
    found = values_of(plan, snapshot, "kafka_server_brokertopicmetrics_replicationbytesin_total")
    assert found == dict.fromkeys([(BROKER_1, ""), (BROKER_2, ""), (BROKER_3, "")], 70)


def test_a_follower_says_of_whom_and_by_which_fetcher_it_is_behind() -> None:
    # AbstractFetcherManager names threads ReplicaFetcherThread-<fetcher>-<leader's id>.
    plan = plan_of()
    snapshot = healthy(plan)
    follower = row_of(plan, "orders", 1, broker=3)
    snapshot.replicas["lag"][follower] = 7
    snapshot.replicas["fetcher"][follower] = 3
    found = values_of(plan, snapshot, "kafka_server_fetcherlagmetrics_consumerlag")
    assert found[BROKER_3, f'clientId="ReplicaFetcherThread-3-2",{ORDERS_1}'] == 7
    assert not [key for key in found if key[0] == BROKER_2 and ORDERS_1 in key[1]], "it leads"


def test_every_broker_shows_the_controllers_gauges_and_one_is_active() -> None:
    # With ZooKeeper each broker has a KafkaController; its gauges are 0 where it is not active.
    plan = plan_of()
    snapshot = healthy(plan)
    found = values_of(plan, snapshot, "kafka_controller_kafkacontroller_activecontrollercount")
    assert found == {(BROKER_1, ""): 1, (BROKER_2, ""): 0, (BROKER_3, ""): 0}
    snapshot.brokers["controller_epoch"] = 5
    assert values_of(plan, snapshot, "tidegauge_controller_epoch") == {(BROKER_1, ""): 5}


def test_the_lag_of_a_high_watermark_is_the_leaders_to_tell() -> None:
    plan = plan_of()
    snapshot = healthy(plan)
    leader = row_of(plan, "orders", 0, broker=1)
    snapshot.replicas["log_end_offset"][leader] = 130
    found = values_of(plan, snapshot, "tidegauge_partition_high_watermark_lag")
    assert found[BROKER_1, ORDERS_0] == 30
    assert not [key for key in found if key[0] == BROKER_3], "it leads nothing"


def test_waiting_requests_are_told_apart_by_what_they_wait_for() -> None:
    plan = plan_of()
    snapshot = healthy(plan)
    snapshot.brokers["delayed_produces"][BROKER_1] = 4
    snapshot.brokers["delayed_fetches"][BROKER_1] = 2
    found = values_of(plan, snapshot, "kafka_server_delayedoperationpurgatory_purgatorysize")
    assert found[BROKER_1, 'delayedOperation="Produce"'] == 4
    assert found[BROKER_1, 'delayedOperation="Fetch"'] == 2


def test_idle_handlers_are_a_share_of_the_time_since_they_began() -> None:
    plan = plan_of()
    snapshot = healthy(plan, time_us=10_000_000)
    snapshot.brokers["handlers"] = [8, 8, 0]
    snapshot.brokers["handlers_since_us"] = 6_000_000
    snapshot.brokers["handlers_idle_us"] = [32_000_000, 24_000_000, 0]
    found = values_of(
        plan, snapshot, "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent"
    )
    # A broker that has not begun to serve has no handlers, and so says nothing of them.
    assert found == {(BROKER_1, ""): 1.0, (BROKER_2, ""): 0.75}
