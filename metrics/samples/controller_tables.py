"""The tables of controllers: with ZooKeeper each broker has one, a quorum has nodes of its own.

The tables of Raft: the brokers and controllers of a quorum as clients of it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.families.requests import QUANTILES
from tidegauge.metrics.samples import broker_tables
from tidegauge.metrics.samples.labels import label_text
from tidegauge.metrics.samples.layout import Flags, texts_of
from tidegauge.metrics.samples.table import Sources, Table, columns_of
from tidegauge.metrics.samples.targets import controllers_of
from tidegauge.metrics.snapshots.quorum_gauges import STATE_TEXTS

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


_STATE_LABELS = texts_of(label_text({"current_state": text}) for text in STATE_TEXTS)


def raft(sources: Sources) -> Table:
    """Brokers and controllers, as soon as they take part in the quorum."""
    plan, snapshot = sources.layout.plan, sources.snapshot
    records = snapshot.raft
    nodes = (*range(len(plan.brokers)), *controllers_of(plan)) if plan.is_kraft else ()
    targets = np.array(nodes, dtype=np.int64)
    answers = np.append(snapshot.brokers["answers"], snapshot.controllers["answers"])
    # -1 stands for no node: the last place.
    ids = np.array((*plan.controllers, -1))
    columns = columns_of(records) | {
        "leader_id": ids[records["leader"]],
        "vote_id": ids[records["vote"]],
        "fetch_rate": _ratio(records["fetched_records"], records["fetched_for_us"] / 1e6),
        "append_rate": _ratio(records["appended_records"], records["appended_for_us"] / 1e6),
        "idle_ratio": _idle_ratio(sources),
    }
    for name in ("commit", "election"):
        counts = records[f"{name}s"]
        columns[f"{name}_avg_ms"] = _ratio(records[f"{name}_us"] / 1000, counts)
        columns[f"{name}_max_ms"] = _ratio(records[f"longest_{name}_us"] / 1000, counts > 0)
    there = records["exists"] & answers[: len(targets)]
    labels = texts_of([""] * len(targets))
    return Table(targets, there, columns, labels.__getitem__)


def _ratio(numbers: NDArray[Any], by: NDArray[Any]) -> NDArray[np.float64]:
    """Quotients; NaN where there is nothing to divide by."""
    quotients = np.full(len(numbers), np.nan)
    np.divide(numbers, by, out=quotients, where=by > 0)
    return quotients


def _idle_ratio(sources: Sources) -> NDArray[np.float64]:
    idle = sources.context.idle_ratio
    return np.full(len(sources.snapshot.raft), np.nan) if idle is None else idle


def raft_states(sources: Sources) -> Table:
    """The same nodes, with the state of each as a label."""
    table = raft(sources)
    states = sources.snapshot.raft["state"]
    columns = {"one": np.ones(len(states), np.int64)}
    return table._replace(columns=columns, labels=lambda rows: _STATE_LABELS[states[rows]])
