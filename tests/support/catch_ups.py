"""A broker that was down copies gigabytes: how long that takes, read off the canonical rows.

Broker 3 and those after it were down while producers wrote; they start again at :data:`STARTS_US`.
All resources are unlimited that a test does not limit, and all work costs nearly nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scenario_runs import run_of
from small_clusters import MS, SECOND, UNLIMITED, cluster_of, network_of
from tidegauge.scenario.reading import Scenario
from tidegauge.traces.run_folder import RunFolder

MEGABYTE = 10**6
RECORD_BYTES = 100_000
STARTS_US = 20 * SECOND

#: A fetch brings up to 10 MB of each partition, whatever the round trip.
LARGE_FETCHES = {
    "replica.fetch.max.bytes": 10 * MEGABYTE,
    "replica.fetch.response.max.bytes": 10 * MEGABYTE,
    "socket.send.buffer.bytes": -1,
    "socket.receive.buffer.bytes": -1,
    "replica.socket.receive.buffer.bytes": -1,
    "zookeeper.session.timeout.ms": 6000,
    "replica.fetch.wait.max.ms": 500,
}
FREE_WORK = dict.fromkeys(
    (
        *("request", "append", "request_partition", "broker_start", "log_recovery"),
        *("log_load", "log_recovery_mebibyte"),
    ),
    "1us",
)


def written(megabytes: float, **parts: Any) -> dict[str, Any]:
    """A producer that writes so much, while the broker is down, to all partitions in turn."""
    batches = round(megabytes / 10)
    return {
        "name": "shop",
        "topics": ["story"],
        "batches_per_second": batches / 8,
        "records_per_batch": 100,
        "record_bytes": RECORD_BYTES,
        "start": "10s",
        "stop": "18s",
        "settings": {"acks": 1, "send.buffer.bytes": -1, "batch.size": 100 * RECORD_BYTES},
    } | parts


def story(
    assignment: Sequence[Sequence[int]],
    down: Sequence[int],
    producers: Sequence[Mapping[str, Any]],
    settings: Mapping[str, int] | None = None,
    resources: Mapping[str, Any] | None = None,
    **parts: Any,
) -> Scenario:
    """Brokers that are down from 3 s to 20 s, and a topic with these replicas."""
    brokers = parts.pop("brokers", max(broker for replicas in assignment for broker in replicas))
    own = LARGE_FETCHES | dict(settings or {})
    cluster = {
        "brokers": max(brokers, 3),
        "start": dict.fromkeys(range(1, max(brokers, 3) + 1), "0s"),
        "settings": own,
    } | parts.pop("cluster", {})
    topic = {"name": "story", "assignment": dict(enumerate(map(list, assignment)))}
    crash = {"kind": "crash", "at": "3s", "for": "17s", "brokers": list(down)}
    parts = {"duration": "60s", "trace": "transitions", "network": network_of("1ms")} | parts
    return cluster_of(
        own,
        cluster=cluster,
        topics=[topic | parts.pop("topic", {})],
        workload={"producers": list(producers)},
        faults=[crash],
        resources=UNLIMITED | dict(resources or {}),
        costs=FREE_WORK,
        **parts,
    )


def caught_up_us(run: RunFolder, partition: int | None = None) -> int:
    """From the first fetch of a broker that has started again to its last return to an ISR."""
    began = [
        row["time_us"]
        for row in run.rows("became_follower")
        if row["time_us"] > STARTS_US and partition in (None, row["partition"])
    ]
    ended = [
        row["time_us"]
        for row in run.rows("isr_expanded")
        if row["time_us"] > STARTS_US and partition in (None, row["partition"])
    ]
    return int(max(ended) - min(began))


def catch_up_seconds(scenario: Scenario, folder: Path) -> float:
    """How long a story's brokers need to catch up."""
    return caught_up_us(run_of(scenario, folder / "run")) / SECOND


__all__ = ["MEGABYTE", "MS", "SECOND", "catch_up_seconds", "caught_up_us", "story", "written"]
