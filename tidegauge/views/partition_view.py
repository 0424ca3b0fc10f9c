"""``tidegauge show partition``: one partition's story."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from rich.console import Console

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication.min_insync_replicas import ACKS_ALL
from tidegauge.runs.moments import Moment, moments
from tidegauge.runs.partition_history import history
from tidegauge.runs.story import Names, told
from tidegauge.runs.topic_description import described_states
from tidegauge.scenario.text.counted import counted
from tidegauge.simulation.durations import time_text
from tidegauge.traces.run_folder import RunFolder, TraceRow
from tidegauge.views.story_lines import (
    Line,
    Span,
    StoryOptions,
    moment_line,
    print_lines,
)

_ACKNOWLEDGED = "acknowledged"
#: Kinds of rows of which many share a line, if these columns are equal.
_TOGETHER = {
    "request_refused": ("process", "api_key", "error"),
    _ACKNOWLEDGED: ("process", "leader_epoch"),
}
#: The number of losses, and of times without writes, that are printed before a story.
_LISTED = 5
#: Conditions of which each long time is printed before a story, in words.
_REFUSING = {
    "stalled": "Writes were stalled",
    "reads_stalled": "Reads were stalled",
    "not_accepting": "No leader accepted writes",
}
#: A shorter time is that of any election.
_NOTABLE_US = 1_000_000
#: The order in which leaders began that lacked records; two can begin at the same time.
_BEGAN = "place(began_us, began_process, began_sequence, 0)"

#: The number of near names that are proposed.
NEAREST = 3


def partition_number(name: str, names: Names) -> int:
    """Number of a partition within the cluster, by its name such as ``orders-0``.

    Raises:
        TidegaugeError: there is no partition of this name; the message has the nearest names.
    """
    if name in names.partitions:
        return names.partitions[name]
    near = get_close_matches(name, names.partitions, n=NEAREST, cutoff=0.5)
    some = near or list(names.partitions)[:NEAREST]
    hint = "nearest" if near else "there are"
    raise TidegaugeError(f"{name}: no such partition; {hint}: {', '.join(some)}")


def show_partition(
    out: Console,
    run: RunFolder,
    tables: RunTables,
    names: Names,
    partition: int,
    options: StoryOptions,
) -> None:
    """Print a partition's last state, then its story."""
    _show_state(out, tables, names, partition, options.span)
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

    def words(moment: Moment, names: Names) -> str:
        first, last = moment[0], moment[-1]
        if len(moment) == 1 or first.kind not in _TOGETHER:
            return told(first, names)
        until = time_text(last["time_us"])
        if first.kind == _ACKNOWLEDGED:
            return f"{_acknowledgements(moment)}, until {until}"
        return f"{told(first, names)}; {len(moment) - 1:,} more like it until {until}"

    rows = history(run, partition, details=options.details)
    found = moments((row for row in rows if row["time_us"] in options.span), one_by_one=True)
    if not options.details:
        found = list(_with_like_together(found))
    return [moment_line(moment, run, names, words) for moment in found]


def _with_like_together(moments: Iterable[Moment]) -> Iterator[Moment]:
    """Join consecutive refusals of the same request, and acknowledgements, by the thousand.

    An acknowledgement between two others of the same leader and epoch needs no line, whatever its
    acks are; and a refusal between them ends no moment of acknowledgements.
    """
    #: The moments that may still grow; any other row ends them all.
    growing: dict[tuple[int | str, ...], Moment] = {}
    order: list[Moment] = []
    for moment in moments:
        if moment[0].kind not in _TOGETHER:
            growing.clear()
            order.append(moment)
            continue
        key = _likeness(moment[0])
        if key in growing:
            growing[key] += moment
        else:
            growing[key] = list(moment)
            order.append(growing[key])
    yield from order


def _likeness(row: TraceRow) -> tuple[int | str, ...]:
    """A key that is equal for rows that share a line."""
    return (row.kind, *(row[column] for column in _TOGETHER[row.kind]))


def _acknowledgements(moment: Moment) -> str:
    """Offsets that a leader acknowledged in one epoch, by the acks of their producers."""
    records: Counter[str] = Counter()
    for row in moment:
        acks = "all" if row["acks"] == ACKS_ALL else str(row["acks"])
        records[acks] += row["end_offset"] - row["first_offset"]
    first = min(row["first_offset"] for row in moment)
    last = max(row["end_offset"] for row in moment) - 1
    counts = ", ".join(f"{count:,} with acks={acks}" for acks, count in sorted(records.items()))
    return f"acknowledged of epoch {moment[0]['leader_epoch']}: {counts}; offsets {first} to {last}"


def _show_state(out: Console, tables: RunTables, names: Names, partition: int, span: Span) -> None:
    """The last state, in the manner of ``kafka-topics --describe``, and the worst of all times."""
    tables.make(("described_states", "faults", "unavailable", "lost"))
    topic, number = names.topic_and_partition(partition)
    state = described_states(tables, span.end_us).get(partition)
    leader, isr, replicas = "unknown", "unknown", listed(names.replicas(partition))
    if state is not None:
        leader = "none" if state.leader is None else str(state.leader)
        isr, replicas = listed(state.isr), listed(state.replicas)
    when = "At the end" if span.end_us is None else f"At {time_text(span.end_us)}"
    out.print(
        f"Topic: {topic}  Partition: {number}  Leader: {leader}  Replicas: {replicas}  Isr: {isr}",
        style="bold",
        soft_wrap=True,
    )
    out.print(f"({when}{'' if state is None else f', in leader epoch {state.leader_epoch}'})")
    for line in _loss_lines(tables, partition):
        out.print(line, style="bold red", soft_wrap=True)
    for line in _refusing_lines(tables, partition):
        out.print(line, style="red", soft_wrap=True)
    out.print()


def _loss_lines(tables: RunTables, partition: int) -> Iterator[str]:
    """The losses of acknowledged records, by their causes, the largest first."""
    lost = tables.rows(
        "select fault_name, permitted_by, leader, leader_epoch, sum(records) as records,"  # noqa: S608 - a number
        f" min_by(began_process, {_BEGAN}) as process, min_by(began_sequence, {_BEGAN}) as sequence"
        f" from lost where partition = {partition}"
        " group by fault_name, permitted_by, leader, leader_epoch"
        " order by records desc, leader_epoch, leader, fault_name, permitted_by"
    )
    whole = sum(each["records"] for each in lost)
    if lost:
        yield f"{counted(whole, 'acknowledged record')} of it {'is' if whole == 1 else 'are'} lost."
    for each in lost[:_LISTED]:
        cause = each["fault_name"] or "no known fault"
        permitted = each["permitted_by"] or "nothing permits it"
        chain = (
            ""
            if each["process"] is None
            else f"; show cause RUN {each['process']}:{each['sequence']}"
        )
        yield (
            f"  {each['records']:,} that broker {each['leader']} acknowledged in epoch "
            f"{each['leader_epoch']}: {cause} ({permitted}){chain}"
        )
    if len(lost) > _LISTED:
        yield f"  ... and {sum(each['records'] for each in lost[_LISTED:]):,} in other ways"


def _refusing_lines(tables: RunTables, partition: int) -> Iterator[str]:
    """Long times without writes or reads, and the faults that were active when each began."""
    rows = tables.rows(
        "select u.begin_us, u.end_us, u.condition, runs_end.end_us as run_us, f.fault_kind,"  # noqa: S608 - numbers
        " f.fault_name"
        " from unavailable as u"
        " cross join (select max(end_us) as end_us from partition_states) as runs_end"
        " left join faults as f on f.begin_us <= u.begin_us and u.begin_us <= f.end_us"
        f" where u.condition in {tuple(_REFUSING)} and u.partition = {partition}"
        f" and u.lasted_us >= {_NOTABLE_US}"
        " order by u.lasted_us desc, u.begin_us, u.end_us, u.condition, f.begin_us, f.fault"
    )
    times: dict[tuple[int, int, str], list[str]] = {}
    for row in rows:
        active = times.setdefault((row["begin_us"], row["end_us"], row["condition"]), [])
        if row["fault_name"] is not None:
            active.append(f"{row['fault_kind']} {row['fault_name']!r}")
    for (begin_us, end_us, condition), active in list(times.items())[:_LISTED]:
        until = "the end" if end_us == rows[0]["run_us"] else time_text(end_us)
        faults = f"; faults active when this began: {', '.join(active)}" if active else ""
        yield f"{_REFUSING[condition]} from {time_text(begin_us)} to {until}{faults}."
    if len(times) > _LISTED:
        yield f"... and {counted(len(times) - _LISTED, 'time')} more, none longer."


def listed(brokers: Iterable[int | None]) -> str:
    """Ids of brokers as ``kafka-topics`` lists them."""
    return ",".join("?" if broker is None else str(broker) for broker in brokers)
