"""Details: rows about single requests, recorded at level ``all`` only."""

from __future__ import annotations

from tidegauge.simulation.trace_rows import columns as column
from tidegauge.simulation.trace_rows.row import Detail


class Appended(Detail, number=60):
    """A replica has appended records: its log end offset moves."""

    STORY = (
        "{leads}: appends offsets {base_offset} to before {end_offset} of epoch {epoch}, high"
        " watermark {high_watermark}"
    )

    partition: column.Partition
    leads: column.Leads
    base_offset: column.BaseOffset
    end_offset: column.EndOffset
    epoch: column.Epoch
    high_watermark: column.HighWatermark


class FetchCounted(Detail, number=61):
    """A leader's copy of a follower's log end offset after the follower's fetch."""

    STORY = (
        "{replica} fetches at {fetch_offset}, before {old_offset}: log end offset "
        "{log_end_offset}, high watermark {high_watermark}"
    )

    partition: column.Partition
    replica: column.Replica
    fetch_offset: column.FetchOffset
    old_offset: column.OldOffset
    log_end_offset: column.LogEndOffset
    high_watermark: column.HighWatermark


class FetchAnswered(Detail, number=62):
    """A leader responds to a fetch; waited: it was in the purgatory and was read again."""

    STORY = (
        "responds to the fetch of {to_process} at {fetch_offset} with records to before "
        "{end_offset}, high watermark {high_watermark}, {waited}: {error}"
    )

    partition: column.Partition
    to_process: column.ToProcess
    fetch_offset: column.FetchOffset
    end_offset: column.EndOffset
    high_watermark: column.HighWatermark
    waited: column.Waited
    error: column.Error


class HighWatermarkMoved(Detail, number=63):
    """A replica's high watermark has moved; moment as in MOMENTS."""

    STORY = "{leads}: high watermark from {old_high_watermark} to {high_watermark} ({moment})"

    partition: column.Partition
    leads: column.Leads
    high_watermark: column.HighWatermark
    old_high_watermark: column.OldHighWatermark
    moment: column.Moment


class ProduceAnswered(Detail, number=64):
    """A leader responds to a produce request."""

    STORY = (
        "responds to {to_process}, acks={acks}: offsets {base_offset} to before {end_offset}:"
        " {error}"
    )

    partition: column.Partition
    to_process: column.ToProcess
    base_offset: column.BaseOffset
    end_offset: column.EndOffset
    acks: column.Acks
    error: column.Error


class Consumed(Detail, number=65):
    """A consumer has received a response."""

    STORY = (
        "consumer has read offsets {fetch_offset} to before {end_offset}, high watermark "
        "{high_watermark}: {error}"
    )

    partition: column.Partition
    fetch_offset: column.FetchOffset
    end_offset: column.EndOffset
    high_watermark: column.HighWatermark
    error: column.Error


class OffsetCommitted(Detail, number=91):
    """A consumer's commit of an offset is acknowledged."""

    STORY = "has committed {committed_offset}"

    partition: column.Partition
    committed_offset: column.CommittedOffset


class CheckpointWritten(Detail, number=67):
    """A broker has written a checkpoint; checkpoint as in CHECKPOINTS."""

    STORY = "writes {checkpoint}, {partition_count:partition}"

    checkpoint: column.Checkpoint
    partition_count: column.PartitionCount


class Message(Detail, number=66):
    """A message has reached its process."""

    STORY = "gets {message_kind} of {from_process}: {error} (offset {offset})"

    message_kind: column.MessageKind
    from_process: column.FromProcess
    partition: column.Partition
    offset: column.Offset
    error: column.Error
