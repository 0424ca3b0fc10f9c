"""The tables of a broker's requests, by type, and of its ZooKeeper client."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegauge.actors.state.request_stats import ERRORS
from tidegauge.metrics.samples.broker_tables import rows_of_broker
from tidegauge.metrics.samples.labels import label_text
from tidegauge.metrics.samples.layout import Numbers, Texts, texts_of
from tidegauge.metrics.samples.table import Sources, Table, columns_of
from tidegauge.metrics.snapshots.request_gauges import QUANTILES, SERVED_TYPES
from tidegauge.replication import errors
from tidegauge.simulation.messages.request_types import ERROR_TYPES, FETCH, REQUEST_TYPES

#: The parts of a request's time that have histograms, in their order.
PARTS = ("queue", "local", "remote", "total")

_TYPE_LABELS = texts_of(label_text({"request": name}) for name in SERVED_TYPES)
#: Kafka counts the errors of all fetches as those of Fetch.
_ERROR_LABELS = texts_of(
    label_text({"request": FETCH if name.startswith(FETCH) else name, "error": errors.NAMES[code]})
    for name in REQUEST_TYPES[:ERROR_TYPES]
    for code in ERRORS
)


def requests(sources: Sources) -> Table:
    """Types of requests at brokers, as far as there were any, with the quantiles of their times."""
    snapshot = sources.snapshot
    rows = rows_of_broker(sources, len(SERVED_TYPES))
    records = snapshot.requests[rows]
    columns = columns_of(records)
    quantiles = snapshot.request_times.reshape(-1, len(PARTS))[rows]
    for number, part in enumerate(PARTS):
        for field in QUANTILES:
            columns[f"{part}_{field}"] = quantiles[field][:, number]
    return _of_types(sources, rows, _TYPE_LABELS, records["requests"] > 0, columns)


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


def zookeeper_clients(sources: Sources) -> Table:
    """Brokers with ZooKeeper."""
    snapshot = sources.snapshot
    rows = rows_of_broker(sources, 1)
    records = snapshot.zookeeper_clients[rows]
    columns = columns_of(records) | columns_of(snapshot.zookeeper_latencies[rows])
    return _of_types(sources, rows, texts_of([""]), records["exists"], columns)
