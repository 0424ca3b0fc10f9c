"""The state of a KRaft cluster's broker: its registration and its metadata log.

In ZooKeeper mode there is none of these records.
"""

from tidegauge.compiled.records import Record, flag, i64
from tidegauge.compiled.rules import code
from tidegauge.replication.records import ProducerIds
from tidegauge.simulation.sampled_stats import ChannelStats, SampledStat

# LifecycleMemory.state: Kafka's BrokerState.
NOT_RUNNING = code(0)
#: It registers, and catches up with the metadata log.
STARTING = code(1)
#: The controller has found that it is caught up; it is fenced.
RECOVERY = code(2)
#: It has been unfenced.
RUNNING = code(3)
PENDING_CONTROLLED_SHUTDOWN = code(4)

# LifecycleMemory.phase: of a publication.
#: None is under way.
IDLE = code(0)
#: The checkpoints are read.
READS_CHECKPOINTS = code(1)
LOADS_LOGS = code(2)
APPLIES = code(3)


class RequestInFlight(Record):
    """The one request of a connection to the controllers (``request_times.py``)."""

    #: Its correlation id; 0: there is none.
    number: i64
    #: To which process it was sent, and when.
    to: i64 = -1
    sent_us: i64
    #: A timer for the response is set.
    timer: flag


class LifecycleMemory(Record):
    """Memory that is gone with the process."""

    #: The registration or heartbeat, whose channel stays connected to its receiver.
    request: RequestInFlight
    fetch: RequestInFlight
    #: Measures of itself as an observer (Kafka: ``KafkaRaftMetrics``).
    channel: ChannelStats
    fetched_records: SampledStat

    # Registration and heartbeats (BrokerLifecycleManager).
    state: i64
    registered: flag
    #: The first metadata are published, and all the rest is ready.
    first_is_published: flag
    #: ... and the controller has found it caught up.
    ready_to_unfence: flag
    got_controlled_shutdown_response: flag
    #: The broker epoch before the last clean shutdown, for a registration; -1: there was none.
    previous_epoch: i64 = -1
    #: The time at which it was made; it may have been sent more than once since.
    made_us: i64
    #: The next one is sent as soon as that is answered.
    next_is_immediate: flag
    #: Number of attempts in a row that have failed.
    failed_attempts: i64
    #: Log directories that are offline, those that the request in flight names, and those of
    #: which the controller knows: bits.
    offline_directories: i64
    named_directories: i64
    told_directories: i64
    #: Those that are cordoned: bits.
    cordoned_directories: i64

    # The metadata log, as an observer of it (KafkaRaftClient).
    #: The last fetch, to the leader, has timed out: the next one goes to another controller.
    leader_timed_out: flag
    #: Until then no fetch goes to the leader, as its connection was lost.
    leader_backs_off_until_us: i64
    #: The end of its committed log.
    high_watermark: i64 = -1
    #: The newest epoch that it knows, its leader among the controllers (-1: unknown), and the time
    #: until which it counts that one as leader.
    leader_epoch: i64 = -1
    leader: i64 = -1
    leader_expires_us: i64
    #: The epoch of the leader that it has fetched from last.
    fetched_epoch: i64

    #: The process that the channel of AlterPartition is connected to; -1: none.
    isr_controller: i64 = -1

    #: Blocks of producer ids, the request for the next one, and when that was made; it may have
    #: been sent more than once since (``requests/producer_ids.py``).
    producer_ids: ProducerIds
    producer_ids_request: RequestInFlight
    producer_ids_made_us: i64

    # Publications (BrokerMetadataPublisher).
    phase: i64
    #: The end of the published log, and of the part that is being published.
    published_offset: i64
    publishing_offset: i64
    #: Events with the entries that arrived since the last publication began, and of the part that
    #: is being published; -1: none.
    pending: i64 = -1
    publishing: i64 = -1
    #: The time that the metadata loader's thread has worked, all of its present work included, and
    #: the end of that.
    loaded_us: i64
    loads_until_us: i64
    #: From there on bytes and time count for the next snapshot (SnapshotGenerator); -1: nothing is
    #: published yet.
    snapshot_from_offset: i64 = -1
    snapshot_from_us: i64


class LifecycleSettings(Record):
    """The settings of a broker in a quorum."""

    heartbeat_interval_us: i64
    registration_timeout_us: i64
    #: 0: no controller is notified of log directories that fail.
    log_dir_failure_timeout_us: i64
    #: Fetches of the metadata log: the timeout of a leader without a response, the timeout of a
    #: request, the retry back-off.
    fetch_timeout_us: i64
    fetch_request_timeout_us: i64
    fetch_backoff_us: i64
    #: A fetch of the log, or of a snapshot, asks for so many bytes at most.
    metadata_fetch_max_bytes: i64
    snapshot_fetch_max_bytes: i64

    #: A snapshot is written after so many bytes of records, and after this time (0: no limit of
    #: time).
    snapshot_max_bytes: i64
    snapshot_interval_us: i64

    #: Of the controllers, and of the connection to them: releases before 4.0.1 take a timeout of
    #: requests from these.
    session_timeout_us: i64
    controller_socket_timeout_us: i64


class Lifecycle(LifecycleSettings, LifecycleMemory):
    """The settings, and the state that outlives the process."""

    # Switches by its release (``metadata_publisher.py``).
    #: The time-out of a registration or heartbeat, and the most that a resend waits; 0: a failed
    #: one is sent again after the interval.
    request_timeout_us: i64
    most_backoff_us: i64
    #: Controllers that are asked for the leader, and those of controller.quorum.bootstrap.servers:
    #: bits.
    bootstrap_servers: i64
    configured_servers: i64
    #: The leader that is known is asked even if the fetch timeout is over (KAFKA-19354).
    returns_to_leader: flag
    #: Its heartbeats tell its cordoned log directories (KIP-1066).
    tells_cordoned_directories: flag

    #: Begin and end of the metadata log on its disk.
    log_start_offset: i64
    log_end_offset: i64
    #: cordoned.log.dirs in its file: bits.
    cordoned_log_dirs: i64
    #: The broker epoch in its clean-shutdown files.
    clean_epoch: i64 = -1
    #: Numbers of requests sent, of planned requests, and of random draws of a voter.
    requests: i64
    plans: i64
    voters_drawn: i64
