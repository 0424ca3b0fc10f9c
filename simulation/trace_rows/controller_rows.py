"""Rows of the controller: its events, elections, reassignments and deletions."""

from __future__ import annotations

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
    """The controller begins to delete a topic: its partitions have no leader any more."""

    STORY = "begins to delete {topic}"

    topic: column.Topic


class TopicDeleted(CanonicalRow, number=73):
    """All logs of a topic are deleted, and ZooKeeper holds nothing of it."""

    STORY = "has deleted {topic}"

    topic: column.Topic
