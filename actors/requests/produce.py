"""A produce request at a broker (Kafka: ``ReplicaManager.appendRecords``).

A request brings batches for several partitions, at most one for each. They are appended one after
the other, and each has its own error. With acks=all the request then waits in the purgatory until
the high watermark of every partition that was appended to has passed its batch.
"""

from __future__ import annotations

from tidegauge.actors.fetches.delayed_operations import answer_produce, delay_produce
from tidegauge.actors.fetches.fetch_read import missing_error, row_on
from tidegauge.actors.leaders.leader import append_to_leader
from tidegauge.actors.state.broker_stats import mark_produce
from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.state.handlers import REQUESTS
from tidegauge.actors.state.locks import go_on_later, wait_for_lock
from tidegauge.actors.storage.disks import flush_wait_us, write_wait_us
from tidegauge.actors.storage.log_dirs import write_fails
from tidegauge.actors.storage.producers import check_batch, note_batch
from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.replication.min_insync_replicas import ACKS_ALL, append_error
from tidegauge.replication.partition import is_leader
from tidegauge.replication.producer_state import increment_sequence
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.costs import APPEND, REQUEST, cost_us
from tidegauge.simulation.events import free_event
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.client_requests import (
    AppendRequest,
    PartitionAppend,
    ProducedBatch,
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
def handle_produce(world: Brokers, request: ProduceRequest) -> bool:
    """Append batches, and answer or wait; False if a lock is taken or the disk is slow.

    Source: ReplicaManager.appendRecords@0.10.2.0 and @2.4.0.
    """
    if request.cursor == NONE:
        request.cursor = request.first_item
    while request.cursor != NONE:
        item = view_as(world.items[request.cursor], ProducedBatch)
        if not append_records(world, request, item.partition, item.append):
            return False
        request.cursor = item.next
    answer_or_delay(world, request)
    return True


@inner_rule
def append_records(
    world: Brokers, request: AppendRequest, partition: int, append: PartitionAppend
) -> bool:
    """Append a batch to one partition, or find why not; False if that has to wait.

    Source: ReplicaManager.appendToLocalLog@0.10.2.0 and @2.4.0, Partition.appendRecordsToLeader
    @2.4.0.
    """
    broker = request.destination
    row = row_on(world, broker, partition)
    append.offset = UNDEFINED
    if row == NONE:
        append.error = missing_error(world, broker, partition, _FALSE)
    elif world.hosted[row].locked:
        wait_for_lock(world, row, request)
        return False
    elif not is_leader(world.replicas[row]):
        append.error = errors.NOT_LEADER_OR_FOLLOWER
    else:
        append.log_start_offset = world.replicas[row].log_start_offset
        append.error = append_error(world.rules[broker], world.replicas[row], request.acks)
    if append.error == errors.NONE and request.phase == _CHECK and _is_slow(world, row):
        # Nothing is appended before the disk has it; by then the role may be another one.
        request.phase = _APPEND
        delay_us = write_wait_us(world, row)
        go_on_later(world, request, delay_us + disk_delay_us(world, broker, _ONE))
        return False
    request.phase = _CHECK
    if append.error == errors.NONE and write_fails(world, row):
        append.error = errors.KAFKA_STORAGE_ERROR
    is_new = append.producer_id == NONE or append.error != errors.NONE
    if not is_new:
        is_new = check_batch(world, row, append, request.source)
    mark_produce(world, broker, partition, append)
    if request.cost_us == 0:
        request.cost_us = cost_us(world, broker, REQUEST)
    if append.error == errors.NONE:
        request.cost_us += cost_us(world, broker, APPEND)
        if is_new:
            append.offset = world.replicas[row].log_end_offset
            # A fetch response names the batch together with its records.
            _note_numbered(world, row, append)
            append_to_leader(world, row, append.record_count)
            request.cost_us += flush_wait_us(world, row)
    return True


@inner_rule
def _is_slow(world: Brokers, row: int) -> bool:
    """Whether an append waits for its disk, which a fault makes slow, or which is behind."""
    broker = world.hosted[row].broker
    return world.processes[broker].slow_disks > 0 or write_wait_us(world, row) > 0


@inner_rule
def _note_numbered(world: Brokers, row: int, append: PartitionAppend) -> None:
    if append.producer_id != NONE:
        note_batch(
            world,
            row,
            append.producer_id,
            append.producer_epoch,
            append.first_sequence,
            increment_sequence(append.first_sequence, append.record_count - 1),
            append.offset,
        )


@inner_rule
def answer_or_delay(world: Brokers, request: AppendRequest) -> None:
    """What could be appended is: answer, or wait for the replicas that count.

    Source: ReplicaManager.delayedProduceRequestRequired@2.4.0.
    """
    if request.acks == ACKS_ALL and delay_produce(world, request):
        return
    answer_produce(world, request)
    free_event(world, request)
