"""A produce request at a broker (Kafka: ``ReplicaManager.appendRecords``).

One request brings one batch for one partition. With acks=all it then waits in the
purgatory until the high watermark has passed its last record.
"""

from __future__ import annotations

from tidegauge.actors.fetches.delayed_operations import (
    answer_produce,
    delay_produce,
    produce_is_complete,
)
from tidegauge.actors.fetches.fetch_read import missing_error, row_on
from tidegauge.actors.leaders.leader import append_to_leader
from tidegauge.actors.state.broker_stats import mark_produce
from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.state.locks import go_on_later, wait_for_lock
from tidegauge.actors.storage.group_offsets import note_group_append
from tidegauge.actors.storage.log_dirs import write_fails
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.replication.min_insync_replicas import ACKS_ALL, append_error
from tidegauge.replication.partition import is_leader
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.costs import APPEND, REQUEST, cost_us
from tidegauge.simulation.events import free_event
from tidegauge.simulation.kernel import NONE, Event, Kernel
from tidegauge.simulation.kinds import PRODUCE
from tidegauge.simulation.slow_disks import disk_delay_us
from tidegauge.simulation.topology import Topology

_FALSE = code(False)
_ONE = code(1)

# Event.phase
_CHECK = code(0)
_APPEND = code(1)  #: a slow disk has taken its time


@inner_rule
def handle_produce(kernel: Kernel, topology: Topology, brokers: Brokers, request: Event) -> bool:
    """Append a batch, and answer or wait; False if a lock is taken or the disk is slow.

    Source: ReplicaManager.appendRecords@0.10.2.0 and @2.4.0.
    """
    row = row_on(topology, brokers, request.destination, request.partition)
    request.offset = UNDEFINED
    if row == NONE:
        request.error = missing_error(
            kernel, topology, brokers, request.destination, request.partition, _FALSE
        )
    elif brokers.hosted[row].locked:
        wait_for_lock(kernel, brokers, row, request)
        return False
    elif not is_leader(brokers.replicas[row]):
        request.error = errors.NOT_LEADER_OR_FOLLOWER
    else:
        rules = brokers.rules[request.destination]
        request.error = append_error(rules, brokers.replicas[row], request.acks)
    is_slow = kernel.processes[request.destination].slow_disks > 0
    if request.error == errors.NONE and is_slow and request.phase == _CHECK:
        # Nothing is appended before the disk has it; by then the role may be another one.
        request.phase = _APPEND
        go_on_later(kernel, brokers, request, disk_delay_us(kernel, request.destination, _ONE))
        return False
    if request.error == errors.NONE and write_fails(kernel, brokers, row):
        request.error = errors.KAFKA_STORAGE_ERROR
    mark_produce(topology, brokers, request)
    request.cost_us = cost_us(kernel, request.destination, REQUEST)
    if request.error == errors.NONE:
        request.cost_us += cost_us(kernel, request.destination, APPEND)
        request.offset = append_to_leader(kernel, topology, brokers, row, request.count)
        if request.kind != PRODUCE:
            note_group_append(kernel, brokers, row, request)
        if request.acks == ACKS_ALL and not produce_is_complete(brokers, row, request):
            delay_produce(kernel, brokers, row, request)
            return True
    answer_produce(kernel, topology, brokers, request)
    free_event(kernel, request)
    return True
