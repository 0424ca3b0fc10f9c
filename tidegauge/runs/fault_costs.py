"""The true cost of each fault of a run: differences between runs with and without it.

f(S) is a figure of the run that has the faults S and no others of those that are judged. What only
the faults S together cause is m(S): f(S) without what their subsets cause, which is the sum of
(-1)^(|S|-|T|) f(T) over all subsets T (Möbius inversion). So f(all) is f(none) plus all m(S),
exactly: figures are decimal numbers here. Of many faults only single ones and pairs are run, and
what more of them cause together is one rest.

m(disk) is what a disk costs alone, f(all) - f(all but disk) what would have been saved without it.
Both are the same if faults do not meet.

``sweeps/fault_runs.py`` has the runs, ``told_costs.py`` the words. ``tidegauge blame`` writes the
costs into ``blame.json``.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from tidegauge.runs.figures import figure_named, rank_of
from tidegauge.runs.histories import History, history_of
from tidegauge.traces.run_files import BLAME
from tidegauge.traces.summary_figures import Figure, is_left_out_at_zero

#: Some of the faults that are judged, by their places among these.
Faults = frozenset[int]

#: The format that ``blame.json`` names.
FORMAT = "tidegauge-blame"

#: The most figures that are shown, unless more are asked for.
_SHOWN = 16


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


#: A part of a split figure.
Part = Callable[[Costs], Decimal]


def whole(costs: Costs) -> Decimal:
    """The figure with all faults."""
    return costs.whole


def none(costs: Costs) -> Decimal:
    """The figure without any of the faults."""
    return costs.none


def caused_by(faults: Faults) -> Part:
    """What only these faults together cause."""
    return lambda costs: costs.parts[faults]


def together(costs: Costs) -> Decimal:
    """What faults cause only because they meet."""
    return costs.rest + sum(part for faults, part in costs.parts.items() if len(faults) > 1)


def rest(costs: Costs) -> Decimal:
    """What larger sets of faults than those that were run cause together."""
    return costs.rest


def without(place: int) -> Part:
    """The figure with all faults but one."""
    return lambda costs: costs.all_but[place]


def saved_without(place: int) -> Part:
    """What would be different without a fault."""
    return lambda costs: costs.all_but[place] - costs.whole


def costs_of(values: Mapping[Faults, Decimal], count: int) -> Costs:
    """Split a figure among so many faults; ``whole`` is ``none``, all ``parts`` and ``rest``.

    Args:
        values: the figure of each run: of all sets of up to some number of faults, of all faults,
            and of all but each.
        count: the number of faults.
    """
    nothing, everything = frozenset[int](), frozenset(range(count))
    parts: dict[Faults, Decimal] = {}
    for faults in sorted(values, key=len):
        smaller = [each for each in values if each < faults]
        if faults and len(smaller) == 2 ** len(faults) - 1:
            known = sum(parts[each] for each in smaller if each)
            parts[faults] = values[faults] - values[nothing] - known
    others = values[everything] - values[nothing] - sum(parts.values())
    all_but = [values[everything - {place}] for place in range(count)]
    return Costs(values[everything], values[nothing], parts, others, all_but)


class FigureCosts(NamedTuple):
    """One figure, split among the faults with each seed."""

    figure: Figure
    by_seed: Sequence[Costs]

    @property
    def differs(self) -> bool:
        """Whether any fault changes it."""
        return any(part for costs in self.by_seed for part in (*costs.parts.values(), costs.rest))

    @property
    def label(self) -> str:
        """Its name for people."""
        return self.figure.label or self.figure.name

    def values(self, part: Part) -> list[Decimal]:
        """One of its parts, with each seed."""
        return [part(costs) for costs in self.by_seed]


class FaultCosts(NamedTuple):
    """The costs of the faults of a run."""

    #: The scenario of the run.
    scenario: str
    faults: Sequence[str]
    #: The number of faults that are not judged: all runs have them.
    others: int
    #: The seeds of the runs; without others only that of the run.
    seeds: Sequence[int]
    #: The number of runs that were made, and of those that began at a snapshot.
    runs: int
    from_snapshots: int
    #: All figures of the summary that are amounts, the most important one first.
    figures: Mapping[str, FigureCosts]

    @property
    def sets(self) -> list[Faults]:
        """The sets of faults that have a part of their own."""
        return list(next(iter(self.figures.values())).by_seed[0].parts)

    @property
    def rest_name(self) -> str | None:
        """The name of what larger sets of faults cause together; None: each has its own part."""
        if len(self.sets) == 2 ** len(self.faults) - 1:
            return None
        return f"the rest ({'two' if max(map(len, self.sets)) == 1 else 'three'} and more together)"

    def name_of(self, faults: Faults) -> str:
        """The names of faults: ``roll + disk``."""
        return " + ".join(self.faults[place] for place in sorted(faults))

    def shown(self, names: Collection[str] = (), *, details: bool = False) -> list[FigureCosts]:
        """The figures that are worth a row: those asked for, or all that differ, or the worst."""
        if names:
            return [self.figures[name] for name in names]
        differing = [each for each in self.figures.values() if each.differs]
        if details:
            return differing
        labelled = [each for each in differing if each.figure.label]
        return (labelled or differing)[:_SHOWN]

    @property
    def table(self) -> History[Any]:
        """A row for each figure and seed; ``.pandas()`` is a DataFrame.

        ``whole`` is ``none``, all columns of faults alone and together, and ``rest``. The columns
        ``without FAULT`` have the figure of the run without that fault.
        """
        return history_of(
            {
                "figure": each.figure.name,
                "unit": each.figure.unit,
                "seed": seed,
                "whole": float(costs.whole),
                "none": float(costs.none),
                **{self.name_of(faults): float(part) for faults, part in costs.parts.items()},
                "rest": float(costs.rest),
                **{
                    f"without {fault}": float(value)
                    for fault, value in zip(self.faults, costs.all_but, strict=True)
                },
            }
            for each in self.figures.values()
            for seed, costs in zip(self.seeds, each.by_seed, strict=True)
        )


def split_figures(
    outcomes: Mapping[tuple[int, Faults], Mapping[str, float]], count: int
) -> dict[str, FigureCosts]:
    """Split all figures that are amounts among so many faults.

    Args:
        outcomes: the figures of each run, by its seed and the faults that it has.
        count: the number of faults.
    """
    seeds = dict.fromkeys(seed for seed, _ in outcomes)
    return {
        figure.name: FigureCosts(
            figure,
            [
                costs_of(
                    {
                        # As it is written in a summary; a figure that it leaves out is 0.
                        faults: Decimal(repr(figures.get(figure.name, 0)))
                        for (seed_of, faults), figures in outcomes.items()
                        if seed_of == seed
                    },
                    count,
                )
                for seed in seeds
            ],
        )
        for figure in amounts_of(list(outcomes.values()))
    }


def amounts_of(runs: Sequence[Mapping[str, float]]) -> list[Figure]:
    """The figures that all these runs have, and of which a difference is a cost."""
    names = dict.fromkeys(name for figures in runs for name in figures)
    everywhere = [
        name
        for name in names
        if is_left_out_at_zero(name) or all(name in figures for figures in runs)
    ]
    found = map(figure_named, sorted(everywhere, key=rank_of))
    return [figure for figure in found if figure.is_amount]


# In ``blame.json``.


def content_of(costs: FaultCosts) -> dict[str, Any]:
    """The content of ``blame.json``: lists of values have one for each seed."""
    return {
        "format": FORMAT,
        **{name: value for name, value in costs._asdict().items() if name != "figures"},
        "rest": costs.rest_name,
        "figures": {name: _figure_content(costs, each) for name, each in costs.figures.items()},
    }


def _figure_content(costs: FaultCosts, each: FigureCosts) -> dict[str, Any]:
    def listed(part: Part) -> list[float]:
        return [int(value) if value == int(value) else float(value) for value in each.values(part)]

    return {
        "unit": each.figure.unit,
        "label": each.label,
        "whole": listed(whole),
        "none": listed(none),
        "parts": [
            {
                "faults": [costs.faults[place] for place in sorted(faults)],
                "values": listed(caused_by(faults)),
            }
            for faults in costs.sets
        ],
        "rest": listed(rest),
        "without": {fault: listed(without(place)) for place, fault in enumerate(costs.faults)},
    }


def stored_costs(folder: Path) -> FaultCosts | None:
    """The costs that ``tidegauge blame`` has stored in a run's folder; None: there are none."""
    try:
        text = (folder / BLAME).read_text(encoding="utf-8")
        said = json.loads(text, parse_float=Decimal, parse_int=Decimal)
        if said["format"] != FORMAT:
            return None
        faults, seeds = said["faults"], [*map(int, said["seeds"])]
        figures = {
            name: FigureCosts(figure_named(name), _costs_in(each, faults, len(seeds)))
            for name, each in said["figures"].items()
        }
        others, runs, snapshots = (int(said[name]) for name in ("others", "runs", "from_snapshots"))
        return FaultCosts(said["scenario"], faults, others, seeds, runs, snapshots, figures)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _costs_in(said: Mapping[str, Any], faults: Sequence[str], seeds: int) -> list[Costs]:
    sets = [frozenset(map(faults.index, part["faults"])) for part in said["parts"]]
    return [
        Costs(
            said["whole"][seed],
            said["none"][seed],
            {each: part["values"][seed] for each, part in zip(sets, said["parts"], strict=True)},
            said["rest"][seed],
            [said["without"][fault][seed] for fault in faults],
        )
        for seed in range(seeds)
    ]
