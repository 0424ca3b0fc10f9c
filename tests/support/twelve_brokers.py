"""A rack that loses power in a small cluster: a story with something of everything."""

from __future__ import annotations

from tidegauge.scenario.reading import Scenario, scenario_from_mapping


def twelve_brokers() -> Scenario:
    """Three racks; one loses power in the middle of a rolling restart, under load."""
    brokers = list(range(1, 13))
    racks = {"a": brokers[0:4], "b": brokers[4:8], "c": brokers[8:12]}
    restarts = [
        {"kind": "restart", "brokers": [broker], "at": f"{20 + 6 * turn}s", "for": "3s"}
        for turn, broker in enumerate(brokers[:6])
    ]
    return scenario_from_mapping(
        {
            "duration": "140s",
            "release": "2.6",
            "cluster": {
                "brokers": 12,
                "racks": racks,
                "restart_after_exit": "2s",
                "settings": {
                    "zookeeper.session.timeout.ms": 6000,
                    "replica.lag.time.max.ms": 10000,
                    "min.insync.replicas": 2,
                },
            },
            "topics": [
                {"name": "orders", "partitions": 120, "replication_factor": 3},
                {
                    "name": "clicks",
                    "partitions": 24,
                    "replication_factor": 2,
                    "settings": {"unclean.leader.election.enable": True},
                },
            ],
            "workload": {
                "producers": [
                    {"name": "shop", "topics": ["orders"], "batches_per_second": 60},
                    {
                        "name": "web",
                        "topics": ["clicks"],
                        "batches_per_second": 30,
                        "settings": {"acks": 1},
                    },
                ],
                "consumers": [{"name": "billing", "topics": ["orders"]}],
            },
            "faults": [
                *restarts,
                {"kind": "power_loss", "brokers": ["rack:b"], "at": "40s", "for": "45s"},
                {"kind": "pause", "brokers": [2], "at": "60s", "for": "10s"},
                {
                    "kind": "cut_link",
                    "between": [["broker:11"], ["rack:a"]],
                    "at": "100s",
                    "for": "30s",
                },
                {"kind": "crash", "brokers": [9, 10], "at": "95s", "for": "20s"},
            ],
        },
        "twelve-brokers",
    )
