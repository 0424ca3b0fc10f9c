"""The tables of controllers: with ZooKeeper each broker has one, a quorum has nodes of its own."""

from __future__ import annotations

import numpy as np

from tidegauge.metrics.samples import broker_tables
from tidegauge.metrics.samples.layout import texts_of
from tidegauge.metrics.samples.table import Sources, Table, columns_of
from tidegauge.metrics.samples.targets import controllers_of

#: Of a quorum's controller: what it counts of the whole cluster, and not of itself.
_COUNTED_OF_CLUSTER = (
    *("active_brokers", "fenced_brokers", "global_topics", "global_partitions"),
    *("offline_partitions", "preferred_replica_imbalance"),
    *("leader_elections", "unclean_leader_elections", "elr_elections"),
)


def controllers(sources: Sources) -> Table:
    """Controllers: brokers in ZooKeeper mode, else those of the quorum."""
    if sources.layout.plan.is_kraft:
        return quorum_controllers(sources)
    return broker_tables.brokers(sources)


def quorum_controllers(sources: Sources) -> Table:
    """The controllers of a quorum.

    Source: ControllerMetadataMetricsPublisher@4.1.0: each of them counts the whole cluster.
    """
    records = sources.snapshot.controllers
    targets = np.array(controllers_of(sources.layout.plan), dtype=np.int64)
    columns = columns_of(records)
    if not sources.every_controller:
        counted = {
            name: columns[name] * records["active_controller"] for name in _COUNTED_OF_CLUSTER
        }
        columns |= counted
    applied = sources.context.applied
    applied_us = np.full(len(targets), np.nan) if applied is None else applied.controllers_us
    lag_us = (sources.snapshot.time_us - applied_us) * ~records["active_controller"]
    columns |= {"applied_ms": applied_us // 1000, "applied_lag_ms": lag_us // 1000}
    labels = texts_of([""] * len(targets))
    return Table(targets, records["answers"], columns, labels.__getitem__)
