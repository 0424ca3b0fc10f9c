"""The tables that invariants read: a group's state, and their own counts.

The declaration of an invariant, and the one rule that checks all of them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from tidegauge.compiled.handlers import plain_of
from tidegauge.compiled.lists import LinkedList
from tidegauge.compiled.records import Record, Records, i64
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.compiled.signatures import Tables
from tidegauge.metrics.snapshots.snapshot import MeasuredState
from tidegauge.replication.replica_list import EMPTY, without
from tidegauge.simulation.events import used_events
from tidegauge.simulation.messages.kinds import KINDS

#: Nothing violates an invariant.
HOLDS = code(-1)

# Results of ``walk_of``: a list that is broken, and a list whose last record is not kept.
BROKEN = code(-1)
ANY = code(-2)


class Finding(Record):
    """The place at which an invariant is violated: one record."""

    place: i64


class Visit(Record):
    """Whether a slot of a pool, or a row, was found while its owners were gone through."""

    found: i64


class TimerCount(Record):
    """The number of pending timers of a kind that a process still needs."""

    pending: i64


class Checked(MeasuredState, part=5):
    """The state of a group, and room for the counts of a check."""

    findings: Records[Finding]
    #: As many as the longest table has records.
    visits: Records[Visit]
    #: At ``process * KINDS + kind``.
    timers: Records[TimerCount]


@inner_rule
def count_timers(world: Checked) -> None:
    """Count pending timers by process and kind; those of a process that has died do not count."""
    for index in range(len(world.timers)):
        world.timers[index].pending = 0
    for event in used_events(world):
        if 0 <= event.kind < KINDS and event.source == event.destination:
            process = world.processes[event.destination]
            if process.alive and event.asked_us >= process.up_since_us:
                world.timers[event.destination * KINDS + event.kind].pending += 1


@inner_rule
def pending(world: Checked, process: int, kind: int) -> int:
    """The number of timers of a kind that a process has set."""
    return world.timers[process * KINDS + kind].pending


@inner_rule
def clear_marks(world: Checked, count: int) -> None:
    """Reset the marks of so many slots, before their owners are checked."""
    for index in range(count):
        world.visits[index].found = 0


@inner_rule
def mark(world: Checked, index: int, count: int) -> bool:
    """Note that a slot was found; False if it was before, or is none of ``count``."""
    if index < 0 or index >= count or world.visits[index].found != 0:
        return False
    world.visits[index].found = 1
    return True


@inner_rule
def first_unmarked(world: Checked, count: int) -> int:
    """The first slot without an owner; HOLDS if there is none."""
    for index in range(count):
        if world.visits[index].found == 0:
            return index
    return HOLDS


def walk_of(module: str, name: str, of: LinkedList) -> Callable[..., int]:
    """The rule ``name`` of a module, which goes through lists of the same records and links.

    ``name(world, first, last, owner)`` marks the records with 1 + ``owner``, and returns their
    number: BROKEN if another list has one of them, or the last is not ``last`` (ANY: no check).
    """
    names: dict[str, Any] = {"__name__": module}
    code = _WALK.format(name=name, table=of.table, following=of.following)
    exec(code, names)  # noqa: S102 - code from below
    walk = names[name]
    walk.__annotations__ = {"world": Checked, "first": int, "last": int, "owner": int}
    return inner_rule(walk)  # type: ignore[no-any-return]  # it was made of text


_WALK = """
def {name}(world, first, last, owner):
    count = len(world.{table})
    previous = -1
    length = 0
    index = first
    while index != -1:
        if index < 0 or index >= count or world.visits[index].found != 0:
            return -1
        world.visits[index].found = owner + 1
        previous = index
        length += 1
        index = world.{table}[index].{following}
    return length if last == previous or last == -2 else -1
"""


@inner_rule
def is_live(world: Checked, index: int, kind: int) -> bool:
    """Whether a slot holds an event of this kind."""
    return 0 <= index < len(world.events) and world.events[index].kind == kind


@inner_rule
def is_within(replicas: int, others: int) -> bool:
    """Whether all replicas of a list are in another one."""
    return without(replicas, others) == EMPTY


@inner_rule
def all_slots(count: int) -> int:
    """The list of the first ``count`` slots."""
    slots = EMPTY
    for slot in range(count):
        slots |= (slot + 1) << (4 * slot)
    return slots


Function = TypeVar("Function", bound=Callable[..., Any])


class Invariant(NamedTuple):
    """Invariants of the records of one table."""

    #: The table that it returns a place of.
    table: str
    #: Returns the place of the first record that violates it, or -1.
    rule: Callable[..., Any]

    @property
    def name(self) -> str:
        """The name of its function."""
        return str(plain_of(self.rule).__name__)

    @property
    def sentence(self) -> str:
        """The invariant, in Kafka's words."""
        return " ".join((plain_of(self.rule).__doc__ or "").split())


class Invariants(list[Invariant]):
    """The invariants of one subject, in the order in which they are checked."""

    def of(self, table: str) -> Callable[[Function], Function]:
        """Enter a function that returns the place of a record in ``table`` that violates it."""

        def enter(function: Function) -> Function:
            entered = inner_rule(function)
            self.append(Invariant(table, entered))
            return entered

        return enter

    def validator(self, module: str, world: type[Tables], prepare: Any) -> Callable[..., Any]:
        """The rule ``validate(world)``: the number of the first invariant that is violated, or 0.

        Numbers count from 1. The place of the record is put into ``world.findings[0].place``.

        Args:
            module: the module that the rule is to be part of.
            world: the tables that it takes.
            prepare: an inner rule that is called before.
        """
        names: dict[str, Any] = {"__name__": module, "prepare": prepare}
        lines = ["def validate(world):", "    finding = world.findings[0]", "    prepare(world)"]
        for number, each in enumerate(self, 1):
            names[f"invariant_{number}"] = each.rule
            lines += [
                f"    finding.place = invariant_{number}(world)",
                "    if finding.place >= 0:",
                f"        return {number}",
            ]
        lines.append("    return 0")
        exec("\n".join(lines), names)  # noqa: S102 - code that this function has just written
        names["validate"].__doc__ = "The number of the first invariant that is violated, or 0."
        names["validate"].__annotations__ = {"world": world, "return": int}
        validate: Callable[..., Any] = rule(names["validate"])
        return validate
