"""Small clusters for tests of one fact: three brokers that are up at once, one topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.traces.run_folder import RunFolder

#: Processes: the brokers 1, 2, 3, their controllers, ZooKeeper, then the clients.
BROKER_1, BROKER_2, BROKER_3 = 0, 1, 2
CONTROLLER_1 = 3
FIRST_CLIENT = 7

#: Bandwidths of which there is as much as anybody needs.
UNLIMITED = dict.fromkeys(("network_in", "network_out", "disk_read", "disk_write"), "unlimited")

MS = 1_000
SECOND = 1_000_000


def cluster_of(settings: Mapping[str, int | bool] | None = None, **parts: Any) -> Scenario:
    """Brokers 1, 2 and 3 with the topic ``story``: one partition, led by broker 1.

    Broker 3 is the controller. Each message takes 1 ms, a request 50 us and an append 20 us, and
    bytes take no time: tests count with these, whatever the defaults are. ``parts`` are of the
    scenario's top level and take the place of what stands here.
    """
    story: dict[str, Any] = {
        "duration": "5s",
        "liveness": False,
        "release": "2.6",
        "trace": "all",
        "cluster": {
            "brokers": 3,
            "start": {3: "0s", 1: "500ms", 2: "500ms"},
            # Fetches that find nothing do not matter, so they are few.
            "settings": {"replica.fetch.wait.max.ms": 5000} | dict(settings or {}),
        },
        "topics": [topic_of([1, 2, 3])],
        "network": network_of("1ms"),
        "costs": {"request": "50us", "append": "20us"},
        "resources": UNLIMITED,
    }
    return scenario_from_mapping(story | parts, "story")


def topic_of(replicas: list[int], **settings: int | bool) -> dict[str, Any]:
    """The topic ``story``, on these brokers."""
    return {"name": "story", "assignment": {0: replicas}, "settings": settings}


def network_of(latency: str | Mapping[str, str], **others: Any) -> dict[str, Any]:
    """A network in which all messages take alike."""
    paths = ("within_rack", "between_racks", "clients", "within_host")
    return dict.fromkeys(paths, latency) | others


def producers_of(rate: float, start: str, stop: str, **settings: int | str) -> dict[str, Any]:
    """The group ``shop``: one producer of batches of one record."""
    return {
        "name": "shop",
        "topics": ["story"],
        "batches_per_second": rate,
        "start": start,
        "stop": stop,
        "settings": settings,
    }


def log_end_offset(run: RunFolder, broker: int, partition: int = 0) -> int:
    """Where a broker's log ends at the end of the run."""
    ends = [
        row["end_offset"]
        for row in run.rows("log_end")
        if row["process"] == broker and row["partition"] == partition
    ]
    return ends[-1] if ends else 0


def times_us(rows: list[Any]) -> list[int]:
    """When rows were written."""
    return [row["time_us"] for row in rows]
