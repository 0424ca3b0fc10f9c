"""The handlers of faults, and of the events of their ends: ``@FAULTS.handles(...)``.

Links: the way of messages, and the effects of slow links, cuts and heals on them.

A message takes a latency that is drawn from the quantile table of its path (same machine,
same rack, between racks, to or from a client), never less than the table's minimum, and
arrives after all that were sent on its link before it.

A message with records also takes the time in which its bytes flow (``transfers.py``). If links
between racks have a limit, each ordered pair of racks has a process for its link, as processes of
several groups share it. Messages with records pass through it, half of their latency before it and
half behind it; to their receivers they are the same messages. Others pass beside it.

A cut is kept at the receiving end: packets that would arrive stay with TCP, which sends them again
and again. After the end of the cut, all of them arrive in their order once the back-off of the
retransmission is over, a few seconds after a long cut. A sender's timeout does not take back the
bytes in its socket: the receiver still gets them, and the response is ignored.

A process that is stopped (a pause, an outage) accepts messages, as its socket's buffers do, and
handles them all in the order of their arrival when it goes on: its own timers at once, messages 1
us later.
"""

from tidegauge.compiled.handlers import Handlers
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.simulation import events, random_streams
from tidegauge.simulation.kernel import (
    CLIENT,
    NONE,
    Kernel,
    Link,
    impairment_of,
    impairment_to_change,
    link_between,
)
from tidegauge.simulation.messages.event import Event, EventList
from tidegauge.simulation.messages.timers import FaultChange, ProcessRelease
from tidegauge.simulation.transfers import departure_from_thread_us, is_received, send_records

FAULTS = Handlers()


# Paths, each with its quantile table: at ``path * QUANTILES``.
WITHIN_HOST = code(0)
WITHIN_RACK = code(1)
BETWEEN_RACKS = code(2)
WITH_CLIENTS = code(3)
RETRANSMISSION_AFTER_CUT = code(4)
#: The number of the quantile tables of the network.
NETWORK_TABLES = 5


@inner_rule
def path_between(world: Kernel, source: int, destination: int) -> int:
    """The quantile table of the latency between two processes."""
    one = world.processes[source]
    other = world.processes[destination]
    if one.host != NONE and one.host == other.host:
        return WITHIN_HOST
    # A client with a rack is in it.
    if (one.role == CLIENT and one.rack == NONE) or (other.role == CLIENT and other.rack == NONE):
        return WITH_CLIENTS
    if one.rack != NONE and one.rack == other.rack:
        return WITHIN_RACK
    return BETWEEN_RACKS


@inner_rule
def send(world: Kernel, message: Event, departure_us: int) -> None:
    """Send a message that leaves its process at ``departure_us``."""
    source = message.source
    destination = message.destination
    link = link_between(world, source, destination)
    latency_us = drawn_latency_us(world, link, source, destination)
    if world.processes[source].network_blocked_us > departure_us:
        departure_us = departure_from_thread_us(world, message, departure_us)
    if message.size_bytes > 0:
        path = path_between(world, source, destination)
        send_records(world, message, departure_us, latency_us, path)
    else:
        arrival_us = departure_us + latency_us + impairment_of(world, link).delay_us
        message.time_us = max(arrival_us, link.last_delivery_us)
        link.last_delivery_us = message.time_us
    events.stamp(world, message)
    route(world, message)


@inner_rule
def drawn_latency_us(world: Kernel, link: Link, source: int, destination: int) -> int:
    """The latency of the next message on a link."""
    uniform = random_streams.draw_from(latencies_between(world, source, destination), link.draws)
    link.draws += 1
    path = path_between(world, source, destination)
    return random_streams.quantile_us(world.quantiles, path * random_streams.QUANTILES, uniform)


@inner_rule
def latencies_between(world: Kernel, source: int, destination: int) -> int:
    """The stream of the latencies of the link between two processes."""
    context = world.context[0]
    index = source * context.process_count + destination
    return random_streams.stream_of(context.seed, random_streams.LATENCY, index)


@inner_rule
def shortest_latency_us(world: Kernel, source: int, destination: int) -> int:
    """The least that a message between two processes takes."""
    return world.quantiles[
        path_between(world, source, destination) * random_streams.QUANTILES
    ].value_us


@inner_rule
def route(world: Kernel, message: Event) -> None:
    """Let a message whose time is set wait here, or go to the group of its destination.

    This group may not go on past the time at which something of it can come back.
    """
    context = world.context[0]
    destination = world.processes[message.destination]
    if destination.hosted:
        events.push(world, message)
        return
    events.append_event(world, context.outbox, message)
    context.horizon_us = min(context.horizon_us, message.time_us + destination.answer_us)


@inner_rule
def arrives(world: Kernel, event: Event) -> bool:
    """Whether a message reaches its process now; if not, it is kept until it can."""
    if event.source == event.destination or event.source < 0:
        return True
    link = link_between(world, event.source, event.destination)
    impairment = impairment_of(world, link)
    if impairment.cut > 0 or impairment.stalled:
        events.append_event(world, impairment.held, event)
        return False
    if event.size_bytes > 0 and not is_received(world, event, link):
        return False
    link.source_rows = max(link.source_rows, event.source_rows)
    return True


@rule
def handle_rack_link_event(world: Kernel, event: Event) -> None:
    """Pass a message on that the link between two racks has received; no news are for it."""
    if event.relayed_to == NONE:
        events.free_event(world, event)
        return
    event.destination = event.relayed_to
    event.relayed_to = NONE
    event.transfer_us = NONE - event.transfer_us
    event.time_us = world.context[0].time_us + event.relayed_latency_us
    route(world, event)


@rule
def take_rack_link_fault(_world: Kernel, _event: FaultChange) -> None:
    """No fault hits a link between racks itself: cuts are kept at the receiving ends."""


@inner_rule
def release_process(world: Kernel, process: int) -> None:
    """Hand a process that goes on its own timers, and let it read its messages after them.

    Its own timers fire as soon as it runs, a task of a fixed rate as
    often as it has missed its time; messages have to be read, and come after that (real
    brokers ran overdue isr-expirations before a produce request that had come in meanwhile).
    """
    context = world.context[0]
    held = world.processes[process].held
    for _ in range(held.length):
        event = events.take_first(world, held)
        if event.source == process:
            event.time_us = context.time_us
            events.append_event(world, context.ready, event)
        else:
            events.append_event(world, held, event)
    ProcessRelease.after(world, 1)


@inner_rule
def waits_in_process(world: Kernel, event: Event) -> bool:
    """Whether an event that has arrived is kept until its process goes on and has come to it."""
    state = world.processes[event.destination]
    if state.paused == 0 and (event.source == event.destination or state.held.first == NONE):
        return False
    events.append_event(world, state.held, event)
    return True


@FAULTS.handles(ProcessRelease)
@inner_rule
def handle_process_release(world: Kernel, event: ProcessRelease) -> None:
    """Let a process read its received messages, in that order, unless it was stopped again."""
    state = world.processes[event.destination]
    if state.paused == 0:
        _make_ready(world, state.held)


@inner_rule
def release_link(world: Kernel, source: int, destination: int) -> None:
    """Deliver the messages that a cut has held back, in their order, at once."""
    link = link_between(world, source, destination)
    impairment = impairment_to_change(world, link)
    impairment.stalled = False
    if impairment.cut > 0:
        return
    _make_ready(world, impairment.held)


@inner_rule
def retransmission_us(world: Kernel, source: int, destination: int) -> int:
    """The delay of TCP's retransmission after the end of a cut."""
    context = world.context[0]
    index = source * context.process_count + destination
    impairment = impairment_to_change(world, link_between(world, source, destination))
    uniform = random_streams.draw(
        context.seed, random_streams.RETRANSMISSION, index, impairment.retransmissions
    )
    impairment.retransmissions += 1
    return random_streams.quantile_us(
        world.quantiles, RETRANSMISSION_AFTER_CUT * random_streams.QUANTILES, uniform
    )


@inner_rule
def _make_ready(world: Kernel, held: EventList) -> None:
    """Handle events that were held back next, before the heap."""
    context = world.context[0]
    while held.first != NONE:
        event = events.take_first(world, held)
        # It keeps its place in line, but time has passed meanwhile.
        event.time_us = context.time_us
        events.append_event(world, context.ready, event)
