"""The kernel as it runs: the loop, which brings each event to the door of its process's room.

An event is taken, brought to its process, handled, and the next one taken, until the horizon
is reached. A group that is linked to others sends them its messages after each event, and its
horizon moves as they go on. The driver is wanted to drain rows, to enlarge tables, to show
progress, to wait for others.
"""

from tidegauge.actors.broker import close_broker
from tidegauge.actors.idle_fetches.across import take_news
from tidegauge.actors.idle_fetches.pairs import look_ahead, make_room_for_marks, wake_all
from tidegauge.actors.process.lifecycle import start
from tidegauge.clients.client import stop_client
from tidegauge.clients.stalls import close_client
from tidegauge.compiled.prefetching import prefetch
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rule_calls import call_rule
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.engine.doors import World
from tidegauge.engine.exchange.atomic_words import cycle_count
from tidegauge.engine.exchange.promises import hand_on
from tidegauge.engine.exchange.state import READY, REPORTS, Exchange
from tidegauge.engine.exchange.system_calls import clock_ns, thread_cpu_ns
from tidegauge.engine.exchange.windows import go_to_next_run
from tidegauge.simulation.events import free_event, items_of, pop, take_first
from tidegauge.simulation.faults import handle_fault, refuse
from tidegauge.simulation.kernel import BROKER, CLIENT, MARKS_OF_EVENT, NONE, RACK_LINK, Kernel
from tidegauge.simulation.links import FAULTS, arrives, waits_in_process
from tidegauge.simulation.messages.client_requests import (
    ProducedBatch,
    ProduceRequest,
    ProduceResponse,
)
from tidegauge.simulation.messages.event import Event, EventSlot
from tidegauge.simulation.messages.idle_fetches import OTHER_END
from tidegauge.simulation.messages.kinds import ERROR_WORD, IS_UNHELD, OFFSET_WORD, PARTITION_WORD
from tidegauge.simulation.messages.timers import FaultBegin, FaultChange, FaultEnd
from tidegauge.simulation.pins import is_taken, release_all
from tidegauge.simulation.rows import traces_all
from tidegauge.simulation.trace_rows.codes import REASON_END
from tidegauge.simulation.trace_rows.detail_rows import Message
from tidegauge.simulation.transfers import waits_for_network_thread

# Why the loop returns, if it is not for one of the reasons in ``exchange/state.py``.
HORIZON = code(20)  #: no event is due before the horizon, and the group has no links
BUDGET = code(21)  #: it has handled as many as it was asked to
ROOM = code(22)  #: tables have to be enlarged, or rows drained
FILES = code(23)  #: checkpoints have to be written to files, or read from them


@rule
def run_windows(world: World, exchange: Exchange, budget: int) -> int:
    """Handle events, and if there are links wait for a later horizon; why it returns.

    Between two waits it handles at most ``budget`` events before it returns.
    """
    state = exchange.state[0]
    begun_ns = thread_cpu_ns(exchange.clock)
    ticks, now_ns = cycle_count(), clock_ns(exchange.clock)
    why = READY
    while why == READY:
        if state.runs or not state.linked:
            state.in_kernel = True
            why = run_until(world, exchange, budget)
            state.in_kernel = False
            if why != HORIZON or not state.linked:
                break
            state.runs = False
            if state.report_wanted:
                why = REPORTS
                break
        why = go_to_next_run(world, exchange)
    state.cpu_ns += thread_cpu_ns(exchange.clock) - begun_ns
    state.ticks += cycle_count() - ticks
    state.clock_ns += clock_ns(exchange.clock) - now_ns
    return why


@inner_rule
def run_until(world: World, exchange: Exchange, budget: int) -> int:
    """Handle events earlier than the horizon, at most ``budget`` of them; why it returns."""
    context = world.context[0]
    is_linked = exchange.state[0].linked
    for _ in range(budget):
        if needs_room(world):
            return ROOM
        if context.files_due:
            return FILES
        if context.row_marks >= len(world.row_marks) - MARKS_OF_EVENT:
            make_room_for_marks(world)
        if context.ready.first != NONE:
            event = take_first(world, context.ready)
        elif _is_due(world):
            event = pop(world)
        else:
            if is_linked:
                # A look ahead may have woken fetches from another group.
                hand_on(world, exchange)
            return HORIZON
        context.handled += 1
        world.kind_counts[event.kind].handled += 1
        if context.loads_ahead:
            _expect_next(world)
        _deliver(world, event)
        if is_linked:
            hand_on(world, exchange)
    return BUDGET


@rule
def next_due(world: World, exchange: Exchange) -> int:
    """The place in ``events`` of the event that is handled next; NONE: none before the horizon."""
    context = world.context[0]
    if context.ready.first != NONE:
        return context.ready.first
    if _is_due(world):
        return world.heap[0].index
    if exchange.state[0].linked:
        # As at the end of a run.
        hand_on(world, exchange)
    return NONE


@inner_rule
def _is_due(world: World) -> bool:
    """Whether an event is due before the horizon; idle fetches are known up to it."""
    context = world.context[0]
    while True:
        next_us = context.horizon_us
        if context.heap_size > 0:
            next_us = min(next_us, world.heap[0].time_us)
        if next_us < context.look_ahead_us or context.look_ahead_us >= context.horizon_us:
            return next_us < context.horizon_us
        look_ahead(world)


@inner_rule
def _expect_next(world: World) -> None:
    """Have the processor load what the next events look at (``compiled/prefetching.py``).

    By then one event has been handled, unless that sets an earlier one. The events behind it are at
    the two places below: they were last in use some hundred events ago, as they were sent.
    """
    following = world.events[world.heap[0].index]
    if following.source == OTHER_END:
        return
    prefetch(world.events, world.heap[1].index, 1)
    prefetch(world.events, world.heap[2].index, 1)
    source, destination = following.source, following.destination
    if source != destination:
        count = world.context[0].process_count
        prefetch(world.links, source * count + destination, 1)
        prefetch(world.links, destination * count + source, 1)
    expect = world.roles[world.processes[destination].role].expect
    if expect != NONE:
        call_rule(expect, world, following)


@rule
def needs_room(world: World) -> bool:
    """Whether an event might need more room than there is in some table."""
    context = world.context[0]
    return (
        context.needs_room
        or context.event_slots.free < context.reserve
        or context.item_slots.free < context.item_reserve
        or len(world.rows) - context.row_count < context.row_reserve
        or len(world.metadata_changes) - context.metadata_changes < context.reserve
        or len(world.offset_commits) - context.offset_commits < context.commit_reserve
        or world.pools[0].watch_slots.free < context.reserve
        or len(world.impairments) - context.impairments < context.impairment_reserve
    )


@inner_rule
def _deliver(world: World, event: Event) -> None:
    """Bring an event to its process, unless a cut or a pause holds it back."""
    context = world.context[0]
    process = event.destination
    if event.source == OTHER_END:
        take_news(world, event)
        return
    context.handling = process
    context.time_us = event.time_us
    context.event_process = process
    context.event_source = event.source
    context.event_sequence = event.sequence
    context.cause_process = event.cause_process
    context.cause_sequence = event.cause_sequence
    if IS_UNHELD[event.kind]:
        _take_fault(world, event)
        return
    if not arrives(world, event) or (context.has_pins and is_taken(world, event)):
        return
    state = world.processes[process]
    is_earlier = event.asked_us < state.up_since_us and not event.outlives_restarts
    if not state.alive or is_earlier:
        refuse(world, event)
        free_event(world, event)
        return
    if waits_in_process(world, event):
        return
    if state.network_blocked_us > event.time_us and waits_for_network_thread(world, event):
        return
    if traces_all(world) and event.source != process and state.role != RACK_LINK:
        if event.kind in (ProduceRequest.KIND, ProduceResponse.KIND):
            _trace_batches(world, event)
        else:
            _trace_message(world, event)
    call_rule(world.roles[state.role].handle, world, event)


@FAULTS.handles(FaultBegin, FaultEnd)
@inner_rule
def take_fault_change(world: World, event: FaultChange) -> None:
    """A fault begins or ends in a process, and is handled by the process's own room."""
    if world.processes[event.destination].role == BROKER:
        wake_all(world, event.destination)
    if not handle_fault(world, event):
        return
    call_rule(world.roles[world.processes[event.destination].role].take_fault, world, event)


_handle = FAULTS.dispatcher(__name__, "_handle", World, Event)


@inner_rule
def _take_fault(world: World, event: Event) -> None:
    """Events that are never held back: faults, and the events of their ends."""
    _handle(world, event)
    free_event(world, event)


@inner_rule
def _trace_message(world: Kernel, event: Event) -> None:
    Message.write(
        world,
        message_kind=event.kind,
        from_process=event.source,
        partition=_word(event, PARTITION_WORD[event.kind], NONE),
        offset=_word(event, OFFSET_WORD[event.kind], NONE),
        error=_word(event, ERROR_WORD[event.kind], 0),
    )


@inner_rule
def _trace_batches(world: Kernel, event: Event) -> None:
    """A row for each batch of a produce request, or of its response."""
    for item in items_of(world, event, ProducedBatch):
        Message.write(world, item, item.append, message_kind=event.kind, from_process=event.source)


@inner_rule
def _word(event: Event, word: int, otherwise: int) -> int:
    return view_as(event, EventSlot).body[word] if word >= 0 else otherwise


@rule
def close_process(world: World, process: int, time_us: int, reason: int) -> None:
    """Write the rows that can be judged only at the end: of the run, or of its liveness phase."""
    begin_moment(world, process, time_us)
    role = world.processes[process].role
    if role == BROKER:
        close_broker(world, process, reason)
    elif role == CLIENT and reason == REASON_END:
        close_client(world, process)


@rule
def end_fault(world: World, process: int, fault: int, time_us: int) -> None:
    """End a fault in a process that it hits, as the liveness phase begins; no other one begins."""
    begin_moment(world, process, time_us)
    world.context[0].healing = True
    _take_fault(world, FaultEnd.to(world, process, fault=fault))


@rule
def heal_process(world: World, process: int, time_us: int, restart_us: int) -> None:
    """Begin the liveness phase in a process without active faults: a client gives up.

    A broker that is down starts, and does so again ``restart_us`` after any exit of its own.
    """
    begin_moment(world, process, time_us)
    world.context[0].healing = True
    release_all(world, process)
    state = world.processes[process]
    if state.role == CLIENT:
        stop_client(world, process, time_us)
    elif state.role == BROKER:
        broker = world.brokers[process]
        if broker.restart_after_exit_us < 0:
            broker.restart_after_exit_us = restart_us
        if broker.starts > 0 and not state.alive and state.held_down == 0:
            start(world, process)


@inner_rule
def begin_moment(world: Kernel, process: int, time_us: int) -> None:
    """An act from outside: nothing has caused it."""
    context = world.context[0]
    context.handling = process
    context.time_us = time_us
    context.event_process = NONE
    context.event_source = NONE
    context.event_sequence = NONE
    context.cause_process = NONE
    context.cause_sequence = NONE
