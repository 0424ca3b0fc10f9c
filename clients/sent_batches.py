"""Batches of a producer on a connection: those in flight, and those that may be answered late.

A request fails or is answered as a whole. One that is given up after request.timeout.ms could still
be answered, as long as its connection lives: its batches are kept until then, so that appends are
counted whose response never arrives.

Source: ``NetworkClient`` and ``InFlightRequests`` @2.4.0.
"""

from tidegauge.clients import client_state
from tidegauge.clients.stalls import forget_batch
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.events import new_item
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.client_requests import ProducedBatch, ProduceRequest
from tidegauge.simulation.messages.timers import RequestTimesOut


@inner_rule
def add_to_request(
    world: client_state.Clients,
    client: client_state.Client,
    connection: client_state.Connection,
    request: ProduceRequest,
    batch: client_state.Batch,
) -> None:
    """Put a batch into a request that is about to be sent."""
    batch.attempts += 1
    batch.broker = request.destination
    batch.request = request.correlation_id
    target = world.client_targets[batch.target]
    item = new_item(world, request, target.partition, ProducedBatch)
    item.append.record_count = batch.records
    item.append.producer_id = batch.producer_id
    item.append.producer_epoch = batch.producer_epoch
    item.append.first_sequence = batch.first_sequence
    item.place = batch.index
    item.batch = batch.number
    item.attempt = batch.attempts
    request.size_bytes += batch.size_bytes
    if client.acks == 0:
        # No response is due: the batch is sent, and its arrival stays unknown.
        finish(world, client, batch)
        free_if_over(world, batch)
        return
    batch.unanswered += 1
    batch.in_flight = True
    target.in_flight += 1
    batch.deadline_us = world.context[0].time_us + client.request_timeout_ms * 1000
    client_state.IN_FLIGHT.append(world, connection, batch.index)


@inner_rule
def watch_deadline(world: client_state.Clients, connection: client_state.Connection) -> None:
    """Set the timer of the first request in flight."""
    # One timer for a connection, not one for each request: nearly all are answered before,
    # and the heap stays small, which made the loop 1.3 times as fast.
    first = world.batches[connection.flight_first]
    connection.deadline_timer = True
    RequestTimesOut.at(world, first.deadline_us, first, request_kind=ProduceRequest.KIND)


@inner_rule
def memory_of(client: client_state.Client, size_bytes: int) -> int:
    """The bytes of buffer.memory that a batch takes: batch.size, or those of its one record.

    Source: RecordAccumulator.append@2.4.0.
    """
    return max(client.batch_bytes, size_bytes)


@inner_rule
def finish(
    world: client_state.Clients, client: client_state.Client, batch: client_state.Batch
) -> None:
    """The producer waits for no outcome of a batch: its memory is free."""
    batch.done = True
    client.buffered_bytes -= memory_of(client, batch.size_bytes)
    forget_batch(world, client, batch)


@inner_rule
def take_out_of_flight(
    world: client_state.Clients, connection: client_state.Connection, batch: client_state.Batch
) -> None:
    """A batch leaves the flight."""
    batch.in_flight = False
    world.client_targets[batch.target].in_flight -= 1
    client_state.IN_FLIGHT.remove(world, connection, batch.index)


@inner_rule
def first_lost(
    world: client_state.Clients, connection: client_state.Connection
) -> client_state.Batch:
    """The first batch in flight whose attempt gets no response: it is in flight no more."""
    batch = world.batches[connection.flight_first]
    take_out_of_flight(world, connection, batch)
    following = connection.flight_first
    if following == NONE or world.batches[following].request != batch.request:
        connection.in_flight -= 1
    if batch.unanswered > 0:
        _is_late(world, batch, batch.client * world.sizes[0].brokers + batch.broker)
    return batch


@inner_rule
def forget_late_answers(world: client_state.Clients, number: int, broker: int) -> None:
    """Attempts that were given up before, but could still have been answered, never will be."""
    connection = world.connections[number * world.sizes[0].brokers + broker]
    while connection.first_late != NONE:
        batch = world.batches[connection.first_late]
        _is_late_no_more(world, batch)
        if not batch.in_flight:
            batch.unanswered = 0
            free_if_over(world, batch)


@inner_rule
def _is_late(world: client_state.Clients, batch: client_state.Batch, connection: int) -> None:
    """An attempt was given up on a connection on which it could still be answered."""
    # A list, since checking all batches when a broker comes back is too slow: with 60 producers
    # whose retries piled up that took seconds.
    if batch.late != NONE:
        _is_late_no_more(world, batch)
    batch.late = connection
    client_state.LATE.insert(world, world.connections[connection], NONE, batch.index)


@inner_rule
def _is_late_no_more(world: client_state.Clients, batch: client_state.Batch) -> None:
    client_state.LATE.remove(world, world.connections[batch.late], batch.index)
    batch.late = NONE


@inner_rule
def free_if_over(world: client_state.Clients, batch: client_state.Batch) -> None:
    """Free a batch that is done, and has neither a pending response nor an attempt in flight.

    One that has expired in flight is done while a connection lists it; the response to an attempt
    that was given up with its connection can still come, and is none to the attempt in flight.
    """
    if not batch.done or batch.in_flight or batch.unanswered > 0 or batch.number == NONE:
        return
    if batch.late != NONE:
        _is_late_no_more(world, batch)
    pool = world.pool[0]
    batch.number = NONE
    if batch.joined > 0:
        client_state.JOINED_SLOTS.give_back_list(
            world, pool.joined_slots, batch.first_joined, batch.last_joined, batch.joined
        )
        batch.first_joined = NONE
        batch.last_joined = NONE
        batch.joined = 0
    client_state.FREE_BATCHES.insert(world, pool, NONE, batch.index)
    pool.free_batches += 1
