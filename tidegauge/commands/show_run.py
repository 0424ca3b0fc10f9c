"""``tidegauge show``: what happened to a partition in a run, and why; what ZooKeeper held."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tidegauge.commands.output import console, fail

if TYPE_CHECKING:
    from rich.console import Console

    from tidegauge.run_folder import RunFolder, TraceRow
    from tidegauge.story import Names

#: How many partitions are listed at most, and how many near names are offered.
LISTED = 40
NEAREST = 3

#: Kinds of rows that catch the eye, and how; others are as the terminal has them.
STYLES = {
    **dict.fromkeys(("fault_began", "fault_ended", "step_taken"), "bold yellow"),
    **dict.fromkeys(("isr_shrunk", "removed_from_isr", "session_expired"), "red"),
    **dict.fromkeys(("truncated", "batch_failed", "partition_failed"), "bold red"),
    **dict.fromkeys(("became_leader", "leader_elected"), "bold"),
    "isr_expanded": "green",
}


class Span(NamedTuple):
    """A part of virtual time; both ends belong to it."""

    begin_us: int
    #: None for the end of the run.
    end_us: int | None

    def __contains__(self, time_us: object) -> bool:
        assert isinstance(time_us, int)
        return self.begin_us <= time_us and (self.end_us is None or time_us <= self.end_us)


def show_run(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder that the run wrote.")],
    partition: Annotated[
        str | None,
        typer.Option(metavar="TOPIC-PARTITION", help="Tell this partition's story."),
    ] = None,
    begin: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Leave out what was before.")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Leave out what was after.")
    ] = None,
    details: Annotated[
        bool,
        typer.Option("--all", help="Samples too, and each request if the run recorded them."),
    ] = False,
    zookeeper: Annotated[
        bool, typer.Option("--zookeeper", help="List what ZooKeeper held, instead.")
    ] = False,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="... at this time. Default: at the end of the run."),
    ] = None,
) -> None:
    """Tell what happened to a partition, and why.

    Without --partition: which partitions are worth a look. With --zookeeper: every znode, with
    its path, Kafka's JSON and the version of its data.

    Times are virtual, since the beginning of the run: 10s, 12.345s, 4m.

    \b
    Examples:
      tidegauge show runs/rack-outage
      tidegauge show runs/rack-outage --partition orders-0
      tidegauge show runs/rack-outage --partition orders-0 --from 10s --to 20s --all
      tidegauge show runs/rack-outage --zookeeper --at 12s
    """
    from tidegauge.run_folder import RunFolder
    from tidegauge.story import Names

    if zookeeper and partition is not None:
        fail("--zookeeper and --partition exclude each other")
    if at is not None and not zookeeper:
        fail("--at needs --zookeeper")
    if partition is None and (details or begin is not None or end is not None):
        fail("--from, --to and --all need a --partition")
    try:
        folder = RunFolder(run)
        names = Names(folder.manifest)
        _print_notes(folder)
        if zookeeper:
            _show_zookeeper(console(), folder, None if at is None else _parse_time("--at", at))
            return
        if partition is None:
            _show_partitions(console(), folder, names)
            return
        number = partition_number(partition, names)
        span = parse_span(begin, end)
        _show_state(console(), folder, names, number, span)
        _show_story(console(), folder, names, number, span, details)
    except ValueError as error:
        fail(str(error))


def partition_number(name: str, names: Names) -> int:
    """Number of a partition within the cluster, by its name such as ``orders-0``.

    Raises:
        ValueError: there is none of this name; the message has the nearest names.
    """
    from difflib import get_close_matches

    if name in names.partitions:
        return names.partitions[name]
    near = get_close_matches(name, names.partitions, n=NEAREST, cutoff=0.5)
    some = near or list(names.partitions)[:NEAREST]
    hint = "nearest" if near else "there are"
    raise ValueError(f"--partition {name}: no such partition; {hint}: {', '.join(some)}")


def parse_span(begin: str | None, end: str | None) -> Span:
    """Read --from and --to.

    Raises:
        ValueError: one cannot be read, or they are in the wrong order; the message names it.
    """
    begin_us = 0 if begin is None else _parse_time("--from", begin)
    end_us = None if end is None else _parse_time("--to", end)
    if end_us is not None and end_us < begin_us:
        raise ValueError(f"--to {end}: is before --from {begin}")
    return Span(begin_us, end_us)


def _parse_time(option: str, text: str) -> int:
    from tidegauge.simulation.durations import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from error


def _print_notes(run: RunFolder) -> None:
    """Say what the trace may lack."""
    if run.summary is None:
        typer.echo("note: the run is unfinished: it has no summary", err=True)
    for trace in run.torn:
        typer.echo(f"note: {trace.path} ends within a frame: some rows are missing", err=True)


def _show_partitions(out: Console, run: RunFolder, names: Names) -> None:
    from rich.text import Text

    from tidegauge.partition_history import overview

    partitions = overview(run, names)
    striking = [partition for partition in partitions if partition.reasons]
    out.print(f"{len(partitions)} partitions, {len(striking)} of them worth a look")
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


def _show_zookeeper(out: Console, run: RunFolder, at_us: int | None) -> None:
    """All znodes, in the manner of ``zookeeper-shell``."""
    from rich.text import Text

    from tidegauge.story import time_text
    from tidegauge.znode_tree import znode_tree

    znodes = znode_tree(run, at_us)
    when = "at the end" if at_us is None else f"at {time_text(at_us)}"
    out.print(f"ZooKeeper {when}: {len(znodes)} znodes", style="bold")
    for znode in znodes:
        line = Text(f"{znode.path} ")
        line.append("null" if znode.data is None else znode.data, style="bold")
        line.append(f" dataVersion={znode.version}")
        if znode.owner is not None:
            broker, session = znode.owner
            line.append(f" ephemeralOwner=session {session} of broker {broker}")
        out.print(line, soft_wrap=True)


def _show_state(out: Console, run: RunFolder, names: Names, partition: int, span: Span) -> None:
    """The last state, in the manner of ``kafka-topics --describe``."""
    from tidegauge.partition_history import last_states
    from tidegauge.story import time_text

    topic, number = names.topic_and_partition(partition)
    state = last_states(run, names, span.end_us).get(partition)
    leader, isr = "unknown", "unknown"
    if state is not None:
        broker = names.broker_id(state.leader)
        leader = "none" if broker is None else str(broker)
        isr = _listed(names.brokers_in(state.isr, partition))
    when = "At the end" if span.end_us is None else f"At {time_text(span.end_us)}"
    out.print(
        f"Topic: {topic}  Partition: {number}  Leader: {leader}"
        f"  Replicas: {_listed(names.replicas(partition))}  Isr: {isr}",
        style="bold",
        soft_wrap=True,
    )
    out.print(f"({when}{'' if state is None else f', in leader epoch {state.leader_epoch}'})\n")


def _listed(brokers: Iterable[int | None]) -> str:
    return ",".join("?" if broker is None else str(broker) for broker in brokers)


def _show_story(
    out: Console, run: RunFolder, names: Names, partition: int, span: Span, details: bool
) -> None:
    from rich.text import Text

    from tidegauge.partition_history import history
    from tidegauge.story import because, time_text, told

    rows = (row for row in history(run, partition, details=details) if row["time_us"] in span)
    moments = _grouped(rows)
    speakers = [_speaker(moment, names) for moment in moments]
    width = max(map(len, speakers), default=0)
    for moment, speaker in zip(moments, speakers, strict=True):
        row = moment[0]
        words = Text(f"{time_text(row['time_us']):>10}  {speaker:{width}}  ")
        words.append(told(row, names), style=STYLES.get(row.kind, ""))
        out.print(words, soft_wrap=True)
        reason = because(row, run, names)
        if reason is not None:
            indent = " " * (10 + 2 + width + 2)
            out.print(Text(f"{indent}because: {reason}", style="dim"), soft_wrap=True)
    if not moments:
        out.print("Nothing happened to it in this time.")


def _grouped(rows: Iterable[TraceRow]) -> list[list[TraceRow]]:
    """Rows one by one; but a fault begins or ends once, in whichever processes it does."""
    moments: dict[tuple[object, ...], list[TraceRow]] = {}
    for row in rows:
        key: tuple[object, ...] = row.place
        if row.kind in {"fault_began", "fault_ended"}:
            key = (row.kind, row["fault"], row["time_us"])
        moments.setdefault(key, []).append(row)
    return list(moments.values())


def _speaker(rows: list[TraceRow], names: Names) -> str:
    """The process of a row, or the first of several and how many more."""
    first = names.process(rows[0]["process"])
    return first if len(rows) == 1 else f"{first} (+{len(rows) - 1})"
