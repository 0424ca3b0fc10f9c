"""``tidegauge sweep``: one scenario with several values and many seeds, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegauge.commands import shared_options as options
from tidegauge.commands.requests import Hosting, RunRequest, seeds_of
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.views.output import print_json, report


def sweep_scenario(
    scenario: Annotated[
        str | None, typer.Argument(help="A scenario file, or the name of a shipped scenario.")
    ] = None,
    *,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE[,VALUE...]",
            help="Change a field of the scenario. One VALUE applies to all runs. Several values "
            "have runs of their own, in each combination with the values of other paths.",
        ),
    ] = None,
    seeds: options.Seeds = None,
    figures: Annotated[
        list[str] | None,
        typer.Option(
            "--figure",
            metavar="NAME",
            help="A figure to show of each run: a number of summary.json, such as "
            "controller_queue_ms.p99, or the duration of a fault, such as roll.seconds.",
        ),
    ] = None,
    list_figures: Annotated[
        bool,
        typer.Option(
            "--figures",
            help="List the figures that runs of SCENARIO have, with unit and meaning, without "
            "running it. Without SCENARIO: all forms of figures.",
        ),
    ] = False,
    seed: options.SeedOfAll = None,
    trace_level: Annotated[
        str | None, typer.Option("--trace-level", help="Trace level of all runs.")
    ] = None,
    jobs: options.Jobs = None,
    address: options.SharedAddress = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder for all runs. A folder with runs of this sweep is resumed. Default: a new "
            "folder runs/NAME-sweep.",
        ),
    ] = None,
    analyze: Annotated[
        bool,
        typer.Option(
            "--analyze",
            help="Make the tables and the report of all runs with Spark as they are finished.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print sweep.json; all else goes to standard error.")
    ] = False,
) -> None:
    """Run a scenario with several values of its fields and many seeds, and compare them.

    Runs are tasks of Ray. With seeds, each figure of each setting has its mean with an interval
    (95 %), the number of seeds in which it is above 0, P50, and the worst; P99 needs 100 seeds, and
    a figure that is mostly 0 has no interval. `tidegauge analyze` has more. Without seeds, one
    figure over two paths is a grid, anything else a line for each run. The worst run is an
    unexpected one, else the worst by the first figure in which runs differ. The exit status is 1 if
    a run failed, or if one of its checks has another verdict than the scenario expects.

    Every run has its own folder in DIR, named after its changes and its seed, for show, picture
    and describe. The same command, repeated, runs only missing, stopped and failed runs; with more
    values or seeds, only the new ones. sweep.json has the runs of the last command.

    \b
    Examples:
      tidegauge sweep lag-time --seeds 1..15 --out runs/lag-time \\
          --set cluster.settings.replica.lag.time.max.ms=10000,15000,30000,60000
      tidegauge sweep cut-and-pause --seeds 1..100 --analyze
      tidegauge sweep rolling-restart --set faults.roll.batch=1,2,3 --figure roll.seconds \\
          --figure partition_seconds_under_min_isr
      tidegauge sweep lag-and-session --figure partition_seconds_offline \\
          --set cluster.settings.replica.lag.time.max.ms=5000,10000,30000 \\
          --set cluster.settings.zookeeper.session.timeout.ms=6000,18000
      tidegauge sweep isr-storm --set release=2.6,2.8 --figure controller_queue_ms.max
      tidegauge sweep rolling-restart --figures
    """
    # They take a second to be imported, which `--help` does not need.
    from tidegauge.commands import analyze as analysis  # noqa: PLC0415
    from tidegauge.commands import performing_many  # noqa: PLC0415

    if list_figures:
        performing_many.list_figures(scenario, changes or [], as_json=as_json)
        return
    if scenario is None:
        raise TidegaugeError(
            "SCENARIO is missing: a scenario file, or the name of a shipped scenario"
        )
    if seeds is not None and seed is not None:
        raise TidegaugeError("--seeds and --seed exclude each other")
    fixed, axes = performing_many.fixed_and_axes(changes or [])
    request = RunRequest(scenario, fixed, seed, trace_level, Hosting(address=address))
    span = None if seeds is None else seeds_of(seeds)
    wanted = performing_many.SweepRequest(request, axes, span, figures or (), jobs, out)
    if span is None and not axes:
        raise TidegaugeError(
            "--set: no path has several values, such as cluster.brokers=3,6; or use --seeds"
        )
    if analyze:
        analysis.need_spark("sweep --analyze")
    with report(as_json=as_json):
        content, folder, is_well = performing_many.perform_sweep(wanted)
        if analyze:
            analysis.analyze_runs([str(folder)])
    if as_json:
        print_json(content)
    if not is_well:
        raise typer.Exit(1)
