"""Trials: runs of smaller scenarios without a trace, in this process or on warm actors.

A small run takes some milliseconds, less than Ray's start takes over all trials. So actors are used
only where one run takes long. Either way the first scenario in order that fails is found.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.pool import run_on_pool, warm_pool
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import ScenarioError, scenario_from_mapping
from tidegauge.search.failures import Failure
from tidegauge.search.judged_runs import Judged, judged
from tidegauge.search.reduced_scenarios import Written

#: Rules that differ from every release, as ``simulate`` takes them.
Switches: TypeAlias = Mapping[str, int | bool]

#: Actors take some 5 s to start, and runs soon get shorter.
LONG_S = 2.0


class StillFails(Protocol):
    """Finds the first of some scenarios that still fails."""

    def __call__(self, candidates: Sequence[Written]) -> int | None:
        """Its place; None: none fails."""


class Sought(NamedTuple):
    """The failure that trials look for."""

    failure: Failure
    #: The name of the scenario, for errors.
    source: str
    switches: Switches | None

    def is_in(self, written: Written) -> bool:
        """Whether the run of a scenario shows it."""
        try:
            return self.failure.happens_in(run_of(written, self.source, self.switches))
        except ScenarioError:
            # A part that is gone was needed by another one.
            return False

    def broken_us_of(self, written: Written) -> int | None:
        """The time at which the run of a scenario shows it, in microseconds; None: it has none."""
        return self.broken_us_in(run_of(written, self.source, self.switches))

    def broken_us_in(self, run: Judged) -> int | None:
        """The time at which a run shows it, in microseconds; None: it has none."""
        event = self.failure.event_in(run)
        return None if event is None else int(event["time_us"])


class Trials(NamedTuple):
    """A way to try scenarios."""

    first_failing: StillFails
    #: The number of scenarios that are tried at the same time.
    at_once: int


def run_of(written: Written, source: str, switches: Switches | None = None) -> Judged:
    """The run of a scenario, without a trace.

    Raises:
        ScenarioError: it cannot be run.
    """
    return judged(ClusterPlan(scenario_from_mapping(written, source), switches or {}))


@contextmanager
def trials_for(sought: Sought, took_s: float, jobs: int | None) -> Iterator[Trials]:
    """The faster way to try scenarios.

    Args:
        sought: the failure.
        took_s: the time that a run has taken, in seconds.
        jobs: the number of parallel trials, if one takes long; None: the number of CPUs.
    """
    at_once = jobs or os.cpu_count() or 1
    here = Trials(partial(_first_here, sought), 1)
    if at_once == 1 or took_s < LONG_S:
        yield here
        return
    with warm_pool(__name__) as is_warm:
        yield Trials(partial(_first_on_pool, sought, at_once), at_once) if is_warm else here


def _first_here(sought: Sought, candidates: Sequence[Written]) -> int | None:
    return next((place for place, each in enumerate(candidates) if sought.is_in(each)), None)


def _first_on_pool(sought: Sought, jobs: int, candidates: Sequence[Written]) -> int | None:
    failing = []
    inputs = [(sought, written) for written in candidates]
    with closing(run_on_pool(_is_in, inputs, jobs)) as calls:
        for ended in calls:
            if ended.error is not None:
                raise TidegaugeError(f"{sought.source}: a trial failed: {ended.error}")
            if ended.result:
                failing.append(ended.number)
    return min(failing, default=None)


def _is_in(trial: tuple[Sought, Written]) -> bool:
    sought, written = trial
    return sought.is_in(written)
