"""``tidegauge import``: a scenario from the output of Kafka's tools about a real cluster."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path

import typer

from tidegauge.commands.loading import (
    check_new_file,
    show_warnings,
    time_in_scenario,
    write_new_file,
)
from tidegauge.commands.measured_rates import MeasuredRatesRequest
from tidegauge.commands.scenario_options import ImportOptions
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.real_cluster.describe.imported_scenario import (
    ImportedScenario,
    ImportRequest,
    import_scenario,
)
from tidegauge.real_cluster.describe.properties_files import properties_files
from tidegauge.real_cluster.describe.scenario_text import scenario_text
from tidegauge.simulation.durations import parse_duration
from tidegauge.views.progress import working

#: A shorter run would end before any process does anything.
_LEAST_US = 1_000_000


def import_cluster(options: ImportOptions) -> None:
    """Perform ``tidegauge import``."""
    files = properties_files(options.properties or [])
    request = ImportRequest(
        options.describe,
        options.out.stem if options.name is None else options.name,
        files,
        options.reassignment,
        options.rates,
        options.features,
        options.release,
        time_in_scenario("--duration", options.duration),
        time_in_scenario("--reassign-at", options.reassign_at),
        options.up or [],
        options.down or [],
        options.log_dirs,
        MeasuredRatesRequest(
            options.prometheus,
            tuple(options.samples or ()),
            options.at,
            options.over,
            options.match,
            options.metrics_spelling,
        ).reader(options.rates),
    )
    _check_options(request, options.out, force=options.force)
    with working(f"reading {options.describe}"):
        imported = import_scenario(request)
    write_new_file(options.out, scenario_text(imported))
    show_warnings(imported.scenario)
    _show(imported, options.out)


def _check_options(request: ImportRequest, out: Path, *, force: bool) -> None:
    """Fail unless each option is valid by itself."""
    times_us = {}
    for option, text in (
        ("--duration", request.duration),
        ("--reassign-at", request.reassign_at),
    ):
        times_us[option] = parse_duration(text)
    if times_us["--duration"] < _LEAST_US:
        raise TidegaugeError(f"--duration {request.duration}: must be 1s or more")
    if request.reassignment and times_us["--reassign-at"] >= times_us["--duration"]:
        raise TidegaugeError(
            f"--reassign-at {request.reassign_at}: the run ends at {request.duration}"
        )
    if not request.name or not request.name.isprintable():
        raise TidegaugeError(f"--name {request.name!r}: must have printable characters only")
    check_new_file(out, force=force)


def _show(imported: ImportedScenario, out: Path) -> None:
    """Print the imported cluster, the notices about it, and the next commands."""
    for line in _figures(imported):
        typer.echo(line)
    for subject, notices in itertools.groupby(imported.notices, lambda notice: notice.subject):
        typer.echo(f"{subject}:")
        for notice in notices:
            typer.echo(f"  {notice.text}")
    scenario = shlex.quote(str(out))
    typer.echo(f"Next: tidegauge validate {scenario}")
    typer.echo(f"      tidegauge run {scenario} --out DIR")


def _figures(imported: ImportedScenario) -> list[str]:
    cluster = imported.cluster
    partitions = [partition for _, partition in cluster.partitions()]
    leaderless = sum(each.leader is None for each in partitions)
    short = sum(len(each.isr) < len(each.replicas) for each in partitions)
    racks = imported.data["cluster"].get("racks", ())
    down = f" (down: {', '.join(map(str, cluster.down))})" if cluster.down else ""
    counts = f"{leaderless} without a leader, {short} under-replicated"
    data = imported.data
    with_kraft = " with KRaft" if imported.scenario.has_kraft else ""
    return [
        f"{data['name']}: Kafka {data['release']}{with_kraft}, {data['duration']} of virtual time",
        f"brokers: {len(cluster.brokers)}{down}; racks: {', '.join(racks) or 'none'}",
        f"topics: {len(cluster.topics)}; partitions: {len(partitions)}, {counts}",
    ]
