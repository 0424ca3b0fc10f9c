"""The tables of a broker, its topics and its replicas.

A broker that does not respond has no rows, as its target cannot be scraped.

The tables of requests to brokers and controllers, by type, and of ZooKeeper clients.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.families.requests import QUANTILES
from tidegauge.metrics.samples.labels import label_text
from tidegauge.metrics.samples.layout import Numbers, Texts, texts_of
from tidegauge.metrics.samples.table import Sources, Table, columns_of
from tidegauge.metrics.samples.targets import controllers_of
from tidegauge.metrics.snapshots.request_gauges import (
    SERVED_CONTROLLER_TYPES,
    SERVED_TYPES,
)
from tidegauge.replication import errors
from tidegauge.simulation.messages.kinds import CONTROLLER_TYPES, ERROR_TYPES, FETCH, REQUEST_TYPES


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
    unknown_us = np.full(len(table.targets), np.nan)
    applied_us = unknown_us if applied is None else applied.brokers_us[rows]
    columns = {
        **table.columns,
        "applied_ms": applied_us // 1000,
        "applied_lag_ms": (sources.snapshot.time_us - applied_us) // 1000,
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


def _of_types(
    sources: Sources, rows: slice, texts: Texts, there: NDArray[np.bool_], columns: dict[str, Any]
) -> Table:
    """A table in which each broker has a row for each of these texts."""
    count = len(sources.snapshot.brokers)
    targets = np.repeat(np.arange(count), len(texts))[rows]

    def labels(numbers: Numbers) -> Texts:
        chosen: Texts = texts[numbers % len(texts)]
        return chosen

    return Table(targets, there & sources.answers(targets), columns, labels)


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


def _of_controllers(
    sources: Sources, texts: Texts, there: NDArray[np.bool_], columns: dict[str, Any]
) -> Table:
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
