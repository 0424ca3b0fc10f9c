"""Records of a replica at its broker: memory of the process, its log on disk, its fetches.

A replica's *row* is its place in ``Topology.slots``.
"""

from tidegauge.compiled.records import Record, flag, i32, i64
from tidegauge.simulation.messages.event import EventList


class ReplicaMemory(Record):
    """The memory of a broker's process about a replica."""

    # The partition's lock: an ISR write is made inside it.
    #: Requests that wait for the lock.
    waiting: EventList
    #: The broker hosts it.
    exists: flag
    #: It cannot host it: the log directory is offline.
    offline: flag

    # The partition's lock: an ISR write is made inside it.
    locked: flag
    #: The ISR that is being written, and the requests that wait for it.
    written_isr: i64
    #: The rows in which another ISR was asked for, and with which it followed, last; -1: none.
    isr_row: i64 = -1
    follows_row: i64 = -1
    #: The request that expands the ISR; -1: isr-expiration shrinks it.
    writing_request: i32 = -1
    lag_ms: i64
    #: The write was refused because the session was gone; it is sent again under the next.
    write_lost: flag
    #: A partition of __consumer_offsets: its groups are coordinated here; it is being read.
    coordinates: flag
    loads_offsets: flag
    #: Settings of its topic throttle it: as leader when it sends, or as follower when it fetches.
    leader_throttled: flag
    follower_throttled: flag
    #: 1 + the step that observes it and waits for the lock, as a fetch would; 0: none.
    observer: i32

    # AlterPartition: the leader's proposal without a response (``AlterPartitionItem``).
    #: The ISR, and in which leader epoch and partition epoch; an empty list: nothing.
    submitted_isr: i64
    submitted_leader_epoch: i32
    submitted_partition_epoch: i32

    #: The newest entry about it in the metadata that is being published (``metadata``).
    published_item: i32 = -1

    # isr-change-propagation.
    changed: flag
    #: ... and once more while the notification about it is being written.
    changed_again: flag
    next_changed: i32 = -1

    # The fetcher that it is in, if it follows.
    fetcher: i32 = -1
    next_in_fetcher: i32 = -1
    #: Records between its log end and the leader's high watermark, as of the last response (Kafka:
    #: ``FetcherLagMetrics``); -1 before the first.
    fetcher_lag: i64
    delayed_until_us: i64
    #: Its fetch offset has moved since its fetcher asked last; the next of those.
    moved: flag
    next_moved: i32

    # Ranges acknowledged by its leader since the last row about it: one per acks.
    acknowledged_all_first: i64
    acknowledged_all_end: i64
    acknowledged_leader_first: i64
    acknowledged_leader_end: i64


class HostedReplica(ReplicaMemory):
    """A broker's state of a replica beside the replica itself."""

    broker: i32
    partition: i32
    #: The next log of the broker.
    next_log: i32 = -1
    #: The producer of its last batch, the first of a list; -1: no idempotent one has written to it.
    #: Producer snapshots keep it on disk.
    first_producer: i32 = -1
    #: Its epoch runs and its leader-epoch cache: the first of its places in
    #: ``Brokers.epoch_entries``, and the number of entries that each of the two has room for.
    first_entry: i32
    epoch_room: i32


class LogOnDisk(Record):
    """The state of a replica, beside its log, that outlives its broker's process.

    The leader-epoch cache is written to its file at each change, so the cache is the file.
    """

    #: There is a folder for it, in this log directory.
    exists: flag
    directory: i64
    #: The log directory of its future log, where it ends, and whether a flush runs as it takes the
    #: place of the log (``process/log_dir_moves.py``); -1: the replica is not moved.
    future_directory: i64 = -1
    future_end_offset: i64
    flushed_as_moved: flag
    #: The id of its topic, with KRaft; a topic that is created again under its name has another.
    topic_id: i64 = -1
    #: Values of the checkpoints; -1: it is not in them.
    high_watermark: i64 = -1
    recovery_point_checkpoint: i64 = -1
    #: Up to here the log was flushed (Kafka: ``Log.recoveryPoint``).
    recovery_point: i64
    #: Records that the partition had before the run: they expire by their age.
    existing_records: i64
    #: Number of marks of appends (``storage/logs.py``).
    marks: i32
    #: Its epochs have changed, and are not in a real file yet.
    epochs_due: flag


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
    fetcher: i32
    next_in_session: i32
    #: The next fetch reads it; and the next of those.
    active: flag
    next_active: i32
    #: It has to be read before it may rest.
    unread: flag
    #: The follower's last request.
    topic_id: i64 = -1
    fetch_offset: i64
    leader_epoch: i32
    last_fetched_epoch: i32
    #: High watermark and log start of the last answer of the session that named the
    #: partition, -1 if none has.
    session_high_watermark: i64 = -1
    session_log_start_offset: i64 = -1
    #: The high watermark that its last fetch has read (Kafka: ``lastSentHighWatermark``).
    last_sent_high_watermark: i64
    #: The epoch of the follower's broker in its last request (KIP-903); -1: the request had none.
    broker_epoch: i64 = -1
    #: The session's number of reads at the time it joined.
    reads_before: i64


class Fetcher(Record):
    """A ReplicaFetcherThread: one of a broker, for one source broker."""

    broker: i64
    source_broker: i64
    #: Replicas that it fetches: a list.
    first_row: i64 = -1
    last_row: i64 = -1
    row_count: i64
    #: Number of the request in flight; 0: none.
    in_flight: i64
    requests: i64
    #: The replica whose fetch offset was out of range and is being looked up; -1 none.
    looking_up: i64 = -1
    #: The timeout of the request in flight, and whether its timer is set.
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
    #: The epoch of its broker in its last request (KIP-903).
    replica_epoch: i64 = -1


class FetchSession(Record):
    """A leader's state of a fetcher of another broker (``fetches/fetch_sessions.py``).

    Partitions are places in ``Brokers.follower_fetches``.
    """

    first: i64 = -1
    partition_count: i64
    #: Number of times that all of them were read.
    reads: i64
    #: Those that the next fetch reads: a list.
    first_active: i64 = -1
    last_active: i64 = -1
    #: The last time at which all others were fetched, at their log ends.
    fetched_ms: i64
    #: The request that lies in the purgatory: an event; -1 none.
    waiting: i64 = -1
    #: The time of the timer that is set for it, or for one before it; 0: none is set.
    expiry_us: i64
    #: The last request that named a partition whose fetch offset has moved; the one that waits did
    #: so soon after another one: there is traffic.
    named_us: i64
    has_traffic: flag
    #: The epoch of the fetcher's broker in the last request (KIP-903).
    replica_epoch: i64 = -1


class IdleStage(Record):
    """How far a fetch has got whose events are computed (the room ``idle_fetches``)."""

    #: The time and the number of the next event.
    due_us: i64
    sequence: i64
    #: The time at which the last request was sent, and at which the last one arrived.
    asked_us: i64
    arrived_us: i64
    #: The number of the last request.
    requests: i64
    stage: i64


class IdleFetch(IdleStage):
    """A fetch whose events are computed."""

    #: The rows of which the next event brings news.
    source_rows: i64
    #: Its events (``idle_fetches.stages.events_of``) as they were counted last, and of these as
    #: its session knew them last.
    counted: i64
    read: i64
    max_wait_us: i64
    cause_sequence: i64
    #: The time that a request handler has a request; the last one was handled: it arrived before
    #: the pair became idle, and may have waited for an ISR to be written before it waited here.
    cost_us: i32
    on_thread: flag
    cause_process: i32
    follower: i32
    leader: i32
    #: The least that a message between the two takes, if they are in two groups; else 0.
    across_us: i64
    #: The epoch of the follower's broker in its requests.
    replica_epoch: i64
    #: Its stage when this end ceased to be computed; the other end has still to tell how far it is.
    left_at: i64


class IdlePair(Record):
    """A pair of brokers in two groups: how far its ends have agreed."""

    #: A phase of ``idle_fetches/across.py``.
    phase: i64
    #: The time at which this end's offer arrives.
    offered_us: i64


class LinkAhead(Record):
    """A link between two idle brokers at the end of that span, and what its latencies are."""

    last_delivery_us: i64
    #: The stream of its latencies (``random_streams``), and the place of their quantile table.
    stream: i64
    draws: i32
    first_quantile: i32
    delay_us: i64


class IdleThreads(Record):
    """The request handlers of a broker that its followers' idle fetches could need at one time."""

    peak: i64


class IdleArrivals(Record):
    """Eight slots of a span, with a count of 8 bits each: idle fetches that are handled in one."""

    counts: i64


class SampledReplica(Record):
    """A replica at the last sample of its broker."""

    log_end_offset: i64
    high_watermark: i64
    #: It may have changed since; the next of those.
    is_changed: flag
    next_changed: i32
    #: It had changed then, and no high watermark has been checkpointed since; the next of those.
    is_unwritten: flag
    next_unwritten: i32
    #: It was hosted; it was led by its broker, and then with these faults.
    is_hosted: flag
    leads: flag
    under_replicated: flag
    under_min_isr: flag
    at_min_isr: flag
    reassigning: flag
