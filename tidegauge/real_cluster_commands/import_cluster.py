"""``tidegauge import``: a scenario from the output of Kafka's tools about a real cluster."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegauge.options.measured_rates import MeasuredRatesRequest
from tidegauge.options.new_file import check_new_file, time_in_scenario, write_new_file
from tidegauge.options.sweep_request import seeds_of
from tidegauge.performing.compare_imported import check_target, compare_imported
from tidegauge.views.output import fail, show_warnings
from tidegauge.views.working import working

if TYPE_CHECKING:
    from tidegauge.real_cluster.describe.imported_scenario import ImportedScenario, ImportRequest

#: A shorter run would end before any process does anything.
_LEAST_US = 1_000_000


def import_cluster(
    describe: Annotated[
        Path,
        typer.Argument(
            metavar="DESCRIBE",
            help="A file with the output of kafka-topics.sh --describe; - for standard input.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The scenario to write.")
    ],
    properties: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="A broker's server.properties, a folder of such files, or a pattern in quotes; "
            "repeatable.",
        ),
    ] = None,
    reassignment: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The JSON input of kafka-reassign-partitions."),
    ] = None,
    reassign_at: Annotated[
        str, typer.Option(metavar="TIME", help="The start of that reassignment.")
    ] = "60s",
    rates: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="CSV with the columns topic,messages_per_second,bytes_per_second, and acks if "
            "wanted.",
        ),
    ] = None,
    prometheus: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Rates, consumer groups and idle threads from the Prometheus that watches the "
            "cluster, such as http://prometheus:9090; also https, with USER:PASSWORD@ and a path.",
        ),
    ] = None,
    samples: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="SCRAPE",
            help="The same from files. A scrape is a file, or a folder or a pattern in quotes with "
            "a file for each broker: the text format of Prometheus or OpenMetrics, lines of "
            "`promtool tsdb dump`, or the JSON of /api/v1/query or /api/v1/query_range. Given "
            "twice for two scrapes, the earlier first: rates are those between them.",
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TIME",
            help="The end of the time over which rates are taken: 2026-11-24T17:40:00Z, seconds "
            "since 1970, or now. Default: now; with --samples, their last sample.",
        ),
    ] = None,
    over: Annotated[
        str | None,
        typer.Option(
            "--over",
            metavar="TIME",
            help="The length of that time. Default: 5m. Of two scrapes without timestamps it is "
            "the time between them; default: that between the times of their files.",
        ),
    ] = None,
    match: Annotated[
        str | None,
        typer.Option(
            "--match",
            metavar="MATCHERS",
            help="Only series with these labels, such as 'cluster=\"a\"', of a Prometheus that "
            "watches several clusters.",
        ),
    ] = None,
    metrics_spelling: Annotated[
        str | None,
        typer.Option(
            "--metrics-spelling",
            metavar="NAME|FILE",
            help="The names of those series, as in `tidegauge run`; a file of rules for the JMX "
            "exporter is one. Default: recognised.",
        ),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A file with the output of kafka-features.sh describe, of a KRaft cluster.",
        ),
    ] = None,
    log_dirs: Annotated[
        Path | None,
        typer.Option(
            "--log-dirs",
            metavar="FILE",
            help="A file with the output of kafka-log-dirs.sh --describe: the sizes of all logs.",
        ),
    ] = None,
    up: Annotated[
        list[int] | None,
        typer.Option(metavar="ID", help="This broker is up, though it looks down."),
    ] = None,
    down: Annotated[
        list[int] | None, typer.Option(metavar="ID", help="This broker is down.")
    ] = None,
    release: Annotated[
        str | None,
        typer.Option(metavar="RELEASE", help="Release of Kafka. Default: guessed from the files."),
    ] = None,
    duration: Annotated[
        str, typer.Option(metavar="TIME", help="Duration of the run, in virtual time.")
    ] = "5m",
    name: Annotated[
        str | None, typer.Option(help="Name of the scenario. Default: the name of its file.")
    ] = None,
    compare_to: Annotated[
        str | None,
        typer.Option(
            "--compare-to",
            metavar="RELEASE",
            help="Also run the cluster under standard faults, as it is and with this release, and "
            "print what changes. From 4.0 on a release has KRaft only.",
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option("--seeds", metavar="A..B", help="With --compare-to: the seeds of all runs."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            metavar="J",
            help="With --compare-to: number of parallel runs. Default: the number of CPUs.",
        ),
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(
            "--runs",
            metavar="DIR",
            help="With --compare-to: folder for all runs. Default: a new folder "
            "runs/NAME-to-RELEASE.",
        ),
    ] = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Make a scenario of a real cluster.

    Brokers, racks, settings, partitions, leaders and ISRs are those of the files. Brokers that
    were down are down in the scenario. Missing facts are assumed, and each assumption is printed.
    The scenario is YAML: add faults to it, and run it.

    --compare-to answers what another release, or KRaft, would change. A broker is killed, some are
    restarted, the active controller and a rack are lost: each fault has a table of its figures in
    both. Lists of settings follow: other defaults, and settings without a meaning.

    \b
    Examples:
      kafka-topics.sh --bootstrap-server kafka:9092 --describe > describe.txt
      tidegauge import describe.txt -o mine.yaml
      kafka-topics.sh --bootstrap-server kafka:9092 --describe | tidegauge import - -o mine.yaml
      tidegauge import describe.txt --properties 'server-*.properties' -o mine.yaml
      tidegauge import describe.txt --properties server-1.properties \\
          --properties server-2.properties --rates rates.csv -o mine.yaml
      tidegauge import describe.txt --prometheus http://prometheus:9090 -o mine.yaml
      tidegauge import describe.txt --prometheus http://prometheus:9090 \\
          --match 'cluster="a"' --at 2026-11-24T17:40:00Z --over 1h -o mine.yaml
      tidegauge import describe.txt --samples first/ --samples second/ -o mine.yaml
      tidegauge import describe.txt --reassignment move.json --reassign-at 90s -o move.yaml
      kafka-log-dirs.sh --bootstrap-server kafka:9092 --describe > log-dirs.txt
      tidegauge import describe.txt --log-dirs log-dirs.txt -o mine.yaml
      tidegauge import describe.txt --up 102 --release 2.4 -o mine.yaml
      tidegauge import describe.txt --features features.txt -o mine.yaml
      tidegauge import describe.txt --release 3.9 --compare-to 4.1 -o mine.yaml
    """
    from tidegauge.real_cluster.describe.imported_scenario import (
        ImportRequest,
        import_scenario,
        scenario_text,
    )
    from tidegauge.real_cluster.describe.input_file import InputError
    from tidegauge.real_cluster.describe.server_properties import properties_files

    try:
        files = properties_files(properties or [])
    except InputError as error:
        fail(str(error))
    request = ImportRequest(
        describe,
        out.stem if name is None else name,
        files,
        reassignment,
        rates,
        features,
        release,
        time_in_scenario("--duration", duration),
        time_in_scenario("--reassign-at", reassign_at),
        up or [],
        down or [],
        log_dirs,
        MeasuredRatesRequest(
            prometheus, tuple(samples or ()), at, over, match, metrics_spelling
        ).reader(rates),
    )
    _check_options(request, out, force=force)
    target = None if compare_to is None else check_target(compare_to)
    if target is None and (seeds, jobs, runs) != (None, None, None):
        fail("--seeds, --jobs and --runs need --compare-to, such as --compare-to 4.1")
    span = None if seeds is None else seeds_of(seeds)
    try:
        with working(f"reading {describe}"):
            imported = import_scenario(request)
    except InputError as error:
        fail(str(error))
    write_new_file(out, scenario_text(imported))
    show_warnings(imported.scenario)
    _show(imported, out)
    if target is not None and not compare_imported(imported, out, target, span, jobs, runs):
        raise typer.Exit(1)


def _check_options(request: ImportRequest, out: Path, *, force: bool) -> None:
    """Fail unless each option is valid by itself."""
    from tidegauge.simulation.durations import parse_duration

    times_us = {}
    for option, text in (
        ("--duration", request.duration),
        ("--reassign-at", request.reassign_at),
    ):
        times_us[option] = parse_duration(text)
    if times_us["--duration"] < _LEAST_US:
        fail(f"--duration {request.duration}: must be 1s or more")
    if request.reassignment and times_us["--reassign-at"] >= times_us["--duration"]:
        fail(f"--reassign-at {request.reassign_at}: the run ends at {request.duration}")
    if not request.name or not request.name.isprintable():
        fail(f"--name {request.name!r}: must have printable characters only")
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
