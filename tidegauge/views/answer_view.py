"""The answer to a what-if question on the terminal: at most fifteen lines."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from tidegauge.runs.figures import figure_named, value_text
from tidegauge.scenario.reading import Scenario
from tidegauge.scenario.text.errors import counted
from tidegauge.scenario.timetable import timetable
from tidegauge.simulation.quantities import format_duration, short_time_text
from tidegauge.sweeps.sweep_content import SweptRun
from tidegauge.what_if.asked_scenario import duration_figure, figures_of


def case_lines(scenario: Scenario) -> list[str]:
    """The faults and steps of a question, each in words."""
    return [
        f"at {short_time_text(planned.time_us)} {planned.words}" for planned in timetable(scenario)
    ]


def show_answer(
    out: Console,
    title: str,
    scenario: Scenario,
    notes: Sequence[str],
    runs: Sequence[SweptRun],
    content: Mapping[str, Any],
) -> None:
    """Print the fault, the spread of each figure over the seeds, and the command for the worst run.

    Args:
        out: the output.
        title: the cluster, and the question as it was asked.
        scenario: that of the question.
        notes: its differences from the file, in words.
        runs: all runs, in their order.
        content: the content of ``sweep.json``.
    """
    seeds, length = f"{runs[0].seed} to {runs[-1].seed}", format_duration(scenario.duration_us)
    said = f"{title} (seeds {seeds}, {length} of virtual time each)"
    out.print(said, style="bold", soft_wrap=True, markup=False)
    out.print("; ".join(case_lines(scenario)), soft_wrap=True, markup=False)
    if notes:
        out.print(" ".join(notes), soft_wrap=True, markup=False)
    (setting,) = content["settings"]
    out.print(_figures(scenario, setting["distribution"], content["without_fault"]))
    failed = [run for run in runs if run.outcome.error is not None]
    if failed:
        said = f"{len(failed)} of {counted(len(runs), 'run')} failed; seed {failed[0].seed}"
        out.print(f"{said}: {failed[0].outcome.error}", soft_wrap=True, markup=False)
    out.print(_worst(content["worst"], figures_of(scenario)), soft_wrap=True, markup=False)


def _figures(
    scenario: Scenario,
    distributions: Mapping[str, Mapping[str, Any]],
    without_fault: Mapping[str, float | None],
) -> Table:
    """A row for each figure: how it spreads over the seeds, and its value without the fault."""
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("", no_wrap=True)
    for title in ("median", "worst", "its seed", "above 0 in", "no fault"):
        table.add_column(title, justify="right")
    for name, spread in distributions.items():
        unit, compared = figure_named(name).unit, without_fault[name]
        table.add_row(
            _label(scenario, name, spread["worst"]),
            value_text(spread["p50"], unit),
            value_text(spread["worst"], unit),
            str(spread["worst_seed"]) if spread["worst"] else "",
            f"{spread['above_zero']} of {spread['seeds']}",
            "" if compared is None else value_text(compared, unit),
        )
    return table


def _label(scenario: Scenario, name: str, worst_s: float) -> str:
    """The words for a figure; those of a duration say if a run ended before the operation."""
    words = figures_of(scenario)[name]
    if name != duration_figure(scenario):
        return words
    begin_us = max(planned.time_us for planned in timetable(scenario))
    is_over = worst_s * 1e6 < scenario.duration_us - begin_us
    return words if is_over else f"{words}, not over as a run ended"


def _worst(worst: Mapping[str, Any], figures: Mapping[str, str]) -> str:
    """The command that runs the worst seed again, after the figure by which it is the worst."""
    name = worst["figure"]
    if name is None:
        return f"No seed is worse than another; the first one: {worst['command']}"
    value = value_text(worst["value"], figure_named(name).unit)
    return f"Worst ({figures[name]}: {value}): {worst['command']}"
