"""The tables of kafka_exporter: from metadata, from leaders, from coordinators.

Values from the metadata are always known, also for a partition without a leader. Offsets are
requested from the leader, so they are known only while that leader responds; the others are NaN.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.samples.layout import Layout
from tidegauge.metrics.samples.table import Sources, Table, columns_of, one_row
from tidegauge.metrics.samples.targets import EXPORTER
from tidegauge.metrics.snapshots.snapshot import Snapshot

Offsets = NDArray[np.float64]


def cluster(sources: Sources) -> Table:
    """The cluster."""
    records = sources.snapshot.cluster
    return one_row(EXPORTER, bool(records["known"][0]), columns_of(records))


def registered_brokers(sources: Sources) -> Table:
    """Brokers that metadata names."""
    records = sources.snapshot.brokers
    targets = np.full(len(records), EXPORTER)
    labels = sources.layout.address_labels
    return Table(targets, records["registered"], columns_of(records), labels.__getitem__)


def topics(sources: Sources) -> Table:
    """Topics that have partitions."""
    totals = sources.layout.partition_totals
    exists = sources.snapshot.partitions["exists"]
    counts = np.bincount(totals.of[exists], minlength=len(totals.targets))
    return Table(totals.targets, counts > 0, {"partitions": counts}, totals.labels.__getitem__)


def partitions(sources: Sources) -> Table:
    """Partitions; they add up to topics."""
    layout = sources.layout
    records = sources.snapshot.partitions
    columns = columns_of(records)
    # A place after the ids stands for no broker: index -1 leads there.
    columns["leader_id"] = np.append(layout.broker_ids, -1)[records["leader"].clip(-1)]
    high_watermarks, log_starts = offsets_of_leaders(layout, sources.snapshot)
    columns["high_watermark"] = high_watermarks
    columns["log_start_offset"] = log_starts
    return Table(
        np.full(len(records), EXPORTER),
        records["exists"],
        columns,
        layout.partition_labels.__getitem__,
        np.arange(len(records)),
        layout.partition_totals,
    )


def offsets_of_leaders(layout: Layout, snapshot: Snapshot) -> tuple[Offsets, Offsets]:
    """High watermark and log start offset by partition; NaN where no leader responds."""
    brokers, numbers = layout.replica_targets, layout.replica_partitions
    replicas = snapshot.replicas
    leads = replicas["exists"] & replicas["leads"] & snapshot.brokers["answers"][brokers]
    # Of two brokers that both act as leader, clients use the one that metadata names.
    leads &= snapshot.partitions["leader"][numbers] == brokers
    rows = np.flatnonzero(leads)
    high_watermarks = np.full(len(snapshot.partitions), np.nan)
    log_starts = high_watermarks.copy()
    high_watermarks[numbers[rows]] = replicas["high_watermark"][rows]
    log_starts[numbers[rows]] = replicas["log_start_offset"][rows]
    return high_watermarks, log_starts


def group_partitions(sources: Sources) -> Table:
    """Partitions of which a group has committed an offset; they add up to topics that it reads.

    kafka_exporter has -1 for partitions without one, if a member reads them; they are left out.
    """
    layout = sources.layout
    rows, _, numbers = layout.committed
    records = sources.snapshot.committed[rows]
    columns = columns_of(records)
    high_watermarks, _ = offsets_of_leaders(layout, sources.snapshot)
    columns["lag"] = high_watermarks[numbers] - records["offset"]
    lag_ms = sources.context.consumer_lag_ms
    columns["lag_ms"] = np.full(len(rows), np.nan) if lag_ms is None else lag_ms[rows]
    return Table(
        np.full(len(rows), EXPORTER),
        records["known"],
        columns,
        layout.committed_labels.__getitem__,
        numbers,
        layout.committed_totals,
    )


def group_topics(sources: Sources) -> Table:
    """Topics that a group reads: the sums over the known values of their partitions."""
    read = group_partitions(sources)
    of, targets, labels = sources.layout.committed_totals
    lags = np.nan_to_num(read.columns["lag"])
    columns = {
        "offset_sum": np.bincount(of[read.there], read.columns["offset"][read.there], len(targets)),
        "lag_sum": np.bincount(of[read.there], lags[read.there], len(targets)),
    }
    there = np.bincount(of[read.there], minlength=len(targets)) > 0
    return Table(targets, there, columns, labels.__getitem__)


def groups(sources: Sources) -> Table:
    """Groups that a coordinator knows."""
    layout = sources.layout
    clients, group_of_client = layout.members
    rows, group_of_row, _ = layout.committed
    count = len(layout.groups)
    present = sources.snapshot.members["present"][clients]
    known = sources.snapshot.committed["known"][rows]
    members = np.bincount(group_of_client[present], minlength=count)
    there = (members > 0) | (np.bincount(group_of_row[known], minlength=count) > 0)
    targets = np.full(count, EXPORTER)
    return Table(targets, there, {"members": members}, layout.group_labels.__getitem__)
