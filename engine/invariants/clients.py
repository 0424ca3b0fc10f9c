"""Invariants of clients: batches of producers, connections, positions of consumers."""

from tidegauge.clients import client_state
from tidegauge.clients.sent_batches import memory_of
from tidegauge.compiled.rules import code
from tidegauge.engine.invariants import checked
from tidegauge.simulation.kernel import CLIENT, NONE
from tidegauge.simulation.messages.timers import (
    BatchExpires,
    ConsumerPolls,
    MetadataRefresh,
    ProducerSends,
    StallLooks,
)

CLIENTS = checked.Invariants()

_walk_batches = checked.walk_of(__name__, "_walk_batches", client_state.QUEUED)
_walk_late = checked.walk_of(__name__, "_walk_late", client_state.LATE)

_walk_numbered = checked.walk_of(__name__, "_walk_numbered", client_state.NUMBERED)
_walk_made = checked.walk_of(__name__, "_walk_made", client_state.WITHOUT_OUTCOME)
_walk_joined = checked.walk_of(__name__, "_walk_joined", client_state.JOINED)
_walk_targets = checked.walk_of(__name__, "_walk_targets", client_state.LISTED)

# Owners of batches, behind the connections.
_WAITS = code(1 << 40)
_FREE = code(1 << 41)


@CLIENTS.of("pool")
def free_batches_are_counted(world: checked.Checked) -> int:
    """Free batches are chained, are as many as the count, and are all that have no number."""
    checked.clear_marks(world, len(world.batches))
    if (
        _walk_batches(world, world.pool[0].free_batch, checked.ANY, _FREE)
        != world.pool[0].free_batches
    ):
        return 0
    for index in range(len(world.batches)):
        if (world.batches[index].number == NONE) != (world.visits[index].found != 0):
            return 0
    return checked.HOLDS


@CLIENTS.of("connections")
def batches_of_connections_are_listed(world: checked.Checked) -> int:
    """A connection lists the batches in flight, of as many requests as it counts."""
    # Behind the marks of those that are free.
    for number, connection in enumerate(world.connections):
        index = connection.flight_first
        if _walk_batches(world, index, connection.flight_last, number) < 0:
            return number
        requests = 0
        request = NONE
        while index != NONE:
            requests += 1 if world.batches[index].request != request else 0
            request = world.batches[index].request
            index = world.batches[index].next
        client = world.clients[number // world.sizes[0].brokers]
        if client.kind == client_state.PRODUCER and (
            connection.in_flight != requests or requests > client.max_in_flight
        ):
            return number
    return checked.HOLDS


@CLIENTS.of("client_targets")
def queues_of_partitions_are_whole(world: checked.Checked) -> int:
    """A partition's queue lists as many batches of the partition as it counts; not in flight."""
    # Behind the marks of those that are free or in flight.
    for place, target in enumerate(world.client_targets):
        index = target.queue_first
        if _walk_batches(world, index, target.queue_last, _WAITS) != target.queue_length:
            return place
        while index != NONE:
            if world.batches[index].target != place:
                return place
            index = world.batches[index].next
    return checked.HOLDS


@CLIENTS.of("batches")
def batches_are_in_flight_on_their_connection(world: checked.Checked) -> int:
    """A batch that is not done waits in a queue, or is listed by the connection to its broker."""
    for index, batch in enumerate(world.batches):
        if batch.number == NONE:
            continue
        connection = batch.client * world.sizes[0].brokers + batch.broker
        found = world.visits[index].found
        expected = 0 if batch.done else _WAITS + 1
        if batch.in_flight:
            expected = connection + 1
        if found != expected:
            return index
    return checked.HOLDS


@CLIENTS.of("batches")
def batches_have_room_for_their_records(world: checked.Checked) -> int:
    """A batch has records, no more than it has room for."""
    for index, batch in enumerate(world.batches):
        if batch.number == NONE:
            continue
        target = world.client_targets[batch.target]
        record_bytes = world.partitions[target.partition].record_bytes
        if not 0 < batch.records <= target.batch_records:
            return index
        if batch.size_bytes != batch.records * record_bytes:
            return index
    return checked.HOLDS


@CLIENTS.of("batches")
def every_joined_send_has_one_place(world: checked.Checked) -> int:
    """A batch counts the sends that have joined it; each of the others is free."""
    slots = world.pool[0].joined_slots
    checked.clear_marks(world, slots.used)
    for index, batch in enumerate(world.batches):
        if _walk_joined(world, batch.first_joined, batch.last_joined, index) != batch.joined:
            return index
    given_back = _walk_joined(world, slots.first_free, checked.ANY, _FREE)
    if slots.free != given_back + len(world.joined_sends) - slots.used:
        return 0
    return checked.first_unmarked(world, slots.used)


@CLIENTS.of("client_targets")
def partitions_that_wait_are_listed(world: checked.Checked) -> int:
    """A partition is in the list that it names, and has batches there; those in none name none."""
    checked.clear_marks(world, len(world.client_targets))
    for number in range(len(world.connections)):
        waiting = world.connections[number].waiting
        broker = number % world.sizes[0].brokers
        if _walk_targets(world, waiting.first, waiting.last, broker) < 0:
            return max(0, waiting.first)
    for number in range(len(world.clients)):
        waiting = world.clients[number].leaderless
        if _walk_targets(world, waiting.first, waiting.last, _WAITS) < 0:
            return max(0, waiting.first)
    for place, target in enumerate(world.client_targets):
        listed = _WAITS if target.listed == client_state.LEADERLESS else target.listed
        if world.visits[place].found != listed + 1:
            return place
        if target.listed != NONE and target.queue_first == NONE:
            return place
    return checked.HOLDS


@CLIENTS.of("clients")
def buffered_bytes_are_those_of_batches(world: checked.Checked) -> int:
    """A producer's memory is that of its batches that are not done, and no more than it has."""
    for number, client in enumerate(world.clients):
        if client.kind != client_state.PRODUCER:
            continue
        size_bytes = 0
        for batch in world.batches:
            if batch.number != NONE and batch.client == number and not batch.done:
                size_bytes += memory_of(client, batch.size_bytes)
        if size_bytes != client.buffered_bytes or size_bytes > client.buffer_bytes:
            return number
    return checked.HOLDS


@CLIENTS.of("client_targets")
def numbered_batches_are_in_sequence(world: checked.Checked) -> int:
    """The batches of a partition that have sequence numbers and are not done follow each other."""
    checked.clear_marks(world, len(world.batches))
    for place, target in enumerate(world.client_targets):
        index = target.first_numbered
        if _walk_numbered(world, index, target.last_numbered, place) < 0:
            return place
        previous = NONE
        while index != NONE:
            batch = world.batches[index]
            if batch.done or batch.first_sequence <= previous or batch.target != place:
                return place
            previous = batch.first_sequence
            index = batch.next_numbered
    return checked.HOLDS


@CLIENTS.of("batches")
def late_batches_are_listed(world: checked.Checked) -> int:
    """A batch that could still be answered on a connection given up is in that one's list."""
    checked.clear_marks(world, len(world.batches))
    for number in range(len(world.connections)):
        if _walk_late(world, world.connections[number].first_late, checked.ANY, number) < 0:
            return max(0, world.connections[number].first_late)
    for index, batch in enumerate(world.batches):
        if world.visits[index].found != batch.late + 1:
            return index
        if (
            batch.late != NONE
            and batch.next_late != NONE
            and (world.batches[batch.next_late].previous_late != index)
        ):
            return index
    return checked.HOLDS


@CLIENTS.of("connections")
def requests_of_clients_have_a_deadline(world: checked.Checked) -> int:
    """The batches, or the fetch, that a connection has in flight have a timer."""
    for number, connection in enumerate(world.connections):
        waits = connection.flight_first != NONE or connection.fetch != 0
        if waits and not connection.deadline_timer:
            return number
        if connection.fetch not in (0, connection.fetches):
            return number
    return checked.HOLDS


@CLIENTS.of("known_partitions")
def leaders_in_metadata_are_brokers(world: checked.Checked) -> int:
    """Metadata names as leader a broker that there is, or none."""
    for place in range(len(world.known_partitions)):
        if not NONE <= world.known_partitions[place].leader < world.sizes[0].brokers:
            return place
    return checked.HOLDS


@CLIENTS.of("clients")
def led_partitions_are_counted(world: checked.Checked) -> int:
    """A client counts its partitions that have a leader, as far as it knows."""
    for number, client in enumerate(world.clients):
        led = 0
        for place in range(client.first_known, client.first_known + client.known_count):
            led += 1 if world.known_partitions[place].leader >= 0 else 0
        if led != client.led_partitions:
            return number
    return checked.HOLDS


@CLIENTS.of("client_targets")
def consumers_process_what_they_have_read(world: checked.Checked) -> int:
    """A consumer has processed nothing behind its position."""
    for place, target in enumerate(world.client_targets):
        if target.processed > target.position or target.position < 0:
            return place
    return checked.HOLDS


@CLIENTS.of("client_targets")
def targets_are_known_partitions(world: checked.Checked) -> int:
    """A client writes to, or reads, partitions that are in its metadata."""
    for client in world.clients:
        for number in range(client.target_count):
            target = world.client_targets[client.first_target + number]
            if not 0 <= target.known - client.first_known < client.known_count:
                return client.first_target + number
            if world.known_partitions[target.known].partition != target.partition:
                return client.first_target + number
    return checked.HOLDS


@CLIENTS.of("clients")
def every_record_sent_is_in_one_place(world: checked.Checked) -> int:
    """All that a producer has sent is acknowledged, failed, or in flight."""
    for number, client in enumerate(world.clients):
        in_flight = client.records_in_flight
        outcomes = client.records_acknowledged + client.records_failed
        if client.kind == client_state.PRODUCER and outcomes + in_flight != client.records_sent:
            return number
    return checked.HOLDS


@CLIENTS.of("clients")
def batches_without_an_outcome_are_listed(world: checked.Checked) -> int:
    """A producer lists its batches that are not done, oldest first; those overdue come before."""
    checked.clear_marks(world, len(world.batches))
    for number, client in enumerate(world.clients):
        if _walk_made(world, client.oldest, client.youngest, number) < 0:
            return number
        records = 0
        is_overdue = True
        index = client.oldest
        while index != NONE:
            batch = world.batches[index]
            is_overdue = is_overdue and index != client.oldest_timely
            if batch.is_overdue != is_overdue or batch.done or batch.client != number:
                return number
            records += batch.records
            index = batch.younger
        if (
            client.kind == client_state.PRODUCER
            and client.acks != 0
            and records != client.records_in_flight
        ):
            return number
    for index, batch in enumerate(world.batches):
        is_listed = world.visits[index].found != 0
        if is_listed != (batch.number != NONE and not batch.done):
            return batch.client
    return checked.HOLDS


@CLIENTS.of("client_targets")
def overdue_batches_are_counted(world: checked.Checked) -> int:
    """A partition counts its overdue batches; its writes are stalled while there are any."""
    for place in range(len(world.client_targets)):
        world.visits[place].found = 0
    for batch in world.batches:
        if batch.number != NONE and not batch.done and batch.is_overdue:
            world.visits[batch.target].found += 1
    for place in range(len(world.client_targets)):
        if world.client_targets[place].overdue != world.visits[place].found:
            return place
    return checked.HOLDS


@CLIENTS.of("clients")
def client_timers_match_their_owners(world: checked.Checked) -> int:
    """A client has one timer for its next batch at most, and one for each flag of one."""
    for number in range(len(world.clients)):
        process = world.process_ranges[CLIENT].first + number
        client = world.clients[number]
        polls = 0
        for broker in range(world.sizes[0].brokers):
            timer = world.connections[number * world.sizes[0].brokers + broker].poll_timer
            polls += 1 if timer else 0
        if checked.pending(world, process, ConsumerPolls.KIND) != polls:
            return number
        if checked.pending(world, process, MetadataRefresh.KIND) != (
            1 if client.refresh_timer else 0
        ):
            return number
        if checked.pending(world, process, ProducerSends.KIND) > 1:
            return number
        if checked.pending(world, process, StallLooks.KIND) != (1 if client.stall_timer else 0):
            return number
        if checked.pending(world, process, BatchExpires.KIND) != (1 if client.expiry_timer else 0):
            return number
    return checked.HOLDS
