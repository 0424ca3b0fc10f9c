"""``tidegauge show --partition``: one partition's story; and the list of notable partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tidegauge.scenario.text.counted import counted
from tidegauge.views.story_lines import (
    LISTED,
    Line,
    Span,
    StoryOptions,
    moment_line,
    print_lines,
)

if TYPE_CHECKING:
    from rich.console import Console

    from tidegauge.history.moments import Moment
    from tidegauge.history.story import Names
    from tidegauge.traces.run_folder import RunFolder, TraceRow

_REFUSED = "request_refused"
#: The number of times without a leader that are printed before a story.
_LEADERLESS = 5

#: The number of near names that are proposed.
NEAREST = 3


def partition_number(name: str, names: Names) -> int:
    """Number of a partition within the cluster, by its name such as ``orders-0``.

    Raises:
        ValueError: there is no partition of this name; the message has the nearest names.
    """
    from difflib import get_close_matches

    if name in names.partitions:
        return names.partitions[name]
    near = get_close_matches(name, names.partitions, n=NEAREST, cutoff=0.5)
    some = near or list(names.partitions)[:NEAREST]
    hint = "nearest" if near else "there are"
    raise ValueError(f"--partition {name}: no such partition; {hint}: {', '.join(some)}")


def show_partitions(out: Console, run: RunFolder, names: Names) -> None:
    """Print which partitions are worth a look, and why."""
    from rich.text import Text

    from tidegauge.history.partition_history import overview

    partitions = overview(run, names)
    striking = [partition for partition in partitions if partition.reasons]
    out.print(f"{counted(len(partitions), 'partition')}, {len(striking)} of them worth a look")
    width = max(map(len, names.partitions), default=0)
    out.print(f"\n{'partition':{width}}  ISR changes  terms  worth a look", style="bold")
    for partition in partitions[:LISTED]:
        line = Text(
            f"{names.partition(partition.partition):{width}}"
            f"  {partition.isr_changes:11}  {partition.terms:5}  "
        )
        line.append(", ".join(partition.reasons), style="red")
        line.rstrip()
        out.print(line, soft_wrap=True)
    if len(partitions) > LISTED:
        out.print(f"... and {len(partitions) - LISTED} more")
    if partitions:
        first = names.partition(partitions[0].partition)
        out.print(f"\nIts story:   tidegauge show {run.path} --partition {first}", soft_wrap=True)


def show_partition(
    out: Console, run: RunFolder, names: Names, partition: int, options: StoryOptions
) -> None:
    """Print a partition's last state, then its story."""
    _show_state(out, run, names, partition, options.span)
    lines = partition_story(run, names, partition, options)
    print_lines(out, lines, handles=options.handles)
    if not lines:
        out.print("No events in this time.")


def partition_story(
    run: RunFolder, names: Names, partition: int, options: StoryOptions
) -> list[Line]:
    """The story of a partition and of the events around it.

    Raises:
        TraceError: a trace file is damaged.
    """
    from tidegauge.history.moments import moments
    from tidegauge.history.partition_history import history
    from tidegauge.history.story import told
    from tidegauge.simulation.durations import time_text

    def words(moment: Moment, names: Names) -> str:
        first, last = moment[0], moment[-1]
        more = ""
        if first.kind == _REFUSED and len(moment) > 1:
            more = f"; {len(moment) - 1:,} more like it until {time_text(last['time_us'])}"
        return told(first, names) + more

    rows = history(run, partition, details=options.details)
    found = moments((row for row in rows if row["time_us"] in options.span), one_by_one=True)
    if not options.details:
        found = list(_with_refusals_together(found))
    return [moment_line(moment, run, names, words) for moment in found]


def _with_refusals_together(moments: Iterable[Moment]) -> Iterator[Moment]:
    """Join consecutive refusals of the same request to one moment: retries, by the thousand."""
    last: Moment | None = None
    for moment in moments:
        if last is not None and _what_is_refused(last[0]) == _what_is_refused(moment[0]):
            last = [*last, *moment]
            continue
        if last is not None:
            yield last
        last = moment
    if last is not None:
        yield last


def _what_is_refused(row: TraceRow) -> tuple[int, ...] | int:
    """A key that is equal for refusals that share a line, and unique for other rows."""
    if row.kind != _REFUSED:
        return id(row)
    return (row["process"], row["api_key"], row["error"])


def _show_state(out: Console, run: RunFolder, names: Names, partition: int, span: Span) -> None:
    """The last state, in the manner of ``kafka-topics --describe``."""
    from tidegauge.history.partition_history import assignment, last_states
    from tidegauge.simulation.durations import time_text

    topic, number = names.topic_and_partition(partition)
    state = last_states(run, names, span.end_us).get(partition)
    replicas = assignment(run, names, partition, span.end_us)
    leader, isr = "unknown", "unknown"
    if state is not None:
        broker = names.broker_id(state.leader)
        leader = "none" if broker is None else str(broker)
        isr = listed(names.brokers_in(state.isr, partition))
    when = "At the end" if span.end_us is None else f"At {time_text(span.end_us)}"
    out.print(
        f"Topic: {topic}  Partition: {number}  Leader: {leader}"
        f"  Replicas: {listed(replicas)}  Isr: {isr}",
        style="bold",
        soft_wrap=True,
    )
    out.print(f"({when}{'' if state is None else f', in leader epoch {state.leader_epoch}'})")
    lost = ((run.summary or {}).get("records_lost_by_partition") or {}).get(f"{topic}-{number}")
    if lost:
        out.print(
            f"{counted(lost, 'acknowledged record')} of it {'is' if lost == 1 else 'are'} lost.",
            style="bold red",
        )
    for line in _leaderless_lines(run, names, partition):
        out.print(line, style="red", soft_wrap=True)
    out.print()


def _leaderless_lines(run: RunFolder, names: Names, partition: int) -> Iterator[str]:
    """The times without a leader, and the faults that were active when each began."""
    from tidegauge.history.fault_spans import fault_spans
    from tidegauge.history.replica_history import replica_times, times_without_leader
    from tidegauge.simulation.durations import time_text

    spans = fault_spans(run)
    without = times_without_leader(replica_times(run, names, partition))
    for begin_us, end_us in without[:_LEADERLESS]:
        on = [
            names.fault(span.fault)
            for span in spans
            if span.begin_us <= begin_us and (span.end_us is None or begin_us <= span.end_us)
        ]
        until = "the end" if end_us is None else time_text(end_us)
        faults = f"; faults active when this began: {', '.join(on)}" if on else ""
        yield f"No live leader from {time_text(begin_us)} to {until}{faults}."
    if len(without) > _LEADERLESS:
        yield f"... and {counted(len(without) - _LEADERLESS, 'time')} more."


def listed(brokers: Iterable[int | None]) -> str:
    """Ids of brokers as ``kafka-topics`` lists them."""
    return ",".join("?" if broker is None else str(broker) for broker in brokers)
