"""``tidegauge import``: a scenario from the output of Kafka's tools about a real cluster."""

import itertools
import re
import shlex
import time
from collections.abc import Collection
from datetime import datetime
from math import isfinite
from pathlib import Path
from textwrap import wrap

import typer

from tidegauge.commands.loading import (
    check_new_file,
    show_warnings,
    time_in_scenario,
    write_new_file,
)
from tidegauge.commands.scenario_options import CalibrateOptions, ImportOptions
from tidegauge.commands.shared_options import parsed
from tidegauge.commands.validate import show_findings
from tidegauge.commands.watching import spelling_named
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.real_cluster.describe.imported_scenario import (
    ImportedScenario,
    ImportRequest,
    import_scenario,
    scenario_text,
)
from tidegauge.real_cluster.describe.input_file import files_at
from tidegauge.real_cluster.describe.server_properties import properties_files
from tidegauge.real_cluster.rates.measured_clients import (
    DEFAULT_OVER_S,
    MeasuredClients,
    of_prometheus,
    of_samples,
)
from tidegauge.real_cluster.rates.prometheus_api import PrometheusSource
from tidegauge.real_cluster.rates.rate_source import (
    Matcher,
    RateSource,
    Window,
    in_seconds,
    parse_matchers,
)
from tidegauge.real_cluster.rates.sample_files import SampleReader
from tidegauge.replication.release_versions import KRAFT_MODE, MODE_NAMES
from tidegauge.scenario.lint.lint import findings_of
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import parse_duration, parse_time
from tidegauge.views.output import WIDTH
from tidegauge.views.progress import working

_NUMBER = re.compile(r"\d{1,15}(\.\d+)?")
_LEAST_OVER_US = 1_000_000


_Measured = ImportOptions | CalibrateOptions


def measured_clients(options: ImportOptions) -> MeasuredClients | None:
    """The reader of measured rates; None: none are wanted.

    Raises:
        TidegaugeError: options contradict each other, or cannot be parsed.
    """
    samples = options.samples or []
    origins = {"--rates": options.rates, "--prometheus": options.prometheus, "--samples": samples}
    given = [option for option, value in origins.items() if value not in (None, [])]
    if len(given) > 1:
        raise TidegaugeError(f"{given[0]} excludes {given[1]}: rates have one origin")
    _check_that_there_is_an_origin(options)
    if options.prometheus is None and not samples:
        return None
    at_s, over_s, matchers = _at_s(options), _over_s(options), _matchers(options)
    named = options.metrics_spelling
    spelling = None if named is None else spelling_named(named)
    if options.prometheus is None:
        return of_samples(samples, at_s, over_s, matchers, spelling)
    return of_prometheus(options.prometheus, _window(at_s, over_s), matchers, spelling)


def rate_source(options: CalibrateOptions, wanted: Collection[str]) -> RateSource | None:
    """The place that has series; None: none is wanted.

    Args:
        options: the options about measurements.
        wanted: the names, in small letters, of the series that are kept of files.

    Raises:
        TidegaugeError: options contradict each other, or the place cannot be read.
    """
    if options.prometheus is not None and options.samples:
        raise TidegaugeError("--prometheus excludes --samples: rates have one origin")
    _check_that_there_is_an_origin(options)
    at_s, over_s, matchers = _at_s(options), _over_s(options), _matchers(options)
    if options.prometheus is not None:
        return PrometheusSource(options.prometheus, _window(at_s, over_s), matchers)
    if options.samples:
        reader = SampleReader(lambda name: name.lower() in wanted, matchers, over_s)
        return reader.source(options.samples, DEFAULT_OVER_S, at_s)
    return None


def _check_that_there_is_an_origin(options: _Measured) -> None:
    if options.prometheus or options.samples:
        return
    for option in ("at", "over", "match", "metrics_spelling"):
        if getattr(options, option, None) is not None:
            name = option.replace("_", "-")
            raise TidegaugeError(f"--{name} needs --prometheus or --samples")


def _at_s(options: _Measured) -> float | None:
    """The moment of ``--at`` in seconds since 1970; None: now, or that of the last sample."""
    if options.at is None:
        return None
    text = options.at.strip()
    if text == "now":
        return time.time()
    form = "must be a time such as 2026-11-24T17:40:00Z, seconds since 1970, or now"
    if _NUMBER.fullmatch(text):
        return in_seconds(float(text))
    try:
        moment = datetime.fromisoformat(text)
        at_s = moment.timestamp()
    except (ValueError, OverflowError, OSError):
        raise TidegaugeError(f"--at {options.at}: {form}") from None
    if moment.tzinfo is None:
        raise TidegaugeError(f"--at {options.at}: needs a time zone, such as Z or +02:00")
    if not isfinite(at_s) or at_s < 0:
        raise TidegaugeError(f"--at {options.at}: {form}")
    return at_s


def _over_s(options: _Measured) -> float | None:
    if options.over is None:
        return None
    over_us = parsed("--over", options.over, parse_time)
    if over_us < _LEAST_OVER_US:
        raise TidegaugeError(f"--over {options.over}: must be 1s or more")
    return over_us / 1e6


def _matchers(options: _Measured) -> tuple[Matcher, ...]:
    return () if options.match is None else parsed("--match", options.match, parse_matchers)


def _window(at_s: float | None, over_s: float | None) -> Window:
    """The time that a Prometheus is asked about; it ends now, unless a moment is given."""
    end_s = time.time() if at_s is None else at_s
    return Window(end_s - (DEFAULT_OVER_S if over_s is None else over_s), end_s)


#: A shorter run would end before any process does anything.
_LEAST_US = 1_000_000


def requested_import(options: ImportOptions) -> ImportRequest:
    """The request of these options; their files are not read yet, but for those of rates."""
    files = properties_files(options.properties or [])
    sources = [file for place in options.files for file in files_at(place, "*.y*ml")]
    return ImportRequest(
        sources,
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
        options.quorum,
        measured_clients(options),
    )


def import_cluster(options: ImportOptions) -> None:
    """Perform ``tidegauge import``."""
    request = requested_import(options)
    _check_options(request, options.out, force=options.force)
    with working(f"reading {counted(len(request.files()), 'file')}"):
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
            for line in wrap(notice.text, WIDTH, initial_indent="  ", subsequent_indent="    "):
                typer.echo(line)
    scenario = shlex.quote(str(out))
    show_findings(findings_of(imported.scenario), scenario)
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
    return [
        f"{data['name']}: {_release_and_mode(imported)}; {data['duration']} of virtual time",
        f"brokers: {len(cluster.brokers)}{down}; racks: {', '.join(racks) or 'none'}",
        f"topics: {len(cluster.topics)}; partitions: {len(partitions)}, {counts}",
    ]


def _release_and_mode(imported: ImportedScenario) -> str:
    release = imported.release
    text = f"Kafka {release.release}"
    if release.is_mode_guessed or release.mode == KRAFT_MODE:
        guess = " (a guess)" if release.is_mode_guessed else ""
        text += f" with {MODE_NAMES[release.mode]}{guess}"
    if release.eligible_leader_replicas is not None:
        is_on = "on" if release.eligible_leader_replicas else "off"
        guess = " (a guess)" if release.is_elr_guessed else ""
        text += f", eligible leader replicas {is_on}{guess}"
    return text
