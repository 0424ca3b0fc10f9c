"""``tidegauge compare``: variants of a cluster with the same faults, or two runs, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.options.batch_options import Jobs, SeedOfAll, SharedAddress
from tidegauge.options.compare_request import CompareRequest, compared_axis
from tidegauge.options.hosting import Hosting
from tidegauge.options.run_argument import opened_run
from tidegauge.options.run_request import RunRequest
from tidegauge.options.sweep_request import seeds_of
from tidegauge.performing.perform_comparison import Comparison, perform_comparison
from tidegauge.real_cluster.incident.pair_view import pair_content, show_run_pair
from tidegauge.real_cluster.incident.run_pair import run_pair
from tidegauge.simulation.durations import parse_time
from tidegauge.traces.run_folder import new_run_folder
from tidegauge.views.comparison_view import (
    show_caveats,
    show_changes,
    show_decisions,
    show_figures,
)
from tidegauge.views.output import console, print_json, report, show_warnings
from tidegauge.views.sweep_report import show_surprises
from tidegauge.views.working import working


def compare_scenario(
    scenario: Annotated[
        str,
        typer.Argument(
            help="A scenario file, or the name of a shipped scenario; or the folder of a run."
        ),
    ],
    other: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="The folder of a second run, to compare two runs.",
            show_default=False,
        ),
    ] = None,
    *,
    modes: Annotated[
        str | None,
        typer.Option(
            "--modes",
            metavar="MODE,MODE",
            help="Compare modes: zookeeper,kraft. The release is the scenario's if it names one "
            "that has the mode, else 3.9 with ZooKeeper and 4.1 with KRaft.",
        ),
    ] = None,
    releases: Annotated[
        str | None,
        typer.Option(
            "--releases",
            metavar="RELEASE,RELEASE...",
            help="Compare releases, each in the scenario's mode if it has that.",
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE[,VALUE...]",
            help="Change a field of the scenario. One VALUE applies to all variants. Two to four "
            "values are compared.",
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option("--seeds", metavar="A..B", help="Run each variant with each of these seeds."),
    ] = None,
    seed: SeedOfAll = None,
    trace_level: Annotated[
        str | None,
        typer.Option(
            "--trace-level",
            help="Trace level of all runs: with `all` requests to the control plane are counted.",
        ),
    ] = None,
    jobs: Jobs = None,
    address: SharedAddress = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder for all runs. A folder with runs of this comparison is resumed. Default: "
            "a new folder runs/NAME-compare.",
        ),
    ] = None,
    shift: Annotated[
        str | None,
        typer.Option(
            "--shift",
            metavar="TIME",
            help="Of two runs: what is added to times of the second, such as 12s or -3.5s. "
            "Default: by the first changes that both have.",
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print the comparison as JSON; all else goes to standard error."
        ),
    ] = False,
) -> None:
    """Run a scenario with ZooKeeper and with KRaft, or put two runs side by side.

    Instead of modes, releases or the values of one field are compared. Brokers, topics and clients
    are the same in all variants. Fields that a mode or release does not have are left out, faults
    of its control plane become those with the same cause, and each such change is printed. A
    session timeout is not converted: the other mode has its own default.

    The table has the mean of each figure over the seeds, and the interval (95 %) of that mean. A
    variant is better or worse in a figure if the intervals do not meet. The text below the table
    names what decides, and the cases in which KRaft is not better.

    Runs are tasks of Ray. Each has its own folder in DIR, as in a sweep, and the same command
    resumes. A converted scenario is a file in DIR, which can be run alone. The exit status is 1 if
    a run failed, or if one of its checks has another verdict than the scenario expects.

    With the folders of two runs nothing is run: a real one (tidegauge read-logs) and a simulated
    one, or any two. The output has elections, ISR changes, times without a leader, brokers,
    controllers, and the partitions that went through other leaders and ISRs, with the first state
    that differs. What logs do not tell is "not told by logs". The exit status is 0.

    \b
    Examples:
      tidegauge compare incidents/broker-crash --modes zookeeper,kraft
      tidegauge compare failover-budget --modes zookeeper,kraft --seeds 1..10 --out runs/failover
      tidegauge compare rolling-restart --releases 2.8,3.9,4.1 --seeds 1..5
      tidegauge compare incidents/broker-crash --set mode=kraft --set 'release="4.1"' \\
          --set controllers.settings.broker.session.timeout.ms=6000,9000,18000
      tidegauge report runs/failover
      tidegauge compare runs/real runs/proposed
      tidegauge compare runs/real runs/proposed --shift 12s --json
    """
    if other is not None:
        options = {
            "--modes": modes,
            "--releases": releases,
            "--set": changes,
            "--seeds": seeds,
            "--seed": seed,
            "--trace-level": trace_level,
            "--jobs": jobs,
            "--address": address,
            "--out": out,
        }
        _refuse_options([name for name, value in options.items() if value is not None])
        _compare_runs(Path(scenario), Path(other), shift, as_json=as_json)
        return
    if shift is not None:
        raise TidegaugeError("--shift needs the folders of two runs")
    if seeds is not None and seed is not None:
        raise TidegaugeError("--seeds and --seed exclude each other")
    fixed, axis = compared_axis(modes, releases, changes or [])
    asked = RunRequest(scenario, fixed, seed, trace_level, Hosting(address=address))
    span = None if seeds is None else seeds_of(seeds)
    request = CompareRequest(asked, axis, span, jobs, out)
    with report(as_json=as_json):
        comparison = _compare(request)
    if as_json:
        print_json(comparison.content)
    if not comparison.is_well:
        raise typer.Exit(1)


def _refuse_options(names: list[str]) -> None:
    """Fail if options of a scenario's comparison are used with two runs."""
    if names:
        raise TidegaugeError(
            f"{names[0]}: two runs are compared as they are; it needs a scenario, and one argument"
        )


def _compare_runs(one: Path, other: Path, shift: str | None, *, as_json: bool) -> None:
    shift_us = None if shift is None else _shift_us(shift)
    with report(as_json=as_json):
        runs = (opened_run(one, "compare"), opened_run(other, "compare"))
        with working(f"comparing {one} and {other}"):
            pair = run_pair(*runs, shift_us=shift_us)
        if not as_json:
            show_run_pair(console(), pair)
    if as_json:
        print_json(pair_content(pair))


def _shift_us(text: str) -> int:
    try:
        return -parse_time(text[1:]) if text.startswith("-") else parse_time(text)
    except ValueError as error:
        raise TidegaugeError(f"--shift {text}: {error}") from error


def _compare(request: CompareRequest) -> Comparison:
    variants = request.variants()
    name = variants[0].scenario.name
    out = request.out or new_run_folder(f"{name}-compare")
    labels = [variant.label for variant in variants]
    typer.echo(f"{name}: {', '.join(labels[:-1])} and {labels[-1]}")
    show_warnings(*(variant.scenario for variant in variants))
    found = perform_comparison(request.request, variants, request.seeds, out, request.jobs)
    screen = console()
    screen.print()
    show_figures(screen, labels, found.figures)
    show_caveats(screen, found.timed_out, found.caveat)
    show_decisions(screen, found.figures)
    for variant in variants:
        show_changes(screen, variant.label, [*map(str, variant.changes)])
    screen.print()
    show_surprises(screen, found.runs)
    _show_next(screen, found)
    return found


def _show_next(screen: Console, comparison: Comparison) -> None:
    lines = [
        f"tidegauge show '{comparison.folder / comparison.runs_of(variant)[0].folder}' --faults"
        for variant in comparison.variants
    ]
    lines.append(f"tidegauge report '{comparison.folder}'")
    for place, line in enumerate(lines):
        screen.print(f"{'     ' if place else 'Next:'} {line}", soft_wrap=True, markup=False)
