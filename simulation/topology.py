"""Who is who in the cluster: numbers that the scenario fixes and every group knows.

Brokers have an index, topic partitions a number, and each partition a table of its brokers
by slot (``replication/replica_list.py``). Processes are numbered in one row: brokers, then
each broker's controller, then ZooKeeper, then the clients. Znodes too: the fixed ones, one
per broker, per topic and per partition, those by which topics are moved and deleted (if a step
does), those by which failures of log directories are told (if one fails), then room for
notifications.
"""

from __future__ import annotations

from tidegauge.compiled.records import Record, Records, flag, i64
from tidegauge.compiled.rules import Tables, code, inner_rule, rule
from tidegauge.replication.release_rules import ReleaseRules
from tidegauge.replication.replica_list import NO_REPLICA
from tidegauge.simulation.kernel import Kernel

# The fixed znodes.
CONTROLLER_ZNODE = code(0)
CONTROLLER_EPOCH_ZNODE = code(1)
BROKER_IDS_ZNODE = code(2)
TOPICS_ZNODE = code(3)
NOTIFICATIONS_ZNODE = code(4)
PREFERRED_ELECTION_ZNODE = code(5)
FIXED_ZNODES = code(6)


class Sizes(Record):
    """How many there are of each: one record."""

    brokers: i64
    topics: i64
    partitions: i64
    #: The most replicas that a partition ever has: room for views of followers.
    width: i64
    #: Znodes by which an operator has replicas moved and topics deleted; 0: no step does either.
    admin_znodes: i64
    #: Log directories of each broker.
    log_directories: i64
    #: Znodes by which brokers tell that one has failed; 0: none ever does.
    log_dir_znodes: i64


class ClusterPartition(Record):
    """One partition of one topic."""

    #: Number of its topic.
    topic: i64
    #: Where its table of brokers begins, and with it the rows of its replicas.
    first_slot: i64
    slot_count: i64
    #: Its assignment as it is created; a replica list.
    replicas: i64
    #: The absolute of ``31 * topic.hashCode + partition``, which chooses the fetcher thread.
    fetcher_hash: i64
    #: Bytes of one record.
    record_bytes: i64
    #: It is one of __consumer_offsets.
    holds_offsets: flag


class Slot(Record):
    """One replica of a partition."""

    #: Index of the broker that hosts it.
    broker: i64
    #: Number of the partition.
    partition: i64
    #: Where a controller up to 1.0 has it in its sets; 0 if no broker is that old.
    set_order: i64


class Topology(Tables, part=1):
    """Tables that never change during a run."""

    sizes: Records[Sizes]
    partitions: Records[ClusterPartition]
    #: The replicas of all partitions, one after the other: their place is their *row*.
    slots: Records[Slot]
    #: The release switches of each broker.
    rules: Records[ReleaseRules]


class Cluster(Kernel, Topology):
    """Virtual time, and the cluster in which it passes."""


@inner_rule
def controller_process(world: Topology, broker: int) -> int:
    """The process of a broker's controller; that of the broker is its index."""
    return world.sizes[0].brokers + broker


@inner_rule
def zookeeper_process(world: Topology) -> int:
    """The process of ZooKeeper."""
    return 2 * world.sizes[0].brokers


@rule
def broker_znode(broker: int) -> int:
    """/brokers/ids/<id>."""
    return FIXED_ZNODES + broker


@rule
def topic_znode(world: Topology, topic: int) -> int:
    """/brokers/topics/<topic>."""
    return FIXED_ZNODES + world.sizes[0].brokers + topic


@rule
def state_znode(world: Topology, partition: int) -> int:
    """/brokers/topics/<topic>/partitions/<partition>/state."""
    sizes = world.sizes[0]
    return FIXED_ZNODES + sizes.brokers + sizes.topics + partition


@rule
def reassign_partitions_znode(world: Topology) -> int:
    """/admin/reassign_partitions, where there are ``admin_znodes``."""
    return state_znode(world, world.sizes[0].partitions)


@rule
def delete_topics_znode(world: Topology) -> int:
    """/admin/delete_topics, behind it."""
    return reassign_partitions_znode(world) + 1


@rule
def topic_deletion_znode(world: Topology, topic: int) -> int:
    """/admin/delete_topics/<topic>, behind these."""
    return delete_topics_znode(world) + 1 + topic


@rule
def log_dir_events_znode(world: Topology) -> int:
    """/log_dir_event_notification, where there are ``log_dir_znodes``."""
    return reassign_partitions_znode(world) + world.sizes[0].admin_znodes


@rule
def log_dir_event_znode(world: Topology, broker: int, directory: int) -> int:
    """/log_dir_event_notification/log_dir_event_<n>: the place of it for a broker's directory."""
    place = broker * world.sizes[0].log_directories + directory
    return log_dir_events_znode(world) + 1 + place


@rule
def is_log_dir_event(world: Topology, znode: int) -> bool:
    """Whether a znode is a child of /log_dir_event_notification."""
    return log_dir_events_znode(world) < znode < first_notification_znode(world)


@inner_rule
def is_log_dir_events(world: Topology, znode: int) -> bool:
    """Whether a znode is /log_dir_event_notification itself."""
    return world.sizes[0].log_dir_znodes > 0 and znode == log_dir_events_znode(world)


@rule
def first_notification_znode(world: Topology) -> int:
    """The first of the znodes that become children of /isr_change_notification."""
    return log_dir_events_znode(world) + world.sizes[0].log_dir_znodes


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
def broker_of(world: Topology, partition: int, slot: int) -> int:
    """The index of the broker in a slot; nobody (-1, -2) stays nobody."""
    if slot < 0:
        return slot
    return world.slots[world.partitions[partition].first_slot + slot].broker
