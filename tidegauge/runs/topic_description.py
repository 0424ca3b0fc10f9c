"""Topics and partitions at a moment of a run, as ``kafka-topics.sh --describe`` prints them.

The data are those that the control plane holds. The text can be compared with the output of a real
cluster's tool, and be imported again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tidegauge.replication.release_versions import Release
from tidegauge.runs.zookeeper_rows import topics_of_zookeeper
from tidegauge.traces.directory import NamedPartition
from tidegauge.traces.run_folder import RunFolder

if TYPE_CHECKING:
    from tidegauge.analysis.making.run_tables import RunTables

#: From here on the tool asks brokers, and writes a space behind each colon.
_SPACED = Release.parse("2.2.0")
#: From here on it prints Elr and LastKnownElr.
_WITH_ELR = Release.parse("4.0.0")

#: Fields of a description that are columns of the table.
_HELD = (
    *("leader_is_active", "leader_epoch", "replicas", "isr", "adding", "removing"),
    *("eligible_leaders", "last_known_leader", "min_insync_replicas"),
)


class PartitionDescription(NamedTuple):
    """One partition; replicas are ids of brokers."""

    topic: str
    partition: int
    #: None: it has no leader.
    leader: int | None
    leader_is_active: bool
    #: None: it has no state yet.
    leader_epoch: int | None
    replicas: Sequence[int]
    isr: Sequence[int]
    adding: Sequence[int]
    removing: Sequence[int]
    #: With KRaft: the eligible leader replicas, and the last leader if none may lead; else none.
    eligible_leaders: Sequence[int]
    last_known_leader: int | None
    min_insync_replicas: int

    @property
    def is_under_replicated(self) -> bool:
        """Whether a replica is not in the ISR; one that is being added does not count."""
        return len(self.isr) < len(self.replicas) - len(self.adding)

    @property
    def is_unavailable(self) -> bool:
        """Whether it has no registered leader."""
        return self.leader is None or not self.leader_is_active

    @property
    def is_under_min_isr(self) -> bool:
        """Whether its ISR is too small for writes with acks=all, or it has no leader.

        JMX, tables and figures count partitions with a leader only (Partition.isUnderMinIsr).

        Source: TopicCommand.PartitionDescription.isUnderMinIsr@3.9.0.
        """
        return self.leader is None or len(self.isr) < self.min_insync_replicas


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


def describe_topics(
    run: RunFolder, tables: RunTables, at_us: int | None = None
) -> list[TopicDescription]:
    """The topics that existed at a time (by default the end of the run), by name.

    A topic exists from its first partition's state to its last one's; and before, if ZooKeeper has
    it already.

    Raises:
        TraceError: a trace file is damaged.
    """
    states = described_states(tables, at_us)
    created = topics_of_zookeeper(run.directory)
    for row in run.all_rows(wanted=lambda kind: kind.name in created.CHANGES):
        if at_us is not None and row["time_us"] > at_us:
            break
        created.take(row)
    settings = {
        topic["name"]: topic.get("settings", {}) for topic in run.manifest["scenario"]["topics"]
    }
    partitions: dict[str, list[PartitionDescription]] = {}
    for number, named in enumerate(run.directory.all_partitions):
        described = states.get(number) or _without_state(named)
        partitions.setdefault(named.topic, []).append(described)
    existing = {run.directory.topic(number) for number in created.numbers}
    existing |= {each.topic for each in states.values()}
    return [
        TopicDescription(topic, settings.get(topic, {}), partitions[topic])
        for topic in sorted(existing)
    ]


def described_states(
    tables: RunTables, at_us: int | None = None
) -> dict[int, PartitionDescription]:
    """The partitions that had a state at a time (by default the end), by their numbers.

    Raises:
        TraceError: a trace file is damaged.
    """
    now = "end_us is null"
    if at_us is not None:
        now = f"begin_us <= {at_us} and coalesce({at_us} < end_us, true)"
    rows = tables.rows(
        "select partition as place, topic, topic_partition, leader, leader_is_active,"  # noqa: S608 - a number
        " leader_epoch, replicas, isr, adding, removing, eligible_leaders, last_known_leader,"
        " min_insync_replicas"
        f" from described_states where {now} order by partition, begin_us"
    )
    return {
        row["place"]: PartitionDescription(
            row["topic"],
            int(row["topic_partition"].removeprefix(f"{row['topic']}-")),
            row["leader"],
            *(row[name] for name in _HELD),
        )
        for row in rows
    }


def _without_state(named: NamedPartition) -> PartitionDescription:
    """A partition of a new topic, for which no leader was elected yet."""
    return PartitionDescription(
        *(named.topic, named.number, None, False, None, named.replicas, (), (), (), (), None),
        named.min_insync_replicas,
    )


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
    if Release.parse(release) >= _WITH_ELR:
        known = () if partition.last_known_leader is None else (partition.last_known_leader,)
        line += f"\tElr: {_ids(partition.eligible_leaders)}\tLastKnownElr: {_ids(known)}"
    return line


def _ids(brokers: Sequence[int]) -> str:
    return ",".join(str(broker) for broker in brokers)


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
