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
from tidegauge.actors.state.handlers import REQUESTS
from tidegauge.actors.state.locks import go_on_later, wait_for_lock
from tidegauge.actors.storage.disks import flush_wait_us, write_wait_us
from tidegauge.actors.storage.group_offsets import note_group_append
from tidegauge.actors.storage.log_dirs import write_fails
from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.replication.min_insync_replicas import ACKS_ALL, append_error
from tidegauge.replication.partition import is_leader
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.costs import APPEND, REQUEST, cost_us
from tidegauge.simulation.events import free_event
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.client_requests import (
    AppendRequest,
    GroupAppendRequest,
    ProduceRequest,
)
from tidegauge.simulation.slow_disks import disk_delay_us

_FALSE = code(False)
_ONE = code(1)

# Event.phase
_CHECK = code(0)
_APPEND = code(1)  #: a slow disk has taken its time


@REQUESTS.handles(ProduceRequest)
@inner_rule
def handle_produce(world: Brokers, request: AppendRequest) -> bool:
    """Append records, and answer or wait; False if a lock is taken or the disk is slow.

    Source: ReplicaManager.appendRecords@0.10.2.0 and @2.4.0.
    """
    row = row_on(world, request.destination, request.partition)
    request.offset = UNDEFINED
    if row == NONE:
        request.error = missing_error(world, request.destination, request.partition, _FALSE)
    elif world.hosted[row].locked:
        wait_for_lock(world, row, request)
        return False
    elif not is_leader(world.replicas[row]):
        request.error = errors.NOT_LEADER_OR_FOLLOWER
    else:
        rules = world.rules[request.destination]
        request.error = append_error(rules, world.replicas[row], request.acks)
    if request.error == errors.NONE and request.phase == _CHECK and _is_slow(world, row):
        # Nothing is appended before the disk has it; by then the role may be another one.
        request.phase = _APPEND
        delay_us = write_wait_us(world, row)
        go_on_later(world, request, delay_us + disk_delay_us(world, request.destination, _ONE))
        return False
    if request.error == errors.NONE and write_fails(world, row):
        request.error = errors.KAFKA_STORAGE_ERROR
    mark_produce(world, request)
    request.cost_us = cost_us(world, request.destination, REQUEST)
    if request.error == errors.NONE:
        request.cost_us += cost_us(world, request.destination, APPEND)
        request.offset = append_to_leader(world, row, request.record_count)
        request.cost_us += flush_wait_us(world, row)
        if request.kind != ProduceRequest.KIND:
            note_group_append(world, row, view_as(request, GroupAppendRequest))
        if request.acks == ACKS_ALL and not produce_is_complete(world, row, request):
            delay_produce(world, row, request)
            return True
    answer_produce(world, request)
    free_event(world, request)
    return True


@inner_rule
def _is_slow(world: Brokers, row: int) -> bool:
    """Whether an append waits for its disk, which a fault makes slow, or which is behind."""
    broker = world.hosted[row].broker
    return world.processes[broker].slow_disks > 0 or write_wait_us(world, row) > 0
