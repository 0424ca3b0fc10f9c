"""Fetch and produce requests at a broker.

A fetch (``ReplicaManager.fetchMessages``) first reads all partitions. For a follower, the reads are
then applied partition by partition: its log end offset, whether it may join the ISR, whether the
high watermark may move. At last the fetch gets its response with the records read before all that;
or it is read again, and waits in the purgatory if that brings nothing new.

A produce (``ReplicaManager.appendRecords``) brings batches for several partitions, at most one for
each. They are appended one after the other, and each has its own error. With acks=all the request
then waits in the purgatory until the high watermark of every partition that was appended to has
passed its batch.
"""

from tidegauge.actors.fetches.fetch_purgatory import (
    delay_fetch,
    fetch_is_complete,
    name_partitions,
    read_all,
)
from tidegauge.actors.fetches.fetch_read import (
    answer_fetch,
    answer_unknown_session,
    missing_error,
    row_on,
)
from tidegauge.actors.fetches.fetch_sessions import (
    lacks_session,
    load_waiting_fetches,
    update_session,
    was_touched,
)
from tidegauge.actors.fetches.produce_purgatory import delay_produce, load_waiting_produce
from tidegauge.actors.fetches.produce_response import answer_produce
from tidegauge.actors.idle_fetches.pending import READ_AND_COUNTED
from tidegauge.actors.leaders.isr_changes import begin_expansion, expands_isr
from tidegauge.actors.leaders.leader import append_to_leader, count_fetch, try_high_watermark
from tidegauge.actors.state.broker_stats import mark_fetch, mark_produce
from tidegauge.actors.state.brokers import Brokers, now_ms
from tidegauge.actors.state.handlers import REQUESTS
from tidegauge.actors.state.request_times import go_on_later, hold_thread, wait_for_lock
from tidegauge.actors.storage.disks import flush_wait_us, write_wait_us
from tidegauge.actors.storage.log_dirs import write_fails
from tidegauge.actors.storage.producers import check_batch, note_batch
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.replication.high_watermark import high_watermark_of_response
from tidegauge.replication.in_sync_replicas import ACKS_ALL, append_error
from tidegauge.replication.partition import is_leader
from tidegauge.replication.producer_state import increment_sequence
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.events import free_event, items_of
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import client_requests
from tidegauge.simulation.rows import APPEND, REQUEST, REQUEST_PARTITION, cost_us
from tidegauge.simulation.slow_disks import disk_delay_us
from tidegauge.simulation.trace_rows.codes import MOMENT_FETCH

# Event.phase; READ_AND_COUNTED follows these
_ARRIVED = code(0)
_READ = code(1)  #: wait until every partition can be read, then read all
_COUNT = code(2)  #: apply the partition at the cursor to the follower's state
_EXPANDED = code(3)  #: ... whose ISR was being written

_TRUE = code(True)
_FALSE = code(False)


@REQUESTS.handles(client_requests.FetchRequest)
@inner_rule
def handle_fetch(world: Brokers, request: client_requests.FetchRequest) -> bool:
    """Resume a fetch; False if it has to wait for a lock or for ZooKeeper.

    Source: KafkaApis.handleFetchRequest@2.6.0 (KAFKA-9101);
    ReplicaManager.fetchMessages@0.10.2.0 and @2.4.0,
    DelayedOperationPurgatory.tryCompleteElseWatch@2.4.0.
    """
    is_first_read = request.phase <= _READ
    if request.phase == _ARRIVED:
        most_bytes = world.brokers[request.destination].fetch_max_bytes
        request.max_bytes = min(request.max_bytes, most_bytes)
        request.min_bytes = min(request.min_bytes, request.max_bytes)
        if request.replica_id != NONE:
            if lacks_session(world, request):
                request.cost_us = cost_us(world, request.destination, REQUEST)
                answer_unknown_session(world, request)
                free_event(world, request)
                return True
            update_session(world, request)
        request.phase = _READ
    if request.phase == _READ:
        name_partitions(world, request)
        request.cursor = request.first_item
        if not _all_can_be_read(world, request):
            return False
        request.cost_us = cost_us(world, request.destination, REQUEST)
        partition_us = cost_us(world, request.destination, REQUEST_PARTITION)
        partition_count = request.item_count
        if request.replica_id != NONE:
            session = world.fetch_sessions[request.fetcher]
            session.fetched_ms = now_ms(world.context[0])
            partition_count = session.partition_count
        request.cost_us += partition_count * partition_us
        completes = read_all(world, request)
        mark_fetch(world, request)
        # Kept in the request: counting the fetch below may not change the decision.
        request.answers_first_read = completes or request.max_wait_ms <= 0
        request.phase = _COUNT
        request.cursor = request.first_item
    if request.replica_id != NONE and not _count_all(world, request):
        return False
    if request.answers_first_read:
        _take_new_high_watermarks(world, request)
        answer_fetch(world, request, _FALSE)
    elif not _reads_the_same(world, request, is_first_read) and fetch_is_complete(world, request):
        # Something has come meanwhile, or this fetch has itself moved the high watermark.
        mark_fetch(world, request)
        answer_fetch(world, request, _TRUE)
    else:
        delay_fetch(world, request)
        return True
    free_event(world, request)
    return True


@inner_rule
def _reads_the_same(
    world: Brokers, request: client_requests.FetchRequest, was_just_read: bool
) -> bool:
    """Whether reading a follower's fetch again brings the same: nothing has changed since."""
    if request.replica_id == NONE or not was_just_read:
        return False
    return not was_touched(world, world.fetch_sessions[request.fetcher])


@inner_rule
def _all_can_be_read(world: Brokers, request: client_requests.FetchRequest) -> bool:
    while request.cursor != NONE:
        item = view_as(world.items[request.cursor], client_requests.FetchPartition)
        if item.row != NONE:
            if world.hosted[item.row].locked:
                wait_for_lock(world, item.row, request)
                return False
            load_waiting_produce(world, item.row)
        request.cursor = item.next
    return True


@inner_rule
def _count_all(world: Brokers, request: client_requests.FetchRequest) -> bool:
    """Apply each read to the follower's state; False if it has to wait.

    Source: ReplicaManager.updateFollowerFetchState@2.4.0, Partition@2.4.0.
    """
    while request.cursor != NONE:
        item = view_as(world.items[request.cursor], client_requests.FetchPartition)
        row = item.row
        if row != NONE and world.hosted[row].exists and is_leader(world.replicas[row]):
            replica = item.place - row * world.sizes[0].width
            if request.phase == _COUNT:
                if world.hosted[row].locked:
                    wait_for_lock(world, row, request)
                    return False
                count_fetch(world, row, replica, item)
                expands = expands_isr(world, row, replica, item)
                if expands and begin_expansion(world, row, replica, request.index):
                    request.phase = _EXPANDED
                    hold_thread(world, request)
                    return False
            request.phase = _COUNT
            if item.may_move:
                try_high_watermark(world, row, MOMENT_FETCH)
        request.cursor = item.next
    request.phase = READ_AND_COUNTED
    return True


@inner_rule
def _take_new_high_watermarks(world: Brokers, request: client_requests.FetchRequest) -> None:
    """In some releases a response has the high watermark that its own fetch moved (KAFKA-7104)."""
    rules = world.rules[request.destination]
    if request.replica_id == NONE or not rules.high_watermark_of_response_is_new:
        return
    for item in items_of(world, request, client_requests.FetchPartition):
        row = item.row
        if row != NONE and world.hosted[row].exists and item.error == 0:
            item.high_watermark = high_watermark_of_response(
                rules, item.high_watermark, world.replicas[row].high_watermark
            )


_ONE = code(1)

# Event.phase
_CHECK = code(0)
_APPEND = code(1)  #: a slow disk has taken its time


@REQUESTS.handles(client_requests.ProduceRequest)
@inner_rule
def handle_produce(world: Brokers, request: client_requests.ProduceRequest) -> bool:
    """Append batches, and answer or wait; False if a lock is taken or the disk is slow.

    Source: ReplicaManager.appendRecords@0.10.2.0 and @2.4.0.
    """
    if request.cursor == NONE:
        request.cursor = request.first_item
    while request.cursor != NONE:
        item = view_as(world.items[request.cursor], client_requests.ProducedBatch)
        if not append_records(world, request, item.partition, item.append):
            return False
        request.cursor = item.next
    answer_or_delay(world, request)
    return True


@inner_rule
def append_records(
    world: Brokers,
    request: client_requests.AppendRequest,
    partition: int,
    append: client_requests.PartitionAppend,
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
        load_waiting_fetches(world, row)
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
def _note_numbered(world: Brokers, row: int, append: client_requests.PartitionAppend) -> None:
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
def answer_or_delay(world: Brokers, request: client_requests.AppendRequest) -> None:
    """The possible appends are made: send the response, or wait for the replicas that count.

    Source: ReplicaManager.delayedProduceRequestRequired@2.4.0.
    """
    if request.acks == ACKS_ALL and delay_produce(world, request):
        return
    answer_produce(world, request)
    free_event(world, request)
