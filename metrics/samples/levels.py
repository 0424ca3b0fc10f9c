"""The level of detail for single partitions.

==========  ======================================================================================
``full``    a series for each replica of each partition, as Kafka has it
``topic``   the sum over a topic's partitions at a broker, without the label ``partition``; values
            that do not add up (an epoch, a leader's id) are left out
``sparse``  series only of partitions that are not healthy, and one series of 0 for each topic at a
            broker, without the label ``partition``, so that sums are 0 where all is well (not
            where rules use the minimum: the number of replicas in sync)
``off``     no series of partitions; brokers and topics have their own counts of them
==========  ======================================================================================

``tidegauge_metrics_truncated_partitions`` says how many partitions have no series of their own, so
that a reduced view cannot be mistaken for a full one.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from tidegauge.metrics.samples.layout import Flags, Layout
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.scenario.cluster_plan import ClusterPlan

#: Above this number of partitions the default is ``topic``: a Prometheus keeps 3 kB for each
#: series, and a partition of three replicas has some forty.
MOST_PARTITIONS_IN_FULL = 10_000


class Level(StrEnum):
    """The level of detail for single partitions."""

    FULL = "full"
    TOPIC = "topic"
    SPARSE = "sparse"
    OFF = "off"


def default_level(plan: ClusterPlan) -> Level:
    """``full`` for clusters that one Prometheus can store, ``topic`` for larger ones."""
    return Level.FULL if len(plan.partitions) <= MOST_PARTITIONS_IN_FULL else Level.TOPIC


def unhealthy_partitions(layout: Layout, snapshot: Snapshot) -> Flags:
    """By partition: it has no leader that responds, or not all of its replicas are in sync.

    The leader's own view counts as well as the state in ZooKeeper.
    """
    partitions, replicas = snapshot.partitions, snapshot.replicas
    # A place after the brokers stands for no broker, which never responds: index -1 leads there.
    leader_answers = np.append(snapshot.brokers["answers"], False)[partitions["leader"].clip(-1)]
    in_sync = partitions["in_sync_replicas"] >= partitions["replicas"]
    unhealthy: Flags = partitions["exists"] & ~(leader_answers & in_sync)
    seen = replicas["exists"] & replicas["leads"] & replicas["under_replicated"]
    unhealthy[layout.replica_partitions[seen]] = True
    return unhealthy


def partitions_left_out(level: Level, layout: Layout, snapshot: Snapshot) -> int:
    """The number of existing partitions without series of their own."""
    if level == Level.FULL:
        return 0
    left_out = snapshot.partitions["exists"]
    if level == Level.SPARSE:
        left_out = left_out & ~unhealthy_partitions(layout, snapshot)
    return int(left_out.sum())
