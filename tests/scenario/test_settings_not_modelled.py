"""Settings that a cluster has and the simulator does not read: taken, kept, and listed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tidegauge.compiled.records import Record, body_of
from tidegauge.engine.layout.by_name import KAFKA_NAMES
from tidegauge.scenario.model.settings import (
    NAMES,
    THROTTLED_RATES,
    THROTTLED_REPLICAS,
    settings_not_modelled,
)
from tidegauge.scenario.reading import Scenario, ScenarioError, scenario_from_mapping
from tidegauge.scenario.warnings import warnings_of

ROOT = Path(__file__).parents[2]
UNITS = ("ms", "seconds")
TOGETHER = {"THROTTLED_RATES": THROTTLED_RATES, "THROTTLED_REPLICAS": THROTTLED_REPLICAS}


def scenario(**parts: Any) -> Scenario:
    cluster = {"brokers": 3} | parts.pop("cluster", {})
    topic = {"name": "orders", "partitions": 1} | parts.pop("topic", {})
    plain = {"duration": "1m", "release": "2.6", "cluster": cluster, "topics": [topic]}
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
                    "settings": {
                        "compression.type": "lz4",
                        "metric.reporters": "none",
                        "acks": "all",
                    },
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
        "cluster.settings.auto.create.topics.enable",
        "cluster.settings.log.cleaner.min.cleanable.ratio",
        "cluster.settings.log.dirs",
        "cluster.settings.ssl.keystore.type",
        "steps[0].settings.retention.ms",
        "topics[0].settings.cleanup.policy",
        "workload.consumers[0].settings.group.id",
        "workload.producers[0].settings.compression.type",
        "workload.producers[0].settings.metric.reporters",
    ]


def test_what_is_not_modelled_does_not_hide_what_is(night_cluster: Scenario) -> None:
    assert night_cluster.settings_of(1)["min.insync.replicas"] == 2
    assert night_cluster.settings_of(2)["num.io.threads"] == 4
    assert "log.dirs" not in night_cluster.settings_of(1)
    (producers,) = night_cluster.workload.producers
    assert night_cluster.producer_settings(producers)["acks"] == -1
    assert "metric.reporters" not in night_cluster.producer_settings(producers)
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
        ("flux.capacitor", "Kafka has no setting of this name for brokers"),
        ("inter.broker.protocol.version", "in a scenario, use protocol"),
        ("broker.rack", "in a scenario, use cluster.racks"),
    ],
)
def test_a_name_that_is_odd_is_listed_with_what_is_odd(name: str, said: str) -> None:
    odd = scenario(cluster={"settings": {name: 1}})
    assert odd.settings_not_modelled() == [f"cluster.settings.{name}: {said}"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("min.insync.replica", "min.insync.replicas"),
        ("num.io.treads", "num.io.threads"),
        ("replica.lag.time.max", "replica.lag.time.max.ms"),
        ("log.retention.hour", "log.retention.hours"),
    ],
)
def test_a_slip_for_a_setting_of_kafka_is_refused(name: str, meant: str) -> None:
    """min.insync.replica would leave every topic at min.insync.replicas=1, without a word."""
    message = f"Kafka has no setting of this name: did you mean {meant}?"
    for part in ({"settings": {name: 1}}, {"broker_settings": {2: {name: 1}}}):
        with pytest.raises(ScenarioError, match=re.escape(message)):
            scenario(cluster=part)
    if name == "min.insync.replica":
        with pytest.raises(ScenarioError, match=re.escape(message)):
            scenario(topic={"settings": {name: 1}})


def test_a_setting_of_brokers_is_no_slip_where_topics_have_one_nearly_so() -> None:
    """Of a topic it is retention.ms, of a broker log.retention.ms: Kafka has both names."""
    odd = scenario(topic={"settings": {"log.retention.ms": 1}})
    assert odd.settings_not_modelled() == [
        "topics[0].settings.log.retention.ms: Kafka has no setting of this name for topics"
    ]


WELL_SET = {
    "workload": {
        "producers": [{"name": "shop", "topics": ["orders"], "batches_per_second": 1}],
    }
}


@pytest.mark.parametrize(
    ("parts", "warning"),
    [
        ({}, "no producers: no records are written"),
        (
            WELL_SET | {"topic": {"replication_factor": 2, "settings": {"min.insync.replicas": 3}}},
            "above the replication factor: partitions with 2 replicas, so acks=all is never",
        ),
        (
            WELL_SET
            | {
                "release": "3.9",
                "topic": {"replication_factor": 1, "settings": {"min.insync.replicas": 2}},
            },
            "partitions with 1 replica, so this release treats it as 1 (KAFKA-15583)",
        ),
        (
            WELL_SET | {"cluster": {"settings": {"process.roles": "broker"}}},
            "cluster.settings.process.roles: is a setting of KRaft brokers",
        ),
        (
            WELL_SET | {"cluster": {"broker_settings": {1: {"broker.session.timeout.ms": 9000}}}},
            "the timeout of ZooKeeper sessions is zookeeper.session.timeout.ms",
        ),
        (
            WELL_SET | {"cluster": {"settings": {"flux.capacitor": 1}}},
            "cluster.settings.flux.capacitor: Kafka has no setting of this name for brokers",
        ),
    ],
)
def test_what_is_hardly_meant_is_warned_of(parts: dict[str, Any], warning: str) -> None:
    (line,) = warnings_of(scenario(**parts))
    assert warning in line


def test_a_sound_scenario_is_not_warned_of(night_cluster: Scenario) -> None:
    produced = scenario(steps=[{"at": "1s", "do": "produce", "topic": "orders", "partition": 0}])
    assert warnings_of(produced) == []
    assert warnings_of(scenario(**WELL_SET)) == []
    assert warnings_of(night_cluster) == []


@pytest.mark.parametrize("name", ["log.flush.interval.ms", "socket.request.max.bytes"])
def test_a_name_of_kafka_that_looks_like_a_simulated_one_is_no_slip(name: str) -> None:
    assert scenario(cluster={"settings": {name: 1}}).settings_not_modelled() == [
        f"cluster.settings.{name}"
    ]


def read_by_name() -> set[str]:
    """The settings that fields of records are set from, by their names (``layout/by_name.py``)."""
    fields = [field for kind in subclasses(Record) for field in body_of(kind) if is_settings(kind)]
    names = {KAFKA_NAMES.get(field, field.replace("_", ".")) for field in fields}
    return names | {
        f"{name.removesuffix('.us')}.{unit}"
        for name in names
        if name.endswith(".us")
        for unit in UNITS
    }


def is_settings(kind: type[Record]) -> bool:
    return kind.__name__.endswith("Settings")


def subclasses(of: type[Record]) -> list[type[Record]]:
    return [each for kind in of.__subclasses__() for each in (kind, *subclasses(kind))]


@pytest.mark.parametrize("kind", NAMES)
def test_a_setting_counts_as_modelled_exactly_if_something_reads_it(kind: str) -> None:
    """Each of them is named where tables are laid out, or a scenario is resolved; some together."""
    declared = {ROOT / "replication" / "release_defaults.py"}
    declared |= {ROOT / "scenario" / "model" / "settings.py"}
    declared |= {ROOT / "scenario" / "coherence" / "size.py", ROOT / "engine/layout/by_name.py"}
    text = "".join(
        file.read_text()
        for room in ("scenario", "engine/layout")
        for file in (ROOT / room).rglob("*.py")
        if file not in declared
    )
    read = {name for name in NAMES[kind] if re.search(rf'"{re.escape(name)}"', text)}
    read |= {name for several, names in TOGETHER.items() if several in text for name in names}
    read |= read_by_name()
    read &= set(NAMES[kind])
    of_all_releases = dict.fromkeys(NAMES[kind], 0)
    listed = settings_not_modelled((), dict.fromkeys(NAMES[kind], 7), kind, of_all_releases)
    assert {line.removeprefix(".") for line in listed} == set(NAMES[kind]) - read
