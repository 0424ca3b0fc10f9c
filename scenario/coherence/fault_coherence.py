"""Coherence of a scenario's faults with its cluster, and with the steps that begin and end them."""

from __future__ import annotations

from collections.abc import Iterator

from tidegauge.scenario.model.operator_steps import BeginFaultStep, EndFaultStep
from tidegauge.scenario.model.references import no_such, repeated_names, too_late
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.text.errors import Problem
from tidegauge.simulation.durations import format_duration


def problems_of_faults(scenario: Scenario) -> Iterator[Problem]:
    """Check that each fault begins once, and that its targets exist."""
    yield from repeated_names("faults", (fault.name for fault in scenario.faults))
    begun = {step.fault for step in scenario.steps if isinstance(step, BeginFaultStep)}
    for place, fault in enumerate(scenario.faults):
        path = ("faults", place)
        if fault.at_us is not None:
            yield from too_late((*path, "at"), fault.at_us, scenario)
        elif fault.name not in begun:
            yield Problem(path, "never begins: it needs `at`, or a name and a step begin_fault")
        yield from fault.problems(path, scenario)


def problems_of_fault_rates(scenario: Scenario) -> Iterator[Problem]:
    """Check that the targets of rates exist, and that their faults can begin within the run."""
    for place, rate in enumerate(scenario.fault_rates):
        path = ("fault_rates", place)
        yield from too_late((*path, "start"), rate.start_us, scenario)
        if rate.stop_us is not None and rate.stop_us <= rate.start_us:
            start = format_duration(rate.start_us)
            yield Problem((*path, "stop"), f"must be after the start, which is at {start}")
        yield from rate.fault.problems(path, scenario)


def problems_of_fault_steps(scenario: Scenario) -> Iterator[Problem]:
    """Check that steps begin and end existing faults, in a valid order."""
    faults = {fault.name: fault for fault in scenario.faults if fault.name is not None}
    begun = {name for name, fault in faults.items() if fault.at_us is not None}
    for place, step in enumerate(scenario.steps):
        if not isinstance(step, BeginFaultStep | EndFaultStep):
            continue
        path = ("steps", place, "fault")
        if step.fault not in faults:
            yield Problem(path, no_such("fault", step.fault, faults))
        elif isinstance(step, EndFaultStep):
            if faults[step.fault].is_over_at_once:
                what = faults[step.fault].kind.replace("_", " ")
                yield Problem(path, f"{step.fault} is a {what}, which is over at once")
            elif step.fault not in begun:
                yield Problem(path, f"{step.fault} has not begun: no step before begins it")
        elif faults[step.fault].at_us is not None:
            yield Problem(path, f"{step.fault} has `at`, so it begins by itself")
        elif step.fault in begun:
            yield Problem(path, f"{step.fault} was begun by an earlier step")
        else:
            begun.add(step.fault)
