"""``tidegauge show client``: the story of a producer or consumer, or of a group of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.tables.unavailable import LABELS
from tidegauge.runs.client_history import (
    client_rows,
    clients_called,
    outcomes,
    read_replicas,
    stalled_times,
    totals_of,
    unreachable_times,
)
from tidegauge.runs.moments import moments, told_moment
from tidegauge.runs.reasons import because
from tidegauge.runs.story import Names, spoken
from tidegauge.scenario.text.counted import counted
from tidegauge.simulation.durations import time_text
from tidegauge.traces.run_folder import RunFolder, TraceRow
from tidegauge.views.story_lines import (
    StoryOptions,
    duration_text,
    moment_line,
    print_lines,
)

#: The most lines of one kind among the facts.
_MOST = 5


def show_client(
    out: Console,
    run: RunFolder,
    tables: RunTables,
    names: Names,
    name: str,
    options: StoryOptions,
) -> None:
    """Print the outcome of clients in a few lines, then their story.

    Raises:
        TidegaugeError: there is no such client or group.
        TraceError: a trace file is damaged.
    """
    processes = clients_called(name, names)
    rows = client_rows(run, processes, details=options.details)
    known = ", ".join(names.clients[process].name for process in processes)
    out.print(f"Client {name}: {known}", style="bold", soft_wrap=True)
    for title, words in _facts(run, tables, names, processes, rows):
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
    run: RunFolder,
    tables: RunTables,
    names: Names,
    processes: Sequence[int],
    rows: Sequence[TraceRow],
) -> Iterator[tuple[str, str]]:
    """The facts about clients, each with its title."""
    yield from _stalls(tables, names, processes)
    yield from _records(run, processes)
    latencies = (run.summary or {}).get("produce_ms", {}).get(names.clients[processes[0]].group)
    if latencies and latencies["max"]:
        figures = ", ".join(f"{word} {value:,.1f} ms" for word, value in latencies.items())
        yield "outcome within", f"{figures} (all of the group, whole run)"
    yield from _errors(run, names, rows)
    yield from _times(run, names, processes)
    yield from _consumer(names, rows)


def _stalls(tables: RunTables, names: Names, processes: Sequence[int]) -> Iterator[tuple[str, str]]:
    """The longest times in which they were stalled, and the faults that were active then."""
    for each in stalled_times(tables, names, processes)[:_MOST]:
        faults = f", with {', '.join(each.faults)}" if each.faults else ""
        yield (
            LABELS[each.condition],
            (
                f"{time_text(each.begin_us)} to {time_text(each.end_us)}, "
                f"{duration_text(each.end_us - each.begin_us)}, at "
                f"{counted(each.partitions, 'partition')}{faults}"
            ),
        )


def _records(run: RunFolder, processes: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Their records by outcome: those offered are the sum of the others."""
    totals = totals_of(run, processes)
    if totals["records_offered"]:
        parts = " + ".join(
            f"{totals[f'records_{word}']:,} {word.replace('_', ' ')}"
            for word in ("acknowledged", "failed", "unsent", "in_flight")
        )
        yield (
            "records",
            (
                f"{totals['records_offered']:,} offered = {parts}; "
                f"{totals['records_duplicated']:,} duplicated"
            ),
        )
        if totals["blocked_us"]:
            yield "send() blocked", f"{duration_text(totals['blocked_us'])}, for buffer.memory"
    else:
        yield "records", f"{totals['records_consumed']:,} consumed"


def _errors(run: RunFolder, names: Names, rows: Sequence[TraceRow]) -> Iterator[tuple[str, str]]:
    for outcome in outcomes(rows)[:_MOST]:
        reason = because(outcome.first, run, names)
        first = f"the first at {time_text(outcome.first['time_us'])}"
        yield (
            outcome.words,
            f"{spoken(outcome.first, 'error', names)}, {counted(outcome.times, 'time')}, {first}"
            + (f", because: {reason}" if reason else ""),
        )


def _times(run: RunFolder, names: Names, processes: Sequence[int]) -> Iterator[tuple[str, str]]:
    """The times without a broker to ask."""
    for each in unreachable_times(run, processes)[:_MOST]:
        until = "the end of the run" if each.end_us is None else time_text(each.end_us)
        known = counted(each.brokers, "broker")
        span = f"{time_text(each.begin_us)} to {until}"
        client = names.process(each.process)
        yield "no broker", f"{client} reaches none of the {known} that it knows, {span}"


def _consumer(names: Names, rows: Sequence[TraceRow]) -> Iterator[tuple[str, str]]:
    """The records that consumers lost, and their positions."""
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
