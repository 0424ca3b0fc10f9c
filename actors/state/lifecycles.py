"""The state of a KRaft cluster's broker: its registration and its metadata log.

In ZooKeeper mode there is none of these records.
"""

from tidegauge.compiled.records import Record, flag, i64
from tidegauge.compiled.rules import code
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
    #: A timer looks after the response.
    timer: flag


class LifecycleMemory(Record):
    """Memory that is gone with the process."""

    #: The registration or heartbeat, whose channel stays connected to whom it was sent to.
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
    #: When it was made; it may have been sent more than once since.
    made_us: i64
    #: The next one is sent as soon as that is answered.
    next_is_immediate: flag
    #: How many have failed, one after the other.
    failed_attempts: i64
    #: Log directories that are offline, those that the request in flight names, and those of
    #: which the controller knows: bits.
    offline_directories: i64
    named_directories: i64
    told_directories: i64

    # The metadata log, as an observer of it (KafkaRaftClient).
    #: The last fetch, to the leader, has timed out: the next one goes to another controller.
    leader_timed_out: flag
    #: Until then no fetch goes to the leader, as its connection was lost.
    leader_backs_off_until_us: i64
    #: How much of its log is committed.
    high_watermark: i64 = -1
    #: The newest epoch that it has heard of, its leader among the controllers (-1: unknown), and
    #: until when it believes in that one.
    leader_epoch: i64 = -1
    leader: i64 = -1
    leader_expires_us: i64
    #: The epoch of the leader that it has fetched from last.
    fetched_epoch: i64

    #: The process that the channel of AlterPartition is connected to; -1: none.
    isr_controller: i64 = -1

    # Publications (BrokerMetadataPublisher).
    phase: i64
    #: The end of what is published, and of what is being published.
    published_offset: i64
    publishing_offset: i64
    #: Events that hold the entries of what has come since the last publication began, and of what
    #: is being published; -1: none.
    pending: i64 = -1
    publishing: i64 = -1
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
    #: Fetches of the metadata log: so long a leader is believed in that does not answer, so long
    #: a request may take, so long it is waited after a failure.
    fetch_timeout_us: i64
    fetch_request_timeout_us: i64
    fetch_backoff_us: i64
    #: A fetch of the log, or of a snapshot, asks for so many bytes at most.
    metadata_fetch_max_bytes: i64
    snapshot_fetch_max_bytes: i64

    #: A snapshot is written after so many bytes of records, and after so long (0: not for that).
    snapshot_max_bytes: i64
    snapshot_interval_us: i64


class Lifecycle(LifecycleSettings, LifecycleMemory):
    """The settings, and what outlives the process."""

    #: The time-out of a registration or heartbeat, and the most that a resend waits; 0: a failed
    #: one is sent again after the interval.
    request_timeout_us: i64
    most_backoff_us: i64
    #: Controllers that are asked for the leader: bits.
    bootstrap_servers: i64
    #: The leader that is known is asked even if the fetch timeout is over (KAFKA-19354).
    returns_to_leader: flag

    #: Where the metadata log on its disk begins and ends.
    log_start_offset: i64
    log_end_offset: i64
    #: The broker epoch in its clean-shutdown files.
    clean_epoch: i64 = -1
    #: How many requests it has sent, how often one was planned, and how often a voter was drawn.
    requests: i64
    plans: i64
    voters_drawn: i64
