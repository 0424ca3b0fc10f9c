"""``tidegauge run``: run a scenario into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegauge.commands import shared_options as options
from tidegauge.commands.requests import Hosting, RunRequest, WatchRequest, seeds_of, wanted_speed
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.views.output import print_json, report


def run_scenario(
    scenario: options.ScenarioName,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder for the run; new or empty. Default: runs/NAME-SEED.",
        ),
    ] = None,
    *,
    inline: options.Inline = False,
    ray: options.OnRay = False,
    actors: options.Actors = None,
    address: Annotated[
        str | None,
        typer.Option(
            "--address",
            help="Join the Ray cluster at this address. Default with --ray: the address in "
            "RAY_ADDRESS, else Ray starts on this machine.",
        ),
    ] = None,
    speed: Annotated[
        str | None,
        typer.Option(
            "--speed",
            metavar="X",
            help="Limit the speed to X times real time; or max. Default: max, with --metrics 1.",
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics",
            metavar="[HOST:]PORT",
            help="Serve metrics to a Prometheus during the run. Binds to loopback (127.0.0.1) by "
            "default; use HOST:PORT to expose them.",
        ),
    ] = None,
    metrics_level: Annotated[
        str | None,
        typer.Option(
            "--metrics-level",
            help="Series of single partitions: full, topic (sums), sparse (unhealthy partitions "
            "only) or off. Default: full up to 10,000 partitions, then topic.",
        ),
    ] = None,
    metrics_spelling: Annotated[
        str | None,
        typer.Option(
            "--metrics-spelling",
            metavar="NAME|FILE",
            help="Names of Kafka's metrics: strimzi (default), strimzi-metrics-reporter, "
            "jmx-exporter, jmx-exporter-example, grafana-cloud, confluent, bitnami, or a file of "
            "rules for the JMX exporter.",
        ),
    ] = None,
    metrics_controllers: Annotated[
        str | None,
        typer.Option(
            "--metrics-controllers",
            help="KRaft controllers that report counts of the cluster: active (default: sums are "
            "right), or faithful: each of them, as in Kafka.",
        ),
    ] = None,
    openmetrics: Annotated[
        Path | None,
        typer.Option(
            "--openmetrics",
            metavar="FILE",
            help="Write the series of the whole run to this file, for promtool's "
            "`tsdb create-blocks-from openmetrics`.",
        ),
    ] = None,
    openmetrics_start: Annotated[
        str | None,
        typer.Option(
            "--openmetrics-start",
            metavar="TIME",
            help="The real time of virtual time 0 in that file. Default: the run ends now.",
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Change a field of the scenario; VALUE is YAML. Repeatable.",
        ),
    ] = None,
    costs: options.CostsFile = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Another seed than the scenario's.")
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            "--seeds", metavar="A..B", help="Run each of these seeds, as `tidegauge sweep` does."
        ),
    ] = None,
    jobs: options.Jobs = None,
    trace_level: Annotated[
        str | None,
        typer.Option("--trace-level", "--trace", help="transitions, or all: also single requests."),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print summary.json or sweep.json; all else goes to standard error."
        ),
    ] = False,
) -> None:
    """Run a scenario in virtual time; write manifest, trace and summary.

    All processes run in this interpreter, or in actors of Ray with --ray, --actors or --address.
    The same scenario and seed give the same trace, either way and on any machine. The exit status
    is 1 if a check has another verdict than the scenario expects, or if the condition of a step was
    not met in time.

    --seeds is a sweep over seeds: each run has its own folder. The file sweep.json beside them has
    mean, interval and worst of partition-seconds and lost records. See also `tidegauge sweep`.

    --set changes a field of the scenario. PATH consists of names with dots between them; an item
    of a list has its index or its name. Below `settings` the rest of PATH is the name of one
    setting. VALUE is YAML, as in the file. Put text that looks like a number in double quotes.

    \b
    Examples:
      tidegauge run quickstart
      tidegauge run quickstart --out runs/first
      tidegauge run rack-power-loss --actors 2 --speed 10 --out runs/rack
      tidegauge run my-cluster.yaml --out runs/mine --seed 7 --trace-level all
      tidegauge run cut-and-pause --seeds 1..20 --jobs 4
                                 twenty runs, and the distribution of their figures
      tidegauge run quickstart --metrics 9404
                                 in real time, for a Prometheus; targets: http://127.0.0.1:9404/sd
      tidegauge run quickstart --openmetrics quickstart.om
      tidegauge run my-cluster.yaml --costs costs.yaml
                                 costs of your own cluster, from `tidegauge calibrate`
      tidegauge run quickstart --set faults.crash.for=2m --set 'release="3.9"' --set mode=kraft
      tidegauge run quickstart-zookeeper --set 'release="2.8"'
      tidegauge run quickstart --set cluster.settings.replica.lag.time.max.ms=10000
    """
    request = RunRequest(
        *(scenario, tuple(changes or ()), seed, trace_level),
        Hosting(inline=inline, ray=ray, actors=actors, address=address),
        wanted_speed(speed, metrics),
        WatchRequest(
            *(metrics, metrics_level, openmetrics, openmetrics_start),
            *(metrics_spelling, metrics_controllers),
        ),
        costs,
    )
    request.check()
    _check_seeds(request, seeds, jobs)
    with report(as_json=as_json):
        if seeds is None:
            # Both take a second to be imported, which `--help` does not need.
            from tidegauge.commands.performing import run_and_show  # noqa: PLC0415

            content, is_well = run_and_show(request, out)
        else:
            from tidegauge.commands.performing_many import sweep_over_seeds  # noqa: PLC0415

            content, is_well = sweep_over_seeds(request, seeds_of(seeds), jobs, out)
    if as_json:
        print_json(content)
    if not is_well:
        raise typer.Exit(1)


def _check_seeds(request: RunRequest, seeds: str | None, jobs: int | None) -> None:
    """Fail if the options contradict each other."""
    if seeds is None and jobs is not None:
        raise TidegaugeError("--jobs needs --seeds: one run is one job")
    if seeds is not None and request.seed is not None:
        raise TidegaugeError("--seeds and --seed exclude each other")
    # Before the speed: a watched run has one by default.
    if seeds is not None and request.watched != WatchRequest():
        raise TidegaugeError("--seeds excludes --metrics and --openmetrics")
    if seeds is not None and (request.hosting.actors, request.speed) != (None, None):
        raise TidegaugeError(
            "--seeds runs each seed in one process at full speed: no --actors, no --speed"
        )
