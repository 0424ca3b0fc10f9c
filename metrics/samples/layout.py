"""The targets and label texts of a snapshot's rows, rendered once for a whole run.

A level sets the detail of single partitions:

==========  ======================================================================================
``full``    a series for each replica of each partition, as Kafka has it
``topic``   the sum over a topic's partitions at a broker, without the label ``partition``; values
            that do not add up (an epoch, a leader's id) are left out
``sparse``  series only of partitions that are not healthy, and one series of 0 for each topic at a
            broker, without the label ``partition``, so that sums are 0 where all is well (not
            where rules use the minimum: the number of replicas in sync)
``off``     no series of partitions; brokers and topics have their own counts of them
==========  ======================================================================================

``tidegauge_metrics_truncated_partitions`` is the number of partitions without series of their own,
so that a reduced view cannot be mistaken for a full one.
"""

from collections.abc import Iterable
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.samples.targets import EXPORTER, cluster_name, joined, label_text
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.scenario.cluster_directory import directory_of
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.workload import ConsumerGroup
from tidegauge.traces.directory import Directory

Numbers = NDArray[np.int64]
Texts = NDArray[np.object_]
Flags = NDArray[np.bool_]
Offsets = NDArray[np.float64]

KAFKA_PORT = 9092


class Totals(NamedTuple):
    """Rows that are sums of a table's rows: for each row of the table the place of its total."""

    of: Numbers
    targets: Numbers
    labels: Texts


def texts_of(texts: Iterable[str]) -> Texts:
    """An array of texts."""
    listed = list(texts)
    array = np.empty(len(listed), object)
    array[:] = listed
    return array


def numbers_of(numbers: Iterable[int]) -> Numbers:
    """An array of numbers."""
    return np.fromiter(numbers, np.int64)


class Layout:
    """Rows of a snapshot (``snapshots/snapshot.py``) as a plan has numbered them."""

    def __init__(self, plan: ClusterPlan) -> None:
        self.plan = plan
        self.names = Directory(directory_of(plan))
        self.topics = self.names.topics

    # Topics and partitions

    @cached_property
    def topic_labels(self) -> Texts:
        """By topic."""
        return texts_of(label_text({"topic": topic}) for topic in self.topics)

    @cached_property
    def topic_of(self) -> Numbers:
        """By partition."""
        return numbers_of(partition.topic_number for partition in self.names.all_partitions)

    @cached_property
    def partition_labels(self) -> Texts:
        """By partition."""
        return texts_of(
            label_text({"topic": partition.topic, "partition": partition.number})
            for partition in self.names.all_partitions
        )

    @cached_property
    def partition_totals(self) -> Totals:
        """Partitions add up to topics."""
        exporter = np.full(len(self.topics), EXPORTER)
        return Totals(self.topic_of, exporter, self.topic_labels)

    # Brokers

    @cached_property
    def broker_ids(self) -> Numbers:
        """By broker's index."""
        return numbers_of(self.names.brokers)

    @cached_property
    def address_labels(self) -> Texts:
        """By broker: its id and where it would listen."""
        cluster = cluster_name(self.plan)
        return texts_of(
            label_text({"id": broker, "address": f"{cluster}-kafka-{broker}:{KAFKA_PORT}"})
            for broker in self.names.brokers
        )

    @cached_property
    def broker_topic_targets(self) -> Numbers:
        """By topic at a broker."""
        return np.repeat(np.arange(len(self.names.brokers)), len(self.topics))

    @cached_property
    def broker_topic_labels(self) -> Texts:
        """By topic at a broker."""
        return np.tile(self.topic_labels, len(self.names.brokers))

    # Replicas

    @cached_property
    def replica_targets(self) -> Numbers:
        """By replica: its broker."""
        return numbers_of(
            broker for partition in self.names.all_partitions for broker in partition.hosts
        )

    @cached_property
    def replica_partitions(self) -> Numbers:
        """By replica: the number of its partition."""
        counts = [len(partition.hosts) for partition in self.names.all_partitions]
        return np.repeat(np.arange(len(counts)), counts)

    @cached_property
    def replica_labels(self) -> Texts:
        """By replica."""
        return self.partition_labels[self.replica_partitions]

    @cached_property
    def replica_totals(self) -> Totals:
        """Replicas add up to topics at a broker."""
        topics = self.topic_of[self.replica_partitions]
        of = self.replica_targets * len(self.topics) + topics
        return Totals(of, self.broker_topic_targets, self.broker_topic_labels)

    @cached_property
    def replicas_of(self) -> list[Numbers]:
        """By broker: the rows of its replicas."""
        brokers = range(len(self.names.brokers))
        return [np.flatnonzero(self.replica_targets == broker) for broker in brokers]

    # Consumer groups that commit

    @cached_property
    def groups(self) -> list[ConsumerGroup]:
        """The groups, in the order of the scenario."""
        consumers = self.plan.scenario.workload.consumers
        return [group for group in consumers if self.plan.commits(group)]

    @cached_property
    def group_labels(self) -> Texts:
        """By group."""
        return texts_of(label_text({"consumergroup": group.name}) for group in self.groups)

    @cached_property
    def members(self) -> tuple[Numbers, Numbers]:
        """The clients that are members of groups, and the group of each."""
        number_of = {group.name: number for number, group in enumerate(self.groups)}
        pairs = [
            (client, number_of[planned.group.name])
            for client, planned in enumerate(self.plan.clients)
            if planned.group is not None and planned.group.name in number_of
        ]
        return numbers_of(client for client, _ in pairs), numbers_of(group for _, group in pairs)

    @cached_property
    def committed(self) -> tuple[Numbers, Numbers, Numbers]:
        """Partitions that groups read: the row in ``Snapshot.committed``, group and partition."""
        number_of = {group.name: number for number, group in enumerate(self.groups)}
        groups: list[int] = []
        partitions: list[int] = []
        for client in self.plan.clients:
            read = self.plan.committed_by(client).tolist()
            if client.group is not None and read:
                groups += [number_of[client.group.name]] * len(read)
                partitions += read
        return numbers_of(range(len(groups))), numbers_of(groups), numbers_of(partitions)

    @cached_property
    def committed_labels(self) -> Texts:
        """By partition that a group reads."""
        _, groups, partitions = self.committed
        read = zip(groups, partitions, strict=True)
        return texts_of(
            joined(self.group_labels[group], self.partition_labels[partition])
            for group, partition in read
        )

    @cached_property
    def committed_totals(self) -> Totals:
        """Partitions that a group reads add up to topics that it reads."""
        _, groups, partitions = self.committed
        pairs = groups * len(self.topics) + self.topic_of[partitions]
        read, of = np.unique(pairs, return_inverse=True)
        labels = texts_of(
            joined(
                self.group_labels[pair // len(self.topics)],
                self.topic_labels[pair % len(self.topics)],
            )
            for pair in read
        )
        return Totals(of, np.full(len(read), EXPORTER), labels)


#: Above this number of partitions the default is ``topic``: a Prometheus keeps 3 kB for each
#: series, and a partition of three replicas has some forty.
MOST_PARTITIONS_IN_FULL = 10_000


class Level(StrEnum):
    """The level of detail for single partitions."""

    FULL = "full"
    TOPIC = "topic"
    SPARSE = "sparse"
    OFF = "off"


def default_level(plan: ClusterPlan) -> Level:
    """``full`` for clusters that one Prometheus can store, ``topic`` for larger ones."""
    return Level.FULL if len(plan.partitions) <= MOST_PARTITIONS_IN_FULL else Level.TOPIC


def unhealthy_partitions(layout: Layout, snapshot: Snapshot) -> Flags:
    """By partition: it has no leader that responds, or not all of its replicas are in sync.

    The leader's own view counts as well as the state in ZooKeeper.
    """
    partitions, replicas = snapshot.partitions, snapshot.replicas
    # A place after the brokers stands for no broker, which never responds: index -1 leads there.
    leader_answers = np.append(snapshot.brokers["answers"], False)[partitions["leader"].clip(-1)]
    in_sync = partitions["in_sync_replicas"] >= partitions["replicas"]
    unhealthy: Flags = partitions["exists"] & ~(leader_answers & in_sync)
    seen = replicas["exists"] & replicas["leads"] & replicas["under_replicated"]
    unhealthy[layout.replica_partitions[seen]] = True
    return unhealthy


def partitions_left_out(level: Level, layout: Layout, snapshot: Snapshot) -> int:
    """The number of existing partitions without series of their own."""
    if level == Level.FULL:
        return 0
    left_out = snapshot.partitions["exists"]
    if level == Level.SPARSE:
        left_out = left_out & ~unhealthy_partitions(layout, snapshot)
    return int(left_out.sum())


def offsets_of_leaders(layout: Layout, snapshot: Snapshot) -> tuple[Offsets, Offsets]:
    """High watermark and log start offset by partition; NaN where no leader responds."""
    brokers, numbers = layout.replica_targets, layout.replica_partitions
    replicas = snapshot.replicas
    leads = replicas["exists"] & replicas["leads"] & snapshot.brokers["answers"][brokers]
    # Of two brokers that both act as leader, clients use the one that metadata names.
    leads &= snapshot.partitions["leader"][numbers] == brokers
    rows = np.flatnonzero(leads)
    high_watermarks = np.full(len(snapshot.partitions), np.nan)
    log_starts = high_watermarks.copy()
    high_watermarks[numbers[rows]] = replicas["high_watermark"][rows]
    log_starts[numbers[rows]] = replicas["log_start_offset"][rows]
    return high_watermarks, log_starts
