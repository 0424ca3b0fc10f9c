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
from tidegauge.what_if.asked_scenario import duration_figure


def case_lines(scenario: Scenario) -> list[str]:
    """The faults and steps of a question, each in words."""
    return [
        f"at {short_time_text(planned.time_us)} {planned.words}" for planned in timetable(scenario)
    ]


def show_answer(
    out: Console,
    scenario: Scenario,
    notes: Sequence[str],
    runs: Sequence[SweptRun],
    content: Mapping[str, Any],
) -> None:
    """Print the fault, the spread of each figure over the seeds, and the command for the worst run.

    Args:
        out: the output.
        scenario: that of the question.
        notes: its differences from the file, in words.
        runs: all runs, in their order.
        content: the content of ``sweep.json``.
    """
    seeds = counted(len(runs), "seed") + f", from {runs[0].seed} to {runs[-1].seed}"
    length = format_duration(scenario.duration_us)
    out.print(f"{scenario.name}: {seeds}; a run is {length} of virtual time", soft_wrap=True)
    out.print("; ".join(case_lines(scenario)), soft_wrap=True, markup=False)
    if notes:
        out.print(" ".join(notes), soft_wrap=True, markup=False)
    (setting,) = content["settings"]
    out.print(_figures(scenario, setting["distribution"]))
    failed = [run for run in runs if run.outcome.error is not None]
    if failed:
        said = f"{len(failed)} of {counted(len(runs), 'run')} failed; seed {failed[0].seed}"
        out.print(f"{said}: {failed[0].outcome.error}", soft_wrap=True, markup=False)
    out.print(_worst(content["worst"]), soft_wrap=True, markup=False)


def _figures(scenario: Scenario, distributions: Mapping[str, Mapping[str, Any]]) -> Table:
    """A row for each figure: its median, its worst value with the seed, and how often it is not 0."""
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("")
    for title in ("median", "worst", "its seed", "above 0 in"):
        table.add_column(title, justify="right")
    for name, spread in distributions.items():
        unit = figure_named(name).unit
        table.add_row(
            _label(scenario, name, spread["worst"]),
            value_text(spread["p50"], unit),
            value_text(spread["worst"], unit),
            str(spread["worst_seed"]) if spread["worst"] else "",
            f"{spread['above_zero']} of {spread['seeds']}",
        )
    return table


def _label(scenario: Scenario, name: str, worst_s: float) -> str:
    """The name of a figure in tables; that of a duration says if a run ended before it."""
    if name != duration_figure(scenario):
        return figure_named(name).label
    begin_us = max(planned.time_us for planned in timetable(scenario))
    is_over = worst_s * 1e6 < scenario.duration_us - begin_us
    return "Duration of the operation" + ("" if is_over else ", not over as a run ended")


def _worst(worst: Mapping[str, Any]) -> str:
    """The command that runs the worst seed again, after the figure by which it is the worst."""
    if worst["figure"] is None:
        return f"No seed is worse than the others; the first one: {worst['command']}"
    figure = figure_named(worst["figure"])
    label = figure.label or "duration of the operation"
    value = value_text(worst["value"], figure.unit)
    return f"Worst ({label[0].lower()}{label[1:]}: {value}): {worst['command']}"
