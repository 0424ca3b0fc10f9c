"""Tables beside Kafka's own: the control plane's view of the cluster, and Tidegauge itself."""

from __future__ import annotations

from math import nan

import numpy as np

from tidegauge.metrics.samples.labels import label_text
from tidegauge.metrics.samples.layout import texts_of
from tidegauge.metrics.samples.levels import partitions_left_out
from tidegauge.metrics.samples.table import Sources, Table, all_rows, columns_of, one_row
from tidegauge.metrics.samples.targets import (
    CONTROL_PLANE,
    SIMULATION,
    target_name,
    targets_of,
)


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
    context, health = sources.context, sources.context.health
    snapshot = sources.snapshot
    left_out = partitions_left_out(sources.level, sources.layout, snapshot)
    columns = {"time_us": float(snapshot.time_us), "partitions_left_out": left_out}
    columns |= {"speed": context.speed, "window_us": context.window_us}
    if health is None:
        columns |= dict.fromkeys(("wanted_speed", "behind_us", "events", "windows"), nan)
    else:
        columns |= {
            "wanted_speed": nan if health.wanted_speed is None else health.wanted_speed,
            "behind_us": health.behind_us,
            "events": health.events,
            "windows": health.windows,
        }
    scrapes = context.scrapes
    columns["render_cpu_seconds"] = nan if scrapes is None else scrapes.render_cpu_seconds
    return one_row(SIMULATION, True, {name: np.array([value]) for name, value in columns.items()})


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
        "events": np.array([actor.events for actor in hosts]),
        "kernel_cpu_seconds": np.array([actor.kernel_cpu_seconds for actor in hosts]),
        "exchange_cpu_seconds": np.array([actor.exchange_cpu_seconds for actor in hosts]),
        "waiting_cpu_seconds": np.array([actor.waiting_cpu_seconds for actor in hosts]),
        "age_seconds": np.array([now_seconds - actor.snapshot_at_seconds for actor in hosts]),
    }
    labels = texts_of(label_text({"actor": actor.name}) for actor in hosts)
    return all_rows(SIMULATION, labels, columns)


def scraped_targets(sources: Sources) -> Table:
    """The targets, and how often each was scraped."""
    plan, scrapes = sources.layout.plan, sources.context.scrapes
    targets = () if scrapes is None else targets_of(plan)
    by_target = {} if scrapes is None else scrapes.by_target
    counts = np.array([by_target.get(target, 0) for target in targets])
    labels = texts_of(label_text({"target": target_name(plan, target)}) for target in targets)
    return all_rows(SIMULATION, labels, {"scrapes": counts})
