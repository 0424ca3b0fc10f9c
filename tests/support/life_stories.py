"""Stories of brokers that die, stop and come back, as real brokers were driven through them.

Three brokers and some topics of one partition each, ``t0``, ``t1``, ...; the operator waits
until all is quiet before each thing it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import zookeeper_stories
from isr_stories import process_named
from partition_fates import state_writes
from tidegauge.scenario.reading import Scenario
from tidegauge.traces.run_folder import RunFolder, TraceRow

#: Each step waits for that, unless it says otherwise.
QUIET: dict[str, Any] = {"when": {"quiescent": True}, "within": "30s"}

#: The settings of the runs of real brokers that differ from the defaults.
SETTINGS: dict[str, int | bool] = {
    "replica.lag.time.max.ms": 4000,
    "replica.fetch.wait.max.ms": 500,
    "auto.leader.rebalance.enable": False,
    "unclean.leader.election.enable": False,
    "controlled.shutdown.retry.backoff.ms": 1000,
}

Steps = list[dict[str, Any]]


def story(
    replicas: Sequence[list[int]],
    steps: Iterable[Steps],
    *,
    controller: int = 3,
    settings: Mapping[str, int | bool] | None = None,
    cluster: Mapping[str, Any] | None = None,
    **parts: Any,
) -> Scenario:
    """Brokers 1, 2 and 3; partitions by their replicas. The first controller is ``controller``."""
    start = {1: "500ms", 2: "500ms", 3: "500ms", controller: "0s"}
    own = zookeeper_stories.settings() | SETTINGS | dict(settings or {})
    return zookeeper_stories.cluster(
        **{
            "duration": "40s",
            "liveness": False,
            "release": "2.6",
            "cluster": {"brokers": 3, "start": start, "settings": own} | dict(cluster or {}),
            "topics": [
                {"name": f"t{number}", "assignment": {0: brokers}}
                for number, brokers in enumerate(replicas)
            ],
            "steps": [step for some in steps for step in some],
        }
        | parts
    )


def fault(kind: str, *brokers: int | str, **others: Any) -> dict[str, Any]:
    """A fault that is named after its kind; without ``at`` a step begins it."""
    return {"kind": kind, "name": kind, "brokers": list(brokers)} | others


def batches(
    partitions: Iterable[int],
    records: int,
    when: Mapping[str, Any] = QUIET,
    acks: str | int = "all",
) -> Steps:
    """One batch for each of these partitions, one after the other."""
    first, *others = (
        {"do": "produce", "records": records, "acks": acks} | at(partition)
        for partition in partitions
    )
    return [dict(when) | first, *({"after": "0s"} | other for other in others)]


def at(partition: int) -> dict[str, Any]:
    """Which partition a step, or a condition, is about."""
    return {"topic": f"t{partition}", "partition": 0}


def begins(name: str, when: Mapping[str, Any] = QUIET) -> Steps:
    """A fault begins."""
    return [dict(when) | {"do": "begin_fault", "fault": name}]


def ends(name: str, when: Mapping[str, Any] = QUIET) -> Steps:
    """A fault ends."""
    return [dict(when) | {"do": "end_fault", "fault": name}]


def once(within: str = "30s", **condition: Any) -> dict[str, Any]:
    """As soon as this holds: what a step waits for instead of QUIET."""
    return {"when": condition, "within": within}


def once_in_sync(partition: int, *brokers: int, within: str = "30s") -> dict[str, Any]:
    """As soon as a partition's ISR is these brokers."""
    return once(within, isr=at(partition) | {"is": list(brokers)})


def all_writes(run: RunFolder, before_us: int | None = None) -> list[list[tuple[Any, ...]]]:
    """The writes of each partition's state: writer, leader, ISR, epoch, version."""
    return [
        [tuple(write) for write in state_writes(run, partition, before_us)]
        for partition in range(len(run.manifest["partitions"]))
    ]


def writes_between(run: RunFolder, begin_us: int, end_us: int) -> list[tuple[str, TraceRow]]:
    """All writes of ZooKeeper in a span of time, with their paths."""
    return [
        (path, row)
        for path, row in zookeeper_stories.writes(run)
        if begin_us <= row["time_us"] < end_us
    ]


def of_broker(run: RunFolder, kind: str, broker: int) -> list[TraceRow]:
    """The rows of a kind that a broker itself has written."""
    process = process_named(run, f"broker {broker}")
    return [row for row in run.rows(kind) if row["process"] == process]


def stops(run: RunFolder, broker: int) -> list[tuple[int, int]]:
    """When and how a broker's processes have ended."""
    return [(row["time_us"], row["stop"]) for row in of_broker(run, "broker_stopped", broker)]


def starts_us(run: RunFolder, broker: int) -> list[int]:
    """When a broker's processes were up."""
    return [row["time_us"] for row in of_broker(run, "broker_started", broker)]
