"""A producer's accumulator: the batches that wait, by partition, and those that leave together.

Each partition has a queue. The records of a send join its last batch, if that was never sent, up to
batch.size; for the others batches are opened, each of one record at least. A batch is ready when it
is full, when another one waits behind it, when it has waited for linger.ms, or while the
application waits for memory. The first batch of a queue may be sent if it is ready, not in its
back-off, and, of an idempotent producer, next in sequence. Its partition then
stands in the list of its leader's connection. As long as a connection has room
(max.in.flight.requests.per.connection), a request takes the first batch of each partition of that
list, up to max.request.size: so at most one batch of a partition. With linger.ms the request leaves
when the first of them is due, and all others with it. With one request in flight, partitions that
have a batch in flight wait, so that nothing overtakes a retry (``guaranteeMessageOrder``).

Simplified: the records of a send are appended at one instant, and a batch has no bytes beside those
of its records.

Source: ``RecordAccumulator``, ``ProducerBatch`` and ``Sender.sendProducerData`` @2.4.0.
"""

from tidegauge.clients import client_state
from tidegauge.clients.client_metadata import client_of, request_metadata
from tidegauge.clients.client_state import LISTED, leader_of_target
from tidegauge.clients.sent_batches import add_to_request, memory_of, watch_deadline
from tidegauge.clients.sequences import goes_before, may_be_sent, number_batch
from tidegauge.clients.stalls import watch_batch
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.events import free_event
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.client_requests import ProduceRequest
from tidegauge.simulation.messages.timers import BatchExpires, ProducerWakes

#: Before 2.1 batches do not expire: they have no delivery.timeout.ms.
_NEVER_MS = code(2**40)


# Appends.


@inner_rule
def memory_of_send(world: client_state.Clients, client: client_state.Client, place: int) -> int:
    """The bytes of buffer.memory that the batches take which a send to a partition opens."""
    target = world.client_targets[place]
    left = client.records_per_send - _room(world, target)
    if left <= 0:
        return 0
    batches = (left + target.batch_records - 1) // target.batch_records
    return batches * memory_of(client, world.partitions[target.partition].record_bytes)


@inner_rule
def _room(world: client_state.Clients, target: client_state.Target) -> int:
    """The number of records that can join the last batch of a partition.

    Source: RecordAccumulator.tryAppend and MemoryRecordsBuilder.hasRoomFor@2.4.0.
    """
    if target.queue_last == NONE:
        return 0
    last = world.batches[target.queue_last]
    return target.batch_records - last.records if last.attempts == 0 else 0


@inner_rule
def append(world: client_state.Clients, number: int, place: int) -> bool:
    """Append the records of a send to a partition; whether a batch is full or new by that.

    Source: RecordAccumulator.append and KafkaProducer.doSend@2.4.0.
    """
    client = world.clients[number]
    target = world.client_targets[place]
    left = client.records_per_send
    joining = min(left, _room(world, target))
    if joining > 0:
        last = world.batches[target.queue_last]
        last.size_bytes += joining * (last.size_bytes // last.records)
        last.records += joining
        left -= joining
        if left == 0:
            _join(world, last)
            return _is_full(client, last)
    while left > 0:
        records = min(left, target.batch_records)
        left -= records
        batch = _open_batch(world, number, place, records)
        batch.ends_send = left == 0
    return True


@inner_rule
def _join(world: client_state.Clients, batch: client_state.Batch) -> None:
    """A send ends in a batch that was there before it."""
    slots = world.pool[0].joined_slots
    joined = client_state.JOINED_SLOTS.take(world, slots)
    if slots.free < client_state.FEW_SENDS:
        world.context[0].needs_room = True
    world.joined_sends[joined].sent_us = world.context[0].time_us
    client_state.JOINED.append(world, batch, joined)
    batch.joined += 1


@inner_rule
def _open_batch(
    world: client_state.Clients, number: int, place: int, records: int
) -> client_state.Batch:
    """Put a new batch behind the others of a partition.

    Source: RecordAccumulator.appendNewBatch@2.4.0.
    """
    client = world.clients[number]
    pool = world.pool[0]
    batch = world.batches[client_state.FREE_BATCHES.take_first(world, pool)]
    pool.free_batches -= 1
    if pool.free_batches < pool.few_batches:
        world.context[0].needs_room = True
    batch.client = number
    batch.number = client.batches
    client.batches += 1
    batch.target = place
    batch.records = records
    target = world.client_targets[place]
    batch.size_bytes = records * world.partitions[target.partition].record_bytes
    batch.attempts = 0
    batch.created_us = world.context[0].time_us
    batch.done = False
    batch.unanswered = 0
    batch.in_flight = False
    batch.appended_offset = NONE
    batch.producer_id = NONE
    batch.producer_epoch = NONE
    batch.first_sequence = NONE
    batch.is_renumbered = False
    client.buffered_bytes += memory_of(client, batch.size_bytes)
    watch_batch(world, client, batch)
    watch_expiry(world, client)
    client_state.QUEUED.append(world, target, batch.index)
    target.queue_length += 1
    return batch


@inner_rule
def _is_full(client: client_state.Client, batch: client_state.Batch) -> bool:
    """Source: MemoryRecordsBuilder.isFull@2.4.0."""
    return batch.size_bytes >= client.batch_bytes


# The delivery timeout.


@inner_rule
def is_expired(
    world: client_state.Clients, client: client_state.Client, batch: client_state.Batch
) -> bool:
    """Whether delivery.timeout.ms is used up."""
    waited_us = world.context[0].time_us - batch.created_us
    return waited_us >= client.delivery_timeout_ms * 1000


@inner_rule
def watch_expiry(world: client_state.Clients, client: client_state.Client) -> None:
    """Set the timer for the delivery timeout of a producer's oldest batch without an outcome."""
    if client.expiry_timer or client.oldest == NONE or client.delivery_timeout_ms > _NEVER_MS:
        return
    client.expiry_timer = True
    created_us = world.batches[client.oldest].created_us
    due_us = max(created_us + client.delivery_timeout_ms * 1000, world.context[0].time_us)
    BatchExpires.at(world, due_us)


@inner_rule
def take_out(world: client_state.Clients, batch: client_state.Batch) -> None:
    """Take a batch that waits out of its partition's queue."""
    target = world.client_targets[batch.target]
    client_state.QUEUED.remove(world, target, batch.index)
    target.queue_length -= 1


# Batches that leave.


@inner_rule
def enqueue_again(
    world: client_state.Clients, client: client_state.Client, batch: client_state.Batch
) -> None:
    """Put a batch whose attempt has failed before the others, or where its sequence number belongs.

    Source: RecordAccumulator.reenqueue and insertInSequenceOrder@2.4.0.
    """
    batch.retry_us = world.context[0].time_us + client.retry_backoff_ms * 1000
    target = world.client_targets[batch.target]
    previous = NONE
    for other in client_state.QUEUED.of(world, target):
        if not goes_before(world.batches[other], batch):
            break
        previous = other
    client_state.QUEUED.insert(world, target, previous, batch.index)
    target.queue_length += 1


@inner_rule
def offer(world: client_state.Clients, process: int, place: int) -> None:
    """The first batch of a partition may be one that can be sent now: see, and send it if so.

    Source: RecordAccumulator.ready@2.4.0.
    """
    number = client_of(world, process)
    client = world.clients[number]
    target = world.client_targets[place]
    if target.queue_first == NONE or not _can_leave(world, client, place):
        _unlist(world, number, place)
    elif leader_of_target(world, target) < 0:
        _list_at(world, number, place, client_state.LEADERLESS)
        request_metadata(world, process)
    else:
        leader = leader_of_target(world, target)
        _list_at(world, number, place, leader)
        due_us = _due_us(world, client, target)
        if due_us > world.context[0].time_us:
            _wake_at(world, place, due_us)
        else:
            drain(world, process, leader)


@inner_rule
def _can_leave(world: client_state.Clients, client: client_state.Client, place: int) -> bool:
    """Whether the first batch of a partition can be sent, but for its leader and linger.ms."""
    target = world.client_targets[place]
    first = world.batches[target.queue_first]
    if first.attempts > 0 and world.context[0].time_us < first.retry_us:
        _wake_at(world, place, first.retry_us)
        return False
    if client.max_in_flight == 1 and target.in_flight > 0:
        return False
    return not client.is_idempotent or may_be_sent(client, target, first)


@inner_rule
def _due_us(
    world: client_state.Clients, client: client_state.Client, target: client_state.Target
) -> int:
    """The time at which the first batch of a partition is ready.

    Source: RecordAccumulator.batchReady@4.0.0.
    """
    first = world.batches[target.queue_first]
    is_full = target.queue_length > 1 or _is_full(client, first)
    if first.attempts > 0 or is_full or client.blocked:
        return 0
    return first.created_us + client.linger_us


@inner_rule
def _wake_at(world: client_state.Clients, place: int, time_us: int) -> None:
    target = world.client_targets[place]
    if 0 < target.wake_us <= time_us:
        return
    target.wake_us = time_us
    ProducerWakes.at(world, time_us, target=place)


@inner_rule
def drain(world: client_state.Clients, process: int, broker: int) -> None:
    """Send the batches that wait for a broker's connection, as far as that has room.

    Source: RecordAccumulator.drainBatchesForOneNode@2.4.0.
    """
    number = client_of(world, process)
    client = world.clients[number]
    connection = world.connections[number * world.sizes[0].brokers + broker]
    while connection.in_flight < client.max_in_flight and connection.waiting.first != NONE:
        if client.linger_us > 0 and not _any_due(world, client, connection):
            return
        client.requests += 1
        request = ProduceRequest.to(world, broker)
        request.acks = client.acks
        request.timeout_ms = client.request_timeout_ms
        request.correlation_id = client.requests
        _fill(world, process, connection, request)
        if request.item_count == 0:
            free_event(world, request)
            return
        if client.acks != 0:
            connection.in_flight += 1
            if not connection.deadline_timer:
                watch_deadline(world, connection)
        send(world, request, world.context[0].time_us)


@inner_rule
def _any_due(
    world: client_state.Clients, client: client_state.Client, connection: client_state.Connection
) -> bool:
    for place in LISTED.of(world, connection.waiting):
        target = world.client_targets[place]
        if _due_us(world, client, target) <= world.context[0].time_us:
            return True
    return False


@inner_rule
def _fill(
    world: client_state.Clients,
    process: int,
    connection: client_state.Connection,
    request: ProduceRequest,
) -> None:
    """Put the first batch of each partition that waits into a request, up to max.request.size."""
    number = client_of(world, process)
    client = world.clients[number]
    size_bytes = 0
    last = connection.waiting.last
    following = connection.waiting.first
    while following != NONE:
        place = following
        target = world.client_targets[place]
        following = NONE if place == last else target.next_listed
        if target.queue_first == NONE or not _can_leave(world, client, place):
            _unlist(world, number, place)
            continue
        size_bytes += world.batches[target.queue_first].size_bytes
        if request.item_count > 0 and size_bytes > client.max_request_bytes:
            return
        target.queue_length -= 1
        batch = world.batches[client_state.QUEUED.take_first(world, target)]
        if client.is_idempotent:
            number_batch(world, client, target, batch)
        add_to_request(world, client, connection, request, batch)
        # Its remaining batches come behind the others.
        _unlist(world, number, place)
        if target.queue_first != NONE:
            _list_at(world, number, place, request.destination)


@inner_rule
def drain_all(world: client_state.Clients, process: int) -> None:
    """Metadata has come: send the pending batches to the new leaders."""
    number = client_of(world, process)
    brokers = world.sizes[0].brokers
    _list_by_leader(world, number, world.clients[number].leaderless)
    for broker in range(brokers):
        _list_by_leader(world, number, world.connections[number * brokers + broker].waiting)
    for broker in range(brokers):
        drain(world, process, broker)


@inner_rule
def _list_by_leader(
    world: client_state.Clients, number: int, listed: client_state.TargetList
) -> None:
    """Move partitions to the lists of their leaders' connections."""
    last = listed.last
    following = listed.first
    while following != NONE:
        place = following
        target = world.client_targets[place]
        following = NONE if place == last else target.next_listed
        leader = leader_of_target(world, target)
        _list_at(world, number, place, leader if leader >= 0 else client_state.LEADERLESS)


@inner_rule
def _list_of(world: client_state.Clients, number: int, where: int) -> client_state.TargetList:
    if where == client_state.LEADERLESS:
        return world.clients[number].leaderless
    return world.connections[number * world.sizes[0].brokers + where].waiting


@inner_rule
def _list_at(world: client_state.Clients, number: int, place: int, where: int) -> None:
    """Put a partition into a list, behind the others, unless it is there."""
    target = world.client_targets[place]
    if target.listed == where:
        return
    _unlist(world, number, place)
    listed = _list_of(world, number, where)
    target.listed = where
    LISTED.append(world, listed, place)


@inner_rule
def _unlist(world: client_state.Clients, number: int, place: int) -> None:
    target = world.client_targets[place]
    if target.listed == NONE:
        return
    listed = _list_of(world, number, target.listed)
    LISTED.remove(world, listed, place)
    target.listed = NONE
