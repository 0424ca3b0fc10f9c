"""Samples: rows that are written every ``sample_every`` of the scenario."""

from __future__ import annotations

from tidegauge.simulation.trace_rows import columns as column
from tidegauge.simulation.trace_rows.row import Sample


class Sampled(Sample, number=50):
    """A replica's ends, every sample_every of the scenario."""

    STORY = "{leads}: log end offset {log_end_offset}, high watermark {high_watermark}"

    partition: column.Partition
    leads: column.Leads
    log_end_offset: column.LogEndOffset
    high_watermark: column.HighWatermark


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
    """The batches of a producer that had an outcome since its last such row, or its begin.

    It is written with the first outcome after sample_every, and at the end of the run.
    """

    STORY = "{batches:batch} had an outcome: {taken_us} in all, the slowest {longest_us}"

    batches: column.BatchesDone
    taken_us: column.TakenUs
    longest_us: column.LongestUs


class MetadataSampled(Sample, number=98):
    """A metadata log (KRaft), every sample_every: the active controller's, or what a broker has."""

    STORY = (
        "{broker} has the metadata log to before {log_end_offset}, committed to {high_watermark}; "
        "{queue_length} in its queue, {deferred} for a commit"
    )

    broker: column.Broker
    log_end_offset: column.LogEndOffset
    high_watermark: column.HighWatermark
    queue_length: column.QueueLength
    deferred: column.Deferred
