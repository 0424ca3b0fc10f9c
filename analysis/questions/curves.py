"""Each figure against each varied setting, one setting at a time.

A point of a curve is the mean over all runs with that value, whatever their other settings are. Its
change from the value before is that of pairs: two runs with the same seed and the same other
settings, so that neither chance nor another setting is in the difference. A change is certain if 0
is outside its interval.

Runs with one seed are not independent of each other. So intervals are those of seeds (Student's t,
95 %; ``analysis/over_seeds.py``), each with the mean of its runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any, NamedTuple

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.over_seeds import mean_interval
from tidegauge.analysis.questions.compared_runs import (
    ComparedFigure,
    RunSetting,
    figures_of_each,
    setting_of_each,
)
from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.tables.result_table import Column

#: The columns of the answer, and the places of figure, setting and value.
_RELATION = """
    figure string, figure_place bigint, unit string, setting string, setting_place bigint,
    value string, value_place bigint, number double, runs bigint, seeds bigint, mean double,
    low double, high double, pairs bigint, change double, change_low double, change_high double
"""

#: A value of a setting, by which values sort.
_Value = tuple[bool, float, str]
#: The seed of a run, and its other settings.
_Rest = tuple[int | None, tuple[_Value, ...]]


class _Curve(NamedTuple):
    """A figure over the values of a setting."""

    setting: str
    setting_place: int
    #: By value, the figure of each run, by the rest of it.
    points: Mapping[_Value, Mapping[_Rest, float]]


def _curves(tables: RunTables) -> str:
    tables.add("curves", _RELATION, list(_points(tables)))
    return "select * from curves order by figure_place, figure, setting_place, setting, value_place"


def _points(tables: RunTables) -> Iterator[tuple[Any, ...]]:
    """All points of all curves, as rows of :data:`_RELATION`."""
    of_run = setting_of_each(tables)
    found: defaultdict[ComparedFigure, dict[str, float]] = defaultdict(dict)
    for run, figure, value in figures_of_each(tables):
        if run in of_run:
            found[figure][run] = value
    for figure, values in found.items():
        for curve in _curves_of(values, of_run):
            for point in _points_of(curve):
                yield (
                    *(figure.name, figure.place, figure.unit),
                    *(curve.setting, curve.setting_place, *point),
                )


def _curves_of(values: Mapping[str, float], of_run: Mapping[str, RunSetting]) -> Iterator[_Curve]:
    """The curves of a figure, one for each varied setting, from the figure of each run."""
    axes = next(iter(of_run.values())).axes
    for place, axis in enumerate(axes):
        points: defaultdict[_Value, dict[_Rest, float]] = defaultdict(dict)
        for run, value in values.items():
            order, seed = of_run[run].order, of_run[run].seed
            points[order[place]][seed, order[:place] + order[place + 1 :]] = value
        yield _Curve(axis, place, points)


def _points_of(curve: _Curve) -> Iterator[tuple[Any, ...]]:
    """The points of a curve, each with its change from the one before."""
    before: Mapping[_Rest, float] = {}
    for place, value in enumerate(sorted(curve.points)):
        point = curve.points[value]
        changes = {rest: each - before[rest] for rest, each in point.items() if rest in before}
        of_seeds, changes_of_seeds = _seed_means(point), _seed_means(changes)
        low, high = mean_interval(of_seeds)
        is_text, number, text = value
        yield (
            *(text, place, None if is_text else number, len(point), len(of_seeds)),
            # No figure is below 0.
            *(fmean(of_seeds), low and max(0.0, low), high, len(changes)),
            *(fmean(changes_of_seeds) if changes else None, *mean_interval(changes_of_seeds)),
        )
        before = point


def _seed_means(runs: Mapping[_Rest, float]) -> list[float]:
    """The mean of each seed's runs."""
    of_seed: defaultdict[int | None, list[float]] = defaultdict(list)
    for (seed, _), value in runs.items():
        of_seed[seed].append(value)
    return [fmean(values) for values in of_seed.values()]


CURVES = Question(
    "curves",
    "How does each figure go with each varied setting, all else and the seed being the same?",
    (
        Column("figure", "string", "", "the compared figure"),
        Column("setting", "string", "", "the varied setting"),
        Column("value", "string", "", "its value, in ascending order"),
        Column("mean", "double", "", "mean over its runs, each seed counting once"),
        Column("change", "double", "", "mean change from the value before, pair by pair of runs"),
        Column(
            *("change_low", "double", ""),
            "lower bound of the true change (95 %); null: one seed, or mostly 0",
        ),
        Column("change_high", "double", "", "... and upper bound"),
        Column(
            *("low", "double", ""),
            "lower bound of the true mean (95 %); null: one seed, or mostly 0",
        ),
        Column("high", "double", "", "... and upper bound"),
        Column("seeds", "bigint", "", "number of seeds with it"),
        Column("runs", "bigint", "", "number of runs with it"),
        Column(
            *("pairs", "bigint", ""),
            "number of its runs with a twin: the value before, the same seed and other settings",
        ),
        Column("number", "double", "", "the value if it is a number; of a duration: s"),
        Column("unit", "string", "", "of the figure"),
    ),
    _curves,
    "figure by figure, the most important first",
)
