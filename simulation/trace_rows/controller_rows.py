"""Rows of the control plane: controllers, the state that it holds, voters, ZooKeeper.

The state of partitions, brokers and the controller is written by the owner of the truth.
"""

from tidegauge.simulation.trace_rows import columns as column
from tidegauge.simulation.trace_rows.row import CanonicalRow, PartitionRow


class ControllerElected(CanonicalRow, number=30):
    """A broker has become controller."""

    STORY = "{broker} becomes controller, controller epoch {controller_epoch}"

    broker: column.Broker
    controller_epoch: column.ControllerEpoch


class ControllerResigned(CanonicalRow, number=37):
    """A broker is no longer controller."""

    STORY = "{broker} is no longer controller, controller epoch {controller_epoch}"

    broker: column.Broker
    controller_epoch: column.ControllerEpoch


class ControllerEvent(CanonicalRow, number=31):
    """The controller takes an event from its queue, queued_us after it came."""

    STORY = "takes event {event_kind} from its queue after {queued_us}, {queue_length} in the queue"

    event_kind: column.EventKind
    queue_length: column.QueueLength
    queued_us: column.QueuedUs


class ControllerEventDone(CanonicalRow, number=38):
    """The controller is done with an event, processing_us after it has taken it."""

    STORY = "is done with event {event_kind} after {processing_us}"

    event_kind: column.EventKind
    processing_us: column.ProcessingUs


class BrokerFailed(CanonicalRow, number=32):
    """The controller sees that a broker is gone."""

    STORY = "sees that {broker} is gone"

    broker: column.Broker


class BrokerRegistered(CanonicalRow, number=33):
    """The controller sees a new broker."""

    STORY = "sees that {broker} has registered"

    broker: column.Broker


class BrokerShutsDown(CanonicalRow, number=39):
    """The controller has moved leaders away from a broker that is to stop."""

    STORY = "has moved leaders away from {broker}, which still leads {remaining:partition}"

    broker: column.Broker
    remaining: column.Remaining


class LeaderElected(PartitionRow, number=34):
    """The controller has written a leader that it elected."""

    STORY = (
        "leader is now {leader}, before {old_leader}: {unclean} election, epoch "
        "{leader_epoch}, ISR {isr}"
    )

    leader: column.Leader
    leader_epoch: column.LeaderEpoch
    isr: column.Isr
    version: column.Version
    old_leader: column.OldLeader
    unclean: column.Unclean


class LeaderEpochRaised(PartitionRow, number=68):
    """The controller has raised a leader's epoch, so that it takes over another assignment."""

    STORY = (
        "raises the leader epoch of {leader} to {leader_epoch}, ISR {isr}: the replicas are "
        "{replicas}"
    )

    leader: column.Leader
    leader_epoch: column.LeaderEpoch
    isr: column.Isr
    version: column.Version
    replicas: column.Replicas


class RemovedFromIsr(PartitionRow, number=35):
    """The controller has taken a dead replica out of the ISR."""

    STORY = "takes {replica} out of the ISR, now {isr}: leader {leader}, epoch {leader_epoch}"

    replica: column.Replica
    leader: column.Leader
    leader_epoch: column.LeaderEpoch
    isr: column.Isr
    version: column.Version


class IsrAltered(PartitionRow, number=57):
    """The controller has decided on an ISR that a leader proposes: written, or refused."""

    STORY = (
        "gets a request of {leader}, epoch {leader_epoch}, for the ISR {isr}, now version "
        "{version}: {error}"
    )

    leader: column.Leader
    leader_epoch: column.LeaderEpoch
    isr: column.Isr
    version: column.Version
    error: column.Error


class NotificationRead(CanonicalRow, number=36):
    """The controller has read an isr_change_notification and sends UpdateMetadata."""

    STORY = "reads isr_change_notification {notification} about {partition_count:partition}"

    notification: column.Notification
    partition_count: column.PartitionCount


class LogDirEventRead(CanonicalRow, number=77):
    """The controller reads that a broker's log directory has failed, and asks for its replicas."""

    STORY = "reads that a log directory of {broker} has failed"

    broker: column.Broker


class ReplicaFoundOffline(PartitionRow, number=78):
    """A broker has reported to the controller that a replica's log directory is offline."""

    STORY = "learns that the replica of {replica} is offline"

    replica: column.Replica


class ReassignmentBegun(PartitionRow, number=69):
    """The controller begins to move replicas, or takes it up again."""

    STORY = "moves replicas, now {replicas}: {adding} are added, {removing} will be removed"

    replicas: column.Replicas
    adding: column.Adding
    removing: column.Removing


class ReassignmentDone(PartitionRow, number=70):
    """The replicas of a partition are those of its target assignment."""

    STORY = "has moved the replicas: they are {replicas}"

    replicas: column.Replicas


class TopicDeletionBegun(CanonicalRow, number=72):
    """The controller begins to delete a topic: its partitions lose their leaders."""

    STORY = "begins to delete {topic}"

    topic: column.Topic


class TopicDeleted(CanonicalRow, number=73):
    """All logs of a topic are deleted, and ZooKeeper holds nothing of it."""

    STORY = "has deleted {topic}"

    topic: column.Topic


class PartitionState(PartitionRow, number=94):
    """The control plane's state of a partition, after it was created, written or deleted."""

    STORY = (
        "the state is {change} by {writer}: leader {leader}, epoch {leader_epoch}, ISR {isr},"
        " partition epoch {partition_epoch}"
    )

    change: column.Change
    leader: column.Leader
    leader_epoch: column.LeaderEpoch
    partition_epoch: column.PartitionEpoch
    isr: column.Isr
    controller_epoch: column.ControllerEpoch
    writer: column.Writer


class PartitionReplicas(PartitionRow, number=59):
    """A partition's replicas in the control plane are others now, or in another order."""

    STORY = "the assignment is {replicas} now; {adding} are being added, {removing} removed"

    replicas: column.Replicas
    adding: column.Adding
    removing: column.Removing
    eligible_leaders: column.EligibleLeaders
    last_known_leader: column.LastKnownLeader
    recovering: column.Recovering


class BrokerState(CanonicalRow, number=95):
    """The control plane takes a broker for absent, fenced, active or shutting down."""

    STORY = "takes {broker} for {state}: {state_reason}"

    broker: column.Broker
    state: column.State
    broker_epoch: column.BrokerEpoch
    state_reason: column.StateReason


class ControllerActive(CanonicalRow, number=96):
    """Another broker is the active controller now; -1: none; -2: one of before the run."""

    STORY = "active controller: {broker}, controller epoch {controller_epoch}"

    broker: column.Broker
    controller_epoch: column.ControllerEpoch


class TopicConfigured(CanonicalRow, number=48):
    """The settings of a topic were written."""

    STORY = (
        "{topic} now has min.insync.replicas={min_insync_replicas}, unclean election "
        "{unclean_enabled}"
    )

    topic: column.Topic
    min_insync_replicas: column.MinInsyncReplicas
    unclean_enabled: column.UncleanEnabled


class LogDirectoriesCordoned(CanonicalRow, number=120):
    """A broker has told the controller that other log directories of it are cordoned (KIP-1066)."""

    STORY = "{broker} now has {cordoned} cordoned log directories"

    broker: column.Broker
    cordoned: column.Cordoned


class FeatureLevelFinalized(CanonicalRow, number=125):
    """The level of a feature is committed: all nodes follow it once they have read the record."""

    STORY = "{feature} is now {feature_level}"

    feature: column.Feature
    feature_level: column.FeatureLevel


class FeatureNotSupported(CanonicalRow, number=126):
    """The active controller refuses a level of a feature that a registered node does not support.

    Source: FeatureControlManager.reasonNotSupported@3.9.0.
    """

    STORY = (
        "Invalid update version {feature_level} for feature {feature}: {server} only supports "
        "versions {oldest_level}-{newest_level}"
    )

    feature: column.Feature
    feature_level: column.FeatureLevel
    server: column.Server
    oldest_level: column.OldestLevel
    newest_level: column.NewestLevel


class FeatureUnknown(CanonicalRow, number=127):
    """The active controller refuses a feature that the release of a registered node has not."""

    STORY = (
        "Invalid update version {feature_level} for feature {feature}: {server} does not support "
        "this feature"
    )

    feature: column.Feature
    feature_level: column.FeatureLevel
    server: column.Server


class FeatureUpdateRefused(CanonicalRow, number=128):
    """The active controller does not change a level, which all nodes support, in this way."""

    STORY = "Invalid update version {feature_level} for feature {feature}: {refusal}"

    feature: column.Feature
    feature_level: column.FeatureLevel
    refusal: column.Refusal


class VoterState(CanonicalRow, number=99):
    """A controller of the quorum is in another state, or in another epoch."""

    STORY = (
        "{broker} is {voter_state} in epoch {quorum_epoch}: leader {quorum_leader}, "
        "voted for {voted_for}"
    )

    broker: column.Broker
    voter_state: column.VoterState
    quorum_epoch: column.QuorumEpoch
    quorum_leader: column.QuorumLeader
    voted_for: column.VotedFor


class VoterLog(CanonicalRow, number=100):
    """The metadata log of a controller has another end, or its high watermark has moved."""

    STORY = (
        "the metadata log of {broker} ends at {log_end_offset}, epoch {quorum_epoch}; "
        "high watermark {high_watermark}"
    )

    broker: column.Broker
    quorum_epoch: column.QuorumEpoch
    log_end_offset: column.LogEndOffset
    high_watermark: column.HighWatermark
    truncated: column.Truncated


class QuorumVoters(CanonicalRow, number=135):
    """A controller has other voters in force, by its log; or the leader has committed them.

    Only quorums whose voters may change have such rows.
    """

    STORY = (
        "the voters of {broker} are {voters}, record {voters_offset}, in epoch {quorum_epoch}, "
        "kraft.version {kraft_version}, {voters_committed}"
    )

    broker: column.Broker
    voters: column.Voters
    voters_offset: column.VotersOffset
    quorum_epoch: column.QuorumEpoch
    kraft_version: column.KraftVersion
    voters_committed: column.VotersCommitted


class VoterChangeAnswered(CanonicalRow, number=136):
    """A controller answers a request to add, remove or update a voter."""

    STORY = (
        "answers the request to {voter_change} a voter, {server} with directory "
        "{voter_directory}: {error}"
    )

    server: column.Server
    voter_directory: column.VoterDirectory
    voter_change: column.VoterChange
    error: column.Error
    voter_refusal: column.VoterRefusal


class MetadataSnapshot(CanonicalRow, number=101):
    """A node has written or loaded a snapshot of the metadata log, or its log begins with one."""

    STORY = (
        "{broker} {snapshot_step} a snapshot of the metadata log up to {end_offset}, epoch "
        "{quorum_epoch}; its log begins at {log_start_offset}"
    )

    broker: column.Broker
    snapshot_step: column.SnapshotStep
    end_offset: column.EndOffset
    quorum_epoch: column.QuorumEpoch
    snapshot_bytes: column.SnapshotBytes
    log_start_offset: column.LogStartOffset


class SessionOpened(CanonicalRow, number=20):
    """ZooKeeper has opened a session of a broker."""

    STORY = "opens session {session} of {broker}, timeout {timeout_ms}"

    broker: column.Broker
    session: column.Session
    timeout_ms: column.TimeoutMs


class SessionExpired(CanonicalRow, number=21):
    """ZooKeeper has expired a session; silent_us is the time since the broker's last message."""

    STORY = "expires session {session} of {broker}, silent for {silent_us}"

    broker: column.Broker
    session: column.Session
    silent_us: column.SilentUs


class SessionClosed(CanonicalRow, number=26):
    """A broker has closed its session."""

    STORY = "closes session {session} of {broker}, as requested"

    broker: column.Broker
    session: column.Session


class ZnodeRow(CanonicalRow):
    """A znode changes."""

    znode: column.Znode
    writer: column.Writer


class ZnodeContent(ZnodeRow):
    """The content of a znode; of a partition its leader, epochs and ISR."""

    leader: column.LeaderSlot
    leader_epoch: column.LeaderEpoch
    controller_epoch: column.ControllerEpoch
    isr: column.Isr


class ZnodeCreated(ZnodeContent, number=22):
    """A znode was created, by writer; -1 is the operator, -2 a writer before the run."""

    STORY = "{znode} is created by {writer}"

    sequence_number: column.SequenceNumber


class ZnodeSet(ZnodeContent, number=23):
    """A znode was written."""

    STORY = "{znode} is written by {writer}: version {version}"

    version: column.Version


class ZnodeDeleted(ZnodeRow, number=24):
    """A znode was deleted, by writer, or (-1) with its session."""

    STORY = "{znode} is deleted by {writer}"
