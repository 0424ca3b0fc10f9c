"""``tidegauge calibrate``: costs of work from a real cluster's logs and metrics."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from tidegauge.commands import shared_options as options
from tidegauge.commands.compilation import announce_compilation
from tidegauge.commands.loading import check_new_file, write_new_file
from tidegauge.commands.measured_rates import MeasuredRatesRequest
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.real_cluster.costs.calibration import Calibration, calibrate
from tidegauge.real_cluster.costs.calibration_tables import calibration_lines, comparison_lines
from tidegauge.real_cluster.costs.cluster_logs import ClusterLogs, read_cluster_logs
from tidegauge.real_cluster.costs.cost_text import (
    NotBlockStyleError,
    cost_file_text,
    scenario_text_with,
)
from tidegauge.real_cluster.costs.estimators import MARKERS
from tidegauge.real_cluster.costs.measured_series import (
    ZOOKEEPER_LATENCY,
    MeasuredSeries,
    wanted_names,
)
from tidegauge.real_cluster.costs.measured_times import measured_parameters
from tidegauge.real_cluster.costs.recorded_times import Recorded, read_recorded
from tidegauge.real_cluster.costs.side_by_side import compare_figures
from tidegauge.replication.release_versions import KRAFT_MODE, MODE_NAMES, ZOOKEEPER_MODE, Mode
from tidegauge.scenario.reading import load_scenario
from tidegauge.views.progress import working

#: Runs of a schedule with each of the two costs.
_SEEDS = 10


class _Read(NamedTuple):
    """What is known of the cluster, and the names of the places that it is from."""

    logs: Sequence[ClusterLogs]
    series: MeasuredSeries | None
    origins: list[str]


def calibrate_costs(
    logs: Annotated[
        list[Path] | None,
        typer.Option(
            "--logs",
            metavar="DIR",
            help="A folder with the logs of each node in a folder of its own: server.log, "
            "controller.log, state-change.log, rotated or compressed. Repeatable, for several "
            "periods, or clusters of one kind.",
        ),
    ] = None,
    *,
    samples: Annotated[
        list[Path] | None,
        typer.Option(
            "--samples",
            metavar="FILE",
            help="Samples of metrics: pages of exporters, OpenMetrics, `promtool tsdb dump`, saved "
            "responses of Prometheus. Repeatable, in the order of the scrapes.",
        ),
    ] = None,
    prometheus: options.Prometheus = None,
    at: options.MeasuredAt = None,
    over: options.MeasuredOver = None,
    match: options.Matchers = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The file to write: costs for `tidegauge run --costs`, or with --scenario that "
            "scenario with these costs.",
        ),
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option("--scenario", metavar="FILE", help="Write a copy of this scenario."),
    ] = None,
    schedule: Annotated[
        list[Path] | None,
        typer.Option(
            "--schedule",
            metavar="FILE",
            help="Play this recorded schedule with default and with calibrated costs, and compare "
            "times with those in truth.json beside it. Repeatable.",
        ),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option("--seeds", min=1, help="Play each schedule with this number of seeds."),
    ] = _SEEDS,
    force: options.Force = False,
) -> None:
    """Fit the costs of work to a real cluster, from its own logs and metrics.

    Logs tell the costs of starts, stops, log recovery, elections, ISR changes and publications of
    metadata: each is the time between two lines. Metrics tell those of requests (RequestMetrics)
    and the bandwidth of disks (node_exporter). Kafka's default log levels are enough.

    The command prints for each parameter the quantiles, the number of samples, their spread (the
    longest by the shortest), the default, and the lines or metrics that it is from. A parameter
    without samples stays at its default, with the reason. `tidegauge validate` does not mark
    calibrated parameters with a star.

    \b
    Examples:
      tidegauge calibrate --logs cluster-logs -o costs.yaml
      tidegauge run mine.yaml --costs costs.yaml
      tidegauge calibrate --logs cluster-logs --scenario mine.yaml -o mine-calibrated.yaml
                                 a copy of the scenario with these costs
      tidegauge calibrate --logs cluster-logs --prometheus http://prometheus:9090 --over 1h \\
          -o costs.yaml
      tidegauge calibrate --logs monday --logs tuesday --schedule wednesday/schedule.json
                                 how much closer to real times the calibrated costs come
    """
    if not logs and not samples and prometheus is None:
        raise TidegaugeError("calibrate needs --logs, --samples or --prometheus")
    if scenario is not None and out is None:
        raise TidegaugeError("--scenario needs -o: the file to write")
    if out is not None:
        check_new_file(out, force=force)
    request = MeasuredRatesRequest(prometheus, tuple(samples or ()), at, over, match)
    with working("reads logs") as tell:
        read = _read(logs or [], request, tell)
        mode = _mode_of(read, scenario)
        recorded = _recorded(schedule or [], mode)
        calibration = _calibrated(read, mode)

    if out is not None:
        write_new_file(out, _text(calibration, read.origins, scenario))
    for line in calibration_lines(calibration):
        typer.echo(line)
    if out is not None:
        _show_next(out, scenario)
    if recorded:
        _compare(recorded, calibration, seeds)


def _read(
    folders: Sequence[Path], request: MeasuredRatesRequest, tell: Callable[[str], None]
) -> _Read:
    logs = [read_cluster_logs(folder, MARKERS, tell) for folder in folders]
    source = request.source(wanted_names())
    series = None if source is None else MeasuredSeries(source)
    origins = [each.origin for each in logs]
    return _Read(logs, series, origins if source is None else [*origins, source.place])


def _mode_of(read: _Read, scenario: Path | None) -> Mode:
    """The mode of the logs, else of the scenario, else of the metrics."""
    modes = {logs.mode: logs.folder for logs in read.logs if logs.mode is not None}
    if len(modes) > 1:
        raise TidegaugeError(
            f"{', '.join(map(str, modes.values()))}: are logs of ZooKeeper and of KRaft clusters"
        )
    mode = next(iter(modes), None)
    if scenario is not None:
        own = load_scenario(scenario).mode
        if mode is not None and own != mode:
            raise TidegaugeError(
                f"{scenario}: is of a {MODE_NAMES[own]} cluster, {modes[mode]} has the logs of a "
                f"{MODE_NAMES[mode]} cluster"
            )
        mode = own
    if mode is None and read.series is not None:
        has_sessions = read.series.histogram(ZOOKEEPER_LATENCY) is not None
        mode = ZOOKEEPER_MODE if has_sessions else KRAFT_MODE
    if mode is None:
        raise TidegaugeError(
            f"{read.logs[0].folder}: no line tells whether the cluster has ZooKeeper or KRaft"
        )
    return mode


def _calibrated(read: _Read, mode: Mode) -> Calibration:
    measured = [] if read.series is None else list(measured_parameters(read.series, mode))
    calibration = calibrate(mode, read.logs, measured)
    if not calibration.fitted:
        raise TidegaugeError(f"{', '.join(read.origins)}: tells no parameter of the cost model")
    return calibration


def _text(calibration: Calibration, origins: list[str], scenario: Path | None) -> str:
    if scenario is None:
        return cost_file_text(calibration, origins)
    try:
        # It has been read before, so it is YAML in UTF-8.
        text = scenario.read_text(encoding="utf-8-sig")
        return scenario_text_with(text, calibration, origins)
    except OSError as error:
        raise TidegaugeError(f"{scenario}: {error.strerror}") from error
    except NotBlockStyleError as error:
        raise TidegaugeError(f"{scenario}: {error}") from error


def _show_next(out: Path, scenario: Path | None) -> None:
    typer.echo(f"\nWritten: {out}")
    file = shlex.quote(str(out))
    if scenario is None:
        typer.echo(f"Use it:  tidegauge run SCENARIO --costs {file}")
    else:
        typer.echo(f"Next:    tidegauge validate {file}")


def _recorded(files: Sequence[Path], mode: Mode) -> list[Recorded]:
    """The recorded clusters, which must have the mode of the calibration."""
    found = []
    for file in files:
        recorded = read_recorded(file)
        own = recorded.schedule.mode
        if own != mode:
            raise TidegaugeError(
                f"{file}: is of a {MODE_NAMES[own]} cluster, not of a {MODE_NAMES[mode]} cluster"
            )
        found.append(recorded)
    return found


def _compare(recorded: Sequence[Recorded], calibration: Calibration, seeds: int) -> None:
    announce_compilation()
    with working("plays schedules") as tell:
        costs = calibration.parts().get("costs", {})
        compared = compare_figures(recorded, costs, seeds, tell)
    typer.echo("")
    for line in comparison_lines(compared):
        typer.echo(line)
