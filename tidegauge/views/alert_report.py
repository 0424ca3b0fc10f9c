"""The output of ``tidegauge alerts`` about incidents and alerts."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidegauge.rehearsal.alerts import Alert
from tidegauge.rehearsal.incidents import Rehearsal, Rehearsed, dead_alerts, incident_names
from tidegauge.rehearsal.promtool import Spell
from tidegauge.rehearsal.verdicts import Judged, Verdict, duration_text, reason_untested
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import short_time_text
from tidegauge.views.alert_matrix import folded, show_matrix
from tidegauge.views.output import print_command

_STYLES = {
    Verdict.FIRED: "green",
    Verdict.SILENT: "green",
    Verdict.NOT_JUDGED: "dim",
    Verdict.TOO_SHORT: "yellow",
}
_FAILURE = "bold red"
_INDENT = "  "


# Before and in the rehearsal.


def show_beginning(out: Console, rehearsal: Rehearsal, incidents: int, jobs: int) -> None:
    """Print the number of alerts and incidents, the intervals and promtool's version."""
    files = len(rehearsal.files)
    scrape, evaluation = (duration_text(each) for each in rehearsal.intervals)
    text = (
        f"{counted(len(rehearsal.alerts.alerts), 'alert')} of {counted(files, 'file')}, "
        f"{counted(incidents, 'incident')}, {jobs} at once; scraped every {scrape}, evaluated "
        f"every {evaluation} by promtool {rehearsal.promtool.version}"
    )
    out.print(folded(text, out.width), markup=False)
    out.print(
        f"metrics named as by {rehearsal.spelling.exporter} ({rehearsal.spelling.name})",
        soft_wrap=True,
        markup=False,
    )


def show_incident(out: Console, ended: Rehearsed) -> None:
    """Print the behaviour of each alert in an incident."""
    title = Text("\n").append(ended.name, style="bold cyan")
    if ended.incident is None:
        out.print(title.append(f"   {ended.error}", style=_FAILURE))
        return
    title.append(f"   {duration_text(ended.incident.duration_us)}")
    incident = ended.incident
    faults = incident.faults_begin_us, incident.faults_end_us
    counted_from = incident.begins_us, incident.ends_us
    if faults[0] is not None:
        title.append(f", faults {_times_text(*faults)}")
    if counted_from not in ((None, None), faults):
        title.append(f"; delays count {_times_text(*counted_from)}")
    out.print(title)
    rows = [
        each
        for each in ended.judged
        if each.verdict.is_failure
        or each.verdict == Verdict.TOO_SHORT
        or (each.firing and each.verdict in _STYLES)
    ]
    if rows:
        out.print(_table(rows))
    silent = [each.alert for each in ended.judged if each.verdict == Verdict.SILENT]
    _list_alerts(out, "stayed silent, as expected", silent)
    # Shipped incidents have expectations of rules in many files, of which few are given.
    if ended.name not in incident_names():
        _list_alerts(out, "alerts with expectations, but in none of the files", ended.unknown)
        if not any(each.expected for each in ended.judged):
            out.print(f"{_INDENT}it has no expectations: see its section `alerts`")


def _times_text(begin_us: int | None, end_us: int | None) -> str:
    """From 5m to 10m, of the virtual time of a run."""
    text = f"from {duration_text(begin_us or 0)}"
    return f"{text} on" if end_us is None else f"{text} to {duration_text(end_us)}"


def _list_alerts(out: Console, title: str, alerts: Sequence[str]) -> None:
    if alerts:
        text = f"{title}: {', '.join(alerts)}"
        out.print(Text(folded(text, out.width, _INDENT, 2 * _INDENT), style="dim"))


def _table(rows: Sequence[Judged]) -> Table:
    grid = Table(box=None, pad_edge=True, show_edge=False, header_style="dim")
    for title in ("", "", "after", "for", "over after", "expected"):
        grid.add_column(title, no_wrap=title == "")
    for each in rows:
        style = _FAILURE if each.verdict.is_failure else _STYLES[each.verdict]
        began = "never"
        if each.firing:
            began = f"at {duration_text(each.firing[0].begin_us)} of the run"
        grid.add_row(
            Text(each.verdict.value, style=style),
            Text(each.alert),
            began if each.late_us is None else duration_text(each.late_us),
            _spells_text(each),
            "" if each.cleared_us is None else duration_text(each.cleared_us),
            Text(each.expected, style=style),
        )
    return grid


def _spells_text(each: Judged) -> str:
    if not each.firing:
        return "was pending" if each.pending else ""
    text = duration_text(each.fired_us)
    if len(each.firing) > 1:
        text += f", {counted(len(each.firing), 'time')}"
    return text + (", to the end" if each.firing[-1].end_us is None else "")


# After the rehearsal.


def show_summary(
    out: Console,
    rehearsal: Rehearsal,
    ended: Sequence[Rehearsed],
    command: str,
    *,
    is_detailed: bool,
) -> None:
    """Print the matrix of alerts and incidents, the failures, and the command that repeats them.

    Args:
        out: the output.
        rehearsal: the alerts and their files.
        ended: the results of all incidents.
        command: the command that tries the same rules again, without the incidents.
        is_detailed: whether each incident, and each alert, is shown with its times.
    """
    show_matrix(out, rehearsal, ended)
    if is_detailed:
        for one in ended:
            show_incident(out, one)
        _show_alerts(out, rehearsal, ended)
    _show_dead(out, rehearsal, ended)
    _show_untested(out, rehearsal)
    _show_failures(out, rehearsal, ended, command)


def _show_alerts(out: Console, rehearsal: Rehearsal, ended: Sequence[Rehearsed]) -> None:
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    grid.add_column("alert", no_wrap=True)
    for title in ("as expected", "fired in", "after"):
        grid.add_column(title, justify="right")
    grid.add_column("")
    for alert in rehearsal.alerts.alerts:
        grid.add_row(*_row(alert, ended))
    out.print(
        "\nFor each alert: the incidents with expectations of it that came true, the incidents\n"
        "in which it fired, and its delay after the start of the trouble\n"
    )
    out.print(grid)


#: A comparison that only a count without any series could meet; and then there is no count.
_COUNT_OF_NOTHING = re.compile(
    r"\s*count\b.*\)\s*(?P<comparison>==\s*0|<\s*1|<=\s*0)\s*", re.DOTALL | re.IGNORECASE
)


def _show_dead(out: Console, rehearsal: Rehearsal, ended: Sequence[Rehearsed]) -> None:
    dead = dead_alerts(rehearsal, ended)
    if dead:
        out.print("\nDead: fired in no incident:")
    for alert in rehearsal.alerts.alerts:
        if alert.name in dead:
            text = f"{alert.name}{_why_dead(alert, ended)}"
            out.print(folded(text, out.width, _INDENT, 2 * _INDENT), markup=False)


def _why_dead(alert: Alert, ended: Sequence[Rehearsed]) -> str:
    if match := _COUNT_OF_NOTHING.fullmatch(alert.expression):
        return (
            f": count(...) {match['comparison']} can never be true, as without series there is "
            "no count; absent(...) is"
        )
    pending = [
        one.name
        for one in ended
        if any(each.alert == alert.name and each.pending for each in one.judged)
    ]
    if pending:
        return f": its `for` of {duration_text(alert.for_us)} was too long in {', '.join(pending)}"
    return ""


def _show_failures(
    out: Console, rehearsal: Rehearsal, ended: Sequence[Rehearsed], command: str
) -> None:
    failed = [each for each in ended if not each.is_as_expected]
    expectations = sum(each.verdict.is_judged for one in ended for each in one.judged)
    failures = sum(each.verdict.is_failure for one in ended for each in one.judged)
    out.print(
        f"\n{failures} of {counted(expectations, 'expectation')} failed, in "
        f"{len(failed)} of {counted(len(ended), 'incident')}"
        if failed
        else f"\nAll {counted(expectations, 'expectation')} were met"
        if expectations
        else "",
        style="bold red" if failed else "bold green",
    )
    if rehearsal.misspelt:
        metrics = counted(len({each.metric for each in rehearsal.misspelt}), "metric")
        out.print(f"{metrics} misspelt: see above", style=_FAILURE)
    for one in failed:
        _show_failure(out, one)
    if failed:
        again = f"{command} --incidents {shlex.quote(','.join(one.name for one in failed))}"
        names = {None, *(one.incident.name for one in failed if one.incident is not None)}
        asked = [each for each in rehearsal.asked if each.incident in names]
        again += "".join(f" --expect {shlex.quote(each.text)}" for each in asked)
        print_command(f"{_INDENT}Again", again)


def _show_untested(out: Console, rehearsal: Rehearsal) -> None:
    """Print the alerts that cannot be tested, those that are dead on a cluster apart."""
    if rehearsal.misspelt:
        out.print("\nMisspelt metrics: errors of the rules; not judged:", style=_FAILURE)
        for each in rehearsal.misspelt:
            out.print(folded(str(each), out.width, _INDENT, 2 * _INDENT), markup=False)
    reasons = {
        Verdict.NOT_SIMULATED: "Not simulated, so not judged (silent here, or firing forever)",
        Verdict.NEVER_EXPORTED: "Never exported: this exporter makes no such names; not judged",
    }
    for verdict, title in reasons.items():
        untested = [
            alert
            for alert in rehearsal.alerts.alerts
            if not alert.is_simulated and reason_untested(alert) == verdict
        ]
        if untested:
            out.print(f"\n{title}:")
        for alert in untested:
            text = f"{alert.name}: {why_untested(alert)}"
            out.print(folded(text, out.width, _INDENT, 2 * _INDENT), markup=False)


def _show_failure(out: Console, one: Rehearsed) -> None:
    if one.error is not None:
        text = f"{one.name}: {one.error}"
        out.print(folded(text, out.width, _INDENT, 2 * _INDENT), markup=False)
    for each in one.judged:
        if each.verdict.is_failure:
            text = (
                f"{one.name}: {each.alert}: {each.verdict.value}: {_what_it_did(each)}"
                f"; expected: {each.expected}"
            )
            out.print(folded(text, out.width, _INDENT, 2 * _INDENT), markup=False)


def _what_it_did(each: Judged) -> str:
    if not each.firing:
        return "it did not fire" + (", but was pending" if each.pending else "")
    began = f"it fired at {short_time_text(each.firing[0].begin_us)}"
    if each.late_us is not None:
        began += f", {duration_text(each.late_us)} after the trouble began"
    return f"{began}, for {_spells_text(each)}"


def _row(alert: Alert, ended: Sequence[Rehearsed]) -> Iterator[str | Text]:
    found = [(one.name, each) for one in ended for each in one.judged if each.alert == alert.name]
    rules = f" ({counted(len(alert.places), 'rule')})" if len(alert.places) > 1 else ""
    yield Text(f"{alert.name}{rules}")
    if not alert.is_simulated:
        yield from ("", "", "", Text(reason_untested(alert).value, style="dim"))
        return
    judged = [each for _, each in found if each.verdict.is_judged]
    good = sum(not each.verdict.is_failure for each in judged)
    yield f"{good} of {len(judged)}" if judged else ""
    fired = [each for _, each in found if each.firing]
    yield str(len(fired))
    late_us = sorted(each.late_us for each in fired if each.late_us is not None)
    texts = [duration_text(each) for each in (late_us[:1] + late_us[-1:])]
    yield " to ".join(dict.fromkeys(texts))
    failures = Counter(each.verdict.value for each in judged if each.verdict.is_failure)
    if failures:
        where = ", ".join(name for name, each in found if each.verdict.is_failure)
        yield Text(f"{', '.join(failures)}: {where}", style=_FAILURE)
    else:
        yield ""


def why_untested(alert: Alert) -> str:
    """The reason why an alert cannot be tested: the metrics that it does not find."""
    if alert.reads_nothing:
        return "reads no metric"
    needed = []
    for metric in alert.never_made or alert.missing:
        own = alert.never_made.get(metric)
        needed.append(metric if own is None else f"{metric} (here {own})")
    return f"needs {', '.join(needed)}"


# For programs.


def content_of(rehearsal: Rehearsal, ended: Sequence[Rehearsed]) -> dict[str, Any]:
    """The whole report as JSON; times are virtual seconds."""
    dead = dead_alerts(rehearsal, ended)
    return {
        "promtool": rehearsal.promtool._asdict(),
        "scrape_interval_seconds": rehearsal.intervals.scrape_us / 1e6,
        "evaluation_interval_seconds": rehearsal.intervals.evaluation_us / 1e6,
        "metrics_spelling": rehearsal.spelling.name,
        "as_expected": all(one.is_as_expected for one in ended),
        "misspelt_metrics": [
            each._asdict() | {"file": str(each.file)} for each in rehearsal.misspelt
        ],
        "alerts": [
            {
                "alert": alert.name,
                "rules": list(alert.places),
                "is_simulated": alert.is_simulated,
                "missing_metrics": list(alert.missing),
                "never_exported_metrics": dict(alert.never_made),
                "misspelt_metrics": dict(alert.misspelt),
                "is_dead": alert.name in dead,
            }
            for alert in rehearsal.alerts.alerts
        ],
        "incidents": [_content_of_incident(one) for one in ended],
    }


def _content_of_incident(one: Rehearsed) -> dict[str, Any]:
    incident = one.incident
    return {
        "incident": one.name,
        "error": one.error,
        "mode": None if incident is None else incident.mode,
        "as_expected": one.is_as_expected,
        "in_none_of_the_files": list(one.unknown),
        "wall_seconds": round(one.seconds, 3),
        "duration_seconds": None if incident is None else incident.duration_us / 1e6,
        "trouble_begins_seconds": None if incident is None else _seconds(incident.begins_us),
        "trouble_ends_seconds": None if incident is None else _seconds(incident.ends_us),
        "alerts": [
            {
                "alert": each.alert,
                "verdict": each.verdict.value,
                "is_failure": each.verdict.is_failure,
                "expected": each.expected,
                "fired_after_seconds": _seconds(each.late_us),
                "fired_for_seconds": each.fired_us / 1e6,
                "over_after_seconds": _seconds(each.cleared_us),
                "firing": _content_of_spells(each.firing),
                "pending": _content_of_spells(each.pending),
            }
            for each in one.judged
        ],
    }


def _content_of_spells(spells: Sequence[Spell]) -> list[dict[str, Any]]:
    return [
        {
            "begin_seconds": spell.begin_us / 1e6,
            "end_seconds": _seconds(spell.end_us),
            "most_at_once": spell.most,
        }
        for spell in spells
    ]


def _seconds(time_us: int | None) -> float | None:
    return None if time_us is None else time_us / 1e6
