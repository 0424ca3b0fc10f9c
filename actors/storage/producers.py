"""A replica's state of idempotent producers (Kafka: ``ProducerStateManager``).

It is a function of the log: a leader learns of a batch when it appends it, a follower from its
fetch, and batches that are cut off are forgotten. Producer snapshots keep it through every end of a
process, so it lies with the log. The rules are in ``replication/producer_state.py``.

The producers of a replica are a list, the one with the last batch first: a fetch brings the front
of it. A fetch response names the last five batches of each producer, as older ones do not matter: a
follower that is further behind has none until it has their records.
"""

from tidegauge.actors.state.brokers import PRODUCER_SLOTS, PRODUCERS, Brokers, now_ms
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication import errors, producer_state
from tidegauge.replication.records import UNDEFINED, ProducerStateEntry
from tidegauge.simulation.events import new_item
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.client_requests import FetchedRecords, PartitionAppend
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.trace_rows.process_rows import DuplicateFound


@inner_rule
def _place_of(world: Brokers, row: int, producer_id: int) -> int:
    """The place of a producer in a replica's list; NONE if it is not in it."""
    for place in PRODUCERS.of(world, world.hosted[row]):
        if world.producer_states[place].producer_id == producer_id:
            return place
    return NONE


@inner_rule
def _new_place(world: Brokers, row: int, producer_id: int) -> int:
    """A place for a producer that is new to a replica, at the front of its list."""
    pools = world.pools[0]
    place = PRODUCER_SLOTS.take(world, pools.producer_slots)
    if pools.producer_slots.free < pools.producer_reserve:
        world.context[0].needs_room = True
    producer_state.forget_producer(world.producer_states[place])
    world.producer_states[place].first_batch = place * producer_state.RETAINED_BATCHES
    world.producer_states[place].producer_id = producer_id
    PRODUCERS.insert(world, world.hosted[row], NONE, place)
    return place


@inner_rule
def check_batch(world: Brokers, row: int, append: PartitionAppend, source: int) -> bool:
    """Whether a batch is to be appended: it is in sequence, and no duplicate.

    Otherwise ``append`` has the error, or the offset that the batch has.

    Source: Log.analyzeAndValidateProducerState@2.6.0.
    """
    place = _place_of(world, row, append.producer_id)
    if place == NONE:
        place = _new_place(world, row, append.producer_id)
    last_sequence = producer_state.increment_sequence(
        append.first_sequence, append.record_count - 1
    )
    error, duplicate = producer_state.validate_batch(
        world.rules[world.hosted[row].broker],
        world.producer_states[place],
        world.producer_batches,
        append.producer_epoch,
        append.first_sequence,
        last_sequence,
    )
    append.error = error
    if duplicate == producer_state.NO_BATCH:
        return error == errors.NONE
    append.offset = world.producer_batches[duplicate].base_offset
    world.brokers[world.hosted[row].broker].records_deduplicated += append.record_count
    DuplicateFound.write(
        world, world.hosted[row], append, from_process=source, records=append.record_count
    )
    return False


@inner_rule
def note_batch(
    world: Brokers,
    row: int,
    producer_id: int,
    producer_epoch: int,
    first_sequence: int,
    last_sequence: int,
    base_offset: int,
) -> None:
    """A batch of an idempotent producer is in a replica's log: remember it.

    Source: ProducerStateManager.update@2.6.0.
    """
    place = _place_of(world, row, producer_id)
    if place == NONE:
        place = _new_place(world, row, producer_id)
    batch = world.appended_batch[0]
    batch.first_sequence = first_sequence
    batch.last_sequence = last_sequence
    batch.base_offset = base_offset
    batch.last_offset = base_offset + producer_state.decrement_sequence(
        last_sequence, first_sequence
    )
    batch.timestamp_ms = now_ms(world.context[0])
    producer_state.append_batch(
        world.rules[world.hosted[row].broker],
        world.producer_states[place],
        world.producer_batches,
        producer_epoch,
        batch,
    )
    if place != world.hosted[row].first_producer:
        PRODUCERS.remove(world, world.hosted[row], place)
        _insert(world, row, place)


@inner_rule
def _insert(world: Brokers, row: int, place: int) -> None:
    """Put a producer before those whose last batches are older."""
    last_offset = _last_offset(world, place)
    newer = NONE
    for other in PRODUCERS.of(world, world.hosted[row]):
        if _last_offset(world, other) <= last_offset:
            break
        newer = other
    PRODUCERS.insert(world, world.hosted[row], newer, place)


@inner_rule
def _batch_at(entry: ProducerStateEntry, number: int) -> int:
    """The place of a batch that is remembered of a producer, the oldest first."""
    return entry.first_batch + (entry.oldest + number) % producer_state.RETAINED_BATCHES


@inner_rule
def _last_offset(world: Brokers, place: int) -> int:
    """The offset of the last record that is remembered of a producer; -1 none."""
    entry = world.producer_states[place]
    if entry.batch_count == 0:
        return UNDEFINED
    return world.producer_batches[_batch_at(entry, entry.batch_count - 1)].last_offset


@inner_rule
def tell_batches(
    world: Brokers, row: int, response: Event, item: FetchedRecords, end_offset: int
) -> None:
    """Send a follower the batches that end in its fetched records: in its entry, then in others."""
    first_offset = item.offset
    told = item
    place = world.hosted[row].first_producer
    while place != NONE and _last_offset(world, place) >= first_offset:
        entry = world.producer_states[place]
        for number in range(entry.batch_count):
            batch = world.producer_batches[_batch_at(entry, number)]
            if first_offset <= batch.last_offset < end_offset:
                if told.producer_id != NONE:
                    told = new_item(world, response, item.partition, FetchedRecords, continues=True)
                told.producer_id = entry.producer_id
                told.producer_epoch = entry.producer_epoch
                told.first_sequence = batch.first_sequence
                told.last_sequence = batch.last_sequence
                told.batch_offset = batch.base_offset
        place = world.held_producers[place].next


@inner_rule
def end_of_whole_batches(
    world: Brokers, row: int, first_offset: int, end_offset: int, is_first: bool
) -> int:
    """The end of a read without a part of a batch; the first batch of a response comes whole.

    Batches are known while a producer's state has them, which are those that a retry could repeat.

    Source: LogSegment.read@2.6.0, ReplicaManager.readFromLocalLog@2.6.0 (minOneMessage, KIP-74).
    """
    place = world.hosted[row].first_producer
    while place != NONE and _last_offset(world, place) >= end_offset:
        entry = world.producer_states[place]
        for number in range(entry.batch_count):
            batch = world.producer_batches[_batch_at(entry, number)]
            if batch.base_offset < end_offset <= batch.last_offset:
                if is_first and batch.base_offset <= first_offset:
                    return batch.last_offset + 1
                return max(first_offset, batch.base_offset)
        place = world.held_producers[place].next
    return end_offset


@inner_rule
def cut_producers(world: Brokers, row: int) -> None:
    """A replica's log was cut: forget the batches behind its end, and producers before its start.

    Source: ProducerStateManager.truncateAndReload@2.6.0, truncateHead@2.3.0.
    """
    partition = world.replicas[row]
    rules = world.rules[world.hosted[row].broker]
    place = world.hosted[row].first_producer
    world.hosted[row].first_producer = NONE
    while place != NONE:
        following = world.held_producers[place].next
        entry = world.producer_states[place]
        producer_state.truncate_producer_to(entry, world.producer_batches, partition.log_end_offset)
        producer_state.truncate_producer_head(
            rules, entry, world.producer_batches, partition.log_start_offset
        )
        if entry.producer_epoch == producer_state.NO_PRODUCER_EPOCH:
            _free(world, place)
        else:
            _insert(world, row, place)
        place = following


@inner_rule
def forget_producers(world: Brokers, row: int) -> None:
    """A replica's log is restarted, or deleted: it has no producers.

    Source: ProducerStateManager.truncateFullyAndStartAt@2.6.0.
    """
    while world.hosted[row].first_producer != NONE:
        _free(world, PRODUCERS.take_first(world, world.hosted[row]))


@inner_rule
def _free(world: Brokers, place: int) -> None:
    world.producer_states[place].producer_id = NONE
    PRODUCER_SLOTS.give_back(world, world.pools[0].producer_slots, place)
