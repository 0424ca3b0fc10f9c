"""Invariants of pools: each slot of a table that is used again is in one place.

They come behind those of the lists that they go through (``kernel.py``).
"""

from __future__ import annotations

from tidegauge.actors.state.brokers import NEVER_US
from tidegauge.compiled.rules import inner_rule
from tidegauge.engine.invariants.checked import (
    HOLDS,
    Checked,
    clear_marks,
    first_unmarked,
    mark,
    mark_chain,
    mark_list,
)
from tidegauge.engine.invariants.registry import Invariants
from tidegauge.simulation.kernel import BROKER, NONE
from tidegauge.simulation.messages.kinds import IS_REQUEST

POOLS = Invariants()


@POOLS.of("context")
def free_events_are_counted(world: Checked) -> int:
    """Free slots of events are chained, hold nothing, and are as many as the count says."""
    clear_marks(world, len(world.events))
    free = 0
    index = world.context[0].free_event
    while index != NONE:
        if not mark(world, index, len(world.events)) or world.events[index].kind != NONE:
            return 0
        index = world.events[index].next
        free += 1
    return HOLDS if free == world.context[0].free_events else 0


@POOLS.of("hosted")
def delayed_requests_are_of_their_broker(world: Checked) -> int:
    """Purgatories watch requests of their own broker, each list up to its last one."""
    clear_marks(world, len(world.watches))
    for row in range(len(world.hosted)):
        for waiting in (world.delayed_fetches[row], world.delayed_produces[row]):
            previous = NONE
            index = waiting.first
            while index != NONE:
                if not mark(world, index, len(world.watches)):
                    return row
                event = world.watches[index].event
                if not 0 <= event < len(world.events) or world.events[event].kind == NONE:
                    return row
                if world.events[event].destination != world.hosted[row].broker:
                    return row
                previous = index
                index = world.watches[index].next
            if previous != waiting.last:
                return row
    return HOLDS


@POOLS.of("watches")
def every_watch_has_one_place(world: Checked) -> int:
    """Each watch of a purgatory is free, and counted so, or in the list of one replica."""
    # Marks stay: those of the lists.
    pools = world.pools[0]
    free = 0
    index = pools.free_watch
    while index != NONE:
        if not mark(world, index, len(world.watches)):
            return max(0, index)
        index = world.watches[index].next
        free += 1
    if free != pools.free_watches:
        return max(0, pools.free_watch)
    return first_unmarked(world, len(world.watches))


@POOLS.of("events")
def every_event_has_one_place(world: Checked) -> int:
    """Each slot is free, waits for its time or in one list, or is kept by one owner."""
    clear_marks(world, len(world.events))
    index = world.context[0].free_event
    while index != NONE:
        mark(world, index, len(world.events))
        index = world.events[index].next
    for place in range(world.context[0].heap_size):
        if not mark(world, world.heap[place].index, len(world.events)):
            return world.heap[place].index
    twice = _in_two_lists(world)
    if twice == HOLDS:
        twice = _kept_twice(world)
    if twice != HOLDS:
        return twice
    _mark_delayed(world)
    for slot in range(len(world.events)):
        if world.marks[slot].found == 0 and not _is_on_thread(world, slot):
            return slot
    return HOLDS


@inner_rule
def _in_two_lists(world: Checked) -> int:
    """Go through all lists of events; the first that is in two, or in the heap, too."""
    twice = mark_list(world, world.context[0].ready)
    if twice == HOLDS:
        twice = mark_list(world, world.context[0].outbox)
    for number in range(len(world.processes)):
        twice = max(twice, mark_list(world, world.processes[number].held))
    for number in range(len(world.links)):
        twice = max(twice, mark_list(world, world.links[number].held))
    for broker in range(len(world.brokers)):
        twice = max(twice, mark_list(world, world.brokers[broker].queue))
    for row in range(len(world.hosted)):
        twice = max(twice, mark_list(world, world.hosted[row].waiting))
    for controller in range(len(world.controllers)):
        twice = max(twice, mark_list(world, world.controllers[controller].queue))
        twice = max(twice, mark_list(world, world.controllers[controller].unsent))
    for place in range(len(world.controller_brokers)):
        twice = max(twice, mark_list(world, world.controller_brokers[place].queue))
    return twice


@inner_rule
def _kept_twice(world: Checked) -> int:
    """Go through all that keep one event; the first that somebody else has, too."""
    twice = HOLDS
    for broker in range(len(world.brokers)):
        twice = max(twice, _keep(world, world.brokers[broker].alter_partition))
    for row in range(len(world.hosted)):
        twice = max(twice, _keep(world, world.hosted[row].writing_request))
    for place in range(len(world.fetch_sessions)):
        twice = max(twice, _keep(world, world.fetch_sessions[place].waiting))
    for controller in range(len(world.controllers)):
        state = world.controllers[controller]
        twice = max(twice, _keep(world, state.listing))
        twice = max(twice, _keep(world, state.log_dir_listing))
        twice = max(twice, _keep(world, state.request))
    for place in range(len(world.controller_brokers)):
        known = world.controller_brokers[place]
        twice = max(twice, _keep(world, known.building))
        twice = max(twice, _keep(world, known.stopping))
    return twice


@inner_rule
def _keep(world: Checked, index: int) -> int:
    if index == NONE or mark(world, index, len(world.events)):
        return HOLDS
    return max(0, index)


@inner_rule
def _mark_delayed(world: Checked) -> None:
    """Note the requests in purgatories; a consumer's fetch is watched by several partitions."""
    for row in range(len(world.hosted)):
        index = world.delayed_fetches[row].first
        while index != NONE:
            world.marks[world.watches[index].event].found = 1
            index = world.watches[index].next
        index = world.delayed_produces[row].first
        while index != NONE:
            world.marks[world.watches[index].event].found = 1
            index = world.watches[index].next


@inner_rule
def _is_on_thread(world: Checked, index: int) -> bool:
    """Whether an event is a request on which a thread of its broker works, or waits for it."""
    event = world.events[index]
    if event.kind == NONE or world.processes[event.destination].role != BROKER:
        return False
    broker = world.brokers[event.destination]
    if not IS_REQUEST[event.kind] or not 0 <= event.thread < broker.num_io_threads:
        return False
    return world.threads[broker.first_thread + event.thread].free_us == NEVER_US


@POOLS.of("context")
def free_entries_are_counted(world: Checked) -> int:
    """Free slots of partition data are chained, and are as many as the count says."""
    clear_marks(world, len(world.items))
    context = world.context[0]
    return HOLDS if mark_chain(world, context.free_item, context.free_items) else 0


@POOLS.of("events")
def chains_are_whole(world: Checked) -> int:
    """An event's chain has as many entries as it counts, its last one last, and all to itself."""
    for index in range(len(world.events)):
        event = world.events[index]
        if event.kind == NONE:
            continue
        if not mark_chain(world, event.first_item, event.item_count):
            return index
        if event.first_item != NONE and (
            not 0 <= event.last_item < len(world.items)
            or world.items[event.last_item].next != NONE
            or world.marks[event.last_item].found == 0
        ):
            return index
    return HOLDS


@POOLS.of("items")
def every_entry_has_one_place(world: Checked) -> int:
    """Each slot of partition data is free, or in the chain of one event or one znode."""
    for number in range(len(world.znodes)):
        node = world.znodes[number]
        if not mark_chain(world, node.first_item, node.item_count):
            return max(0, node.first_item)
    return first_unmarked(world, len(world.items))
