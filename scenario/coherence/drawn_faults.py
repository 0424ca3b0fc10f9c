"""Faults drawn from rates before the run: each component works, fails, is repaired, works again.

The working time of a component is drawn from an exponential distribution, that of components that
do not age: a table of integers up to the last sixteenth of probability; beyond it, another draw is
added. Each component has its own random streams, so another rate or another broker does not change
the draws of the others.
"""

from collections.abc import Iterator
from itertools import count

from pydantic import TypeAdapter

from tidegauge.compiled.records import column, new_records
from tidegauge.scenario.coherence.quorum_coherence import disks_lost_too_often
from tidegauge.scenario.model.component_faults import Fault
from tidegauge.scenario.model.costs import Latency
from tidegauge.scenario.model.fault_rates import FaultRate
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.model.selectors import CONTROLLER, CONTROLLERS, Selector, as_written
from tidegauge.scenario.text.errors import Path, Problem
from tidegauge.simulation import random_streams
from tidegauge.simulation.quantities import format_duration

#: Most faults that can be drawn for one run: each takes memory in every process.
MOST_FAULTS = 2000

#: The exponential distribution with a mean of 1, at 0/16 to 15/16 of probability: in 1/65536.
_QUANTILES = (
    *(0, 4230, 8751, 13608, 18854, 24556, 30802, 37707),
    *(45426, 54177, 64280, 76228, 90852, 109706, 136278, 181704),
)
_ONE = 65536
_LAST = len(_QUANTILES) - 1
#: Components of one rate, at most.
_COMPONENTS = 1 << 20

_FAULT: TypeAdapter[Fault] = TypeAdapter(Fault)


def with_drawn_faults(scenario: Scenario) -> Scenario:
    """The scenario with the faults of its rates drawn: they follow those that it names."""
    if not scenario.fault_rates:
        return scenario
    drawn = [
        fault
        for place, rate in enumerate(scenario.fault_rates)
        for fault in _faults_of(scenario, place, rate)
    ]
    return scenario.with_drawn_faults(drawn)


def problems_of_rates(scenario: Scenario) -> Iterator[Problem]:
    """The problems of the drawn faults; each rate on its own is valid."""
    names = {fault.name for fault in scenario.faults}
    drawn = 0
    all_faults: list[tuple[Path, Fault]] = [((), fault) for fault in scenario.faults]
    for place, rate in enumerate(scenario.fault_rates):
        for fault in _faults_of(scenario, place, rate):
            drawn += 1
            all_faults.append((("fault_rates", place, "mtbf"), fault))
            if fault.name in names:
                message = (
                    f"draws a fault {fault.name}, but another fault has that name: give the rate "
                    "a name"
                )
                yield Problem(("fault_rates", place), message)
                return
            names.add(fault.name)
            if drawn > MOST_FAULTS:
                message = (
                    f"draws more than {MOST_FAULTS} faults, together with the rates before: use "
                    "a longer mtbf"
                )
                yield Problem(("fault_rates", place, "mtbf"), message)
                return
    yield from disks_lost_too_often(scenario, all_faults)


def _faults_of(scenario: Scenario, place: int, rate: FaultRate) -> Iterator[Fault]:
    """The faults of one rate, component by component."""
    stop_us = scenario.duration_us if rate.stop_us is None else rate.stop_us
    stop_us = min(stop_us, scenario.duration_us)
    written = rate.fault.model_dump(mode="json", by_alias=True, exclude_none=True)
    name = rate.name or str(rate.fault.kind)
    for number, (component, hit) in enumerate(_components(scenario, rate)):
        owner = place * _COMPONENTS + number
        time_us = rate.start_us
        works = _working_times_us(scenario.seed, owner, rate.mtbf_us)
        for repair in count():
            time_us += next(works)
            if time_us >= stop_us:
                break
            drawn = {"name": f"{name}{component}-{repair + 1}", "at": format_duration(time_us)}
            if rate.repair_time is not None:
                lasts_us = _repair_us(scenario.seed, owner, repair, rate.repair_time)
                drawn["for"] = format_duration(lasts_us)
                time_us += lasts_us
            yield _FAULT.validate_python(written | hit | drawn)


def _components(
    scenario: Scenario, rate: FaultRate
) -> Iterator[tuple[str, dict[str, list[int | str]]]]:
    """A component that fails on its own: its name, and its own part of the fault."""
    selectors = getattr(rate.fault, "brokers", None)
    if selectors is None:
        yield "", {}
    else:
        single = {CONTROLLER, CONTROLLERS}
        alone = [
            each
            for each in selectors
            if rate.each == "selector" or not (each.selects_brokers or each.kind in single)
        ]
        others = [each for each in selectors if each not in alone]
        brokers = scenario.brokers_of(others)
        controllers = scenario.controllers_of(each for each in others if each.kind in single)
        alone = [Selector(CONTROLLER, number) for number in controllers] + alone
        for component in (*brokers, *map(as_written, alone)):
            yield f"-{component}", {"brokers": [component]}


def _working_times_us(seed: int, owner: int, mean_us: int) -> Iterator[int]:
    """The durations for which a component works, at least a microsecond each."""
    counter = count()
    while True:
        drawn = 0
        while (
            uniform := random_streams.draw(seed, int(random_streams.FAILURE), owner, next(counter))
        ) >> 28 == _LAST:
            drawn += _QUANTILES[_LAST]
        place = uniform >> 28
        low, high = _QUANTILES[place : place + 2]
        drawn += low + ((high - low) * ((uniform >> 12) & 0xFFFF) >> 16)
        yield max(1, mean_us * drawn // _ONE)


def _repair_us(seed: int, owner: int, repair: int, lasts: Latency) -> int:
    """The duration of the next repair."""
    table = new_records(random_streams.Quantile, int(random_streams.QUANTILES))
    column(table, "value_us")[:] = lasts.quantiles_us()
    return int(
        random_streams.quantile_us(
            table, 0, random_streams.draw(seed, int(random_streams.REPAIR), owner, repair)
        )
    )
