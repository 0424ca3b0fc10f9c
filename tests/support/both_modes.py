"""A small cluster in either mode: a broker is killed, another one gets SIGTERM, both come back.

The active controller dies with the first of them: of ZooKeeper mode it is that broker itself.
"""

from __future__ import annotations

from typing import Any

from tidegauge.scenario.reading import Scenario, scenario_from_mapping

#: The last release that has both modes.
RELEASE = "3.9"
MODES = ("zookeeper", "kraft")
MIN_ISR = 2


def in_mode(mode: str, seed: int = 1, **parts: Any) -> Scenario:
    """The cluster in a mode, with rows of single requests; ``parts`` are of its top level."""
    story: dict[str, Any] = {
        "mode": mode,
        "release": RELEASE,
        "seed": seed,
        "duration": "100s",
        "trace": "all",
        "liveness": False,
        "cluster": {
            "brokers": 4,
            "racks": ["a", "b"],
            "start": {2: "0s"},
            "settings": {"min.insync.replicas": MIN_ISR},
        },
        "topics": [{"name": "orders", "partitions": 6, "replication_factor": 3}],
        "workload": {
            "producers": [
                {
                    "name": "shop",
                    "topics": ["orders"],
                    "batches_per_second": 2,
                    "settings": {"acks": "all"},
                }
            ]
        },
        "faults": [
            {
                "name": "crash",
                "kind": "crash",
                "brokers": [2] if mode == "zookeeper" else [2, "controller:0"],
                "at": "20s",
                "for": "30s",
            },
            {"name": "stop", "kind": "restart", "brokers": [3], "at": "70s", "for": "4s"},
        ],
    }
    return scenario_from_mapping(story | parts, "both-modes")
