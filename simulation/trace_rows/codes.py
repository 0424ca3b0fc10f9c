"""Numbers with names that messages and rows of the trace carry, each with its words.

Occasions of rows, reasons of states, the types of a controller's events (the steps of each are in
``controller/events``), questions of the operator to a quorum, steps of snapshots, throttles that
the operator writes, the states of voters (Kafka: EpochState), ZooKeeper's errors
(``KeeperException.Code``).
"""

from tidegauge.compiled.codes import code

#: The writer of a state that was there before the run.
FORMER_WRITER = code(-2)

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

#: ``reason`` of a row about the offsets that a term has exposed and acknowledged, or the content of
#: a log.
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
    12: "before the run",
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
REASON_EXISTED = code(12)

#: ``raised_by``: why a log begins later than before.
LOG_START_CAUSES = {1: "retention", 2: "the log of its leader does"}
RAISED_BY_RETENTION = code(1)
RAISED_BY_LEADER = code(2)

#: ``change``: the kind of a change of a partition's state.
STATE_CHANGES = {1: "created", 2: "written", 3: "deleted"}
STATE_CREATED = code(1)
STATE_WRITTEN = code(2)
STATE_DELETED = code(3)

#: ``state``: the control plane's state of a broker (KRaft: BrokerControlState; ZooKeeper knows no
#: other than absent and active).
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
    6: "shuts down",
    7: "asks to be fenced",
    8: "a log directory is offline",
    9: "tells its cordoned log directories",
}
BROKER_REGISTERS = code(1)
BROKER_UNFENCED = code(2)
BROKER_SESSION_EXPIRED = code(3)
BROKER_SESSION_CLOSED = code(4)
BROKER_DELETED = code(5)
BROKER_SHUTS_DOWN = code(6)
BROKER_ASKS_FOR_FENCE = code(7)
BROKER_DIRECTORY_OFFLINE = code(8)
BROKER_TELLS_DIRECTORIES = code(9)

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
    7: "exits: no controller has registered it in time",
    8: "halts: its request for producer ids has failed to authenticate",
    9: "exits: the quorum's leader lacks metadata that the broker has read as committed",
}
STOP_KILLED = code(1)
STOP_POWER = code(2)
STOP_CLEAN = code(3)
STOP_REGISTERED_ALREADY = code(4)
STOP_OUT_OF_RANGE = code(5)
STOP_LOG_DIRECTORY = code(6)
STOP_NOT_REGISTERED = code(7)
STOP_FAILED_ALLOCATION = code(8)
STOP_METADATA_TRUNCATED = code(9)

#: ``feature``: a feature of a KRaft cluster, by its name.
FEATURES = {
    1: "metadata.version",
    2: "eligible.leader.replicas.version",
    3: "kraft.version",
}
METADATA_VERSION = code(1)
ELR_VERSION = code(2)
KRAFT_VERSION = code(3)

#: ``refusal``: why the active controller does not change the level of a feature.
REFUSALS = {
    1: "Can't downgrade the version of this feature without setting the upgrade type to either "
    "safe or unsafe downgrade",
    2: "Can't downgrade to a newer version",
    3: "Refusing to perform the requested downgrade because it might delete metadata information",
    4: "Unsafe metadata downgrade is not supported in this version",
    5: "it depends on metadata.version level 23",
    6: "kraft.version cannot be lowered",
    7: "the leader does not know the directories of all voters",
}
DOWNGRADE_NOT_NAMED = code(1)
NO_DOWNGRADE = code(2)
METADATA_WOULD_BE_LOST = code(3)
UNSAFE_NOT_SUPPORTED = code(4)
DEPENDS_ON_METADATA_VERSION = code(5)
KRAFT_VERSION_STAYS = code(6)
VOTERS_UNKNOWN = code(7)

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


ELECT = code(0)
BROKER_CHANGE = code(1)
TOPIC_CHANGE = code(2)
ISR_CHANGE = code(3)
SHUT_DOWN_BROKER = code(4)
PREFERRED_ELECTION = code(5)
AUTO_REBALANCE = code(6)
ELECT_UNCLEANLY = code(7)
ALTER_PARTITION = code(8)
REASSIGNMENT_ASKED_FOR = code(9)
REASSIGNMENT_RESUMED = code(10)
REASSIGNMENT_ISR_CHANGE = code(11)
TOPIC_DELETION_ASKED_FOR = code(12)
TOPIC_DELETION_RESUMED = code(13)
REPLICAS_DELETED = code(14)
LOG_DIR_CHANGE = code(15)
LEADER_AND_ISR_RESPONSE = code(16)
REASSIGNMENT_ALTERED = code(17)

REGISTER_BROKER = code(18)
PROCESS_BROKER_HEARTBEAT = code(19)
MAYBE_FENCE_STALE_BROKER = code(20)
ALTER_PARTITION_OF_LEADER = code(21)
CREATE_TOPICS = code(22)
DELETE_TOPICS = code(23)
ELECT_LEADERS = code(24)
ELECT_PREFERRED = code(25)
ELECT_UNCLEAN = code(26)
ALTER_PARTITION_REASSIGNMENTS = code(27)
INCREMENTAL_ALTER_CONFIGS = code(28)
WRITE_NO_OP_RECORD = code(29)
ALLOCATE_PRODUCER_IDS = code(30)

UNCLEAN_ELECTION = code(31)
UPDATE_FEATURES = code(32)

#: Events that move replicas.
REASSIGNMENTS = (
    REASSIGNMENT_ASKED_FOR,
    REASSIGNMENT_RESUMED,
    REASSIGNMENT_ISR_CHANGE,
    REASSIGNMENT_ALTERED,
)

#: The name of each: Kafka's ControllerState where there is one of its own (there
#: AlterPartition counts as IsrChange).
CONTROLLER_EVENT_NAMES: dict[int, str] = {
    0: "Startup",
    1: "BrokerChange",
    2: "TopicChange",
    3: "IsrChange",
    4: "ControlledShutdown",
    5: "ManualLeaderBalance",
    6: "AutoLeaderBalance",
    7: "TopicUncleanLeaderElectionEnable",
    8: "AlterPartition",
    9: "AlterPartitionReassignment",
    10: "AlterPartitionReassignment (resumed)",
    11: "AlterPartitionReassignment (an ISR has changed)",
    12: "TopicDeletion",
    13: "TopicDeletion (resumed)",
    14: "TopicDeletion (replicas are deleted)",
    15: "LogDirChange",
    16: "LeaderAndIsrResponseReceived",
    17: "AlterPartitionReassignment (replaced or cancelled)",
    18: "registerBroker",
    19: "processBrokerHeartbeat",
    20: "maybeFenceStaleBroker",
    21: "alterPartition",
    22: "createTopics",
    23: "deleteTopics",
    24: "electLeaders",
    25: "electPreferred",
    26: "electUnclean",
    27: "alterPartitionReassignments",
    28: "incrementalAlterConfigs",
    29: "writeNoOpRecord",
    30: "allocateProducerIds",
    31: "ManualLeaderBalance (unclean)",
    32: "updateFeatures",
}


#: A request for the unfenced brokers: they are the entries of the response.
LIVE_BROKERS = code(0)
#: The state of a partition.
PARTITION_STATE = code(1)
#: A request for the active controller.
ACTIVE_CONTROLLER = code(2)
#: Whether no replicas are being moved.
REASSIGNED = code(3)
#: Whether everything has come to rest.
QUIESCENT = code(4)
#: Whether a controller follows the quorum's leader, or is it.
VOTER_FOLLOWS = code(5)
#: Whether a controller is no voter, and follows the quorum's leader.
OBSERVER_FOLLOWS = code(6)
#: The voters that are committed.
COMMITTED_VOTERS = code(7)


SNAPSHOT_STEPS = {0: "writes", 1: "loads", 2: "begins its log with"}
WRITTEN = code(0)
#: It was fetched from the leader: the log ended before that of the leader began.
LOADED = code(1)
#: All before it was deleted.
CLEANED = code(2)


#: The replicas that the setting itself names.
THROTTLE_NAMED = code(0)
#: The replicas that are to be moved, from where they are and to where they go.
THROTTLE_MOVES = code(1)
#: No replica any more, unless replicas are being moved.
THROTTLE_NOTHING = code(2)


VOTER_STATES = {
    0: "stopped",
    1: "unattached",
    2: "follower",
    3: "prospective",
    4: "candidate",
    5: "leader",
    6: "resigned",
}
#: Its process does not run.
VOTER_STOPPED = code(0)
#: It knows no leader of its epoch; it may have voted in it.
UNATTACHED = code(1)
FOLLOWER = code(2)
#: It asks for votes without an epoch of its own (KIP-996; from 4.0).
PROSPECTIVE = code(3)
CANDIDATE = code(4)
LEADER = code(5)
#: It was the leader of its epoch, and has given that up.
RESIGNED = code(6)

#: ``voter_change``: what is to become of a voter.
VOTER_CHANGES = {1: "add", 2: "remove", 3: "update"}
ADD_VOTER = code(1)
REMOVE_VOTER = code(2)
UPDATE_VOTER = code(3)

#: ``voter_refusal``: why a leader does not change its voters so.
VOTER_REFUSALS = {
    0: "none",
    1: "a previous voter change is pending",
    2: "the leader has no high watermark in its epoch yet",
    3: "kraft.version is 0",
    4: "the latest voter change is not committed",
    5: "its id is already part of the set of voters",
    6: "it is not in the set of voters, or the only one",
    7: "API_VERSIONS returned an error BROKER_NOT_AVAILABLE",
    8: "it does not support the finalized kraft.version",
    9: "it is lagging behind",
    10: "the change was not committed in time",
    11: "it is not the leader",
}
CHANGE_IS_PENDING = code(1)
NO_HIGH_WATERMARK = code(2)
NO_RECONFIGURATION = code(3)
VOTERS_NOT_COMMITTED = code(4)
IS_VOTER_ALREADY = code(5)
IS_NO_VOTER = code(6)
NEW_VOTER_NOT_AVAILABLE = code(7)
KRAFT_VERSION_NOT_SUPPORTED = code(8)
NEW_VOTER_LAGS = code(9)
CHANGE_TIMED_OUT = code(10)
NOT_THE_LEADER = code(11)


OK = code(0)
NO_NODE = code(-101)
BAD_VERSION = code(-103)
NODE_EXISTS = code(-110)
SESSION_EXPIRED = code(-112)
#: A transaction has failed at its check of /controller_epoch: another is controller.
CONTROLLER_MOVED = code(1)

#: Name of each code.
ZOOKEEPER_ERROR_NAMES: dict[int, str] = {
    0: "OK",
    1: "CONTROLLER_MOVED",
    -101: "NO_NODE",
    -103: "BAD_VERSION",
    -110: "NODE_EXISTS",
    -112: "SESSION_EXPIRED",
}
