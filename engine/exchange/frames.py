"""Frames: messages between groups of processes that run apart.

One group is the *hub*, the others are *leaves*. A leaf sends the hub the time of its next event and
its messages to processes elsewhere; the hub sends a leaf its horizon, and the messages for it. They
take turns: in each window the hub lets go those groups that have something to do, and waits for
them. A group that has nothing to do is left alone and costs nothing; messages to it wait at the hub
until one of them is due. (An exchange of all with all in each window was tried: six brokers that
are mostly idle took 112 s for 240 virtual seconds, with their two cores at work.)

The time up to which a group may run: the earliest event of any other group plus the least latency
from there to here (``frame_exchange.py``). Its own messages may cause answers before that: then
``links.route`` draws its horizon nearer.

A frame is a list of 64-bit words in the machine's order: a head, then rows as they lie in memory.

=========================  ====================================================================
words                      value
=========================  ====================================================================
``LENGTH``                 of the whole frame, in bytes
``CHECKSUM``               of all other words (``windows.py`` writes and checks it)
``GENERATION``             of the run's actors: a survivor of an earlier one is not listened to
``WINDOW``                 how many frames have gone this way before
``ORDER``                  of the hub: READY, ENDED or STOPPED
``TIME``                   of the hub: the horizon; of a leaf: when its next event is due
``EVENTS``, ``ITEMS``      how many messages there are, and entries of partition data on them
``CHANGES``, ``COMMITS``   ... and changes of metadata (``simulation/metadata_log.py``), and of what
                           groups of consumers commit (``simulation/offset_commits.py``)
=========================  ====================================================================

Then come the rows of events, items, changes and commits, in the order in which they were sent.
Indexes mean nothing to the receiver: chains are laid out in order, and each event has the number of
its own entries. Rows are copied word by word, by one call for all frames of a window that go out
and one for each that comes in.
"""

from tidegauge.compiled.records import Records, dtype_of
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.engine.exchange import frame_exchange
from tidegauge.engine.exchange.system_calls import WORD_BYTES, Word
from tidegauge.simulation import events
from tidegauge.simulation.kernel import HUB, NONE, Kernel, MetadataChange, OffsetCommit
from tidegauge.simulation.messages.event import EventSlot, ItemSlot
from tidegauge.simulation.metadata_log import (
    copy_unsent_changes,
    count_unsent_changes,
    take_changes,
)
from tidegauge.simulation.offset_commits import (
    copy_unsent_commits,
    count_unsent_commits,
    take_commits,
)

# The words of a frame's head.
LENGTH = 0
CHECKSUM = 1
GENERATION = 2
WINDOW = 3
ORDER = 4
TIME = 5
EVENTS = 6
ITEMS = 7
CHANGES = 8
COMMITS = 9
HEAD = code(10)

# The number of words of a row.
_EVENT = code(dtype_of(EventSlot).itemsize // WORD_BYTES)
_ITEM = code(dtype_of(ItemSlot).itemsize // WORD_BYTES)
_CHANGE = code(dtype_of(MetadataChange).itemsize // WORD_BYTES)
_COMMIT = code(dtype_of(OffsetCommit).itemsize // WORD_BYTES)

#: A typed zero, to begin with.
NOTHING = code(0)

# Planning: the hub alone.


@rule
def plan_window(world: Kernel, exchange: frame_exchange.Exchange, end_us: int) -> int:
    """Choose the groups that go on, and set their horizons, none of them later than ``end_us``.

    Returns:
        READY, ENDED or STOPPED; in the last two cases all leaves have to be notified.
    """
    state = exchange.state[0]
    _find_earliest(world, exchange)
    state.order = frame_exchange.READY
    if state.asked_to_stop:
        state.order = frame_exchange.STOPPED
    elif state.earliest_us >= end_us:
        state.order = frame_exchange.ENDED
    for group, other in enumerate(exchange.groups):
        other.horizon_us = _horizon_us(exchange, group, end_us)
        other.goes = (
            state.order != frame_exchange.READY
            or other.earliest_us < other.horizon_us
            or count_unsent_changes(world, group) + count_unsent_commits(world, group) > 0
        )
    if state.order == frame_exchange.READY:
        state.windows += 1
    world.context[0].horizon_us = exchange.groups[HUB].horizon_us
    return state.order


@inner_rule
def _find_earliest(world: Kernel, exchange: frame_exchange.Exchange) -> None:
    """The time of the earliest event of each group, and of all groups."""
    exchange.groups[HUB].next_us = _next_us(world)
    state = exchange.state[0]
    state.earliest_us = frame_exchange.NEVER_US
    for other in exchange.groups:
        other.earliest_us = other.next_us
    index = world.context[0].outbox.first
    while index != NONE:
        event = world.events[index]
        other = exchange.groups[exchange.owners[event.destination].group]
        other.earliest_us = min(other.earliest_us, event.time_us)
        index = event.next
    for group in range(len(exchange.groups)):
        state.earliest_us = min(state.earliest_us, exchange.groups[group].earliest_us)


@inner_rule
def _next_us(world: Kernel) -> int:
    """The time of the next event of this group."""
    context = world.context[0]
    if context.ready.first != NONE:
        return context.time_us
    return world.heap[0].time_us if context.heap_size > 0 else frame_exchange.NEVER_US


@inner_rule
def _horizon_us(exchange: frame_exchange.Exchange, group: int, end_us: int) -> int:
    """Nothing of the other groups can reach a group before this time."""
    horizon_us = end_us
    count = len(exchange.groups)
    for number in range(count):
        if number != group:
            lookahead_us = exchange.lookaheads[number * count + group].value
            horizon_us = min(horizon_us, exchange.groups[number].earliest_us + lookahead_us)
    return horizon_us


# Writing.


@rule
def write_frames(world: Kernel, exchange: frame_exchange.Exchange) -> int:
    """Write a frame for each receiver: a leaf to the hub, the hub to the groups that go on.

    Pending messages to them are forgotten.

    Returns:
        READY; or NO_ROOM, where there is too little for all of them.
    """
    _count_outgoing(world, exchange)
    if not _lay_out(exchange):
        return frame_exchange.NO_ROOM
    for group in range(len(exchange.groups)):
        if exchange.groups[group].words > 0:
            _write_head(world, exchange, group)
    _write_outbox(world, exchange)
    for group in range(len(exchange.groups)):
        if exchange.groups[group].words > 0:
            _write_last(world, exchange, group)
    # Groups that lack these changes are written to: ``plan_window`` lets it go.
    world.context[0].first_unsent_change = world.context[0].metadata_changes
    world.context[0].first_unsent_commit = world.context[0].offset_commits
    return frame_exchange.READY


@inner_rule
def _is_written_to(exchange: frame_exchange.Exchange, group: int) -> bool:
    if exchange.state[0].group == HUB:
        return group != HUB and exchange.groups[group].goes
    return group == HUB


@inner_rule
def _count_outgoing(world: Kernel, exchange: frame_exchange.Exchange) -> None:
    """Counts the events and items for each group that is written to."""
    is_hub = exchange.state[0].group == HUB
    for group, other in enumerate(exchange.groups):
        other.events = 0
        other.items = 0
        other.changes = count_unsent_changes(world, group)
        other.commits = count_unsent_commits(world, group)
    index = world.context[0].outbox.first
    while index != NONE:
        event = world.events[index]
        group = exchange.owners[event.destination].group if is_hub else HUB
        other = exchange.groups[group]
        other.events += 1
        other.items += event.item_count
        index = event.next


@inner_rule
def _lay_out(exchange: frame_exchange.Exchange) -> bool:
    """Give each frame its place; whether there is room for all."""
    words = NOTHING
    fits = True
    for group, other in enumerate(exchange.groups):
        other.first_word = words
        other.words = 0
        if not _is_written_to(exchange, group):
            continue
        other.next_event_word = words + HEAD
        other.next_item_word = other.next_event_word + other.events * _EVENT
        other.words = (
            HEAD
            + other.events * _EVENT
            + other.items * _ITEM
            + other.changes * _CHANGE
            + other.commits * _COMMIT
        )
        words += other.words
        if other.changes > len(exchange.changes) or other.commits > len(exchange.commits):
            fits = False
    exchange.state[0].outgoing_words = words
    return fits and words <= len(exchange.outgoing)


@inner_rule
def _write_head(world: Kernel, exchange: frame_exchange.Exchange, group: int) -> None:
    state = exchange.state[0]
    other = exchange.groups[group]
    words = exchange.outgoing
    first = other.first_word
    words[first + LENGTH].value = other.words * WORD_BYTES
    words[first + GENERATION].value = state.generation
    words[first + WINDOW].value = other.sent
    words[first + ORDER].value = state.order
    words[first + TIME].value = other.horizon_us if state.group == HUB else _next_us(world)
    words[first + EVENTS].value = other.events
    words[first + ITEMS].value = other.items
    words[first + CHANGES].value = other.changes
    words[first + COMMITS].value = other.commits
    other.sent += 1


@inner_rule
def _write_outbox(world: Kernel, exchange: frame_exchange.Exchange) -> None:
    """Copy every message into its group's frame, its chain in order; the others are kept."""
    is_hub = exchange.state[0].group == HUB
    outbox = world.context[0].outbox
    for _ in range(outbox.length):
        event = events.take_first(world, outbox)
        group = exchange.owners[event.destination].group if is_hub else HUB
        other = exchange.groups[group]
        if other.words == 0:
            events.append_event(world, outbox, event)
            continue
        frames = exchange.outgoing
        _copy(exchange.event_words, event.index * _EVENT, frames, other.next_event_word, _EVENT)
        other.next_event_word += _EVENT
        cursor = event.first_item
        while cursor != NONE:
            _copy(exchange.item_words, cursor * _ITEM, frames, other.next_item_word, _ITEM)
            other.next_item_word += _ITEM
            cursor = world.items[cursor].next
        events.free_event(world, event)


@inner_rule
def _write_last(world: Kernel, exchange: frame_exchange.Exchange, group: int) -> None:
    """Behind the items of a frame come changes and commits."""
    other = exchange.groups[group]
    words = other.next_item_word
    copy_unsent_changes(world, group, exchange.changes)
    _copy(exchange.change_words, NOTHING, exchange.outgoing, words, other.changes * _CHANGE)
    words += other.changes * _CHANGE
    copy_unsent_commits(world, group, exchange.commits)
    _copy(exchange.commit_words, NOTHING, exchange.outgoing, words, other.commits * _COMMIT)


@inner_rule
def _copy(source: Records[Word], first: int, to: Records[Word], at: int, words: int) -> None:
    for number in range(words):
        to[at + number].value = source[first + number].value


# Reading.


@rule
def read_frame(world: Kernel, exchange: frame_exchange.Exchange, group: int) -> int:
    """Take over the content of a group's frame.

    Returns:
        The hub's state (READY, ENDED, STOPPED), a leaf's READY; or NO_ROOM, or STRANGE.
    """
    words = exchange.incoming
    other = exchange.groups[group]
    if (
        words[GENERATION].value != exchange.state[0].generation
        or words[WINDOW].value != other.received
    ):
        return frame_exchange.STRANGE
    if _lacks_room(world, exchange):
        return frame_exchange.NO_ROOM
    other.received += 1
    _take_rows(world, exchange)
    if group == HUB:
        world.context[0].horizon_us = words[TIME].value
        if words[ORDER].value == frame_exchange.READY:
            exchange.state[0].windows += 1
        return words[ORDER].value
    other.next_us = words[TIME].value
    return frame_exchange.READY


@inner_rule
def _lacks_room(world: Kernel, exchange: frame_exchange.Exchange) -> bool:
    """Whether the incoming messages would leave less free than a handler may need."""
    context = world.context[0]
    words = exchange.incoming
    free_changes = len(world.metadata_changes) - context.metadata_changes
    free_commits = len(world.offset_commits) - context.offset_commits
    return (
        context.event_slots.free < context.reserve + words[EVENTS].value
        or context.item_slots.free < context.item_reserve + words[ITEMS].value
        or free_changes < context.reserve + words[CHANGES].value
        or free_commits < context.commit_reserve + words[COMMITS].value
        or len(exchange.changes) < words[CHANGES].value
        or len(exchange.commits) < words[COMMITS].value
    )


@inner_rule
def _take_rows(world: Kernel, exchange: frame_exchange.Exchange) -> None:
    """Take the messages of a frame, and its other parts."""
    words = exchange.incoming
    event_word = HEAD
    item_word = event_word + words[EVENTS].value * _EVENT
    for _ in range(words[EVENTS].value):
        item_word = _take_event(world, exchange, event_word, item_word)
        event_word += _EVENT
    changes = words[CHANGES].value
    _copy(words, item_word, exchange.change_words, NOTHING, changes * _CHANGE)
    take_changes(world, exchange.changes, changes)
    item_word += changes * _CHANGE
    commits = words[COMMITS].value
    _copy(words, item_word, exchange.commit_words, NOTHING, commits * _COMMIT)
    take_commits(world, exchange.commits, commits)


@inner_rule
def _take_event(
    world: Kernel, exchange: frame_exchange.Exchange, event_word: int, item_word: int
) -> int:
    """Take a message and its entries; where the entries of the next one begin.

    It waits for its time here; at the hub, if it is for another group, to be sent on.
    """
    context = world.context[0]
    index = events.EVENT_SLOTS.take(world, context.event_slots)
    event = world.events[index]
    _copy(exchange.incoming, event_word, exchange.event_words, index * _EVENT, _EVENT)
    event.index = index
    event.next = NONE
    event.first_item = NONE
    event.last_item = NONE
    for _ in range(event.item_count):
        slot = events.take_item_slot(world, event)
        _copy(exchange.incoming, item_word, exchange.item_words, slot * _ITEM, _ITEM)
        world.items[slot].next = NONE
        item_word += _ITEM
    if world.processes[event.destination].hosted:
        events.push(world, event)
    else:
        events.append_event(world, context.outbox, event)
    return item_word
