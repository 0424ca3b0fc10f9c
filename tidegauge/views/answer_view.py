"""The answer to a what-if question on the terminal: at most fifteen lines."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from tidegauge.runs.figures import figure_named, value_text
from tidegauge.scenario.model.request_steps import Step
from tidegauge.scenario.reading import Scenario
from tidegauge.scenario.text.errors import counted
from tidegauge.scenario.timetable import timetable
from tidegauge.simulation.quantities import (
    format_bandwidth,
    format_duration,
    format_size,
    short_time_text,
)
from tidegauge.sweeps.sweep_content import SweptRun
from tidegauge.views.output import WIDTH
from tidegauge.what_if.asked_scenario import duration_figure, figures_of


def case_lines(scenario: Scenario) -> list[str]:
    """The faults and steps of a question, each in words."""
    moves = [_move_words(scenario, step) for step in scenario.steps if step.moves()]
    if moves:
        return moves
    return [
        f"at {short_time_text(planned.time_us)} {planned.words}" for planned in timetable(scenario)
    ]


def _move_words(scenario: Scenario, step: Step) -> str:
    """A step that moves replicas: the topics, the brokers that get replicas, and the bytes."""
    moves = step.moves()
    topics = {move.topic: scenario.topic(move.topic) for move in moves}
    present = {name: scenario.assignments(topic) for name, topic in topics.items()}
    gets: set[int] = set()
    copies = copied_bytes = 0
    for move in moves:
        new = {*(move.replicas or ())} - {*present[move.topic][move.partition]}
        size = topics[move.topic].size
        each = size.get(move.partition, 0) if isinstance(size, dict) else size or 0
        gets |= new
        copies += len(new)
        copied_bytes += len(new) * each
    limit = getattr(step, "throttle", None)
    throttle = "" if limit is None else f", throttle {format_bandwidth(limit)} for each broker"
    size_text = (
        f"{format_size(copied_bytes)} to copy"
        if copied_bytes
        else "sizes unknown: logs begin empty"
    )
    return (
        f"at {short_time_text(step.at_us or 0)} {', '.join(topics)}: "
        f"{counted(len(moves), 'partition')} move, {counted(copies, 'new replica')} on brokers "
        f"{','.join(map(str, sorted(gets)))}{throttle}; {size_text}"
    )


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
    out.print(said, style="bold", markup=False)
    out.print("; ".join(case_lines(scenario)), markup=False)
    for note in notes:
        out.print(note, markup=False)
    (setting,) = content["settings"]
    out.print(_figures(scenario, setting["distribution"], content["without_fault"]))
    failed = [run for run in runs if run.outcome.error is not None]
    if failed:
        said = f"{len(failed)} of {counted(len(runs), 'run')} failed; seed {failed[0].seed}"
        out.print(f"{said}: {failed[0].outcome.error}", soft_wrap=True, markup=False)
    said, command = _worst(content["worst"], figures_of(scenario)), content["worst"]["command"]
    between = " " if len(said) + len(command) < WIDTH else "\n  "
    out.print(f"{said}{between}{command}", soft_wrap=True, markup=False)


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
    """The figure by which a seed is the worst, before the command that runs it again."""
    name = worst["figure"]
    if name is None:
        return "No seed is worse than another; the first one:"
    value = value_text(worst["value"], figure_named(name).unit)
    return f"Worst ({figures[name]}: {value}):"
