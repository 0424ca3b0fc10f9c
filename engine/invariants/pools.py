"""Invariants of pools: each slot of a table that is used again is in one place.

Here lists are found to be whole, which the invariants behind these rely on.
"""

from tidegauge.actors.state.brokers import NEVER_US, PRODUCERS, WATCHES
from tidegauge.compiled.lists import Slots
from tidegauge.compiled.rules import inner_rule
from tidegauge.engine.invariants import checked
from tidegauge.replication.producer_state import RETAINED_BATCHES
from tidegauge.simulation.events import EVENTS, ITEMS, used_events, waiting_count, waiting_entry
from tidegauge.simulation.kernel import BROKER, NONE
from tidegauge.simulation.messages.event import EventList
from tidegauge.simulation.messages.kinds import IS_REQUEST, KINDS

POOLS = checked.Invariants()

_walk_events = checked.walk_of(__name__, "_walk_events", EVENTS)
_walk_items = checked.walk_of(__name__, "_walk_items", ITEMS)
_walk_watches = checked.walk_of(__name__, "_walk_watches", WATCHES)

_walk_producers = checked.walk_of(__name__, "_walk_producers", PRODUCERS)


@POOLS.of("events")
def events_name_processes(world: checked.Checked) -> int:
    """An event has a kind, has its own slot, and goes from one process to another that exist."""
    count = len(world.processes)
    for index, event in enumerate(used_events(world)):
        if event.index != index or not NONE <= event.kind < KINDS:
            return index
        if event.kind != NONE and not (
            0 <= event.destination < count and NONE <= event.source < count
        ):
            return index
    return checked.HOLDS


@POOLS.of("hosted")
def purgatories_watch_requests(world: checked.Checked) -> int:
    """The purgatories of a replica watch requests to its broker, each list up to its last one."""
    checked.clear_marks(world, world.pools[0].watch_slots.used)
    for row in range(len(world.hosted)):
        for waiting in (world.delayed_fetches[row], world.delayed_produces[row]):
            if _walk_watches(world, waiting.first, waiting.last, row) < 0:
                return row
            index = waiting.first
            while index != NONE:
                event = world.watches[index].event
                if not 0 <= event < len(world.events) or world.events[event].kind == NONE:
                    return row
                if world.events[event].destination != world.hosted[row].broker:
                    return row
                index = world.watches[index].next
    return checked.HOLDS


@POOLS.of("watches")
def every_watch_has_one_place(world: checked.Checked) -> int:
    """Each watch of the purgatories is free, and counted so, or in the list of one replica."""
    # Behind the marks that the lists have left.
    slots = world.pools[0].watch_slots
    given_back = _walk_watches(world, slots.first_free, checked.ANY, 0)
    if not _are_counted(slots, given_back, len(world.watches)):
        return max(0, slots.first_free)
    return checked.first_unmarked(world, slots.used)


@inner_rule
def _are_counted(slots: Slots, given_back: int, count: int) -> bool:
    """Whether the free records of a pool of ``count`` are those given back, and those never used.

    ``given_back`` is BROKEN if the list of the former is.
    """
    return given_back >= 0 and slots.free == given_back + count - slots.used


@POOLS.of("context")
def free_events_are_counted(world: checked.Checked) -> int:
    """Free slots of events hold nothing, and are counted: those given back, those never used."""
    slots = world.context[0].event_slots
    checked.clear_marks(world, slots.used)
    given_back = _walk_events(world, slots.first_free, checked.ANY, 0)
    if not _are_counted(slots, given_back, len(world.events)):
        return 0
    for index, event in enumerate(used_events(world)):
        if (world.visits[index].found != 0) != (event.kind == NONE):
            return 0
    return checked.HOLDS


@POOLS.of("events")
def every_event_has_one_place(world: checked.Checked) -> int:
    """Each event waits for its time or is in one list, which is whole, or one owner keeps it."""
    # Behind the marks of those that are free.
    for place in range(waiting_count(world)):
        index = waiting_entry(world, place).index
        if not checked.mark(world, index, world.context[0].event_slots.used):
            return index
    wrong = _first_wrong_list(world)
    if wrong == checked.HOLDS:
        wrong = _first_kept_twice(world)
    if wrong != checked.HOLDS:
        return wrong
    _mark_delayed(world)
    for slot in range(world.context[0].event_slots.used):
        if world.visits[slot].found == 0 and not _is_on_thread(world, slot):
            return slot
    return checked.HOLDS


@inner_rule
def _first_wrong_list(world: checked.Checked) -> int:
    """Go through all lists of events; an event of one that is not whole, or shares one."""
    wrong = max(_wrong(world, world.context[0].ready), _wrong(world, world.context[0].outbox))
    for number in range(len(world.processes)):
        wrong = max(wrong, _wrong(world, world.processes[number].held))
    for place in range(world.context[0].impairments):
        wrong = max(wrong, _wrong(world, world.impairments[place].held))
    for place in range(len(world.pin_states)):
        wrong = max(wrong, _wrong(world, world.pin_states[place].held))
    for broker in range(len(world.brokers)):
        wrong = max(wrong, _wrong(world, world.brokers[broker].queue))
    for row in range(len(world.hosted)):
        wrong = max(wrong, _wrong(world, world.hosted[row].waiting))
    for place in range(len(world.producer_connections)):
        wrong = max(wrong, _wrong(world, world.producer_connections[place].waiting))
    for controller in range(len(world.controllers)):
        wrong = max(wrong, _wrong(world, world.controllers[controller].queue))
        wrong = max(wrong, _wrong(world, world.controllers[controller].unsent))
    for place in range(len(world.controller_brokers)):
        wrong = max(wrong, _wrong(world, world.controller_brokers[place].queue))
    for voter in world.voters:
        wrong = max(wrong, _wrong(world, voter.queue), _wrong(world, voter.deferred))
        wrong = max(wrong, _wrong(world, voter.fetches), _wrong(world, voter.voter_fetches))
        wrong = max(wrong, _wrong(world, voter.votes), _wrong(world, voter.change_responses))
    return wrong


@inner_rule
def _wrong(world: checked.Checked, events: EventList) -> int:
    if _walk_events(world, events.first, events.last, 0) == events.length:
        return checked.HOLDS
    return max(0, events.first)


@inner_rule
def _first_kept_twice(world: checked.Checked) -> int:
    """Go through all that keep one event; the first that another one has as well."""
    twice = checked.HOLDS
    for broker in range(len(world.brokers)):
        twice = max(twice, _kept(world, world.brokers[broker].alter_partition))
    for deltas in world.lifecycles:
        twice = max(twice, _kept(world, deltas.pending), _kept(world, deltas.publishing))
    for row in range(len(world.hosted)):
        twice = max(twice, _kept(world, world.hosted[row].writing_request))
    for place in range(len(world.fetch_sessions)):
        twice = max(twice, _kept(world, world.fetch_sessions[place].waiting))
    for state in world.controllers:
        twice = max(twice, _kept(world, state.listing), _kept(world, state.log_dir_listing))
        twice = max(twice, _kept(world, state.request))
    for known in world.controller_brokers:
        twice = max(twice, _kept(world, known.building), _kept(world, known.stopping))
    return twice


@inner_rule
def _kept(world: checked.Checked, index: int) -> int:
    if index == NONE or checked.mark(world, index, world.context[0].event_slots.used):
        return checked.HOLDS
    return max(0, index)


@inner_rule
def _mark_delayed(world: checked.Checked) -> None:
    """Note the requests in purgatories; a consumer's fetch is watched by several partitions."""
    for row in range(len(world.hosted)):
        for waiting in (world.delayed_fetches[row], world.delayed_produces[row]):
            index = waiting.first
            while index != NONE:
                world.visits[world.watches[index].event].found = 1
                index = world.watches[index].next


@inner_rule
def _is_on_thread(world: checked.Checked, index: int) -> bool:
    """Whether an event is a request on which a thread of its broker works, or waits for it."""
    event = world.events[index]
    if world.processes[event.destination].role != BROKER:
        return False
    broker = world.brokers[event.destination]
    if not IS_REQUEST[event.kind] or not 0 <= event.thread < broker.num_io_threads:
        return False
    return world.threads[broker.first_thread + event.thread].free_us == NEVER_US


@POOLS.of("context")
def free_entries_are_counted(world: checked.Checked) -> int:
    """Free slots of partition data are counted: those given back, and those never used."""
    slots = world.context[0].item_slots
    checked.clear_marks(world, slots.used)
    given_back = _walk_items(world, slots.first_free, checked.ANY, 0)
    return checked.HOLDS if _are_counted(slots, given_back, len(world.items)) else 0


@POOLS.of("events")
def chains_are_whole(world: checked.Checked) -> int:
    """An event's chain has as many entries as it counts, its last one last, and all to itself."""
    for index, event in enumerate(used_events(world)):
        if event.kind != NONE and event.item_count != _walk_items(
            world, event.first_item, event.last_item, 0
        ):
            return index
    return checked.HOLDS


@POOLS.of("items")
def every_entry_has_one_place(world: checked.Checked) -> int:
    """Each slot of partition data is free, or in the chain of one event or one znode."""
    for node in world.znodes:
        if _walk_items(world, node.first_item, checked.ANY, 0) != node.item_count:
            return max(0, node.first_item)
    return checked.first_unmarked(world, world.context[0].item_slots.used)


@POOLS.of("held_producers")
def every_place_for_a_producer_has_one_owner(world: checked.Checked) -> int:
    """Each place for a producer is free, and counted so, or in the list of one replica."""
    slots = world.pools[0].producer_slots
    checked.clear_marks(world, slots.used)
    given_back = _walk_producers(world, slots.first_free, checked.ANY, 0)
    if not _are_counted(slots, given_back, len(world.held_producers)):
        return max(0, slots.first_free)
    for row in range(len(world.hosted)):
        if _walk_producers(world, world.hosted[row].first_producer, checked.ANY, row) < 0:
            return max(0, world.hosted[row].first_producer)
    return checked.first_unmarked(world, slots.used)


@POOLS.of("producer_states")
def remembered_batches_are_in_the_log(world: checked.Checked) -> int:
    """The batches that a replica remembers of a producer are in its log, the last one last."""
    for row in range(len(world.hosted)):
        place = world.hosted[row].first_producer
        while place != NONE:
            entry = world.producer_states[place]
            previous = NONE
            for number in range(entry.batch_count):
                batch = world.producer_batches[
                    entry.first_batch + (entry.oldest + number) % RETAINED_BATCHES
                ]
                if not previous < batch.base_offset <= batch.last_offset:
                    return place
                previous = batch.last_offset
            if previous >= world.replicas[row].log_end_offset:
                return place
            place = world.held_producers[place].next
    return checked.HOLDS
