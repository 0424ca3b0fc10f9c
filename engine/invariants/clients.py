"""Invariants of clients: batches of producers, connections, positions of consumers."""

from __future__ import annotations

from tidegauge.clients.client_state import PRODUCER
from tidegauge.engine.invariants.checked import HOLDS, Checked, clear_marks, mark, pending
from tidegauge.engine.invariants.registry import Invariants
from tidegauge.simulation.kernel import CLIENT, NONE
from tidegauge.simulation.messages.kinds import CONSUMER_POLLS, METADATA_REFRESH, PRODUCER_SENDS

CLIENTS = Invariants()


@CLIENTS.of("pool")
def free_batches_are_counted(world: Checked) -> int:
    """Free batches are chained, are as many as the count says, and are all that have no number."""
    clear_marks(world, len(world.batches))
    free = 0
    index = world.pool[0].free_batch
    while index != NONE:
        if not mark(world, index, len(world.batches)):
            return 0
        index = world.batches[index].next
        free += 1
    if free != world.pool[0].free_batches:
        return 0
    for index in range(len(world.batches)):
        if (world.batches[index].number == NONE) != (world.marks[index].found == 1):
            return 0
    return HOLDS


@CLIENTS.of("connections")
def batches_in_flight_are_listed(world: Checked) -> int:
    """A connection lists its batches in flight, in the order of sending, and not too many."""
    clear_marks(world, len(world.batches))
    for number in range(len(world.connections)):
        connection = world.connections[number]
        client = number // world.sizes[0].brokers
        previous = NONE
        index = connection.flight_first
        count = 0
        while index != NONE:
            if not mark(world, index, len(world.batches)):
                return number
            batch = world.batches[index]
            if batch.client != client or batch.broker != number % world.sizes[0].brokers:
                return number
            if not batch.in_flight or batch.done or batch.unanswered < 1:
                return number
            if previous != NONE and batch.deadline_us < world.batches[previous].deadline_us:
                return number
            previous = index
            index = batch.next
            count += 1
        if previous != connection.flight_last or count != connection.in_flight:
            return number
        is_producer = world.clients[client].kind == PRODUCER
        if is_producer and count > world.clients[client].max_in_flight:
            return number
    return HOLDS


@CLIENTS.of("connections")
def waiting_batches_are_listed(world: Checked) -> int:
    """A connection lists the batches that wait for it, none of which is in flight or done."""
    # Marks stay: a batch in flight waits for nothing.
    for number in range(len(world.connections)):
        connection = world.connections[number]
        previous = NONE
        index = connection.waiting_first
        while index != NONE:
            if not mark(world, index, len(world.batches)):
                return number
            batch = world.batches[index]
            if batch.number == NONE or batch.in_flight or batch.done:
                return number
            previous = index
            index = batch.next
        if previous != connection.waiting_last:
            return number
    return HOLDS


@CLIENTS.of("batches")
def no_batch_in_flight_is_lost(world: Checked) -> int:
    """A batch in flight is in the list of its connection."""
    for index in range(len(world.batches)):
        batch = world.batches[index]
        if batch.number != NONE and batch.in_flight and world.marks[index].found == 0:
            return index
    return HOLDS


@CLIENTS.of("batches")
def late_batches_are_listed(world: Checked) -> int:
    """A batch that could still be answered on a connection given up is in that one's list."""
    clear_marks(world, len(world.batches))
    for number in range(len(world.connections)):
        previous = NONE
        index = world.connections[number].first_late
        while index != NONE:
            if not mark(world, index, len(world.batches)):
                return max(0, previous)
            batch = world.batches[index]
            if batch.late != number or batch.previous_late != previous:
                return index
            previous = index
            index = batch.next_late
    for index in range(len(world.batches)):
        if (world.batches[index].late != NONE) != (world.marks[index].found == 1):
            return index
    return HOLDS


@CLIENTS.of("connections")
def requests_of_clients_have_a_deadline(world: Checked) -> int:
    """A timer looks after the batches, or the fetch, that a connection has in flight."""
    for number in range(len(world.connections)):
        connection = world.connections[number]
        waits = connection.flight_first != NONE or connection.fetch != 0
        if waits and not connection.deadline_timer:
            return number
        if connection.fetch not in (0, connection.fetches):
            return number
    return HOLDS


@CLIENTS.of("client_targets")
def leaders_in_metadata_are_brokers(world: Checked) -> int:
    """Metadata names as leader a broker that there is, or none."""
    for place in range(len(world.client_targets)):
        if not NONE <= world.client_targets[place].leader < world.sizes[0].brokers:
            return place
    return HOLDS


@CLIENTS.of("clients")
def led_partitions_are_counted(world: Checked) -> int:
    """A client counts its partitions that have a leader, as far as it knows."""
    for number in range(len(world.clients)):
        client = world.clients[number]
        led = 0
        for place in range(client.first_target, client.first_target + client.target_count):
            led += 1 if world.client_targets[place].leader >= 0 else 0
        if led != client.led_targets:
            return number
    return HOLDS


@CLIENTS.of("client_targets")
def consumers_process_what_they_have_read(world: Checked) -> int:
    """A consumer has processed nothing behind its position."""
    for place in range(len(world.client_targets)):
        target = world.client_targets[place]
        if target.processed > target.position or target.position < 0:
            return place
    return HOLDS


@CLIENTS.of("clients")
def every_outcome_is_of_a_record_sent(world: Checked) -> int:
    """No more records are acknowledged or failed than a producer has sent."""
    for number in range(len(world.clients)):
        client = world.clients[number]
        if client.records_acknowledged + client.records_failed > client.records_sent:
            return number
    return HOLDS


@CLIENTS.of("clients")
def client_timers_match_their_owners(world: Checked) -> int:
    """A client has one timer for its next batch at most, and one each where it says so."""
    for number in range(len(world.clients)):
        process = world.process_ranges[CLIENT].first + number
        client = world.clients[number]
        polls = 0
        for broker in range(world.sizes[0].brokers):
            timer = world.connections[number * world.sizes[0].brokers + broker].poll_timer
            polls += 1 if timer else 0
        if pending(world, process, CONSUMER_POLLS) != polls:
            return number
        if pending(world, process, METADATA_REFRESH) != (1 if client.refresh_timer else 0):
            return number
        if pending(world, process, PRODUCER_SENDS) > 1:
            return number
    return HOLDS
