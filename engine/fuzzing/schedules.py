"""Schedules: the deviations of a run from the undisturbed one, as records.

A deviation is a choice from a list that a scenario has laid out, with its time: a fault that
begins then, a step that the operator takes, a pin that holds or drops a message. The cluster of a
campaign has free places for each (:data:`MOST_FAULTS`, :data:`MOST_STEPS`, :data:`MOST_PINS`), and
a schedule fills the first of them. Numbers, records and events are those that the scenario with
these deviations would have, so that its run has the same hash.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tidegauge.clients.client_state import Clients, Step
from tidegauge.clients.step_conditions import AT
from tidegauge.compiled.records import Record, Records, flag, i64
from tidegauge.compiled.rules import Tables, code, inner_rule
from tidegauge.controller.kraft.controller_processes import DISK_LOSS
from tidegauge.engine.planned_events import plan_fault
from tidegauge.simulation.kernel import NONE, Fault, FaultRole, Kernel, Pin
from tidegauge.simulation.messages.timers import FaultBegin, FaultEnd
from tidegauge.traces.checks.histories import Histories

#: The most faults, steps and pins of a schedule.
MOST_FAULTS = code(12)
MOST_STEPS = code(12)
MOST_PINS = code(6)


class ChoiceNature(Record):
    """The nature of a fault that may be chosen."""

    #: It lasts: it has an end.
    lasts: flag


class Family(Record):
    """A family of faults: where its choices lie, and whether the present run has it."""

    first: i64
    count: i64
    is_drawn: flag


class PlannedFault(Record):
    """A fault of a schedule."""

    choice: i64
    at_us: i64
    #: Its duration; -1: it does not end, or is over at once.
    for_us: i64


class PlannedStep(Record):
    """A step of a schedule."""

    choice: i64
    at_us: i64


class PlannedPin(Record):
    """A pin of a schedule: it takes a message from a time on, and releases it later."""

    choice: i64
    at_us: i64
    for_us: i64
    #: The message that it takes, and how many.
    nth: i64
    count: i64


class Schedule(Record):
    """A schedule: the first so many of its places are filled."""

    faults: i64
    steps: i64
    pins: i64
    #: The run that it was drawn for.
    run: i64
    #: Of one that is kept: the last new state that its run was in, with its time, and the number of
    #: schedules that were made of it.
    reached_us: i64
    state: i64
    chosen: i64


class Schedules(Tables):
    """Schedules, and what they choose from."""

    #: The present one, those that are kept, those of findings, of checks, and of permitted breaks.
    schedules: Records[Schedule]
    #: At ``schedule * MOST_FAULTS``, ``schedule * MOST_STEPS``, ``schedule * MOST_PINS``.
    planned_faults: Records[PlannedFault]
    planned_steps: Records[PlannedStep]
    planned_pins: Records[PlannedPin]
    #: The faults, steps and pins to choose from; the processes that faults hit, at ``choice *
    #: process_count``.
    fault_choices: Records[Fault]
    hit_processes: Records[FaultRole]
    fault_natures: Records[ChoiceNature]
    step_choices: Records[Step]
    pin_choices: Records[Pin]
    families: Records[Family]


#: The present schedule.
PRESENT = code(0)


class GivenFault(NamedTuple):
    """A fault of a given schedule: the number of its choice, and its times in microseconds."""

    choice: int
    at_us: int
    #: None: it does not end before the run, or is over at once.
    for_us: int | None = None


class GivenStep(NamedTuple):
    """A step of a given schedule."""

    choice: int
    at_us: int


class GivenSchedule(NamedTuple):
    """A schedule that is given, and not drawn; its steps in the order of their times."""

    faults: Sequence[GivenFault] = ()
    steps: Sequence[GivenStep] = ()


@inner_rule
def faults_of(tables: Schedules, schedule: int) -> Records[PlannedFault]:
    """The places for the faults of a schedule."""
    first = schedule * MOST_FAULTS
    return tables.planned_faults[first : first + MOST_FAULTS]


@inner_rule
def steps_of(tables: Schedules, schedule: int) -> Records[PlannedStep]:
    """The places for the steps of a schedule."""
    first = schedule * MOST_STEPS
    return tables.planned_steps[first : first + MOST_STEPS]


@inner_rule
def pins_of(tables: Schedules, schedule: int) -> Records[PlannedPin]:
    """The places for the pins of a schedule."""
    first = schedule * MOST_PINS
    return tables.planned_pins[first : first + MOST_PINS]


@inner_rule
def copy_schedule(tables: Schedules, source: int, target: int) -> None:
    """Let a schedule be the same as another one."""
    one, other = tables.schedules[source], tables.schedules[target]
    other.faults = one.faults
    other.steps = one.steps
    other.pins = one.pins
    other.run = one.run
    old_faults, new_faults = faults_of(tables, source), faults_of(tables, target)
    for place in range(one.faults):
        copy_fault(old_faults[place], new_faults[place])
    old_steps, new_steps = steps_of(tables, source), steps_of(tables, target)
    for place in range(one.steps):
        copy_step(old_steps[place], new_steps[place])
    old_pins, new_pins = pins_of(tables, source), pins_of(tables, target)
    for place in range(one.pins):
        copy_pin(old_pins[place], new_pins[place])


@inner_rule
def copy_fault(source: PlannedFault, target: PlannedFault) -> None:
    """Let a planned fault be the same as another one."""
    target.choice = source.choice
    target.at_us = source.at_us
    target.for_us = source.for_us


@inner_rule
def copy_step(source: PlannedStep, target: PlannedStep) -> None:
    """Let a planned step be the same as another one."""
    target.choice = source.choice
    target.at_us = source.at_us


@inner_rule
def copy_pin(source: PlannedPin, target: PlannedPin) -> None:
    """Let a planned pin be the same as another one."""
    target.choice = source.choice
    target.at_us = source.at_us
    target.for_us = source.for_us
    target.nth = source.nth
    target.count = source.count


@inner_rule
def enter_schedule(
    world: Clients, history: Histories, tables: Schedules, schedule: int, first_step: int
) -> None:
    """Plan the faults and pins of a schedule, and its steps behind those that the scenario has."""
    planned = faults_of(tables, schedule)
    for place in range(tables.schedules[schedule].faults):
        _enter_fault(world, history, tables, place, planned[place])
    pins = pins_of(tables, schedule)
    for place in range(tables.schedules[schedule].pins):
        _enter_pin(world, tables, place, pins[place])
    world.context[0].has_pins = tables.schedules[schedule].pins > 0
    steps = steps_of(tables, schedule)
    for place in range(tables.schedules[schedule].steps):
        world.steps[first_step + place] = tables.step_choices[steps[place].choice]
        step = world.steps[first_step + place]
        step.start = AT
        step.time_us = steps[place].at_us
    world.pool[0].steps = first_step + tables.schedules[schedule].steps


@inner_rule
def _enter_fault(
    world: Kernel, history: Histories, tables: Schedules, number: int, planned: PlannedFault
) -> None:
    """Have a fault begin, and end, in each process that it hits."""
    count = world.context[0].process_count
    world.faults[number] = tables.fault_choices[planned.choice]
    history.faults[number].is_over_at_once = world.faults[number].is_over_at_once
    history.faults[number].takes_disks = world.faults[number].kind == DISK_LOSS
    for process in range(count):
        side = tables.hit_processes[planned.choice * count + process].side
        if side == 0:
            continue
        world.fault_roles[number * count + process].side = side
        plan_fault(world, process, FaultBegin.KIND, number, planned.at_us, 2 * number)
        if planned.for_us != NONE:
            end_us = planned.at_us + planned.for_us
            plan_fault(world, process, FaultEnd.KIND, number, end_us, 2 * number + 1)


@inner_rule
def _enter_pin(world: Kernel, tables: Schedules, number: int, planned: PlannedPin) -> None:
    world.pins[number] = tables.pin_choices[planned.choice]
    pin = world.pins[number]
    pin.from_us = planned.at_us
    pin.until_us = planned.at_us + planned.for_us
    pin.nth = planned.nth
    pin.count = planned.count
