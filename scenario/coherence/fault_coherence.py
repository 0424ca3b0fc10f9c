"""Coherence of a scenario's faults with its cluster, and with the steps that begin and end them."""

from __future__ import annotations

from collections.abc import Iterator

from tidegauge.scenario.coherence.references import (
    no_replica,
    no_such,
    partition_is_there,
    repeated_names,
    selectors_are_there,
    too_late,
)
from tidegauge.scenario.model.faults import (
    ControllerMoveFault,
    CrashFault,
    CutLinkFault,
    Fault,
    LogDirectoryFailureFault,
    PauseFault,
    PowerLossFault,
    RestartFault,
    RollingRestartFault,
    Selector,
    SlowDiskFault,
    SlowLinkFault,
    SurvivingLog,
)
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.model.steps import BeginFaultStep, EndFaultStep
from tidegauge.scenario.text.errors import Path, Problem
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
        yield from _hit(path, fault, scenario)


def _hit(path: Path, fault: Fault, scenario: Scenario) -> Iterator[Problem]:
    """Check that the targets of a fault exist."""
    if isinstance(
        fault,
        PauseFault | CrashFault | RestartFault | RollingRestartFault | SlowDiskFault,
    ):
        yield from selectors_are_there((*path, "brokers"), fault.brokers, scenario)
    elif isinstance(fault, LogDirectoryFailureFault):
        yield from selectors_are_there((*path, "brokers"), fault.brokers, scenario)
        count = scenario.cluster.log_directories
        if fault.directory > count:
            yield Problem((*path, "directory"), f"each broker has {count} (log_directories)")
    elif isinstance(fault, PowerLossFault):
        problems = list(selectors_are_there((*path, "brokers"), fault.brokers, scenario))
        yield from problems or _kept_logs((*path, "keeps"), fault, scenario)
    elif isinstance(fault, SlowLinkFault | CutLinkFault):
        yield from _ends((*path, "between"), fault.between, scenario)


def problems_of_fault_rates(scenario: Scenario) -> Iterator[Problem]:
    """Check that the targets of rates exist, and that their faults can begin within the run."""
    for place, rate in enumerate(scenario.fault_rates):
        path = ("fault_rates", place)
        yield from too_late((*path, "start"), rate.start_us, scenario)
        if rate.stop_us is not None and rate.stop_us <= rate.start_us:
            start = format_duration(rate.start_us)
            yield Problem((*path, "stop"), f"must be after the start, which is at {start}")
        yield from _hit(path, rate.fault, scenario)


def _kept_logs(path: Path, fault: PowerLossFault, scenario: Scenario) -> Iterator[Problem]:
    """Check that these logs exist, each once, on brokers that lose power."""
    pinned = set()
    for place, kept in enumerate(fault.keeps):
        problems = list(partition_is_there((*path, place), kept, scenario))
        yield from problems
        if problems:
            continue
        message = _not_kept(kept, fault, scenario)
        log = (kept.topic, kept.partition, kept.broker)
        if message is None and log in pinned:
            message = "the log of this partition on this broker is named twice"
        if message is not None:
            yield Problem((*path, place, "broker"), message)
        pinned.add(log)


def _not_kept(kept: SurvivingLog, fault: PowerLossFault, scenario: Scenario) -> str | None:
    """The problem of a broker that is to keep its log of an existing partition."""
    hit = scenario.brokers_of(fault.brokers)
    if kept.broker not in scenario.broker_ids():
        return scenario.cluster.no_such_broker(kept.broker)
    if kept.broker not in hit:
        return f"broker {kept.broker} does not lose power in this fault, only {hit}"
    return no_replica(kept, kept.broker, scenario)


def _ends(
    path: Path, ends: tuple[tuple[Selector, ...], tuple[Selector, ...]], scenario: Scenario
) -> Iterator[Problem]:
    problems = [
        problem
        for side, selectors in enumerate(ends)
        for problem in selectors_are_there((*path, side), selectors, scenario)
    ]
    yield from problems
    if problems:
        return
    for selector in ends[1]:
        if set(scenario.endpoints_of([selector])) & set(scenario.endpoints_of(ends[0])):
            yield Problem(path, f"{selector} is on both sides, and no process has a link to itself")


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
            if isinstance(faults[step.fault], ControllerMoveFault):
                yield Problem(
                    path,
                    f"{step.fault} is a controller move, which is over at once",
                )
            elif step.fault not in begun:
                yield Problem(path, f"{step.fault} has not begun: no step before begins it")
        elif faults[step.fault].at_us is not None:
            yield Problem(path, f"{step.fault} has `at`, so it begins by itself")
        elif step.fault in begun:
            yield Problem(path, f"{step.fault} was begun by an earlier step")
        else:
            begun.add(step.fault)
