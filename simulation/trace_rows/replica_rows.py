"""Rows of a replica: its role, its log, its leader epochs, and ISRs as leaders change them."""

from tidegauge.simulation.trace_rows import columns as column
from tidegauge.simulation.trace_rows.row import CanonicalRow, PartitionRow


class BecameLeader(PartitionRow, number=4):
    """A broker leads a partition, after a LeaderAndIsr."""

    STORY = (
        "{is_new_leader} in epoch {leader_epoch}: ISR {isr}, log end offset {log_end_offset},"
        " high watermark {high_watermark}"
    )

    leader_epoch: column.LeaderEpoch
    version: column.Version
    isr: column.Isr
    log_end_offset: column.LogEndOffset
    high_watermark: column.HighWatermark
    is_new_leader: column.IsNewLeader


class BecameFollower(PartitionRow, number=5):
    """A broker follows, after a LeaderAndIsr."""

    STORY = (
        "follows {leader} in epoch {leader_epoch}: log end offset {log_end_offset}, high "
        "watermark {high_watermark}"
    )

    leader: column.Leader
    leader_epoch: column.LeaderEpoch
    version: column.Version
    log_end_offset: column.LogEndOffset
    high_watermark: column.HighWatermark


class ReplicaStopped(PartitionRow, number=29):
    """A replica stops fetching, after a StopReplica."""

    STORY = "stops fetching in epoch {leader_epoch}, as StopReplica requests"

    leader_epoch: column.LeaderEpoch


class PartitionFailed(PartitionRow, number=16):
    """A follower has given up a partition until the next LeaderAndIsr."""

    STORY = "gives up the partition in epoch {leader_epoch}, until the next LeaderAndIsr"

    leader_epoch: column.LeaderEpoch


class LogLost(PartitionRow, number=19):
    """A loss of power has taken the end of a replica's log."""

    STORY = "its log loses what was not on disk: from {old_end_offset} to {end_offset}"

    end_offset: column.EndOffset
    old_end_offset: column.OldEndOffset


class LogDeleted(PartitionRow, number=71):
    """A replica's log is deleted, after a StopReplica to its broker."""

    STORY = "deletes its log, with records to before {log_end_offset}"

    log_end_offset: column.LogEndOffset


class FutureLogCreated(PartitionRow, number=121):
    """A replica begins to move to another log directory of its broker."""

    STORY = "begins to copy its log to log directory {directory}"

    directory: column.Directory


class FutureLogRemoved(PartitionRow, number=122):
    """A replica does not move to another log directory any more: its copy there is deleted."""

    STORY = "gives up its copy in log directory {directory}"

    directory: column.Directory


class LogMoved(PartitionRow, number=123):
    """The copy of a replica's log in another log directory has taken its place."""

    STORY = "its log, to before {log_end_offset}, now lies in log directory {directory}"

    directory: column.Directory
    log_end_offset: column.LogEndOffset


class LogStartRaised(PartitionRow, number=104):
    """A replica's log has lost its oldest segments: to retention, or as its leader's has."""

    STORY = (
        "its log begins at {log_start_offset} instead of {old_log_start_offset}: {raised_by}; it "
        "ends at {log_end_offset}"
    )

    log_start_offset: column.LogStartOffset
    old_log_start_offset: column.OldLogStartOffset
    log_end_offset: column.LogEndOffset
    raised_by: column.RaisedBy


class Truncated(PartitionRow, number=12):
    """A follower has cut its log."""

    STORY = (
        "truncates its log from {old_end_offset} to {end_offset} in epoch {leader_epoch}, "
        "high watermark {high_watermark}"
    )

    end_offset: column.EndOffset
    old_end_offset: column.OldEndOffset
    leader_epoch: column.LeaderEpoch
    high_watermark: column.HighWatermark


class LogEnd(PartitionRow, number=13):
    """One epoch's run of records in a replica's log, and the replica's high watermark."""

    STORY = "its log has offsets {start_offset} to before {end_offset} of epoch {epoch} ({reason})"

    epoch: column.Epoch
    start_offset: column.StartOffset
    end_offset: column.EndOffset
    reason: column.Reason
    high_watermark: column.HighWatermark


class EpochAssigned(PartitionRow, number=51):
    """An entry is added to a replica's leader-epoch cache; it is the last one now."""

    STORY = "its leader epochs: entry {position} is epoch {epoch} from {start_offset} on"

    position: column.Position
    epoch: column.Epoch
    start_offset: column.StartOffset


class EpochsCut(PartitionRow, number=52):
    """A replica's leader-epoch cache is cut to its first entries."""

    STORY = "its leader epochs: only the first {epoch_count} are left"

    epoch_count: column.EpochCount


class EpochAnswered(PartitionRow, number=49):
    """A leader answers where an epoch ended (OffsetsForLeaderEpoch)."""

    STORY = (
        "responds to {to_process}, which asks for epoch {asked_epoch}: epoch {epoch} ends at "
        "{end_offset}: {error}"
    )

    to_process: column.ToProcess
    asked_epoch: column.AskedEpoch
    epoch: column.Epoch
    end_offset: column.EndOffset
    error: column.Error


class EndOffsetTold(PartitionRow, number=133):
    """A leader answers a client that asks for the latest offset (ListOffsets)."""

    STORY = "responds to {to_process}, which asks for the latest offset: {end_offset}: {error}"

    to_process: column.ToProcess
    end_offset: column.EndOffset
    error: column.Error


class DivergingHighWatermark(PartitionRow, number=93):
    """A follower has taken the high watermark of a response that has it truncate (KAFKA-14704)."""

    STORY = (
        "takes the high watermark {high_watermark}, before {old_high_watermark}, from a "
        "response of {leader} that has it truncate to {diverging_end_offset} (KAFKA-14704)"
    )

    leader: column.Leader
    leader_epoch: column.LeaderEpoch
    old_high_watermark: column.OldHighWatermark
    high_watermark: column.HighWatermark
    diverging_end_offset: column.DivergingEndOffset


class Exposed(PartitionRow, number=10):
    """The highest high watermark that consumers could read so far in this leader's term."""

    STORY = "consumers could read to before {high_watermark} in epoch {leader_epoch} ({reason})"

    leader_epoch: column.LeaderEpoch
    high_watermark: column.HighWatermark
    reason: column.Reason


class Acknowledged(PartitionRow, number=11):
    """Offsets of one epoch acknowledged since the last such row of the leader.

    The control plane writes it about records that existed before the run.
    """

    STORY = (
        "acknowledged with acks={acks}: offsets {first_offset} to before {end_offset} in "
        "epoch {leader_epoch} ({reason})"
    )

    leader_epoch: column.LeaderEpoch
    acks: column.Acks
    first_offset: column.FirstOffset
    end_offset: column.EndOffset
    reason: column.Reason


class IsrUpdateSent(PartitionRow, number=6):
    """A leader asks ZooKeeper for another ISR, which blocks the partition, or the controller."""

    STORY = "asks to change the ISR from {old_isr} to {isr}, if its version is {version}"

    isr: column.Isr
    old_isr: column.OldIsr
    version: column.Version


class IsrChange(PartitionRow):
    """A leader has another ISR."""

    isr: column.Isr
    old_isr: column.OldIsr
    leader_epoch: column.LeaderEpoch
    version: column.Version
    log_end_offset: column.LogEndOffset


class IsrShrunk(IsrChange, number=7):
    """A leader has taken followers out of the ISR; lag_ms is the longest since caught up."""

    STORY = (
        "shrinks the ISR from {old_isr} to {isr}: not caught up for {lag_ms}, log end offset "
        "{log_end_offset}"
    )

    lag_ms: column.LagMs


class IsrExpanded(IsrChange, number=8):
    """A leader has taken a follower into the ISR, whose log ends where it fetched last."""

    STORY = "expands the ISR from {old_isr} to {isr}, log end offset {log_end_offset}"

    member_end_offset: column.MemberEndOffset


class IsrUpdateFailed(PartitionRow, number=9):
    """A leader's ISR is refused: ZooKeeper has another version, or the controller has an error."""

    STORY = "the ISR {isr} is refused at version {version}: {error}"

    isr: column.Isr
    version: column.Version
    error: column.Error


class IsrExpansionForgotten(PartitionRow, number=134):
    """A leader drops a pending expansion, as the metadata log brings the version that it knows."""

    STORY = (
        "forgets that it has asked for the ISR {isr}: the metadata log brings {old_isr} of version "
        "{version}, which it knows"
    )

    isr: column.Isr
    old_isr: column.OldIsr
    version: column.Version


class AlterPartitionSent(CanonicalRow, number=55):
    """A broker sends the controller all ISR changes that its leaders have proposed."""

    STORY = "sends {to_process} AlterPartition {request} about {partition_count:partition}"

    to_process: column.ToProcess
    request: column.Request
    partition_count: column.PartitionCount


class AlterPartitionFailed(CanonicalRow, number=56):
    """The request as a whole has failed, and is sent again."""

    STORY = "AlterPartition {request} to {from_process} has failed: {error}"

    from_process: column.FromProcess
    request: column.Request
    error: column.Error


class NotificationSent(CanonicalRow, number=15):
    """A leader writes an isr_change_notification, quiet_ms after its last change."""

    STORY = (
        "writes an isr_change_notification about {partition_count:partition}, {quiet_ms} "
        "after its last ISR change, {since_propagation_ms} after its last notification"
    )

    notification: column.Notification
    partition_count: column.PartitionCount
    quiet_ms: column.QuietMs
    since_propagation_ms: column.SincePropagationMs
