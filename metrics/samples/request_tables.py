"""The tables of requests to brokers and controllers, by type, and of ZooKeeper clients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.families.request_families import QUANTILES
from tidegauge.metrics.samples.broker_tables import rows_of_broker
from tidegauge.metrics.samples.labels import label_text
from tidegauge.metrics.samples.layout import Numbers, Texts, texts_of
from tidegauge.metrics.samples.table import Sources, Table, columns_of
from tidegauge.metrics.samples.targets import controllers_of
from tidegauge.metrics.snapshots.request_gauges import (
    SERVED_CONTROLLER_TYPES,
    SERVED_TYPES,
)
from tidegauge.replication import errors
from tidegauge.simulation.messages.request_types import (
    CONTROLLER_TYPES,
    ERROR_TYPES,
    FETCH,
    REQUEST_TYPES,
)

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
