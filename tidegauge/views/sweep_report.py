"""The results of a sweep on the terminal: runs side by side, or distributions over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegauge.scenario.text.counted import counted
from tidegauge.views.run_batch import number_text
from tidegauge.views.story_lines import LISTED

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from tidegauge.sweeps.sweep_axis import Axis
    from tidegauge.sweeps.sweep_content import SweptRun


def show_sweep(
    out: Console,
    axes: Sequence[Axis],
    content: Mapping[str, Any],
    runs: Sequence[SweptRun],
    folder: Path,
) -> None:
    """Print the results of all runs, the unexpected ones, and the commands for more.

    Args:
        out: the output.
        axes: the paths with several values.
        content: the content of ``sweep.json``.
        runs: all runs, in their order.
        folder: the folder of the sweep.
    """
    from tidegauge.traces.run_files import SWEEP

    figures: list[str] = content["figures"]
    out.print()
    if len(content["settings"]) < len(runs) or not axes:
        out.print("Over all finished seeds; percentiles by nearest rank")
        out.print(_distributions(axes, content["settings"], figures))
    elif (len(axes), len(figures)) == (2, 1):
        out.print(f"{figures[0]}, over {axes[1].name}", style="bold", soft_wrap=True)
        out.print(_grid(axes, figures[0], runs))
    else:
        out.print(_lines(axes, figures, runs))
    out.print()
    _show_surprises(out, runs)
    if len(runs) > 1:
        out.print(f"Worst: {content['worst']['command']}", soft_wrap=True, markup=False)
    out.print(f"All of it: {folder / SWEEP}", soft_wrap=True, markup=False)
    out.print(f"Next: tidegauge analyze '{folder}/*'", soft_wrap=True, markup=False)


def _new_table() -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)


def _add_axis(table: Table, axis: Axis) -> None:
    table.add_column(axis.name, overflow="fold", min_width=max(map(len, axis.values)))


def _distributions(
    axes: Sequence[Axis], settings: Sequence[Mapping[str, Any]], figures: Sequence[str]
) -> Table:
    """For each figure a line for each setting; with one setting, a line for each figure."""
    table = _new_table()
    for axis in axes:
        _add_axis(table, axis)
    if not axes:
        table.add_column("")
    for title in ("P50", "P99", "worst", "its seed"):
        table.add_column(title, justify="right")
    for name in figures:
        title = name.replace("_", " ")
        if axes:
            table.add_section()
            table.add_row(title, style="bold")
        for setting in settings:
            found = setting["distribution"][name]
            seed = "" if found["worst_seed"] is None else str(found["worst_seed"])
            numbers = (number_text(found[word]) for word in ("p50", "p99", "worst"))
            values = [change.partition("=")[2] for change in setting["changes"]]
            table.add_row(*(values or [title]), *numbers, seed)
    return table


def _grid(axes: Sequence[Axis], figure: str, runs: Sequence[SweptRun]) -> Table:
    """One figure over two paths."""
    down, across = axes
    table = _new_table()
    table.add_column(down.name)
    for value in across.values:
        table.add_column(value, justify="right")
    for row, value in enumerate(down.values):
        begin = row * len(across.values)
        those = runs[begin : begin + len(across.values)]
        table.add_row(value, *(number_text(run.outcome.figure(figure)) for run in those))
    return table


def _lines(axes: Sequence[Axis], figures: Sequence[str], runs: Sequence[SweptRun]) -> Table:
    """A line for each run."""
    table = _new_table()
    for axis in axes:
        _add_axis(table, axis)
    for name in figures:
        table.add_column(name.replace("_", " "), justify="right")
    for run in runs:
        values = (change.partition("=")[2] for change in run.changes)
        table.add_row(*values, *(number_text(run.outcome.figure(name)) for name in figures))
    return table


def _show_surprises(out: Console, runs: Sequence[SweptRun]) -> None:
    """Print the runs that failed or were not as expected."""
    surprises = [run for run in runs if not run.outcome.is_as_expected]
    for run in surprises[:LISTED]:
        outcome = run.outcome
        what = outcome.error or f"not as expected: {', '.join(outcome.unexpected)}"
        out.print(f"{run.folder}: {what}", soft_wrap=True, markup=False)
    if len(surprises) > LISTED:
        out.print(f"... and {len(surprises) - LISTED:,} more")
    failed = sum(run.outcome.error is not None for run in runs)
    if surprises:
        out.print(
            f"{len(surprises) - failed} of {counted(len(runs), 'run')} had an unexpected verdict, "
            f"{failed} failed" + ("; the same command retries the failed ones" if failed else "")
        )
