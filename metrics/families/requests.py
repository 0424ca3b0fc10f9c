"""Metrics of requests and of a broker's ZooKeeper client, and the histograms of times.

Exporters make gauges of a histogram's percentiles, most with a label ``quantile``. Kafka rounds the
times in them to milliseconds; ``simulation/sampled_stats.py`` has the error of quantiles.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.records import Records, flag, i64
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.metrics.families.family import (
    Columns,
    Family,
    Gauges,
    Scope,
    counter,
    families_of,
    gauge,
)
from tidegauge.simulation.sampled_stats import Bucket, quantile_ms, total_weight

#: The percentiles of Kafka's histograms: the attribute of each column.
QUANTILES = {
    "p50_ms": "50thPercentile",
    "p75_ms": "75thPercentile",
    "p95_ms": "95thPercentile",
    "p98_ms": "98thPercentile",
    "p99_ms": "99thPercentile",
    "p999_ms": "999thPercentile",
}


# In thousandths.
_P50, _P75, _P95, _P98, _P99, _P999 = map(code, (500, 750, 950, 980, 990, 999))


class HistogramGauges(Gauges):
    """The quantiles of one histogram: of a type at a broker those of its parts, one after another.

    The unit is whole milliseconds, as in Kafka.
    """

    p50_ms: i64
    p75_ms: i64
    p95_ms: i64
    p98_ms: i64
    p99_ms: i64
    p999_ms: i64


@inner_rule
def read_histogram(times: Records[Bucket], histogram: HistogramGauges) -> None:
    """Enter the quantiles of a histogram."""
    total = total_weight(times)
    histogram.p50_ms = quantile_ms(times, total, _P50)
    histogram.p75_ms = quantile_ms(times, total, _P75)
    histogram.p95_ms = quantile_ms(times, total, _P95)
    histogram.p98_ms = quantile_ms(times, total, _P98)
    histogram.p99_ms = quantile_ms(times, total, _P99)
    histogram.p999_ms = quantile_ms(times, total, _P999)


def _zero(of: Columns) -> NDArray[np.int64]:
    return np.zeros_like(of["requests"])


def histogram(
    object_name: str, column: str | None, counted: str, meaning: str
) -> Iterator[partial[Family]]:
    """An entry for each quantile of a histogram, and its count.

    Without a column all quantiles are 0.
    """
    for field, attribute in QUANTILES.items():
        yield gauge(
            object_name,
            f"Quantiles of the time (virtual milliseconds) {meaning}.",
            _zero if column is None else f"{column}{field}",
            attribute,
        )
    yield counter(
        object_name,
        "Number of values that the quantiles are of, those of long ago included.",
        counted,
    )


_REQUEST_METRICS = "kafka.network:type=RequestMetrics,name="
_SESSION = "kafka.server:type=SessionExpireListener,name=ZooKeeper"

#: Kafka's names of the parts of a request's time, the columns of each, and its meaning.
_PARTS = {
    "RequestQueueTimeMs": ("queue_", "that requests wait for a request handler"),
    "LocalTimeMs": (
        "local_",
        "that a request handler takes for requests, with locks and slow disks",
    ),
    "RemoteTimeMs": (
        "remote_",
        (
            "that requests wait after that: for followers (Produce with acks=all), for records, "
            "at a controller for its thread and for the commit of records"
        ),
    ),
    "ResponseQueueTimeMs": (
        None,
        "that responses wait for a network thread: always 0, as those take no simulated time",
    ),
    "ResponseSendTimeMs": (
        None,
        "that a network thread takes to send responses: always 0, as it takes no simulated time",
    ),
    "TotalTimeMs": ("total_", "from the arrival of requests to their responses"),
}


def _time(part: str) -> Any:
    """The sum of a part of requests' times, which is exact."""
    return counter(
        "tidegauge_request_time_seconds_total",
        "Virtual seconds that requests have taken in all, by part of their time: queue, local, "
        "remote.",
        lambda of: of[f"{part}_us"] / 1e6,
        labels={"part": part},
    )


class RequestGauges(Gauges, scope=Scope.REQUEST):
    """Requests of one type that a node has responded to: at ``node * types + type``."""

    requests: i64 = counter(
        f"{_REQUEST_METRICS}RequestsPerSec,request=*",
        "Requests that were responded to; Fetch is the sum of FetchConsumer and FetchFollower.",
    )
    queue_us: i64 = _time("queue")
    local_us: i64 = _time("local")
    remote_us: i64 = _time("remote")


class ErrorGauges(Gauges, scope=Scope.REQUEST_ERROR):
    """Responses with one error: at ``(node * types + type) * ERROR_COUNT + place``."""

    responses: i64 = counter(
        f"{_REQUEST_METRICS}ErrorsPerSec,request=*,error=*",
        "Responses by error, NONE included: of Produce, ListOffsets, OffsetForLeaderEpoch and "
        "Fetch from brokers the partitions in them; those to Metadata are not counted.",
    )


class ZooKeeperClientGauges(Gauges, scope=Scope.ZOOKEEPER_CLIENT):
    """A broker's ZooKeeper client."""

    exists: flag
    sync_connects: i64 = counter(
        f"{_SESSION}SyncConnectsPerSec", "Sessions that this broker has opened."
    )
    disconnects: i64 = counter(
        f"{_SESSION}DisconnectsPerSec",
        "Connections to ZooKeeper that this broker has lost with its session; those that were "
        "renewed within a session are not simulated.",
    )
    expires: i64 = counter(
        f"{_SESSION}ExpiresPerSec",
        "Sessions of this broker of which it has found that they have expired.",
    )
    connected: flag = gauge(
        "tidegauge_zookeeper_session_connected",
        "1 while this broker has a session, as far as it knows; Kafka's SessionState is a text, "
        "which exporters leave out.",
    )
    responses: i64


_AT_BROKERS = (*RequestGauges.families, *ErrorGauges.families)
_AT_CONTROLLERS = {
    Scope.REQUEST: Scope.CONTROLLER_REQUEST,
    Scope.REQUEST_ERROR: Scope.CONTROLLER_REQUEST_ERROR,
}

_NEVER = {
    "AuthFailures": "Authentications that have failed",
    "SaslAuthentications": "Authentications",
    "ReadOnlyConnects": "Connections to read only",
}

REQUESTS = (
    *_AT_BROKERS,
    *(family._replace(scope=_AT_CONTROLLERS[family.scope]) for family in _AT_BROKERS),
    *(
        family
        for scope in (Scope.REQUEST, Scope.CONTROLLER_REQUEST)
        for name, (column, meaning) in _PARTS.items()
        for family in families_of(
            scope,
            *histogram(f"{_REQUEST_METRICS}{name},request=*", column, "requests", meaning),
        )
    ),
    *ZooKeeperClientGauges.families,
    *families_of(
        Scope.ZOOKEEPER_CLIENT,
        *(
            counter(
                f"{_SESSION}{event}PerSec",
                f"{meaning}: always 0, as the simulated client connects neither with "
                "authentication nor to read only.",
                lambda of: np.zeros_like(of["responses"]),
            )
            for event, meaning in _NEVER.items()
        ),
        *histogram(
            "kafka.server:type=ZooKeeperClientMetrics,name=ZooKeeperRequestLatencyMs",
            "",
            "responses",
            "that ZooKeeper takes to respond to this broker; requests of its controller are not "
            "among them",
        ),
    ),
)
