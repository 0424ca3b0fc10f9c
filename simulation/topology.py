"""The topology of the cluster: numbers that the scenario fixes and every group knows.

Brokers have an index, topic partitions a number, and each partition a table of its brokers
by slot (``replication/records.py``). Processes are numbered in one row: brokers, then in
ZooKeeper mode each broker's controller and ZooKeeper, then the clients, then in KRaft mode the
controllers of the quorum. The last are links between racks, if they have a limit.
"""

from collections.abc import Iterable
from itertools import accumulate, pairwise

from tidegauge.compiled.records import Record, Records, flag, i32, i64
from tidegauge.compiled.rules import Tables, inner_rule
from tidegauge.replication.kraft_releases import KRaftRules
from tidegauge.replication.release_rules import ReleaseRules
from tidegauge.replication.replica_list import EMPTY, NO_REPLICA, append
from tidegauge.simulation.kernel import CONTROLLER, NONE, QUORUM_CONTROLLER, ZOOKEEPER, Kernel


class Sizes(Record):
    """The number of each: one record."""

    brokers: i64
    topics: i64
    partitions: i64
    #: The most replicas that a partition ever has: room for views of followers.
    width: i64
    #: Log directories of each broker.
    log_directories: i64


class NumberRange(Record):
    """Numbers of things of one kind."""

    first: i64
    count: i64


class ClusterPartition(Record):
    """One partition of one topic."""

    #: Number of its topic.
    topic: i32
    #: The first slot of its table of brokers, and with it of its replicas' rows.
    first_slot: i32
    slot_count: i32
    #: Its assignment as it is created; a replica list.
    replicas: i64
    #: The absolute of ``31 * topic.hashCode + partition``, which chooses the fetcher thread.
    fetcher_hash: i64
    #: Bytes of one record.
    record_bytes: i64
    #: Records of a batch; the greatest common divisor where batches differ.
    batch_records: i64 = 1
    #: It is one of __consumer_offsets.
    holds_offsets: flag
    #: Records that were committed before the run.
    existing_records: i64
    #: Retention: the records of a segment (0: none is deleted); the number that is kept by size,
    #: and the time for which existing ones are kept (-1: without limit).
    segment_records: i64
    retention_records: i64 = -1
    retention_s: i64 = -1


class Slot(Record):
    """One replica of a partition."""

    #: Index of the broker that hosts it.
    broker: i32
    #: Number of the partition.
    partition: i32
    #: The broker.id of that broker.
    broker_id: i32
    #: Its place in the sets of a controller up to 1.0, 35 bits; 0 if no broker is that old.
    set_order: i64


class Software(Record):
    """A release that nodes run, and the levels of features that it supports (Kafka: VersionRange).

    With ZooKeeper each inter.broker.protocol.version of a release is one of its own.
    """

    oldest_metadata_version: i64
    newest_metadata_version: i64
    #: Of eligible.leader.replicas.version; 0: the release does not have it.
    newest_elr_version: i64
    #: Of kraft.version; 0: the release does not have it.
    newest_kraft_version: i64


class MetadataVersion(Record):
    """A metadata.version that the cluster has, or that a step asks for."""

    feature_level: i64
    #: The number of versions up to it that have changed the format of metadata.
    metadata_changes: i64


class NodeVersions(Record):
    """The versions of a broker or of a controller of a quorum."""

    #: Its place in ``Topology.software``.
    software: i64
    #: The finalized features, as it has read them: the place of metadata.version in
    #: ``Topology.metadata_versions``, the level of eligible.leader.replicas.version.
    metadata_version: i64
    elr_version: i64


class Topology(Tables, part=1):
    """Tables that never change during a run, but for the versions of nodes and what they bring."""

    sizes: Records[Sizes]
    partitions: Records[ClusterPartition]
    #: The replicas of all partitions, one after the other: their place is their *row*.
    slots: Records[Slot]
    #: The release switches of each broker.
    rules: Records[ReleaseRules]
    software: Records[Software]
    #: With ZooKeeper there is one, without meaning.
    metadata_versions: Records[MetadataVersion]
    #: Of the brokers, then of the controllers of a quorum.
    node_versions: Records[NodeVersions]
    #: The switches of each software with each metadata.version, at ``place_of_versions``; those of
    #: KRaft's control plane are there with KRaft only.
    release_rules: Records[ReleaseRules]
    kraft_rules: Records[KRaftRules]
    #: The numbers of processes, by their role.
    process_ranges: Records[NumberRange]
    #: The numbers that ZooKeeper's tree has, by sort (``zookeeper_tree.py``).
    tree_ranges: Records[NumberRange]


class Cluster(Kernel, Topology):
    """Virtual time, and the cluster in which it passes."""


def process_ranges(
    brokers: int, clients: int, quorum: int = 0, rack_links: int = 0
) -> tuple[range, ...]:
    """The numbers of processes, by their role (``kernel.py``); a broker's is its index.

    Args: brokers: the number of brokers. clients: the number of clients, the operator among them.
    quorum: the number of controllers of a KRaft quorum; 0: the cluster is in ZooKeeper mode.
    rack_links: the number of links between racks that have a limit.
    """
    if quorum:
        return number_ranges(0, (brokers, 0, 0, clients, quorum, rack_links))
    return number_ranges(0, (brokers, brokers, 1, clients, 0, rack_links))


def number_ranges(first: int, counts: Iterable[int]) -> tuple[range, ...]:
    """Ranges of so many numbers each, one behind the other."""
    ends = accumulate(counts, initial=first)
    return tuple(range(begin, end) for begin, end in pairwise(ends))


@inner_rule
def upgrade(world: Topology, node: int, software: int) -> None:
    """A node that is down gets another release, if that is planned; a broker's controller, too."""
    if software != NONE:
        world.node_versions[node].software = software
        follow_versions(world, node)


@inner_rule
def follow_versions(world: Topology, node: int) -> None:
    """A node has another release, or has read of another metadata.version."""
    if node < world.sizes[0].brokers:
        world.rules[node] = world.release_rules[place_of_versions(world, node)]


@inner_rule
def place_of_versions(world: Topology, node: int) -> int:
    """The place of the switches that a node follows, in the tables of rules."""
    versions = world.node_versions[node]
    return versions.software * len(world.metadata_versions) + versions.metadata_version


@inner_rule
def controller_node(world: Topology, voter: int) -> int:
    """The number of a controller of the quorum among the nodes: behind the brokers."""
    return world.sizes[0].brokers + voter


@inner_rule
def controller_process(world: Topology, broker: int) -> int:
    """The process of a broker's controller; that of the broker is its index."""
    return world.process_ranges[CONTROLLER].first + broker


@inner_rule
def zookeeper_process(world: Topology) -> int:
    """The process of ZooKeeper."""
    return world.process_ranges[ZOOKEEPER].first


@inner_rule
def slot_of(world: Topology, partition: int, broker: int) -> int:
    """The slot of a broker among a partition's; NO_REPLICA if it has none."""
    facts = world.partitions[partition]
    for slot in range(facts.slot_count):
        if world.slots[facts.first_slot + slot].broker == broker:
            return slot
    return NO_REPLICA


@inner_rule
def row_of(world: Topology, partition: int, broker: int) -> int:
    """The row of a broker's replica of a partition; the broker has one."""
    return world.partitions[partition].first_slot + slot_of(world, partition, broker)


@inner_rule
def slots_by_broker(world: Topology, partition: int) -> int:
    """The slots of a partition in the order of their brokers' ids; a replica list."""
    slots = EMPTY
    for broker in range(world.sizes[0].brokers):
        slot = slot_of(world, partition, broker)
        if slot != NO_REPLICA:
            slots = append(slots, slot)
    return slots


@inner_rule
def broker_of(world: Topology, partition: int, slot: int) -> int:
    """The index of the broker in a slot; -1 and -2 stay as they are."""
    if slot < 0:
        return slot
    return world.slots[world.partitions[partition].first_slot + slot].broker


@inner_rule
def is_kraft(world: Topology) -> bool:
    """Whether the control plane is a KRaft quorum, and not ZooKeeper with its controllers."""
    return world.process_ranges[QUORUM_CONTROLLER].count > 0


@inner_rule
def quorum_process(world: Topology, voter: int) -> int:
    """The process of a controller of the quorum."""
    return world.process_ranges[QUORUM_CONTROLLER].first + voter
