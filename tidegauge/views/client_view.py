"""``tidegauge show client``: the story of a producer or consumer, or of a group of them."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from tidegauge.analysis.tables.unavailable import LABELS
from tidegauge.runs import clients
from tidegauge.runs.causes import because
from tidegauge.runs.run import Run
from tidegauge.runs.stories import story
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.scenario.text.errors import counted, duration_text
from tidegauge.simulation.quantities import time_text
from tidegauge.views.output import print_hanging
from tidegauge.views.story_lines import StoryOptions, print_story

#: The most lines of one kind among the facts.
_MOST = 5


def client_for_programs(run: Run, name: str, options: StoryOptions) -> dict[str, Any]:
    """The outcome of clients, and their story; raises as :func:`show_client`."""
    processes = clients.clients_called(name, run.names)
    events = clients.client_events(run, processes, details=options.details)
    return {
        "clients": [run.names.clients[process].name for process in processes],
        **clients.totals_of(run, processes),
        "stalled": [each._asdict() for each in clients.stalled_times(run, processes)],
        "errors": [
            {"error": each.error, "times": each.times, "first_us": each.first.time_us}
            for each in clients.outcomes(events)
        ],
        "unreachable": [each._asdict() for each in clients.unreachable_times(run, processes)],
        "story": [
            line._asdict() for line in story(events, run, options.span, details=options.details)
        ],
    }


def show_client(out: Console, run: Run, name: str, options: StoryOptions) -> None:
    """Print the outcome of clients in a few lines, then their story.

    Raises:
        TidegaugeError: there is no such client or group.
        TraceError: a trace file is damaged.
    """
    processes = clients.clients_called(name, run.names)
    events = clients.client_events(run, processes, details=options.details)
    known = ", ".join(run.names.clients[process].name for process in processes)
    print_hanging(out, "", Text(f"Client {name}: {known}", style="bold"))
    for title, words in _facts(run, processes, events):
        print_hanging(out, f"  {title + ':':17}", words)
    out.print()
    print_story(out, run, story(events, run, options.span, details=options.details), options)


def _facts(
    run: Run, processes: Sequence[int], events: Sequence[TraceEvent]
) -> Iterator[tuple[str, str]]:
    """The facts about clients, each with its title."""
    yield from _stalls(run, processes)
    yield from _records(run, processes)
    latencies = (run.summary or {}).get("produce_ms", {}).get(run.names.clients[processes[0]].group)
    if latencies and latencies["max"]:
        figures = ", ".join(f"{word} {value:,.1f} ms" for word, value in latencies.items())
        yield "outcome within", f"{figures} (all of the group, whole run)"
    yield from _errors(run, events)
    yield from _times(run, processes)
    yield from _consumer(events)


def _stalls(run: Run, processes: Sequence[int]) -> Iterator[tuple[str, str]]:
    """The longest times in which they were stalled, and the faults that were active then."""
    for each in clients.stalled_times(run, processes)[:_MOST]:
        faults = f", with {', '.join(each.faults)}" if each.faults else ""
        yield (
            LABELS[each.condition],
            (
                f"{time_text(each.begin_us)} to {time_text(each.end_us)}, "
                f"{duration_text(each.end_us - each.begin_us)}, at "
                f"{counted(each.partitions, 'partition')}{faults}"
            ),
        )


def _records(run: Run, processes: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Their records by outcome: those offered are the sum of the others."""
    totals = clients.totals_of(run, processes)
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


def _errors(run: Run, events: Sequence[TraceEvent]) -> Iterator[tuple[str, str]]:
    for outcome in clients.outcomes(events)[:_MOST]:
        reason = because(outcome.first, run)
        first = f"the first at {time_text(outcome.first.time_us)}"
        yield (
            outcome.words,
            f"{outcome.error}, {counted(outcome.times, 'time')}, {first}"
            + (f", because: {reason}" if reason else ""),
        )


def _times(run: Run, processes: Sequence[int]) -> Iterator[tuple[str, str]]:
    """The times without a broker to ask."""
    for each in clients.unreachable_times(run, processes)[:_MOST]:
        until = "the end of the run" if each.end_us is None else time_text(each.end_us)
        known = counted(each.brokers, "broker")
        span = f"{time_text(each.begin_us)} to {until}"
        yield "no broker", f"{each.process} reaches none of the {known} that it knows, {span}"


def _consumer(events: Sequence[TraceEvent]) -> Iterator[tuple[str, str]]:
    """Coordinators that consumers lost, their resets, and the replicas that they read from."""
    lost = [event for event in events if event.kind == "coordinator_lost"]
    if lost:
        missing_us = sum(each.missing_us for each in events if each.kind == "coordinator_found")
        yield (
            "coordinator",
            (
                f"lost {counted(len(lost), 'time')}, the first at {time_text(lost[0].time_us)}; "
                f"{duration_text(missing_us)} without one"
            ),
        )
    resets = [event for event in events if event.kind == "consumer_reset"]
    if resets:
        first = time_text(resets[0].time_us)
        yield "reset", f"{counted(len(resets), 'time')}, the first at {first}"
    for event in clients.read_replicas(events)[:_MOST]:
        where = "its leader" if event.broker is None else f"broker {event.broker}"
        since = time_text(event.time_us)
        yield "reads from", f"{where}, {event.partition} of {event.process}, since {since}"
