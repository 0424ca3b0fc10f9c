"""Settings that a cluster has and the simulator does not read: taken, kept, and listed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import tidegauge.engine.group  # noqa: F401 - all records, with the settings that they read
from tidegauge.commands.loading import warned_of
from tidegauge.compiled.records import Record, body_of
from tidegauge.engine.layout.by_name import KAFKA_NAMES
from tidegauge.replication.release_versions import KRAFT_MODE, Release
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.parts import connection_defaults
from tidegauge.scenario.model.settings import (
    ALTER_LOG_DIRS_RATE,
    NAMES,
    THROTTLED_RATES,
    THROTTLED_REPLICAS,
    broker_defaults,
    consumer_defaults,
    controllers_may_set,
    producer_defaults,
    settings_not_modelled,
)
from tidegauge.scenario.reading import Scenario, ScenarioError, scenario_from_mapping

ROOT = Path(__file__).parents[2]
UNITS = ("ms", "seconds")
TOGETHER = {
    "THROTTLED_RATES": THROTTLED_RATES,
    "THROTTLED_REPLICAS": THROTTLED_REPLICAS,
    "ALTER_LOG_DIRS_RATE": (ALTER_LOG_DIRS_RATE,),
}


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
            "(orders-0): min.insync.replicas is above the replication factor, so acks=all",
        ),
        (
            WELL_SET
            | {
                "release": "3.9",
                "topic": {"replication_factor": 1, "settings": {"min.insync.replicas": 2}},
            },
            "so this release requires all replicas (KAFKA-15583)",
        ),
        (
            WELL_SET | {"cluster": {"settings": {"process.roles": "broker"}}},
            "(cluster.settings.process.roles): brokers with ZooKeeper ignore settings of KRaft",
        ),
        (
            WELL_SET | {"cluster": {"broker_settings": {1: {"broker.session.timeout.ms": 9000}}}},
            "their sessions have the timeout zookeeper.session.timeout.ms",
        ),
        (
            WELL_SET | {"cluster": {"settings": {"flux.capacitor": 1}}},
            "1 setting (cluster.settings.flux.capacitor): Kafka has no setting of this name here",
        ),
    ],
)
def test_what_is_hardly_meant_is_warned_of(parts: dict[str, Any], warning: str) -> None:
    (line,) = warned_of(scenario(**parts))
    assert warning in line


def test_a_sound_scenario_is_not_warned_of(night_cluster: Scenario) -> None:
    produced = scenario(steps=[{"at": "1s", "do": "produce", "topic": "orders", "partition": 0}])
    assert warned_of(produced) == []
    assert warned_of(scenario(**WELL_SET)) == []
    assert warned_of(night_cluster) == []


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


# The names of Kafka's own lists, by release.

#: Values that Kafka accepts, of settings that take no number.
VALUES = {
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "log.segment.bytes": 1_000_000,
    "segment.bytes": 1_000_000,
    "log.cleanup.policy": "delete",
    "cleanup.policy": "delete",
    "leader.replication.throttled.replicas": "*",
    "follower.replication.throttled.replicas": "*",
}
NAMES_BY_RELEASE = json.loads((ROOT / "tests/data/setting_names.json").read_text())


def names_of(kind: str, release: str) -> set[str]:
    """The names in Kafka's ConfigDef of brokers, topics, producers or consumers."""
    names: set[str] = set()
    for each, change in NAMES_BY_RELEASE[kind].items():
        names = names - set(change["removed"]) | set(change["added"])
        if each == release:
            return names
    raise AssertionError(release)


@pytest.mark.parametrize("release", NAMES_BY_RELEASE["brokers"])
def test_each_setting_that_kafka_has_is_accepted(release: str) -> None:
    """Brokers and controllers share a ConfigDef: a controller.properties may have all of it."""

    def values(kind: str, defaults: Mapping[str, int | str], without: Iterable[str] = ()) -> Any:
        names = names_of(kind, release) - set(without)
        return {name: defaults.get(name, VALUES.get(name, 1)) for name in sorted(names)}

    mode = Release.parse(release).mode()
    of_brokers = broker_defaults(release, mode)
    read_by_controllers = controllers_may_set(release) if mode == KRAFT_MODE else {}
    brokers = values(
        "brokers", of_brokers, read_by_controllers.keys() - of_brokers.keys() | {*THROTTLED_RATES}
    )
    parts: dict[str, Any] = {"release": release, "cluster": {"settings": brokers}}
    if mode == KRAFT_MODE:
        parts["controllers"] = {"settings": values("brokers", read_by_controllers, THROTTLED_RATES)}
    parts["topic"] = {"settings": values("topics", of_brokers, THROTTLED_REPLICAS)}
    groups = {
        kind: {"name": kind, "topics": ["orders"], "settings": values(kind, defaults)}
        for kind, defaults in (
            ("producers", producer_defaults(release) | connection_defaults(release)),
            ("consumers", consumer_defaults(release)),
        )
    }
    groups["producers"]["batches_per_second"] = 1
    parts["workload"] = {kind: [group] for kind, group in groups.items()}
    story = scenario(**parts)
    unknown = [line for line in warned_of(story) if "no setting of this name" in line]
    assert unknown == []
    assert (
        "controllers.settings.num.io.threads: is read of brokers only"
        in (story.settings_not_modelled())
        or mode != KRAFT_MODE
    )


def test_controllers_decide_with_their_own_values() -> None:
    """ReplicationControlManager@4.4.0: min ISR of the ELR, unclean elections, new topics."""
    own = {
        "min.insync.replicas": 2,
        "unclean.leader.election.enable": True,
        "default.replication.factor": 3,
    }
    story = scenario(release="4.4", controllers={"settings": own})
    (partition,) = ClusterPlan(story).partitions
    assert len(partition.replicas) == 3
    assert (partition.min_insync_replicas, partition.controllers_min_insync_replicas) == (1, 2)
    assert partition.unclean_leader_election
    alone = scenario(release="4.4", cluster={"settings": {"min.insync.replicas": 2}})
    (partition,) = ClusterPlan(alone).partitions
    assert (partition.min_insync_replicas, partition.controllers_min_insync_replicas) == (2, 2)


def reading(reset: str, release: str = "4.4") -> Scenario:
    group = {"name": "billing", "topics": ["orders"], "settings": {"auto.offset.reset": reset}}
    return scenario(release=release, workload={"consumers": [group]})


def test_consumers_may_begin_by_duration_from_4_0_on() -> None:
    """KIP-1106."""
    place = "workload.consumers[0].settings.auto.offset.reset"
    for reset in ("none", "by_duration:P1DT2H", "by_duration:PT30.5S"):
        assert f"{place}: {reset} is simulated as earliest" in (
            reading(reset).settings_not_modelled()
        )
    for reset in ("by_duration:1h", "by_duration:P", "by_duration:P1DT"):
        with pytest.raises(ScenarioError, match="must have an ISO 8601 duration"):
            reading(reset)
    with pytest.raises(ScenarioError, match=r"by_duration needs release 4\.0\.0 or newer"):
        reading("by_duration:PT1H", "3.9")
