"""Messages between groups of processes that run apart, as rows in rings.

There is a ring for each direction between two groups (``shared_memory.py``). Rows lie in it one
behind the other, each in one piece, as they lie in the sender's tables: to send a message is to
copy it once, and to take it is to copy it once more. The first word of a row is its kind and its
length.

===========  ===================================================================================
row          content
===========  ===================================================================================
``EVENT``    a message, without the room behind the fields of its kind; its entries follow
``ITEM``     one of its entries, likewise if it is one of very many
``CHANGE``   a change of metadata of this group's controller (``simulation/metadata_log.py``)
``COMMIT``   a commit of this group's coordinators (``simulation/offset_commits.py``)
``ROWS``     how many rows a broker of this group has that has fetches which are computed
``PROMISE``  to another machine: the sender's promise (``promises.py``)
``TALLY``    if groups are on several machines: the sender's next event, its messages sent and taken
``PADDING``  nothing: the next row begins at the beginning of the ring
===========  ===================================================================================

Indexes mean nothing to the receiver: an event has the number of its entries, and they come in the
order of its chain. Changes and commits come before messages that rest on them.

A ring that is full delays what is still to be sent, and its sender goes on taking: two groups never
wait for each other's room. A message may be longer than a ring: its rows go as the room allows.

Between machines the rings of the two ends are filled and emptied through a socket.
"""

from tidegauge.compiled.records import dtype_of
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.engine.exchange import state as exchanged
from tidegauge.engine.exchange.atomic_words import (
    address_of,
    copy_words,
    load_word,
    lower_word,
    store_word,
)
from tidegauge.engine.exchange.shared_memory import ARRIVING, CONTENT, READ, WORD_BYTES, WRITTEN
from tidegauge.engine.exchange.system_calls import receive_bytes, send_bytes
from tidegauge.simulation import events
from tidegauge.simulation.kernel import (
    MARKS_OF_EVENT,
    NONE,
    Kernel,
    MetadataChange,
    OffsetCommit,
    RowMark,
)
from tidegauge.simulation.messages.client_requests import MetadataResponse, PartitionLeader
from tidegauge.simulation.messages.event import KINDS, Event, ItemSlot
from tidegauge.simulation.messages.kinds import KINDS as KIND_COUNT
from tidegauge.simulation.metadata_log import take_change
from tidegauge.simulation.offset_commits import take_commit

EVENT = code(1)
ITEM = code(2)
CHANGE = code(3)
COMMIT = code(4)
PROMISE = code(5)
PADDING = code(6)
TALLY = code(7)
ROWS = code(8)
#: In the first word, the kind is in the lowest bits, the length in words above them.
KIND_BITS = code(8)

_WORD = code(WORD_BYTES)
_CHANGE_WORDS = code(dtype_of(MetadataChange).itemsize // WORD_BYTES)
_MARK_WORDS = code(dtype_of(RowMark).itemsize // WORD_BYTES)
_COMMIT_WORDS = code(dtype_of(OffsetCommit).itemsize // WORD_BYTES)

#: The words of an event of each kind.
_WORDS_OF_KIND = tuple(
    dtype_of(KINDS[kind]).itemsize // WORD_BYTES if kind in KINDS else 0
    for kind in range(KIND_COUNT)
)

#: The words of their entries. A metadata response can have one for each change of a partition: they
#: go without the room behind their fields.
_WORDS_OF_ITEM = tuple(
    dtype_of(PartitionLeader if kind == MetadataResponse.KIND else ItemSlot).itemsize // WORD_BYTES
    for kind in range(KIND_COUNT)
)


# Sending.


@inner_rule
def has_news(world: Kernel) -> bool:
    """Whether the group has something to send."""
    return bool(world.context[0].outbox.first != NONE) or _has_log_entries(world)


@inner_rule
def _has_log_entries(world: Kernel) -> bool:
    """Whether there are changes of metadata, or commits, that some group has not been sent."""
    context = world.context[0]
    return (
        context.first_unsent_change != context.metadata_changes
        or (context.idles_across and context.first_unsent_mark != context.row_marks)
        or context.first_unsent_commit != context.offset_commits
    )


@rule
def send_news(world: Kernel, exchange: exchanged.Exchange) -> None:
    """Send all that the group has to send, as far as there is room; the rest stays."""
    context = world.context[0]
    state = exchange.state[0]
    state.is_blocked = False
    if _has_log_entries(world):
        _send_log_entries(world, exchange)
    for _ in range(context.outbox.length):
        event = events.take_first(world, context.outbox)
        other = exchange.groups[exchange.owners[event.destination].group]
        is_next = other.sending in (NONE, event.index) and not other.lacks_news
        if is_next and _write_event(world, other, event):
            store_word(other.outbox + WRITTEN, other.written)
            if other.promise != 0:
                lower_word(other.promise + ARRIVING, event.time_us)
            other.sent_messages += 1
            events.free_event(world, event)
        else:
            store_word(other.outbox + WRITTEN, other.written)
            events.append_event(world, context.outbox, event)
            state.is_blocked = True
    if state.is_blocked:
        # What is in rings to other machines makes room once it is sent.
        for other in exchange.groups:
            if other.descriptor >= 0:
                send_written(other)


@inner_rule
def _send_log_entries(world: Kernel, exchange: exchanged.Exchange) -> None:
    """Send changes of metadata and commits to all groups."""
    context = world.context[0]
    context.first_unsent_change = context.metadata_changes
    context.first_unsent_commit = context.offset_commits
    first_mark = context.first_unsent_mark
    context.first_unsent_mark = context.row_marks
    for other in exchange.groups:
        if other.outbox == 0:
            continue
        if not other.lacks_news:
            other.next_mark = first_mark
        other.lacks_news = not (
            _write_changes(world, other)
            and _write_commits(world, other)
            and _write_marks(world, other)
        )
        store_word(other.outbox + WRITTEN, other.written)
        if other.lacks_news:
            exchange.state[0].is_blocked = True
            context.first_unsent_change = min(context.first_unsent_change, other.next_change)
            context.first_unsent_commit = min(context.first_unsent_commit, other.next_commit)
            context.first_unsent_mark = min(context.first_unsent_mark, other.next_mark)


@inner_rule
def _write_changes(world: Kernel, other: exchanged.OtherGroup) -> bool:
    """Write the changes that a group has not been sent; whether there was room for all."""
    context = world.context[0]
    while other.next_change < context.metadata_changes:
        if world.metadata_changes[other.next_change].group == context.group:
            change = address_of(world.metadata_changes, other.next_change)
            if not _write_row(other, CHANGE, change, _CHANGE_WORDS):
                return False
        other.next_change += 1
    return True


@inner_rule
def _write_commits(world: Kernel, other: exchanged.OtherGroup) -> bool:
    """Write the commits that a group has not been sent; whether there was room for all."""
    context = world.context[0]
    while other.next_commit < context.offset_commits:
        if world.offset_commits[other.next_commit].group == context.group:
            commit = address_of(world.offset_commits, other.next_commit)
            if not _write_row(other, COMMIT, commit, _COMMIT_WORDS):
                return False
        other.next_commit += 1
    return True


@inner_rule
def _write_marks(world: Kernel, other: exchanged.OtherGroup) -> bool:
    """Write how many rows brokers have, where fetches of them are computed; whether all fit."""
    context = world.context[0]
    while context.idles_across and other.next_mark < context.row_marks:
        mark = world.row_marks[other.next_mark]
        if world.processes[mark.process].hosted:
            mark.rows_after = world.processes[mark.process].rows
            at = address_of(world.row_marks, other.next_mark)
            if not _write_row(other, ROWS, at, _MARK_WORDS):
                return False
        other.next_mark += 1
    return True


@inner_rule
def _write_event(world: Kernel, other: exchanged.OtherGroup, event: Event) -> bool:
    """Write a message, or the rest of it; whether there was room for all."""
    if other.sending == NONE:
        words = _WORDS_OF_KIND[event.kind]
        if not _write_row(other, EVENT, address_of(world.events, event.index), words):
            return False
        other.sending = event.index
        other.cursor = event.first_item
    words = _WORDS_OF_ITEM[event.kind]
    while other.cursor != NONE:
        if not _write_row(other, ITEM, address_of(world.items, other.cursor), words):
            return False
        other.cursor = world.items[other.cursor].next
    other.sending = NONE
    return True


@inner_rule
def write_promise(other: exchanged.OtherGroup, time_us: int) -> None:
    """Write a promise to a group on another machine, if there is room."""
    at = _begin_row(other, PROMISE, 1)
    if at != 0:
        store_word(at, time_us)
        store_word(other.outbox + WRITTEN, other.written)
        other.promised_us = time_us


@inner_rule
def write_tally(exchange: exchanged.Exchange, other: exchanged.OtherGroup) -> bool:
    """Write this group's tally to another one; whether there was room."""
    state = exchange.state[0]
    count = len(exchange.groups)
    at = _begin_row(other, TALLY, 1 + 2 * count)
    if at == 0:
        return False
    store_word(at, state.tallied_us)
    for number, each in enumerate(exchange.groups):
        store_word(at + (1 + number) * _WORD, each.sent_messages)
        store_word(at + (1 + count + number) * _WORD, each.taken_messages)
    store_word(other.outbox + WRITTEN, other.written)
    return True


@inner_rule
def _write_row(other: exchanged.OtherGroup, kind: int, content: int, words: int) -> bool:
    """Write a row with so many words from an address; whether there was room."""
    at = _begin_row(other, kind, words)
    if at != 0:
        copy_words(at, content, words)
    return at != 0


@inner_rule
def _begin_row(other: exchanged.OtherGroup, kind: int, words: int) -> int:
    """The address for the content of a new row, of so many words; 0: there is no room."""
    size = other.ring_words
    place = other.written & (size - 1)
    padding = size - place if place + words + 1 > size else 0
    if other.written + padding + words + 1 > other.room_until:
        other.room_until = load_word(other.outbox + READ) + size
        if other.written + padding + words + 1 > other.room_until:
            return 0
    at = other.outbox + CONTENT + place * _WORD
    if padding > 0:
        store_word(at, PADDING | padding << KIND_BITS)
        at = other.outbox + CONTENT
    store_word(at, kind | (words + 1) << KIND_BITS)
    other.written += padding + words + 1
    return at + _WORD


# Taking.


@rule
def take_news(world: Kernel, exchange: exchanged.Exchange) -> int:
    """Take all rows that have come in.

    Returns:
        READY; NO_ROOM, STRANGE or BROKEN, and then ``ExchangeState.peer`` is their sender.
    """
    said = exchanged.READY
    for group, other in enumerate(exchange.groups):
        if other.inbox == 0:
            continue
        written = load_word(other.inbox + WRITTEN)
        if written > other.read:
            said = _take_rows(world, exchange, group, written)
            store_word(other.inbox + READ, other.read)
        if said == exchanged.READY and other.has_ended:
            said = exchanged.BROKEN
        if said != exchanged.READY:
            exchange.state[0].peer = group
            return said
    return said


@inner_rule
def _take_rows(world: Kernel, exchange: exchanged.Exchange, group: int, written: int) -> int:
    """Take the rows of a group up to a word; READY, NO_ROOM or STRANGE."""
    other = exchange.groups[group]
    mask = other.ring_words - 1
    while other.read < written:
        at = other.inbox + CONTENT + (other.read & mask) * _WORD
        first = load_word(at)
        words = first >> KIND_BITS
        if words < 1 or words > other.ring_words:
            return exchanged.STRANGE
        if other.read + words > written:
            # The rest of it is still on its way from another machine.
            return exchanged.READY if other.descriptor >= 0 else exchanged.STRANGE
        kind = first & ((1 << KIND_BITS) - 1)
        if kind == TALLY and words == 2 + 2 * len(exchange.groups):
            said = _take_tally(exchange, group, at + _WORD)
        else:
            said = _take_row(world, other, kind, at + _WORD, words - 1)
        if said != exchanged.READY:
            return said
        other.read += words
    return exchanged.READY


@inner_rule
def _take_tally(exchange: exchanged.Exchange, group: int, content: int) -> int:
    """Take a group's tally; READY."""
    count = len(exchange.groups)
    exchange.groups[group].tallied_us = load_word(content)
    for number in range(count):
        exchange.ways[group * count + number].sent = load_word(content + (1 + number) * _WORD)
        exchange.ways[number * count + group].taken = load_word(
            content + (1 + count + number) * _WORD
        )
    return exchanged.READY


@inner_rule
def _take_row(
    world: Kernel, other: exchanged.OtherGroup, kind: int, content: int, words: int
) -> int:
    """Take a row, if what handlers may need stays free; READY, NO_ROOM or STRANGE."""
    context = world.context[0]
    if kind == PROMISE:
        other.next_us = max(other.next_us, load_word(content))
    elif kind == ROWS:
        if len(world.row_marks) - context.row_marks <= MARKS_OF_EVENT:
            return exchanged.NO_ROOM
        _take_mark(world, content)
    elif kind in (EVENT, ITEM, CHANGE, COMMIT):
        if kind == ITEM and other.missing_items == 0:
            return exchanged.STRANGE
        if not _has_room(world, kind):
            return exchanged.NO_ROOM
        if kind == EVENT:
            _take_event(world, other, content, words)
        elif kind == ITEM:
            _take_item(world, other, content, words)
        else:
            _take_log_entry(world, kind, content, words)
    elif kind != PADDING:
        return exchanged.STRANGE
    return exchanged.READY


@inner_rule
def _has_room(world: Kernel, kind: int) -> bool:
    """Whether a row of a kind can be taken, and what handlers may need is still free then."""
    context = world.context[0]
    if kind == EVENT:
        return bool(context.event_slots.free > context.reserve)
    if kind == ITEM:
        return bool(context.item_slots.free > context.item_reserve)
    if kind == CHANGE:
        return len(world.metadata_changes) - context.metadata_changes > context.reserve
    return len(world.offset_commits) - context.offset_commits > context.commit_reserve


@inner_rule
def _take_log_entry(world: Kernel, kind: int, content: int, words: int) -> None:
    """Take a change of metadata, or a commit."""
    context = world.context[0]
    if kind == CHANGE:
        copy_words(address_of(world.metadata_changes, context.metadata_changes), content, words)
        take_change(world)
    else:
        copy_words(address_of(world.offset_commits, context.offset_commits), content, words)
        take_commit(world)


@inner_rule
def _take_mark(world: Kernel, content: int) -> None:
    """Take the rows that a broker of another group has from an event on."""
    context = world.context[0]
    copy_words(address_of(world.row_marks, context.row_marks), content, _MARK_WORDS)
    mark = world.row_marks[context.row_marks]
    process = world.processes[mark.process]
    mark.previous = process.last_mark
    process.last_mark = context.row_marks
    process.rows = mark.rows_after
    if context.first_unsent_mark == context.row_marks:
        context.first_unsent_mark += 1
    context.row_marks += 1


@inner_rule
def _take_event(world: Kernel, other: exchanged.OtherGroup, content: int, words: int) -> None:
    """Take a message; it waits for its time once its entries are here."""
    index = events.EVENT_SLOTS.take(world, world.context[0].event_slots)
    copy_words(address_of(world.events, index), content, words)
    event = world.events[index]
    event.index = index
    event.next = NONE
    event.first_item = NONE
    event.last_item = NONE
    other.receiving = index
    other.missing_items = event.item_count
    _push_if_whole(world, other, event)


@inner_rule
def _take_item(world: Kernel, other: exchanged.OtherGroup, content: int, words: int) -> None:
    """Take an entry of the message that came last."""
    event = world.events[other.receiving]
    slot = events.take_item_slot(world, event)
    copy_words(address_of(world.items, slot), content, words)
    world.items[slot].next = NONE
    other.missing_items -= 1
    _push_if_whole(world, other, event)


@inner_rule
def _push_if_whole(world: Kernel, other: exchanged.OtherGroup, event: Event) -> None:
    """Let a message wait for its time, once all of its entries are here."""
    if other.missing_items == 0:
        other.taken_messages += 1
        events.push(world, event)


# To and from another machine.


@inner_rule
def send_written(other: exchanged.OtherGroup) -> bool:
    """Send a group on another machine what is written, as far as it goes; whether all is sent."""
    sent = load_word(other.outbox + READ)
    while sent < other.written:
        # Up to the end of the ring.
        place = sent & (other.ring_words - 1)
        words = min(other.written - sent, other.ring_words - place)
        count = send_bytes(
            other.descriptor,
            other.outbox + CONTENT + place * _WORD + other.sent_bytes,
            words * _WORD - other.sent_bytes,
        )
        if count <= 0:
            return False
        other.sent_bytes += count
        sent += other.sent_bytes // _WORD
        other.sent_bytes %= _WORD
        store_word(other.outbox + READ, sent)
    return True


def unsent_groups(exchange: exchanged.Exchange) -> list[int]:
    """The groups on other machines for which words wait to be sent."""
    return [
        group
        for group, other in enumerate(exchange.groups)
        if other.descriptor >= 0 and load_word(other.outbox + READ) < other.written
    ]


@inner_rule
def has_rows(other: exchanged.OtherGroup) -> bool:
    """Whether there is something to take, or the other end of the socket has closed it."""
    if other.descriptor >= 0:
        _receive(other)
    return other.has_ended or load_word(other.inbox + WRITTEN) != other.read


@inner_rule
def _receive(other: exchanged.OtherGroup) -> None:
    """Receive what has come from another machine, as far as there is room."""
    written = load_word(other.inbox + WRITTEN)
    while written - other.read < other.ring_words:
        place = written & (other.ring_words - 1)
        words = min(other.ring_words - (written - other.read), other.ring_words - place)
        count = receive_bytes(
            other.descriptor,
            other.inbox + CONTENT + place * _WORD + other.received_bytes,
            words * _WORD - other.received_bytes,
        )
        if count <= 0:
            other.has_ended = count == 0
            return
        other.received_bytes += count
        written += other.received_bytes // _WORD
        other.received_bytes %= _WORD
        store_word(other.inbox + WRITTEN, written)
