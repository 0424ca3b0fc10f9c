"""Frames: what one group of processes tells another between two windows.

A frame is a list of 64-bit words in the machine's order: a head, then rows as they lie in memory.

=========================  ====================================================================
words                      value
=========================  ====================================================================
``LENGTH``                 of the whole frame, in bytes
``CHECKSUM``               CRC-32 of all that follows (``mesh.py`` writes and checks it)
``GENERATION``             of the run's actors: a survivor of an earlier one is not listened to
``WINDOW``                 how many windows there were before
``STOPS``                  1: the sender has been asked to stop; all do so, at this window
``EVENTS``, ``ITEMS``      how many messages there are, and entries of partition data on them
``CHANGES``, ``COMMITS``   ... and changes of what all brokers are told (``metadata_log.py``), and
                           of what groups of consumers commit (``offset_commits.py``)
one for each group         when the earliest event known to the sender is due there: of its own
                           the next one, of another group the first that it sends there
=========================  ====================================================================

Then come the rows of events, items, changes and commits, in the order in which they were sent.
Indexes mean nothing to the receiver: chains are laid out in order, and each event says how many
entries are its own.

From the earliest events of all groups each reckons by itself how far it may go: up to the
earliest event of any other group plus the least that it takes from there to here
(``lookahead.py``). What it sends itself may come back: ``links.route`` draws the horizon nearer.

One group may sleep: ZooKeeper and the controllers mostly have nothing to do for many windows. The
others know when its next event is due, since they know what they have sent it. Until then they keep
their messages to it, and exchange frames without it; it has sent its next frame, and waits for
theirs.

Rows are copied word by word, by one call for the frames to all groups and one for those from all:
a window costs a few microseconds beside the system calls that carry it.
"""

from __future__ import annotations

from tidegauge.replication.compiled import Tables, code, inner_rule, rule
from tidegauge.replication.records import Record, Records, dtype_of, flag, i64
from tidegauge.simulation.events import append_event, free_event, push, take_first
from tidegauge.simulation.kernel import (
    NONE,
    Event,
    Kernel,
    MetadataChange,
    OffsetCommit,
    PartitionData,
)
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
STOPS = 4
EVENTS = 5
ITEMS = 6
CHANGES = 7
COMMITS = 8
#: The first of the words that there are for each group.
EARLIEST = 9

WORD_BYTES = 8

#: A typed zero, to begin with.
NOTHING = code(0)

#: Later than anything that happens.
NEVER_US = code(2**62)

# How many words a row has.
_EVENT = code(dtype_of(Event).itemsize // WORD_BYTES)
_ITEM = code(dtype_of(PartitionData).itemsize // WORD_BYTES)
_CHANGE = code(dtype_of(MetadataChange).itemsize // WORD_BYTES)
_COMMIT = code(dtype_of(OffsetCommit).itemsize // WORD_BYTES)

# What ``read_frames`` returns.
READY = code(0)  #: there are events before the end: the horizon is set
ENDED = code(1)  #: there are none
STOPPED = code(2)  #: a group has been asked to stop
ROOM = code(3)  #: nothing was taken: tables have to be enlarged first
STRANGE = code(4)  #: nothing was taken: a frame is of another generation or window
WAKES = code(5)  #: frames have to be exchanged once more, with the group that has slept
SLEEPS = code(6)  #: this group has nothing to do until others have sent it frames again


class Word(Record):
    """64 bits of a frame, or of a row."""

    value: i64


class Owner(Record):
    """The group that hosts a process."""

    group: i64


class OtherGroup(Record):
    """What a group keeps of each group, itself among them."""

    #: The least that it takes from there to this group, and to the one that may sleep.
    lookahead_us: i64
    to_sleeper_us: i64
    #: When its earliest event is due that anybody knows of; NEVER_US: there is none.
    earliest_us: i64
    #: The frame to it: where it begins among the words that go out, and how many it has.
    first_word: i64
    words: i64
    #: How many events and items go to it, and the words at which the next of them is written.
    events: i64
    items: i64
    next_event_word: i64
    next_item_word: i64


class ExchangeState(Record):
    """How far a group has come in exchanging frames: one record."""

    #: Its own number.
    group: i64
    generation: i64
    #: Exchanges so far, and those of them in which all took part.
    window: i64
    full_window: i64
    #: The group that may sleep, NONE: no one; and when its first event is due, as it fell asleep.
    sleeper: i64
    sleeper_earliest_us: i64
    asleep: flag
    #: It has been asked to stop, from outside; and somebody was, as of this exchange.
    asked_to_stop: flag
    stops: flag
    #: How many words there are from the beginning of a frame that has come in to that of the next.
    place_words: i64
    #: When the earliest event of all groups is due.
    earliest_us: i64
    #: How many words the frames to all groups need.
    outgoing_words: i64
    #: How many rows go out, or have come in.
    events: i64
    items: i64
    changes: i64
    commits: i64
    #: Whose frame is of another generation or window.
    strange: i64


class Exchange(Tables):
    """What is exchanged. Tables named ``..._words`` are others seen as words: one memory."""

    state: Records[ExchangeState]
    groups: Records[OtherGroup]
    owners: Records[Owner]
    outgoing: Records[Word]
    incoming: Records[Word]
    event_words: Records[Word]
    item_words: Records[Word]
    #: Changes and commits on their way from one table to another.
    changes: Records[MetadataChange]
    change_words: Records[Word]
    commits: Records[OffsetCommit]
    commit_words: Records[Word]


# Writing.


@rule
def write_frames(kernel: Kernel, exchange: Exchange) -> int:
    """Write a frame for each other group, and forget what was to be sent.

    Returns:
        READY; or ROOM, where there is too little for all of them: nothing was done then.
    """
    state = exchange.state[0]
    # What is asked for between writing and reading counts at the next exchange, for all.
    state.stops = state.asked_to_stop
    _count_outgoing(kernel, exchange)
    state.changes = count_unsent_changes(kernel)
    state.commits = count_unsent_commits(kernel)
    if (
        _lay_out(exchange) > len(exchange.outgoing)
        or state.changes > len(exchange.changes)
        or state.commits > len(exchange.commits)
    ):
        return ROOM
    for group in range(len(exchange.groups)):
        if exchange.groups[group].words > 0:
            _write_head(exchange, group)
    _write_outbox(kernel, exchange)
    copy_unsent_changes(kernel, exchange.changes)
    copy_unsent_commits(kernel, exchange.commits)
    for group in range(len(exchange.groups)):
        if exchange.groups[group].words > 0:
            _write_last(exchange, exchange.groups[group])
    return READY


@inner_rule
def _count_outgoing(kernel: Kernel, exchange: Exchange) -> None:
    """How much goes to each group, and when the first of it arrives there."""
    for group in range(len(exchange.groups)):
        other = exchange.groups[group]
        other.events = 0
        other.items = 0
        other.earliest_us = NEVER_US
    context = kernel.context[0]
    state = exchange.state[0]
    if state.asleep:
        exchange.groups[state.sleeper].earliest_us = state.sleeper_earliest_us
    own = exchange.groups[state.group]
    if context.ready.first != NONE:
        own.earliest_us = context.time_us
    elif context.heap_size > 0:
        own.earliest_us = kernel.heap[0].time_us
    index = context.outbox.first
    while index != NONE:
        event = kernel.events[index]
        other = exchange.groups[exchange.owners[event.destination].group]
        other.events += 1
        other.items += event.item_count
        other.earliest_us = min(other.earliest_us, event.time_us)
        index = event.next


@inner_rule
def _lay_out(exchange: Exchange) -> int:
    """Give each frame its place; how many words they have in all."""
    state = exchange.state[0]
    head = EARLIEST + len(exchange.groups)
    words = NOTHING
    for group in range(len(exchange.groups)):
        other = exchange.groups[group]
        other.first_word = words
        other.words = 0
        if group == state.group or (state.asleep and group == state.sleeper):
            continue
        other.next_event_word = words + head
        other.next_item_word = other.next_event_word + other.events * _EVENT
        other.words = (
            head
            + other.events * _EVENT
            + other.items * _ITEM
            + state.changes * _CHANGE
            + state.commits * _COMMIT
        )
        words += other.words
    state.outgoing_words = words
    return words


@inner_rule
def _write_head(exchange: Exchange, group: int) -> None:
    state = exchange.state[0]
    other = exchange.groups[group]
    words = exchange.outgoing
    first = other.first_word
    words[first + LENGTH].value = other.words * WORD_BYTES
    words[first + CHECKSUM].value = 0
    words[first + GENERATION].value = state.generation
    words[first + WINDOW].value = _window(state, group)
    words[first + STOPS].value = 1 if state.stops else 0
    words[first + EVENTS].value = other.events
    words[first + ITEMS].value = other.items
    words[first + CHANGES].value = state.changes
    words[first + COMMITS].value = state.commits
    for number in range(len(exchange.groups)):
        words[first + EARLIEST + number].value = exchange.groups[number].earliest_us


@inner_rule
def _window(state: ExchangeState, other: int) -> int:
    """The number of this exchange, as another group counts them together with this one."""
    if state.sleeper == state.group or state.sleeper == other:
        return state.full_window
    return state.window


@inner_rule
def _write_outbox(kernel: Kernel, exchange: Exchange) -> None:
    """Copy every message into its group's frame, its chain in order, unless that group sleeps."""
    outbox = kernel.context[0].outbox
    for _ in range(outbox.length):
        event = take_first(kernel, outbox)
        other = exchange.groups[exchange.owners[event.destination].group]
        if other.words == 0:
            append_event(kernel, outbox, event)
            continue
        frames = exchange.outgoing
        _copy(exchange.event_words, event.index * _EVENT, frames, other.next_event_word, _EVENT)
        other.next_event_word += _EVENT
        cursor = event.first_item
        while cursor != NONE:
            _copy(exchange.item_words, cursor * _ITEM, frames, other.next_item_word, _ITEM)
            other.next_item_word += _ITEM
            cursor = kernel.items[cursor].next
        free_event(kernel, event)


@inner_rule
def _write_last(exchange: Exchange, other: OtherGroup) -> None:
    """Behind the items of a frame come changes and commits, the same for all groups."""
    state = exchange.state[0]
    words = other.next_item_word
    _copy(exchange.change_words, NOTHING, exchange.outgoing, words, state.changes * _CHANGE)
    words += state.changes * _CHANGE
    _copy(exchange.commit_words, NOTHING, exchange.outgoing, words, state.commits * _COMMIT)


@inner_rule
def _copy(source: Records[Word], first: int, to: Records[Word], at: int, words: int) -> None:
    for number in range(words):
        to[at + number].value = source[first + number].value


# Reading.


@rule
def read_frames(kernel: Kernel, exchange: Exchange, end_us: int) -> int:
    """Take over what the frames of all other groups bring, and set the horizon.

    It is not later than ``end_us``.

    Returns:
        What comes next: READY or one of the others above.
    """
    state = exchange.state[0]
    state.strange = _strange_one(exchange)
    if state.strange != NONE:
        return STRANGE
    _add_up(exchange)
    if _lacks_room(kernel, exchange):
        return ROOM
    for place in range(len(exchange.groups) - 1):
        if _takes_part(state, place):
            _take_rows(kernel, exchange, place * state.place_words)
    state.window += 1
    if not state.asleep:
        state.full_window += 1
    _set_horizon(kernel, exchange, end_us)
    return _outcome(exchange, end_us)


@inner_rule
def _outcome(exchange: Exchange, end_us: int) -> int:
    """What comes next: the same in all groups that have exchanged frames."""
    state = exchange.state[0]
    over = _over(state, end_us)
    is_due = state.sleeper == NONE or _is_due(exchange, state.sleeper)
    if state.asleep:
        if is_due or over != READY:
            state.asleep = False
            return WAKES
    elif over != READY:
        return over
    elif not is_due:
        if state.sleeper == state.group:
            return SLEEPS
        state.asleep = True
        state.sleeper_earliest_us = exchange.groups[state.sleeper].earliest_us
    return READY


@inner_rule
def _over(state: ExchangeState, end_us: int) -> int:
    """READY: there is something to do; else why not."""
    if state.stops:
        return STOPPED
    return ENDED if state.earliest_us >= end_us else READY


@inner_rule
def _is_due(exchange: Exchange, group: int) -> bool:
    """Whether a group has something to do before anything new can reach it."""
    due_us = exchange.groups[group].earliest_us
    for number in range(len(exchange.groups)):
        if number != group:
            other = exchange.groups[number]
            if due_us >= other.earliest_us + other.to_sleeper_us:
                return False
    return True


@inner_rule
def _group_at(state: ExchangeState, place: int) -> int:
    """Whose frames come in at a place: this group itself has none."""
    return place if place < state.group else place + 1


@inner_rule
def _takes_part(state: ExchangeState, place: int) -> bool:
    return not state.asleep or _group_at(state, place) != state.sleeper


@inner_rule
def _strange_one(exchange: Exchange) -> int:
    """The first group whose frame is not that of this window; NONE: there is none."""
    state = exchange.state[0]
    for place in range(len(exchange.groups) - 1):
        first = place * state.place_words
        group = _group_at(state, place)
        if _takes_part(state, place) and (
            exchange.incoming[first + GENERATION].value != state.generation
            or exchange.incoming[first + WINDOW].value != _window(state, group)
        ):
            return group
    return NONE


@inner_rule
def _add_up(exchange: Exchange) -> None:
    """How much has come in, when the earliest events are, and whether somebody wants to stop."""
    state = exchange.state[0]
    state.events = 0
    state.items = 0
    state.changes = 0
    state.commits = 0
    for place in range(len(exchange.groups) - 1):
        if not _takes_part(state, place):
            continue
        words = exchange.incoming
        first = place * state.place_words
        state.stops = state.stops or words[first + STOPS].value == 1
        state.events += words[first + EVENTS].value
        state.items += words[first + ITEMS].value
        state.changes += words[first + CHANGES].value
        state.commits += words[first + COMMITS].value
        for number in range(len(exchange.groups)):
            other = exchange.groups[number]
            other.earliest_us = min(other.earliest_us, words[first + EARLIEST + number].value)


@inner_rule
def _lacks_room(kernel: Kernel, exchange: Exchange) -> bool:
    """Whether what comes in would leave less free than a handler may need."""
    context = kernel.context[0]
    state = exchange.state[0]
    return (
        context.free_events < context.reserve + state.events
        or context.free_items < context.item_reserve + state.items
        or len(kernel.metadata_changes) - context.metadata_changes < context.reserve + state.changes
        or len(kernel.offset_commits) - context.offset_commits
        < context.commit_reserve + state.commits
        or len(exchange.changes) < state.changes
        or len(exchange.commits) < state.commits
    )


@inner_rule
def _take_rows(kernel: Kernel, exchange: Exchange, first: int) -> None:
    """Let the messages of a frame wait for their time, and note what else it tells."""
    words = exchange.incoming
    event_word = first + EARLIEST + len(exchange.groups)
    item_word = event_word + words[first + EVENTS].value * _EVENT
    for _ in range(words[first + EVENTS].value):
        item_word = _take_event(kernel, exchange, event_word, item_word)
        event_word += _EVENT
    changes = words[first + CHANGES].value
    _copy(words, item_word, exchange.change_words, NOTHING, changes * _CHANGE)
    take_changes(kernel, exchange.changes, changes)
    item_word += changes * _CHANGE
    commits = words[first + COMMITS].value
    _copy(words, item_word, exchange.commit_words, NOTHING, commits * _COMMIT)
    take_commits(kernel, exchange.commits, commits)


@inner_rule
def _take_event(kernel: Kernel, exchange: Exchange, event_word: int, item_word: int) -> int:
    """Take a message and its entries; where the entries of the next one begin."""
    context = kernel.context[0]
    index = context.free_event
    event = kernel.events[index]
    context.free_event = event.next
    context.free_events -= 1
    _copy(exchange.incoming, event_word, exchange.event_words, index * _EVENT, _EVENT)
    event.index = index
    event.next = NONE
    event.first_item = NONE
    event.last_item = NONE
    for _ in range(event.item_count):
        slot = context.free_item
        item = kernel.items[slot]
        context.free_item = item.next
        context.free_items -= 1
        _copy(exchange.incoming, item_word, exchange.item_words, slot * _ITEM, _ITEM)
        item_word += _ITEM
        item.next = NONE
        if event.last_item == NONE:
            event.first_item = slot
        else:
            kernel.items[event.last_item].next = slot
        event.last_item = slot
    push(kernel, event)
    return item_word


@inner_rule
def _set_horizon(kernel: Kernel, exchange: Exchange, end_us: int) -> None:
    """How far this group may go: nothing of the others can reach it before."""
    state = exchange.state[0]
    state.earliest_us = NEVER_US
    horizon_us = end_us
    for number in range(len(exchange.groups)):
        other = exchange.groups[number]
        state.earliest_us = min(state.earliest_us, other.earliest_us)
        if number != state.group:
            horizon_us = min(horizon_us, other.earliest_us + other.lookahead_us)
    kernel.context[0].horizon_us = horizon_us
