"""The columns of the trace's rows: the type, the unit and the meaning of each.

A column's type says what its integer is: a broker is an index within the cluster, a slot is a place
in a partition's own table of brokers, a replica list packs slots (``replication/replica_list.py``).
A name's end is its unit: ``_us``, ``_ms``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, NamedTuple

import numpy as np

from tidegauge.replication import errors
from tidegauge.simulation.codes import controller_events, zookeeper_errors
from tidegauge.simulation.codes.occasions import (
    BROKER_STATES,
    CHECKPOINTS,
    MOMENTS,
    REASONS,
    ROLL_STATES,
    STATE_CHANGES,
    STATE_REASONS,
    STOPS,
    UNSEEN,
)
from tidegauge.simulation.messages import kinds


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


class Column(NamedTuple):
    """One column: what its integers are."""

    type: Type
    meaning: str
    #: The unit of a count; a time's is the end of its name.
    unit: str | None = None
    #: The words for its codes.
    names: Mapping[int, str] | None = None


# Columns of every row.
TimeUs = Annotated[int, np.int64, Column(Type.TIME, "virtual time since the start of the run")]
Process = Annotated[int, np.int64, Column(Type.PROCESS, "the process that writes the row")]
Sequence = Annotated[
    int,
    np.int64,
    Column(Type.NUMBER, "number of the row within its process; counts canonical rows only"),
]
Minor = Annotated[
    int, np.int64, Column(Type.NUMBER, "0 in a canonical row; counts the other rows after it")
]
CauseProcess = Annotated[
    int,
    np.int64,
    Column(Type.PROCESS, "with cause_sequence: the row that caused this one; -1: none"),
]
CauseSequence = Annotated[int, np.int64, Column(Type.NUMBER, "`sequence` of that row")]
BecauseProcess = Annotated[
    int, np.int64, Column(Type.PROCESS, "with because_sequence: a second reason; -1: none")
]
BecauseSequence = Annotated[int, np.int64, Column(Type.NUMBER, "`sequence` of that row")]

# Columns of kinds.
Partition = Annotated[
    int, np.int64, Column(Type.PARTITION, "number of the partition within the cluster; -1: none")
]

Topic = Annotated[
    int, np.int64, Column(Type.TOPIC, "number of the topic, in the order of the scenario")
]

Broker = Annotated[int, np.int64, Column(Type.BROKER, "the broker that the row is about; -1: none")]
LastKnownLeader = Annotated[
    int, np.int64, Column(Type.BROKER, "the last leader of a partition without ISR; KRaft only")
]
Leader = Annotated[int, np.int64, Column(Type.BROKER, "the leader; -1: none")]
OldLeader = Annotated[int, np.int64, Column(Type.BROKER, "the leader before; -1: none")]
Replica = Annotated[int, np.int64, Column(Type.BROKER, "the broker that hosts the replica")]

LeaderSlot = Annotated[
    int, np.int64, Column(Type.SLOT, "the slot of the leader in replica lists; -1: none")
]

Adding = Annotated[int, np.int64, Column(Type.REPLICAS, "replicas that a reassignment adds")]
EligibleLeaders = Annotated[
    int, np.int64, Column(Type.REPLICAS, "eligible leader replicas (KIP-966); KRaft only")
]
Isr = Annotated[int, np.int64, Column(Type.REPLICAS, "in-sync replicas")]
OldIsr = Annotated[int, np.int64, Column(Type.REPLICAS, "in-sync replicas before")]
Removing = Annotated[int, np.int64, Column(Type.REPLICAS, "replicas that a reassignment removes")]
Replicas = Annotated[
    int, np.int64, Column(Type.REPLICAS, "all replicas, the preferred leader first")
]

FromProcess = Annotated[int, np.int64, Column(Type.PROCESS, "the sender")]
ToProcess = Annotated[int, np.int64, Column(Type.PROCESS, "the receiver")]

Writer = Annotated[
    int,
    np.int64,
    Column(
        Type.WRITER, "the broker that writes; -1: the operator or the session; -2: before the run"
    ),
]

Fault = Annotated[int, np.int64, Column(Type.FAULT, "place of the fault in the scenario, from 0")]

Znode = Annotated[
    int, np.int64, Column(Type.ZNODE, "number of the znode; `tidegauge show` prints its path")
]

AgainOffset = Annotated[
    int, np.int64, Column(Type.OFFSET, "first offset of the second copy of a batch")
]
BaseOffset = Annotated[int, np.int64, Column(Type.OFFSET, "first offset of the records")]
Checkpointed = Annotated[
    int, np.int64, Column(Type.OFFSET, "high watermark in the checkpoint file; -1: none")
]
CommittedOffset = Annotated[
    int, np.int64, Column(Type.OFFSET, "offset that a consumer group has committed; -1: none")
]
DivergingEndOffset = Annotated[
    int, np.int64, Column(Type.OFFSET, "offset to which a response has the follower truncate")
]
EndOffset = Annotated[int, np.int64, Column(Type.OFFSET, "the offset after the last record")]
FetchOffset = Annotated[int, np.int64, Column(Type.OFFSET, "offset that a fetch asks for")]
FirstOffset = Annotated[int, np.int64, Column(Type.OFFSET, "first offset of the records")]
HighWatermark = Annotated[int, np.int64, Column(Type.OFFSET, "high watermark")]
SeenHighWatermark = Annotated[
    int,
    np.int64,
    Column(
        Type.OFFSET,
        "high watermark; below 0 the reason why it is unknown",
        names={code: f"unknown ({why})" for code, why in UNSEEN.items()},
    ),
]
LogEndOffset = Annotated[int, np.int64, Column(Type.OFFSET, "log end offset of the replica")]
MemberEndOffset = Annotated[
    int, np.int64, Column(Type.OFFSET, "log end offset of the follower that joins the ISR")
]
NewOffset = Annotated[int, np.int64, Column(Type.OFFSET, "offset from which a consumer reads on")]
Offset = Annotated[
    int, np.int64, Column(Type.OFFSET, "offset of a request or of its response; -1: none")
]
OldEndOffset = Annotated[int, np.int64, Column(Type.OFFSET, "the end before")]
OldHighWatermark = Annotated[int, np.int64, Column(Type.OFFSET, "the high watermark before")]
OldOffset = Annotated[
    int, np.int64, Column(Type.OFFSET, "the leader's copy of the log end offset before the fetch")
]
RecoveryPoint = Annotated[
    int, np.int64, Column(Type.OFFSET, "recovery point in the checkpoint file; -1: none")
]
StartOffset = Annotated[int, np.int64, Column(Type.OFFSET, "the first offset of an epoch")]

AskedEpoch = Annotated[
    int, np.int64, Column(Type.EPOCH, "the leader epoch that a request asks about")
]
BrokerEpoch = Annotated[
    int, np.int64, Column(Type.EPOCH, "epoch of a broker's registration (ZooKeeper: its czxid)")
]
ControllerEpoch = Annotated[int, np.int64, Column(Type.EPOCH, "controller epoch")]
Epoch = Annotated[int, np.int64, Column(Type.EPOCH, "leader epoch of the records; -1: none")]
LeaderEpoch = Annotated[int, np.int64, Column(Type.EPOCH, "leader epoch")]

FailingUs = Annotated[int, np.int64, Column(Type.TIME, "time since the first failed commit")]
LagMs = Annotated[
    int,
    np.int64,
    Column(Type.TIME, "longest time since one of the removed followers was caught up"),
]
MissingUs = Annotated[int, np.int64, Column(Type.TIME, "time without a coordinator")]
ProcessingUs = Annotated[
    int, np.int64, Column(Type.TIME, "time that the controller worked on an event")
]
QueuedUs = Annotated[
    int, np.int64, Column(Type.TIME, "time that an event waited in the controller's queue")
]
QuietMs = Annotated[int, np.int64, Column(Type.TIME, "time since the leader's last ISR change")]
SilentUs = Annotated[int, np.int64, Column(Type.TIME, "time since the last message")]
SincePropagationMs = Annotated[
    int, np.int64, Column(Type.TIME, "time since the last notification of this broker")
]
TimeoutMs = Annotated[int, np.int64, Column(Type.TIME, "session timeout")]
UntilUs = Annotated[int, np.int64, Column(Type.TIME, "virtual time at which the work is done")]

FollowerRateBytes = Annotated[
    int, np.int64, Column(Type.RATE, "limit of replication as follower; -1: none")
]
LeaderRateBytes = Annotated[
    int, np.int64, Column(Type.RATE, "limit of replication as leader; -1: none")
]

ApiKey = Annotated[
    int, np.int64, Column(Type.CODE, "Kafka's number of the request", names=kinds.API_KEYS)
]
Change = Annotated[
    int, np.int64, Column(Type.CODE, "what has happened to the state", names=STATE_CHANGES)
]
Checkpoint = Annotated[int, np.int64, Column(Type.CODE, "which checkpoint file", names=CHECKPOINTS)]
Error = Annotated[
    int,
    np.int64,
    Column(
        Type.CODE,
        "Kafka's error code, or ZooKeeper's (-101 and below); 0: none",
        names=zookeeper_errors.NAMES | errors.NAMES,
    ),
]
EventKind = Annotated[
    int,
    np.int64,
    Column(Type.CODE, "kind of the controller's event", names=controller_events.NAMES),
]
FaultKind = Annotated[int, np.int64, Column(Type.CODE, "kind of the fault; the manifest names it")]
MessageKind = Annotated[int, np.int64, Column(Type.CODE, "kind of the message", names=kinds.NAMES)]
Moment = Annotated[
    int, np.int64, Column(Type.CODE, "the occasion on which a high watermark moves", names=MOMENTS)
]
Progress = Annotated[
    int, np.int64, Column(Type.CODE, "state of a rolling restart", names=ROLL_STATES)
]
Reason = Annotated[int, np.int64, Column(Type.CODE, "the occasion of the row", names=REASONS)]
State = Annotated[
    int,
    np.int64,
    Column(Type.CODE, "what the control plane takes a broker for", names=BROKER_STATES),
]
StateReason = Annotated[int, np.int64, Column(Type.CODE, "why it does", names=STATE_REASONS)]
Stop = Annotated[int, np.int64, Column(Type.CODE, "the way in which a process ended", names=STOPS)]

Clean = Annotated[
    int,
    np.int64,
    Column(
        Type.FLAG,
        "1: the broker was stopped cleanly before",
        names={0: "not stopped cleanly before", 1: "stopped cleanly before"},
    ),
]
IsNewLeader = Annotated[
    int,
    np.int64,
    Column(
        Type.FLAG,
        "1: the broker did not lead before; 0: it stays leader",
        names={0: "stays leader", 1: "becomes leader"},
    ),
]
Leads = Annotated[
    int,
    np.int64,
    Column(Type.FLAG, "1: the replica is the leader", names={0: "follower", 1: "leader"}),
]
Recovering = Annotated[
    int, np.int64, Column(Type.FLAG, "1: the leader recovers from an unclean election; KRaft only")
]
Unclean = Annotated[
    int, np.int64, Column(Type.FLAG, "1: an unclean election", names={0: "clean", 1: "UNCLEAN"})
]
UncleanEnabled = Annotated[
    int,
    np.int64,
    Column(Type.FLAG, "1: unclean.leader.election.enable is true", names={0: "off", 1: "on"}),
]
Waited = Annotated[
    int,
    np.int64,
    Column(
        Type.FLAG,
        "1: the fetch waited in the purgatory and was read again",
        names={0: "at once", 1: "after a wait in the purgatory"},
    ),
]

AtMinIsr = Annotated[
    int,
    np.int64,
    Column(
        Type.COUNT,
        "partitions led here with exactly min.insync.replicas in sync",
        unit="partitions",
    ),
]
Attempts = Annotated[
    int, np.int64, Column(Type.COUNT, "attempts that a producer made", unit="attempts")
]
BrokerCount = Annotated[
    int, np.int64, Column(Type.COUNT, "brokers in the batch of a rolling restart", unit="brokers")
]
EpochCount = Annotated[
    int, np.int64, Column(Type.COUNT, "entries of the leader-epoch cache", unit="entries")
]
Failures = Annotated[int, np.int64, Column(Type.COUNT, "commits that have failed", unit="commits")]
FollowerReplicas = Annotated[
    int, np.int64, Column(Type.COUNT, "replicas throttled as followers", unit="replicas")
]
LeaderReplicas = Annotated[
    int, np.int64, Column(Type.COUNT, "replicas throttled as leaders", unit="replicas")
]
Leaders = Annotated[
    int, np.int64, Column(Type.COUNT, "partitions that the broker leads", unit="partitions")
]
Logs = Annotated[int, np.int64, Column(Type.COUNT, "logs that the broker loads", unit="logs")]
MemberCount = Annotated[
    int, np.int64, Column(Type.COUNT, "members of the groups", unit="consumers")
]
MinInsyncReplicas = Annotated[
    int, np.int64, Column(Type.COUNT, "min.insync.replicas", unit="replicas")
]
OffsetCount = Annotated[
    int, np.int64, Column(Type.COUNT, "committed offsets that were read", unit="offsets")
]
PartitionCount = Annotated[
    int,
    np.int64,
    Column(Type.COUNT, "partitions in the request or notification", unit="partitions"),
]
Partitions = Annotated[
    int, np.int64, Column(Type.COUNT, "replicas that the broker hosts", unit="partitions")
]
QueueLength = Annotated[
    int, np.int64, Column(Type.COUNT, "events in the controller's queue", unit="events")
]
Reassigning = Annotated[
    int,
    np.int64,
    Column(Type.COUNT, "partitions led here that are being reassigned", unit="partitions"),
]
Records = Annotated[int, np.int64, Column(Type.COUNT, "records in the batch", unit="records")]
RecordsAcknowledged = Annotated[
    int, np.int64, Column(Type.COUNT, "records acknowledged to the client", unit="records")
]
RecordsConsumed = Annotated[
    int, np.int64, Column(Type.COUNT, "records that the client consumed", unit="records")
]
RecordsDuplicated = Annotated[
    int, np.int64, Column(Type.COUNT, "records that retries appended twice", unit="records")
]
RecordsFailed = Annotated[
    int, np.int64, Column(Type.COUNT, "records that the producer gave up", unit="records")
]
RecordsToRecover = Annotated[
    int, np.int64, Column(Type.COUNT, "records behind recovery points", unit="records")
]
Remaining = Annotated[
    int, np.int64, Column(Type.COUNT, "partitions that the broker still leads", unit="partitions")
]
Start = Annotated[
    int, np.int64, Column(Type.COUNT, "restarts of the consumer before", unit="restarts")
]
UnderMinIsr = Annotated[
    int,
    np.int64,
    Column(
        Type.COUNT,
        "partitions led here with fewer than min.insync.replicas in sync",
        unit="partitions",
    ),
]
UnderReplicated = Annotated[
    int,
    np.int64,
    Column(Type.COUNT, "partitions with a replica outside of the ISR", unit="partitions"),
]
Unregistered = Annotated[
    int, np.int64, Column(Type.COUNT, "brokers that are not registered", unit="brokers")
]

Acks = Annotated[
    int,
    np.int64,
    Column(Type.NUMBER, "acks of the requests: 0, 1, or -1 for all", names={-1: "all"}),
]
Attempt = Annotated[int, np.int64, Column(Type.NUMBER, "number of the attempt, from 1")]
Batch = Annotated[int, np.int64, Column(Type.NUMBER, "number of the batch within its producer")]
Notification = Annotated[
    int,
    np.int64,
    Column(
        Type.NUMBER,
        "number of the isr_change_notification: sent, of its broker; read, of the znode",
    ),
]
PartitionEpoch = Annotated[
    int, np.int64, Column(Type.NUMBER, "partition epoch; with ZooKeeper the state's version")
]
Position = Annotated[
    int, np.int64, Column(Type.NUMBER, "place of the entry in the leader-epoch cache, from 0")
]
Request = Annotated[int, np.int64, Column(Type.NUMBER, "number of the request within its sender")]
SequenceNumber = Annotated[
    int, np.int64, Column(Type.NUMBER, "number that ZooKeeper gives to a sequential znode")
]
Session = Annotated[int, np.int64, Column(Type.NUMBER, "number of the ZooKeeper session")]
Step = Annotated[int, np.int64, Column(Type.NUMBER, "place of the step in the scenario, from 0")]
Version = Annotated[int, np.int64, Column(Type.NUMBER, "version of the znode")]

Directory = Annotated[
    int, np.int64, Column(Type.DIRECTORY, "log directory of the broker, from 0; -1: unknown")
]
