"""The tables that invariants read: a group's state, and what is counted while they look at it."""

from __future__ import annotations

from tidegauge.clients.client_state import Clients
from tidegauge.compiled.records import Record, Records, i64
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.metrics.snapshots.measured_state import MeasuredState
from tidegauge.replication.replica_list import EMPTY, without
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.event import EventList
from tidegauge.simulation.messages.kinds import KINDS

#: Nothing violates an invariant.
HOLDS = code(-1)


class Finding(Record):
    """Where an invariant is violated: one record."""

    place: i64


class Mark(Record):
    """Whether a slot of a pool, or a row, was found while its owners were gone through."""

    found: i64


class TimerCount(Record):
    """How many timers of a kind a process has set that still mean something to it."""

    pending: i64


class Checked(MeasuredState, Clients, part=5):
    """The state of a group, and room to count what is in it."""

    findings: Records[Finding]
    #: As many as the longest table has records.
    marks: Records[Mark]
    #: At ``process * KINDS + kind``.
    timers: Records[TimerCount]


@inner_rule
def count_timers(world: Checked) -> None:
    """Count pending timers by process and kind; those of a process that has died do not count."""
    for index in range(len(world.timers)):
        world.timers[index].pending = 0
    for index in range(len(world.events)):
        event = world.events[index]
        if 0 <= event.kind < KINDS and event.source == event.destination:
            process = world.processes[event.destination]
            if process.alive and event.asked_us >= process.up_since_us:
                world.timers[event.destination * KINDS + event.kind].pending += 1


@inner_rule
def pending(world: Checked, process: int, kind: int) -> int:
    """How many timers of a kind a process has set."""
    return world.timers[process * KINDS + kind].pending


@inner_rule
def clear_marks(world: Checked, count: int) -> None:
    """Begin to go through the owners of so many slots."""
    for index in range(count):
        world.marks[index].found = 0


@inner_rule
def mark(world: Checked, index: int, count: int) -> bool:
    """Note that a slot was found; False if it was before, or is none of ``count``."""
    if index < 0 or index >= count or world.marks[index].found != 0:
        return False
    world.marks[index].found = 1
    return True


@inner_rule
def first_unmarked(world: Checked, count: int) -> int:
    """The first slot that nobody has; HOLDS if there is none."""
    for index in range(count):
        if world.marks[index].found == 0:
            return index
    return HOLDS


@inner_rule
def is_whole(world: Checked, events: EventList) -> bool:
    """Whether a list of events has its first, its last, and as many as it says between them."""
    index = events.first
    previous = NONE
    length = 0
    while index != NONE:
        if not 0 <= index < len(world.events) or length == events.length:
            return False
        if world.events[index].kind == NONE:
            return False
        previous = index
        index = world.events[index].next
        length += 1
    return length == events.length and events.last == previous


@inner_rule
def mark_list(world: Checked, events: EventList) -> int:
    """Note the events of a list that is whole; the first that another has too, or HOLDS."""
    index = events.first
    while index != NONE:
        if not mark(world, index, len(world.events)):
            return index
        index = world.events[index].next
    return HOLDS


@inner_rule
def mark_chain(world: Checked, first: int, length: int) -> bool:
    """Note the entries of a chain; whether there are so many, and nobody else has them."""
    index = first
    found = 0
    while index != NONE:
        if not mark(world, index, len(world.items)):
            return False
        index = world.items[index].next
        found += 1
    return found == length


@inner_rule
def is_live(world: Checked, index: int, kind: int) -> bool:
    """Whether a slot holds an event of this kind."""
    return 0 <= index < len(world.events) and world.events[index].kind == kind


@inner_rule
def is_within(replicas: int, others: int) -> bool:
    """Whether all replicas of a list are in another one, too."""
    return without(replicas, others) == EMPTY


@inner_rule
def all_slots(count: int) -> int:
    """The list of the first ``count`` slots."""
    slots = EMPTY
    for slot in range(count):
        slots |= (slot + 1) << (4 * slot)
    return slots
