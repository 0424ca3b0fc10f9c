"""Settings that a cluster has and the simulator does not read: taken, kept, and listed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tidegauge.simulation.scenario import Scenario, scenario_from_mapping
from tidegauge.simulation.scenario_settings import (
    NAMES,
    THROTTLED_RATES,
    THROTTLED_REPLICAS,
    settings_not_modelled,
)

ROOT = Path(__file__).parents[2]
TOGETHER = {"THROTTLED_RATES": THROTTLED_RATES, "THROTTLED_REPLICAS": THROTTLED_REPLICAS}


def scenario(**parts: Any) -> Scenario:
    cluster = {"brokers": 3} | parts.pop("cluster", {})
    topic = {"name": "orders", "partitions": 1} | parts.pop("topic", {})
    plain = {"duration": "1m", "cluster": cluster, "topics": [topic]}
    return scenario_from_mapping(plain | parts, "test.yaml")


@pytest.fixture
def night_cluster() -> Scenario:
    """A cluster as its server.properties and its clients have it."""
    return scenario(
        cluster={
            "settings": {
                "log.retention.hours": 168,
                "log.dirs": "/data/1,/data/2",
                "log.cleaner.min.cleanable.ratio": 0.5,
                "auto.create.topics.enable": False,
                "num.network.threads": 12,
                "min.insync.replicas": 2,
                "ssl.keystore.type": "JKS",
            },
            "broker_settings": {2: {"log.retention.bytes": -1, "num.io.threads": 4}},
        },
        topic={"settings": {"cleanup.policy": "compact", "min.insync.replicas": 1}},
        workload={
            "producers": [
                {
                    "name": "shop",
                    "topics": ["orders"],
                    "batches_per_second": 1,
                    "settings": {"compression.type": "lz4", "linger.ms": 5, "acks": "all"},
                }
            ],
            "consumers": [
                {"name": "billing", "topics": ["orders"], "settings": {"group.id": "billing"}}
            ],
        },
        steps=[
            {"at": "5s", "do": "configure", "topic": "orders", "settings": {"retention.ms": 1000}}
        ],
    )


def test_a_setting_that_kafka_has_is_taken_and_listed(night_cluster: Scenario) -> None:
    assert night_cluster.settings_not_modelled() == [
        "cluster.broker_settings[2].log.retention.bytes",
        "cluster.settings.auto.create.topics.enable",
        "cluster.settings.log.cleaner.min.cleanable.ratio",
        "cluster.settings.log.dirs",
        "cluster.settings.log.retention.hours",
        "cluster.settings.num.network.threads",
        "cluster.settings.ssl.keystore.type",
        "steps[0].settings.retention.ms",
        "topics[0].settings.cleanup.policy",
        "workload.consumers[0].settings.group.id",
        "workload.producers[0].settings.compression.type",
        "workload.producers[0].settings.linger.ms",
    ]


def test_what_is_not_modelled_does_not_hide_what_is(night_cluster: Scenario) -> None:
    assert night_cluster.settings_of(1)["min.insync.replicas"] == 2
    assert night_cluster.settings_of(2)["num.io.threads"] == 4
    assert "log.dirs" not in night_cluster.settings_of(1)
    (producers,) = night_cluster.workload.producers
    assert night_cluster.producer_settings(producers)["acks"] == -1
    assert "linger.ms" not in night_cluster.producer_settings(producers)
    (consumers,) = night_cluster.workload.consumers
    assert "group.id" not in night_cluster.consumer_settings(consumers)


def test_they_stay_in_the_manifest(night_cluster: Scenario) -> None:
    resolved = night_cluster.resolved()
    assert resolved["cluster"]["settings"]["log.dirs"] == "/data/1,/data/2"
    assert resolved["cluster"]["broker_settings"]["2"]["log.retention.bytes"] == -1
    assert resolved["topics"][0]["settings"]["cleanup.policy"] == "compact"
    assert resolved["workload"]["producers"][0]["settings"]["compression.type"] == "lz4"
    again = scenario_from_mapping(resolved, "manifest.json")
    assert again == night_cluster
    # It has all defaults, too, of which some are read by nobody.
    assert again.settings_not_modelled() == night_cluster.settings_not_modelled()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("min.insync.replica", "did you mean min.insync.replicas?"),
        ("num.io.treads", "did you mean num.io.threads?"),
        ("replica.lag.time.max", "did you mean replica.lag.time.max.ms?"),
        ("log.retention.hour", "did you mean log.retention.hours?"),
        ("flux.capacitor", "Kafka has none of this name for brokers"),
        ("inter.broker.protocol.version", "a scenario says that by protocol"),
        ("broker.rack", "a scenario says that by cluster.racks"),
    ],
)
def test_a_name_that_is_odd_is_listed_with_what_is_odd(name: str, said: str) -> None:
    odd = scenario(cluster={"settings": {name: 1}})
    assert odd.settings_not_modelled() == [f"cluster.settings.{name}: {said}"]


@pytest.mark.parametrize("name", ["log.flush.interval.ms", "replica.socket.receive.buffer.bytes"])
def test_a_name_of_kafka_that_looks_like_a_simulated_one_is_no_slip(name: str) -> None:
    assert scenario(cluster={"settings": {name: 1}}).settings_not_modelled() == [
        f"cluster.settings.{name}"
    ]


@pytest.mark.parametrize("kind", NAMES)
def test_a_setting_counts_as_modelled_exactly_if_something_reads_it(kind: str) -> None:
    """Each of them is named where tables are laid out, or a scenario is resolved; some together."""
    declared = {ROOT / "replication" / "release_defaults.py"}
    declared |= set((ROOT / "simulation").glob("scenario_settings*.py"))
    text = "".join(
        file.read_text()
        for room in ("simulation", "actors", "controller")
        for file in (ROOT / room).glob("*.py")
        if file not in declared
    )
    read = {name for name in NAMES[kind] if re.search(rf'"{re.escape(name)}"', text)}
    read |= {name for several, names in TOGETHER.items() if several in text for name in names}
    read &= set(NAMES[kind])
    listed = settings_not_modelled((), dict.fromkeys(NAMES[kind], 7), kind, {})
    assert {line.removeprefix(".") for line in listed} == set(NAMES[kind]) - read
