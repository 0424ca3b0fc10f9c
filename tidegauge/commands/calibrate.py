"""``tidegauge calibrate``: costs of work from a real cluster's logs and metrics."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import typer

from tidegauge.commands.import_cluster import rate_source
from tidegauge.commands.loading import announce_compilation, check_new_file, write_new_file
from tidegauge.commands.scenario_options import CalibrateOptions
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.real_cluster.costs import calibration_text
from tidegauge.real_cluster.costs.calibration import MARKERS, Calibration, calibrate
from tidegauge.real_cluster.costs.estimator import ClusterLogs, read_cluster_logs
from tidegauge.real_cluster.costs.measured_times import (
    ZOOKEEPER_LATENCY,
    MeasuredSeries,
    measured_parameters,
    wanted_names,
)
from tidegauge.real_cluster.costs.recorded_times import Recorded, compare_times, read_recorded
from tidegauge.replication.release_versions import KRAFT_MODE, MODE_NAMES, ZOOKEEPER_MODE, Mode
from tidegauge.scenario.reading import load_scenario
from tidegauge.views.progress import working


class _Read(NamedTuple):
    """The logs and series of the cluster, and the names of their origins."""

    logs: Sequence[ClusterLogs]
    series: MeasuredSeries | None
    origins: list[str]


def calibrate_costs(options: CalibrateOptions) -> None:
    """Perform ``tidegauge calibrate``."""
    if not options.logs and not options.samples and options.prometheus is None:
        raise TidegaugeError("calibrate needs --logs, --samples or --prometheus")
    if options.scenario is not None and options.out is None:
        raise TidegaugeError("--scenario needs -o: the file to write")
    if options.out is not None:
        check_new_file(options.out, force=options.force)
    with working("reads logs") as tell:
        read = _read(options, tell)
        mode = _mode_of(read, options.scenario)
        recorded = _recorded(options.schedule or [], mode)
        calibration = _calibrated(read, mode)

    if options.out is not None:
        write_new_file(options.out, _text(calibration, read.origins, options.scenario))
    for line in calibration_text.calibration_lines(calibration):
        typer.echo(line)
    if options.out is not None:
        _show_next(options.out, options.scenario)
    if recorded:
        _compare(recorded, calibration, options.seeds)


def _read(options: CalibrateOptions, tell: Callable[[str], None]) -> _Read:
    logs = [read_cluster_logs(folder, MARKERS, tell) for folder in options.logs or ()]
    source = rate_source(options, wanted_names())
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
            f"{read.logs[0].folder}: no line shows whether the cluster has ZooKeeper or KRaft"
        )
    return mode


def _calibrated(read: _Read, mode: Mode) -> Calibration:
    measured = [] if read.series is None else list(measured_parameters(read.series, mode))
    calibration = calibrate(mode, read.logs, measured)
    if not calibration.fitted:
        raise TidegaugeError(f"{', '.join(read.origins)}: has no parameter of the cost model")
    return calibration


def _text(calibration: Calibration, origins: list[str], scenario: Path | None) -> str:
    if scenario is None:
        return calibration_text.cost_file_text(calibration, origins)
    try:
        # It has been read before, so it is YAML in UTF-8.
        text = scenario.read_text(encoding="utf-8-sig")
        return calibration_text.scenario_text_with(text, calibration, origins)
    except OSError as error:
        raise TidegaugeError(f"{scenario}: {error.strerror}") from error
    except calibration_text.NotBlockStyleError as error:
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
        compared = compare_times(recorded, costs, seeds, tell)
    typer.echo("")
    for line in calibration_text.comparison_lines(compared):
        typer.echo(line)
