"""``tidegauge show controller`` and ``show zookeeper``: controllers, their queues; znodes."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.runs.controller_history import ControllerTerm, controller_rows, knowledge, terms
from tidegauge.runs.moments import Moment, moments, told_moment
from tidegauge.runs.story import Names
from tidegauge.runs.znode_tree import znode_tree
from tidegauge.scenario.text.counted import counted
from tidegauge.simulation.durations import time_text
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views.story_lines import (
    LISTED,
    Line,
    Span,
    StoryOptions,
    duration_text,
    moment_line,
    print_lines,
    when_text,
)

_EVENT = "controller_event"
#: Room for a duration.
_WIDTH = 10


def show_controller(
    out: Console, run: RunFolder, tables: RunTables, names: Names, options: StoryOptions
) -> None:
    """Print the terms of all controllers, how long events waited, then the story."""
    _print_terms(out, terms(run), names)
    _print_durations(out, tables, options.span)
    lines = controller_story(run, tables, names, options)
    print_lines(out, lines, handles=options.handles)
    if not lines:
        out.print("No events of the controller in this time.")


def controller_story(
    run: RunFolder, tables: RunTables, names: Names, options: StoryOptions
) -> list[Line]:
    """The story of the controllers: their events and decisions.

    Raises:
        TraceError: a trace file is damaged.
    """
    taken = tables.rows(
        "select * from controller_events where queued_us is not null order by process, sequence"
    )
    events = {(event["process"], event["sequence"]): event for event in taken}
    rows = controller_rows(run, details=options.details)
    shown = (row for row in rows if row["time_us"] in options.span)
    return [
        _line(moment, run, names, events) for moment in moments(shown, one_by_one=options.details)
    ]


def _line(
    moment: Moment, run: RunFolder, names: Names, events: dict[tuple[int, int], dict[str, Any]]
) -> Line:
    event = events.get((moment[0]["process"], moment[0]["sequence"]))
    if event is None and moment[0].kind == _EVENT:  # of the liveness phase
        row = moment[0]
        kind = names.enumerated("event_kind", row["event_kind"])
        event = {**row.columns, "event": kind, "processing_us": None}
    if event is None:
        return moment_line(moment, run, names, told_moment)
    return moment_line(moment, run, names, lambda _moment, _names: _told_event(event))


def _told_event(event: dict[str, Any]) -> str:
    processing_us, left = event["processing_us"], event["queue_length"]
    took = "" if processing_us is None else f", took {duration_text(processing_us)}"
    more = f", {left} more in the queue" if left else ""
    return f"{event['event']}: waited {duration_text(event['queued_us'])}{took}{more}"


def _print_terms(out: Console, terms: list[ControllerTerm], names: Names) -> None:
    def time_or(time_us: int | None) -> str:
        return "-" if time_us is None else time_text(time_us)

    if not terms:
        out.print("No broker became controller.\n")
        return
    member, gone = ("controller", "gone") if names.controllers else ("broker", "/controller gone")
    out.print(f"controller epoch  {member}     elected  {gone:>16}    resigned", style="bold")
    width = len(member)
    for term in terms[:LISTED]:
        out.print(
            f"{term.epoch:16}  {names.member_id(term.broker):{width}}"
            f"  {time_text(term.elected_us):>10}"
            f"  {time_or(term.gone_us):>16}  {time_or(term.resigned_us):>10}"
        )
    if len(terms) > LISTED:
        out.print(f"... and {len(terms) - LISTED} more")
    out.print()


def _print_durations(out: Console, tables: RunTables, span: Span) -> None:
    """Print for each kind of event its time in the queue, and the controller's work on it."""
    until = "" if span.end_us is None else f"and time_us <= {span.end_us}"
    groups = tables.rows(
        "select event, count(*) as events,"  # noqa: S608 - numbers
        + ", ".join(
            f"percentile_disc(0.5) within group (order by {column}) as {column}_p50,"
            f"percentile_disc(0.99) within group (order by {column}) as {column}_p99,"
            f"max({column}) as {column}_max"
            for column in ("queued_us", "processing_us")
        )
        + f" from controller_events where time_us >= {span.begin_us} {until}"
        " group by event order by events desc, event"
    )
    if not groups:
        return
    width = max(map(len, [*(group["event"] for group in groups), "event"]))
    heading = [f"{'event':{width}}", " count", *_cells("waited p50", "p99", "max")]
    out.print(
        "  ".join([*heading, *_cells("took p50", "p99", "max")]), style="bold", soft_wrap=True
    )
    for group in groups:
        durations_us = (
            group[f"{column}_{rank}"]
            for column in ("queued_us", "processing_us")
            for rank in ("p50", "p99", "max")
        )
        texts = ("-" if each is None else duration_text(each) for each in durations_us)
        cells = [f"{group['event']:{width}}", f"{group['events']:6}", *_cells(*texts)]
        out.print("  ".join(cells), soft_wrap=True)
    out.print()


def _cells(*texts: str) -> list[str]:
    return [f"{text:>{_WIDTH}}" for text in texts]


def show_controller_at(
    out: Console, run: RunFolder, tables: RunTables, names: Names, at_us: int
) -> None:
    """Print the controller at a time, the brokers it knows as alive, and leaderless partitions."""
    known = knowledge(run, tables, names, at_us)
    out.print(f"{_controller(known.terms, names)} {when_text(at_us)}", style="bold")
    for stale in known.terms[1:]:
        words = f"{names.member(stale.broker)}, epoch {stale.epoch}: has not resigned yet"
        out.print(f"  still believes to be:  {words}", style="red")
    holder = "none" if known.active is None else names.member(known.active)
    if not names.controllers:
        out.print(f"  /controller names:     {holder}")
    if not known.terms:
        return
    alive = ", ".join(str(names.broker_id(broker)) for broker in known.alive)
    out.print(f"  knows as alive:        {alive or 'none'}", soft_wrap=True)
    out.print(f"  without a leader:      {counted(len(known.leaderless), 'partition')}")
    partitions_by_reason: dict[str, list[str]] = {}
    for partition, why in known.leaderless.items():
        partitions_by_reason.setdefault(why, []).append(names.partition(partition))
    for why, partitions in partitions_by_reason.items():
        more = f" and {len(partitions) - LISTED} more" if len(partitions) > LISTED else ""
        out.print(f"    {why}: {', '.join(partitions[:LISTED])}{more}", style="red", soft_wrap=True)


def _controller(terms: list[ControllerTerm], names: Names) -> str:
    if not terms:
        return "No controller is active" if names.controllers else "No broker is controller"
    term = terms[0]
    role = "active" if names.controllers else "controller"
    return (
        f"{names.member(term.broker).capitalize()} is {role}, in epoch {term.epoch}"
        f" (elected at {time_text(term.elected_us)}),"
    )


def show_zookeeper(out: Console, run: RunFolder, at_us: int | None) -> None:
    """Print all znodes, in the manner of ``zookeeper-shell``."""
    znodes = znode_tree(run, at_us)
    out.print(f"ZooKeeper {when_text(at_us)}: {len(znodes)} znodes", style="bold")
    for znode in znodes:
        line = Text(f"{znode.path} ")
        line.append("null" if znode.data is None else znode.data, style="bold")
        line.append(f" dataVersion={znode.version}")
        if znode.owner is not None:
            broker, session = znode.owner
            line.append(f" ephemeralOwner=session {session} of broker {broker}")
        out.print(line, soft_wrap=True)
