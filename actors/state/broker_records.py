"""Records of a broker and its topics: memory of its process, settings, counts, request handlers."""

from tidegauge.compiled.lists import Slots
from tidegauge.compiled.records import Record, flag, i32, i64
from tidegauge.simulation.messages.event import EventList


class BrokerMemory(Record):
    """A broker's memory: gone with the process, reset as a whole."""

    # Request handlers.
    #: Requests that wait for one.
    queue: EventList

    # Its process.
    #: Those that its process has stopped using: bits.
    offline_directories: i64
    #: ... of which the controller does not know yet.
    untold_failures: i64
    #: Its logs are loaded; they had to be recovered, as it was not stopped cleanly.
    loaded: flag
    recovered: flag
    #: The time from which it listens; and the time from which it takes requests and can be stopped.
    port_opens_us: i64
    ready_us: i64
    #: It has still to register, and takes no request before.
    registers: flag

    # A clean stop.
    stopping: flag
    #: It stops in a controlled way: only its session and its end are left.
    ends: flag
    shutdown_attempt: i64
    #: It has to read /controller again: the session was lost at the first read.
    look_lost: flag
    #: The request to the controller that is in flight, and when it was sent; 0: none.
    shutdown_request: i64
    shutdown_sent_us: i64
    #: The process that it was sent to.
    shutdown_controller: i64
    #: Its ZooKeeper session: the number that ZooKeeper gave it, -1 without one.
    session: i64 = -1
    #: The session that its controller knows.
    told_session: i64 = -1
    #: The session has expired, which it finds out when it has connected again.
    reconnecting: flag
    #: Times of the last message from ZooKeeper, and of the last message to it.
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
    #: The next time at which the queue is served; 0: no timer is set.
    handler_due_us: i64
    #: The time at which pending acks=all produces are checked for their timeout; 0: never.
    produces_expire_us: i64
    #: highwatermark-checkpoint has been started.
    checkpoints_high_watermarks: flag

    # isr-expiration.
    #: The time of its next run.
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
    #: A notification is being written: the number of its partitions.
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
    #: A timer for its response is set; and the time to send (again).
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
    """One broker: its settings, its machine, and the state that outlives its process."""

    #: replica.selector.class: a consumer is sent to a replica in its rack (KIP-392).
    selects_by_rack: flag
    #: log.retention.check.interval.ms; 0: no log of it ever has anything to delete.
    log_retention_check_interval_ms: i64

    # The machine that it runs on.
    #: Delay of the restart after an exit of its own; -1: it is not restarted.
    restart_after_exit_us: i64 = -1
    #: The age at which the operating system has written a page to disk.
    write_back_us: i64
    #: Number of its log directories.
    log_directories: i64
    #: Time in which a disk writes a directory's share of the memory for dirty pages.
    dirty_us: i64
    #: The time until which appends to the directory with the largest backlog wait; -1: none has
    #: waited.
    writes_wait_until_us: i64 = -1
    #: The page cache: size of one of its generations, the number of the present one, and its free
    #: bytes (``storage/disks.py``).
    generation_bytes: i64 = 1
    generation: i64
    generation_left_bytes: i64 = 1
    #: Those to which a write fails now, and those of them that cannot be read: bits.
    failing_directories: i64
    unreadable_directories: i64

    # Its process.
    #: Number of its starts.
    starts: i64
    #: Log directories that were left cleanly (.kafka_cleanshutdown is there): bits.
    clean_directories: i64
    #: Number of its losses of power.
    power_losses: i64

    # A clean stop.
    #: Checkpoints that are to be files: bits as in ``storage/checkpoints.py``.
    files_due: i64
    #: The first of its threads in ``Brokers.threads``.
    first_thread: i64
    #: Number of connections that it has asked for.
    connects: i64
    zookeeper_servers: i64
    #: First and last of the logs that it has on disk, whether it hosts their partitions now or not.
    first_log: i64 = -1
    last_log: i64 = -1

    # AlterPartition (leaders/alter_partition.py).
    #: The number of them that were sent, the time of the last one (-1: it is not sent yet), and its
    #: receiver.
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
    #: A timer for its session timeout is set.
    watched: flag


class BrokerTopic(Record):
    """The settings of a topic as a broker has read them last."""

    min_insync_replicas: i64
    unclean_leader_election: flag


class ProducerConnection(Record):
    """A producer's connection, as its broker has it: one request at a time is handled."""

    #: Produce requests that wait for their turn.
    waiting: EventList
    #: The time at which the response to the last request has left; whether a request is being
    #: handled.
    free_us: i64
    busy: flag


class IoThread(Record):
    """A KafkaRequestHandler."""

    #: The time from which it can take the next request; NEVER_US while it waits for a lock.
    free_us: i64
    #: Total time without a request, up to the last one; and the time at which it took that.
    idle_us: i64
    taken_us: i64


class Watch(Record):
    """One delayed operation in the list of a partition that it waits for."""

    event: i64
    #: Its entry about the partition, if it is a produce.
    entry: i64
    next: i64


class WatchList(Record):
    """The delayed operations that wait for one replica, in order of their coming."""

    first: i32 = -1
    last: i32 = -1


class Pools(Record):
    """Free slots: one record."""

    #: Fetcher threads of a broker for each source broker: the most of all brokers.
    fetchers_of_source: i64
    watch_slots: Slots
    producer_slots: Slots
    #: The used part of ``epoch_entries``, the entries behind it that are kept free while a handler
    #: runs, the most replicas of a broker, and the most room that any replica has.
    epoch_entries: i64
    epoch_reserve: i64
    most_replicas: i64
    epoch_room: i64
    #: Entries that are kept free while a handler runs.
    producer_reserve: i64


class BrokerGauges(Record):
    """A broker's gauges at its last sample."""

    partitions: i64
    leaders: i64
    under_replicated: i64
    under_min_isr: i64
    at_min_isr: i64
    reassigning: i64


class SampledBroker(BrokerGauges):
    """A broker at its last sample."""

    #: Its replicas that may have changed since, and those that had changed then and since the last
    #: checkpoint of high watermarks: lists.
    first_changed: i64 = -1
    last_changed: i64 = -1
    first_unwritten: i64 = -1
    last_unwritten: i64 = -1
