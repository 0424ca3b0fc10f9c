"""``tidegauge sweep``: one scenario with other values in it, side by side."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tidegauge.commands.compile_rules import announce_compilation
from tidegauge.commands.output import console, fail, print_json, report
from tidegauge.commands.run_batch import (
    ended_runs,
    jobs_of,
    make_batch_folder,
    number_text,
    write_batch,
)
from tidegauge.commands.run_request import RunRequest

if TYPE_CHECKING:
    from rich.console import Console

    from tidegauge.many_runs import EndedRun

#: What came of all, in the folder that holds the runs.
SWEEP = "sweep.json"

#: A table of more runs would be no answer to a question.
_MOST_RUNS = 1_000


class Axis(NamedTuple):
    """What is exchanged: a path in the scenario, and its values as they were typed."""

    path: str
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """What a table calls it: a setting by its name, else the last two names of its path."""
        _, is_setting, setting = self.path.rpartition("settings.")
        return setting if is_setting else ".".join(self.path.split(".")[-2:])


def sweep_scenario(
    scenario: Annotated[
        str, typer.Argument(help="A scenario file, or the name of one that comes along.")
    ],
    *,
    changes: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="PATH=VALUE[,VALUE...]",
            help="Another value in all runs; of several values each has its runs, and each value "
            "of one path meets each of the others.",
        ),
    ],
    figures: Annotated[
        list[str] | None,
        typer.Option(
            "--figure",
            metavar="NAME",
            help="What is told of each run: a number of summary.json (controller_queue_ms.p99), or "
            "how long a fault was on (roll.seconds).",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Of all runs.")] = None,
    trace_level: Annotated[str | None, typer.Option("--trace-level", help="Of all runs.")] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", metavar="J", help="So many at once. Default: the number of CPUs."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder for all. Default: runs/NAME-sweep."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print sweep.json; all else goes to standard error.")
    ] = False,
) -> None:
    """Run a scenario with other values in it, and put what came of them side by side.

    One figure over two paths is a grid, anything else a line for each run. Every run has its own
    folder, for show, picture and describe. The exit status is 1 if a run failed, or a check of one
    has another verdict than the scenario expects.

    \b
    Examples:
      tidegauge sweep rolling-restart --set faults.roll.batch=1,2,3 --figure roll.seconds \\
          --figure partition_seconds_under_min_isr
      tidegauge sweep lag-and-session --figure partition_seconds_offline \\
          --set cluster.settings.replica.lag.time.max.ms=5000,10000,30000 \\
          --set cluster.settings.zookeeper.session.timeout.ms=6000,18000
      tidegauge sweep isr-storm --set release=2.6,2.8 --figure controller_queue_ms.max
    """
    from tidegauge.seed_runs import FIGURES

    values = [_values(text) for text in changes]
    fixed = tuple(text for text, each in zip(changes, values, strict=True) if len(each.values) == 1)
    request = RunRequest(scenario, fixed, seed, trace_level, inline=True)
    axes = [each for each in values if len(each.values) > 1]
    if not axes:
        fail("--set: no path has several values, such as cluster.brokers=3,6")
    chosen = [
        tuple(f"{axis.path}={value}" for axis, value in zip(axes, combination, strict=True))
        for combination in product(*(axis.values for axis in axes))
    ]
    if len(chosen) > _MOST_RUNS:
        fail(f"--set: {len(chosen):,} runs are too many; {_MOST_RUNS:,} are the most")
    with report(as_json=as_json):
        content, ended = _sweep(request, axes, chosen, figures or list(FIGURES), jobs, out)
    if as_json:
        print_json(content)
    if any(each.error or each.unexpected for each in ended):
        raise typer.Exit(1)


def _values(text: str) -> Axis:
    """A path and its values; a list or mapping, which has commas of its own, is one."""
    path, equals, values = text.partition("=")
    if not equals or not path or not values:
        fail(f"--set {text}: must be PATH=VALUE,VALUE..., such as cluster.brokers=3,6")
    if any(mark in values for mark in "[{'\""):
        return Axis(path, (values,))
    return Axis(path, tuple(value.strip() for value in values.split(",")))


def _sweep(
    request: RunRequest,
    axes: Sequence[Axis],
    chosen: Sequence[tuple[str, ...]],
    figures: Sequence[str],
    jobs: int | None,
    out: Path | None,
) -> tuple[dict[str, Any], list[EndedRun]]:
    """Run all, tell what came of them, and write it down."""
    from tidegauge.run_folder import new_run_folder

    requests = [request._replace(changes=(*request.changes, *each)) for each in chosen]
    # Each is read before any is run: a value that cannot be is told at once.
    loaded = [each.load() for each in requests]
    jobs = jobs_of(jobs, len(requests))
    out = out or new_run_folder(f"{loaded[0].name}-sweep")
    make_batch_folder(out)
    announce_compilation()
    typer.echo(f"{loaded[0].name}: {len(requests)} runs, {jobs} at once, into {out}")
    ended = _run_all(requests, jobs, out)
    _check_figures(figures, ended)
    content = {
        "scenario": loaded[0].name,
        "over": {axis.path: list(axis.values) for axis in axes},
        "figures": list(figures),
        "runs": [
            {
                "changes": list(chosen[each.number]),
                "folder": str(_folder(out, each.number)),
                "error": each.error,
                "unexpected": list(each.unexpected),
                **{name: each.figures.get(name) for name in figures},
                "trace_sha256": each.trace_sha256,
            }
            for each in ended
        ],
    }
    write_batch(out / SWEEP, content)
    _show(console(), axes, figures, ended)
    for each in ended:
        if each.error or each.unexpected:
            words = shlex.join(chosen[each.number])
            typer.echo(f"{words}: {each.error or 'not as expected: ' + ', '.join(each.unexpected)}")
    typer.echo(f"Runs, in this order: {_folder(out, 0)} ...; all of it: {out / SWEEP}")
    return content, ended


def _folder(out: Path, number: int) -> Path:
    return out / f"{number + 1:03}"


def _run_all(requests: Sequence[RunRequest], jobs: int, out: Path) -> list[EndedRun]:
    """What came of each run, in their order."""
    from tidegauge.many_runs import PlannedRun, run_all

    planned = [
        PlannedRun(request.file(), request.scenario_changes(), _folder(out, number))
        for number, request in enumerate(requests)
    ]
    ended = ended_runs(run_all(planned, jobs), len(planned), "runs", out)
    return sorted(ended, key=lambda each: each.number)


def _check_figures(figures: Sequence[str], ended: Sequence[EndedRun]) -> None:
    """Fail if a figure is one of no run."""
    from difflib import get_close_matches

    known = {name for each in ended for name in each.figures}
    for name in figures:
        if known and name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else "summary.json has their names"
            fail(f"--figure {name}: no run has such a number; {hint}")


def _show(
    out: Console, axes: Sequence[Axis], figures: Sequence[str], ended: Sequence[EndedRun]
) -> None:
    """A grid of one figure over two axes, or a line for each run."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    values = [each.figures for each in ended]
    out.print()
    if _is_grid(axes, figures):
        down, across = axes
        out.print(f"{figures[0]}, over {across.name}", style="bold", soft_wrap=True)
        table.add_column(down.name)
        for value in across.values:
            table.add_column(value, justify="right")
        for row, value in enumerate(down.values):
            begin = row * len(across.values)
            cells = values[begin : begin + len(across.values)]
            table.add_row(value, *(number_text(each.get(figures[0])) for each in cells))
    else:
        for axis in axes:
            table.add_column(axis.name, overflow="fold", min_width=max(map(len, axis.values)))
        for name in figures:
            table.add_column(name.replace("_", " "), justify="right")
        for each, chosen in zip(values, product(*(axis.values for axis in axes)), strict=True):
            table.add_row(*chosen, *(number_text(each.get(name)) for name in figures))
    out.print(table)
    out.print()


def _is_grid(axes: Sequence[Axis], figures: Sequence[str]) -> bool:
    return (len(axes), len(figures)) == (2, 1)
