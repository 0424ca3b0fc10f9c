"""``tidegauge alerts`` tests alert rules on simulated incidents; ``dashboards`` has Grafana's."""

import re
import shlex
from collections.abc import Iterator, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from tidegauge.commands.loading import announce_compilation, warn
from tidegauge.commands.run_options import AlertsOptions, DashboardsOptions
from tidegauge.commands.shared_options import words_of
from tidegauge.commands.watching import spelling_named
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.metrics.spellings.spelling import Spelling
from tidegauge.rehearsal import incidents
from tidegauge.rehearsal.alerts import Alert, RuleFile, read_rule_file
from tidegauge.rehearsal.dashboards import panel_needs, read_dashboard
from tidegauge.rehearsal.metric_names import (
    alerts_on,
    misspelt_metrics,
    recognised_spelling,
    served_metrics,
)
from tidegauge.rehearsal.promtool import Intervals, check_rules, find_promtool
from tidegauge.scenario.text.errors import counted, did_you_mean
from tidegauge.simulation.quantities import parse_time
from tidegauge.views import dashboard_report
from tidegauge.views.alert_matrix import show_matrix
from tidegauge.views.alert_report import content_of, show_beginning, show_summary, why_untested
from tidegauge.views.output import INTERRUPTED, console, print_json, report
from tidegauge.views.progress import jobs_of, make_batch_folder, working

ALL = "all"
_ASKED = re.compile(r"(?P<alert>.+)=(?P<verb>fires|silent)(?:@(?P<incident>.+))?")
#: Prometheus allows less, but no cluster is scraped so often.
_LEAST_INTERVAL_US = 1_000_000


def rehearse_alerts(options: AlertsOptions) -> None:
    """Perform ``tidegauge alerts``."""
    paths = [*options.rules, *(options.more_rules or ())]
    names = _incidents_of(options.incidents or [ALL])
    with report(as_json=options.as_json):
        rehearsal = _prepared(options, paths, names)
        announce_compilation()
        ended = _rehearsed(rehearsal, names, jobs_of(options.jobs, len(names)))
        same = options._replace(rules=paths, more_rules=None, incidents=None, jobs=None, keep=None)
        same = same._replace(expect=None, as_json=False)
        again = shlex.join(["tidegauge", "alerts", *words_of(same)])
        is_detailed = options.verbose or len(names) == 1
        show_summary(console(), rehearsal, ended, again, is_detailed=is_detailed)
    if options.as_json:
        print_json(content_of(rehearsal, ended))
    if not any(each.is_judged for each in ended):
        raise TidegaugeError(_why_nothing_was_judged(rehearsal))
    if rehearsal.misspelt or not all(each.is_as_expected for each in ended):
        raise typer.Exit(1)


def _why_nothing_was_judged(rehearsal: incidents.Rehearsal) -> str:
    if rehearsal.misspelt:
        return f"nothing was judged: {rehearsal.misspelt[0]}"
    if any(alert.is_simulated for alert in rehearsal.alerts.alerts):
        return (
            "nothing was judged: no incident that was tried expects anything of these alerts; "
            "healthy-day expects every alert to be silent, and --expect RULE=fires adds an "
            "expectation"
        )
    return (
        "nothing was judged: each alert needs a metric that is not simulated, or by a name that "
        f"{rehearsal.spelling.name} never makes; --metrics-spelling names another exporter"
    )


def _incidents_of(options: Sequence[str]) -> list[str]:
    """The named incidents, each once; the command ends if one cannot be run."""
    listed = [name.strip() for option in options for name in option.split(",") if name.strip()]
    if not listed:
        raise TidegaugeError("--incidents: must name an incident")
    names = [
        each for name in listed for each in (incidents.incident_names() if name == ALL else [name])
    ]
    names = list(dict.fromkeys(names))
    taken: dict[str, str] = {}
    for name in names:
        scenario = incidents.load_incident(name)
        if scenario.name in taken:
            raise TidegaugeError(
                f"--incidents: {taken[scenario.name]} and {name} are both called {scenario.name}"
            )
        taken[scenario.name] = name
    return names


def _intervals(scrape: str, evaluation: str) -> Intervals:
    found = []
    for option, text in (("--scrape-interval", scrape), ("--evaluation-interval", evaluation)):
        try:
            interval_us = parse_time(text)
        except ValueError as error:
            raise TidegaugeError(f"{option} {error}") from error
        if interval_us < _LEAST_INTERVAL_US or interval_us % 1_000:
            raise TidegaugeError(f"{option} {text}: must be whole milliseconds, and 1s at least")
        found.append(interval_us)
    return Intervals(*found)


def _prepared(
    options: AlertsOptions, paths: Sequence[Path], names: Sequence[str]
) -> incidents.Rehearsal:
    """The input of all incidents; the command ends if a file or promtool cannot be used."""
    intervals = _intervals(options.scrape_interval, options.evaluation_interval)
    files = _rule_files(paths)
    spelling = _spelling(options.metrics_spelling, files)
    misspelt = misspelt_metrics(files, served_metrics(spelling))
    alerts = alerts_on(files, spelling, misspelt)
    if not alerts.alerts:
        raise TidegaugeError(f"{', '.join(map(str, paths))}: there is no alert in it")
    asked = [_asked(text, alerts.alerts, names) for text in options.expect or []]
    if options.keep is not None:
        make_batch_folder(options.keep)
    program = find_promtool(options.promtool)
    with TemporaryDirectory(prefix="tidegauge-alerts-") as folder:
        check_rules(program, files, Path(folder))
    return incidents.Rehearsal(
        files, alerts, program, intervals, options.keep, spelling, asked, misspelt
    )


def _spelling(named: str | None, files: Sequence[RuleFile]) -> Spelling:
    """The spelling that is named, else that of the exporter whose names most rules have."""
    return recognised_spelling(files) if named is None else spelling_named(named)


def _asked(text: str, alerts: Sequence[Alert], names: Sequence[str]) -> incidents.Asked:
    """An expectation of ``--expect``; the command ends if it concerns nothing that is tried."""
    match = _ASKED.fullmatch(text)
    if match is None:
        raise TidegaugeError(
            f"--expect {text}: must be RULE=fires or RULE=silent, with @INCIDENT for one incident"
        )
    known = {alert.name: alert for alert in alerts}
    for kind, those in {"alert": known.keys(), "incident": names}.items():
        if match[kind] is not None and match[kind] not in those:
            raise TidegaugeError(
                f"--expect {text}: no {kind} {match[kind]} is tried; "
                f"{did_you_mean(match[kind], those)}"
            )
    if known[match["alert"]].missing:
        alert = known[match["alert"]]
        meant = ", ".join(alert.misspelt.values())
        raise TidegaugeError(
            f"--expect {text}: {alert.name} {why_untested(alert)}, which is not exported"
            + (f"; did you mean {meant}?" if meant else "")
        )
    named = match["incident"]
    incident = None if named is None else incidents.load_incident(named).name
    return incidents.Asked(match["alert"], match["verb"] == "fires", incident, text)


def _rule_files(paths: Sequence[Path]) -> list[RuleFile]:
    for path in paths:
        if str(path) in incidents.incident_names() and not path.exists():
            raise TidegaugeError(
                f"{path}: is an incident, not a rule file; separate incidents with commas"
            )
    return [read_rule_file(path) for path in dict.fromkeys(paths)]


def _rehearsed(
    rehearsal: incidents.Rehearsal, names: Sequence[str], jobs: int
) -> list[incidents.Rehearsed]:
    """The result of each incident, in their order."""
    out = console()
    tried: list[incidents.Rehearsed] = []
    try:
        show_beginning(out, rehearsal, len(names), jobs)
        with working(f"0 of {counted(len(names), 'incident')} tried") as tell:
            for each in incidents.rehearse(rehearsal, names, jobs, warn):
                tried.append(each)
                tell(f"{len(tried)} of {counted(len(names), 'incident')} tried")
    except KeyboardInterrupt:
        show_matrix(out, rehearsal, tried)
        typer.echo(f"\nStopped: {len(tried)} of {len(names)} incidents were tried")
        raise typer.Exit(INTERRUPTED) from None
    return tried


# Dashboards.


#: Folders of the package ``tidegauge.deploy`` that are written.
_FOLDERS = ("grafana", "prometheus")


def write_dashboards(options: DashboardsOptions) -> None:
    """Perform ``tidegauge dashboards``."""
    if options.check:
        _check_dashboards(options, options.check)
        return
    if options.folder is None:
        raise TidegaugeError("dashboards needs a folder to write to, or --check FILE")
    if options.folder.suffix == ".json":
        raise TidegaugeError(f"{options.folder}: is not a folder; --check FILE reads a dashboard")
    if options.folder.exists() and (not options.folder.is_dir() or any(options.folder.iterdir())):
        raise TidegaugeError(
            f"{options.folder}: is not an empty folder, and no file is overwritten"
        )
    for path, source in _files():
        target = options.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        content = source.read_bytes()
        if path.suffix == ".yml":
            content = content.replace(b":9404", f":{options.port}".encode())
        target.write_bytes(content)
        typer.echo(target)


def _check_dashboards(options: DashboardsOptions, paths: Sequence[Path]) -> None:
    dashboards = [read_dashboard(path) for path in dict.fromkeys(paths)]
    spelling = _spelling(options.metrics_spelling, [each.as_rules() for each in dashboards])
    served = served_metrics(spelling)
    checked = [
        (dashboard, [panel_needs(panel, spelling, served) for panel in dashboard.panels])
        for dashboard in dashboards
    ]
    if options.as_json:
        print_json(dashboard_report.content_of(checked, spelling))
    else:
        dashboard_report.show_dashboards(console(), checked, spelling)
    if any(panel.is_wrong for _, panels in checked for panel in panels):
        raise typer.Exit(1)


def _files() -> Iterator[tuple[Path, Traversable]]:
    """Each file, and its path in the folder."""
    for name in _FOLDERS:
        yield from _files_in(resources.files("tidegauge.deploy") / name, Path(name))
    yield Path("COVERAGE.md"), resources.files("tidegauge.metrics") / "COVERAGE.md"


def _files_in(folder: Traversable, path: Path) -> Iterator[tuple[Path, Traversable]]:
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        if each.is_dir():
            yield from _files_in(each, path / each.name)
        else:
            yield path / each.name, each
