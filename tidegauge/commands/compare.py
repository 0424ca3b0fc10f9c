"""``tidegauge compare``: variants of a cluster with the same faults, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegauge.commands import shared_options as options
from tidegauge.commands.requests import Hosting, RunRequest, seeds_of
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.views.output import print_json, report


def compare_scenario(
    scenario: options.ScenarioName,
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
    seeds: options.Seeds = None,
    seed: options.SeedOfAll = None,
    trace_level: Annotated[
        str | None,
        typer.Option(
            "--trace-level",
            help="Trace level of all runs: with `all` requests to the control plane are counted.",
        ),
    ] = None,
    jobs: options.Jobs = None,
    address: options.SharedAddress = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder for all runs. A folder with runs of this comparison is resumed. Default: "
            "a new folder runs/NAME-compare.",
        ),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Run a scenario with ZooKeeper and with KRaft, and compare the runs.

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

    \b
    Examples:
      tidegauge compare incidents/broker-crash --modes zookeeper,kraft
      tidegauge compare failover-budget --modes zookeeper,kraft --seeds 1..10 --out runs/failover
      tidegauge compare rolling-restart --releases 2.8,3.9,4.1 --seeds 1..5
      tidegauge compare incidents/broker-crash --set mode=kraft --set 'release="4.1"' \\
          --set controllers.settings.broker.session.timeout.ms=6000,9000,18000
      tidegauge report runs/failover
    """
    if seeds is not None and seed is not None:
        raise TidegaugeError("--seeds and --seed exclude each other")
    # It takes a second to be imported, which `--help` does not need.
    from tidegauge.commands import comparing  # noqa: PLC0415

    fixed, axis = comparing.compared_axis(modes, releases, changes or [])
    asked = RunRequest(scenario, fixed, seed, trace_level, Hosting(address=address))
    span = None if seeds is None else seeds_of(seeds)
    request = comparing.CompareRequest(asked, axis, span, jobs, out)
    with report(as_json=as_json):
        comparison = comparing.compare_and_show(request)
    if as_json:
        print_json(comparison.content)
    if not comparison.is_well:
        raise typer.Exit(1)
