"""A small cluster with topics of different rates, whose metrics are scraped."""

from __future__ import annotations

from typing import Any

import yaml

#: Messages and bytes per second of each topic.
RATES = {
    "orders": (240.0, 72_000.0),
    "payments.v2": (15.0, 15_000.0),
    "clicks": (5_000.0, 600_000.0),
    "slow_log": (10.0, 1_230.0),
}
#: A topic without producers.
IDLE = "idle"
#: The topics that each group of consumers reads, and its members.
GROUPS = {"audit": (["orders", "payments.v2"], 1), "billing": (["orders"], 2)}


def cluster(name: str = "watched", times: float = 1.0, duration: str = "1m") -> dict[str, Any]:
    """The scenario; its producers send so many times these rates."""
    topics = {"orders": 6, "payments.v2": 3, "clicks": 12, "slow_log": 1, IDLE: 1}
    topics["__consumer_offsets"] = 3
    batches = {"orders": 20.0, "payments.v2": 5.0, "clicks": 100.0, "slow_log": 10.0}
    return {
        "name": name,
        "duration": duration,
        "release": "3.9",
        "cluster": {"brokers": 3, "start_spread": "0s"},
        "topics": [
            {"name": topic, "partitions": count, "replication_factor": min(count, 3)}
            for topic, count in topics.items()
        ],
        "workload": {
            "producers": [
                {
                    "name": topic,
                    "topics": [topic],
                    "batches_per_second": batches[topic] * times,
                    "records_per_batch": round(messages / batches[topic]),
                    "record_bytes": round(size / messages),
                }
                for topic, (messages, size) in RATES.items()
            ],
            "consumers": [
                {
                    "name": group,
                    "topics": read,
                    "clients": clients,
                    "settings": {"enable.auto.commit": True},
                }
                for group, (read, clients) in GROUPS.items()
            ],
        },
    }


def cluster_text(name: str = "watched", times: float = 1.0, duration: str = "1m") -> str:
    """The scenario as a file has it."""
    return yaml.safe_dump(cluster(name, times, duration), sort_keys=False)


def described() -> str:
    """The output of kafka-topics --describe about the cluster."""
    lines = []
    for topic in cluster()["topics"]:
        count, factor = topic["partitions"], topic["replication_factor"]
        lines.append(
            f"Topic: {topic['name']}\tPartitionCount: {count}\tReplicationFactor: {factor}\t"
            "Configs: "
        )
        for number in range(count):
            replicas = ",".join(str((number + place) % 3 + 1) for place in range(factor))
            lines.append(
                f"\tTopic: {topic['name']}\tPartition: {number}\tLeader: {number % 3 + 1}\t"
                f"Replicas: {replicas}\tIsr: {replicas}"
            )
    return "\n".join(lines) + "\n"


def rates_in(data: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Messages and bytes per second of each topic, in a scenario whose groups have one each."""
    found = {}
    for group in data["workload"]["producers"]:
        (topic,) = group["topics"]
        messages = group["batches_per_second"] * group["records_per_batch"]
        found[topic] = (messages, messages * group["record_bytes"])
    return found


def largest_deviation(
    found: dict[str, tuple[float, float]], expected: dict[str, tuple[float, float]]
) -> float:
    """By how much the rate of any topic differs, as a share of it; the topics are the same."""
    assert found.keys() == expected.keys()
    return max(
        abs(actual / wanted - 1)
        for topic in expected
        for actual, wanted in zip(found[topic], expected[topic], strict=True)
    )
