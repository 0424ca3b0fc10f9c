"""A producer: batches at a steady rate, retries, time-outs, and the duplicates of both.

One request carries one batch for one partition. At most
max.in.flight.requests.per.connection are under way to a broker; further batches wait. A
batch whose error may pass is sent again after retry.backoff.ms, until ``retries`` or
delivery.timeout.ms are used up. Producers here are not idempotent: if a batch had been
appended when its answer was late or an error, the retry appends it again. Both appends are
counted from the answers themselves, also from those that come too late for the producer.

Source: ``Sender`` and ``NetworkClient`` @2.4.0.
"""

from __future__ import annotations

from tidegauge.clients.bootstrap import note_disconnected
from tidegauge.clients.client_metadata import client_of, request_metadata
from tidegauge.clients.client_state import FEW_BATCHES, Batch, Client, Clients, Connection
from tidegauge.clients.handlers import CLIENT
from tidegauge.clients.latency_counts import BUCKETS, bucket_of
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication import errors
from tidegauge.simulation.events import new_event, set_timer
from tidegauge.simulation.faults import because_of
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.client_requests import ProduceRequest, ProduceResponse
from tidegauge.simulation.messages.client_timers import (
    ProducerRetries,
    ProducerSends,
    RequestTimesOut,
)
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.trace_rows.client_rows import BatchDuplicated, BatchFailed


@inner_rule
def plan_next_batch(world: Kernel, client: Client, process: int) -> None:
    """Set the timer for the next batch: the rate is kept on average to the nanosecond.

    What would have been made while the client was stopped is not.
    """
    due_us = client.start_us + (client.sent + client.skipped) * client.period_ns // 1000
    late_us = world.context[0].time_us - due_us
    if late_us > 0:
        client.skipped += late_us * 1000 // client.period_ns + 1
        due_us = client.start_us + (client.sent + client.skipped) * client.period_ns // 1000
    if due_us < client.stop_us:
        set_timer(world, new_event(world, process, process, ProducerSends), due_us)


@CLIENT.handles(ProducerSends)
@inner_rule
def handle_producer_sends(world: Clients, timer: ProducerSends) -> None:
    """Make one batch for the next partition in turn, and send it."""
    process = timer.destination
    number = client_of(world, process)
    client = world.clients[number]
    if world.context[0].time_us >= client.stop_us:
        # The liveness phase has begun meanwhile.
        return
    pool = world.pool[0]
    batch = world.batches[pool.free_batch]
    pool.free_batch = batch.next
    pool.free_batches -= 1
    if pool.free_batches < FEW_BATCHES:
        world.context[0].needs_room = True
    batch.client = number
    batch.number = client.sent
    batch.target = client.first_target + client.next_target % client.target_count
    client.next_target += client.stride
    client.sent += 1
    batch.records = client.records_per_batch
    client.records_sent += batch.records
    batch.attempts = 0
    batch.created_us = world.context[0].time_us
    batch.done = False
    batch.unanswered = 0
    batch.in_flight = False
    batch.appended_offset = NONE
    send_batch(world, process, batch)
    plan_next_batch(world, client, process)


@inner_rule
def send_batch(world: Clients, process: int, batch: Batch) -> None:
    """Send a batch to the leader, as far as that is known and the connection has room."""
    client = world.clients[batch.client]
    leader = world.client_targets[batch.target].leader
    if leader < 0:
        request_metadata(world, process)
        _retry_later(world, client, process, batch)
        return
    connection = world.connections[batch.client * world.sizes[0].brokers + leader]
    if connection.in_flight >= client.max_in_flight:
        _wait_for_connection(world, connection, batch)
        return
    batch.broker = leader
    _send_now(world, process, connection, batch)


@inner_rule
def _wait_for_connection(world: Clients, connection: Connection, batch: Batch) -> None:
    """Let a batch wait behind the others; one that was sent before comes first.

    Source: RecordAccumulator.reenqueue@2.4.0.
    """
    batch.next = NONE
    if connection.waiting_last == NONE:
        connection.waiting_first = batch.index
        connection.waiting_last = batch.index
    elif batch.attempts > 0:
        batch.next = connection.waiting_first
        connection.waiting_first = batch.index
    else:
        world.batches[connection.waiting_last].next = batch.index
        connection.waiting_last = batch.index


@inner_rule
def _send_now(world: Clients, process: int, connection: Connection, batch: Batch) -> None:
    client = world.clients[batch.client]
    connection.in_flight += 1
    batch.attempts += 1
    batch.unanswered += 1
    batch.in_flight = True
    request = new_event(world, process, batch.broker, ProduceRequest)
    request.partition = world.client_targets[batch.target].partition
    request.record_count = batch.records
    request.size_bytes = batch.records * world.partitions[request.partition].record_bytes
    request.acks = client.acks
    request.timeout_ms = client.request_timeout_ms
    request.correlation_id = batch.index
    request.attempt = batch.attempts
    request.batch = batch.number
    now_us = world.context[0].time_us
    send(world, request, now_us)
    if client.acks == 0:
        # Nothing to wait for: the batch is sent, and nobody will say whether it arrived.
        connection.in_flight -= 1
        batch.in_flight = False
        batch.done = True
        batch.unanswered = 0
        _free_if_over(world, batch)
        return
    batch.deadline_us = now_us + client.request_timeout_ms * 1000
    batch.next = NONE
    if connection.flight_last == NONE:
        connection.flight_first = batch.index
    else:
        world.batches[connection.flight_last].next = batch.index
    connection.flight_last = batch.index
    if not connection.deadline_timer:
        _watch_deadline(world, process, connection, batch)


@inner_rule
def _watch_deadline(world: Kernel, process: int, connection: Connection, batch: Batch) -> None:
    # One timer for a connection, not one for each request: nearly all are answered before,
    # and the heap stays small, which made the loop 1.3 times as fast.
    connection.deadline_timer = True
    timer = new_event(world, process, process, RequestTimesOut)
    timer.request_kind = ProduceRequest.KIND
    timer.broker = batch.broker
    set_timer(world, timer, batch.deadline_us)


@inner_rule
def _retry_later(world: Kernel, client: Client, process: int, batch: Batch) -> None:
    timer = new_event(world, process, process, ProducerRetries)
    timer.batch = batch.index
    set_timer(world, timer, world.context[0].time_us + client.retry_backoff_ms * 1000)


@CLIENT.handles(ProducerRetries)
@inner_rule
def handle_producer_retries(world: Clients, timer: ProducerRetries) -> None:
    """A back-off is over: send the batch again, unless its time is up."""
    batch = world.batches[timer.batch]
    client = world.clients[batch.client]
    if _is_expired(world, client, batch):
        _fail(world, timer.destination, batch, errors.REQUEST_TIMED_OUT)
    else:
        send_batch(world, timer.destination, batch)


@CLIENT.handles(ProduceResponse)
@inner_rule
def handle_produce_response(world: Clients, response: ProduceResponse) -> None:
    """Take the outcome of a batch; one that comes late only tells what was appended."""
    if response.acks == 0:
        if response.error != errors.NONE:
            # The broker has closed the connection, which is all that a producer sees of it.
            request_metadata(world, response.destination)
        return
    batch = world.batches[response.correlation_id]
    if batch.number != response.batch:
        # The broker has come back after all, and the batch was given up with its connection.
        return
    batch.unanswered -= 1
    if response.offset >= 0:
        _note_append(world, response, batch)
    if batch.in_flight and response.attempt == batch.attempts:
        _leave_connection(world, response.destination, batch)
        if response.error == errors.NONE:
            batch.done = True
            _count_acknowledged(world, batch)
        else:
            _retry_or_fail(world, response.destination, batch, response.error)
    _free_if_over(world, batch)


@inner_rule
def _count_acknowledged(world: Clients, batch: Batch) -> None:
    world.clients[batch.client].records_acknowledged += batch.records
    bucket = bucket_of(world.context[0].time_us - batch.created_us)
    world.latencies[batch.client * BUCKETS + bucket].batches += 1


@inner_rule
def _note_append(world: Clients, response: ProduceResponse, batch: Batch) -> None:
    """Count a batch that was appended before as a duplicate."""
    if batch.appended_offset == NONE:
        batch.appended_offset = response.offset
        return
    world.clients[batch.client].records_duplicated += batch.records
    row = new_row(world, response.destination, BatchDuplicated)
    row.partition = response.partition
    row.batch = batch.number
    row.records = batch.records
    row.first_offset = batch.appended_offset
    row.again_offset = response.offset
    write_row(world, row)


@inner_rule
def _leave_connection(world: Clients, process: int, batch: Batch) -> None:
    """A request is over: a batch that waits for the connection is sent, to who leads by now.

    Source: RecordAccumulator.drain@2.4.0, which asks for the leader as it drains.
    """
    batch.in_flight = False
    connection = world.connections[batch.client * world.sizes[0].brokers + batch.broker]
    connection.in_flight -= 1
    _take_out_of_flight(world, connection, batch)
    _drain(world, process, connection)


@inner_rule
def drain_all(world: Clients, process: int) -> None:
    """Metadata has come: send what waits, to who leads by now."""
    brokers = world.sizes[0].brokers
    first = client_of(world, process) * brokers
    for broker in range(brokers):
        _drain(world, process, world.connections[first + broker])


@inner_rule
def _drain(world: Clients, process: int, connection: Connection) -> None:
    """Send the batches that wait for a connection, as far as it has room."""
    client = world.clients[client_of(world, process)]
    while connection.waiting_first != NONE and connection.in_flight < client.max_in_flight:
        waiting = world.batches[connection.waiting_first]
        connection.waiting_first = waiting.next
        if connection.waiting_first == NONE:
            connection.waiting_last = NONE
        waiting.next = NONE
        if _is_expired(world, client, waiting):
            _fail(world, process, waiting, errors.REQUEST_TIMED_OUT)
        else:
            send_batch(world, process, waiting)


@inner_rule
def _is_expired(world: Kernel, client: Client, batch: Batch) -> bool:
    """Whether delivery.timeout.ms is used up."""
    waited_us = world.context[0].time_us - batch.created_us
    return waited_us >= client.delivery_timeout_ms * 1000


@inner_rule
def _take_out_of_flight(world: Clients, connection: Connection, batch: Batch) -> None:
    previous = NONE
    index = connection.flight_first
    while index != batch.index:
        previous = index
        index = world.batches[index].next
    if previous == NONE:
        connection.flight_first = batch.next
    else:
        world.batches[previous].next = batch.next
    if connection.flight_last == batch.index:
        connection.flight_last = previous
    batch.next = NONE


@inner_rule
def handle_produce_times_out(world: Clients, timer: RequestTimesOut) -> None:
    """A request has got no answer within request.timeout.ms: the connection is given up.

    All that is in flight on it fails and is retried; what waits for it goes to whoever leads
    once metadata has come.

    Source: NetworkClient.handleTimedOutRequests@2.4.0.
    """
    process = timer.destination
    number = client_of(world, process)
    connection = world.connections[number * world.sizes[0].brokers + timer.broker]
    connection.deadline_timer = False
    if connection.flight_first == NONE:
        return
    first = world.batches[connection.flight_first]
    if world.context[0].time_us < first.deadline_us:
        _watch_deadline(world, process, connection, first)
        return
    note_disconnected(world, world.clients[number], connection)
    request_metadata(world, process)
    while connection.flight_first != NONE:
        batch = world.batches[connection.flight_first]
        _fail_attempt(world, process, connection, batch, errors.REQUEST_TIMED_OUT)
    _expire_waiting(world, process, connection)


@inner_rule
def lose_produce_requests(world: Clients, process: int, broker: int, until_us: int) -> None:
    """The connection to a broker is gone: what was sent on it up to ``until_us`` has failed.

    Whether it was appended nobody knows.

    Source: NetworkClient.processDisconnection@2.4.0, Sender.handleProduceResponse@2.4.0.
    """
    number = client_of(world, process)
    connection = world.connections[number * world.sizes[0].brokers + broker]
    timeout_us = world.clients[number].request_timeout_ms * 1000
    while connection.flight_first != NONE:
        batch = world.batches[connection.flight_first]
        if batch.deadline_us - timeout_us > until_us:
            break
        # What the broker had answered came before.
        batch.unanswered -= 1
        _fail_attempt(world, process, connection, batch, errors.NETWORK_EXCEPTION)
    _forget_late_answers(world, number, world.sizes[0].brokers, broker)
    request_metadata(world, process)


@inner_rule
def _forget_late_answers(world: Clients, number: int, brokers: int, broker: int) -> None:
    """Attempts that were given up before, but could still have been answered, never will be."""
    connection = world.connections[number * brokers + broker]
    while connection.first_late != NONE:
        batch = world.batches[connection.first_late]
        _is_late_no_more(world, batch)
        if not batch.in_flight:
            batch.unanswered = 0
            _free_if_over(world, batch)


@inner_rule
def _is_late(world: Clients, batch: Batch, connection: int) -> None:
    """An attempt was given up on a connection on which it could still be answered."""
    # A list, since all batches are too many to be looked at when a broker comes back: with
    # 60 producers whose retries piled up that took seconds.
    if batch.late != NONE:
        _is_late_no_more(world, batch)
    batch.late = connection
    batch.previous_late = NONE
    batch.next_late = world.connections[connection].first_late
    if batch.next_late != NONE:
        world.batches[batch.next_late].previous_late = batch.index
    world.connections[connection].first_late = batch.index


@inner_rule
def _is_late_no_more(world: Clients, batch: Batch) -> None:
    if batch.previous_late == NONE:
        world.connections[batch.late].first_late = batch.next_late
    else:
        world.batches[batch.previous_late].next_late = batch.next_late
    if batch.next_late != NONE:
        world.batches[batch.next_late].previous_late = batch.previous_late
    batch.late = NONE


@inner_rule
def _fail_attempt(
    world: Clients,
    process: int,
    connection: Connection,
    batch: Batch,
    error: int,
) -> None:
    """Nobody will answer an attempt that is in flight: the batch is tried again, or given up."""
    batch.in_flight = False
    connection.in_flight -= 1
    _take_out_of_flight(world, connection, batch)
    if batch.unanswered > 0:
        _is_late(world, batch, batch.client * world.sizes[0].brokers + batch.broker)
    _retry_or_fail(world, process, batch, error)
    _free_if_over(world, batch)


@inner_rule
def _expire_waiting(world: Clients, process: int, connection: Connection) -> None:
    """Give up the batches that have waited too long for a connection; the oldest come first.

    Source: RecordAccumulator.expiredBatches@2.4.0.
    """
    while connection.waiting_first != NONE:
        waiting = world.batches[connection.waiting_first]
        if not _is_expired(world, world.clients[waiting.client], waiting):
            return
        connection.waiting_first = waiting.next
        if connection.waiting_first == NONE:
            connection.waiting_last = NONE
        waiting.next = NONE
        _fail(world, process, waiting, errors.REQUEST_TIMED_OUT)


@inner_rule
def _retry_or_fail(world: Clients, process: int, batch: Batch, error: int) -> None:
    """Source: Sender.completeBatch and canRetry@2.4.0."""
    client = world.clients[batch.client]
    # InvalidMetadataException: all that say that somebody else may lead.
    if error in (
        errors.NOT_LEADER_OR_FOLLOWER,
        errors.UNKNOWN_TOPIC_OR_PARTITION,
        errors.KAFKA_STORAGE_ERROR,
    ):
        request_metadata(world, process)
    may_retry = (
        error != errors.INVALID_REQUIRED_ACKS
        and batch.attempts <= client.retries
        and not _is_expired(world, client, batch)
    )
    if may_retry:
        _retry_later(world, client, process, batch)
    else:
        _fail(world, process, batch, error)


@inner_rule
def _fail(world: Clients, process: int, batch: Batch, error: int) -> None:
    """Give a batch up: the application is told."""
    batch.done = True
    world.clients[batch.client].records_failed += batch.records
    row = new_row(world, process, BatchFailed)
    row.partition = world.client_targets[batch.target].partition
    row.batch = batch.number
    row.error = error
    row.attempts = batch.attempts
    row.records = batch.records
    if error in (errors.REQUEST_TIMED_OUT, errors.NETWORK_EXCEPTION) and batch.attempts > 0:
        because_of(world, row, batch.broker, batch.created_us)
    write_row(world, row)
    _free_if_over(world, batch)


@inner_rule
def _free_if_over(world: Clients, batch: Batch) -> None:
    """Give back a batch that is done and about which no answer can come any more."""
    if not batch.done or batch.unanswered > 0 or batch.number == NONE:
        return
    if batch.late != NONE:
        _is_late_no_more(world, batch)
    pool = world.pool[0]
    batch.number = NONE
    batch.next = pool.free_batch
    pool.free_batch = batch.index
    pool.free_batches += 1
