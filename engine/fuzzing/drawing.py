"""Drawing schedules: at random, or from schedules that have reached rare states.

Swarm testing: a run has some families of faults, and none of the others, so that what prevents a
state is absent in many runs. Moments cluster: what matters happens within milliseconds of something
else, so every other deviation is close to the one before. The second strategy changes priorities at
a few points (PCT): links between brokers have delays of their own, which change where the schedule
says so; they are faults of the family ``slow links``, drawn together.

With guidance most schedules are made of a kept one: what it does before its last new state stays,
and what comes later is drawn again; or one deviation is moved, added or taken out.

Source: Groce et al., Swarm Testing (ISSTA 2012); Burckhardt et al., A Randomized Scheduler with
Probabilistic Guarantees of Finding Bugs (ASPLOS 2010); Boehme et al., Coverage-based Greybox
Fuzzing as Markov Chain (CCS 2016).
"""

from tidegauge.compiled.records import Record, Records, flag, i64
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.engine.fuzzing.schedules import (
    MOST_FAULTS,
    MOST_PINS,
    MOST_STEPS,
    PRESENT,
    PlannedFault,
    PlannedStep,
    Schedules,
    copy_fault,
    copy_pin,
    copy_schedule,
    copy_step,
    faults_of,
    pins_of,
    steps_of,
)
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.random_streams import draw_from, stream_of

#: The domain of the random streams of schedules, behind those of runs.
_SCHEDULES = code(1000)

_MS = code(1000)
#: Moments that cluster are at most 2 ** 10 ms apart.
_CLOSE_OCTAVES = code(11)
#: Durations are from 8 ms to 8 s.
_LONG_OCTAVES = code(10)
_SHORTEST_OCTAVE = code(3)

#: Of a hundred guided schedules so many are drawn anew.
_NEW_PERCENT = code(40)
#: Kept schedules that are compared; the one whose state was seen least is taken.
_COMPARED = code(3)

# Changes of one deviation.
_ADD_FAULT = code(0)
_ADD_STEP = code(1)
_DROP_FAULT = code(2)
_DROP_STEP = code(3)
_MOVE_STEP = code(4)
_CHANGE_FAULT = code(5)
_ADD_PIN = code(6)
_DROP_PIN = code(7)


class Draws(Record):
    """The draws of the present run."""

    stream: i64
    count: i64


class Drawing(Record):
    """How schedules are drawn: one record."""

    seed: i64
    #: Deviations are from the first time to the second one; by then faults have ended, if they end.
    begin_us: i64
    end_us: i64
    #: All faults end before the verdict.
    heals: flag
    #: The most faults, steps and pins that a schedule is drawn with.
    most_faults: i64
    most_steps: i64
    most_pins: i64
    #: Of a hundred schedules so many change priorities of links; the family of these.
    priority_percent: i64
    priority_family: i64
    #: Schedules are made of kept ones, of which there are so many.
    is_guided: flag
    kept: i64
    #: The place of the next that is kept.
    next_kept: i64


class SeenState(Record):
    """How often an abstract state was seen (``coverage.py``)."""

    count: i64


class Drawn(Schedules, part=1):
    """Schedules as they are drawn."""

    draws: Records[Draws]
    drawing: Records[Drawing]
    #: By the hash of an abstract state.
    seen: Records[SeenState]


@inner_rule
def below(tables: Drawn, limit: int) -> int:
    """An integer from 0 to ``limit`` - 1."""
    draws = tables.draws[0]
    draws.count += 1
    return (draw_from(draws.stream, draws.count) * limit) >> 32


@inner_rule
def _spread_ms(tables: Drawn, octaves: int) -> int:
    """A number of milliseconds, each octave as likely as the others."""
    least = 1 << below(tables, octaves)
    return least + below(tables, least)


@inner_rule
def _duration_us(tables: Drawn) -> int:
    """A duration of a fault or a pin."""
    return (_spread_ms(tables, _LONG_OCTAVES) << _SHORTEST_OCTAVE) * _MS


@inner_rule
def draw_schedule(tables: Drawn, run: int) -> None:
    """Draw the schedule of a run: it depends on the seed, the run, and what is kept."""
    drawing, draws = tables.drawing[0], tables.draws[0]
    draws.stream = stream_of(drawing.seed, _SCHEDULES, run)
    draws.count = 0
    _draw_families(tables)
    is_of_kept = drawing.is_guided and drawing.kept > 0 and below(tables, 100) >= _NEW_PERCENT
    if is_of_kept:
        _draw_from_kept(tables)
    else:
        _draw_anew(tables)
    tables.schedules[PRESENT].run = run
    _sort_steps(tables)


@inner_rule
def _draw_families(tables: Drawn) -> None:
    """Draw the families of faults that a run has; at least one."""
    count = len(tables.families)
    for family in range(count):
        tables.families[family].is_drawn = below(tables, 2) == 1
    tables.families[below(tables, count)].is_drawn = True


@inner_rule
def _draw_anew(tables: Drawn) -> None:
    drawing, schedule = tables.drawing[0], tables.schedules[PRESENT]
    schedule.faults = 0
    schedule.steps = 0
    schedule.pins = 0
    if below(tables, 100) < drawing.priority_percent:
        _draw_priorities(tables)
    near_us = NONE
    for _ in range(1 + below(tables, drawing.most_faults)):
        near_us = _add_fault(tables, drawing.begin_us, near_us)
    for _ in range(below(tables, drawing.most_pins + 1)):
        near_us = _add_pin(tables, drawing.begin_us, near_us)
    for _ in range(1 + below(tables, drawing.most_steps)):
        _add_step(tables, drawing.begin_us, _any_moment_us(tables))


@inner_rule
def _draw_priorities(tables: Drawn) -> None:
    """Slow some links down, each for a span of the schedule: so long others come first."""
    family = tables.families[tables.drawing[0].priority_family]
    for _ in range(2 + below(tables, 3)):
        schedule = tables.schedules[PRESENT]
        if schedule.faults < MOST_FAULTS and family.count > 0:
            fault = faults_of(tables, PRESENT)[schedule.faults]
            schedule.faults += 1
            fault.choice = family.first + below(tables, family.count)
            _draw_fault_time(tables, fault, tables.drawing[0].begin_us, NONE)


@inner_rule
def _moment_us(tables: Drawn, from_us: int, near_us: int) -> int:
    """A moment from a time on: close to another one, every other time, or anywhere."""
    end_us = tables.drawing[0].end_us
    if near_us != NONE and below(tables, 2) == 0:
        shift_us = _spread_ms(tables, _CLOSE_OCTAVES) * _MS
        moment_us = near_us + shift_us if below(tables, 4) > 0 else near_us - shift_us
    else:
        moment_us = from_us + below(tables, max(1, (end_us - from_us) // _MS)) * _MS
    return min(max(moment_us, from_us), end_us - _MS)


@inner_rule
def _draw_fault_time(tables: Drawn, fault: PlannedFault, from_us: int, near_us: int) -> None:
    drawing = tables.drawing[0]
    fault.at_us = _moment_us(tables, from_us, near_us)
    fault.for_us = NONE
    if tables.fault_natures[fault.choice].lasts:
        lasts_us = _duration_us(tables)
        if drawing.heals:
            lasts_us = min(lasts_us, drawing.end_us - fault.at_us)
        fault.for_us = lasts_us


@inner_rule
def _draw_choice(tables: Drawn) -> int:
    """A fault of one of the families that the run has."""
    count = len(tables.families)
    family = below(tables, count)
    while not tables.families[family].is_drawn:
        family = (family + 1) % count
    return tables.families[family].first + below(tables, tables.families[family].count)


@inner_rule
def _add_fault(tables: Drawn, from_us: int, near_us: int) -> int:
    """Add a fault if there is a place for it; a moment to be close to."""
    schedule = tables.schedules[PRESENT]
    if schedule.faults == MOST_FAULTS:
        return near_us
    fault = faults_of(tables, PRESENT)[schedule.faults]
    schedule.faults += 1
    fault.choice = _draw_choice(tables)
    _draw_fault_time(tables, fault, from_us, near_us)
    if fault.for_us != NONE and below(tables, 2) == 0:
        return min(fault.at_us + fault.for_us, tables.drawing[0].end_us)
    return fault.at_us


@inner_rule
def _add_step(tables: Drawn, from_us: int, near_us: int) -> None:
    """Add a step close to a moment, if there is a place for it."""
    schedule = tables.schedules[PRESENT]
    if schedule.steps == MOST_STEPS:
        return
    step = steps_of(tables, PRESENT)[schedule.steps]
    schedule.steps += 1
    step.choice = below(tables, len(tables.step_choices))
    step.at_us = _moment_us(tables, from_us, near_us)


@inner_rule
def _add_pin(tables: Drawn, from_us: int, near_us: int) -> int:
    """Add a pin if there is a place for it; a moment to be close to."""
    drawing, schedule = tables.drawing[0], tables.schedules[PRESENT]
    if schedule.pins == MOST_PINS or len(tables.pin_choices) == 0:
        return near_us
    pin = pins_of(tables, PRESENT)[schedule.pins]
    schedule.pins += 1
    pin.choice = below(tables, len(tables.pin_choices))
    pin.at_us = _moment_us(tables, from_us, near_us)
    pin.for_us = min(_duration_us(tables), drawing.end_us - pin.at_us)
    pin.nth = 1
    if below(tables, 4) == 0:
        pin.nth += below(tables, 3)
    pin.count = 1
    if below(tables, 3) == 0:
        pin.count += below(tables, 8)
    return pin.at_us + (pin.for_us if below(tables, 2) == 0 else 0)


@inner_rule
def _draw_from_kept(tables: Drawn) -> None:
    """Change a kept schedule whose state was seen seldom."""
    drawing = tables.drawing[0]
    chosen = NONE
    rarest = 0
    for _ in range(_COMPARED):
        place = below(tables, drawing.kept)
        schedule = tables.schedules[1 + place]
        seen = tables.seen[schedule.state].count + schedule.chosen
        if chosen == NONE or seen < rarest:
            chosen, rarest = 1 + place, seen
    tables.schedules[chosen].chosen += 1
    copy_schedule(tables, chosen, PRESENT)
    if below(tables, 3) > 0:
        _draw_rest_again(tables, tables.schedules[chosen].reached_us)
    else:
        for _ in range(1 + below(tables, 2)):
            _change_one(tables)


@inner_rule
def _draw_rest_again(tables: Drawn, reached_us: int) -> None:
    """Keep what comes before a time, and draw again what comes later."""
    drawing, schedule = tables.drawing[0], tables.schedules[PRESENT]
    faults, steps = faults_of(tables, PRESENT), steps_of(tables, PRESENT)
    count = 0
    for place in range(schedule.faults):
        if faults[place].at_us <= reached_us:
            copy_fault(faults[place], faults[count])
            count += 1
    schedule.faults = count
    count = 0
    for place in range(schedule.steps):
        if steps[place].at_us <= reached_us:
            copy_step(steps[place], steps[count])
            count += 1
    schedule.steps = count
    pins = pins_of(tables, PRESENT)
    count = 0
    for place in range(schedule.pins):
        if pins[place].at_us <= reached_us:
            copy_pin(pins[place], pins[count])
            count += 1
    schedule.pins = count
    from_us = min(reached_us, drawing.end_us - _MS)
    near_us = from_us
    for _ in range(1 + below(tables, 3)):
        near_us = _add_fault(tables, from_us, near_us)
    if below(tables, 2) < drawing.most_pins:
        near_us = _add_pin(tables, from_us, near_us)
    for _ in range(1 + below(tables, 3)):
        _add_step(tables, from_us, _any_moment_us(tables))


@inner_rule
def _change_one(tables: Drawn) -> None:
    """Move, add or take out one deviation."""
    schedule, drawing = tables.schedules[PRESENT], tables.drawing[0]
    faults, steps = faults_of(tables, PRESENT), steps_of(tables, PRESENT)
    change = below(tables, 1 + (_DROP_PIN if drawing.most_pins > 0 else _CHANGE_FAULT))
    if change == _ADD_FAULT:
        _add_fault(tables, drawing.begin_us, _any_moment_us(tables))
    elif change == _ADD_STEP:
        _add_step(tables, drawing.begin_us, _any_moment_us(tables))
    elif change == _DROP_FAULT and schedule.faults > 1:
        schedule.faults -= 1
        copy_fault(faults[schedule.faults], faults[below(tables, schedule.faults + 1)])
    elif change == _DROP_STEP and schedule.steps > 1:
        schedule.steps -= 1
        copy_step(steps[schedule.steps], steps[below(tables, schedule.steps + 1)])
    elif change == _MOVE_STEP and schedule.steps > 0:
        step = steps[below(tables, schedule.steps)]
        step.at_us = _moment_us(tables, drawing.begin_us, step.at_us)
    elif change == _ADD_PIN:
        _add_pin(tables, drawing.begin_us, _any_moment_us(tables))
    elif change == _DROP_PIN and schedule.pins > 0:
        schedule.pins -= 1
        pins = pins_of(tables, PRESENT)
        copy_pin(pins[schedule.pins], pins[below(tables, schedule.pins + 1)])
    elif schedule.faults > 0:
        fault = faults[below(tables, schedule.faults)]
        near_us = fault.at_us
        if below(tables, 3) == 0:
            fault.choice = _draw_choice(tables)
        _draw_fault_time(tables, fault, drawing.begin_us, near_us)


@inner_rule
def _any_moment_us(tables: Drawn) -> int:
    """The begin or the end of some fault of the schedule: what a step is close to; NONE: none."""
    schedule = tables.schedules[PRESENT]
    if schedule.faults == 0:
        return NONE
    fault = faults_of(tables, PRESENT)[below(tables, schedule.faults)]
    if fault.for_us != NONE and below(tables, 2) == 0:
        return fault.at_us + fault.for_us
    return fault.at_us


@inner_rule
def _sort_steps(tables: Drawn) -> None:
    """The operator takes steps one after the other."""
    steps = steps_of(tables, PRESENT)
    for last in range(1, tables.schedules[PRESENT].steps):
        place = last
        while place > 0 and steps[place].at_us < steps[place - 1].at_us:
            _swap(steps[place], steps[place - 1])
            place -= 1


@inner_rule
def _swap(one: PlannedStep, other: PlannedStep) -> None:
    choice, at_us = one.choice, one.at_us
    copy_step(other, one)
    other.choice = choice
    other.at_us = at_us
