"""The columns of the trace's rows: the type, the unit and the meaning of each.

A column's type is the meaning of its integer: a broker is an index within the cluster, a slot is a
place in a partition's own table of brokers, a replica list packs slots
(``replication/records.py``). A name's end is its unit: ``_us``, ``_ms``.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, NamedTuple

from tidegauge.compiled.records import i64
from tidegauge.replication import errors
from tidegauge.simulation.messages import kinds
from tidegauge.simulation.trace_rows import codes


class Type(StrEnum):
    """Types of columns, as the documentation names them."""

    PARTITION = "partition number"
    TOPIC = "topic number"
    BROKER = "broker index"
    SLOT = "replica slot"
    REPLICAS = "replica list"
    PROCESS = "process number"
    WRITER = "broker index or writer"
    FAULT = "fault number"
    PIN = "pin number"
    ZNODE = "znode number"
    OFFSET = "offset"
    EPOCH = "epoch"
    TIME = "time"
    RATE = "rate"
    CODE = "code"
    FLAG = "0 or 1"
    COUNT = "count"
    NUMBER = "number"
    DIRECTORY = "log directory"
    VOTERS = "voter set"


class Column(NamedTuple):
    """One column: the meaning of its integers."""

    type: Type
    meaning: str
    #: The unit of a count; a time's is the end of its name.
    unit: str | None = None
    #: The words for its codes.
    names: Mapping[int, str] | None = None


PARTITION = Type.PARTITION
TOPIC = Type.TOPIC
BROKER = Type.BROKER
SLOT = Type.SLOT
REPLICAS = Type.REPLICAS
PROCESS = Type.PROCESS
WRITER = Type.WRITER
FAULT = Type.FAULT
PIN = Type.PIN
ZNODE = Type.ZNODE
OFFSET = Type.OFFSET
EPOCH = Type.EPOCH
TIME = Type.TIME
RATE = Type.RATE
CODE = Type.CODE
FLAG = Type.FLAG
COUNT = Type.COUNT
NUMBER = Type.NUMBER
DIRECTORY = Type.DIRECTORY
VOTERS = Type.VOTERS

# Columns of every row.
TimeUs = Annotated[i64, Column(TIME, "virtual time since the start of the run")]
Process = Annotated[i64, Column(PROCESS, "the process that writes the row")]
Sequence = Annotated[
    i64, Column(NUMBER, "number of the row within its process; counts canonical rows only")
]
Minor = Annotated[i64, Column(NUMBER, "0 in a canonical row; counts the other rows after it")]
CauseProcess = Annotated[
    i64, Column(PROCESS, "with cause_sequence: the row that caused this one; -1: none")
]
CauseSequence = Annotated[i64, Column(NUMBER, "`sequence` of that row")]
BecauseProcess = Annotated[
    i64, Column(PROCESS, "with because_sequence: the row that it is due to; -1: that of its cause")
]
BecauseSequence = Annotated[i64, Column(NUMBER, "`sequence` of that row")]

# Columns of kinds.
Partition = Annotated[
    i64, Column(PARTITION, "number of the partition within the cluster; -1: none")
]

Topic = Annotated[i64, Column(TOPIC, "number of the topic, in the order of the scenario")]

Broker = Annotated[i64, Column(BROKER, "the broker that the row is about; -1: none")]
Server = Annotated[i64, Column(BROKER, "a broker, or a controller of the quorum")]
ReadBroker = Annotated[
    i64, Column(BROKER, "the follower that a consumer fetches from; -1: from the leader")
]
OldReadBroker = Annotated[i64, Column(BROKER, "the follower that it fetched from; -1: the leader")]
LastKnownLeader = Annotated[
    i64, Column(BROKER, "the last leader of a partition without ISR; KRaft only")
]
Leader = Annotated[i64, Column(BROKER, "the leader; -1: none")]
OldLeader = Annotated[i64, Column(BROKER, "the leader before; -1: none")]
QuorumLeader = Annotated[
    i64, Column(BROKER, "the leader of the epoch, as the controller knows it; -1: none")
]
VotedFor = Annotated[
    i64, Column(BROKER, "the candidate that the controller has voted for; -1: none")
]
Replica = Annotated[i64, Column(BROKER, "the broker that hosts the replica")]

LeaderSlot = Annotated[i64, Column(SLOT, "the slot of the leader in replica lists; -1: none")]

Adding = Annotated[i64, Column(REPLICAS, "replicas that a reassignment adds")]
EligibleLeaders = Annotated[i64, Column(REPLICAS, "eligible leader replicas (KIP-966); KRaft only")]
Voters = Annotated[
    i64, Column(VOTERS, "the voters of a quorum: controllers with the numbers of their directories")
]
Isr = Annotated[i64, Column(REPLICAS, "in-sync replicas")]
OldIsr = Annotated[i64, Column(REPLICAS, "in-sync replicas before")]
Removing = Annotated[i64, Column(REPLICAS, "replicas that a reassignment removes")]
Replicas = Annotated[i64, Column(REPLICAS, "all replicas, the preferred leader first")]

FromProcess = Annotated[i64, Column(PROCESS, "the sender")]
ToProcess = Annotated[i64, Column(PROCESS, "the receiver")]

Writer = Annotated[
    i64,
    Column(
        WRITER,
        "the broker that writes, or the active controller of a quorum; -1: the operator or the "
        "session; -2: before the run",
    ),
]

Fault = Annotated[i64, Column(FAULT, "place of the fault in the scenario, from 0")]

Pin = Annotated[i64, Column(PIN, "place of the pin in the scenario, from 0")]

Znode = Annotated[i64, Column(ZNODE, "number of the znode; `tidegauge show` prints its path")]

AgainOffset = Annotated[i64, Column(OFFSET, "first offset of the second copy of a batch")]
BaseOffset = Annotated[i64, Column(OFFSET, "first offset of the records")]
Checkpointed = Annotated[i64, Column(OFFSET, "high watermark in the checkpoint file; -1: none")]
CommittedOffset = Annotated[
    i64, Column(OFFSET, "offset that a consumer group has committed; -1: none")
]
DivergingEndOffset = Annotated[
    i64, Column(OFFSET, "offset to which a response has the follower truncate")
]
EndOffset = Annotated[i64, Column(OFFSET, "the offset after the last record")]
FetchOffset = Annotated[i64, Column(OFFSET, "offset that a fetch asks for")]
FirstOffset = Annotated[i64, Column(OFFSET, "first offset of the records")]
HighWatermark = Annotated[i64, Column(OFFSET, "high watermark")]
SeenHighWatermark = Annotated[
    i64,
    Column(
        OFFSET,
        "high watermark; below 0 the reason why it is unknown",
        names={code: f"unknown ({why})" for code, why in codes.UNSEEN.items()},
    ),
]
VotersCommitted = Annotated[
    i64,
    Column(
        FLAG,
        "1: the leader has committed the record of the voters",
        names={0: "not known to be committed", 1: "committed"},
    ),
]
LogEndOffset = Annotated[i64, Column(OFFSET, "log end offset of the replica")]
VotersOffset = Annotated[
    i64,
    Column(OFFSET, "offset of a VotersRecord in the metadata log; -1: of a formatted directory"),
]
LogStartOffset = Annotated[i64, Column(OFFSET, "the first offset of a log")]
MemberEndOffset = Annotated[
    i64, Column(OFFSET, "log end offset of the follower that joins the ISR")
]
NewOffset = Annotated[i64, Column(OFFSET, "offset from which a consumer reads on")]
Offset = Annotated[i64, Column(OFFSET, "offset of a request or of its response; -1: none")]
OldEndOffset = Annotated[i64, Column(OFFSET, "the end before")]
OldLogStartOffset = Annotated[i64, Column(OFFSET, "the first offset of the log before")]
OldHighWatermark = Annotated[i64, Column(OFFSET, "the high watermark before")]
OldOffset = Annotated[
    i64, Column(OFFSET, "the leader's copy of the log end offset before the fetch")
]
RecoveryPoint = Annotated[i64, Column(OFFSET, "recovery point in the checkpoint file; -1: none")]
StartOffset = Annotated[i64, Column(OFFSET, "the first offset of an epoch")]

AskedEpoch = Annotated[i64, Column(EPOCH, "the leader epoch that a request asks about")]
BrokerEpoch = Annotated[
    i64, Column(EPOCH, "epoch of a broker's registration (ZooKeeper: its czxid)")
]
ControllerEpoch = Annotated[i64, Column(EPOCH, "controller epoch")]
Epoch = Annotated[i64, Column(EPOCH, "leader epoch of the records; -1: none")]
QuorumEpoch = Annotated[i64, Column(EPOCH, "epoch of the controllers' quorum")]
LeaderEpoch = Annotated[i64, Column(EPOCH, "leader epoch")]

TakenUs = Annotated[i64, Column(TIME, "time until the outcome, of all sends together")]
LongestUs = Annotated[i64, Column(TIME, "... of the slowest send")]
BlockedUs = Annotated[i64, Column(TIME, "time that the application waited for memory, in all")]
FailingUs = Annotated[i64, Column(TIME, "time since the first failed commit")]
HeldUs = Annotated[i64, Column(TIME, "time that a pin has held the message")]
LagMs = Annotated[
    i64, Column(TIME, "longest time since one of the removed followers was caught up")
]
MissingUs = Annotated[i64, Column(TIME, "time without a coordinator")]
WithoutMetadataUs = Annotated[
    i64, Column(TIME, "time since a client first asked in vain for metadata")
]
ProcessingUs = Annotated[i64, Column(TIME, "time that the controller worked on an event")]
QueuedUs = Annotated[i64, Column(TIME, "time that an event waited in the controller's queue")]
QuietMs = Annotated[i64, Column(TIME, "time since the leader's last ISR change")]
SilentUs = Annotated[i64, Column(TIME, "time since the last message")]
SincePropagationMs = Annotated[i64, Column(TIME, "time since the last notification of this broker")]
StalledUs = Annotated[i64, Column(TIME, "time since the stall began")]
TimeoutMs = Annotated[i64, Column(TIME, "session timeout")]
UnansweredUs = Annotated[i64, Column(TIME, "time that the client has waited when the stall begins")]
WaitedUs = Annotated[i64, Column(TIME, "time that the application waited for memory")]
UntilUs = Annotated[i64, Column(TIME, "virtual time at which the work is done")]

FollowerRateBytes = Annotated[i64, Column(RATE, "limit of replication as follower; -1: none")]
LeaderRateBytes = Annotated[i64, Column(RATE, "limit of replication as leader; -1: none")]

ApiKey = Annotated[i64, Column(CODE, "Kafka's number of the request", names=kinds.API_KEYS)]
Change = Annotated[i64, Column(CODE, "the kind of change of the state", names=codes.STATE_CHANGES)]
Checkpoint = Annotated[i64, Column(CODE, "which checkpoint file", names=codes.CHECKPOINTS)]
Error = Annotated[
    i64,
    Column(
        CODE,
        "Kafka's error code, or ZooKeeper's (-101 and below); 0: none",
        names=codes.ZOOKEEPER_ERROR_NAMES | errors.NAMES,
    ),
]
EventKind = Annotated[
    i64, Column(CODE, "kind of the controller's event", names=codes.CONTROLLER_EVENT_NAMES)
]
FaultKind = Annotated[i64, Column(CODE, "kind of the fault; the manifest names it")]
MessageKind = Annotated[i64, Column(CODE, "kind of the message", names=kinds.NAMES)]
Moment = Annotated[
    i64, Column(CODE, "the occasion on which a high watermark moves", names=codes.MOMENTS)
]
Feature = Annotated[i64, Column(CODE, "the feature of the cluster", names=codes.FEATURES)]
VoterChange = Annotated[
    i64, Column(CODE, "what is to become of a voter", names=codes.VOTER_CHANGES)
]
VoterRefusal = Annotated[
    i64, Column(CODE, "why the leader does not change its voters", names=codes.VOTER_REFUSALS)
]
Refusal = Annotated[
    i64, Column(CODE, "why the level of a feature is not changed", names=codes.REFUSALS)
]
Progress = Annotated[i64, Column(CODE, "state of a rolling restart", names=codes.ROLL_STATES)]
RaisedBy = Annotated[i64, Column(CODE, "why a log begins later", names=codes.LOG_START_CAUSES)]
Reason = Annotated[i64, Column(CODE, "the occasion of the row", names=codes.REASONS)]
SnapshotStep = Annotated[
    i64, Column(CODE, "the step of a node's snapshot", names=codes.SNAPSHOT_STEPS)
]
State = Annotated[
    i64, Column(CODE, "the control plane's state of a broker", names=codes.BROKER_STATES)
]
StateReason = Annotated[i64, Column(CODE, "why it does", names=codes.STATE_REASONS)]
Stop = Annotated[i64, Column(CODE, "the way in which a process ended", names=codes.STOPS)]

VoterState = Annotated[
    i64, Column(CODE, "the state of a controller in its quorum", names=codes.VOTER_STATES)
]

Clean = Annotated[
    i64,
    Column(
        FLAG,
        "1: the broker was stopped cleanly before",
        names={0: "not stopped cleanly before", 1: "stopped cleanly before"},
    ),
]
IsNewLeader = Annotated[
    i64,
    Column(
        FLAG,
        "1: the broker did not lead before; 0: it stays leader",
        names={0: "stays leader", 1: "becomes leader"},
    ),
]
Leads = Annotated[
    i64, Column(FLAG, "1: the replica is the leader", names={0: "follower", 1: "leader"})
]
Recovering = Annotated[
    i64, Column(FLAG, "1: the leader recovers from an unclean election; KRaft only")
]
Truncated = Annotated[
    i64,
    Column(FLAG, "1: records were taken off the log", names={0: "not truncated", 1: "truncated"}),
]
Unclean = Annotated[i64, Column(FLAG, "1: an unclean election", names={0: "clean", 1: "UNCLEAN"})]
UncleanEnabled = Annotated[
    i64, Column(FLAG, "1: unclean.leader.election.enable is true", names={0: "off", 1: "on"})
]
Waited = Annotated[
    i64,
    Column(
        FLAG,
        "1: the fetch waited in the purgatory and was read again",
        names={0: "at once", 1: "after a wait in the purgatory"},
    ),
]

AtMinIsr = Annotated[
    i64,
    Column(
        COUNT, "partitions led here with exactly min.insync.replicas in sync", unit="partitions"
    ),
]
Attempts = Annotated[i64, Column(COUNT, "attempts that a producer made", unit="attempts")]
BatchesDone = Annotated[i64, Column(COUNT, "sends that had an outcome", unit="sends")]
BrokerCount = Annotated[
    i64, Column(COUNT, "servers in the batch of a rolling restart", unit="servers")
]
Deferred = Annotated[
    i64, Column(COUNT, "responses of a controller that wait for a commit", unit="responses")
]
Cordoned = Annotated[
    i64, Column(COUNT, "log directories that get no new replicas", unit="directories")
]
EpochCount = Annotated[i64, Column(COUNT, "entries of the leader-epoch cache", unit="entries")]
Failures = Annotated[i64, Column(COUNT, "commits that have failed", unit="commits")]
KnownBrokers = Annotated[i64, Column(COUNT, "brokers that a client knows", unit="brokers")]
FollowerReplicas = Annotated[i64, Column(COUNT, "replicas throttled as followers", unit="replicas")]
LeaderReplicas = Annotated[i64, Column(COUNT, "replicas throttled as leaders", unit="replicas")]
Leaders = Annotated[i64, Column(COUNT, "partitions that the broker leads", unit="partitions")]
Logs = Annotated[i64, Column(COUNT, "logs that the broker loads", unit="logs")]
MemberCount = Annotated[i64, Column(COUNT, "members of the groups", unit="consumers")]
MinInsyncReplicas = Annotated[i64, Column(COUNT, "min.insync.replicas", unit="replicas")]
OffsetCount = Annotated[i64, Column(COUNT, "committed offsets that were read", unit="offsets")]
PartitionCount = Annotated[
    i64, Column(COUNT, "partitions in the request or notification", unit="partitions")
]
Partitions = Annotated[i64, Column(COUNT, "replicas that the broker hosts", unit="partitions")]
QueueLength = Annotated[i64, Column(COUNT, "events in the controller's queue", unit="events")]
Reassigning = Annotated[
    i64, Column(COUNT, "partitions led here that are being reassigned", unit="partitions")
]
Records = Annotated[i64, Column(COUNT, "records in the batch", unit="records")]
SentRecords = Annotated[i64, Column(COUNT, "records of the send", unit="records")]
RecordsAcknowledged = Annotated[
    i64, Column(COUNT, "records acknowledged to the client", unit="records")
]
RecordsConsumed = Annotated[i64, Column(COUNT, "records that the client consumed", unit="records")]
RecordsDuplicated = Annotated[
    i64, Column(COUNT, "records that retries appended twice", unit="records")
]
RecordsFailed = Annotated[i64, Column(COUNT, "records that the producer gave up", unit="records")]
RecordsInFlight = Annotated[
    i64, Column(COUNT, "records sent or waiting, without an outcome", unit="records")
]
RecordsOffered = Annotated[
    i64, Column(COUNT, "records that the application had for the producer", unit="records")
]
RecordsUnsent = Annotated[
    i64, Column(COUNT, "records that were due while the application waited", unit="records")
]
RecordsToRecover = Annotated[i64, Column(COUNT, "records behind recovery points", unit="records")]
Remaining = Annotated[
    i64, Column(COUNT, "partitions that the broker still leads", unit="partitions")
]
SnapshotBytes = Annotated[i64, Column(COUNT, "size of a snapshot; -1: unknown", unit="bytes")]
Start = Annotated[i64, Column(COUNT, "restarts of the consumer before", unit="restarts")]
UnderMinIsr = Annotated[
    i64,
    Column(
        COUNT, "partitions led here with fewer than min.insync.replicas in sync", unit="partitions"
    ),
]
UnderReplicated = Annotated[
    i64, Column(COUNT, "partitions with a replica outside of the ISR", unit="partitions")
]
Unregistered = Annotated[
    i64,
    Column(
        COUNT,
        "brokers that are not registered, and controllers that do not follow",
        unit="servers",
    ),
]

Acks = Annotated[
    i64, Column(NUMBER, "acks of the requests: 0, 1, or -1 for all", names={-1: "all"})
]
Attempt = Annotated[i64, Column(NUMBER, "number of the attempt, from 1")]
Batch = Annotated[i64, Column(NUMBER, "number of the batch within its producer")]
Send = Annotated[i64, Column(NUMBER, "number of the send within its producer")]
KraftVersion = Annotated[i64, Column(NUMBER, "kraft.version: 1 if voters may change, else 0")]
VoterDirectory = Annotated[
    i64, Column(NUMBER, "number of a controller's metadata directory; a replaced disk has the next")
]
FeatureLevel = Annotated[i64, Column(NUMBER, "level of a feature")]
OldestLevel = Annotated[i64, Column(NUMBER, "the lowest level that a node supports")]
NewestLevel = Annotated[i64, Column(NUMBER, "the highest level that a node supports")]
Notification = Annotated[
    i64,
    Column(
        NUMBER, "number of the isr_change_notification: sent, of its broker; read, of the znode"
    ),
]
PartitionEpoch = Annotated[
    i64, Column(NUMBER, "partition epoch; with ZooKeeper the state's version")
]
Position = Annotated[i64, Column(NUMBER, "place of the entry in the leader-epoch cache, from 0")]
Request = Annotated[i64, Column(NUMBER, "number of the request within its sender")]
SequenceNumber = Annotated[i64, Column(NUMBER, "number that ZooKeeper gives to a sequential znode")]
Session = Annotated[i64, Column(NUMBER, "number of the ZooKeeper session")]
Step = Annotated[i64, Column(NUMBER, "place of the step in the scenario, from 0")]
Version = Annotated[i64, Column(NUMBER, "version of the znode")]

Directory = Annotated[i64, Column(DIRECTORY, "log directory of the broker, from 0; -1: unknown")]
