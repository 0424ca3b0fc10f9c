"""The faults and steps of a scenario, in words and in the order of time.

A step that waits for a condition has no time before the run. It is listed at the time of the step
before it, since it is not taken earlier.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tidegauge.scenario.model.faults import Fault, fault_name
from tidegauge.scenario.model.steps import Step
from tidegauge.scenario.reading import Scenario
from tidegauge.simulation.durations import format_duration

#: Fields of a step for its time and its name.
_WHEN = {"do", "at", "after", "when", "within"}
#: More things than these are counted rather than named.
_NAMED = 3


class Planned(NamedTuple):
    """A planned fault or step."""

    #: Its time, or its earliest time.
    time_us: int
    #: Whether that is its exact time, and not only its earliest one.
    is_exact: bool
    words: str


def timetable(scenario: Scenario) -> list[Planned]:
    """All faults that have a time, and all steps."""
    faults = [
        Planned(fault.at_us, True, fault_words(scenario, place))
        for place, fault in enumerate(scenario.faults)
        if fault.at_us is not None
    ]
    return sorted([*faults, *_steps(scenario)], key=lambda planned: planned.time_us)


def fault_words(scenario: Scenario, place: int) -> str:
    """A fault in words: its name, its effect and its duration."""
    fault = scenario.faults[place]
    name = fault_name(scenario.faults, place)
    return f"{name}: {fault.words(scenario)}{_lasting(fault)}"


def _lasting(fault: Fault) -> str:
    if fault.for_us is not None:
        return f", for {format_duration(fault.for_us)}"
    if fault.is_over_at_once or fault.is_planned:
        return ""
    return ", until a step or the run ends it"


def _steps(scenario: Scenario) -> Iterator[Planned]:
    earliest_us = 0
    is_exact = True
    for step in scenario.steps:
        if step.at_us is not None:
            # It also waits for the step before it, which takes no time if all goes well.
            earliest_us, is_exact = max(earliest_us, step.at_us), True
        elif step.after_us is not None:
            earliest_us += step.after_us
        else:
            is_exact = False
        yield Planned(earliest_us, is_exact, f"step: {_of_step(step)}")


def _of_step(step: Step) -> str:
    said = step.model_dump(mode="json", by_alias=True, exclude_unset=True)
    words = [
        step.do,
        *(f"{key}={_short(value)}" for key, value in said.items() if key not in _WHEN),
    ]
    if step.when is not None and step.within_us is not None:
        condition = ", ".join(f"{key} {_short(value)}" for key, value in said["when"].items())
        words.append(f"as soon as {condition}, within {format_duration(step.within_us)}")
    return " ".join(words)


def _short(value: Any) -> str:
    """A value of a step, in short form."""
    if isinstance(value, list) and len(value) > _NAMED:
        return f"({len(value)} of them)"
    if isinstance(value, list):
        return f"[{', '.join(map(_short, value))}]"
    if isinstance(value, dict):
        return " ".join(f"{key}={_short(each)}" for key, each in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)
