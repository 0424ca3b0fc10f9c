"""Metrics of requests and of a broker's ZooKeeper client, as Strimzi's rules name them.

Exporters make gauges of a histogram's percentiles, with a label ``quantile``. Kafka rounds the
times in them to milliseconds; how exact quantiles are says ``simulation/histograms.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.families.family import Columns, Expression, Family, Scope

#: Kafka's quantiles, as exporters spell them, by the column of each.
QUANTILES = {
    "p50_ms": "0.50",
    "p75_ms": "0.75",
    "p95_ms": "0.95",
    "p98_ms": "0.98",
    "p99_ms": "0.99",
    "p999_ms": "0.999",
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


def _quantiles(
    name: str, scope: Scope, column: str | None, meaning: str, source: str
) -> tuple[Family, ...]:
    """An entry for each quantile of a histogram; without a column all of them are 0."""
    return tuple(
        Family(
            name,
            "gauge",
            scope,
            _zero if column is None else f"{column}{field}",
            f"Quantiles of the time (virtual milliseconds) {meaning}.",
            f"{source} (percentiles)",
            labels={"quantile": quantile},
        )
        for field, quantile in QUANTILES.items()
    )


def _request_counts() -> Iterator[Family]:
    for scope in _SCOPES:
        yield Family(
            "kafka_network_requestmetrics_requests_total",
            "counter",
            scope,
            "requests",
            "Requests that were responded to; Fetch is the sum of FetchConsumer and FetchFollower.",
            f"{_REQUEST_METRICS}RequestsPerSec",
        )
    for scope in _ERROR_SCOPES:
        yield Family(
            "kafka_network_requestmetrics_errors_total",
            "counter",
            scope,
            "responses",
            "Responses by error, NONE included: of Produce, ListOffsets, OffsetForLeaderEpoch and "
            "Fetch from brokers the partitions in them; those to Metadata are not counted.",
            f"{_REQUEST_METRICS}ErrorsPerSec",
        )


def _request_times() -> Iterator[Family]:
    for name, (part, meaning) in _PARTS.items():
        for scope in _SCOPES:
            yield from _quantiles(
                f"kafka_network_requestmetrics_{name.lower()}",
                scope,
                None if part is None else f"{part}_",
                meaning,
                f"{_REQUEST_METRICS}{name}",
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
        "kafka_server_sessionexpirelistener_zookeepersyncconnects_total",
        "counter",
        Scope.ZOOKEEPER_CLIENT,
        "sync_connects",
        "Sessions that this broker has opened.",
        f"{_SESSION}SyncConnectsPerSec",
    ),
    Family(
        "kafka_server_sessionexpirelistener_zookeeperdisconnects_total",
        "counter",
        Scope.ZOOKEEPER_CLIENT,
        "disconnects",
        "Connections to ZooKeeper that this broker has lost with its session; those that were "
        "made anew within a session are not simulated.",
        f"{_SESSION}DisconnectsPerSec",
    ),
    Family(
        "kafka_server_sessionexpirelistener_zookeeperexpires_total",
        "counter",
        Scope.ZOOKEEPER_CLIENT,
        "expires",
        "Sessions of this broker of which it has found that they have expired.",
        f"{_SESSION}ExpiresPerSec",
    ),
    *(
        Family(
            f"kafka_server_sessionexpirelistener_zookeeper{event.lower()}_total",
            "counter",
            Scope.ZOOKEEPER_CLIENT,
            lambda of: np.zeros_like(of["responses"]),
            f"{meaning}: always 0, as the simulated client connects neither with authentication "
            "nor to read only.",
            f"{_SESSION}{event}PerSec",
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
    *_quantiles(
        "kafka_server_zookeeperclientmetrics_zookeeperrequestlatencyms",
        Scope.ZOOKEEPER_CLIENT,
        "",
        "that ZooKeeper takes to respond to this broker; requests of its controller are not "
        "among them",
        "kafka.server:type=ZooKeeperClientMetrics,name=ZooKeeperRequestLatencyMs",
    ),
)
