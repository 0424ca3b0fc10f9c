"""Metrics of requests and of a broker's ZooKeeper client.

Exporters make gauges of a histogram's percentiles, most with a label ``quantile``. Kafka rounds the
times in them to milliseconds; how exact quantiles are says ``simulation/sampled_stats.py``.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.families.family import Columns, Expression, Family, MBean, Scope

#: The percentiles of Kafka's histograms: the attribute of each column.
QUANTILES = {
    "p50_ms": "50thPercentile",
    "p75_ms": "75thPercentile",
    "p95_ms": "95thPercentile",
    "p98_ms": "98thPercentile",
    "p99_ms": "99thPercentile",
    "p999_ms": "999thPercentile",
}

_REQUEST_METRICS = "kafka.network:type=RequestMetrics,name="
_SESSION = "kafka.server:type=SessionExpireListener,name=ZooKeeper"

#: Kafka's names of the parts of a request's time, the columns of each, and its meaning.
_PARTS = {
    "RequestQueueTimeMs": ("queue", "that requests wait for a request handler"),
    "LocalTimeMs": (
        "local",
        "that a request handler takes for requests, with locks and slow disks",
    ),
    "RemoteTimeMs": (
        "remote",
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
    "TotalTimeMs": ("total", "from the arrival of requests to their responses"),
}

#: Brokers and controllers.
_SCOPES = (Scope.REQUEST, Scope.CONTROLLER_REQUEST)
_ERROR_SCOPES = (Scope.REQUEST_ERROR, Scope.CONTROLLER_REQUEST_ERROR)

#: The parts whose sums are exact.
_SECONDS: dict[str, Expression] = {
    "queue": lambda of: of["queue_us"] / 1e6,
    "local": lambda of: of["local_us"] / 1e6,
    "remote": lambda of: of["remote_us"] / 1e6,
}

_NEVER = {
    "AuthFailures": "Authentications that have failed",
    "SaslAuthentications": "Authentications",
    "ReadOnlyConnects": "Connections to read only",
}


def _zero(of: Columns) -> NDArray[np.int64]:
    return np.zeros_like(of["requests"])


def histogram(
    object_name: str, scope: Scope, column: str | None, counted: str, meaning: str
) -> Iterator[Family]:
    """An entry for each quantile of a histogram, and its count.

    Without a column all quantiles are 0.
    """
    for field, attribute in QUANTILES.items():
        yield Family(
            MBean(object_name, attribute),
            "gauge",
            scope,
            _zero if column is None else f"{column}{field}",
            f"Quantiles of the time (virtual milliseconds) {meaning}.",
        )
    yield Family(
        MBean(object_name, "Count"),
        "counter",
        scope,
        counted,
        "Number of values that the quantiles are of, those of long ago included.",
    )


def _request_counts() -> Iterator[Family]:
    for scope in _SCOPES:
        yield Family(
            MBean(f"{_REQUEST_METRICS}RequestsPerSec,request=*", "Count"),
            "counter",
            scope,
            "requests",
            "Requests that were responded to; Fetch is the sum of FetchConsumer and FetchFollower.",
        )
    for scope in _ERROR_SCOPES:
        yield Family(
            MBean(f"{_REQUEST_METRICS}ErrorsPerSec,request=*,error=*", "Count"),
            "counter",
            scope,
            "responses",
            "Responses by error, NONE included: of Produce, ListOffsets, OffsetForLeaderEpoch and "
            "Fetch from brokers the partitions in them; those to Metadata are not counted.",
        )


def _request_times() -> Iterator[Family]:
    for name, (part, meaning) in _PARTS.items():
        for scope in _SCOPES:
            yield from histogram(
                f"{_REQUEST_METRICS}{name},request=*",
                scope,
                None if part is None else f"{part}_",
                "requests",
                meaning,
            )


def _sums_of_times() -> Iterator[Family]:
    for scope in _SCOPES:
        for part, seconds in _SECONDS.items():
            yield Family(
                "tidegauge_request_time_seconds_total",
                "counter",
                scope,
                seconds,
                "Virtual seconds that requests have taken in all, by part of their time: queue, "
                "local, remote.",
                "Tidegauge",
                labels={"part": part},
            )


REQUESTS = (*_request_counts(), *_request_times(), *_sums_of_times())

ZOOKEEPER_CLIENT = (
    Family(
        MBean(f"{_SESSION}SyncConnectsPerSec", "Count"),
        "counter",
        Scope.ZOOKEEPER_CLIENT,
        "sync_connects",
        "Sessions that this broker has opened.",
    ),
    Family(
        MBean(f"{_SESSION}DisconnectsPerSec", "Count"),
        "counter",
        Scope.ZOOKEEPER_CLIENT,
        "disconnects",
        "Connections to ZooKeeper that this broker has lost with its session; those that were "
        "renewed within a session are not simulated.",
    ),
    Family(
        MBean(f"{_SESSION}ExpiresPerSec", "Count"),
        "counter",
        Scope.ZOOKEEPER_CLIENT,
        "expires",
        "Sessions of this broker of which it has found that they have expired.",
    ),
    *(
        Family(
            MBean(f"{_SESSION}{event}PerSec", "Count"),
            "counter",
            Scope.ZOOKEEPER_CLIENT,
            lambda of: np.zeros_like(of["responses"]),
            f"{meaning}: always 0, as the simulated client connects neither with authentication "
            "nor to read only.",
        )
        for event, meaning in _NEVER.items()
    ),
    Family(
        "tidegauge_zookeeper_session_connected",
        "gauge",
        Scope.ZOOKEEPER_CLIENT,
        "connected",
        "1 while this broker has a session, as far as it knows; Kafka's SessionState is a text, "
        "which exporters leave out.",
        "Tidegauge",
    ),
    *histogram(
        "kafka.server:type=ZooKeeperClientMetrics,name=ZooKeeperRequestLatencyMs",
        Scope.ZOOKEEPER_CLIENT,
        "",
        "responses",
        "that ZooKeeper takes to respond to this broker; requests of its controller are not "
        "among them",
    ),
)
