"""The names of the figures that runs of a scenario have: ``produce_ms.shop.p99``.

``traces/figures.yaml`` defines the forms of figures; a scenario's topics, groups, steps and
faults fill in what is written in capitals there. No run is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.faults import fault_name
from tidegauge.scenario.reading import Scenario
from tidegauge.simulation.costs import COST_NAMES
from tidegauge.traces.checks import CHECKS, LIVENESS
from tidegauge.traces.summary_figures import (
    FORMS,
    KRAFT_PROCESS_KINDS,
    PROCESS_KINDS,
    Figure,
)

_CAPITALS = re.compile(r"[A-Z]{2,}")


class FigureNames:
    """The figures that runs of one scenario have."""

    def __init__(self, scenario: Scenario) -> None:
        """No run is needed: all names follow from the scenario."""
        plan = ClusterPlan(scenario)
        self._named: Mapping[str, tuple[str, ...]] = {
            "TOPIC": tuple(dict.fromkeys(each.topic for each in plan.partitions)),
            "PARTITION": tuple(f"{each.topic}-{each.number}" for each in plan.partitions),
            "GROUP": tuple(group.name for group in scenario.workload.producers),
            "STEP": tuple(moving_steps(scenario).values()),
            "FAULT": tuple(fault_name(plan.faults, place) for place in range(len(plan.faults))),
            "CHECK": tuple(_checks(scenario)),
            "KIND": KRAFT_PROCESS_KINDS if scenario.has_kraft else PROCESS_KINDS,
            "COST": tuple(f"costs.{name}" for name in COST_NAMES),
        }
        #: The names of faults that are drawn from the seed.
        self._drawn = tuple(rate.name or str(rate.fault.kind) for rate in scenario.fault_rates)
        has = {"": True, "racks": has_racks(scenario), "liveness": bool(scenario.liveness)}
        #: The forms that have at least one figure.
        self.forms = tuple(
            form
            for form in FORMS
            if has[form.only_with] and next(self.names_of(form), None) is not None
        )

    def names_of(self, form: Figure) -> Iterator[str]:
        """The names of one form, in the order of the scenario's parts that they belong to."""
        found = _CAPITALS.search(form.name)
        if found is None:
            yield form.name
            return
        for name in self._named[found.group()]:
            yield form.name[: found.start()] + name + form.name[found.end() :]

    def all_names(self) -> Iterator[str]:
        """All names of all forms."""
        for form in self.forms:
            yield from self.names_of(form)

    def may_be_drawn(self, name: str) -> bool:
        """Whether it is the duration of a fault that some seed draws from a rate."""
        return any(
            re.fullmatch(re.escape(rate) + r"(-.+)?-[0-9]+\.seconds", name) for rate in self._drawn
        )


def has_racks(scenario: Scenario) -> bool:
    """Whether the brokers are in several racks, so that an ISR can be in one or more of them."""
    return len(scenario.cluster.racks) > 1


def moving_steps(scenario: Scenario) -> dict[int, str]:
    """The steps that move replicas, by their places: each with its name in ``--set``."""
    return {place: f"steps.{place}" for place, step in enumerate(scenario.steps) if step.moves()}


def unknown_figures(names: Iterable[str], scenarios: Iterable[Scenario]) -> dict[str, set[str]]:
    """The names that are figures of none of these scenarios, and the known names.

    Further scenarios are read only while a name is unknown.
    """
    unknown = dict.fromkeys(names)
    known: set[str] = set()
    for scenario in scenarios:
        if not unknown:
            break
        figures = FigureNames(scenario)
        known.update(figures.all_names())
        unknown = {
            name: None for name in unknown if name not in known and not figures.may_be_drawn(name)
        }
    return dict.fromkeys(unknown, known)


def _checks(scenario: Scenario) -> Iterator[str]:
    """The names of the checks that the scenario's mode has, the liveness check last."""
    for check in CHECKS.values():
        if scenario.has_kraft or not check.only_with_kraft:
            yield check.name
    yield LIVENESS.name
