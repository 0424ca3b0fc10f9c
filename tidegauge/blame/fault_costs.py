"""The true cost of each fault of a run: differences between runs with and without it.

f(S) is a figure of the run that has the faults S and no others of those that are judged. What only
the faults S together cause is m(S): f(S) without what their subsets cause, which is the sum of
(-1)^(|S|-|T|) f(T) over all subsets T (Möbius inversion). So f(all) is f(none) plus all m(S),
exactly: figures are decimal numbers here. Of many faults only single ones and pairs are run, and
what three or more cause together is one rest.

m(disk) is what a disk costs alone, f(all) - f(all but disk) what would have been saved without it.
Both are the same if faults do not meet.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from tidegauge.analysis.over_seeds import OverSeeds, over_seeds
from tidegauge.blame.fault_runs import Faults
from tidegauge.runs.figures import figure_named
from tidegauge.sweeps.many_runs import Outcome
from tidegauge.traces.summary_figures import Figure, is_left_out_at_zero

#: The format that ``blame.json`` names.
FORMAT = "tidegauge-blame"

#: Runs of one seed by their faults, with one figure of each.
Values = Mapping[Faults, Decimal]


class Costs(NamedTuple):
    """One figure with one seed, split among the faults."""

    #: With all faults, and with none of them.
    whole: Decimal
    none: Decimal
    #: What only these faults together cause: of single ones, of pairs, of more if these were run.
    parts: Mapping[Faults, Decimal]
    #: What all larger sets of faults cause together.
    rest: Decimal
    #: With all faults but this one, by its place.
    all_but: Sequence[Decimal]


def costs_of(values: Values, count: int) -> Costs:
    """Split a figure among so many faults; ``whole`` is ``none``, all ``parts`` and ``rest``.

    Args:
        values: the figure of each run: of all sets of up to some number of faults, of all faults,
            and of all but each.
        count: the number of faults.
    """
    none, everything = frozenset[int](), frozenset(range(count))
    whole = values[everything]
    parts: dict[Faults, Decimal] = {}
    for faults in sorted(values, key=len):
        smaller = [each for each in values if each < faults]
        if faults and len(smaller) == 2 ** len(faults) - 1:
            parts[faults] = (
                values[faults] - values[none] - sum(parts[each] for each in smaller if each)
            )
    rest = whole - values[none] - sum(parts.values())
    all_but = [values[everything - {place}] for place in range(count)]
    return Costs(whole, values[none], parts, rest, all_but)


class FigureCosts(NamedTuple):
    """One figure, split among the faults with each seed."""

    figure: Figure
    by_seed: Sequence[Costs]

    @property
    def differs(self) -> bool:
        """Whether any fault changes it."""
        return any(part for costs in self.by_seed for part in (*costs.parts.values(), costs.rest))

    def over_seeds(self, values: Sequence[Decimal]) -> OverSeeds:
        """The spread of one of its parts."""
        return over_seeds([float(value) for value in values])


class FaultCosts(NamedTuple):
    """The costs of the faults of a run."""

    #: The scenario of the run.
    scenario: str
    faults: Sequence[str]
    #: The first one is that of the run, unless others were asked for.
    seeds: Sequence[int]
    #: The number of runs that were made, and of those that began at a snapshot.
    runs: int
    from_snapshots: int
    #: The sets of faults that have a part of their own.
    sets: Sequence[Faults]
    #: All figures of the summary that are amounts, in the order of their importance.
    figures: Mapping[str, FigureCosts]

    @property
    def has_rest(self) -> bool:
        """Whether larger sets of faults were not run."""
        return len(self.sets) < 2 ** len(self.faults) - 1

    def name_of(self, faults: Faults) -> str:
        """The names of faults: ``roll + disk``."""
        return " + ".join(self.faults[place] for place in sorted(faults))

    @property
    def rest_name(self) -> str:
        """The name of what larger sets of faults cause."""
        most = max(map(len, self.sets))
        return f"the rest ({'two' if most == 1 else 'three'} and more together)"


def fault_costs(
    scenario: str,
    faults: Sequence[str],
    outcomes: Mapping[tuple[int, Faults], Outcome],
    *,
    runs: int,
    from_snapshots: int,
) -> FaultCosts:
    """Split all figures among the faults.

    Args:
        scenario: the name of the scenario.
        faults: the names of the faults.
        outcomes: of all runs, by their seeds and the faults that they have.
        runs: the number of runs that were made.
        from_snapshots: the number of those that began at a snapshot.
    """
    seeds = list(dict.fromkeys(seed for seed, _ in outcomes))
    figures = {}
    for figure in _amounts(list(outcomes.values())):
        by_seed = [
            costs_of(
                {
                    faults_of: _exact(outcome.figure(figure.name))
                    for (seed_of, faults_of), outcome in outcomes.items()
                    if seed_of == seed
                },
                len(faults),
            )
            for seed in seeds
        ]
        figures[figure.name] = FigureCosts(figure, by_seed)
    sets = list(next(iter(figures.values())).by_seed[0].parts)
    return FaultCosts(scenario, faults, seeds, runs, from_snapshots, sets, figures)


def _amounts(outcomes: Sequence[Outcome]) -> list[Figure]:
    """The figures of all runs of which a difference is a cost; a sparse one may be in some only."""
    names = dict.fromkeys(name for outcome in outcomes for name in outcome.figures)
    everywhere = (
        name
        for name in names
        if is_left_out_at_zero(name) or all(name in each.figures for each in outcomes)
    )
    return [figure for figure in map(figure_named, everywhere) if figure.is_amount]


def _exact(value: float | None) -> Decimal:
    """A figure as it is written in a summary."""
    assert value is not None
    return Decimal(repr(value))


def content_of(costs: FaultCosts) -> dict[str, Any]:
    """The content of ``blame.json``: each list has a value for each seed."""
    return {
        "format": FORMAT,
        "scenario": costs.scenario,
        "faults": list(costs.faults),
        "seeds": list(costs.seeds),
        "runs": costs.runs,
        "runs_from_snapshots": costs.from_snapshots,
        "rest": costs.rest_name if costs.has_rest else None,
        "figures": {name: _figure_content(costs, each) for name, each in costs.figures.items()},
    }


def _figure_content(costs: FaultCosts, figure: FigureCosts) -> dict[str, Any]:
    by_seed = figure.by_seed
    return {
        "unit": figure.figure.unit,
        "label": figure.figure.label,
        "whole": [_number(each.whole) for each in by_seed],
        "none": [_number(each.none) for each in by_seed],
        "parts": {
            costs.name_of(faults): [_number(each.parts[faults]) for each in by_seed]
            for faults in costs.sets
        },
        "rest": [_number(each.rest) for each in by_seed],
        "without": {
            fault: [_number(each.all_but[place]) for each in by_seed]
            for place, fault in enumerate(costs.faults)
        },
    }


def _number(value: Decimal) -> float:
    return int(value) if value == value.to_integral_value() else float(value)
