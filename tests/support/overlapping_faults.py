"""Small clusters on which two or three faults overlap: each run with all of them, and with one."""

from __future__ import annotations

from typing import Any

from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.reading import scenario_from_mapping

Fault = dict[str, Any]

_BASE: dict[str, Any] = {
    "duration": "3m",
    "release": "2.6",
    "cluster": {
        "brokers": 6,
        "racks": ["a", "b", "c"],
        "settings": {"replica.lag.time.max.ms": 10000, "zookeeper.session.timeout.ms": 6000},
    },
    "topics": [
        {
            "name": "orders",
            "partitions": 18,
            "replication_factor": 3,
            "settings": {"min.insync.replicas": 2},
        }
    ],
    "workload": {
        "producers": [
            {
                "name": "shop",
                "topics": ["orders"],
                "batches_per_second": 40,
                "records_per_batch": 5,
                "settings": {"acks": "1"},
            }
        ]
    },
}


def fault(kind: str, at: str, lasts: str | None, **fields: Any) -> Fault:
    """A fault, named by its kind and its time."""
    timed = {} if lasts is None else {"for": lasts}
    return {"name": f"{kind}-{at}", "kind": kind, "at": at, **timed, **fields}


_SLOW = {"delay": "12s"}
_ROLL = fault("rolling_restart", "30s", None, stopped_for="4s", poll="1s", timeout="1m")

#: Ten stories of faults that overlap, by what an operator would say.
STORIES: dict[str, list[Fault]] = {
    "a crash while another disk is slow": [
        fault("slow_disk", "30s", "80s", brokers=[5], **_SLOW),
        fault("crash", "50s", "30s", brokers=[2]),
    ],
    "a disk gets slow in a roll": [_ROLL, fault("slow_disk", "35s", "60s", brokers=[6], **_SLOW)],
    "a rack loses power in a roll": [
        _ROLL,
        fault("power_loss", "48s", "40s", brokers=["rack:b"]),
    ],
    "a broker hangs while a link is cut": [
        fault("cut_link", "30s", "60s", between=[[1], [4]]),
        fault("pause", "50s", "20s", brokers=[3]),
    ],
    "the controller crashes as a slow disk makes ISRs shrink": [
        fault("slow_disk", "30s", "70s", brokers=[4], **_SLOW),
        fault("crash", "41s", "30s", brokers=[5]),
    ],
    "brokers lose ZooKeeper, and one crashes": [
        fault("cut_link", "30s", "25s", between=[[1, 2], ["zookeeper"]]),
        fault("crash", "33s", "40s", brokers=[5]),
    ],
    "two brokers crash at the same tick": [
        fault("crash", "40s", "30s", brokers=[2]),
        fault("crash", "40100ms", "50s", brokers=[5]),
    ],
    "ZooKeeper is away, a broker crashes, a disk is slow": [
        fault("slow_disk", "25s", "90s", brokers=[6], **_SLOW),
        fault("zookeeper_outage", "50s", "15s", how="restart"),
        fault("crash", "55s", "40s", brokers=[1]),
    ],
    "a restart, a pause and a cut, one into the other": [
        fault("restart", "30s", "25s", brokers=[1]),
        fault("pause", "45s", "30s", brokers=[3]),
        fault("cut_link", "60s", "40s", between=[["rack:b"], [6]]),
    ],
    "a loss of power, and a crash as it ends": [
        fault("power_loss", "30s", "50s", brokers=[4]),
        fault("crash", "75s", "40s", brokers=[1]),
        fault("slow_disk", "60s", "60s", brokers=[3], **_SLOW),
    ],
}


def scenario_with(faults: list[Fault]) -> Scenario:
    """The small cluster with these faults."""
    content = {"name": "overlapping-faults", **_BASE, "faults": faults}
    return scenario_from_mapping(content, "overlapping faults")
