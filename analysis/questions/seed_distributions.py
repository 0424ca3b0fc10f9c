"""How each figure is distributed over the seeds of a setting.

Percentiles are of runs, by nearest rank; a percentile that would be the smallest or the largest run
is left out. ``analysis/over_seeds.py`` has both rules, and that of the interval of a share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.over_seeds import percentile, share_interval
from tidegauge.analysis.questions.compared_runs import (
    ComparedFigure,
    figures_of_each,
    setting_of_each,
)
from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.tables.result_table import Column

_PERCENTILES = (1, 5, 25, 50, 75, 95, 99)

#: The columns of the answer, and the places of figure and setting.
_RELATION = f"""
    figure string, figure_place bigint, unit string, setting string, setting_place bigint,
    seeds bigint, smallest double, {", ".join(f"p{each} double" for each in _PERCENTILES)},
    largest double, above_zero bigint, share double, share_low double, share_high double
"""


def _over_seeds(tables: RunTables) -> str:
    tables.add("seed_distributions", _RELATION, list(_distributions(tables)))
    return "select * from seed_distributions order by figure_place, figure, setting_place"


def _distributions(tables: RunTables) -> Iterator[tuple[Any, ...]]:
    """The distribution of each figure in each setting, as rows of :data:`_RELATION`."""
    of_run = setting_of_each(tables)
    texts = {setting.order: setting.text for setting in of_run.values()}
    places = {order: place for place, order in enumerate(sorted(texts))}
    found: defaultdict[tuple[ComparedFigure, Any], list[float]] = defaultdict(list)
    for run, figure, value in figures_of_each(tables):
        if run in of_run:
            found[figure, of_run[run].order].append(value)
    for (figure, order), values in found.items():
        values.sort()
        seeds, above_zero = len(values), sum(value > 0 for value in values)
        yield (
            *(figure.name, figure.place, figure.unit, texts[order], places[order]),
            *(seeds, values[0], *(percentile(values, each) for each in _PERCENTILES), values[-1]),
            *(above_zero, above_zero / seeds, *share_interval(above_zero, seeds)),
        )


OVER_SEEDS = Question(
    "over-seeds",
    "How is each figure distributed over seeds, and in what share of them is it above 0?",
    (
        Column("figure", "string", "", "the compared figure"),
        Column(
            "setting",
            "string",
            "",
            "the settings in which these runs differ from the others, apart from seeds",
        ),
        Column("seeds", "bigint", "", "number of runs"),
        Column("p50", "double", "", "half of the runs had no more"),
        Column("p95", "double", "", "... 95 of 100; null: fewer than 20 runs"),
        Column("p99", "double", "", "... 99 of 100; null: fewer than 100 runs"),
        Column("largest", "double", "", "... all"),
        Column("share", "double", "", "share of the runs in which it is above 0"),
        Column("share_low", "double", "", "lower bound of the true share (95 %, exact)"),
        Column("share_high", "double", "", "... and upper bound; of 0 runs some 3 / seeds"),
        Column("above_zero", "bigint", "", "number of runs in which it is above 0"),
        Column("smallest", "double", "", "the least of all runs"),
        Column("p1", "double", "", "1 of 100 had no more; null: fewer than 100 runs"),
        Column("p5", "double", "", "... 5 of 100; null: fewer than 20 runs"),
        Column("p25", "double", "", "... a quarter; null: fewer than 4 runs"),
        Column("p75", "double", "", "... three quarters; null: fewer than 4 runs"),
        Column("unit", "string", "", "of the figure"),
    ),
    _over_seeds,
    "figure by figure, the most important first",
)
