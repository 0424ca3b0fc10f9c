"""The rows of a scope at one moment, and those of nodes: brokers, controllers, clients of Raft.

A node that does not respond has no rows, as its target cannot be scraped. With ZooKeeper each
broker has a controller; a quorum has nodes of its own.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.families.family import Columns
from tidegauge.metrics.families.requests import QUANTILES
from tidegauge.metrics.samples.layout import Flags, Layout, Level, Numbers, Texts, Totals, texts_of
from tidegauge.metrics.samples.successive_snapshots import SnapshotContext
from tidegauge.metrics.samples.targets import controllers_of, label_text
from tidegauge.metrics.snapshots.quorum_gauges import STATE_TEXTS
from tidegauge.metrics.snapshots.request_gauges import SERVED_CONTROLLER_TYPES, SERVED_TYPES
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.replication import errors
from tidegauge.simulation.messages.kinds import CONTROLLER_TYPES, ERROR_TYPES, FETCH, REQUEST_TYPES


class Table(NamedTuple):
    """The rows of a scope at one moment."""

    targets: Numbers
    #: Flags of the existing rows.
    there: Flags
    columns: Columns
    #: The label texts of some of them.
    labels: Callable[[Numbers], Texts]
    #: The partition of each row and the totals that it counts for, where a row belongs to a
    #: partition.
    partitions: Numbers | None = None
    totals: Totals | None = None


class Sources(NamedTuple):
    """The sources of tables."""

    layout: Layout
    snapshot: Snapshot
    context: SnapshotContext
    level: Level
    #: The only broker whose rows are requested; None: all.
    broker: int | None = None
    every_controller: bool = False

    def answers(self, brokers: Numbers) -> Flags:
        """Whether these brokers can be scraped."""
        answers: Flags = self.snapshot.brokers["answers"][brokers]
        return answers


def columns_of(rows: NDArray[np.void]) -> dict[str, NDArray[Any]]:
    """The columns of records, by name; they share the records' memory."""
    assert rows.dtype.names is not None
    return {name: rows[name] for name in rows.dtype.names}


def known_or_nan(values: NDArray[Any] | None, count: int) -> NDArray[Any]:
    """Values beside a snapshot; NaN for all rows as long as they are not known."""
    return np.full(count, np.nan) if values is None else values


def one_row(target: int, there: bool, columns: Columns) -> Table:
    """A table of one row that has no labels."""
    return Table(np.array([target]), np.array([there]), columns, texts_of([""]).__getitem__)


def all_rows(target: int, labels: Texts, columns: Columns) -> Table:
    """A table of rows of one target, all of which exist."""
    count = len(labels)
    return Table(np.full(count, target), np.ones(count, bool), columns, labels.__getitem__)


def brokers(sources: Sources) -> Table:
    """Brokers, with the age of their request handlers."""
    rows = rows_of_broker(sources, 1)
    records = sources.snapshot.brokers[rows]
    columns = columns_of(records)
    columns["handlers_for_us"] = sources.snapshot.time_us - records["handlers_since_us"]
    targets = np.arange(len(sources.snapshot.brokers))[rows]
    labels = texts_of([""] * len(targets))
    return Table(targets, records["answers"], columns, labels.__getitem__)


def brokers_with_zookeeper(sources: Sources) -> Table:
    """Brokers, as far as they have to do with ZooKeeper."""
    table = brokers(sources)
    return table._replace(there=table.there & (not sources.layout.plan.is_kraft))


def brokers_of_quorum(sources: Sources) -> Table:
    """Brokers, as readers of a quorum's log."""
    table = brokers(sources)
    rows = rows_of_broker(sources, 1)
    applied = sources.context.applied
    brokers_us = known_or_nan(applied and applied.brokers_us, len(sources.snapshot.brokers))
    applied_us = brokers_us[rows]
    columns = {
        **table.columns,
        "applied_ms": applied_us // 1000,
        "applied_lag_ms": (sources.snapshot.time_us - applied_us) // 1000,
        "ignored_static_voters": _ignores_static_voters(sources)[: len(brokers_us)][rows],
    }
    is_reader = sources.snapshot.brokers["applied_offset"][rows] >= 0
    there = table.there & is_reader & sources.layout.plan.is_kraft
    return table._replace(there=there, columns=columns)


def broker_topics(sources: Sources) -> Table:
    """Topics at brokers."""
    layout = sources.layout
    rows = rows_of_broker(sources, len(layout.topics))
    targets = layout.broker_topic_targets[rows]
    records = sources.snapshot.broker_topics[rows]
    there = records["exists"] & sources.answers(targets)
    return Table(targets, there, columns_of(records), layout.broker_topic_labels[rows].__getitem__)


def rows_of_broker(sources: Sources, rows_each: int) -> slice:
    """The rows of the requested brokers, where each broker has that many consecutive rows."""
    if sources.broker is None:
        return slice(None)
    return slice(sources.broker * rows_each, (sources.broker + 1) * rows_each)


def replicas(sources: Sources) -> Table:
    """Replicas at their brokers; they add up to topics at a broker."""
    layout = sources.layout
    rows = slice(None) if sources.broker is None else layout.replicas_of[sources.broker]
    targets = layout.replica_targets[rows]
    records = sources.snapshot.replicas[rows]
    return Table(
        targets,
        records["exists"] & sources.answers(targets),
        columns_of(records),
        layout.replica_labels[rows].__getitem__,
        layout.replica_partitions[rows],
        layout.replica_totals._replace(of=layout.replica_totals.of[rows]),
    )


def fetched_replicas(sources: Sources) -> Table:
    """Replicas that are fetched from another broker, labelled with the fetcher.

    AbstractFetcherManager names a fetcher ``ReplicaFetcherThread-<fetcher>-<id of the leader>``.
    """
    table = replicas(sources)
    fetchers, leaders = table.columns["fetcher"], table.columns["source_broker"]
    ids = sources.layout.broker_ids

    def labels(rows: Numbers) -> Texts:
        pairs, place = np.unique(fetchers[rows] * len(ids) + leaders[rows], return_inverse=True)
        names = texts_of(
            f'clientId="ReplicaFetcherThread-{pair // len(ids)}-{ids[pair % len(ids)]}",'
            for pair in pairs
        )
        texts: Texts = names[place] + table.labels(rows)
        return texts

    there = table.there & (fetchers >= 0) & (leaders >= 0)
    return table._replace(there=there, labels=labels)


#: The parts of a request's time that have histograms, in their order.
PARTS = ("queue", "local", "remote", "total")

_TYPE_LABELS = texts_of(label_text({"request": name}) for name in SERVED_TYPES)
_CONTROLLER_TYPE_LABELS = texts_of(
    label_text({"request": name}) for name in SERVED_CONTROLLER_TYPES
)
_FETCHES = ("FetchConsumer", "FetchFollower")


def _error_labels(types: Sequence[str]) -> Texts:
    """The labels of each error of each type; Kafka counts those of all fetches as of Fetch."""
    named = [FETCH if name in _FETCHES else name for name in types]
    return texts_of(
        label_text({"request": name, "error": errors.NAMES[code]})
        for name in named
        for code in errors.ERRORS
    )


_ERROR_LABELS = _error_labels(REQUEST_TYPES[:ERROR_TYPES])
_CONTROLLER_ERROR_LABELS = _error_labels(CONTROLLER_TYPES)


def requests(sources: Sources) -> Table:
    """Types of requests at brokers, as far as there were any, with the quantiles of their times."""
    snapshot = sources.snapshot
    rows = rows_of_broker(sources, len(SERVED_TYPES))
    records = snapshot.requests[rows]
    times = snapshot.request_times.reshape(-1, len(PARTS))[rows]
    columns = _with_quantiles(records, times)
    return _of_types(sources, rows, _TYPE_LABELS, records["requests"] > 0, columns)


def _with_quantiles(records: NDArray[np.void], times: NDArray[np.void]) -> dict[str, NDArray[Any]]:
    """The columns of types of requests, with the quantiles of each part of their times."""
    columns = columns_of(records)
    for number, part in enumerate(PARTS):
        for field in QUANTILES:
            columns[f"{part}_{field}"] = times[field][:, number]
    return columns


def request_errors(sources: Sources) -> Table:
    """Types of requests at brokers with each error that there was."""
    rows = rows_of_broker(sources, len(_ERROR_LABELS))
    records = sources.snapshot.request_errors[rows]
    columns = columns_of(records)
    return _of_types(sources, rows, _ERROR_LABELS, records["responses"] > 0, columns)


def _of_types(sources: Sources, rows: slice, texts: Texts, there: Flags, columns: Any) -> Table:
    """A table in which each broker has a row for each of these texts."""
    targets = np.repeat(np.arange(len(sources.snapshot.brokers)), len(texts))[rows]
    there = there & sources.answers(targets)
    return Table(targets, there, columns, lambda numbers: texts[numbers % len(texts)])


def controller_requests(sources: Sources) -> Table:
    """Types of requests at the controllers of a quorum."""
    records = sources.snapshot.controller_requests
    times = sources.snapshot.controller_request_times.reshape(-1, len(PARTS))
    columns = _with_quantiles(records, times)
    return _of_controllers(sources, _CONTROLLER_TYPE_LABELS, records["requests"] > 0, columns)


def controller_request_errors(sources: Sources) -> Table:
    """Types of requests at the controllers of a quorum with each error that there was."""
    records = sources.snapshot.controller_request_errors
    there = records["responses"] > 0
    return _of_controllers(sources, _CONTROLLER_ERROR_LABELS, there, columns_of(records))


def _of_controllers(sources: Sources, texts: Texts, there: Flags, columns: Any) -> Table:
    """A table in which each controller has a row for each of these texts."""
    controllers = np.array(controllers_of(sources.layout.plan), dtype=np.int64)
    targets = np.repeat(controllers, len(texts))
    answers = np.repeat(sources.snapshot.controllers["answers"], len(texts))
    return Table(targets, there & answers, columns, lambda numbers: texts[numbers % len(texts)])


def zookeeper_clients(sources: Sources) -> Table:
    """Brokers with ZooKeeper."""
    snapshot = sources.snapshot
    rows = rows_of_broker(sources, 1)
    records = snapshot.zookeeper_clients[rows]
    columns = columns_of(records) | columns_of(snapshot.zookeeper_latencies[rows])
    return _of_types(sources, rows, texts_of([""]), records["exists"], columns)


#: For a quorum's controller: its counts of the whole cluster, and not of itself.
_COUNTED_OF_CLUSTER = (
    *("active_brokers", "fenced_brokers", "global_topics", "global_partitions"),
    *("offline_partitions", "preferred_replica_imbalance"),
)

#: For a quorum's controller: its counts of elections, and the column with all that it has read.
_ELECTIONS = {
    "unclean_leader_elections": "known_unclean_leader_elections",
    "elr_elections": "known_elr_elections",
}


def controllers(sources: Sources) -> Table:
    """Controllers: brokers in ZooKeeper mode, else those of the quorum."""
    if sources.layout.plan.is_kraft:
        return quorum_controllers(sources)
    return brokers(sources)


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
    applied_us = known_or_nan(applied and applied.controllers_us, len(targets))
    applied_us = np.where(records["last_applied_offset"] > 0, applied_us, np.nan)
    lag_us = (sources.snapshot.time_us - applied_us) * ~records["active_controller"]
    columns |= {"applied_ms": applied_us // 1000, "applied_lag_ms": lag_us // 1000}
    columns["ignored_static_voters"] = _ignores_static_voters(sources)[-len(targets) :]
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


_LEADER = STATE_TEXTS.index("leader")
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
        "leads": records["state"] == _LEADER,
        "voters": _by_longest_log(records, "voters"),
        "observers": records["observers"] + _brokers_that_follow(records, len(plan.brokers)),
    }
    for work in ("writing", "handling", "loading"):
        ratios = sources.context.idle_ratios.get(work)
        columns[f"{work}_idle_ratio"] = known_or_nan(ratios, len(records))
    for name in ("commit", "election"):
        counts = records[f"{name}s"]
        columns[f"{name}_avg_ms"] = _ratio(records[f"{name}_us"] / 1000, counts)
        columns[f"{name}_max_ms"] = _ratio(records[f"longest_{name}_us"] / 1000, counts > 0)
    there = records["exists"] & answers[: len(targets)]
    labels = texts_of([""] * len(targets))
    return Table(targets, there, columns, labels.__getitem__)


def _by_longest_log(records: NDArray[np.void], name: str) -> NDArray[Any]:
    """What the log of each node says of voters: brokers read those of controllers."""
    if len(records) == 0:
        return records[name]
    ends = np.where(records["is_controller"], records["log_end_offset"], -1)
    return np.where(records["is_controller"], records[name], records[name][ends.argmax()])


def _brokers_that_follow(records: NDArray[np.void], brokers: int) -> Numbers:
    """By node: the number of brokers that know it as the leader; these are the first nodes."""
    found = np.zeros(len(records), np.int64)
    of_brokers = records[:brokers]
    leaders = of_brokers["leader"][of_brokers["exists"] & (of_brokers["leader"] >= 0)]
    np.add.at(found, brokers + leaders, 1)
    return found


def _ignores_static_voters(sources: Sources) -> Flags:
    """By node: it has controller.quorum.voters, and reads others from the metadata log.

    Source: KRaftControlRecordStateMachine.handleBatch@4.1.0 (KAFKA-16524).
    """
    plan = sources.layout.plan
    if not plan.is_kraft or plan.scenario.controllers.voters:
        return np.zeros(len(plan.brokers) + len(plan.controllers), np.bool_)
    ignores: Flags = _by_longest_log(sources.snapshot.raft, "kraft_version") > 0
    return ignores


def _ratio(numbers: NDArray[Any], by: NDArray[Any]) -> NDArray[np.float64]:
    """Quotients; NaN where there is nothing to divide by."""
    quotients = np.full(len(numbers), np.nan)
    np.divide(numbers, by, out=quotients, where=by > 0)
    return quotients


def raft_states(sources: Sources) -> Table:
    """The same nodes, with the state of each as a label."""
    table = raft(sources)
    states = sources.snapshot.raft["state"]
    columns = {"one": np.ones(len(states), np.int64)}
    return table._replace(columns=columns, labels=lambda rows: _STATE_LABELS[states[rows]])
