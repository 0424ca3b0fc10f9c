"""``tidegauge alerts``: alert rules, tested on simulated incidents."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from tidegauge.options.batch_options import Jobs
from tidegauge.options.watching import spelling_named
from tidegauge.performing.compilation import announce_compilation
from tidegauge.views.output import INTERRUPTED, console, fail, print_json, report
from tidegauge.views.run_batch import jobs_of, make_batch_folder

if TYPE_CHECKING:
    from tidegauge.rehearsal.alerts import RuleFile
    from tidegauge.rehearsal.incidents import Rehearsal, Rehearsed
    from tidegauge.rehearsal.promtool import Intervals

ALL = "all"
DEFAULT_INTERVAL = "15s"
DEFAULT_SPELLING = "strimzi"
#: Prometheus allows less, but no cluster is scraped so often.
_LEAST_INTERVAL_US = 1_000_000


def rehearse_alerts(
    more_rules: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="More rule files: --rules rules/*.yml"),
    ] = None,
    *,
    rules: Annotated[
        list[Path],
        typer.Option(
            "--rules",
            metavar="FILE",
            help="File with Prometheus rules or PrometheusRule objects. Repeatable.",
        ),
    ],
    incidents: Annotated[
        list[str] | None,
        typer.Option(
            "--incidents",
            metavar="all|NAME[,NAME...]",
            help="Shipped incidents (tidegauge scenarios lists them), or scenario files with a "
            "section `alerts`. Repeatable. Default: all shipped incidents.",
        ),
    ] = None,
    metrics_spelling: Annotated[
        str,
        typer.Option(
            "--metrics-spelling",
            metavar="NAME|FILE",
            help="Names of Kafka's metrics, as for `tidegauge run`.",
        ),
    ] = DEFAULT_SPELLING,
    promtool: Annotated[
        str | None,
        typer.Option(
            "--promtool",
            metavar="PATH",
            help="Path of promtool. Default: the promtool on the PATH.",
        ),
    ] = None,
    scrape_interval: Annotated[
        str, typer.Option(metavar="DURATION", help="Interval between scrapes, in virtual time.")
    ] = DEFAULT_INTERVAL,
    evaluation_interval: Annotated[
        str, typer.Option(metavar="DURATION", help="Interval of all rule groups.")
    ] = DEFAULT_INTERVAL,
    jobs: Jobs = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            metavar="DIR",
            help="Keep the series of each incident as a promtool test, and promtool's output.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON; all else goes to standard error.")
    ] = False,
) -> None:
    """Test unchanged alert rules on incidents in simulated time.

    Tidegauge runs each incident and scrapes it as Prometheus would. promtool evaluates the rules
    over these series, so `for` and `keep_firing_for` are Prometheus's own. The report has each
    alert that fired, its delay after the start of the trouble and its duration, beside the
    expectations of the incident. It shows late rules, misfires and dead rules. Rules about parts
    that are not simulated (a JVM, for example) are listed but not judged.

    The exit status is 1 if an expectation failed.

    \b
    Examples:
      tidegauge alerts --rules kafka-rules.yml
      tidegauge alerts --rules rules/*.yml --incidents broker-crash,rolling-restart
      tidegauge alerts --rules kafka-rules.yml --incidents my-incident.yaml
      tidegauge alerts --rules kafka-rules.yml --json > alerts.json
      tidegauge alerts --rules kafka-rules.yml --incidents broker-crash --keep kept
                                 keep the input of promtool
    """
    from tidegauge.views.alert_report import content_of, show_summary

    paths = [*rules, *(more_rules or ())]
    names = _incidents_of(incidents or [ALL])
    with report(as_json=as_json):
        rehearsal = _prepared(
            *(paths, promtool, _intervals(scrape_interval, evaluation_interval), keep),
            metrics_spelling,
        )
        announce_compilation()
        ended = _rehearsed(rehearsal, names, jobs_of(jobs, len(names)))
        again = _command(*(paths, promtool, scrape_interval, evaluation_interval), metrics_spelling)
        show_summary(console(), rehearsal, ended, again)
    if as_json:
        print_json(content_of(rehearsal, ended))
    if not all(each.is_as_expected for each in ended):
        raise typer.Exit(1)


def _command(
    paths: Sequence[Path], promtool: str | None, scrape: str, evaluation: str, spelling: str
) -> str:
    """The shell command that tries the same rules again."""
    words = ["tidegauge", "alerts", *(f"--rules={path}" for path in paths)]
    words += [] if spelling == DEFAULT_SPELLING else [f"--metrics-spelling={spelling}"]
    words += [] if promtool is None else [f"--promtool={promtool}"]
    words += [] if scrape == DEFAULT_INTERVAL else [f"--scrape-interval={scrape}"]
    words += [] if evaluation == DEFAULT_INTERVAL else [f"--evaluation-interval={evaluation}"]
    return shlex.join(words)


def _incidents_of(options: Sequence[str]) -> list[str]:
    """The named incidents, each once; the command ends if one cannot be run."""
    from tidegauge.rehearsal.incidents import incident_names, load_incident
    from tidegauge.scenario.reading import ScenarioError

    listed = [name.strip() for option in options for name in option.split(",") if name.strip()]
    if not listed:
        fail("--incidents: must name an incident")
    names = [each for name in listed for each in (incident_names() if name == ALL else [name])]
    names = list(dict.fromkeys(names))
    taken: dict[str, str] = {}
    for name in names:
        try:
            scenario = load_incident(name)
        except ScenarioError as error:
            fail(str(error))
        if scenario.name in taken:
            fail(f"--incidents: {taken[scenario.name]} and {name} are both called {scenario.name}")
        taken[scenario.name] = name
    return names


def _intervals(scrape: str, evaluation: str) -> Intervals:
    from tidegauge.rehearsal.promtool import Intervals
    from tidegauge.simulation.durations import parse_time

    found = []
    for option, text in (("--scrape-interval", scrape), ("--evaluation-interval", evaluation)):
        try:
            interval_us = parse_time(text)
        except ValueError as error:
            fail(f"{option} {error}")
        if interval_us < _LEAST_INTERVAL_US or interval_us % 1_000:
            fail(f"{option} {text}: must be whole milliseconds, and 1s at least")
        found.append(interval_us)
    return Intervals(*found)


def _prepared(
    paths: Sequence[Path],
    promtool: str | None,
    intervals: Intervals,
    keep: Path | None,
    spelling: str,
) -> Rehearsal:
    """The input of all incidents; the command ends if a file or promtool cannot be used."""
    from tidegauge.rehearsal.alerts import alerts_of
    from tidegauge.rehearsal.incidents import Rehearsal, served_metrics
    from tidegauge.rehearsal.promtool import PromtoolError, check_rules, find_promtool

    files = _rule_files(paths)
    named = spelling_named(spelling)
    alerts = alerts_of(files, served_metrics(named))
    if not alerts.alerts:
        fail(f"{', '.join(map(str, paths))}: there is no alert in it")
    if keep is not None:
        make_batch_folder(keep)
    try:
        program = find_promtool(promtool)
        with TemporaryDirectory(prefix="tidegauge-alerts-") as folder:
            check_rules(program, files, Path(folder))
    except PromtoolError as error:
        fail(str(error))
    return Rehearsal(files, alerts, program, intervals, keep, named)


def _rule_files(paths: Sequence[Path]) -> list[RuleFile]:
    from tidegauge.rehearsal.alerts import RuleFileError, read_rule_file
    from tidegauge.rehearsal.incidents import incident_names

    for path in paths:
        if str(path) in incident_names() and not path.exists():
            fail(f"{path}: is an incident, not a rule file; separate incidents with commas")
    try:
        return [read_rule_file(path) for path in dict.fromkeys(paths)]
    except RuleFileError as error:
        fail(str(error))


def _rehearsed(rehearsal: Rehearsal, names: Sequence[str], jobs: int) -> list[Rehearsed]:
    """The result of each incident, in their order; each is shown as soon as it is known."""
    from tidegauge.views.alert_report import show_beginning, show_incident

    out = console()
    show_beginning(out, rehearsal, len(names), jobs)
    shown: list[Rehearsed] = []
    try:
        for each in _in_order(rehearsal, names, jobs):
            show_incident(out, each)
            shown.append(each)
    except KeyboardInterrupt:
        typer.echo(f"\nStopped: {len(shown)} of {len(names)} incidents were tried")
        raise typer.Exit(INTERRUPTED) from None
    return shown


def _in_order(rehearsal: Rehearsal, names: Sequence[str], jobs: int) -> Iterator[Rehearsed]:
    from tidegauge.rehearsal.incidents import rehearse

    waiting = list(names)
    ended: dict[str, Rehearsed] = {}
    for each in rehearse(rehearsal, names, jobs):
        ended[each.name] = each
        while waiting and waiting[0] in ended:
            yield ended.pop(waiting.pop(0))
