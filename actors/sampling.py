"""Samples, taken every sample_every: the ends of a broker's logs, and its gauges.

The gauges are those of ReplicaManager. From 2.5 on (KIP-352) the replicas that a reassignment adds
are not missed: a partition that moves is counted as ReassigningPartitions, and as
UnderReplicatedPartitions only if it lacks one of those that it had.
"""

from tidegauge.actors.state.brokers import LOGS, Brokers
from tidegauge.actors.state.handlers import BROKER
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.in_sync_replicas import (
    is_at_min_isr,
    is_reassigning,
    is_under_min_isr,
    is_under_replicated,
)
from tidegauge.replication.partition import is_leader
from tidegauge.simulation.messages.timers import Sample
from tidegauge.simulation.rows import record_row
from tidegauge.simulation.topology import is_kraft
from tidegauge.simulation.trace_rows.detail_rows import BrokerSampled, MetadataSampled, Sampled


@BROKER.handles(Sample)
@inner_rule
def handle_sample(world: Brokers, timer: Sample) -> None:
    """Record the ends of all logs that the broker has, and its gauges.

    Source: ReplicaManager (newGauge)@2.6.0.
    """
    broker = timer.destination
    for row in LOGS.of(world, world.brokers[broker]):
        if world.hosted[row].exists:
            _sample_replica(world, row)
    gauges = BrokerSampled.new(
        world,
        broker=broker,
        partitions=0,
        leaders=0,
        under_replicated=0,
        under_min_isr=0,
        at_min_isr=0,
        reassigning=0,
    )
    for row in LOGS.of(world, world.brokers[broker]):
        if world.hosted[row].exists:
            gauges.partitions += 1
            if is_leader(world.replicas[row]):
                _count_leader(world, row, gauges)
    record_row(world, gauges)
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
def _sample_replica(world: Brokers, row: int) -> None:
    partition = world.replicas[row]
    Sampled.write(world, world.hosted[row], partition, leads=is_leader(partition))


@inner_rule
def _count_leader(world: Brokers, row: int, gauges: BrokerSampled) -> None:
    partition = world.replicas[row]
    rules = world.rules[world.hosted[row].broker]
    gauges.leaders += 1
    gauges.under_replicated += 1 if is_under_replicated(rules, partition) else 0
    gauges.under_min_isr += 1 if is_under_min_isr(rules, partition) else 0
    gauges.at_min_isr += 1 if is_at_min_isr(rules, partition) else 0
    gauges.reassigning += 1 if is_reassigning(partition) else 0
