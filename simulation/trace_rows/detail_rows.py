"""Rows that are no transitions: single requests, at level ``all`` only, and samples.

Samples are taken every ``sample_every`` of the scenario. Most replicas of a large cluster have not
changed since the sample before: a replica has a row only where it differs from its last one, and
``broker_sampled``, which is written every time, has the times of all samples.
"""

from tidegauge.simulation.trace_rows import columns as column
from tidegauge.simulation.trace_rows.row import Detail, Sample


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


class Sampled(Sample, number=50):
    """A replica's ends, where a sample finds others than the one before.

    It is also written at the first sample of a process that hosts the replica, and again where it
    was not hosted at the sample before. At each later broker_sampled of the process the replica
    has these ends, until its next such row or a no_longer_sampled.
    """

    STORY = "{leads}: log end offset {log_end_offset}, high watermark {high_watermark}"

    partition: column.Partition
    leads: column.Leads
    log_end_offset: column.LogEndOffset
    high_watermark: column.HighWatermark


class NoLongerSampled(Sample, number=124):
    """A replica of an earlier sample is not hosted any more."""

    STORY = "is not hosted any more"

    partition: column.Partition


class BrokerSampled(Sample, number=92):
    """A broker's gauges, every sample_every: replicas that it hosts, and of those that it leads."""

    STORY = (
        "hosts {partitions} and leads {leaders}: {under_replicated} under-replicated, "
        "{under_min_isr} under min ISR, {at_min_isr} at min ISR, {reassigning} being "
        "reassigned"
    )

    broker: column.Broker
    partitions: column.Partitions
    leaders: column.Leaders
    under_replicated: column.UnderReplicated
    under_min_isr: column.UnderMinIsr
    at_min_isr: column.AtMinIsr
    reassigning: column.Reassigning


class ConsumerSampled(Sample, number=90):
    """A consumer that commits, every sample_every: its offset, and the last high watermark."""

    STORY = "reads at {offset}, has committed {committed_offset}, high watermark {high_watermark}"

    partition: column.Partition
    offset: column.Offset
    committed_offset: column.CommittedOffset
    high_watermark: column.HighWatermark


class ProducerSampled(Sample, number=113):
    """The sends of a producer that had an outcome since its last such row, or its start.

    It is written with the first outcome after sample_every, and at the end of the run.
    """

    STORY = "{batches:send} had an outcome: {taken_us} in all, the slowest {longest_us}"

    batches: column.BatchesDone
    taken_us: column.TakenUs
    longest_us: column.LongestUs


class MetadataSampled(Sample, number=98):
    """A metadata log (KRaft), every sample_every: the active controller's, or a broker's copy."""

    STORY = (
        "{broker} has the metadata log to before {log_end_offset}, committed to {high_watermark}; "
        "{queue_length} in its queue, {deferred} for a commit"
    )

    broker: column.Broker
    log_end_offset: column.LogEndOffset
    high_watermark: column.HighWatermark
    queue_length: column.QueueLength
    deferred: column.Deferred
