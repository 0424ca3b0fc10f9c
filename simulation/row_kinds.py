"""The kinds of rows of the trace: the schema of all that a run records.

Each kind has a number, a name, its columns in order, and one line that says what it means.
A column's name says what its integer is:

===============================  ========================================================
name                             meaning
===============================  ========================================================
``partition``                    number of the partition within the cluster
``broker``, ``leader``           index of a broker within the cluster, -1 for none
..                               (``leader`` of a znode's row: its slot, as lists have it)
``replica``                      the same, for the broker that hosts the replica
``isr``, ``old_isr``             replica list: slots of the partition's own table of brokers
``replicas``, ``adding``,        replica lists, too
``removing``
``error``                        Kafka's error code
``fault``                        place of the fault in the scenario
``*_us``, ``*_ms``               times
===============================  ========================================================

**To add a kind**: one line in :data:`ROW_KINDS`. The version of the schema grows when a
kind or column changes its meaning.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import NamedTuple

from tidegauge.compiled.codes import code

#: Version of the schema.
SCHEMA_VERSION = 4


def tidegauge_version() -> str:
    """The release of Tidegauge, which every file that it writes names.

    Executors of Spark read traces without an installed Tidegauge, so it is looked up on demand.
    """
    return version("tidegauge")


class RowKind(NamedTuple):
    """One kind of row."""

    number: int
    name: str
    columns: tuple[str, ...]
    #: Numbered and hashed; else a sample, or a detail of a single request.
    canonical: bool
    #: Recorded at level ``all`` only.
    detail: bool
    meaning: str


FAULT_BEGAN = code(1)
FAULT_ENDED = code(2)
BROKER_STARTED = code(3)
BECAME_LEADER = code(4)
BECAME_FOLLOWER = code(5)
ISR_UPDATE_SENT = code(6)
ISR_SHRUNK = code(7)
ISR_EXPANDED = code(8)
ISR_UPDATE_FAILED = code(9)
EXPOSED = code(10)
ACKNOWLEDGED = code(11)
TRUNCATED = code(12)
LOG_END = code(13)
REQUEST_REFUSED = code(14)
NOTIFICATION_SENT = code(15)
PARTITION_FAILED = code(16)
BROKER_LOADING = code(17)
CHECKPOINT_READ = code(18)
LOG_LOST = code(19)
SESSION_OPENED = code(20)
SESSION_EXPIRED = code(21)
ZNODE_CREATED = code(22)
ZNODE_SET = code(23)
ZNODE_DELETED = code(24)
BROKER_STOPPED = code(25)
SESSION_CLOSED = code(26)
CONTROLLED_SHUTDOWN_SENT = code(27)
CONTROLLED_SHUTDOWN_ANSWERED = code(28)
REPLICA_STOPPED = code(29)
TOPIC_CONFIGURED = code(48)
CONTROLLER_ELECTED = code(30)
CONTROLLER_EVENT = code(31)
BROKER_FAILED = code(32)
BROKER_REGISTERED = code(33)
LEADER_ELECTED = code(34)
REMOVED_FROM_ISR = code(35)
NOTIFICATION_READ = code(36)
CONTROLLER_RESIGNED = code(37)
CONTROLLER_EVENT_DONE = code(38)
BROKER_SHUTS_DOWN = code(39)
BATCH_FAILED = code(40)
STEP_TAKEN = code(41)
STEP_TIMED_OUT = code(42)
BATCH_DUPLICATED = code(43)
CONSUMER_RESET = code(44)
CLIENT_TOTALS = code(45)
STEP_ANSWERED = code(46)
STEP_UNANSWERED = code(47)
EPOCH_ANSWERED = code(49)
SAMPLED = code(50)
EPOCH_ASSIGNED = code(51)
EPOCHS_CUT = code(52)
OBSERVED = code(53)
EPOCH_OBSERVED = code(54)
ALTER_PARTITION_SENT = code(55)
ALTER_PARTITION_FAILED = code(56)
ISR_ALTERED = code(57)
HIGH_WATERMARK_TOLD = code(58)
PARTITION_REPLICAS = code(59)
APPENDED = code(60)
FETCH_COUNTED = code(61)
FETCH_ANSWERED = code(62)
HIGH_WATERMARK_MOVED = code(63)
PRODUCE_ANSWERED = code(64)
CONSUMED = code(65)
MESSAGE = code(66)
CHECKPOINT_WRITTEN = code(67)
LEADER_EPOCH_RAISED = code(68)
REASSIGNMENT_BEGUN = code(69)
REASSIGNMENT_DONE = code(70)
LOG_DELETED = code(71)
TOPIC_DELETION_BEGUN = code(72)
TOPIC_DELETED = code(73)
ROLL_PROGRESS = code(74)
LOG_DIR_FAILED = code(75)
REPLICA_OFFLINE = code(76)
LOG_DIR_EVENT_READ = code(77)
REPLICA_FOUND_OFFLINE = code(78)
THROTTLES_APPLIED = code(79)
COORDINATOR_LOADING = code(80)
COORDINATOR_LOADED = code(81)
COORDINATOR_UNLOADED = code(82)
MEMBER_JOINED = code(83)
MEMBER_EXPIRED = code(84)
COORDINATOR_FOUND = code(85)
COORDINATOR_LOST = code(86)
CONSUMER_RESUMED = code(87)
COMMITS_FAIL = code(88)
COMMITS_SUCCEED_AGAIN = code(89)
CONSUMER_SAMPLED = code(90)
OFFSET_COMMITTED = code(91)
BROKER_SAMPLED = code(92)
DIVERGING_HIGH_WATERMARK = code(93)
PARTITION_STATE = code(94)
BROKER_STATE = code(95)
CONTROLLER_ACTIVE = code(96)

#: Who wrote a znode or a partition's state that was there before the run.
FORMER_WRITER = code(-2)

# fmt: off
_CANONICAL = (
    (FAULT_BEGAN, "fault_began", "fault kind",
     "a fault of the scenario has begun in this process"),
    (FAULT_ENDED, "fault_ended", "fault kind",
     "a fault of the scenario has ended in this process"),
    (BROKER_STARTED, "broker_started", "broker",
     "a broker has started; its periodic tasks count from here"),
    (BROKER_LOADING, "broker_loading", "broker clean logs records_to_recover until_us",
     "a broker's process has begun: it loads its logs, and reads again what may be torn"),
    (CHECKPOINT_READ, "checkpoint_read",
     "partition high_watermark recovery_point log_end_offset epoch_count",
     "a replica on disk at a start; -1: the checkpoint does not have it"),
    (LOG_LOST, "log_lost", "partition end_offset old_end_offset",
     "a loss of power has taken the end of a replica's log"),
    (BROKER_STOPPED, "broker_stopped", "broker stop",
     "a broker's process is gone; stop as in STOPS"),
    (LOG_DIR_FAILED, "log_dir_failed", "broker directory",
     "a write has failed: a broker gives up a log directory, or halts"),
    (REPLICA_OFFLINE, "replica_offline", "partition directory",
     "a replica cannot be used any more, as its log directory (-1: one of those) is offline"),
    (CONTROLLED_SHUTDOWN_SENT, "controlled_shutdown_sent", "broker to_process attempt",
     "a broker that is to stop asks the controller to move its leaders away"),
    (CONTROLLED_SHUTDOWN_ANSWERED, "controlled_shutdown_answered",
     "broker attempt error remaining",
     "a broker that is to stop gets the number of partitions that it still leads"),
    (THROTTLES_APPLIED, "throttles_applied",
     "broker leader_rate_bytes follower_rate_bytes leader_replicas follower_replicas",
     "a broker throttles so many of its replicas, to bytes a second; -1: without a limit"),
    (REPLICA_STOPPED, "replica_stopped", "partition leader_epoch",
     "a replica stops fetching, after a StopReplica"),
    (LOG_DELETED, "log_deleted", "partition log_end_offset",
     "a replica's log is deleted, after a StopReplica to its broker"),
    (EPOCH_ANSWERED, "epoch_answered",
     "partition to_process asked_epoch epoch end_offset error",
     "a leader says where an epoch ended (OffsetsForLeaderEpoch)"),
    (EPOCH_ASSIGNED, "epoch_assigned", "partition position epoch start_offset",
     "an entry is added to a replica's leader-epoch cache; it is the last one now"),
    (EPOCHS_CUT, "epochs_cut", "partition epoch_count",
     "a replica's leader-epoch cache is cut to its first entries"),
    (BECAME_LEADER, "became_leader",
     "partition leader_epoch version isr log_end_offset high_watermark is_new_leader",
     "a broker leads a partition, after a LeaderAndIsr"),
    (BECAME_FOLLOWER, "became_follower",
     "partition leader leader_epoch version log_end_offset high_watermark",
     "a broker follows, after a LeaderAndIsr"),
    (ISR_UPDATE_SENT, "isr_update_sent", "partition isr old_isr version",
     "a leader asks ZooKeeper for another ISR, which blocks the partition, or the controller"),
    (ISR_SHRUNK, "isr_shrunk",
     "partition isr old_isr leader_epoch version log_end_offset lag_ms",
     "a leader has taken followers out of the ISR; lag_ms is the longest since caught up"),
    (ISR_EXPANDED, "isr_expanded",
     "partition isr old_isr leader_epoch version log_end_offset member_end_offset",
     "a leader has taken a follower into the ISR, whose log ends where it fetched last"),
    (ISR_UPDATE_FAILED, "isr_update_failed", "partition isr version error",
     "a leader's ISR is refused: ZooKeeper has another version, or the controller says why"),
    (ALTER_PARTITION_SENT, "alter_partition_sent", "to_process request partition_count",
     "a broker sends the controller all ISR changes that its leaders have proposed"),
    (ALTER_PARTITION_FAILED, "alter_partition_failed", "from_process request error",
     "the request as a whole has failed, and is sent again"),
    (EXPOSED, "exposed", "partition leader_epoch high_watermark reason",
     "the highest high watermark that consumers could read so far in this leader's term"),
    (ACKNOWLEDGED, "acknowledged", "partition leader_epoch acks first_offset end_offset reason",
     "offsets of one epoch acknowledged since the last such row of the leader"),
    (DIVERGING_HIGH_WATERMARK, "diverging_high_watermark",
     "partition leader leader_epoch old_high_watermark high_watermark diverging_end_offset",
     "a follower has taken the high watermark of a response that has it truncate (KAFKA-14704)"),
    (TRUNCATED, "truncated", "partition end_offset old_end_offset leader_epoch high_watermark",
     "a follower has cut its log"),
    (LOG_END, "log_end", "partition epoch start_offset end_offset reason high_watermark",
     "one epoch's run of records in a replica's log, and the replica's high watermark"),
    (REQUEST_REFUSED, "request_refused", "api_key partition from_process error offset",
     "a broker has refused a request of a client, or responded with an error"),
    (NOTIFICATION_SENT, "notification_sent",
     "notification partition_count quiet_ms since_propagation_ms",
     "a leader writes an isr_change_notification, quiet_ms after its last change"),
    (PARTITION_FAILED, "partition_failed", "partition leader_epoch",
     "a follower has given up a partition until the next LeaderAndIsr"),
    (SESSION_OPENED, "session_opened", "broker session timeout_ms",
     "ZooKeeper has opened a session of a broker"),
    (SESSION_EXPIRED, "session_expired", "broker session silent_us",
     "ZooKeeper has expired a session; silent_us is the time since the broker's last message"),
    (SESSION_CLOSED, "session_closed", "broker session",
     "a broker has closed its session"),
    (ZNODE_CREATED, "znode_created",
     "znode writer leader leader_epoch controller_epoch isr sequence_number",
     "a znode was created, by writer; -1 is the operator, -2 a writer before the run"),
    (ZNODE_SET, "znode_set", "znode writer leader leader_epoch controller_epoch isr version",
     "a znode was written"),
    (ZNODE_DELETED, "znode_deleted", "znode writer",
     "a znode was deleted, by writer, or (-1) with its session"),
    (PARTITION_STATE, "partition_state",
     "partition change leader leader_epoch partition_epoch isr controller_epoch writer",
     "what the control plane holds of a partition, after it was created, written or deleted"),
    (PARTITION_REPLICAS, "partition_replicas",
     "partition replicas adding removing eligible_leaders last_known_leader recovering",
     "a partition's replicas in the control plane are others now, or in another order"),
    (BROKER_STATE, "broker_state", "broker state broker_epoch state_reason",
     "the control plane takes a broker for absent, fenced, active or shutting down"),
    (CONTROLLER_ACTIVE, "controller_active", "broker controller_epoch",
     "another broker is the active controller now; -1: none is"),
    (TOPIC_CONFIGURED, "topic_configured", "topic min_insync_replicas unclean_enabled",
     "the settings of a topic were written"),
    (CONTROLLER_ELECTED, "controller_elected", "broker controller_epoch",
     "a broker has become controller"),
    (CONTROLLER_EVENT, "controller_event", "event_kind queue_length queued_us",
     "the controller takes an event from its queue, queued_us after it came"),
    (BROKER_FAILED, "broker_failed", "broker",
     "the controller sees that a broker is gone"),
    (BROKER_REGISTERED, "broker_registered", "broker",
     "the controller sees a new broker"),
    (LEADER_ELECTED, "leader_elected",
     "partition leader leader_epoch isr version old_leader unclean",
     "the controller has written a leader that it elected"),
    (LEADER_EPOCH_RAISED, "leader_epoch_raised",
     "partition leader leader_epoch isr version replicas",
     "the controller has raised a leader's epoch, so that it takes over another assignment"),
    (REASSIGNMENT_BEGUN, "reassignment_begun", "partition replicas adding removing",
     "the controller begins to move replicas, or takes it up again"),
    (REASSIGNMENT_DONE, "reassignment_done", "partition replicas",
     "the replicas of a partition are those of its target assignment"),
    (TOPIC_DELETION_BEGUN, "topic_deletion_begun", "topic",
     "the controller begins to delete a topic: its partitions have no leader any more"),
    (TOPIC_DELETED, "topic_deleted", "topic",
     "all logs of a topic are deleted, and so are its znodes"),
    (REMOVED_FROM_ISR, "removed_from_isr", "partition replica leader leader_epoch isr version",
     "the controller has taken a dead replica out of the ISR"),
    (ISR_ALTERED, "isr_altered", "partition leader leader_epoch isr version error",
     "the controller has decided on an ISR that a leader proposes: written, or refused"),
    (NOTIFICATION_READ, "notification_read", "notification partition_count",
     "the controller has read an isr_change_notification and sends UpdateMetadata"),
    (LOG_DIR_EVENT_READ, "log_dir_event_read", "broker",
     "the controller reads that a broker's log directory has failed, and asks for its replicas"),
    (REPLICA_FOUND_OFFLINE, "replica_found_offline", "partition replica",
     "a broker has reported to the controller that a replica's log directory is offline"),
    (CONTROLLER_RESIGNED, "controller_resigned", "broker controller_epoch",
     "a broker is no longer controller"),
    (CONTROLLER_EVENT_DONE, "controller_event_done", "event_kind processing_us",
     "the controller is done with an event, processing_us after it has taken it"),
    (BROKER_SHUTS_DOWN, "broker_shuts_down", "broker remaining",
     "the controller has moved leaders away from a broker that is to stop"),
    (BATCH_FAILED, "batch_failed", "partition batch error attempts records",
     "a producer has given up a batch"),
    (STEP_TAKEN, "step_taken", "step", "a step of the scenario is taken"),
    (STEP_TIMED_OUT, "step_timed_out", "step", "the condition of a step was not met in time"),
    (ROLL_PROGRESS, "roll_progress",
     "fault progress broker broker_count unregistered under_replicated",
     "progress of a rolling restart, as in ROLL_STATES; broker: the batch's first"),
    (STEP_ANSWERED, "step_answered",
     "step from_process error offset end_offset epoch high_watermark",
     "the request of a step has got its response"),
    (STEP_UNANSWERED, "step_unanswered", "step from_process error",
     "the request of a step has got no response in time, or its connection is closed"),
    (OBSERVED, "observed",
     "step partition log_end_offset high_watermark checkpointed recovery_point epoch_count",
     "a replica as a step sees it, dead or alive; high_watermark may be one of UNSEEN"),
    (HIGH_WATERMARK_TOLD, "high_watermark_told", "step partition high_watermark",
     "the high watermark of a replica that was locked when a step observed it"),
    (EPOCH_OBSERVED, "epoch_observed", "step partition epoch start_offset",
     "one leader epoch of an observed replica"),
    (BATCH_DUPLICATED, "batch_duplicated", "partition batch records first_offset again_offset",
     "a batch was appended again by a retry of its producer"),
    (CONSUMER_RESET, "consumer_reset", "partition offset new_offset",
     "a consumer's offset was out of range"),
    (COORDINATOR_LOADING, "coordinator_loading",
     "partition leader_epoch log_end_offset until_us",
     "a broker leads a partition of __consumer_offsets, and reads it to coordinate its groups"),
    (COORDINATOR_LOADED, "coordinator_loaded",
     "partition leader_epoch log_end_offset offset_count member_count",
     "a broker has read the committed offsets of groups, and coordinates them"),
    (COORDINATOR_UNLOADED, "coordinator_unloaded", "partition leader_epoch",
     "a broker no longer coordinates the groups of a partition"),
    (MEMBER_JOINED, "member_joined", "partition from_process start",
     "a coordinator takes a consumer into its group; start: how often it was started before"),
    (MEMBER_EXPIRED, "member_expired", "partition from_process silent_us",
     "a coordinator removes a consumer from its group: silent for session.timeout.ms"),
    (COORDINATOR_FOUND, "coordinator_found", "partition broker missing_us",
     "a consumer has found the coordinator of its group, missing_us after it lost the last one"),
    (COORDINATOR_LOST, "coordinator_lost", "partition broker error",
     "a consumer considers the coordinator of its group gone or replaced"),
    (CONSUMER_RESUMED, "consumer_resumed", "partition offset committed_offset new_offset",
     "a consumer has joined its group, and resumes at new_offset; -1: it had, or finds, none"),
    (COMMITS_FAIL, "commits_fail", "partition broker error",
     "commits of a group whose offsets are in this partition begin to fail at this coordinator"),
    (COMMITS_SUCCEED_AGAIN, "commits_succeed_again", "partition broker failures failing_us",
     "a commit of such a group succeeds, after failures"),
    (CLIENT_TOTALS, "client_totals",
     "records_acknowledged records_failed records_duplicated records_consumed",
     "totals of a client, at the end of the run"),
)
_SAMPLES = (
    (SAMPLED, "sampled", "partition leads log_end_offset high_watermark",
     "a replica's ends, every sample_every of the scenario"),
    (BROKER_SAMPLED, "broker_sampled",
     "broker partitions leaders under_replicated under_min_isr at_min_isr reassigning",
     "a broker's gauges, every sample_every: replicas that it hosts, and of those that it leads"),
    (CONSUMER_SAMPLED, "consumer_sampled", "partition offset committed_offset high_watermark",
     "a consumer that commits, every sample_every: its offset, and the last high watermark"),
)
_DETAILS = (
    (APPENDED, "appended", "partition leads base_offset end_offset epoch high_watermark",
     "a replica has appended records: its log end offset moves"),
    (FETCH_COUNTED, "fetch_counted",
     "partition replica fetch_offset old_offset log_end_offset high_watermark",
     "a leader's copy of a follower's log end offset after the follower's fetch"),
    (FETCH_ANSWERED, "fetch_answered",
     "partition to_process fetch_offset end_offset high_watermark waited error",
     "a leader responds to a fetch; waited: it was in the purgatory and was read again"),
    (HIGH_WATERMARK_MOVED, "high_watermark_moved",
     "partition leads high_watermark old_high_watermark moment",
     "a replica's high watermark has moved; moment as in MOMENTS"),
    (PRODUCE_ANSWERED, "produce_answered", "partition to_process base_offset end_offset acks error",
     "a leader responds to a produce request"),
    (CONSUMED, "consumed", "partition fetch_offset end_offset high_watermark error",
     "a consumer has received a response"),
    (OFFSET_COMMITTED, "offset_committed", "partition committed_offset",
     "a consumer's commit of an offset is acknowledged"),
    (CHECKPOINT_WRITTEN, "checkpoint_written", "checkpoint partition_count",
     "a broker has written a checkpoint; checkpoint as in CHECKPOINTS"),
    (MESSAGE, "message", "message_kind from_process partition offset error",
     "a message has reached its process"),
)
# fmt: on

ROW_KINDS: dict[int, RowKind] = {
    int(number): RowKind(int(number), name, tuple(columns.split()), canonical, detail, meaning)
    for kinds, canonical, detail in (
        (_CANONICAL, True, False),
        (_SAMPLES, False, False),
        (_DETAILS, False, True),
    )
    for number, name, columns, meaning in kinds
}

#: How many columns the kind with each number has, for compiled code.
COLUMN_COUNTS = tuple(
    len(ROW_KINDS[number].columns) if number in ROW_KINDS else 0
    for number in range(max(ROW_KINDS) + 1)
)

#: ``moment``: at which of its occasions a high watermark has moved.
MOMENTS = {
    1: "became leader",
    2: "the ISR shrank",
    3: "append",
    4: "a follower's fetch",
    5: "a leader's response (follower)",
}
MOMENT_LEADER = code(1)
MOMENT_SHRINK = code(2)
MOMENT_APPEND = code(3)
MOMENT_FETCH = code(4)
MOMENT_ANSWER = code(5)

#: ``reason`` of a row about what a term has exposed and acknowledged, or a log holds.
REASONS = {
    1: "ISR changed",
    2: "end of term",
    3: "end of run",
    4: "truncation",
    5: "the process is gone",
    6: "the process is back",
    7: "observed",
    8: "deleted",
    9: "leader",
    10: "after the liveness phase",
    11: "its log directory is offline",
}
REASON_ISR = code(1)
REASON_TERM = code(2)
REASON_END = code(3)
REASON_TRUNCATION = code(4)
REASON_STOP = code(5)
REASON_RETURN = code(6)
REASON_OBSERVED = code(7)
REASON_DELETED = code(8)
REASON_LEADER = code(9)
REASON_LIVENESS = code(10)
REASON_OFFLINE = code(11)

#: ``change``: what has happened to the state of a partition.
STATE_CHANGES = {1: "created", 2: "written", 3: "deleted"}
STATE_CREATED = code(1)
STATE_WRITTEN = code(2)
STATE_DELETED = code(3)

#: ``state``: what the control plane takes a broker for (KRaft: BrokerControlState; ZooKeeper knows
#: no other than absent and active).
BROKER_STATES = {0: "absent", 1: "fenced", 2: "active", 3: "shutting down"}
BROKER_ABSENT = code(0)
BROKER_FENCED = code(1)
BROKER_ACTIVE = code(2)
BROKER_SHUTTING_DOWN = code(3)

#: ``state_reason``: why it takes a broker for that.
STATE_REASONS = {
    1: "registered",
    2: "unfenced",
    3: "session expired",
    4: "session closed",
    5: "deleted by request",
}
BROKER_REGISTERS = code(1)
BROKER_UNFENCED = code(2)
BROKER_SESSION_EXPIRED = code(3)
BROKER_SESSION_CLOSED = code(4)
BROKER_DELETED = code(5)

#: ``high_watermark`` of a replica that a step sees: why it is unknown.
UNSEEN = {
    -1: "the broker is not up",
    -2: "the broker has got no LeaderAndIsr for it",
    -3: "the partition is locked for a write of its ISR",
    -4: "the broker is up but does not listen yet",
    -5: "its log directory is offline",
}
NOT_UP = code(-1)
NOT_HOSTED = code(-2)
WAITS_FOR_LOCK = code(-3)
NOT_LISTENING = code(-4)
DIRECTORY_OFFLINE = code(-5)

#: ``stop``: how a broker's process has ended.
STOPS = {
    1: "killed",
    2: "without power",
    3: "stopped cleanly",
    4: "exits: its registration is there already",
    5: "exits: its log is out of range",
    6: "halts: a log directory has failed, and there is no other, or its release needs all",
}
STOP_KILLED = code(1)
STOP_POWER = code(2)
STOP_CLEAN = code(3)
STOP_REGISTERED_ALREADY = code(4)
STOP_OUT_OF_RANGE = code(5)
STOP_LOG_DIRECTORY = code(6)

#: ``progress``: of a rolling restart.
ROLL_STATES = {
    1: "stops the batch",
    2: "has started the batch again",
    3: "finds that no partition is under-replicated",
    4: "asks for a preferred election",
    5: "has waited in vain and continues",
    6: "has waited in vain and stops",
    7: "is done",
}
ROLL_STOPS = code(1)
ROLL_STARTED = code(2)
ROLL_IN_SYNC = code(3)
ROLL_PREFERS = code(4)
ROLL_GOES_ON_ANYWAY = code(5)
ROLL_GIVES_UP = code(6)
ROLL_DONE = code(7)

#: ``checkpoint``: which file.
CHECKPOINTS = {1: "replication-offset-checkpoint", 2: "recovery-point-offset-checkpoint"}
HIGH_WATERMARKS = code(1)
RECOVERY_POINTS = code(2)
