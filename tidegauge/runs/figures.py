"""The figures of a run: the numbers that its outputs share, each defined once.

``traces/figures.yaml`` is the table of them, with the mechanism behind those that comparisons show.
Their SQL is that of ``run_figures`` and ``control_plane_figures``.

**To add a figure**: an entry of the table; a column of one of these result tables, or of a figure
of the summary the count of it in ``traces/checks/figures.py`` or ``engine/summary.py``, or both.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.tables.control_plane import CONTROL_PLANE_FIGURES
from tidegauge.analysis.tables.run_figures import RUN_FIGURES
from tidegauge.runs.run import Run
from tidegauge.traces.run_folder import RunFolder
from tidegauge.traces.summary_figures import CONTROL_PLANE_FIGURES as CONTROL_PLANE
from tidegauge.traces.summary_figures import DECIDES, FORMS, Figure
from tidegauge.traces.summary_figures import FIGURES as OF_SUMMARY

#: Columns of the tables that are no figures to be compared.
_ABOUT_THE_RUN = frozenset({"run", "mode", "partitions", "first_fault_us"})

#: From so many seconds or objects on a value has no decimals, or one.
_MUCH, _SOME = 1_000, 100

#: All figures that result tables or the summary have under one name.
FIGURES: Mapping[str, Figure] = {**CONTROL_PLANE, **OF_SUMMARY}


def figure_named(name: str) -> Figure:
    """The figure of a name; that of ``produce_ms.shop.p99`` is one of the form ``...GROUP...``.

    Raises:
        KeyError: there is no such figure.
    """
    if name in FIGURES:
        return FIGURES[name]
    return _figure_and_rank(name)[0]


def rank_of(name: str) -> int:
    """The place of a figure of the summary in the order of importance; the first one is 0.

    Raises:
        KeyError: there is no such figure.
    """
    return _figure_and_rank(name)[1]


@cache
def _figure_and_rank(name: str) -> tuple[Figure, int]:
    for rank, form in enumerate(FORMS):
        if form.name == name:
            return form, rank
        before, placeholder, after = re.split(r"([A-Z]{2,}|$)", form.name, maxsplit=1)
        found = re.fullmatch(f"{re.escape(before)}(.+){re.escape(after)}", name)
        if placeholder and found:
            label = form.label.replace(placeholder, found[1])
            return form._replace(name=name, label=label), rank
    raise KeyError(name)


#: The row of each run, with all figures that tables have.
FIGURES_OF_RUNS = f"""
    select * from {RUN_FIGURES.name} join {CONTROL_PLANE_FIGURES.name} using (run) order by run
"""  # noqa: S608 - names of our own tables


def figures_of(run: Run) -> dict[str, float | None]:
    """The figures of a run in tables, by their names; None: its rows, or logs, lack one.

    Raises:
        RunError, ScenarioError, TraceError, OSError: as :meth:`RunTables.make`.
    """
    (row,) = run.tables.rows(FIGURES_OF_RUNS)
    return {name: row[name] for name in row if name not in _ABOUT_THE_RUN}


def fault_seconds(run: RunFolder, tables: RunTables) -> dict[str, float]:
    """The active time of each fault of a run: ``crash.seconds``."""
    seconds = dict.fromkeys((fault.name for fault in run.directory.faults), 0.0)
    for row in tables.rows(
        "select fault_name, sum(end_us - begin_us) / 1e6 as seconds from faults"
        " group by fault_name order by fault_name"
    ):
        seconds[row["fault_name"]] = float(row["seconds"])
    return {f"{fault}.seconds": lasted_s for fault, lasted_s in seconds.items()}


def value_text(value: float, unit: str) -> str:
    """A value for people: times in seconds, and of large values no decimals, of others up to three.

    Args:
        value: the value, or a mean of several.
        unit: of its figure; microseconds become seconds.
    """
    if unit == "us":
        return value_text(value / 1e6, "s")
    decimals = 3 if unit == "s" else 1
    if value >= _MUCH:
        decimals = 0
    elif value >= _SOME:
        decimals = 1
    text = f"{value:,.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{text} s" if unit == "s" else text


class Explanation(NamedTuple):
    """The settings that decide a figure."""

    #: With ZooKeeper, and with KRaft; empty: nothing of its own.
    zookeeper: str = ""
    kraft: str = ""
    #: The case in which KRaft is not better; empty: no such case is known.
    exception: str = ""
    #: Published figures of the same kind, of unknown conditions; empty: none.
    published: str = ""
    #: The settings that decide it in either mode.
    either: str = ""


#: The figures of a comparison of variants, in the order in which they are shown; less is better.
EXPLANATIONS = {name: Explanation(**said) for name, said in DECIDES.items()}
