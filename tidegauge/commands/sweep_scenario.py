"""``tidegauge sweep``: one scenario with other values in it and many seeds, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegauge.commands.perform_sweep import perform_sweep
from tidegauge.options.figure_names import figures_for_programs, show_figures
from tidegauge.options.hosting import Hosting
from tidegauge.options.run_request import RunRequest
from tidegauge.options.sweep_request import SweepRequest, fixed_and_axes, seeds_of
from tidegauge.views.output import fail, print_json, report


def sweep_scenario(
    scenario: Annotated[
        str | None, typer.Argument(help="A scenario file, or the name of one that comes along.")
    ] = None,
    *,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE[,VALUE...]",
            help="Another value in all runs; of several values each has its runs, and each value "
            "of one path meets each of the others.",
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option("--seeds", metavar="A..B", help="Each setting with each of these seeds."),
    ] = None,
    figures: Annotated[
        list[str] | None,
        typer.Option(
            "--figure",
            metavar="NAME",
            help="A figure to show of each run: a number of summary.json, such as "
            "controller_queue_ms.p99, or how long a fault was on, such as roll.seconds.",
        ),
    ] = None,
    list_figures: Annotated[
        bool,
        typer.Option(
            "--figures",
            help="List the figures that runs of SCENARIO have, with unit and meaning, and run "
            "nothing. Without SCENARIO: all forms of figures.",
        ),
    ] = False,
    seed: Annotated[int | None, typer.Option("--seed", help="Of all runs.")] = None,
    trace_level: Annotated[str | None, typer.Option("--trace-level", help="Of all runs.")] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", metavar="J", help="So many at once. Default: the number of CPUs."),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            "--address",
            help="Join the Ray cluster at this address, whose machines share the scenario file and "
            "DIR. Default: that of RAY_ADDRESS, else Ray is started on this machine.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder for all; one that has runs of this sweep is gone on with. Default: "
            "runs/NAME-sweep, new.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print sweep.json; all else goes to standard error.")
    ] = False,
) -> None:
    """Run a scenario with other values in it and with many seeds, and put them side by side.

    Runs are tasks of Ray. With seeds, each figure of each setting is told with P50, P99 and the
    worst; `tidegauge analyze` has more. Without, one figure over two paths is a grid, anything else
    a line for each run. The exit status is 1 if a run failed, or a check of one has another
    verdict than the scenario expects.

    Every run has its own folder in DIR, named after what it changes and its seed, for show, picture
    and describe. The same command again runs what is missing, was stopped or has failed; with more
    values or seeds, only those. sweep.json tells the runs that were asked for last.

    \b
    Examples:
      tidegauge sweep lag-time --seeds 1..15 --out runs/lag-time \\
          --set cluster.settings.replica.lag.time.max.ms=10000,15000,30000,60000
      tidegauge sweep cut-and-pause --seeds 1..100
      tidegauge sweep rolling-restart --set faults.roll.batch=1,2,3 --figure roll.seconds \\
          --figure partition_seconds_under_min_isr
      tidegauge sweep lag-and-session --figure partition_seconds_offline \\
          --set cluster.settings.replica.lag.time.max.ms=5000,10000,30000 \\
          --set cluster.settings.zookeeper.session.timeout.ms=6000,18000
      tidegauge sweep isr-storm --set release=2.6,2.8 --figure controller_queue_ms.max
      tidegauge sweep rolling-restart --figures
    """
    if list_figures:
        _list_figures(scenario, changes or [], as_json=as_json)
        return
    if scenario is None:
        fail("SCENARIO is missing: a file, or the name of one that comes along")
    if seeds is not None and seed is not None:
        fail("--seeds and --seed exclude each other")
    fixed, axes = fixed_and_axes(changes or [])
    request = RunRequest(scenario, fixed, seed, trace_level, Hosting(address=address))
    span = None if seeds is None else seeds_of(seeds)
    wanted = SweepRequest(request, axes, span, figures or (), jobs, out)
    if span is None and not axes:
        fail("--set: no path has several values, such as cluster.brokers=3,6, and no --seeds")
    with report(as_json=as_json):
        content, is_well = perform_sweep(wanted)
    if as_json:
        print_json(content)
    if not is_well:
        raise typer.Exit(1)


def _list_figures(name: str | None, changes: list[str], *, as_json: bool) -> None:
    """Print what ``--figure`` takes; of the first value of each path, where it has several."""
    scenario = None
    if name is not None:
        fixed, axes = fixed_and_axes(changes)
        first = (f"{axis.path}={axis.values[0]}" for axis in axes)
        scenario = RunRequest(name, (*fixed, *first)).load()
    if as_json:
        print_json(figures_for_programs(scenario))
    else:
        show_figures(scenario)
