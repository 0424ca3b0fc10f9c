"""``tidegauge show controller`` and ``show zookeeper``: controllers, their queues; znodes."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.runs.controllers import ControllerTerm, controller_knowledge, controller_terms
from tidegauge.runs.run import Run
from tidegauge.runs.stories import controller_story
from tidegauge.runs.trace_events import Names
from tidegauge.runs.znode_tree import znode_tree
from tidegauge.scenario.text.errors import counted, duration_text
from tidegauge.simulation.quantities import time_text
from tidegauge.views import story_lines
from tidegauge.views.output import print_hanging

#: Room for a duration.
_WIDTH = 10


def controller_for_programs(
    run: Run, options: story_lines.StoryOptions, at_us: int | None
) -> dict[str, Any]:
    """The terms of all controllers, the waits of events and the story; or the state at a time."""
    if at_us is not None:
        known = controller_knowledge(run, at_us)._asdict()
        return known | {"terms": [term._asdict() for term in known["terms"]]}
    lines = controller_story(run, options.span, details=options.details)
    return {
        "terms": [term._asdict() for term in controller_terms(run)],
        "events": _durations(run.tables, options.span),
        "story": [line._asdict() for line in lines],
    }


def show_controller(out: Console, run: Run, options: story_lines.StoryOptions) -> None:
    """Print the terms of all controllers, the waits of events, then the story."""
    _print_terms(out, controller_terms(run), run.names)
    _print_durations(out, _durations(run.tables, options.span))
    lines = controller_story(run, options.span, details=options.details)
    story_lines.print_lines(out, lines, handles=options.handles, end_us=run.end_us)
    if not lines:
        out.print("No events of the controller in this time.")


def _print_terms(out: Console, terms: list[ControllerTerm], names: Names) -> None:
    def time_or(time_us: int | None) -> str:
        return "-" if time_us is None else time_text(time_us)

    if not terms:
        out.print("No broker became controller.\n")
        return
    member, gone = ("controller", "gone") if names.controllers else ("broker", "/controller gone")
    width, time = len(member), story_lines.time_width()
    of_gone = max(time, len("/controller gone"))
    out.print(
        f"controller epoch  {member}  {'elected':>{time}}  {gone:>{of_gone}}  {'resigned':>{time}}",
        style="bold",
        soft_wrap=True,
    )
    for term in terms[: story_lines.LISTED]:
        out.print(
            f"{term.epoch:16}  {term.controller:{width}}"
            f"  {time_text(term.elected_us):>{time}}"
            f"  {time_or(term.gone_us):>{of_gone}}  {time_or(term.resigned_us):>{time}}",
            soft_wrap=True,
        )
    if len(terms) > story_lines.LISTED:
        out.print(f"... and {len(terms) - story_lines.LISTED} more")
    out.print()


def _durations(tables: RunTables, span: story_lines.Span) -> list[dict[str, Any]]:
    """For each kind of event its time in the queue, and the controller's work on it."""
    until = "" if span.end_us is None else f"and time_us <= {span.end_us}"
    return tables.rows(
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


def _print_durations(out: Console, groups: Sequence[dict[str, Any]]) -> None:
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


def show_controller_at(out: Console, run: Run, at_us: int) -> None:
    """Print the controller at a time, its live brokers, and leaderless partitions."""
    known = controller_knowledge(run, at_us)
    when = story_lines.when_text(run, at_us)
    out.print(f"{_controller(known.terms, run.names)} {when}", style="bold")
    for stale in known.terms[1:]:
        words = f"{_member(stale, run.names)}, epoch {stale.epoch}: has not resigned yet"
        out.print(f"  still believes to be:  {words}", style="red")
    if not run.names.controllers:
        holder = "none" if known.active is None else f"broker {known.active}"
        out.print(f"  /controller names:     {holder}")
    if not known.terms:
        return
    alive = ", ".join(map(str, known.alive))
    print_hanging(out, "  knows as alive:        ", alive or "none")
    out.print(f"  without a leader:      {counted(len(known.leaderless), 'partition')}")
    partitions_by_reason: dict[str, list[str]] = {}
    for partition, why in known.leaderless.items():
        partitions_by_reason.setdefault(why, []).append(partition)
    for why, partitions in partitions_by_reason.items():
        more = (
            f" and {len(partitions) - story_lines.LISTED} more"
            if len(partitions) > story_lines.LISTED
            else ""
        )
        named = ", ".join(partitions[: story_lines.LISTED])
        print_hanging(out, "    ", Text(f"{why}: {named}{more}", style="red"))


def _controller(terms: list[ControllerTerm], names: Names) -> str:
    if not terms:
        return "No controller is active" if names.controllers else "No broker is controller"
    term = terms[0]
    role = "active" if names.controllers else "controller"
    return (
        f"{_member(term, names).capitalize()} is {role}, in epoch {term.epoch}"
        f" (elected at {time_text(term.elected_us)}),"
    )


def _member(term: ControllerTerm, names: Names) -> str:
    return f"{'controller' if names.controllers else 'broker'} {term.controller}"


def zookeeper_for_programs(run: Run, at_us: int | None) -> list[dict[str, Any]]:
    """All znodes; raises as :func:`~tidegauge.runs.znode_tree.znode_tree`."""
    return [
        {**znode._asdict(), "owner": None if znode.owner is None else znode.owner._asdict()}
        for znode in znode_tree(run, at_us)
    ]


def show_zookeeper(out: Console, run: Run, at_us: int | None) -> None:
    """Print all znodes, in the manner of ``zookeeper-shell``."""
    znodes = znode_tree(run, at_us)
    out.print(f"ZooKeeper {story_lines.when_text(run, at_us)}: {len(znodes)} znodes", style="bold")
    for znode in znodes:
        line = Text(f"{znode.path} ")
        line.append("null" if znode.data is None else znode.data, style="bold")
        line.append(f" dataVersion={znode.version}")
        if znode.owner is not None:
            broker, session = znode.owner
            line.append(f" ephemeralOwner=session {session} of broker {broker}")
        print_hanging(out, "", line)
