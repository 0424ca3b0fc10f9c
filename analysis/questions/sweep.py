"""Runs compared by their settings: each figure, and its confidence over seeds.

``analysis/over_seeds.py`` has the rules of interval and percentiles.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.over_seeds import over_seeds
from tidegauge.analysis.questions.compared_runs import (
    ComparedFigure,
    figures_of_each,
    setting_of_each,
)
from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.tables.result_table import Column
from tidegauge.traces.summary_figures import LEAST, MOST, worst_is

#: The columns of the answer, and the places of figure and setting.
_RELATION = """
    figure string, figure_place bigint, unit string, setting string, setting_place bigint,
    setting_value double, seeds bigint, above_zero bigint, mean double, low double, high double,
    p50 double, p99 double, smallest double, largest double, largest_in string, worst_is string,
    worst double, worst_in string
"""


def _sweep(tables: RunTables) -> str:
    tables.add("figures_over_seeds", _RELATION, list(_over_seeds(tables)))
    return "select * from figures_over_seeds order by figure_place, figure, setting_place"


def _over_seeds(tables: RunTables) -> Iterator[tuple[Any, ...]]:
    """The values of each figure in each setting, as rows of :data:`_RELATION`."""
    of_run = setting_of_each(tables)
    settings = {setting.order: setting for setting in of_run.values()}
    places = {order: place for place, order in enumerate(sorted(settings))}
    values: defaultdict[tuple[ComparedFigure, Any], list[tuple[float, str]]] = defaultdict(list)
    for run, of_figure, value in figures_of_each(tables):
        if run in of_run:
            values[of_figure, of_run[run].order].append((value, run))
    for ((place, figure, unit), order), each in values.items():
        found = over_seeds([value for value, _ in each])
        largest = max(each)
        # Of equal values the same run is named, however they came.
        direction = worst_is(figure)
        worst = largest if direction == MOST else min(each)
        yield (
            *(figure, place, unit, settings[order].text, places[order], settings[order].value),
            *found,
            *(largest[1], direction, *worst),
        )


SWEEP = Question(
    "sweep",
    "What does each setting change, and how certain is that over seeds?",
    (
        Column("figure", "string", "", "the compared figure"),
        Column(
            "setting",
            "string",
            "",
            "the settings in which these runs differ from the others, apart from seeds",
        ),
        Column("seeds", "bigint", "", "number of runs"),
        Column("mean", "double", "", "mean of them"),
        Column(
            "low", "double", "", "lower bound of the true mean (95 %); null: one run, or mostly 0"
        ),
        Column("high", "double", "", "... and upper bound"),
        Column("above_zero", "bigint", "", "number of runs in which it is above 0"),
        Column("p50", "double", "", "half of the runs had no more"),
        Column("p99", "double", "", "... 99 of 100; null: fewer than 100 runs"),
        Column("smallest", "double", "", "the least of all runs"),
        Column("largest", "double", "", "the most"),
        Column("worst_is", "string", "", f"the direction: `{MOST}` or `{LEAST}` of it is worst"),
        Column("worst", "double", "", "the worst of all runs"),
        Column("worst_in", "string", "", "the run that had it"),
        Column("unit", "string", "", "of the figure"),
        Column("setting_value", "double", "", "the setting if it is one number; of a duration: s"),
        Column("largest_in", "string", "", "the run that had the most"),
    ),
    _sweep,
    "figure by figure, the most important first",
)
