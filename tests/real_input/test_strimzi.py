"""``tidegauge import`` of the resources by which Strimzi runs a cluster on Kubernetes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from importing import Importing

POOLS = """
apiVersion: kafka.strimzi.io/v1
kind: KafkaNodePool
metadata: {name: controllers, labels: {strimzi.io/cluster: trade}}
spec:
  replicas: 3
  roles: [controller]
  storage: {type: ephemeral}
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaNodePool
metadata: {name: brokers, labels: {strimzi.io/cluster: trade}}
spec:
  replicas: 4
  roles: [broker]
  storage:
    type: jbod
    volumes:
      - {id: 0, type: persistent-claim, size: 1Ti, deleteClaim: false}
      - {id: 1, type: persistent-claim, size: 1Ti, kraftMetadata: shared}
"""
KAFKA = """
apiVersion: kafka.strimzi.io/v1
kind: Kafka
metadata: {name: trade}
spec:
  kafka:
    version: 4.2.0
    metadataVersion: 4.1
    rack: {topologyKey: topology.kubernetes.io/zone}
    replcas: 5
    listeners: [{name: plain, port: 9092, type: internal, tls: false}]
    config:
      min.insync.replicas: 2
      default.replication.factor: 3
      replica.lag.time.max.ms: 20000
      unclean.leader.election.enable: false
      log.dirs: /mine
      num.partitions: 2
  cruiseControl: {}
"""
TOPICS = """
apiVersion: kafka.strimzi.io/v1
kind: KafkaTopic
metadata: {name: orders, labels: {strimzi.io/cluster: trade}}
spec: {partitions: 6, replicas: 3, config: {min.insync.replicas: 3, retention.ms: 1000}}
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaTopic
metadata: {name: with-defaults, labels: {strimzi.io/cluster: trade}}
spec: {topicName: With_Defaults, config: }
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaTopic
metadata: {name: of-another, labels: {strimzi.io/cluster: other}}
spec: {partitions: 1, replicas: 1}
"""
WITH_ZOOKEEPER = """
apiVersion: kafka.strimzi.io/v1beta2
kind: Kafka
metadata: {name: old}
spec:
  kafka:
    version: 3.2.0
    replicas: 5
    config: {inter.broker.protocol.version: 3.1}
    storage: {type: persistent-claim, size: 1Gi}
  zookeeper:
    replicas: 3
    storage: {type: ephemeral}
"""


class Shell(Importing):
    """A shell in which resources are imported."""

    def files(self, *texts: str) -> list[Path]:
        """Files with these texts, 0.yaml and so on."""
        return [self.file(f"{number}.yaml", text) for number, text in enumerate(texts)]

    def of_resources(self, *texts: str) -> tuple[dict[str, Any], str]:
        """The scenario of resources, and the output in one line."""
        return self.imported(*self.files(*texts))


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_pools_become_brokers_and_controllers_with_the_settings_of_the_cluster(
    shell: Shell,
) -> None:
    """Strimzi numbers nodes pool by pool, as Kubernetes lists pools: by name (NodeIdAssignor)."""
    data, output = shell.of_resources(KAFKA + "---" + POOLS, TOPICS)
    assert (data["release"], data["mode"], data["metadata_version"]) == (
        "4.2.0",
        "kraft",
        "4.1-IV1",
    )
    assert data["cluster"]["brokers"] == [0, 1, 2, 3]
    assert data["cluster"]["racks"] == {"zone-1": [0, 3], "zone-2": [1], "zone-3": [2]}
    assert data["cluster"]["log_directories"] == 2
    assert data["controllers"]["count"] == 3
    assert data["cluster"]["settings"]["replica.lag.time.max.ms"] == 20_000
    assert data["cluster"]["settings"]["unclean.leader.election.enable"] is False
    assert "assumed are 3 zones for brokers 0, 1, 2, 3, in turn" in output
    assert "storage is ephemeral" in output
    assert "left out, as Strimzi's operator ignores them: log.dirs" in output
    assert "keys that Strimzi does not know, without effect: Kafka.spec.kafka.replcas" in output
    assert (
        "keys that are not simulated: Kafka.spec.cruiseControl, Kafka.spec.kafka.listeners"
        in output
    )


def test_topics_are_those_of_kafka_topics_and_the_settings_fill_in_the_others(
    shell: Shell,
) -> None:
    data, output = shell.of_resources(KAFKA, POOLS, TOPICS)
    orders, other = data["topics"]
    assert (orders["name"], len(orders["assignment"])) == ("orders", 6)
    assert orders["settings"] == {"min.insync.replicas": 3, "retention.ms": 1000}
    zones = {broker: zone for zone, ids in data["cluster"]["racks"].items() for broker in ids}
    assert all(len({zones[each] for each in ids}) == 3 for ids in orders["assignment"].values())
    assert (other["name"], len(other["assignment"])) == ("With_Defaults", 2)
    assert all(len(ids) == 3 for ids in other["assignment"].values())
    assert "resources of other clusters than trade are left out: KafkaTopic of-another" in output


def test_node_ids_are_those_of_the_status_then_those_of_the_annotation(shell: Shell) -> None:
    """``kubectl get kafka,kafkanodepool -o yaml`` prints a List with the status of each."""
    items = list(yaml.safe_load_all(KAFKA + "---" + POOLS))
    affinity = {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["west"]}]}
        ]
    }
    template = {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": affinity}}
    }
    items[1]["status"] = {"nodeIds": [0, 7, 8]}
    items[2]["metadata"]["annotations"] = {"strimzi.io/next-node-ids": "[7, 10-12]"}
    items[2]["spec"]["template"] = {"pod": template}
    data, _ = shell.of_resources(
        yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items})
    )
    assert data["cluster"]["racks"] == {"west": [1, 10, 11, 12]}


def test_a_cluster_with_zookeeper_keeps_it(shell: Shell) -> None:
    data, output = shell.of_resources(WITH_ZOOKEEPER)
    assert (data["release"], data["protocol"], "mode" in data) == ("3.2.0", "3.1-IV0", False)
    assert data["cluster"]["brokers"] == [0, 1, 2, 3, 4]
    assert "no file has broker.rack: all brokers are in one rack" in output
    migrated = WITH_ZOOKEEPER + "---" + POOLS.replace("trade", "old")
    assert shell.of_resources(migrated)[0]["cluster"]["brokers"] == [0, 1, 2, 3]
    annotated = WITH_ZOOKEEPER.replace(
        "{name: old}", "{name: old, annotations: {strimzi.io/kraft: enabled}}"
    ).replace("3.2.0", "3.7.0")
    assert shell.of_resources(annotated)[0]["mode"] == "kraft"


def test_resources_that_are_missing_are_assumed_and_named(shell: Shell) -> None:
    data, output = shell.of_resources(KAFKA)
    assert (data["cluster"]["brokers"], data["controllers"]["count"]) == ([0, 1, 2], 3)
    (topic,) = data["topics"]
    assert (topic["name"], len(topic["assignment"])) == ("assumed-topic", 9)
    assert "no KafkaNodePool is in the files: assumed are 3 brokers" in output
    assert "no KafkaTopic is in the files: assumed is assumed-topic, of 9 partitions" in output


def test_a_dump_has_the_topics_and_resources_of_a_folder_have_the_nodes(shell: Shell) -> None:
    dump = shell.file(
        "describe.txt",
        "Topic: t\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: \n"
        "\tTopic: t\tPartition: 0\tLeader: 2\tReplicas: 2,1\tIsr: 2,1\tElr: \tLastKnownElr: \n",
    )
    shell.files(KAFKA, POOLS, TOPICS)
    data, output = shell.imported(dump, shell.folder)
    assert [topic["assignment"] for topic in data["topics"]] == [{0: [2, 1]}]
    assert data["cluster"]["log_directories"] == 2
    assert "KafkaTopics are left out, as the dump has the topics: orders, with-defaults" in output
    assert "replicas are placed" not in output


@pytest.mark.parametrize(
    ("files", "error"),
    [
        (
            ["{{ if .Values.kafka }}\n" + KAFKA],
            "0.yaml: is a template of Helm, no YAML: ",
        ),
        ([KAFKA + "}"], "0.yaml:20: is not valid YAML"),
        (["services: {kafka: {}}\n"], "0.yaml:1: is YAML, but no resource of Kubernetes"),
        (
            [POOLS],
            "0.yaml: has no Kafka of Strimzi (apiVersion: kafka.strimzi.io/...)",
        ),
        ([KAFKA, KAFKA.replace("trade", "b")], "1.yaml:4: Kafka: metadata.name: b is a second clu"),
        (
            [KAFKA, POOLS.replace("replicas: 4", "replicas: many")],
            "1.yaml:14: KafkaNodePool: spec.replicas: must be a whole number",
        ),
        ([KAFKA.replace("4.2.0", "3.11.0")], "0.yaml:7: no release '3.11.0'"),
        ([KAFKA.replace("20000", "soon")], "0.yaml:15: replica.lag.time.max.ms: must be a whole"),
    ],
)
def test_resources_that_cannot_be_read_are_refused_with_their_line(
    files: list[str], error: str, shell: Shell
) -> None:
    assert shell.refused(*shell.files(*files)).startswith(error)
