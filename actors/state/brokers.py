"""The tables of brokers: one record per broker, replica, fetcher, thread.

Tables cover the whole cluster, and a group touches the rows of the brokers that it hosts.
A replica's *row* is its place in ``Topology.slots``.
"""

from tidegauge.actors.state.broker_records import (
    Broker,
    BrokerStats,
    BrokerTopic,
    BrokerTopicStats,
    CommittedOffset,
    GroupMember,
    IoThread,
    Pools,
    ProducerConnection,
    SampledBroker,
    Watch,
    WatchList,
)
from tidegauge.actors.state.lifecycles import Lifecycle
from tidegauge.actors.state.machines import CachedLog
from tidegauge.actors.state.replica_records import (
    AppendMark,
    Fetcher,
    FetchSession,
    FollowerFetch,
    HeldProducer,
    HostedReplica,
    IdleArrivals,
    IdleFetch,
    IdlePair,
    IdleStage,
    IdleThreads,
    KeptLog,
    LinkAhead,
    LogOnDisk,
    SampledReplica,
)
from tidegauge.actors.state.request_stats import RequestStats, ZooKeeperClientStats
from tidegauge.compiled.lists import LinkedList, Pool
from tidegauge.compiled.records import Records
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.replication import records, replica_list
from tidegauge.simulation.bandwidth import Bandwidth
from tidegauge.simulation.kernel import Context
from tidegauge.simulation.metadata_log import MetadataPosition, is_known_alive, is_known_eligible
from tidegauge.simulation.sampled_stats import Bucket, ErrorCount
from tidegauge.simulation.topology import Cluster, is_kraft

#: Brokers' clocks start here, so that time 0 lies further back than any lag time: Kafka
#: uses 0 for "never caught up".
CLOCK_OFFSET_MS = code(1_000_000_000_000)

#: With so many entries a response to a follower takes no further records: each batch of an
#: idempotent producer in it is an entry.
MOST_ENTRIES_TOLD = code(4096)
#: The most partitions of produce requests that one event expires.
MOST_EXPIRED = code(1024)

#: Epochs that one answer can bring of a partition; the rest is fetched again.
RUNS_PER_ANSWER = code(4)

#: A thread that waits for ZooKeeper is free at no known time.
NEVER_US = code(2**62)


class Brokers(Cluster, part=2):
    """All brokers of one group."""

    pools: Records[Pools]
    brokers: Records[Broker]
    broker_stats: Records[BrokerStats]
    #: At ``broker * topic_count + topic``.
    topic_stats: Records[BrokerTopicStats]
    #: At ``broker * TYPES + type`` (``simulation/messages/kinds.py``); none if
    #: metrics are not served.
    request_stats: Records[RequestStats]
    #: At ``(broker * ERROR_TYPES + type) * ERROR_COUNT + place of the error``.
    request_errors: Records[ErrorCount]
    #: Histograms: of each type at a broker its parts, in the order of ``request_stats.py``.
    request_times: Records[Bucket]
    #: Of each broker, with a histogram of latencies; none in KRaft mode.
    zookeeper_stats: Records[ZooKeeperClientStats]
    zookeeper_times: Records[Bucket]
    threads: Records[IoThread]
    #: At ``broker * log_directories + directory``: reads from disks, and writes to them.
    disk_reads: Records[Bandwidth]
    disk_writes: Records[Bandwidth]
    #: By broker: what its moves between log directories may copy.
    alter_log_dirs: Records[Bandwidth]
    #: By replica.
    cached_logs: Records[CachedLog]
    replicas: Records[records.Partition]
    hosted: Records[HostedReplica]
    #: ... and by broker.
    sampled_replicas: Records[SampledReplica]
    sampled_brokers: Records[SampledBroker]
    fetch_states: Records[records.PartitionFetchState]
    #: Of replica ``row``: from ``row * width`` on, one per slot.
    followers: Records[records.RemoteReplica]
    follower_fetches: Records[FollowerFetch]
    #: Of each replica room for its epoch runs, and as much behind it for its leader-epoch cache.
    #: A replica that needs more moves to the end, and leaves its places unused.
    epoch_entries: Records[records.EpochEntry]
    #: At ``(broker * broker_count + source broker) * fetchers + number``.
    fetchers: Records[Fetcher]
    #: ... and the source broker's side of each, at the same place.
    fetch_sessions: Records[FetchSession]
    #: Of each two brokers the fetches of the one from the other and back, by number; each two
    #: brokers; where the fetches are at the end of a span; the links of each two; by broker; slots
    #: of a span, by broker
    #: (the room ``idle_fetches``).
    idle_fetches: Records[IdleFetch]
    idle_pairs: Records[IdlePair]
    fetches_ahead: Records[IdleStage]
    links_ahead: Records[LinkAhead]
    idle_threads: Records[IdleThreads]
    idle_arrivals: Records[IdleArrivals]
    watches: Records[Watch]
    #: At ``broker * clients + client`` (``fetches/producer_connections.py``).
    producer_connections: Records[ProducerConnection]
    #: The purgatories of each replica.
    delayed_fetches: Records[WatchList]
    delayed_produces: Records[WatchList]
    #: The position of each broker in the messages of controllers to all brokers
    #: (``simulation/metadata_log.py``).
    known_metadata: Records[MetadataPosition]
    #: A client's knowledge while it is compared with theirs: one record.
    asked_metadata: Records[MetadataPosition]
    #: At ``broker * topic_count + topic``.
    broker_topics: Records[BrokerTopic]
    #: At ``key * width + slot`` and ``client * width + slot``: the broker in a slot of the
    #: partition of __consumer_offsets coordinates (``simulation/offset_commits.py``).
    committed_offsets: Records[CommittedOffset]
    group_members: Records[GroupMember]
    #: At ``2 * broker + which``: LEADER_QUOTA or FOLLOWER_QUOTA of
    #: ``replication/replication_quota.py``.
    quotas: Records[records.ReplicationQuota]
    quota_samples: Records[records.QuotaSample]
    on_disk: Records[LogOnDisk]
    #: Of replica ``row``: from ``row * MARKS`` on; none without a loss of power.
    marks: Records[AppendMark]
    #: Idempotent producers as replicas know them: a pool; of each the last batches, from
    #: ``RETAINED_BATCHES`` times its place on (``storage/producers.py``).
    held_producers: Records[HeldProducer]
    producer_states: Records[records.ProducerStateEntry]
    producer_batches: Records[records.BatchMetadata]
    #: A batch that is being appended: one record.
    appended_batch: Records[records.BatchMetadata]
    kept_logs: Records[KeptLog]
    #: A copy of one replica's epochs, as a start reads them: as many as it has room for.
    epochs_read: Records[records.EpochEntry]
    #: One partition of a LeaderAndIsr, while a rule handles it: one record.
    told_state: Records[records.LeaderAndIsr]
    #: By broker; none in ZooKeeper mode.
    lifecycles: Records[Lifecycle]


#: Logs of a broker, and those of them whose ISR change is still to be propagated.
LOGS = LinkedList("hosted", "next_log", "first_log", "last_log")
ISR_CHANGES = LinkedList("hosted", "next_changed", "first_changed", "last_changed")
#: Replicas of a fetcher thread, and those of them whose fetch offset has moved.
FETCHED = LinkedList("hosted", "next_in_fetcher", "first_row", "last_row")
MOVED = LinkedList("hosted", "next_moved", "first_moved", "last_moved")
#: Partitions of a fetch session, and those of them that the next fetch reads.
IN_SESSION = LinkedList("follower_fetches", "next_in_session", "first")
ACTIVE = LinkedList("follower_fetches", "next_active", "first_active", "last_active")
#: Replicas of a broker that may have changed since its last sample; those that had changed then and
#: since its last checkpoint of high watermarks.
CHANGED = LinkedList("sampled_replicas", "next_changed", "first_changed", "last_changed")
UNWRITTEN = LinkedList("sampled_replicas", "next_unwritten", "first_unwritten", "last_unwritten")
#: Delayed operations of a purgatory (``WatchList``), and their places.
WATCHES = LinkedList("watches", "next", "first", "last")
WATCH_SLOTS = Pool("watches", "next")
#: Producers of a replica, those with the newest batches first, and their places.
PRODUCERS = LinkedList("held_producers", "next", "first_producer")
PRODUCER_SLOTS = Pool("held_producers", "next")


@inner_rule
def now_ms(context: Context) -> int:
    """Milliseconds of the brokers' clock: rounded down, as Kafka's are."""
    return CLOCK_OFFSET_MS + context.time_us // 1000


@inner_rule
def note_change(world: Brokers, row: int) -> None:
    """A replica changes in what samples and checkpoints have of it.

    They look at those that have changed alone (``sampling.py``, ``storage/checkpoints.py``).
    """
    sampled = world.sampled_replicas[row]
    if not sampled.is_changed:
        sampled.is_changed = True
        CHANGED.append(world, world.sampled_brokers[world.slots[row].broker], row)


@inner_rule
def take_min_insync_replicas(world: Brokers, row: int, min_insync_replicas: int) -> None:
    """A replica's topic may have another min.insync.replicas."""
    partition = world.replicas[row]
    if partition.min_insync_replicas != min_insync_replicas:
        partition.min_insync_replicas = min_insync_replicas
        note_change(world, row)


@inner_rule
def ineligible_replicas(world: Brokers, row: int) -> int:
    """Replicas whose brokers the metadata cache of this replica's broker has not as alive.

    In KRaft mode also those whose brokers are in controlled shutdown, or have another epoch than
    that with which they have fetched last (KIP-903).

    Source: Partition.isReplicaIsrEligible and isBrokerEpochIsrEligible@3.5.0.
    """
    slot = world.slots[row]
    facts = world.partitions[slot.partition]
    ineligible = replica_list.EMPTY
    for other in range(facts.slot_count):
        broker = world.slots[facts.first_slot + other].broker
        known = world.known_metadata[slot.broker]
        if is_kraft(world):
            fetched_epoch = world.follower_fetches[row * world.sizes[0].width + other].broker_epoch
            is_eligible = is_known_eligible(world, known, broker, fetched_epoch)
        else:
            is_eligible = is_known_alive(world, known, broker)
        if not is_eligible:
            ineligible = replica_list.append(ineligible, other)
    return ineligible


@inner_rule
def runs_of(world: Brokers, row: int) -> Records[records.EpochEntry]:
    """The epoch runs of a replica's log."""
    hosted = world.hosted[row]
    return world.epoch_entries[hosted.first_entry : hosted.first_entry + hosted.epoch_room]


@inner_rule
def epochs_of(world: Brokers, row: int) -> Records[records.EpochEntry]:
    """The leader-epoch cache of a replica."""
    hosted = world.hosted[row]
    first = hosted.first_entry + hosted.epoch_room
    return world.epoch_entries[first : first + hosted.epoch_room]


@inner_rule
def keep_room_for_an_epoch(world: Brokers, row: int) -> None:
    """Give a replica twice the room for epochs if it has none left for one more.

    Arrays that ``runs_of`` and ``epochs_of`` gave before are not the replica's any more.
    """
    partition = world.replicas[row]
    room = world.hosted[row].epoch_room
    if max(partition.run_count, partition.epoch_count) == room:
        widen_epochs(world, row, 2 * room)


@rule
def widen_epochs(world: Brokers, row: int, room: int) -> None:
    """Move the epochs of a replica to the end of the table, with room for so many."""
    partition, hosted, pools = world.replicas[row], world.hosted[row], world.pools[0]
    runs, epochs = runs_of(world, row), epochs_of(world, row)
    first = pools.epoch_entries
    for index in range(partition.run_count):
        world.epoch_entries[first + index].epoch = runs[index].epoch
        world.epoch_entries[first + index].start_offset = runs[index].start_offset
    for index in range(partition.epoch_count):
        world.epoch_entries[first + room + index].epoch = epochs[index].epoch
        world.epoch_entries[first + room + index].start_offset = epochs[index].start_offset
    hosted.first_entry = first
    hosted.epoch_room = room
    pools.epoch_entries += 2 * room
    pools.epoch_room = max(pools.epoch_room, room)
    free = len(world.epoch_entries) - pools.epoch_entries
    if free < pools.epoch_reserve or pools.epoch_room > len(world.epochs_read):
        world.context[0].needs_room = True


@inner_rule
def listens(world: Brokers, broker: int) -> bool:
    """Whether a broker accepts connections: while it starts it does not yet.

    Source: KafkaServer.startup@2.6.3; SocketServer.Acceptor.start@3.5.0, KAFKA-14658.
    """
    state = world.brokers[broker]
    return state.loaded and state.port_opens_us <= world.context[0].time_us
