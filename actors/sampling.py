"""What is looked at every sample_every: the ends of a broker's logs, and its gauges.

The gauges are those of ReplicaManager. From 2.5 on (KIP-352) the replicas that a reassignment adds
are not missed: a partition that moves is counted as ReassigningPartitions, and as
UnderReplicatedPartitions only if it lacks one of those that it had.
"""

from __future__ import annotations

from tidegauge.actors.state.brokers import Brokers
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.in_sync_replicas import (
    is_at_min_isr,
    is_reassigning,
    is_under_min_isr,
    is_under_replicated,
)
from tidegauge.replication.partition import is_leader
from tidegauge.simulation.events import new_event, set_timer
from tidegauge.simulation.kernel import NONE, Row
from tidegauge.simulation.kinds import SAMPLE
from tidegauge.simulation.row_kinds import BROKER_SAMPLED, SAMPLED
from tidegauge.simulation.rows import new_row, write_minor


@inner_rule
def sample(world: Brokers, broker: int) -> None:
    """Record the ends of all logs that the broker hosts, and its gauges.

    Source: ReplicaManager (newGauge)@2.6.0.
    """
    row = world.brokers[broker].first_log
    while row != NONE:
        if world.hosted[row].exists:
            _sample_replica(world, row)
        row = world.hosted[row].next_log
    gauges = new_row(world, broker, BROKER_SAMPLED)
    gauges.values[0] = broker
    for column in range(1, 7):
        gauges.values[column] = 0
    row = world.brokers[broker].first_log
    while row != NONE:
        if world.hosted[row].exists:
            gauges.values[1] += 1
            if is_leader(world.replicas[row]):
                _count_leader(world, row, gauges)
        row = world.hosted[row].next_log
    write_minor(world, gauges)
    due_us = world.context[0].time_us + world.context[0].sample_period_us
    set_timer(world, new_event(world, broker, broker, SAMPLE), due_us)


@inner_rule
def _sample_replica(world: Brokers, row: int) -> None:
    partition = world.replicas[row]
    sampled = new_row(world, world.hosted[row].broker, SAMPLED)
    sampled.values[0] = world.hosted[row].partition
    sampled.values[1] = 1 if is_leader(partition) else 0
    sampled.values[2] = partition.log_end_offset
    sampled.values[3] = partition.high_watermark
    write_minor(world, sampled)


@inner_rule
def _count_leader(world: Brokers, row: int, gauges: Row) -> None:
    partition = world.replicas[row]
    rules = world.rules[world.hosted[row].broker]
    gauges.values[2] += 1
    gauges.values[3] += 1 if is_under_replicated(rules, partition) else 0
    gauges.values[4] += 1 if is_under_min_isr(rules, partition) else 0
    gauges.values[5] += 1 if is_at_min_isr(rules, partition) else 0
    gauges.values[6] += 1 if is_reassigning(partition) else 0
