"""``tidegauge show --client``: the story of a producer or consumer, or of a group of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tidegauge.scenario.text.counted import counted
from tidegauge.views.story_lines import (
    StoryOptions,
    duration_text,
    moment_line,
    print_lines,
)

if TYPE_CHECKING:
    from rich.console import Console

    from tidegauge.history.client_history import Gap
    from tidegauge.history.story import Names
    from tidegauge.traces.run_folder import RunFolder, TraceRow

#: The most lines of one kind among the facts.
_MOST = 5


def show_client(
    out: Console, run: RunFolder, names: Names, name: str, options: StoryOptions
) -> None:
    """Print the outcome of clients in a few lines, then their story.

    Raises:
        ValueError: there is no such client or group.
        TraceError: a trace file is damaged.
    """
    from tidegauge.history.client_history import client_rows, clients_called
    from tidegauge.history.moments import moments, told_moment

    processes = clients_called(name, names)
    rows = client_rows(run, processes, details=options.details)
    known = ", ".join(names.process(process).removeprefix("client ") for process in processes)
    out.print(f"Client {name}: {known}", style="bold", soft_wrap=True)
    for title, words in _facts(run, names, processes, rows):
        out.print(f"  {title + ':':17}{words}", soft_wrap=True)
    out.print()
    shown = (row for row in rows if row["time_us"] in options.span)
    lines = [
        moment_line(moment, run, names, told_moment)
        for moment in moments(shown, one_by_one=options.details)
    ]
    print_lines(out, lines, handles=options.handles)
    if not lines:
        out.print("No events in this time.")


def _facts(
    run: RunFolder, names: Names, processes: Sequence[int], rows: Sequence[TraceRow]
) -> Iterator[tuple[str, str]]:
    """The facts about clients, each with its title."""
    from tidegauge.history.client_history import group_of, totals_of

    totals = totals_of(run, processes)
    yield "records", ", ".join(f"{count:,} {word}" for word, count in totals.items())
    summary = run.summary or {}
    latencies = summary.get("produce_ms", {}).get(group_of(processes[0], names))
    if latencies and totals["acknowledged"]:
        figures = ", ".join(f"{word} {value:,.1f} ms" for word, value in latencies.items())
        yield "acknowledged in", f"{figures} (all of the group, whole run)"
    yield from _errors(run, names, rows)
    yield from _times(run, names, processes)
    yield from _consumer(names, rows)


def _errors(run: RunFolder, names: Names, rows: Sequence[TraceRow]) -> Iterator[tuple[str, str]]:
    from tidegauge.history.client_history import outcomes
    from tidegauge.history.reasons import because
    from tidegauge.history.story import spoken
    from tidegauge.simulation.durations import time_text

    for outcome in outcomes(rows)[:_MOST]:
        reason = because(outcome.first, run, names)
        first = f"the first at {time_text(outcome.first['time_us'])}"
        yield (
            outcome.words,
            f"{spoken(outcome.first, 'error', names)}, {counted(outcome.times, 'time')}, {first}"
            + (f", because: {reason}" if reason else ""),
        )


def _times(run: RunFolder, names: Names, processes: Sequence[int]) -> Iterator[tuple[str, str]]:
    """The times without an acknowledgement, and those without a broker to ask."""
    from tidegauge.history.client_history import gaps_without_acknowledgement, unreachable_times
    from tidegauge.simulation.durations import time_text

    gaps = gaps_without_acknowledgement(run, processes)
    longest = sorted(gaps, key=lambda gap: gap.begin_us - gap.end_us)[:_MOST]
    for gap in sorted(longest):
        begin, end = time_text(gap.begin_us), time_text(gap.end_us)
        acting = _faults_between(run, names, gap)
        yield (
            "no ack",
            f"{begin} to {end}, {duration_text(gap.end_us - gap.begin_us)}"
            + (f", with {', '.join(acting)}" if acting else ""),
        )
    for each in unreachable_times(run, processes)[:_MOST]:
        until = "the end of the run" if each.end_us is None else time_text(each.end_us)
        known = counted(each.brokers, "broker")
        span = f"{time_text(each.begin_us)} to {until}"
        client = names.process(each.process)
        yield "no broker", f"{client} reaches none of the {known} that it knows, {span}"


def _faults_between(run: RunFolder, names: Names, gap: Gap) -> list[str]:
    """The faults that have begun before the end of a gap and not ended before it began."""
    begun: dict[int, int] = {}
    ended: dict[int, int] = {}
    for row in run.rows("fault_began"):
        begun.setdefault(row["fault"], row["time_us"])
    for row in run.rows("fault_ended"):
        ended[row["fault"]] = row["time_us"]
    return [
        names.fault_text(fault)
        for fault, begin_us in begun.items()
        if begin_us <= gap.end_us and ended.get(fault, gap.end_us) >= gap.begin_us
    ]


def _consumer(names: Names, rows: Sequence[TraceRow]) -> Iterator[tuple[str, str]]:
    """What consumers lost, and where they read."""
    from tidegauge.history.client_history import read_replicas
    from tidegauge.simulation.durations import time_text

    lost = [row for row in rows if row.kind == "coordinator_lost"]
    if lost:
        missing_us = sum(row["missing_us"] for row in rows if row.kind == "coordinator_found")
        yield (
            "coordinator",
            (
                f"lost {counted(len(lost), 'time')}, the first at {time_text(lost[0]['time_us'])}; "
                f"{duration_text(missing_us)} without one"
            ),
        )
    resets = [row for row in rows if row.kind == "consumer_reset"]
    if resets:
        first = time_text(resets[0]["time_us"])
        yield "reset", f"{counted(len(resets), 'time')}, the first at {first}"
    for (process, partition), row in list(read_replicas(rows).items())[:_MOST]:
        broker = names.broker_id(row["broker"])
        where = "its leader" if broker is None else f"broker {broker}"
        yield (
            "reads from",
            (
                f"{where}, {names.partition(partition)} of {names.process(process)}, since "
                f"{time_text(row['time_us'])}"
            ),
        )
