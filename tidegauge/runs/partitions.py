"""Partitions of a run: states over time, ``kafka-topics.sh --describe`` at a moment, and rows.

States are those that the control plane holds. The text can be compared with the output of a real
cluster's tool, and be imported again.

A partition's history is every row about it, and the events around it: faults, steps, expired
sessions, controllers, and the notifications of its current leader. The partition's state in
ZooKeeper is left out, since leaders and controller have rows of their own for it. With KRaft it is
in the history, and so are the states in which the quorum has the brokers with a replica.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from heapq import merge
from itertools import islice
from typing import Any, NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication.release_versions import Release
from tidegauge.runs.histories import PartitionState, partition_states
from tidegauge.runs.run import Run
from tidegauge.runs.trace_events import Names, TraceEvent
from tidegauge.runs.zookeeper import CREATED, is_notification, topics_of_zookeeper
from tidegauge.traces.directory import NamedPartition

#: From here on the tool asks brokers, and writes a space behind each colon.
_SPACED = Release.parse("2.2.0")
#: From here on it prints Elr and LastKnownElr.
_WITH_ELR = Release.parse("4.0.0")

#: The number of near names that are proposed.
_NEAREST = 3


def partition_number(name: str, names: Names) -> int:
    """Number of a partition within the cluster, by its name such as ``orders-0``.

    Raises:
        TidegaugeError: there is no partition of this name; the message has the nearest names.
    """
    if name in names.partitions:
        return names.partitions[name]
    near = get_close_matches(name, names.partitions, n=_NEAREST, cutoff=0.5)
    some = near or list(names.partitions)[:_NEAREST]
    hint = "nearest" if near else "there are"
    raise TidegaugeError(f"{name}: no such partition; {hint}: {', '.join(some)}")


class TopicDescription(NamedTuple):
    """A topic, its settings as the scenario has them, and its partitions in their order."""

    topic: str
    settings: Mapping[str, Any]
    partitions: Sequence[PartitionState]

    @property
    def replication_factor(self) -> int:
        """The tool's number: the replicas of the first partition, without those being added."""
        first = self.partitions[0]
        return len(first.replicas) - len(first.adding)


def described_states(run: Run, at_us: int | None = None) -> dict[str, PartitionState]:
    """The partitions that had a state at a time (by default the end), by their names.

    Raises:
        TraceError: a trace file is damaged.
    """
    states = partition_states(run, at_us)
    return {each.partition: each for each in states if at_us is not None or each.end_us is None}


def describe_topics(run: Run, at_us: int | None = None) -> list[TopicDescription]:
    """The topics that existed at a time (by default the end of the run), by name.

    A topic exists from its first partition's state to its last one's; and before, if ZooKeeper has
    it already.

    Raises:
        TraceError: a trace file is damaged.
    """
    states = described_states(run, at_us)
    created = topics_of_zookeeper(run.directory)
    for event in run.events_of(*created.CHANGES, until_us=at_us):
        created.take(event.row)
    settings = {
        topic["name"]: topic.get("settings", {}) for topic in run.manifest["scenario"]["topics"]
    }
    partitions: dict[str, list[PartitionState]] = {}
    for name, number in run.directory.partitions.items():
        named = run.directory.all_partitions[number]
        described = states.get(name) or _without_state(name, named)
        partitions.setdefault(named.topic, []).append(described)
    existing = {run.directory.topic(number) for number in created.numbers}
    existing |= {each.topic for each in states.values()}
    return [
        TopicDescription(topic, settings.get(topic, {}), partitions[topic])
        for topic in sorted(existing)
    ]


def _without_state(name: str, named: NamedPartition) -> PartitionState:
    """A partition of a new topic, for which no leader was elected yet."""
    no_leader = (None, False, None)
    return PartitionState(
        *(name, named.topic, 0, None, *no_leader, (), named.replicas, (), (), (), None),
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


def partition_line(partition: PartitionState, release: str) -> str:
    """One partition, in the format of a release's tool."""
    nobody = "none" if Release.parse(release) >= _SPACED else "-1"
    leader = nobody if partition.leader is None else partition.leader
    line = (
        f"\tTopic: {partition.topic}\tPartition: {partition.number}\tLeader: {leader}\t"
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


#: Rows without a partition that belong to the history of each.
AROUND = frozenset(
    {
        "fault_began",
        "fault_ended",
        "step_taken",
        "step_timed_out",
        "session_expired",
        "controller_elected",
        "controller_resigned",
    }
)
#: Rows that a run records at trace level `all`: what replication is about.
_MOVES = frozenset({"appended", "high_watermark_moved"})
#: The most of them in a story that can still be read.
_MOST_MOVES = 60
NOTIFICATIONS = frozenset({"notification_sent", CREATED, "notification_read"})


def partition_events(run: Run, partition: int, *, details: bool = False) -> Iterator[TraceEvent]:
    """The rows of a partition's history, in their total order.

    Args:
        run: the run.
        partition: number of the partition within the cluster.
        details: include rows that are not canonical: samples, and each single request if the
            run recorded them. Appended records and moved high watermarks are always included if
            they are few.

    Raises:
        TraceError: a trace file is damaged.
    """
    has_quorum = bool(run.directory.controllers)
    in_other_rows = frozenset() if has_quorum else frozenset({"partition_state"})
    about = run.events(
        lambda kind: (details or kind.canonical) and kind.name not in in_other_rows,
        partition=partition,
    )
    kinds = AROUND | NOTIFICATIONS | (frozenset({"broker_state"}) if has_quorum else frozenset())
    moved = [] if details else _few_moves(run, partition)
    hosts = run.directory.all_partitions[partition].slots
    leaders: set[int] = set()
    # Notifications of its leaders: those on their way, by process; written, by sequence number.
    sent: set[int] = set()
    written: set[int] = set()
    for event in merge(about, moved, run.events_of(*kinds), key=lambda event: event.row.place):
        process = event.row["process"]
        if event.kind == "became_leader":
            leaders.add(process)
        elif event.kind == "became_follower":
            leaders.discard(process)
        elif event.kind == "notification_sent":
            if process not in leaders:
                continue
            sent.add(process)
        elif event.kind == CREATED:
            writer = event.row["writer"]
            if is_notification(event.row, run.directory) and writer in sent:
                sent.discard(writer)
                written.add(event.sequence_number)
            continue
        elif (event.kind == "broker_state" and event.broker not in hosts) or (
            event.kind == "notification_read" and event.notification not in written
        ):
            continue
        yield event


def _few_moves(run: Run, partition: int) -> list[TraceEvent]:
    """The appended records and moved high watermarks of a small run; none if there are many."""
    moves = run.events(lambda kind: kind.name in _MOVES, partition=partition)
    few = list(islice(moves, _MOST_MOVES + 1))
    return few if len(few) <= _MOST_MOVES else []
