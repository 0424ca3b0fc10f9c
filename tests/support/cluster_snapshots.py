"""Snapshots made by hand: a cluster in good health, which a test then changes in one place."""

from __future__ import annotations

from typing import Any

from small_clusters import cluster_of
from tidegauge.metrics.samples.exposition import Exposition, Presentation
from tidegauge.metrics.samples.layout import Level
from tidegauge.metrics.samples.successive_snapshots import SnapshotContext
from tidegauge.metrics.snapshots.gauge_rules import RUNNING_AS_BROKER
from tidegauge.metrics.snapshots.quorum_gauges import STATE_TEXTS
from tidegauge.metrics.snapshots.snapshot import Snapshot, new_snapshot
from tidegauge.replication.release_versions import ProtocolVersion
from tidegauge.scenario.cluster_plan import ClusterPlan


def plan_of(**parts: Any) -> ClusterPlan:
    """Brokers 1, 2 and 3; two topics of two partitions of three replicas, and a group that reads.

    Partition 0 of each topic is led by broker 1, partition 1 by broker 2.
    """
    assignment = {0: [1, 2, 3], 1: [2, 3, 1]}
    story: dict[str, Any] = {
        "topics": [{"name": name, "assignment": assignment} for name in ("orders", "returns")],
        "workload": {
            "producers": [{"name": "shop", "topics": ["orders"], "batches_per_second": 1}],
            "consumers": [{"name": "billing", "topics": ["orders"], "clients": 2}],
        },
        "cluster": {"brokers": 3, "settings": {"offsets.topic.num.partitions": 1}},
    }
    story["workload"]["consumers"][0]["settings"] = {"enable.auto.commit": True}
    return ClusterPlan(cluster_of(**(story | parts)))


def kraft_plan_of(**parts: Any) -> ClusterPlan:
    """The same cluster with a quorum of three controllers: 3000, 3001 and 3002."""
    return plan_of(**({"release": "4.1", "controllers": {"count": 3}} | parts))


def healthy(plan: ClusterPlan, time_us: int = 10_000_000) -> Snapshot:
    """All brokers answer, all replicas are in sync up to offset 100, groups have committed 90.

    Broker 1 is the controller; of a quorum, the first one is active.
    """
    snapshot = new_snapshot(plan, time_us)
    snapshot.brokers["alive"] = snapshot.brokers["answers"] = True
    snapshot.brokers["state"] = RUNNING_AS_BROKER
    snapshot.brokers["registered"] = True
    if plan.is_kraft:
        _count_cluster(plan, snapshot)
    else:
        snapshot.brokers["active_controller"][0] = True
    snapshot.broker_topics["exists"] = True
    _replicate(plan, snapshot)
    snapshot.cluster["known"] = True
    snapshot.cluster["registered_brokers"] = len(plan.brokers)
    snapshot.committed["known"] = True
    snapshot.committed["offset"] = 90
    snapshot.members["present"] = True
    for requests in (snapshot.requests, snapshot.controller_requests):
        requests["requests"] = 1000
    for errors in (snapshot.request_errors, snapshot.controller_request_errors):
        errors["responses"] = 1
    snapshot.zookeeper_clients["exists"] = snapshot.zookeeper_clients[
        "connected"
    ] = not plan.is_kraft
    return snapshot


def _count_cluster(plan: ClusterPlan, snapshot: Snapshot) -> None:
    """All controllers have read the same log, up to offset 99."""
    controllers = snapshot.controllers
    controllers["alive"] = controllers["answers"] = True
    controllers["active_controller"][0] = True
    controllers["active_brokers"] = len(plan.brokers)
    controllers["global_topics"] = len(plan.scenario.topics)
    controllers["global_partitions"] = len(plan.partitions)
    controllers["last_applied_offset"] = controllers["last_committed_offset"] = 99
    snapshot.brokers["applied_offset"] = 99
    nodes = snapshot.raft
    version = ProtocolVersion.parse(plan.scenario.version_in_force())
    nodes["metadata_level"] = version.feature_level
    nodes["elr_level"] = plan.scenario.has_eligible_leader_replicas()
    nodes["exists"] = True
    nodes["is_controller"][len(plan.brokers) :] = True
    nodes["state"] = STATE_TEXTS.index("observer")
    nodes["state"][len(plan.brokers) :] = STATE_TEXTS.index("follower")
    nodes["state"][len(plan.brokers)] = STATE_TEXTS.index("leader")
    nodes["vote"] = -1
    nodes["epoch"] = nodes["log_end_epoch"] = 1
    nodes["high_watermark"] = nodes["log_end_offset"] = 100
    nodes["fetched_for_us"] = nodes["appended_for_us"] = 30_000_000
    nodes["voters"][len(plan.brokers) :] = len(plan.controllers)
    nodes["kraft_version"] = bool(plan.scenario.controllers.voters)
    nodes["commits"] = nodes["elections"] = 1


def _replicate(plan: ClusterPlan, snapshot: Snapshot) -> None:
    row = 0
    for number, planned in enumerate(plan.partitions):
        for broker in planned.slots:
            replica = snapshot.replicas[row]
            replica["exists"] = True
            replica["leads"] = broker == planned.slots[0]
            if replica["leads"]:
                replica["in_sync_replicas"] = replica["replicas"] = len(planned.slots)
            replica["source_broker"] = -1 if replica["leads"] else planned.slots[0]
            replica["log_end_offset"] = replica["high_watermark"] = 100
            row += 1
        partition = snapshot.partitions[number]
        partition["exists"] = partition["leader_is_preferred"] = True
        partition["leader"] = planned.slots[0]
        partition["in_sync_replicas"] = partition["replicas"] = len(planned.slots)


def row_of(plan: ClusterPlan, topic: str, number: int, broker: int) -> int:
    """The row of a replica, by its broker's id."""
    wanted = plan.partition_number(topic, number), plan.broker_index(broker)
    replicas = [(p, host) for p, planned in enumerate(plan.partitions) for host in planned.slots]
    return replicas.index(wanted)


def values_of(
    plan: ClusterPlan,
    snapshot: Snapshot,
    name: str,
    level: Level = Level.FULL,
    context: SnapshotContext | None = None,
) -> dict[tuple[int, str], float]:
    """The samples of a metric: by target and own labels, as a page has them, the value."""
    series = Exposition(plan, Presentation(level)).series(snapshot, context or SnapshotContext())
    return {
        (int(target), label_text): float(value)
        for family, *columns in series
        if family.name == name
        for target, label_text, value in zip(*columns, strict=True)
    }


def partition_label(topic: str, number: int) -> str:
    """The labels of what is a partition's, as a page has them."""
    return f'topic="{topic}",partition="{number}"'
