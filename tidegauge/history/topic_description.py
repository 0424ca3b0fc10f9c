"""Topics and partitions at a moment of a run, as ``kafka-topics.sh --describe`` prints them.

The data are those that the control plane holds. The text can be compared with the output of a real
cluster's tool, and be imported again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tidegauge.history.zookeeper_rows import topics_of_zookeeper
from tidegauge.replication.release_versions import Release
from tidegauge.simulation.codes.occasions import BROKER_ACTIVE, STATE_CREATED, STATE_DELETED
from tidegauge.traces.directory import Directory
from tidegauge.traces.run_folder import RunFolder, TraceRow

#: From here on the tool asks brokers, and writes a space behind each colon.
_SPACED = Release.parse("2.2.0")

_ROWS = frozenset({"partition_state", "partition_replicas", "broker_state"})


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

    A topic exists from its first partition's state to its last one's.

    Raises:
        TraceError: a trace file is damaged.
    """
    cluster, created = _Cluster(run.directory), topics_of_zookeeper(run.directory)
    for row in run.all_rows(wanted=lambda kind: kind.name in _ROWS | created.CHANGES):
        if at_us is not None and row["time_us"] > at_us:
            break
        cluster.take(row)
        created.take(row)
    settings = {
        topic["name"]: topic.get("settings", {}) for topic in run.manifest["scenario"]["topics"]
    }
    partitions: dict[str, list[PartitionDescription]] = {}
    for number in run.directory.partitions.values():
        described = cluster.described(number)
        partitions.setdefault(described.topic, []).append(described)
    existing = {run.directory.topic(number) for number in created.numbers}
    existing |= {run.directory.topic_and_partition(number)[0] for number in cluster.states}
    return [
        TopicDescription(topic, settings.get(topic, {}), partitions[topic])
        for topic in sorted(existing)
    ]


class _Cluster:
    """What the control plane holds, row by row."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._active: set[int] = set()
        #: By number of the partition: the last rows about those that exist, and that were moved.
        self.states: dict[int, TraceRow] = {}
        self._replicas: dict[int, TraceRow] = {}

    def take(self, row: TraceRow) -> None:
        """Apply one row; rows come in their total order."""
        if row.kind == "broker_state":
            is_active = row["state"] == BROKER_ACTIVE
            (self._active.add if is_active else self._active.discard)(row["broker"])
        elif row.kind == "partition_replicas":
            self._replicas[row["partition"]] = row
        elif row.kind == "partition_state" and row["change"] == STATE_DELETED:
            self.states.pop(row["partition"], None)
        elif row.kind == "partition_state":
            if row["change"] == STATE_CREATED:
                # A topic that is created again has the replicas that it began with.
                self._replicas.pop(row["partition"], None)
            self.states[row["partition"]] = row

    def described(self, number: int) -> PartitionDescription:
        """A partition as it is now; without a state it has no leader yet."""
        named = self._directory.all_partitions[number]
        state, moved = self.states.get(number), self._replicas.get(number)
        leader = -1 if state is None else state["leader"]
        return PartitionDescription(
            named.topic,
            named.number,
            self._directory.broker_id(leader),
            leader in self._active,
            named.replicas if moved is None else self._ids(moved, "replicas"),
            () if state is None else self._ids(state, "isr"),
            () if moved is None else self._ids(moved, "adding"),
            () if moved is None else self._ids(moved, "removing"),
            named.min_insync_replicas,
        )

    def _ids(self, row: TraceRow, column: str) -> list[int]:
        brokers = self._directory.brokers_in(row[column], row["partition"])
        return [broker for broker in brokers if broker is not None]


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
