"""The handlers of events: ``@QUORUM.handles(...)``, ``@WRITES.handles(...)``.

Records of partitions: sorts of records of the metadata log, and how one is copied.

Counts and measures of a controller's events; nothing in a run reads it.

Source: QuorumController.handleEventEnd, updateEventStartMetricsAndGetTime@4.1.0.

The state of the active controller of a KRaft quorum.

``registrations``, ``quorum_brokers`` and ``quorum_topics`` are its state in memory: all records
that it has appended are in it, committed or not (Kafka: the timeline structures of
``ReplicationControlManager`` and ``ClusterControlManager``). ``committed_partitions`` is the state
for a reader of the log. Records between the two are in ``metadata_records``. A controller that
becomes active begins with the committed state (``claims.py``).
"""

from __future__ import annotations

from tidegauge.compiled.handlers import Handlers
from tidegauge.compiled.records import Record, Records, blank, flag, i32, i64
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.kraft_partitions.alter_partition import KRaftSwitches
from tidegauge.controller.kraft_partitions.partition_target import PartitionTarget
from tidegauge.controller.raft.state import Raft, voter_of
from tidegauge.replication.records import PartitionRegistration
from tidegauge.simulation.sampled_stats import BUCKETS, Bucket, Measured, bucket_of, weight_at

#: Events that pass by the queue; their handlers return whether they keep the event.
QUORUM = Handlers()
#: Events of the queue (Kafka: ControllerWriteEvent); their handlers append records.
WRITES = Handlers()


# MetadataRecord.type
PARTITION_RECORD = code(0)
BROKER_RECORD = code(1)
TOPIC_RECORD = code(2)
REMOVE_TOPIC_RECORD = code(3)
CONFIG_RECORD = code(4)
BROKER_CONFIG_RECORD = code(5)
#: A broker has a block of producer ids; it has no row, and no process reads it.
PRODUCER_IDS_RECORD = code(6)
#: The throttled replicas of a topic: two of its settings, apart from the others.
THROTTLED_REPLICAS_RECORD = code(7)
#: The level of a feature of the cluster (Kafka: FeatureLevelRecord).
FEATURE_LEVEL_RECORD = code(8)


@inner_rule
def copy_registration(target: PartitionRegistration, source: PartitionRegistration) -> None:
    """Copy all fields of a partition's record."""
    target.replicas = source.replicas
    target.adding = source.adding
    target.removing = source.removing
    target.isr = source.isr
    target.elr = source.elr
    target.last_known_elr = source.last_known_elr
    target.leader = source.leader
    target.leader_epoch = source.leader_epoch
    target.partition_epoch = source.partition_epoch
    target.recovering = source.recovering


#: The histograms of a controller, in their order.
QUEUE_TIMES = code(0)
PROCESSING_TIMES = code(1)


@inner_rule
def these_controller_stats(world: Quorum) -> ControllerStats:
    """Those of the controller that handles the event."""
    return world.controller_stats[voter_of(world, world.context[0].handling)]


@inner_rule
def note_event(world: Quorum, queued_us: int) -> None:
    """The thread takes an event after this wait."""
    these_controller_stats(world).events += 1
    _measure(world, QUEUE_TIMES, queued_us)


@inner_rule
def note_event_end(world: Quorum, processing_us: int) -> None:
    """The thread is done with an event after this time."""
    these_controller_stats(world).handled_us += processing_us
    _measure(world, PROCESSING_TIMES, processing_us)


@inner_rule
def _measure(world: Quorum, histogram: int, time_us: int) -> None:
    stats = these_controller_stats(world)
    first = 2 * voter_of(world, world.context[0].handling) * BUCKETS
    times = world.controller_event_times[first : first + 2 * BUCKETS]
    weight = weight_at(world.context[0].time_us, stats, times)
    times[histogram * BUCKETS + bucket_of(time_us)].weight += weight


@inner_rule
def forget_controller_stats(world: Quorum) -> None:
    """The next process of this controller counts from 0."""
    blank(these_controller_stats(world), ControllerStats)
    first = 2 * voter_of(world, world.context[0].handling) * BUCKETS
    for index in range(first, first + 2 * BUCKETS):
        world.controller_event_times[index].weight = 0


#: The process of a broker that was down as the run begins: it has not shut down cleanly.
FORMER_INCARNATION = -2


class ActiveControllerSettings(Record):
    """The settings of the controllers of a quorum, but for those of Raft."""

    session_timeout_us: i64
    #: 0: no NoOpRecord is written.
    max_idle_interval_us: i64
    auto_leader_rebalance_enable: flag
    leader_imbalance_check_interval_us: i64
    unclean_leader_election_interval_us: i64


class ActiveController(ActiveControllerSettings):
    """The active controller's settings, state and counts: one record.

    It is that of the controller that has claimed last. One that was active before, and does not
    know of its successor, has no state of its own: nothing that it decides is ever committed.
    """

    #: The voter that it is of; -1: that voter has renounced. In which epoch that has claimed.
    voter: i64 = -1
    epoch: i64 = -1

    #: The number of the quorum's controllers, with this one.
    voters: i64
    #: The longest wait of a heartbeat in the queue: half of broker.heartbeat.interval.ms.
    heartbeat_deadline_us: i64

    # Switches by its release (``kraft_partitions/alter_partition.py`` has those of a partition).
    #: Sessions outlive fencing, contacts are noted on arrival, tasks are periodic (KAFKA-17793,
    #: KAFKA-16164; from 4.0).
    has_heartbeat_tracker: flag
    #: A heartbeat that has waited for too long still counts as a contact (KAFKA-15019; 3.5).
    expired_heartbeats_count: flag
    #: Each heartbeat of a broker that leaves renews the offset that others have to reach
    #: (KAFKA-14292; 3.3.1).
    shutdown_offset_grows: flag
    #: A broker that registers again under the same incarnation keeps its epoch (KAFKA-16952; 3.9).
    incarnation_keeps_epoch: flag
    #: A registration takes the broker out of ISRs in which it still is (KAFKA-18106; 4.0).
    registration_clears_isr: flag
    #: A new controller gives fenced brokers a session, too (4.0; KAFKA-19130 in 4.1).
    fenced_sessions_restart: flag
    #: A creation of more than 10,000 records is refused; else the controller renounces
    #: (KAFKA-14996; 3.5).
    large_operations_are_refused: flag
    #: A replica is not assigned to a broker all of whose log directories are cordoned (4.4).
    cordoned_assignments_are_refused: flag

    #: The finalized features: the place of metadata.version in ``Topology.metadata_versions``, the
    #: level of eligible.leader.replicas.version; as they are committed, and the offset of their
    #: newest record (-1: they are as the run began).
    metadata_version: i64
    elr_version: i64
    committed_metadata_version: i64
    committed_elr_version: i64
    features_offset: i64 = -1

    #: The time of the last committed record about a partition, a broker or a topic.
    changed_us: i64
    #: All records below this offset are committed, and rows of the trace.
    committed_offset: i64
    #: Records that are not committed: a ring in ``metadata_records``, in the order in which they
    #: were appended; and where in it the next one to be committed is likely to be.
    first_record: i64
    record_count: i64
    likely_record: i64
    #: Records that are kept free while a handler runs.
    record_reserve: i64

    # Tasks: a timer is set for each.
    fences: flag
    balances: flag
    elects_uncleanly: flag
    #: The number of draws of one of several overdue brokers.
    fencing_draws: i64

    # Counted over the partitions that exist.
    leaderless_partitions: i64
    #: Those that their preferred replica does not lead.
    imbalanced_partitions: i64
    #: The number of times that a controller became active, for the summary.
    claims: i64


class ControllerStats(Measured):
    """Counts of a controller's process for JMX (Kafka: ``QuorumControllerMetrics``)."""

    #: Events that its thread has taken, and heartbeats that it has taken too late.
    events: i64
    timed_out_heartbeats: i64
    #: The time that its thread has handled events, without the one that it handles.
    handled_us: i64
    #: Elections of leaders that were committed while it was active.
    leader_elections: i64
    unclean_elections: i64
    elr_elections: i64
    #: ... and those that it has read of in the log, of any controller.
    known_unclean_elections: i64
    known_elr_elections: i64


class QuorumBroker(Record):
    """A broker in the active controller (Kafka: BrokerRegistration, BrokerHeartbeatState)."""

    #: It has ever been registered, under this epoch and by this process.
    registered: flag
    broker_epoch: i64 = -1
    incarnation: i64 = -1
    #: It was there before the run, and its process is on its way back: it stays unfenced.
    returns: flag
    #: The offset of its registration record.
    registration_offset: i64 = -1
    #: The release of that process, in ``Topology.software``.
    software: i64
    fenced: flag
    in_controlled_shutdown: flag
    #: Its log directories that are offline: bits.
    offline_directories: i64
    #: Its cordoned log directories: bits; -1: no record of them since its registration.
    cordoned_directories: i64 = -1
    #: The time of its last message; -1: its session is not tracked.
    contact_us: i64 = -1
    #: The offset of the last record that it has published, as it has reported.
    metadata_offset: i64 = -1
    #: It may shut down once all others have reported this offset; -1: it does not shut down.
    shutdown_offset: i64 = -1
    #: The throttled rates of its settings, in bytes a second: UNLIMITED without a limit.
    leader_rate: i64
    follower_rate: i64
    #: The number of partitions that it leads.
    leader_count: i64
    #: Its replicas in ``Quorum.hosted_replicas``, in the order of partitions.
    first_replica: i64
    replica_count: i64

    # As it is committed.
    committed_state: i64
    committed_epoch: i64 = -1
    committed_incarnation: i64 = -1
    committed_registration_offset: i64 = -1
    committed_software: i64
    committed_offline_directories: i64
    committed_cordoned_directories: i64 = -1
    #: cordoned.log.dirs as an operator has set it: bits; -1: as the broker's file has it.
    committed_cordoned_log_dirs: i64 = -1
    #: The throttled rates, and the offset of their newest record; -1: they were never set.
    committed_leader_rate: i64
    committed_follower_rate: i64
    rates_offset: i64 = -1


class QuorumTopic(Record):
    """A topic, as the active controller has it."""

    exists: flag
    #: ... and as it is committed.
    committed: flag
    #: Its topic id: the offset of the record that created it; -1: it was never there.
    topic_id: i64 = -1
    committed_topic_id: i64 = -1
    #: Its partitions.
    first_partition: i64
    partition_count: i64
    #: The scenario names its replicas.
    assigned_by_hand: flag
    min_insync_replicas: i64
    unclean_leader_election: flag
    #: A record of its throttled replicas is to be appended for the present event.
    throttles_change: flag
    #: ... and these as they are committed.
    committed_min_insync_replicas: i64
    committed_unclean_leader_election: flag


class HostedReplica(Record):
    """A replica of a broker."""

    partition: i32
    #: Its log directory is offline.
    offline: flag


class ThrottledReplica(Record):
    """Whether the settings of a topic throttle a replica, as leader or as follower."""

    as_leader: flag
    as_follower: flag
    #: ... and this as it is committed.
    committed_as_leader: flag
    committed_as_follower: flag


class CommittedPartition(PartitionRegistration):
    """A partition as readers of the metadata log have it."""

    #: The offset of its newest record, and the row about that one.
    offset: i64 = -1
    row_process: i64 = -1
    row_sequence: i64 = -1
    #: It exists.
    exists: flag


class MetadataRecord(Record):
    """One record of the metadata log that is not committed yet.

    Of two records with the same offset, in the logs of different controllers, one is never
    committed. One controller writes all records of an epoch, so epoch and offset name a record.
    """

    offset: i64
    epoch: i64
    #: The type of the record: ``*_RECORD`` of ``state.py``.
    type: i64
    #: A partition, a broker, a topic, a feature.
    subject: i64
    #: A broker's record: its new state, its epoch, its process, its registration record, its
    #: release, its offline log directories, and its cordoned ones. A feature's: its level, of
    #: metadata.version the place.
    state: i64
    broker_epoch: i64
    incarnation: i64 = -1
    registration_offset: i64 = -1
    software: i64
    offline_directories: i64
    cordoned_directories: i64 = -1
    #: A record of a broker's settings: the log directories to be cordoned (above), or the throttled
    #: rates; -1: it has none of them.
    leader_rate: i64 = -1
    follower_rate: i64 = -1
    #: A broker's record: the reason; a partition's: 0, or the reason why the controller takes
    #: replicas out of the ISR.
    reason: i64
    #: A partition's record: whether the leader was elected, and uncleanly; the former leader.
    old_leader: i64 = -1
    unclean: flag
    from_elr: flag
    #: A topic's record: its settings.
    min_insync_replicas: i64
    unclean_leader_election: flag
    #: The row that caused it, and because of which.
    cause_process: i64 = -1
    cause_sequence: i64 = -1
    because_process: i64 = -1
    because_sequence: i64 = -1


class Quorum(Raft, part=6):
    """The active controller of a quorum; in ZooKeeper mode all tables are empty."""

    active_controller: Records[ActiveController]
    quorum_brokers: Records[QuorumBroker]
    quorum_topics: Records[QuorumTopic]
    #: By number of the partition.
    registrations: Records[PartitionRegistration]
    committed_partitions: Records[CommittedPartition]
    #: A ring: the records that any controller has appended and that are not committed, and beside
    #: each the partition as it is then. Empty ones (NoOpRecord, LeaderChange) are in logs only.
    metadata_records: Records[MetadataRecord]
    recorded_registrations: Records[PartitionRegistration]
    #: Operands of pure rules: one record each.
    kraft_switches: Records[KRaftSwitches]
    partition_target: Records[PartitionTarget]
    #: The replicas of all brokers, broker by broker.
    hosted_replicas: Records[HostedReplica]
    #: By row of the replica.
    throttled_replicas: Records[ThrottledReplica]
    #: A record for each controller, with two histograms: the times of events in its queue, and in
    #: its thread.
    controller_stats: Records[ControllerStats]
    controller_event_times: Records[Bucket]
