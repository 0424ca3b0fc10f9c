"""A campaign: schedules on many clusters, in the warm pool, and what came of them.

The work comes in units: a cluster that is drawn (``profiles.py``), and some thousand schedules on
it. A unit depends on the campaign's seed and its own number alone, so the findings of so many units
are the same on any number of processors.

A finding of the check ``liveness`` is confirmed by a run with the liveness phase: a batch only sees
that some replica has not recovered some seconds after the last fault.
"""

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.fuzzing.fuzzed_cluster import Counts, FoundBreak, FuzzedCluster
from tidegauge.engine.pool import in_order, run_on_pool
from tidegauge.replication.release_versions import Mode
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.search.judged_runs import judged
from tidegauge.search.profiles import FuzzedKind, drawn_profile
from tidegauge.search.voter_profiles import drawn_voter_profile
from tidegauge.simulation.messages.kinds import MESSAGES_OF_MODE, NAMES
from tidegauge.simulation.trace_rows.schema import ROW_KINDS
from tidegauge.traces.checks import LIVENESS
from tidegauge.traces.checks.histories import PERMITS

#: Schedules of a unit: a cluster takes as long to start as some three hundred of them.
UNIT_RUNS = 5_000
#: ... if voters change: clusters differ more than schedules do.
_VOTER_UNIT_RUNS = 250
#: Schedules that are planned where time alone ends a search.
MANY_RUNS = 100_000_000
#: Schedules between two looks at the findings.
_BATCH_RUNS = 1_000
#: Runs of a unit that had not recovered by themselves, of which at most so many are run again: they
#: recover in the liveness phase, or are findings.
_RUN_AGAIN = 60
#: ... until so many findings are confirmed.
_CONFIRMED = 4


class Unit(NamedTuple):
    """A cluster, and the schedules that are tried on it."""

    kind: FuzzedKind
    seed: int
    number: int
    runs: int
    #: Schedules are made of those that have reached new states.
    is_guided: bool


class UnitOutcome(NamedTuple):
    """What came of a unit."""

    counts: Counts
    #: Findings by the check that broke first: their number, and the smallest of each.
    found: Mapping[str, int]
    smallest: Mapping[str, FoundBreak]
    #: For each check that broke, first or later: the first run in which it did.
    broken: Mapping[str, FoundBreak]
    #: By the reason in words: the scenario of a run with a break that is permitted.
    permitted: Mapping[str, dict[str, Any]]
    #: By kind: the faults that have begun.
    faults_drawn: Mapping[str, int]
    #: Runs that had not recovered by themselves: those that did in the liveness phase, and those
    #: that were not run again.
    slow_recoveries: int
    not_run_again: int


def run_unit(unit: Unit) -> UnitOutcome:
    """Try the schedules of a unit.

    Raises:
        ScenarioError: there is no such cluster.
    """
    draw = drawn_voter_profile if unit.kind.changes_voters else drawn_profile
    profile = draw(unit.kind, unit.seed, unit.number)
    cluster = FuzzedCluster(profile, unit.seed * 1_000_003 + unit.number, is_guided=unit.is_guided)
    found: Counter[str] = Counter()
    smallest: dict[str, FoundBreak] = {}
    unrecovered: list[FoundBreak] = []
    done = 0
    while done < unit.runs:
        done += cluster.run(min(_BATCH_RUNS, unit.runs - done))
        for each in cluster.take_found():
            if each.check == LIVENESS.name:
                unrecovered.append(each)
            else:
                found[each.check] += 1
                _keep_smaller(smallest, each)
    slow = 0
    for each in unrecovered[:_RUN_AGAIN]:
        if found[LIVENESS.name] == _CONFIRMED:
            break
        if _stays(each.scenario):
            found[LIVENESS.name] += 1
            _keep_smaller(smallest, each)
        else:
            slow += 1
    counts = cluster.counts()
    kinds: Counter[str] = Counter()
    for choice, times in zip(profile.choices, counts.faults_drawn, strict=True):
        kinds[str(choice["kind"])] += times
    broken = cluster.broken()
    if LIVENESS.name in smallest:
        broken[LIVENESS.name] = smallest[LIVENESS.name]
    permitted = {PERMITS[reason]: cluster.permitted(reason) for reason in counts.permitted}
    again = slow + found[LIVENESS.name]
    return UnitOutcome(
        counts, +found, smallest, broken, permitted, kinds, slow, len(unrecovered) - again
    )


def _keep_smaller(smallest: dict[str, FoundBreak], found: FoundBreak) -> None:
    """Keep a finding if there is none of its check with as few deviations."""
    known = smallest.get(found.check)
    if known is None or _deviations(found.scenario) < _deviations(known.scenario):
        smallest[found.check] = found


def _deviations(scenario: Mapping[str, Any]) -> int:
    return sum(len(scenario.get(part, ())) for part in ("faults", "steps", "pins"))


def _stays(scenario: Mapping[str, Any]) -> bool:
    """Whether a run does not recover in the liveness phase either, and nothing permits that."""
    plan = ClusterPlan(scenario_from_mapping(scenario, "fuzz"))
    return bool(judged(plan).verdicts()[LIVENESS.name]["broken"])


@dataclass
class Campaign:
    """What came of all units so far."""

    units: int = 0
    runs: int = 0
    #: Runs that had what the gates require; that ran out of room.
    counted: int = 0
    overflows: int = 0
    events: int = 0
    rows: int = 0
    lossy: int = 0
    slow_recoveries: int = 0
    not_run_again: int = 0
    found: Counter[str] = field(default_factory=Counter)
    #: The smallest finding of each check.
    smallest: dict[str, FoundBreak] = field(default_factory=dict)
    #: Runs with breaks that are permitted, by the reason; and a scenario of each.
    permitted: Counter[str] = field(default_factory=Counter)
    permitted_scenarios: dict[str, dict[str, Any]] = field(default_factory=dict)
    ticks: Counter[str] = field(default_factory=Counter)
    faults_drawn: Counter[str] = field(default_factory=Counter)
    rows_written: Counter[str] = field(default_factory=Counter)
    messages: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: UnitOutcome, mode: Mode) -> None:
        """Add the outcome of the next unit, of clusters in a mode."""
        counts = outcome.counts
        self.units += 1
        self.runs += counts.runs
        self.counted += counts.counted
        self.overflows += counts.overflows
        self.events += counts.events
        self.rows += counts.rows
        self.lossy += counts.lossy
        self.slow_recoveries += outcome.slow_recoveries
        self.not_run_again += outcome.not_run_again
        self.found.update(outcome.found)
        for each in outcome.smallest.values():
            _keep_smaller(self.smallest, each)
        for reason, runs in counts.permitted.items():
            self.permitted[PERMITS[reason]] += runs
        for words, scenario in outcome.permitted.items():
            self.permitted_scenarios.setdefault(words, scenario)
        self.ticks.update(counts.ticks)
        self.faults_drawn.update(outcome.faults_drawn)
        for kind, times in enumerate(counts.rows_written):
            if kind in ROW_KINDS and ROW_KINDS[kind].canonical:
                self.rows_written[ROW_KINDS[kind].name] += times
        for kind, times in enumerate(counts.kinds_handled):
            if NAMES.get(kind) in MESSAGES_OF_MODE[mode]:
                self.messages[NAMES[kind]] += times

    @property
    def never_written(self) -> list[str]:
        """The kinds of canonical rows that no run has written."""
        return sorted(name for name, times in self.rows_written.items() if times == 0)

    @property
    def never_sent(self) -> list[str]:
        """The kinds of messages that no run has sent."""
        return sorted(name for name, times in self.messages.items() if times == 0)


def units_of(kinds: Sequence[FuzzedKind], seed: int, runs: int, *, is_guided: bool) -> list[Unit]:
    """The units of a campaign.

    Args:
        kinds: the kinds of clusters, each in turn.
        seed: the campaign's seed.
        runs: the number of schedules.
        is_guided: schedules are made of those that have reached new states.
    """
    unit_runs = _VOTER_UNIT_RUNS if kinds[0].changes_voters else UNIT_RUNS
    return [
        Unit(kinds[number % len(kinds)], seed, number, min(unit_runs, runs - begin), is_guided)
        for number, begin in enumerate(range(0, runs, unit_runs))
    ]


def performed(
    units: Sequence[Unit],
    jobs: int | None = None,
    address: str | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> Generator[tuple[Unit, UnitOutcome]]:
    """Perform units in the warm pool; yield the outcome of each, in the order of the units.

    One job is this process, without a pool. Arguments are those of ``engine/pool.py``; the caller
    has to close the iterator.

    Raises:
        RayUnavailableError: Ray cannot be joined.
        TidegaugeError: a unit has failed.
    """
    if jobs == 1 and address is None:
        yield from ((unit, run_unit(unit)) for unit in units)
        return
    with closing(run_on_pool(run_unit, units, jobs, address, warn)) as calls:
        for ended in in_order(calls):
            unit = units[ended.number]
            if ended.result is None:
                raise TidegaugeError(f"unit {unit.number} of seed {unit.seed}: {ended.error}")
            yield unit, ended.result
