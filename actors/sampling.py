"""Samples, taken every sample_every: the ends of a broker's logs, and its gauges.

The ends are recorded once, and then where they have changed. Most replicas of a large cluster do
not change between two samples, so each change notes its replica (``note_change``), and a sample
looks at these alone. With TIDEGAUGE_EAGER=1 it looks at all.

The gauges are those of ReplicaManager. From 2.5 on (KIP-352) the replicas that a reassignment adds
are not missed: a partition that moves is counted as ReassigningPartitions, and as
UnderReplicatedPartitions only if it lacks one of those that it had.
"""

from tidegauge.actors.state.broker_records import SampledBroker
from tidegauge.actors.state.brokers import CHANGED, LOGS, UNWRITTEN, Brokers, note_change
from tidegauge.actors.state.handlers import BROKER
from tidegauge.actors.state.replica_records import SampledReplica
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.in_sync_replicas import (
    is_at_min_isr,
    is_reassigning,
    is_under_min_isr,
    is_under_replicated,
)
from tidegauge.replication.partition import is_leader
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.timers import Sample
from tidegauge.simulation.topology import is_kraft
from tidegauge.simulation.trace_rows.detail_rows import (
    BrokerSampled,
    MetadataSampled,
    NoLongerSampled,
    Sampled,
)


@BROKER.handles(Sample)
@inner_rule
def handle_sample(world: Brokers, timer: Sample) -> None:
    """Record the ends of the broker's logs that have changed, and its gauges.

    Source: ReplicaManager (newGauge)@2.6.0.
    """
    broker = timer.destination
    gauges = world.sampled_brokers[broker]
    if world.context[0].samples_all:
        for row in LOGS.of(world, world.brokers[broker]):
            note_change(world, row)
    while gauges.first_changed != NONE:
        _sample_replica(world, gauges, CHANGED.take_first(world, gauges))
    BrokerSampled.write(world, gauges, broker=broker)
    if is_kraft(world):
        MetadataSampled.write(
            world,
            broker=broker,
            log_end_offset=world.lifecycles[broker].log_end_offset,
            high_watermark=world.lifecycles[broker].high_watermark,
            queue_length=0,
            deferred=0,
        )
    Sample.after(world, world.context[0].sample_period_us)


@inner_rule
def _sample_replica(world: Brokers, gauges: SampledBroker, row: int) -> None:
    """Count a replica anew, and record its ends if they are others, or it was not hosted before."""
    sampled = world.sampled_replicas[row]
    hosted = world.hosted[row]
    partition = world.replicas[row]
    sampled.is_changed = False
    if not sampled.is_unwritten:
        sampled.is_unwritten = True
        UNWRITTEN.append(world, gauges, row)
    _count(gauges, sampled, -1)
    was_hosted = sampled.is_hosted
    sampled.is_hosted = hosted.exists
    if not hosted.exists:
        if was_hosted:
            NoLongerSampled.write(world, hosted)
        return
    leads = is_leader(partition)
    is_same = (
        was_hosted
        and sampled.leads == leads
        and sampled.log_end_offset == partition.log_end_offset
        and sampled.high_watermark == partition.high_watermark
    )
    sampled.leads = leads
    sampled.log_end_offset = partition.log_end_offset
    sampled.high_watermark = partition.high_watermark
    rules = world.rules[hosted.broker]
    sampled.under_replicated = leads and is_under_replicated(rules, partition)
    sampled.under_min_isr = leads and is_under_min_isr(rules, partition)
    sampled.at_min_isr = leads and is_at_min_isr(rules, partition)
    sampled.reassigning = leads and is_reassigning(partition)
    _count(gauges, sampled, 1)
    if not is_same:
        Sampled.write(world, hosted, partition, leads=leads)


@inner_rule
def _count(gauges: SampledBroker, sampled: SampledReplica, one: int) -> None:
    if sampled.is_hosted:
        gauges.partitions += one
        gauges.leaders += one if sampled.leads else 0
        gauges.under_replicated += one if sampled.under_replicated else 0
        gauges.under_min_isr += one if sampled.under_min_isr else 0
        gauges.at_min_isr += one if sampled.at_min_isr else 0
        gauges.reassigning += one if sampled.reassigning else 0
