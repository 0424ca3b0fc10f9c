"""A producer: sends at a steady rate, retries, time-outs, and the duplicates of both.

A send hands so many records of one partition to the accumulator (``accumulator.py``), which puts
them into batches; these leave in requests. A batch whose error may pass is sent again after
retry.backoff.ms, until ``retries`` or delivery.timeout.ms are used up. The latter fails a batch in
flight, too: of its late response only the append counts. If
it had been appended when its response was late or an error, the retry appends it again, unless the
producer is idempotent (``sequences.py``). Both appends are counted from the responses themselves,
also from those that come too late for the producer.

Batches that wait or are in flight take buffer.memory. Where there is too little for the batches
that a send opens, the application waits in send(), for max.block.ms at most; a send with several
batches waits for the memory of all.

Source: ``KafkaProducer.doSend``, ``BufferPool``, ``Sender`` @2.4.0.
"""

from tidegauge.clients import accumulator, client_state, sent_batches, sequences, stalls
from tidegauge.clients.client_metadata import client_of, note_disconnected, request_metadata
from tidegauge.clients.handlers import CLIENT
from tidegauge.compiled.prefetching import prefetch
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.simulation.events import items_of
from tidegauge.simulation.faults import because_of
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import timers
from tidegauge.simulation.messages.client_requests import (
    InitProducerIdResponse,
    PartitionAppend,
    ProducedBatch,
    ProduceResponse,
)
from tidegauge.simulation.rows import record_row
from tidegauge.simulation.trace_rows.client_rows import BatchDuplicated, BatchFailed, SendFailed

_TRUE = code(True)
_FALSE = code(False)

#: The most batches that one event expires.
_MOST_EXPIRED = 64


# Sends.


@inner_rule
def plan_next_send(world: client_state.Clients, client: client_state.Client, process: int) -> None:
    """Set the timer for the next send.

    There is none for the time in which the client was stopped, or waited for memory.
    """
    if stalls.due_us(client, client.sent + client.skipped) < world.context[0].time_us:
        stalls.skip_sends(world, process, world.context[0].time_us + 1)
    next_us = stalls.due_us(client, client.sent + client.skipped)
    if next_us < client.stop_us:
        timers.ProducerSends.at(world, next_us)


@CLIENT.handles(timers.ProducerSends)
@inner_rule
def handle_producer_sends(world: client_state.Clients, timer: timers.ProducerSends) -> None:
    """Send the next records to the next partition in turn, as soon as there is memory.

    Source: KafkaProducer.doSend, BufferPool.allocate@2.4.0.
    """
    process = timer.destination
    client = world.clients[client_of(world, process)]
    if world.context[0].time_us >= client.stop_us:
        # The liveness phase has begun meanwhile.
        return
    if _has_memory(world, client):
        _send(world, process)
        return
    client.blocked = True
    client.blocked_since_us = world.context[0].time_us
    client.blocks += 1
    timers.SendBlocks.after(world, client.max_block_us, block=client.blocks)
    if client.linger_us > 0:
        # Nothing lingers while an application waits for memory.
        accumulator.drain_all(world, process)


# Sends of a producer from the next one on.
_NO_TURN = code(0)
_ONE_TURN = code(1)
_TWO_TURNS = code(2)


@inner_rule
def _target_after(client: client_state.Client, turns: int) -> int:
    """The place of the partition that is written to after so many others."""
    known = (client.next_target + turns * client.stride) % client.known_count
    return client.first_target + known // client.target_every


@inner_rule
def _next_target(client: client_state.Client) -> int:
    return _target_after(client, _NO_TURN)


@inner_rule
def _has_memory(world: client_state.Clients, client: client_state.Client) -> bool:
    """Whether buffer.memory has room for the next send."""
    needed_bytes = accumulator.memory_of_send(world, client, _next_target(client))
    return client.buffered_bytes + needed_bytes <= client.buffer_bytes


@inner_rule
def _send(world: client_state.Clients, process: int) -> None:
    """Append the records of a send to the next partition in turn, and plan the next one."""
    number = client_of(world, process)
    client = world.clients[number]
    place = _next_target(client)
    is_ready = accumulator.append(world, number, place)
    client.records_in_flight += client.records_per_send
    _count_sent(client)
    _load_next_targets(world, client)
    if is_ready:
        accumulator.offer(world, process, place)
    plan_next_send(world, client, process)


@inner_rule
def _load_next_targets(world: client_state.Clients, client: client_state.Client) -> None:
    """Have the processor load what the next sends need, each a step further than the last time.

    A partition's place stands in its target, and that of its brokers in the partition.
    """
    prefetch(world.client_targets, _target_after(client, _TWO_TURNS), 1)
    second = world.client_targets[_target_after(client, _ONE_TURN)]
    prefetch(world.partitions, second.partition, 1)
    prefetch(world.known_partitions, second.known, 1)
    following = world.partitions[world.client_targets[_next_target(client)].partition]
    prefetch(world.slots, following.first_slot, following.slot_count)


@inner_rule
def _count_sent(client: client_state.Client) -> None:
    client.next_target += client.stride
    client.sent += 1
    client.records_sent += client.records_per_send


@CLIENT.handles(timers.SendBlocks)
@inner_rule
def handle_send_blocks(world: client_state.Clients, timer: timers.SendBlocks) -> None:
    """The application has waited max.block.ms for memory: its send() fails, and the next is due.

    Source: BufferPool.allocate@2.6.0 (BufferExhaustedException).
    """
    process = timer.destination
    client = world.clients[client_of(world, process)]
    if not client.blocked or client.blocks != timer.block:
        return
    stalls.go_on_sending(world, client)
    row = SendFailed.write(
        world,
        partition=world.client_targets[_next_target(client)].partition,
        send=client.sent,
        records=client.records_per_send,
        waited_us=world.context[0].time_us - client.blocked_since_us,
    )
    stalls.count_duration(world, process, row.waited_us)
    client.records_failed += client.records_per_send
    _count_sent(client)
    plan_next_send(world, client, process)


@inner_rule
def _go_on(world: client_state.Clients, process: int) -> None:
    """After any outcome: settle numbers, and let an application go on that waits for memory."""
    client = world.clients[client_of(world, process)]
    if client.is_idempotent and sequences.settle_numbers(world, process):
        _offer_all(world, process)
    if client.blocked and _has_memory(world, client):
        stalls.go_on_sending(world, client)
        if world.context[0].time_us < client.stop_us:
            _send(world, process)


@inner_rule
def _offer_all(world: client_state.Clients, process: int) -> None:
    client = world.clients[client_of(world, process)]
    for place in range(client.first_target, client.first_target + client.target_count):
        if world.client_targets[place].queue_first != NONE:
            accumulator.offer(world, process, place)


@CLIENT.handles(timers.ProducerWakes)
@inner_rule
def handle_producer_wakes(world: client_state.Clients, timer: timers.ProducerWakes) -> None:
    """A back-off or linger.ms are over: send the first batch of the partition."""
    target = world.client_targets[timer.target]
    if target.wake_us > world.context[0].time_us:
        return
    target.wake_us = 0
    accumulator.offer(world, timer.destination, timer.target)
    _go_on(world, timer.destination)


@CLIENT.handles(timers.BatchExpires)
@inner_rule
def handle_batch_expires(world: client_state.Clients, timer: timers.BatchExpires) -> None:
    """Give up the batches that have had no outcome for delivery.timeout.ms, in flight or not.

    Source: RecordAccumulator.expiredBatches, Sender.getExpiredInflightBatches@2.4.0.
    """
    process = timer.destination
    client = world.clients[client_of(world, process)]
    client.expiry_timer = False
    # More would be too many rows at once; the timer fires again at once.
    for _ in range(_MOST_EXPIRED):
        if not _has_expired(world, client, client.oldest):
            break
        batch = world.batches[client.oldest]
        place = batch.target
        if not batch.in_flight:
            accumulator.take_out(world, batch)
        _fail(world, process, batch, errors.REQUEST_TIMED_OUT, _FALSE)
        if not _has_expired(world, client, world.client_targets[place].queue_first):
            accumulator.offer(world, process, place)
    accumulator.watch_expiry(world, client)
    _go_on(world, process)


@inner_rule
def _has_expired(world: client_state.Clients, client: client_state.Client, index: int) -> bool:
    """Whether there is a batch of this index, and its delivery.timeout.ms is used up."""
    return index != NONE and accumulator.is_expired(world, client, world.batches[index])


@CLIENT.handles(InitProducerIdResponse)
@inner_rule
def handle_init_producer_id_response(
    world: client_state.Clients, response: InitProducerIdResponse
) -> None:
    """The producer has an id: pending batches are sent."""
    if sequences.take_producer_id(world, response):
        _offer_all(world, response.destination)
        _go_on(world, response.destination)


# Outcomes.


@CLIENT.handles(ProduceResponse)
@inner_rule
def handle_produce_response(world: client_state.Clients, response: ProduceResponse) -> None:
    """Take the outcomes of batches; a late one only counts appends.

    Source: Sender.handleProduceResponse@2.4.0.
    """
    process = response.destination
    number = client_of(world, process)
    is_awaited = False
    for item in items_of(world, response, ProducedBatch):
        if response.acks == 0:
            if item.append.error != errors.NONE:
                # The broker has closed the connection, which is all that a producer sees of it.
                request_metadata(world, process)
            continue
        batch = world.batches[item.place]
        # The broker may have come back after all, and the batch was given up with its connection.
        if batch.number == item.batch and batch.client == number:
            is_awaited = _take_outcome(world, process, batch, item) or is_awaited
    if is_awaited:
        connection = world.connections[number * world.sizes[0].brokers + response.source]
        connection.in_flight -= 1
        accumulator.drain(world, process, response.source)
        _go_on(world, process)


@inner_rule
def _take_outcome(
    world: client_state.Clients, process: int, batch: client_state.Batch, item: ProducedBatch
) -> bool:
    """Take the outcome of one batch; whether the producer has waited for this response."""
    client = world.clients[batch.client]
    append = item.append
    batch.unanswered -= 1
    if append.offset >= 0:
        _note_append(world, client, batch, item)
    is_awaited = batch.in_flight and item.attempt == batch.attempts
    if is_awaited:
        connection = world.connections[batch.client * world.sizes[0].brokers + batch.broker]
        sent_batches.take_out_of_flight(world, connection, batch)
        if append.error in (errors.NONE, errors.DUPLICATE_SEQUENCE_NUMBER):
            _acknowledge(world, process, batch)
        else:
            _retry_or_fail(world, process, batch, append)
        accumulator.offer(world, process, batch.target)
    sent_batches.free_if_over(world, batch)
    return is_awaited


@inner_rule
def _acknowledge(world: client_state.Clients, process: int, batch: client_state.Batch) -> None:
    """The application gets a batch's acknowledgement, unless the batch has expired in flight."""
    client = world.clients[batch.client]
    if not batch.done:
        _decide(world, client, process, batch)
        client.records_acknowledged += batch.records
    if client.is_idempotent:
        sequences.note_acknowledged(world, client, world.client_targets[batch.target], batch)


@inner_rule
def _decide(
    world: client_state.Clients,
    client: client_state.Client,
    process: int,
    batch: client_state.Batch,
) -> None:
    """A batch has an outcome: count the times of its sends."""
    sent_batches.finish(world, client, batch)
    client.records_in_flight -= batch.records
    stalls.count_sends(world, process, batch)


@inner_rule
def _note_append(
    world: client_state.Clients,
    client: client_state.Client,
    batch: client_state.Batch,
    item: ProducedBatch,
) -> None:
    """Count a batch that was appended before as a duplicate; an idempotent producer has none."""
    if batch.appended_offset == NONE or client.is_idempotent:
        batch.appended_offset = item.append.offset
        return
    client.records_duplicated += batch.records
    BatchDuplicated.write(
        world,
        partition=item.partition,
        batch=batch.number,
        records=batch.records,
        first_offset=batch.appended_offset,
        again_offset=item.append.offset,
    )


@inner_rule
def handle_produce_times_out(world: client_state.Clients, timer: timers.RequestTimesOut) -> None:
    """A request has got no response within request.timeout.ms: the connection is given up.

    All requests in flight on it fail and are retried; pending batches go to the new leader once
    metadata has come.

    Source: NetworkClient.handleTimedOutRequests@2.4.0.
    """
    process = timer.destination
    number = client_of(world, process)
    connection = world.connections[number * world.sizes[0].brokers + timer.broker]
    connection.deadline_timer = False
    if connection.flight_first == NONE:
        return
    if world.context[0].time_us < world.batches[connection.flight_first].deadline_us:
        sent_batches.watch_deadline(world, connection)
        return
    note_disconnected(world, world.clients[number], connection)
    request_metadata(world, process)
    timeout_us = world.clients[number].request_timeout_ms * 1000
    while _was_sent_before(world, connection, timeout_us, world.context[0].time_us):
        _fail_attempt(
            world, process, sent_batches.first_lost(world, connection), errors.REQUEST_TIMED_OUT
        )
    _go_on(world, process)


@inner_rule
def _was_sent_before(
    world: client_state.Clients, connection: client_state.Connection, timeout_us: int, time_us: int
) -> bool:
    """Whether there is a first batch in flight that was sent before a time."""
    if connection.flight_first == NONE:
        return False
    return world.batches[connection.flight_first].deadline_us - timeout_us < time_us


@inner_rule
def lose_produce_requests(
    world: client_state.Clients, process: int, broker: int, until_us: int
) -> None:
    """The connection to a broker is gone: requests sent up to ``until_us`` have failed.

    It is unknown whether they were appended.

    Source: NetworkClient.processDisconnection@2.4.0, Sender.handleProduceResponse@2.4.0.
    """
    number = client_of(world, process)
    connection = world.connections[number * world.sizes[0].brokers + broker]
    timeout_us = world.clients[number].request_timeout_ms * 1000
    # Requests sent to the broker meanwhile are not lost with it.
    before_us = min(until_us + 1, world.context[0].time_us)
    while _was_sent_before(world, connection, timeout_us, before_us):
        # The broker's answers came before.
        world.batches[connection.flight_first].unanswered -= 1
        _fail_attempt(
            world, process, sent_batches.first_lost(world, connection), errors.NETWORK_EXCEPTION
        )
    sent_batches.forget_late_answers(world, number, broker)
    request_metadata(world, process)
    _go_on(world, process)


@inner_rule
def _fail_attempt(
    world: client_state.Clients, process: int, batch: client_state.Batch, error: int
) -> None:
    """Nobody will answer an attempt: the batch is tried again, or given up."""
    append = world.lost_appends[0]
    append.error = error
    _retry_or_fail(world, process, batch, append)
    accumulator.offer(world, process, batch.target)
    sent_batches.free_if_over(world, batch)


@inner_rule
def _retry_or_fail(
    world: client_state.Clients, process: int, batch: client_state.Batch, append: PartitionAppend
) -> None:
    """Source: Sender.completeBatch and canRetry@2.4.0."""
    client = world.clients[batch.client]
    error = append.error
    # InvalidMetadataException: all errors after which another broker may lead.
    if error in (
        errors.NOT_LEADER_OR_FOLLOWER,
        errors.UNKNOWN_TOPIC_OR_PARTITION,
        errors.KAFKA_STORAGE_ERROR,
    ):
        request_metadata(world, process)
    if batch.done:
        # It has expired in flight.
        return
    has_attempts = batch.attempts <= client.retries
    may_retry = has_attempts and not accumulator.is_expired(world, client, batch)
    if may_retry and error in (
        errors.OUT_OF_ORDER_SEQUENCE_NUMBER,
        errors.UNKNOWN_PRODUCER_ID,
    ):
        target = world.client_targets[batch.target]
        may_retry = sequences.may_retry_numbered(world, client, target, batch, append)
    elif error in (errors.INVALID_REQUIRED_ACKS, errors.INVALID_PRODUCER_EPOCH):
        may_retry = False
    elif may_retry and client.is_idempotent and not client.bumps_epoch:
        # With another id its number means nothing.
        may_retry = batch.producer_id == client.producer_id
    if may_retry:
        accumulator.enqueue_again(world, client, batch)
    else:
        _fail(world, process, batch, error, has_attempts)


@inner_rule
def _fail(
    world: client_state.Clients,
    process: int,
    batch: client_state.Batch,
    error: int,
    is_adjusted: bool,
) -> None:
    """Give a batch up: the application gets an error."""
    client = world.clients[batch.client]
    _decide(world, client, process, batch)
    client.records_failed += batch.records
    row = BatchFailed.new(
        world, world.client_targets[batch.target], batch, batch=batch.number, error=error
    )
    if error in (errors.REQUEST_TIMED_OUT, errors.NETWORK_EXCEPTION) and batch.attempts > 0:
        because_of(world, row, batch.broker, batch.created_us)
    record_row(world, row)
    if client.is_idempotent:
        target = world.client_targets[batch.target]
        sequences.note_failed(world, client, target, batch, error, is_adjusted)
    sent_batches.free_if_over(world, batch)
