"""The runs that show an event that hardly any other run shows, and how certain its rate is.

An event is rare if at most 1 % of the runs of a setting show it, or one of several. Each of these
runs has a row, with the command that repeats it. An event that no run shows has one row for the
setting: its rate is 0, and its interval tells how often it may happen all the same. Events in more
runs are left out: the question ``over-seeds`` has their shares.

A branch without a change is the run that it continues, with the same hash. So a run is repeated
from its own manifest, wherever its scenario file is.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.over_seeds import share_interval
from tidegauge.analysis.questions.compared_runs import setting_of_each
from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.requests import FoundRun, from_here
from tidegauge.analysis.tables.result_table import Column
from tidegauge.traces.run_files import OF_LOGS, read_manifest, read_summary

# ruff: noqa: S608 - queries are put together from texts of these rooms

#: The first time at which a branch can begin.
_FIRST = "1us"
#: The largest share of runs that show a rare event.
_RARE = 0.01


class _Event(NamedTuple):
    """An event that a run can show; the worst one has the lowest place."""

    place: int
    text: str
    unit: str = ""


def _above(seconds: str, least_s: int) -> str:
    return f"case when {seconds} > {least_s} then {seconds} else 0 * {seconds} end"


#: How much of each event a run shows, and its unit. A run from logs has nothing about records.
_AMOUNTS = {
    "acknowledged records lost without permission": (
        "0 * records_acknowledged + coalesce(lost_without_permission, 0)",
        "records",
    ),
    "acknowledged records lost": ("records_acknowledged_lost", "records"),
    "acknowledged records unavailable in the end": ("records_acknowledged_unavailable", "records"),
    "unclean elections": ("unclean_elections", ""),
    "a partition offline for over 10 minutes": (_above("offline_seconds", 600), "s"),
    "a partition offline for over 1 minute": (_above("offline_seconds", 60), "s"),
    "a partition offline": ("offline_seconds", "s"),
    "a partition stalled for over 10 minutes": (_above("longest_stall_seconds", 600), "s"),
    "a partition stalled for over 1 minute": (_above("longest_stall_seconds", 60), "s"),
    "an ISR of one": ("isr_of_one_episodes", ""),
}
_EVENTS = [_Event(place, text, unit) for place, (text, (_, unit)) in enumerate(_AMOUNTS.items())]
#: Its column for each event is the amount; null if the run cannot tell.
_QUERY = f"""
    with losses as (
        select run, sum(records) as lost_without_permission from lost
        where permitted_by is null group by run
    ),
    outages as (
        select run, max(lasted_us) / 1e6 as longest_seconds from unavailable
        where condition = 'offline' group by run
    ),
    told as (
        select f.*, lost_without_permission, coalesce(longest_seconds, 0) as offline_seconds
        from run_figures as f
        left join losses on losses.run = f.run left join outages on outages.run = f.run
    )
    select run, {", ".join(f"{sql} as event_{n}" for n, (sql, _) in enumerate(_AMOUNTS.values()))}
    from told order by run
"""
_NO_END = _Event(len(_EVENTS), "a run without an end")
_BROKEN_CHECK = _Event(len(_EVENTS) + 1, "breaches of {check}")

#: The columns of the answer, and the places of event and setting.
_RELATION = """
    event string, event_place bigint, setting string, setting_place bigint, runs bigint,
    of bigint, rate double, rate_low double, rate_high double, run string, seed bigint,
    amount double, unit string, command string
"""


def _rare_events(tables: RunTables) -> str:
    tables.add("rare_events", _RELATION, list(_rows(tables)))
    return """
        select * from rare_events
        order by runs = 0, event_place, event, setting_place, amount desc, run
    """


def _rows(tables: RunTables) -> Iterator[tuple[Any, ...]]:
    """The rare events of each setting, as rows of :data:`_RELATION`."""
    of_run = setting_of_each(tables)
    folders = {run.name: run for run in tables.runs if run.name in of_run}
    texts = {setting.order: setting.text for setting in of_run.values()}
    places = {order: place for place, order in enumerate(sorted(texts))}
    amounts: defaultdict[tuple[_Event, Any], dict[str, float]] = defaultdict(dict)
    for event, run, amount in (*_from_tables(tables), *_from_summaries(folders.values())):
        if run in of_run:
            amounts[event, of_run[run].order][run] = amount
    for (event, order), of_each in amounts.items():
        showing = {run: amount for run, amount in of_each.items() if amount > 0}
        count, runs = len(showing), len(of_each)
        if count > max(1, _RARE * runs) or 0 < count == runs:
            continue
        head = (event.text, event.place, texts[order], places[order], count, runs)
        rate = (count / runs, *share_interval(count, runs))
        if not showing:
            yield (*head, *rate, None, None, None, None, None)
        for run, amount in showing.items():
            seed, unit = of_run[run].seed, event.unit or None
            yield (*head, *rate, run, seed, amount, unit, _command(folders[run]))


def _from_tables(tables: RunTables) -> Iterator[tuple[_Event, str, float]]:
    for row in tables.rows(_QUERY):
        run, *amounts = row.values()
        for event, amount in zip(_EVENTS, amounts, strict=True):
            if amount is not None:
                yield event, run, float(amount)


def _from_summaries(runs: Iterable[FoundRun]) -> Iterator[tuple[_Event, str, float]]:
    """The checks that are broken, and the runs that were stopped; a run from logs has neither."""
    for run in runs:
        summary = read_summary(run.folder)
        yield _NO_END, run.name, float(summary is None)
        for check, told in (summary or {}).get("checks", {}).items():
            if told["verdict"] in {True, False}:
                event = _BROKEN_CHECK._replace(text=_BROKEN_CHECK.text.format(check=check))
                yield event, run.name, 0.0 if told["verdict"] else float(told["broken"])


def _command(run: FoundRun) -> str | None:
    """The command that repeats a run; None: it was made from logs, or is itself a branch."""
    manifest = read_manifest(run.folder)
    if manifest.get("source") == OF_LOGS or "past" in manifest:
        return None
    return shlex.join(["tidegauge", "branch", str(from_here(run.folder)), "--at", _FIRST])


RARE_EVENTS = Question(
    "rare-events",
    "Which runs show an event that hardly any other run shows, and how certain is its rate?",
    (
        Column("event", "string", "", "the event"),
        Column(
            "setting",
            "string",
            "",
            "the settings in which these runs differ from the others, apart from seeds",
        ),
        Column("runs", "bigint", "", "number of runs of the setting that show it"),
        Column("of", "bigint", "", "... of so many that can tell"),
        Column("rate_low", "double", "", "lower bound of its true rate in runs (95 %, exact)"),
        Column("rate_high", "double", "", "... and upper bound; of 0 runs some 3 / of"),
        Column("run", "string", "", "a run that shows it; null: none does"),
        Column("seed", "bigint", "", "its seed"),
        Column("amount", "double", "", "how much of it; of an interval the longest"),
        Column("unit", "string", "", "of the amount; null: a count"),
        Column("command", "string", "", "repeats the run; null: of logs, or a branch"),
        Column("rate", "double", "", "share of the runs that show it"),
    ),
    _rare_events,
    "the worst event first, and last those that no run shows",
)
