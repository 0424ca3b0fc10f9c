"""Faults: they begin and end at a set time, in each process that they hit.

A fault writes a row where it begins and where it ends, in every process that it hits. The others
get that row, so that a decision about a silent peer can name its fault (:func:`because_of`). This
is bookkeeping beside the simulated cluster: no rule of Kafka reads it.

The work of a process that dies or is started again is known to its own room
(``actors/process/lifecycle.py``); here stands only whether it runs (:func:`dies`, :func:`lives`).

The kind of a fault is a class of the scenario (``scenario/model/fault.py`` says how to add one). It
sets whether processes are suspended or stop, and whether links are hit; a rule here or in the room
of a process has the special part of a kind, with its code beside it.
"""

from tidegauge.compiled.rules import NamedCodes, code, inner_rule
from tidegauge.simulation import links, pins
from tidegauge.simulation.events import free_all, new_response, set_timer, stamp, used_events
from tidegauge.simulation.kernel import (
    CLIENT,
    NONE,
    ZOOKEEPER,
    FaultRole,
    Kernel,
    impairment_to_change,
    link_between,
)
from tidegauge.simulation.messages import timers
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.kinds import IS_REFUSED, IS_UNHELD
from tidegauge.simulation.trace_rows.process_rows import FaultBegan, FaultEnded
from tidegauge.simulation.trace_rows.row import Row
from tidegauge.simulation.transfers import forget_transfers, free_network_threads

#: Fault.kind, by the kind in a scenario: those here, and those beside the rules of other rooms.
FAULT_CODES = NamedCodes()

PAUSE = FAULT_CODES.new("pause", 0)
SLOW_DISK = FAULT_CODES.new("slow_disk", 1)
SLOW_LINK = FAULT_CODES.new("slow_link", 2)
CUT_LINK = FAULT_CODES.new("cut_link", 3)
ZOOKEEPER_OUTAGE = FAULT_CODES.new("zookeeper_outage", 4)
CRASH = FAULT_CODES.new("crash", 5)
POWER_LOSS = FAULT_CODES.new("power_loss", 6)
RESTART = FAULT_CODES.new("restart", 7)

_FIRST = code(1)
_SECOND = code(2)

# Ranks of a fault's effect on what a process expects of a peer.
_OTHER = code(1)
_SELF = code(2)
_PEER = code(3)


@inner_rule
def handle_fault(world: Kernel, event: timers.FaultChange) -> bool:
    """Begin or end a fault in the process that the event hits; False if it had already."""
    process = event.destination
    begins = event.kind == timers.FaultBegin.KIND
    role = world.fault_roles[event.fault * world.context[0].process_count + process]
    if role.active == begins or (begins and world.context[0].healing):
        return False
    lasts_us = world.faults[event.fault].lasts_us
    if begins and lasts_us != NONE:
        timers.FaultEnd.after(world, lasts_us, fault=event.fault)
    if begins:
        began = FaultBegan.write(
            world, fault=event.fault, fault_kind=world.faults[event.fault].kind
        )
        role.row_process = process
        role.row_sequence = began.sequence
    else:
        FaultEnded.write(world, fault=event.fault, fault_kind=world.faults[event.fault].kind)
    note_fault(role, begins, world.context[0].time_us)
    _apply(world, process, event.fault, 1 if begins else -1)
    if world.faults[event.fault].is_over_at_once:
        role.active = False
    elif not world.faults[event.fault].is_between:
        _announce(world, process, event.fault, begins)
    return True


@inner_rule
def tell_of_fault(world: Kernel, hit: int, fault: int, begins: bool) -> None:
    """Begin or end a fault in a process that it hits, by a message from another one."""
    if begins:
        links.send(world, timers.FaultBegin.to(world, hit, fault=fault), world.context[0].time_us)
    else:
        links.send(world, timers.FaultEnd.to(world, hit, fault=fault), world.context[0].time_us)


@inner_rule
def _announce(world: Kernel, process: int, fault: int, begins: bool) -> None:
    context = world.context[0]
    for other in range(context.process_count):
        if other != process:
            known = timers.FaultKnown.to(world, other)
            known.fault = fault
            known.row_sequence = context.cause_sequence
            known.begins = begins
            known.time_us = context.time_us + links.shortest_latency_us(world, process, other)
            stamp(world, known)
            links.route(world, known)


@links.FAULTS.handles(timers.FaultKnown)
@inner_rule
def handle_known_fault(world: Kernel, event: timers.FaultKnown) -> None:
    """Learn that a fault has begun or ended in another process.

    A process that the fault also hits gets it with its own event.
    """
    count = world.context[0].process_count
    if event.begins and world.faults[event.fault].kind == POWER_LOSS:
        # Messages that its machine had not sent by then never come.
        link = link_between(world, event.source, event.destination)
        impairment = impairment_to_change(world, link)
        impairment.lost_from_us = event.asked_us
        impairment.lost_below = event.sequence
    role = world.fault_roles[event.fault * count + event.destination]
    if role.side != 0:
        return
    if event.begins:
        role.row_process = event.source
        role.row_sequence = event.row_sequence
    note_fault(role, event.begins, world.context[0].time_us)


@inner_rule
def note_fault(role: FaultRole, begins: bool, time_us: int) -> None:
    """Note that a fault acts, or since when it does not, as far as a process knows."""
    role.active = begins
    if begins:
        role.began_us = time_us
    role.acted_us = time_us


@inner_rule
def _apply(world: Kernel, process: int, number: int, sign: int) -> None:
    fault = world.faults[number]
    state = world.processes[process]
    # Only brokers and their controllers can start again; others resume where they were.
    if fault.suspends or (fault.stops and state.role in (ZOOKEEPER, CLIENT)):
        _pause(world, process, number, sign > 0)
    elif fault.kind == SLOW_DISK:
        state.slow_disks += sign
    elif fault.stops:
        state.held_down += sign
        if fault.kind == POWER_LOSS:
            state.without_power += sign
    elif fault.is_between:
        for peer in range(world.context[0].process_count):
            if peer != process:
                _apply_to_links(world, process, peer, number, sign)


@inner_rule
def _pause(world: Kernel, process: int, number: int, begins: bool) -> None:
    """Stop a process that runs, or let it go on; one that has died meanwhile is another one."""
    state = world.processes[process]
    role = world.fault_roles[number * world.context[0].process_count + process]
    if begins and state.alive:
        role.stops = True
        state.paused += 1
    elif role.stops:
        role.stops = False
        state.paused -= 1
        if state.paused == 0:
            state.resumed_us = world.context[0].time_us
            links.release_process(world, process)


@inner_rule
def dies(world: Kernel, process: int) -> None:
    """A process is gone: no fault holds it, and its held messages are dropped."""
    context = world.context[0]
    state = world.processes[process]
    state.alive = False
    state.died_us = context.time_us
    state.paused = 0
    for number in range(len(world.faults)):
        world.fault_roles[number * context.process_count + process].stops = False
    free_all(world, state.held)
    _outdate_timers(world, process)
    forget_transfers(world, process)
    free_network_threads(world, process)


@inner_rule
def _outdate_timers(world: Kernel, process: int) -> None:
    """Timers that were set at the instant of a death are not for a process that begins in it."""
    if world.processes[process].timer_set_us != world.context[0].time_us:
        return
    for event in used_events(world):
        is_own = event.source == process and event.destination == process
        if is_own and event.asked_us == world.context[0].time_us and not IS_UNHELD[event.kind]:
            event.asked_us = NONE


@inner_rule
def lives(world: Kernel, process: int) -> None:
    """A process begins: earlier messages are not for it."""
    state = world.processes[process]
    state.alive = True
    state.up_since_us = world.context[0].time_us


@inner_rule
def disconnect_all(world: Kernel, process: int) -> None:
    """A process dies, and the operating system closes its connections: all others see it."""
    context = world.context[0]
    for other in range(context.process_count):
        if other != process:
            closed = timers.Disconnected.to(world, other, until_us=context.time_us)
            links.send(world, closed, context.time_us)


@inner_rule
def reset_all(world: Kernel, process: int) -> None:
    """A machine has its power back: it resets old connections, once TCP tries them again."""
    context = world.context[0]
    for other in range(context.process_count):
        if other != process:
            reset = timers.Disconnected.to(world, other, until_us=context.time_us)
            delay_us = links.retransmission_us(world, other, process)
            # Beside the stream of messages that the machine sends on new connections.
            least_us = links.shortest_latency_us(world, process, other)
            reset.time_us = context.time_us + delay_us + least_us
            stamp(world, reset)
            links.route(world, reset)


@inner_rule
def refuse(world: Kernel, event: Event) -> None:
    """A message for a process that does not run, or did not yet: its sender may get an error.

    The sender gets an error for its earlier messages anyway, as all do.
    """
    state = world.processes[event.destination]
    is_request = IS_REFUSED[event.kind]
    if is_request and state.without_power == 0 and event.asked_us > state.died_us:
        refuse_connection(world, event)


@inner_rule
def refuse_connection(world: Kernel, event: Event) -> None:
    """Nobody listens: the sender of a request sees its connection refused."""
    refused = new_response(world, event, timers.Disconnected, until_us=event.asked_us)
    links.send(world, refused, world.context[0].time_us)


@inner_rule
def _apply_to_links(world: Kernel, process: int, peer: int, number: int, sign: int) -> None:
    """Change this process's ends of its links: latency where it sends, cuts where it receives."""
    fault = world.faults[number]
    if fault.kind == SLOW_LINK and _hits(world, number, process, peer):
        link = link_between(world, process, peer)
        impairment_to_change(world, link).delay_us += sign * fault.delay_us
    elif fault.kind == CUT_LINK and _hits(world, number, peer, process):
        impairment = impairment_to_change(world, link_between(world, peer, process))
        impairment.cut += sign
        if impairment.cut == 0 and impairment.held.first != NONE:
            # Only packets sent meanwhile have to be retransmitted, and all later ones wait.
            impairment.stalled = True
            release = timers.LinkRelease.to(world, process, peer=peer)
            delay_us = links.retransmission_us(world, peer, process)
            set_timer(world, release, world.context[0].time_us + delay_us)


@links.FAULTS.handles(timers.LinkRelease)
@inner_rule
def handle_link_release(world: Kernel, event: timers.LinkRelease) -> None:
    """TCP retransmits the packets that a cut has held back."""
    links.release_link(world, event.peer, event.destination)


@inner_rule
def _hits(world: Kernel, number: int, source: int, destination: int) -> bool:
    """Whether packets from source to destination are hit by a fault between processes."""
    count = world.context[0].process_count
    one = world.fault_roles[number * count + source].side
    other = world.fault_roles[number * count + destination].side
    if one & _FIRST != 0 and other & _SECOND != 0:
        return True
    return not world.faults[number].one_way and one & _SECOND != 0 and other & _FIRST != 0


@inner_rule
def because_of(world: Kernel, row: Row, peer: int, since_us: int) -> None:
    """Set the reason of ``peer``'s silence since ``since_us``: a fault, else its last row.

    Faults count that act now, or have acted since then. One that hits the peer, or the link to it,
    comes before one that hits the process itself (which is slow, or was stopped), and that before
    all others: any of them can keep the peer waiting. With several faults the one that began last
    counts. A pin that has taken a message between the two comes before faults that hit neither the
    peer nor the link.
    """
    context = world.context[0]
    me = row.process
    row.because_process = peer
    row.because_sequence = link_between(world, peer, me).source_rows - 1
    nearest = 0
    began_us = NONE
    for number in range(len(world.faults)):
        role = world.fault_roles[number * context.process_count + me]
        if role.row_sequence == NONE or not (role.active or role.acted_us >= since_us):
            continue
        nearness = _nearness(world, number, me, peer)
        if nearness > nearest or (nearness == nearest and role.began_us >= began_us):
            nearest = nearness
            began_us = role.began_us
            row.because_process = role.row_process
            row.because_sequence = role.row_sequence
    if context.has_pins and nearest < _PEER:
        pins.blame_pin(world, row, peer, since_us)


@inner_rule
def _nearness(world: Kernel, number: int, process: int, peer: int) -> int:
    """The rank of a fault's effect on what a process expects of a peer."""
    count = world.context[0].process_count
    if world.faults[number].is_between:
        is_hit = _hits(world, number, peer, process) or _hits(world, number, process, peer)
        return _PEER if is_hit else _OTHER
    if world.fault_roles[number * count + peer].side != 0:
        return _PEER
    return _SELF if world.fault_roles[number * count + process].side != 0 else _OTHER
