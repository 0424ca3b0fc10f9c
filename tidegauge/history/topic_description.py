"""Topics and partitions at a moment of a run, as ``kafka-topics.sh --describe`` prints them.

The data are those of ZooKeeper (``znode_tree.py``). The text can be compared with the output of a
real cluster's tool, and be imported again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tidegauge.history.znode_tree import TreeNode, znode_tree
from tidegauge.replication.release_versions import Release
from tidegauge.traces.run_folder import RunFolder

#: From here on the tool asks brokers, and writes a space behind each colon.
_SPACED = Release.parse("2.2.0")

_TOPICS = "/brokers/topics/"
_BROKERS = "/brokers/ids/"


class PartitionDescription(NamedTuple):
    """One partition; replicas are ids of brokers."""

    topic: str
    partition: int
    #: None: it has no leader.
    leader: int | None
    leader_is_up: bool
    replicas: Sequence[int]
    isr: Sequence[int]
    adding: Sequence[int]
    removing: Sequence[int]
    min_insync_replicas: int

    @property
    def is_under_replicated(self) -> bool:
        """Whether a replica is not in the ISR; one that is being added does not count."""
        return len(self.isr) < len(self.replicas) - len(self.adding)

    @property
    def is_unavailable(self) -> bool:
        """Whether it has no registered leader."""
        return self.leader is None or not self.leader_is_up

    @property
    def is_under_min_isr(self) -> bool:
        """Whether its ISR is too small for writes with acks=all."""
        return len(self.isr) < self.min_insync_replicas


class TopicDescription(NamedTuple):
    """A topic, its settings as the scenario has them, and its partitions in their order."""

    topic: str
    settings: Mapping[str, Any]
    partitions: Sequence[PartitionDescription]

    @property
    def replication_factor(self) -> int:
        """The tool's number: the replicas of the first partition, without those being added."""
        first = self.partitions[0]
        return len(first.replicas) - len(first.adding)


def describe_topics(run: RunFolder, at_us: int | None = None) -> list[TopicDescription]:
    """The topics that existed at a time (by default the end of the run), by name.

    Raises:
        TraceError: a trace file is damaged.
    """
    nodes = znode_tree(run, at_us)
    states = {
        node.path: json.loads(node.data)
        for node in nodes
        if node.data is not None and node.path.endswith("/state")
    }
    brokers = {
        int(node.path.removeprefix(_BROKERS)) for node in nodes if node.path.startswith(_BROKERS)
    }
    topics = {topic["name"]: topic for topic in run.manifest["scenario"]["topics"]}
    default = run.manifest["scenario"]["cluster"]["settings"]["min.insync.replicas"]
    described = []
    for node in nodes:
        name = node.path.removeprefix(_TOPICS)
        if not node.path.startswith(_TOPICS) or "/" in name:
            continue
        settings = topics.get(name, {}).get("settings", {})
        least = int(settings.get("min.insync.replicas", default))
        described.append(
            TopicDescription(name, settings, _partitions(node, name, states, brokers, least))
        )
    return described


def _partitions(
    node: TreeNode, topic: str, states: Mapping[str, Any], brokers: set[int], least: int
) -> list[PartitionDescription]:
    """The partitions of a topic, from its assignment and their states."""
    assert node.data is not None
    assignment = json.loads(node.data)
    described = []
    for number, replicas in sorted(assignment["partitions"].items(), key=lambda each: int(each[0])):
        state = states.get(f"{node.path}/partitions/{number}/state", {"leader": -1, "isr": []})
        described.append(
            PartitionDescription(
                topic,
                int(number),
                None if state["leader"] < 0 else state["leader"],
                state["leader"] in brokers,
                replicas,
                state["isr"],
                assignment.get("adding_replicas", {}).get(number, ()),
                assignment.get("removing_replicas", {}).get(number, ()),
                least,
            )
        )
    return described


def topic_lines(topics: Iterable[TopicDescription], release: str) -> Iterable[str]:
    """Topics and all their partitions, in the format of a release's tool."""
    gap = " " if Release.parse(release) >= _SPACED else ""
    for topic in topics:
        settings = ",".join(f"{name}={_value(value)}" for name, value in topic.settings.items())
        yield (
            f"Topic:{gap}{topic.topic}\tPartitionCount:{gap}{len(topic.partitions)}\t"
            f"ReplicationFactor:{gap}{topic.replication_factor}\tConfigs:{gap}{settings}"
        )
        for partition in topic.partitions:
            yield partition_line(partition, release)


def partition_line(partition: PartitionDescription, release: str) -> str:
    """One partition, in the format of a release's tool."""
    nobody = "none" if Release.parse(release) >= _SPACED else "-1"
    leader = nobody if partition.leader is None else partition.leader
    line = (
        f"\tTopic: {partition.topic}\tPartition: {partition.partition}\tLeader: {leader}\t"
        f"Replicas: {_ids(partition.replicas)}\tIsr: {_ids(partition.isr)}"
    )
    if partition.adding or partition.removing:
        line += (
            f"\tAdding Replicas: {_ids(partition.adding)}"
            f"\tRemoving Replicas: {_ids(partition.removing)}"
        )
    return line


def _ids(brokers: Sequence[int]) -> str:
    return ",".join(str(broker) for broker in brokers)


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
