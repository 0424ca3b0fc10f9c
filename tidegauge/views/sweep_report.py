"""The results of a sweep on the terminal: runs side by side, or distributions over seeds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tidegauge.scenario.text.errors import counted
from tidegauge.sweeps.sweep_content import SweptRun, never_seen
from tidegauge.sweeps.sweep_folder import Axis
from tidegauge.traces.run_files import SWEEP
from tidegauge.views.answers_view import column_widths, fitting_columns
from tidegauge.views.output import print_command, print_hanging
from tidegauge.views.progress import number_text
from tidegauge.views.story_lines import LISTED


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
    figures: list[str] = content["figures"]
    out.print()
    if len(content["settings"]) < len(runs) or not axes:
        _print_distributions(out, axes, content["settings"], figures)
    elif (len(axes), len(figures)) == (2, 1):
        out.print(f"{figures[0]}, over {axes[1].name}", style="bold", soft_wrap=True)
        out.print(_grid(axes, figures[0], runs))
    else:
        _print_lines(out, axes, figures, runs)
    out.print()
    show_surprises(out, runs)
    _print_sometimes(out, content)
    if len(runs) > 1:
        print_hanging(out, "", f"{_worst(content['worst'], runs)}:")
        print_command("Again", content["worst"]["command"])
    out.print(f"All of it: {folder / SWEEP}", soft_wrap=True, markup=False)
    out.print(f"Next: tidegauge analyze '{folder}/*'", soft_wrap=True, markup=False)


def _print_sometimes(out: Console, content: Mapping[str, Any]) -> None:
    """Print how many seeds have each of the expectations of many runs."""
    for setting in content["settings"]:
        changes = f" with {', '.join(setting['changes'])}" if setting["changes"] else ""
        for each in setting["sometimes"]:
            if each["seen"]:
                seen = f"{each['expected']}: seen in {each['seen']} of {each['seeds']} seeds"
                print_hanging(out, "sometimes ", f"{seen}{changes}")
    for words in never_seen(content):
        print_hanging(out, "", Text(f"never {words}", style="bold red"))


#: A path is broken in a heading that is wider.
_PATH_WIDTH = 24


def _new_table() -> Table:
    return Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)


def _add_axis(table: Table, axis: Axis) -> None:
    lines = _path_lines(axis.name)
    least = max(map(len, (*axis.values, *lines)))
    table.add_column(escape("\n".join(lines)), overflow="fold", min_width=least)


def _path_lines(path: str) -> list[str]:
    """A path for a heading: a long one is broken before dots."""
    first, *others = path.split(".")
    lines = [first]
    for part in others:
        if len(lines[-1]) + 1 + len(part) > _PATH_WIDTH:
            lines.append("")
        lines[-1] += f".{part}"
    return lines


def _print_distributions(
    out: Console,
    axes: Sequence[Axis],
    settings: Sequence[Mapping[str, Any]],
    figures: Sequence[str],
) -> None:
    """Print a table for each figure, with a line for each setting."""
    out.print("Over all finished seeds; percentiles by nearest rank", soft_wrap=True)
    for name in figures:
        over = [setting["distribution"][name] for setting in settings]
        if all(each["smallest"] == each["largest"] == 0 for each in over):
            out.print(f"\n[bold]{_words(name)}[/]: 0 in all runs", soft_wrap=True)
            continue
        has_p99 = any(each["p99"] is not None for each in over)
        table = _new_table()
        for axis in axes:
            _add_axis(table, axis)
        titles = ("mean", "its 95 % interval", "above 0 in", "P50", *(["P99"] * has_p99))
        for title in (*titles, f"worst: the {over[0]['worst_is']}", "its seed"):
            table.add_column(title, justify="right")
        for setting, each in zip(settings, over, strict=True):
            values = [escape(change.partition("=")[2]) for change in setting["changes"]]
            table.add_row(*values, *_spread(each, has_p99=has_p99))
        out.print(f"\n{_words(name)}", style="bold", soft_wrap=True)
        out.print(table)


def _spread(found: Mapping[str, Any], *, has_p99: bool) -> list[str]:
    """A figure over seeds: of one that is mostly 0 there is no interval."""
    interval = ""
    if found["low"] is not None:
        interval = f"{number_text(found['low'])} to {number_text(found['high'])}"
    return [
        number_text(found["mean"]),
        interval,
        f"{found['above_zero']} of {found['seeds']}",
        number_text(found["p50"]),
        *([number_text(found["p99"])] * has_p99),
        number_text(found["worst"]),
        "" if found["worst_seed"] is None else str(found["worst_seed"]),
    ]


def _words(name: str) -> str:
    return name.replace("_", " ")


def _worst(worst: Mapping[str, Any], runs: Sequence[SweptRun]) -> str:
    """The reason for the rank of the worst run."""
    (run,) = (each for each in runs if each.folder == worst["folder"])
    if run.outcome.error is not None:
        said = "Worst, since it failed"
    elif run.outcome.unexpected:
        said = f"Worst, not as expected ({', '.join(run.outcome.unexpected)})"
    elif worst["figure"] is None:
        said = "None is worse than the others in these figures; the first"
    else:
        said = (
            f"Worst, with the {worst['worst_is']} {_words(worst['figure'])} "
            f"({number_text(worst['value'])})"
        )
    return said


def _grid(axes: Sequence[Axis], figure: str, runs: Sequence[SweptRun]) -> Table:
    """One figure over two paths."""
    down, across = axes
    table = _new_table()
    table.add_column(down.name)
    for value in across.values:
        table.add_column(escape(value), justify="right")
    for row, value in enumerate(down.values):
        begin = row * len(across.values)
        those = runs[begin : begin + len(across.values)]
        table.add_row(escape(value), *(number_text(run.outcome.figure(figure)) for run in those))
    return table


def _print_lines(
    out: Console, axes: Sequence[Axis], figures: Sequence[str], runs: Sequence[SweptRun]
) -> None:
    """Print a line for each run, with as many figures as fit beside each other."""
    rows = [
        [
            *(change.partition("=")[2] for change in run.changes),
            *(number_text(run.outcome.figure(name)) for name in figures),
        ]
        for run in runs
    ]
    titles = [*(" ".join(_path_lines(axis.name)) for axis in axes), *map(_words, figures)]
    # Columns of this table are one character further apart.
    fitting = fitting_columns(titles, rows, out.width - len(titles), len(axes) + 1)
    table = _new_table()
    for axis in axes:
        _add_axis(table, axis)
    widths = column_widths(titles[:fitting], rows, out.width - fitting)
    for place in range(len(axes), fitting):
        table.add_column(titles[place], justify="right", width=widths[place])
    for row in rows:
        table.add_row(*map(escape, row[:fitting]))
    out.print(table)
    if fitting < len(titles):
        out.print(f"[dim]also, in --json: {', '.join(titles[fitting:])}[/]", highlight=False)


def show_surprises(out: Console, runs: Sequence[SweptRun]) -> None:
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
