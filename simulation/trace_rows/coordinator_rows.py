"""Rows of the coordinators of consumer groups."""

from __future__ import annotations

from tidegauge.simulation.trace_rows import columns as column
from tidegauge.simulation.trace_rows.row import PartitionRow


class CoordinatorLoading(PartitionRow, number=80):
    """A broker leads a partition of __consumer_offsets, and reads it to coordinate its groups."""

    STORY = (
        "leads in epoch {leader_epoch}, and reads committed offsets of groups, to before "
        "{log_end_offset}, until {until_us}"
    )

    leader_epoch: column.LeaderEpoch
    log_end_offset: column.LogEndOffset
    until_us: column.UntilUs


class CoordinatorLoaded(PartitionRow, number=81):
    """A broker has read the committed offsets of groups, and coordinates them."""

    STORY = (
        "has read {offset_count:committed offset} and {member_count:member} to before "
        "{log_end_offset}, and coordinates their groups"
    )

    leader_epoch: column.LeaderEpoch
    log_end_offset: column.LogEndOffset
    offset_count: column.OffsetCount
    member_count: column.MemberCount


class CoordinatorUnloaded(PartitionRow, number=82):
    """A broker no longer coordinates the groups of a partition."""

    STORY = "no longer coordinates groups, in epoch {leader_epoch}"

    leader_epoch: column.LeaderEpoch


class MemberJoined(PartitionRow, number=83):
    """A coordinator takes a consumer into its group; start: how often it was started before."""

    STORY = "takes {from_process} into its group"

    from_process: column.FromProcess
    start: column.Start


class MemberExpired(PartitionRow, number=84):
    """A coordinator removes a consumer from its group: silent for session.timeout.ms."""

    STORY = "takes {from_process} out of its group, silent for {silent_us}"

    from_process: column.FromProcess
    silent_us: column.SilentUs
