"""The tables of kafka_exporter, of the control plane's view, and of Tidegauge itself.

kafka_exporter asks for metadata, leaders and coordinators. Values from the metadata are always
known, also for a partition without a leader. Offsets are requested from the leader, so they are
known only while that leader responds; the others are NaN.
"""

from math import nan

import numpy as np

from tidegauge.metrics.samples.layout import offsets_of_leaders, partitions_left_out, texts_of
from tidegauge.metrics.samples.node_tables import (
    Sources,
    Table,
    all_rows,
    columns_of,
    known_or_nan,
    one_row,
)
from tidegauge.metrics.samples.successive_snapshots import ActorHealth
from tidegauge.metrics.samples.targets import (
    CONTROL_PLANE,
    EXPORTER,
    SIMULATION,
    label_text,
    target_name,
    targets_of,
)


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
    lag_ms = known_or_nan(sources.context.consumer_lag_ms, len(sources.snapshot.committed))
    columns["lag_ms"] = lag_ms[rows]
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


def metadata(sources: Sources) -> Table:
    """The state in ZooKeeper, or in the log of a quorum, counted over all partitions."""
    records, partitions = sources.snapshot.cluster, sources.snapshot.partitions
    exists = partitions["exists"]
    counts = {
        "offline_partitions": exists & (partitions["leader"] < 0),
        "in_sync_replicas": partitions["in_sync_replicas"][exists],
        "replicas": partitions["replicas"][exists],
        "not_preferred": exists & ~partitions["leader_is_preferred"],
    }
    columns = columns_of(records) | {
        name: np.array([counted.sum()]) for name, counted in counts.items()
    }
    return one_row(CONTROL_PLANE, bool(records["known"][0]), columns)


def clients(sources: Sources) -> Table:
    """The outage as clients see it, counted over all partitions."""
    partitions = sources.snapshot.partitions
    columns = columns_of(sources.snapshot.cluster) | {
        f"stalled_for_{clients}": np.array([(partitions[f"stalled_{clients}"] > 0).sum()])
        for clients in ("producers", "consumers")
    }
    return one_row(SIMULATION, True, columns)


def zookeeper(sources: Sources) -> Table:
    """ZooKeeper itself, in that mode."""
    records = sources.snapshot.cluster
    is_there = bool(records["known"][0]) and not sources.layout.plan.is_kraft
    connections = np.array([sources.snapshot.zookeeper_clients["connected"].sum()])
    return one_row(CONTROL_PLANE, is_there, columns_of(records) | {"connections": connections})


def simulation(sources: Sources) -> Table:
    """The simulation as a whole; unknown values are NaN."""
    context, snapshot = sources.context, sources.snapshot
    values = {
        "time_us": float(snapshot.time_us),
        "partitions_left_out": partitions_left_out(sources.level, sources.layout, snapshot),
        "speed": context.speed,
        "window_us": context.window_us,
        "render_cpu_seconds": getattr(context.scrapes, "render_cpu_seconds", None),
    }
    for name in ("wanted_speed", "behind_us", "events", "windows"):
        values[name] = getattr(context.health, name, None)
    columns = {name: np.array([nan if value is None else value]) for name, value in values.items()}
    return one_row(SIMULATION, True, columns)


def metrics_level(sources: Sources) -> Table:
    """The level, as a label."""
    labels = texts_of([label_text({"level": sources.level})])
    return all_rows(SIMULATION, labels, {"one": np.array([1])})


def actors(sources: Sources) -> Table:
    """The actors of the run."""
    health = sources.context.health
    hosts = () if health is None else health.actors
    now_seconds = sources.context.now_seconds
    if now_seconds is None:
        now_seconds = 0.0 if health is None else health.at_seconds
    columns = {
        name: np.array([getattr(actor, name) for actor in hosts])
        for name in ActorHealth._fields[1:]
    }
    columns["age_seconds"] = now_seconds - columns["snapshot_at_seconds"]
    labels = texts_of(label_text({"actor": actor.name}) for actor in hosts)
    return all_rows(SIMULATION, labels, columns)


def scraped_targets(sources: Sources) -> Table:
    """The targets, and the number of scrapes of each."""
    plan, scrapes = sources.layout.plan, sources.context.scrapes
    targets = () if scrapes is None else targets_of(plan)
    by_target = {} if scrapes is None else scrapes.by_target
    counts = np.array([by_target.get(target, 0) for target in targets])
    labels = texts_of(label_text({"target": target_name(plan, target)}) for target in targets)
    return all_rows(SIMULATION, labels, {"scrapes": counts})
