"""What is looked at every sample_every: the ends of a broker's logs, and its gauges.

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
from tidegauge.simulation.events import new_event, set_timer
from tidegauge.simulation.messages.timers import Sample
from tidegauge.simulation.rows import new_row, write_row
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
    gauges = new_row(world, broker, BrokerSampled)
    gauges.broker = broker
    for row in LOGS.of(world, world.brokers[broker]):
        if world.hosted[row].exists:
            gauges.partitions += 1
            if is_leader(world.replicas[row]):
                _count_leader(world, row, gauges)
    write_row(world, gauges)
    if is_kraft(world):
        metadata = new_row(world, broker, MetadataSampled)
        metadata.broker = broker
        metadata.log_end_offset = world.lifecycles[broker].log_end_offset
        metadata.high_watermark = world.lifecycles[broker].high_watermark
        write_row(world, metadata)
    due_us = world.context[0].time_us + world.context[0].sample_period_us
    set_timer(world, new_event(world, broker, broker, Sample), due_us)


@inner_rule
def _sample_replica(world: Brokers, row: int) -> None:
    partition = world.replicas[row]
    sampled = new_row(world, world.hosted[row].broker, Sampled)
    sampled.partition = world.hosted[row].partition
    sampled.leads = 1 if is_leader(partition) else 0
    sampled.log_end_offset = partition.log_end_offset
    sampled.high_watermark = partition.high_watermark
    write_row(world, sampled)


@inner_rule
def _count_leader(world: Brokers, row: int, gauges: BrokerSampled) -> None:
    partition = world.replicas[row]
    rules = world.rules[world.hosted[row].broker]
    gauges.leaders += 1
    gauges.under_replicated += 1 if is_under_replicated(rules, partition) else 0
    gauges.under_min_isr += 1 if is_under_min_isr(rules, partition) else 0
    gauges.at_min_isr += 1 if is_at_min_isr(rules, partition) else 0
    gauges.reassigning += 1 if is_reassigning(partition) else 0
