"""Rows of ISR changes, as leaders make and propagate them."""

from __future__ import annotations

from tidegauge.simulation.trace_rows import columns as column
from tidegauge.simulation.trace_rows.row import CanonicalRow, PartitionRow


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
    """A leader's ISR is refused: ZooKeeper has another version, or the controller says why."""

    STORY = "the ISR {isr} is refused at version {version}: {error}"

    isr: column.Isr
    version: column.Version
    error: column.Error


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
