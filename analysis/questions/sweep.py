"""Runs compared by their settings: each figure, and its confidence over seeds.

Runs whose scenarios differ only in the seed belong together; a seed that was run twice counts once,
since it gives the same run. ``analysis/over_seeds.py`` has the rules of interval and percentiles.
"""

# ruff: noqa: S608 - queries are put together from texts of these rooms

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.over_seeds import over_seeds
from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.questions.run_settings import RunSetting, settings_at
from tidegauge.analysis.tables.result_table import Column
from tidegauge.traces.run_files import read_summary
from tidegauge.traces.summary_figures import FIGURES, LEAST, MOST, worst_is

#: Figures that are compared by the hour, as runs differ in length, and the others.
_BY_THE_HOUR = ("isr_shrinks", "isr_expands", "isr_notifications")
_COMPARED = (
    *("leader_elections", "unclean_elections", "partition_seconds_stalled"),
    *("longest_stall_seconds", "partition_seconds_reads_stalled", "partition_seconds_offline"),
    *("partition_seconds_not_accepting", "partition_seconds_under_min_isr"),
    *("partition_seconds_at_min_isr", "partition_seconds_isr_of_one", "controller_busy_seconds"),
    *("records_acknowledged", "records_unsent", "records_acknowledged_lost"),
    "records_acknowledged_unavailable",
)
#: Figures of a run: how each comes from ``run_figures``, and its unit.
_FIGURES = {
    f"{name}_per_hour": (f"{name} * 3600 / (virtual_seconds - figures_from_seconds)", "/h")
    for name in _BY_THE_HOUR
} | {name: (name, FIGURES[name].unit) for name in _COMPARED}

#: A row for each figure of each run, and for what it has lost of a topic of which any run has.
_VALUES = """
    {figures}
    union all
    select f.run, 'records_lost of ' || t.topic, 'records', {losses}, coalesce(l.records, 0)
    from run_figures as f
    cross join (select distinct topic from lost) as t
    left join (
        select run, topic, sum(records) as records from lost group by run, topic
    ) as l on l.run = f.run and l.topic = t.topic
    order by all
""".format(
    figures=" union all ".join(
        f"select run, '{name}' as figure, '{unit}' as unit, {place} as place,"
        f" cast({value} as double) as value from run_figures"
        for place, (name, (value, unit)) in enumerate(_FIGURES.items())
    ),
    losses=len(_FIGURES),
)

#: The columns of the answer, and the places of figure and setting.
_RELATION = """
    figure string, figure_place bigint, unit string, setting string, setting_place bigint,
    setting_value double, seeds bigint, above_zero bigint, mean double, low double, high double,
    p50 double, p99 double, smallest double, largest double, largest_in string, worst_is string,
    worst double, worst_in string
"""

_Figure = tuple[int, str, str]


def _sweep(tables: RunTables) -> str:
    tables.add("figures_over_seeds", _RELATION, list(_over_seeds(tables)))
    return "select * from figures_over_seeds order by figure_place, figure, setting_place"


def _over_seeds(tables: RunTables) -> Iterator[tuple[Any, ...]]:
    """The values of each figure in each setting, as rows of :data:`_RELATION`."""
    of_run = _settings(tables)
    settings = {setting.order: setting for setting in of_run.values()}
    places = {order: place for place, order in enumerate(sorted(settings))}
    values: defaultdict[tuple[_Figure, Any], list[tuple[float, str]]] = defaultdict(list)
    for run, of_figure, value in _values(tables):
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


def _settings(tables: RunTables) -> dict[str, RunSetting]:
    """One run of each setting and seed, and its setting."""
    once = {
        (setting.text, setting.seed): (run, setting)
        for run, setting in settings_at(tables.runs).items()
    }
    return dict(once.values())


def _values(tables: RunTables) -> Iterator[tuple[str, _Figure, float]]:
    """The figures of all runs; of runs that ended also how long producers waited."""
    for row in tables.rows(_VALUES):
        # What the logs of a real cluster do not tell is no figure of it.
        if row["value"] is None:
            continue
        yield row["run"], (row["place"], row["figure"], row["unit"]), float(row["value"])
    for run in tables.runs:
        for client, each in (read_summary(run.folder) or {}).get("produce_ms", {}).items():
            if each["p99"] is not None:
                figure = (len(_FIGURES) + 1, f"produce_p99_ms of {client}", "ms")
                yield run.name, figure, float(each["p99"])


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
