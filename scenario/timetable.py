"""The faults and steps of a scenario, in words and in the order of time.

A step that waits for a condition has no time before the run. It is listed at the time of the step
before it, since it is not taken earlier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tidegauge.scenario.model.faults import (
    RACK,
    CutLinkFault,
    Fault,
    RollingRestartFault,
    Selector,
    SlowLinkFault,
    fault_name,
)
from tidegauge.scenario.model.steps import Step
from tidegauge.scenario.reading import Scenario
from tidegauge.scenario.text.counted import counted
from tidegauge.simulation.durations import format_duration

#: The effect of a fault, by its kind; in the passive, about ``{who}``.
_FAULTS = {
    "pause": "{who} stopped (SIGSTOP)",
    "crash": "{who} killed (SIGKILL)",
    "power_loss": "{who} without power",
    "restart": "{who} shut down cleanly (SIGTERM)",
    "controller_move": "/controller deleted: a new controller is elected",
    "slow_disk": "disks slow: {who}",
    "log_directory_failure": "log directory {directory} {how}: {who}",
    "slow_link": "links slow, {delay} more a message: {links}",
    "cut_link": "links cut: {links}",
    "zookeeper_outage": "ZooKeeper does not respond ({how})",
}
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
    words = _of_fault(scenario, fault)
    return f"{fault_name(scenario.faults, place)}: {words}{_lasting(fault)}"


def _of_fault(scenario: Scenario, fault: Fault) -> str:
    if isinstance(fault, RollingRestartFault):
        count = len(scenario.brokers_in_turn(fault))
        each = format_duration(fault.stopped_for_us)
        return (
            f"{counted(count, 'broker')} restarted cleanly, {fault.batch} at a time, each down for "
            f"{each}"
        )
    said: dict[str, Any] = {"how": getattr(fault, "how", "")}
    said["who"] = _who(scenario, getattr(fault, "brokers", ()))
    said["directory"] = getattr(fault, "directory", 0)
    if isinstance(fault, SlowLinkFault | CutLinkFault):
        one, other = (", ".join(map(str, ends)) for ends in fault.between)
        said["links"] = f"{one} {'->' if fault.one_way else '<->'} {other}"
    if isinstance(fault, SlowLinkFault):
        said["delay"] = format_duration(fault.delay_us)
    return _FAULTS[fault.kind].format_map(said)


def _who(scenario: Scenario, selectors: Sequence[Selector]) -> str:
    """The brokers and racks that selectors name, with the number of brokers in a rack."""
    named = []
    for selector in selectors:
        if selector.kind == RACK:
            brokers = len(scenario.brokers_of([selector]))
            named.append(f"rack {selector.name} ({brokers} broker{'s' * (brokers != 1)})")
        elif selector.selects_brokers:
            named.append(f"broker {selector.broker}")
        else:
            named.append(str(selector))
    return ", ".join(named)


def _lasting(fault: Fault) -> str:
    if fault.kind == "controller_move":
        return ""
    if fault.for_us is not None:
        return f", for {format_duration(fault.for_us)}"
    if isinstance(fault, RollingRestartFault):
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
