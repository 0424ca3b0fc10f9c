"""Rows of the voters of a KRaft quorum: their states, and their logs."""

from __future__ import annotations

from tidegauge.simulation.trace_rows import columns as column
from tidegauge.simulation.trace_rows.row import CanonicalRow


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
