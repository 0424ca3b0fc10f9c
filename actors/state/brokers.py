"""The state of a broker: its tables, one record per broker, replica, fetcher, thread.

Tables cover the whole cluster, and a group touches the rows of the brokers that it hosts.
A replica's *row* is its place in ``Topology.slots``.
"""

from tidegauge.actors.state.lifecycles import Lifecycle
from tidegauge.actors.state.machines import CachedLog
from tidegauge.actors.state.request_stats import RequestStats, ZooKeeperClientStats
from tidegauge.compiled.lists import LinkedList
from tidegauge.compiled.records import Record, Records, flag, i64
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import records
from tidegauge.simulation.bandwidth import Bandwidth
from tidegauge.simulation.kernel import Context
from tidegauge.simulation.messages.event import EventList
from tidegauge.simulation.metadata_log import MetadataPosition, is_known_alive, is_known_eligible
from tidegauge.simulation.sampled_stats import Bucket, ErrorCount
from tidegauge.simulation.topology import Cluster, is_kraft

#: Brokers' clocks start here, so that time 0 lies further back than any lag time: Kafka
#: uses 0 for "never caught up".
CLOCK_OFFSET_MS = code(1_000_000_000_000)

#: With so many entries a response to a follower takes no further records: each batch of an
#: idempotent producer in it is an entry.
MOST_ENTRIES_TOLD = code(4096)
#: So many partitions of produce requests are answered by one event at most.
MOST_EXPIRED = code(1024)

#: Epochs that one answer can bring of a partition; the rest is fetched again.
RUNS_PER_ANSWER = code(4)
#: So much room for epochs is kept free in each replica: one answer, and taking over.
EPOCH_MARGIN = code(6)

#: A thread that waits for ZooKeeper is free at no known time.
NEVER_US = code(2**62)


class BrokerMemory(Record):
    """A broker's memory: gone with the process, reset as a whole."""

    # Request handlers.
    #: Requests that wait for one.
    queue: EventList

    # Its process.
    #: Those that its process does not use any more: bits.
    offline_directories: i64
    #: ... of which the controller has still to be told.
    untold_failures: i64
    #: Its logs are loaded; they had to be recovered, as it was not stopped cleanly.
    loaded: flag
    recovered: flag
    #: From when on it listens, then; and from when on it takes requests, and can be stopped.
    port_opens_us: i64
    ready_us: i64

    # A clean stop.
    stopping: flag
    #: It has been told to stop, and is: only its session and its end are left.
    ends: flag
    shutdown_attempt: i64
    #: It has to look again who is controller: the session was gone when it did.
    look_lost: flag
    #: The request to the controller that is in flight, and when it was sent; 0: none.
    shutdown_request: i64
    shutdown_sent_us: i64
    #: The process that it was sent to.
    shutdown_controller: i64
    #: Its ZooKeeper session: the number that ZooKeeper gave it, -1 without one.
    session: i64 = -1
    #: The session that its controller has been told of.
    told_session: i64 = -1
    #: The session has expired, which it finds out when it has connected anew.
    reconnecting: flag
    #: When ZooKeeper was heard last, and when something was sent to it.
    zookeeper_heard_us: i64
    zookeeper_sent_us: i64
    #: A LeaderAndIsr gives it partitions whose topics' settings it reads.
    reads_topic_configs: flag
    #: The czxid of its registration.
    broker_epoch: i64 = -1
    #: Epoch of the controller that it obeys.
    controller_epoch: i64 = -1
    #: Any of its replicas is throttled (``HostedReplica``).
    throttles: flag
    #: Its one thread that reads __consumer_offsets is busy until then.
    offsets_load_until_us: i64

    # Request handlers.
    #: When the queue is looked at again; 0: no timer is set.
    handler_due_us: i64
    #: When acks=all produces that wait are looked at for their time-out; 0: never.
    produces_expire_us: i64
    #: highwatermark-checkpoint has been started.
    checkpoints_high_watermarks: flag

    # isr-expiration.
    #: When its next run is due.
    expiration_due_us: i64
    #: A run is on, and at which replica it waits.
    expiring: flag
    expiring_row: i64 = -1

    # isr-change-propagation.
    #: Partitions in the set of changes: a list of replicas.
    first_changed: i64 = -1
    last_changed: i64 = -1
    changed_count: i64
    last_isr_change_ms: i64
    last_isr_propagation_ms: i64
    #: A notification is being written: how many of the set it covers.
    propagating: i64
    propagation_time_ms: i64
    propagation_due_us: i64
    #: The session of the write was gone; it is sent again under the next.
    notification_lost: flag

    # AlterPartition (leaders/alter_partition.py).
    #: The controller's broker, as the last UpdateMetadata named it; -1 none.
    known_controller: i64 = -1
    #: Partitions whose proposals have still to be answered.
    submitted_isrs: i64
    #: The request that is on its way, kept to be sent again: an event; -1 none.
    alter_partition: i64 = -1
    alter_partition_sent_us: i64
    alter_partition_controller: i64 = -1
    #: A timer looks after its answer; and when it is time to send (again).
    alter_partition_deadline: flag
    alter_partition_due_us: i64


class BrokerSettings(Record):
    """A broker's settings (server.properties), under Kafka's names."""

    replica_lag_time_max_ms: i64
    replica_fetch_wait_max_ms: i64
    replica_fetch_min_bytes: i64
    replica_fetch_max_bytes: i64
    replica_fetch_response_max_bytes: i64
    #: The most that it answers a fetch; before there was the setting, as much as is asked for.
    fetch_max_bytes: i64
    replica_fetch_backoff_ms: i64
    replica_socket_timeout_ms: i64
    num_replica_fetchers: i64
    num_io_threads: i64
    log_flush_interval_messages: i64
    log_flush_offset_checkpoint_interval_ms: i64
    log_initial_task_delay_ms: i64
    replica_high_watermark_checkpoint_interval_ms: i64
    controlled_shutdown_enable: flag
    controller_socket_timeout_ms: i64
    offsets_commit_timeout_ms: i64


class ZooKeeperBrokerSettings(Record):
    """Settings that have no meaning with KRaft."""

    zookeeper_session_timeout_ms: i64
    isr_change_check_interval_ms: i64
    isr_change_quiet_ms: i64
    isr_change_max_delay_ms: i64
    isr_change_batching: flag
    controlled_shutdown_max_retries: i64
    controlled_shutdown_retry_backoff_ms: i64


class Broker(BrokerSettings, ZooKeeperBrokerSettings, BrokerMemory):
    """One broker: its settings, its machine, and what outlives its process."""

    #: replica.selector.class: a consumer is sent to a replica in its rack (KIP-392).
    selects_by_rack: flag
    #: log.retention.check.interval.ms; 0: no log of it ever has anything to delete.
    log_retention_check_interval_ms: i64

    # The machine that it runs on.
    #: How long after an exit of its own it is started again; -1: never.
    restart_after_exit_us: i64 = -1
    #: After how long the operating system has put on disk what was appended.
    write_back_us: i64
    #: How many log directories it has.
    log_directories: i64
    #: How long a disk takes to write a directory's share of the memory for dirty pages.
    dirty_us: i64
    #: Until when an append waits to the directory whose disk is behind most; -1: never so far.
    writes_wait_until_us: i64 = -1
    #: The page cache: size of one of its generations, which of them is filled now, and how many
    #: bytes are left of it (``storage/disks.py``).
    generation_bytes: i64 = 1
    generation: i64
    generation_left_bytes: i64 = 1
    #: Those to which a write fails now, and those of them that cannot be read: bits.
    failing_directories: i64
    unreadable_directories: i64
    #: Only a test has it so: ISRs are written to ZooKeeper whatever version is there.
    isr_written_unconditionally: flag

    # Its process.
    #: How often it was started.
    starts: i64
    #: Log directories that were left cleanly (.kafka_cleanshutdown is there): bits.
    clean_directories: i64
    #: How many losses of power it has seen.
    power_losses: i64

    # A clean stop.
    #: Checkpoints that are to be files: bits as in ``storage/checkpoints.py``.
    files_due: i64
    #: Where its threads lie in ``Brokers.threads``.
    first_thread: i64
    #: How many it has asked for.
    connects: i64
    zookeeper_servers: i64
    #: First and last of the logs that it has on disk, whether it hosts their partitions now or not.
    first_log: i64 = -1
    last_log: i64 = -1

    # AlterPartition (leaders/alter_partition.py).
    #: How often one was sent, when it was last (-1: it has still to be sent), and to whom.
    alter_partition_sends: i64

    # Counted over all its processes.
    failed_isr_updates: i64
    notifications: i64
    #: Bytes appended by replicas that a reassignment adds.
    reassignment_bytes: i64
    #: Records that a retry has brought again, and that were not appended again.
    records_deduplicated: i64


class BrokerStats(Record):
    """Counts of a broker's process for JMX (``broker_stats.py``)."""

    isr_shrinks: i64
    isr_expands: i64
    failed_isr_updates: i64
    isr_change_notifications: i64
    #: Bytes appended by followers, and sent to them; and of it those of reassignments.
    replication_bytes_in: i64
    replication_bytes_out: i64
    reassignment_bytes_in: i64
    reassignment_bytes_out: i64


class BrokerTopicStats(Record):
    """Counts of a broker's process about a topic (Kafka: ``BrokerTopicMetrics``)."""

    #: Bytes appended for producers, and sent to consumers.
    messages_in: i64
    bytes_in: i64
    bytes_out: i64
    #: Partitions to be appended to, and read: a request has several.
    produce_requests: i64
    failed_produce_requests: i64
    fetch_requests: i64


class ReplicaMemory(Record):
    """The memory of a broker's process about a replica."""

    # The partition's lock: an ISR write is made inside it.
    #: Requests that wait for the lock.
    waiting: EventList
    #: The broker has been told that it hosts it.
    exists: flag
    #: It cannot host it: the log directory is offline.
    offline: flag

    # The partition's lock: an ISR write is made inside it.
    locked: flag
    #: The ISR that is being written, and who waits for it.
    written_isr: i64
    #: The rows in which another ISR was asked for, and with which it followed, last; -1: none.
    isr_row: i64 = -1
    follows_row: i64 = -1
    #: The request that expands the ISR; -1: isr-expiration shrinks it.
    writing_request: i64 = -1
    lag_ms: i64
    #: The write was refused because the session was gone; it is sent again under the next.
    write_lost: flag
    #: A partition of __consumer_offsets: its groups are coordinated here; it is being read.
    coordinates: flag
    loads_offsets: flag
    #: Settings of its topic throttle it: what it sends as leader, or fetches as follower.
    leader_throttled: flag
    follower_throttled: flag
    #: 1 + the step that looks at it and waits for the lock, as a fetch would; 0: none.
    observer: i64

    # AlterPartition: what the leader has proposed and is not answered (``AlterPartitionItem``).
    #: The ISR, and in which leader epoch and partition epoch; an empty list: nothing.
    submitted_isr: i64
    submitted_leader_epoch: i64
    submitted_partition_epoch: i64

    #: The newest entry about it in the metadata that is being published (``metadata``).
    published_item: i64 = -1

    # isr-change-propagation.
    changed: flag
    #: ... and once more while the notification about it is being written.
    changed_again: flag
    next_changed: i64 = -1

    # The fetcher that it is in, if it follows.
    fetcher: i64 = -1
    next_in_fetcher: i64 = -1
    #: How far it is behind the leader's high watermark, as of the last answer (Kafka:
    #: ``FetcherLagMetrics``); -1 before the first.
    fetcher_lag: i64
    delayed_until_us: i64
    #: Its fetch offset has moved since its fetcher asked last; the next of those.
    moved: flag
    next_moved: i64

    # Ranges acknowledged by its leader since the last row about it: one per acks.
    acknowledged_all_first: i64
    acknowledged_all_end: i64
    acknowledged_leader_first: i64
    acknowledged_leader_end: i64


class HostedReplica(ReplicaMemory):
    """A broker's state of a replica beside the replica itself."""

    broker: i64
    partition: i64
    #: The next log of the broker.
    next_log: i64 = -1
    #: The producer of its last batch, the first of a list; -1: no idempotent one has written to it.
    #: Producer snapshots keep it on disk.
    first_producer: i64 = -1


class CommittedOffset(Record):
    """A coordinator's cache of an offset that a group commits."""

    #: -1: none.
    offset: i64 = -1


class GroupMember(Record):
    """A coordinator's state of a consumer."""

    #: It is a member, in this of its starts (``Client.restarts``).
    present: flag
    start: i64
    heard_us: i64
    #: A timer looks whether it is still heard.
    watched: flag


class BrokerTopic(Record):
    """The settings of a topic as a broker has read them last."""

    min_insync_replicas: i64
    unclean_leader_election: flag


class LogOnDisk(Record):
    """The state of a replica, beside its log, that outlives its broker's process.

    The leader-epoch cache is written to its file at each change, so the cache is the file.
    """

    #: There is a folder for it, in this log directory.
    exists: flag
    directory: i64
    #: The id of its topic, with KRaft; a topic that is created again under its name has another.
    topic_id: i64 = -1
    #: Values of the checkpoints; -1: it is not in them.
    high_watermark: i64 = -1
    recovery_point_checkpoint: i64 = -1
    #: Up to here the log was flushed (Kafka: ``Log.recoveryPoint``).
    recovery_point: i64
    #: Records that the partition had before the run: they expire by their age.
    existing_records: i64
    #: How many marks of appends were set (``storage/logs.py``).
    marks: i64
    #: Its epochs have changed, and are not in a real file yet.
    epochs_due: flag


class ProducerConnection(Record):
    """A producer's connection, as its broker has it: one request at a time is handled."""

    #: Produce requests that wait for their turn.
    waiting: EventList
    #: When the response to the last one has left; whether one is being handled.
    free_us: i64
    busy: flag


class HeldProducer(Record):
    """An idempotent producer that a replica knows: its place is that of its state."""

    #: The next producer of the replica, whose last batch is older; or the next of the free ones.
    next: i64


class AppendMark(Record):
    """A span of appends to a log: when it began, and at which offset."""

    time_us: i64
    offset: i64


class KeptLog(Record):
    """The end of a replica's log that a scenario pins through a loss of power."""

    fault: i64
    row: i64
    offset: i64


class FollowerFetch(Record):
    """A leader's state of one follower's fetches of a partition (Kafka: ``CachedPartition``)."""

    #: It is in the session of this fetcher, and the next of that in no particular order.
    in_session: flag
    fetcher: i64
    next_in_session: i64
    #: The next fetch looks at it; and the next of those.
    active: flag
    next_active: i64
    #: It has to be read before it may rest.
    unread: flag
    #: The follower's last request.
    topic_id: i64 = -1
    fetch_offset: i64
    leader_epoch: i64
    last_fetched_epoch: i64
    #: High watermark and log start of the last answer of the session that named the
    #: partition, -1 if none has.
    session_high_watermark: i64 = -1
    session_log_start_offset: i64 = -1
    #: The high watermark that its last fetch has read (Kafka: ``lastSentHighWatermark``).
    last_sent_high_watermark: i64
    #: The epoch of the follower's broker in its last request (KIP-903); -1: it did not tell.
    broker_epoch: i64 = -1
    #: How often the session had been read when it joined.
    reads_before: i64


class Fetcher(Record):
    """A ReplicaFetcherThread: one of a broker, for one source broker."""

    broker: i64
    source_broker: i64
    #: Replicas that it fetches: a list.
    first_row: i64 = -1
    last_row: i64 = -1
    row_count: i64
    #: Number of the request in flight; 0 if none is.
    in_flight: i64
    requests: i64
    #: The replica whose fetch offset was out of range and is being looked up; -1 none.
    looking_up: i64 = -1
    #: When the request in flight fails, and whether a timer is set for that.
    deadline_us: i64
    deadline_timer: flag
    #: A timer is set for its next round; nothing else wakes it before ``asleep_until_us``.
    wake_timer: flag
    asleep_until_us: i64
    #: Its leader has a session with all of its partitions, and all of them are fetched:
    #: requests name those whose fetch offsets have moved, which are a list.
    in_session: flag
    first_moved: i64 = -1
    last_moved: i64 = -1


class FetchSession(Record):
    """A leader's state of a fetcher of another broker (``fetches/fetch_sessions.py``).

    Partitions are places in ``Brokers.follower_fetches``.
    """

    first: i64 = -1
    partition_count: i64
    #: How often all of them were read.
    reads: i64
    #: Those that the next fetch looks at: a list.
    first_active: i64 = -1
    last_active: i64 = -1
    #: When all others were fetched last, at their log ends.
    fetched_ms: i64
    #: The request that lies in the purgatory: an event; -1 none.
    waiting: i64 = -1
    #: A timer is set for it, or for one before it.
    expiry_timer: flag


class IoThread(Record):
    """A KafkaRequestHandler."""

    #: When it can take the next request; NEVER_US while it waits for a lock.
    free_us: i64
    #: How long it has waited for requests, in all, up to the last one, and when it took that.
    idle_us: i64
    taken_us: i64


class Watch(Record):
    """One delayed operation in the list of a partition that it waits for."""

    event: i64
    next: i64


class WatchList(Record):
    """The delayed operations that wait for one replica, in order of their coming."""

    first: i64 = -1
    last: i64 = -1


class Pools(Record):
    """Free slots: one record."""

    free_watch: i64 = -1
    free_watches: i64
    #: How many entries each replica has room for in ``runs`` and ``epochs``.
    epoch_room: i64
    free_producer: i64 = -1
    free_producers: i64
    #: So many are kept free while a handler runs.
    producer_reserve: i64


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
    #: At ``broker * log_directories + directory``: what is read from disks, and written to them.
    disk_reads: Records[Bandwidth]
    disk_writes: Records[Bandwidth]
    #: By replica.
    cached_logs: Records[CachedLog]
    replicas: Records[records.Partition]
    hosted: Records[HostedReplica]
    fetch_states: Records[records.PartitionFetchState]
    #: Of replica ``row``: from ``row * width`` on, one per slot.
    followers: Records[records.RemoteReplica]
    follower_fetches: Records[FollowerFetch]
    #: Of replica ``row``: from ``row * epoch_room`` on.
    runs: Records[records.EpochEntry]
    epochs: Records[records.EpochEntry]
    #: At ``(broker * broker_count + source broker) * fetchers + number``.
    fetchers: Records[Fetcher]
    #: ... and the source broker's side of each, at the same place.
    fetch_sessions: Records[FetchSession]
    watches: Records[Watch]
    #: At ``broker * clients + client`` (``fetches/producer_connections.py``).
    producer_connections: Records[ProducerConnection]
    #: The purgatories of each replica.
    delayed_fetches: Records[WatchList]
    delayed_produces: Records[WatchList]
    #: How far each broker has read what controllers tell all brokers
    #: (``simulation/metadata_log.py``).
    known_metadata: Records[MetadataPosition]
    #: A client's knowledge while it is compared with theirs: one record.
    asked_metadata: Records[MetadataPosition]
    #: At ``broker * topic_count + topic``.
    broker_topics: Records[BrokerTopic]
    #: At ``broker * keys + key`` and ``broker * clients + client``
    #: (``simulation/offset_commits.py``).
    committed_offsets: Records[CommittedOffset]
    group_members: Records[GroupMember]
    #: At ``2 * broker + which``: LEADER_QUOTA or FOLLOWER_QUOTA of
    #: ``replication/replication_quota.py``.
    quotas: Records[records.ReplicationQuota]
    quota_samples: Records[records.QuotaSample]
    on_disk: Records[LogOnDisk]
    #: Of replica ``row``: from ``row * MARKS`` on; none if nobody loses power.
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
    #: One partition of a LeaderAndIsr, while a rule looks at it: one record.
    told_state: Records[records.LeaderAndIsr]
    #: By broker; none in ZooKeeper mode.
    lifecycles: Records[Lifecycle]


#: Logs of a broker, and those of them whose ISR change is still to be propagated.
LOGS = LinkedList("hosted", "next_log", "first_log", "last_log")
ISR_CHANGES = LinkedList("hosted", "next_changed", "first_changed", "last_changed")
#: Replicas of a fetcher thread, and those of them whose fetch offset has moved.
FETCHED = LinkedList("hosted", "next_in_fetcher", "first_row", "last_row")
MOVED = LinkedList("hosted", "next_moved", "first_moved", "last_moved")
#: Partitions of a fetch session, and those of them that the next fetch looks at.
IN_SESSION = LinkedList("follower_fetches", "next_in_session", "first")
ACTIVE = LinkedList("follower_fetches", "next_active", "first_active", "last_active")
#: Delayed operations of a purgatory (``WatchList``), and free places for them (``Pools``).
WATCHES = LinkedList("watches", "next", "first", "last")
FREE_WATCHES = LinkedList("watches", "next", "free_watch")
#: Producers of a replica, those with the newest batches first, and free places for them.
PRODUCERS = LinkedList("held_producers", "next", "first_producer")
FREE_PRODUCERS = LinkedList("held_producers", "next", "free_producer")


@inner_rule
def now_ms(context: Context) -> int:
    """Milliseconds of the brokers' clock: rounded down, as Kafka's are."""
    return CLOCK_OFFSET_MS + context.time_us // 1000


@inner_rule
def ineligible_replicas(world: Brokers, row: int) -> int:
    """Replicas whose brokers the metadata cache of this replica's broker has not as alive.

    In KRaft mode also those whose brokers are in controlled shutdown, or have another epoch than
    that with which they have fetched last (KIP-903).

    Source: Partition.isReplicaIsrEligible and isBrokerEpochIsrEligible@3.5.0.
    """
    slot = world.slots[row]
    facts = world.partitions[slot.partition]
    ineligible = records.EMPTY
    for other in range(facts.slot_count):
        broker = world.slots[facts.first_slot + other].broker
        known = world.known_metadata[slot.broker]
        if is_kraft(world):
            fetched_epoch = world.follower_fetches[row * world.sizes[0].width + other].broker_epoch
            is_eligible = is_known_eligible(world, known, broker, fetched_epoch)
        else:
            is_eligible = is_known_alive(world, known, broker)
        if not is_eligible:
            ineligible = records.append(ineligible, other)
    return ineligible


@inner_rule
def runs_of(world: Brokers, row: int) -> Records[records.EpochEntry]:
    """The epoch runs of a replica's log."""
    room = world.pools[0].epoch_room
    return world.runs[row * room : (row + 1) * room]


@inner_rule
def epochs_of(world: Brokers, row: int) -> Records[records.EpochEntry]:
    """The leader-epoch cache of a replica."""
    room = world.pools[0].epoch_room
    return world.epochs[row * room : (row + 1) * room]


@inner_rule
def listens(world: Brokers, broker: int) -> bool:
    """Whether a broker accepts connections: while it starts it does not yet.

    Source: KafkaServer.startup@2.6.3; SocketServer.Acceptor.start@3.5.0, KAFKA-14658.
    """
    state = world.brokers[broker]
    return state.loaded and state.port_opens_us <= world.context[0].time_us
