"""The tables of controllers: with ZooKeeper each broker has one, a quorum has nodes of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.families.request_families import QUANTILES
from tidegauge.metrics.samples import broker_tables
from tidegauge.metrics.samples.layout import Flags, texts_of
from tidegauge.metrics.samples.table import Sources, Table, columns_of
from tidegauge.metrics.samples.targets import controllers_of

#: Of a quorum's controller: what it counts of the whole cluster, and not of itself.
_COUNTED_OF_CLUSTER = (
    *("active_brokers", "fenced_brokers", "global_topics", "global_partitions"),
    *("offline_partitions", "preferred_replica_imbalance"),
)

#: Of a quorum's controller: what it counts of elections, and the column of all that it has read of.
_ELECTIONS = {
    "unclean_leader_elections": "known_unclean_leader_elections",
    "elr_elections": "known_elr_elections",
}


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
    if sources.every_controller:
        columns |= {name: columns[known] for name, known in _ELECTIONS.items()}
    else:
        counts = _is_the_newest(records)
        columns |= {name: columns[name] * counts for name in _COUNTED_OF_CLUSTER}
    applied = sources.context.applied
    applied_us = np.full(len(targets), np.nan) if applied is None else applied.controllers_us
    applied_us = np.where(records["last_applied_offset"] > 0, applied_us, np.nan)
    lag_us = (sources.snapshot.time_us - applied_us) * ~records["active_controller"]
    columns |= {"applied_ms": applied_us // 1000, "applied_lag_ms": lag_us // 1000}
    times = sources.snapshot.controller_event_times
    for number, part in enumerate(("queue", "processing")):
        columns |= {f"{part}_{field}": times[field][number::2] for field in QUANTILES}
    labels = texts_of([""] * len(targets))
    return Table(targets, records["answers"], columns, labels.__getitem__)


def _is_the_newest(records: NDArray[np.void]) -> Flags:
    """By controller: it is active, and not one that was superseded without knowing it."""
    epochs = np.where(records["active_controller"], records["controller_epoch"], -1)
    newest: Flags = records["active_controller"] & (epochs == epochs.max(initial=-1))
    return newest
