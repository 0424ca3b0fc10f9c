"""Pins: messages that a scenario holds, drops or delivers twice, one by one, as no connection does.

A link is FIFO, as the TCP connection that it stands for. A pin breaks that for single messages, to
play one interleaving. It acts at the receiving end of links, on messages that have arrived, so that
their order is the same in any grouping of processes; each receiver counts for itself. Others on the
link pass a message that is held.

A held message is delivered at its release. If its receiver was started again meanwhile, the new
process gets a request (a sender repeats it on a new connection, KIP-380), and no response: that was
for the process that had asked. If the receiver is down by then, the message is refused as any other
is.

The facts of a pin are numbers of :class:`Pin`, set before the run goes on; its state is in
:class:`PinState`, one for each process. The liveness phase releases all messages, and no pin acts
in it.
"""

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import NamedCodes, code, inner_rule
from tidegauge.simulation.events import (
    append_event,
    copy_event,
    free_event,
    items_of,
    stamp,
    take_first,
)
from tidegauge.simulation.kernel import NONE, Kernel, Pin, PinState
from tidegauge.simulation.links import FAULTS, route, send, shortest_latency_us
from tidegauge.simulation.messages.controller_requests import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
)
from tidegauge.simulation.messages.event import Event, EventSlot, PartitionData
from tidegauge.simulation.messages.kinds import IS_RESPONSE, PARTITION_WORD
from tidegauge.simulation.messages.timers import PinKnown, PinRelease
from tidegauge.simulation.rows import caused_by
from tidegauge.simulation.trace_rows.process_rows import (
    MessageDropped,
    MessageDuplicated,
    MessageHeld,
    MessageReleased,
)
from tidegauge.simulation.trace_rows.row import Row

#: Pin.action, by the field of a scenario's pin.
PIN_CODES = NamedCodes()

HOLDS = PIN_CODES.new("hold", 0)
DROPS = PIN_CODES.new("drop", 1)
DUPLICATES = PIN_CODES.new("duplicate", 2)

#: Later than any time, and more than any number of messages.
NEVER = code(2**62)


@inner_rule
def is_taken(world: Kernel, event: Event) -> bool:
    """Whether a pin takes a message that has arrived; each message is looked at once."""
    if event.has_passed_pins or event.source == event.destination or event.relayed_to != NONE:
        return False
    event.has_passed_pins = True
    taker = NONE
    for number in range(len(world.pins)):
        pin = world.pins[number]
        if not _matches(world, pin, event):
            continue
        state = state_of(world, number, event.destination)
        if state.is_over:
            continue
        state.seen += 1
        if taker == NONE and pin.nth <= state.seen < pin.nth + pin.count:
            taker = number
    return taker != NONE and _take(world, taker, event)


@inner_rule
def state_of(world: Kernel, pin: int, process: int) -> PinState:
    """The state of a pin at a receiver."""
    return world.pin_states[pin * world.context[0].process_count + process]


@inner_rule
def _matches(world: Kernel, pin: Pin, event: Event) -> bool:
    context = world.context[0]
    return (
        pin.kind == event.kind
        and pin.first_source <= event.source <= pin.last_source
        and pin.first_destination <= event.destination <= pin.last_destination
        and pin.from_us <= context.time_us < pin.until_us
        and not context.healing
        and (pin.partition == NONE or _is_about(world, event, pin.partition))
    )


@inner_rule
def _is_about(world: Kernel, event: Event, partition: int) -> bool:
    """Whether a message is about a partition, alone or among others."""
    if _partition_of(event) == partition:
        return True
    cursor = event.first_item
    while cursor != NONE:
        entry = view_as(world.items[cursor], PartitionData)
        if entry.partition == partition:
            return True
        cursor = entry.next
    return False


@inner_rule
def _partition_of(event: Event) -> int:
    word = PARTITION_WORD[event.kind]
    return view_as(event, EventSlot).body[word] if word >= 0 else NONE


@inner_rule
def _told_partition(world: Kernel, pin: Pin, event: Event) -> int:
    """The partition in the rows about a message: that of the pin, or the message's only one."""
    if pin.partition != NONE:
        return pin.partition
    if event.item_count == 1:
        return world.items[event.first_item].partition
    return _partition_of(event)


@inner_rule
def _take(world: Kernel, number: int, event: Event) -> bool:
    """Do what a pin does with a message; False: it is delivered now all the same."""
    pin = world.pins[number]
    state_of(world, number, event.destination).taken += 1
    partition = _told_partition(world, pin, event)
    if pin.action == DUPLICATES:
        copy = _second_copy(world, event)
        _take_reason(world, copy, partition)
        MessageDuplicated.write(
            world,
            pin=number,
            message_kind=event.kind,
            from_process=event.source,
            partition=partition,
        )
        _hold(world, number, copy)
        return False
    _take_reason(world, event, partition)
    if pin.action == DROPS:
        MessageDropped.write(
            world,
            pin=number,
            message_kind=event.kind,
            from_process=event.source,
            partition=partition,
        )
        _tell_of_silence(world, number, event)
        free_event(world, event)
        return True
    MessageHeld.write(
        world,
        pin=number,
        message_kind=event.kind,
        from_process=event.source,
        partition=partition,
    )
    _tell_of_silence(world, number, event)
    _hold(world, number, event)
    return True


@inner_rule
def _tell_of_silence(world: Kernel, number: int, event: Event) -> None:
    """Note at both ends that a message has been taken; this is bookkeeping, as with faults."""
    context = world.context[0]
    row_sequence = context.cause_sequence
    _note(world, number, event.destination, event.source, event.destination, row_sequence)
    known = PinKnown.to(world, event.source, pin=number, row_sequence=row_sequence)
    known.time_us = context.time_us + shortest_latency_us(world, event.destination, event.source)
    stamp(world, known)
    route(world, known)


@inner_rule
def _note(
    world: Kernel, number: int, process: int, peer: int, row_process: int, row_sequence: int
) -> None:
    state = state_of(world, number, process)
    state.has_acted = True
    state.acted_us = world.context[0].time_us
    state.peer = peer
    state.row_process = row_process
    state.row_sequence = row_sequence


@FAULTS.handles(PinKnown)
@inner_rule
def handle_known_pin(world: Kernel, event: PinKnown) -> None:
    """Learn that a pin has taken a message of this process."""
    _note(world, event.pin, event.destination, event.source, event.source, event.row_sequence)


@inner_rule
def blame_pin(world: Kernel, row: Row, peer: int, since_us: int) -> None:
    """Set the reason of ``peer``'s silence since ``since_us``, if a pin has taken a message."""
    for number in range(len(world.pins)):
        state = state_of(world, number, row.process)
        is_held = state.held.first != NONE
        if state.has_acted and state.peer == peer and (is_held or state.acted_us >= since_us):
            row.because_process = state.row_process
            row.because_sequence = state.row_sequence


@inner_rule
def _take_reason(world: Kernel, event: Event, partition: int) -> None:
    """Let the reason of a replica's entry be that of the row of the pin, which is its reason then.

    The entries of a LeaderAndIsr have reasons of their own.
    """
    if event.kind == LeaderAndIsrRequest.KIND:
        for item in items_of(world, event, LeaderAndIsrPartition):
            if item.partition == partition:
                caused_by(world, item.row_process, item.row_sequence)
            item.row_process = NONE
            item.row_sequence = NONE


@inner_rule
def _second_copy(world: Kernel, event: Event) -> Event:
    """A message as it has arrived, once more."""
    copy = copy_event(world, event)
    copy.asked_us = event.asked_us
    copy.sequence = event.sequence
    copy.source_rows = event.source_rows
    copy.size_bytes = event.size_bytes
    copy.transfer_us = event.transfer_us
    copy.has_passed_pins = True
    return copy


@inner_rule
def _hold(world: Kernel, number: int, event: Event) -> None:
    """Keep a message until its release; the row about that is its cause from now on."""
    context = world.context[0]
    event.time_us = context.time_us
    event.cause_process = context.cause_process
    event.cause_sequence = context.cause_sequence
    pin = world.pins[number]
    state = state_of(world, number, event.destination)
    append_event(world, state.held, event)
    due_us = min(context.time_us + pin.for_us, pin.until_us)
    if due_us < NEVER:
        PinRelease.at(world, due_us, pin=number, last=state.taken)


@FAULTS.handles(PinRelease)
@inner_rule
def handle_pin_release(world: Kernel, event: PinRelease) -> None:
    """Release the messages that a pin holds, up to one of them."""
    state = state_of(world, event.pin, event.destination)
    state.is_over = state.is_over or event.ends_pin
    while state.held.first != NONE and state.taken - state.held.length < event.last:
        _release(world, event.pin, take_first(world, state.held))


@inner_rule
def _release(world: Kernel, number: int, event: Event) -> None:
    """Deliver a message next, before the heap."""
    context = world.context[0]
    caused_by(world, event.cause_process, event.cause_sequence)
    row = MessageReleased.write(
        world,
        pin=number,
        message_kind=event.kind,
        from_process=event.source,
        partition=_told_partition(world, world.pins[number], event),
        held_us=context.time_us - event.time_us,
    )
    event.cause_process = row.process
    event.cause_sequence = row.sequence
    event.time_us = context.time_us
    event.outlives_restarts = not IS_RESPONSE[event.kind]
    append_event(world, context.ready, event)


@inner_rule
def tell_of_release(world: Kernel, number: int) -> None:
    """End a pin in all processes at which it acts, by messages of the operator."""
    context = world.context[0]
    pin = world.pins[number]
    last = min(pin.last_destination, context.process_count - 1)
    for process in range(pin.first_destination, last + 1):
        if process == context.handling:
            PinRelease.after(world, 1, pin=number, last=NEVER, ends_pin=True)
        else:
            release = PinRelease.to(world, process, pin=number, last=NEVER, ends_pin=True)
            send(world, release, context.time_us)


@inner_rule
def release_all(world: Kernel, process: int) -> None:
    """Release all messages that pins hold in front of a process: the liveness phase begins."""
    for number in range(len(world.pins)):
        held = state_of(world, number, process).held
        while held.first != NONE:
            _release(world, number, take_first(world, held))
