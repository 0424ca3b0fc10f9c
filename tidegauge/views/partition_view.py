"""``tidegauge show partition``: one partition's story."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from rich.console import Console

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.runs.partitions import described_states
from tidegauge.runs.run import Run
from tidegauge.runs.stories import partition_story
from tidegauge.runs.trace_events import Names
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import time_text
from tidegauge.views.story_lines import Span, StoryOptions, print_story

#: The number of losses, and of times without writes, that are printed before a story.
_LISTED = 5
#: Conditions of which each long time is printed before a story, in words.
_REFUSING = {
    "stalled": "Writes were stalled",
    "reads_stalled": "Reads were stalled",
    "not_accepting": "No leader accepted writes",
}
#: Shorter times are those of any election.
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


def show_partition(out: Console, run: Run, partition: int, options: StoryOptions) -> None:
    """Print a partition's last state, then its story."""
    _show_state(out, run, partition, options.span)
    lines = partition_story(run, partition, options.span, details=options.details)
    print_story(out, lines, options)


def _show_state(out: Console, run: Run, partition: int, span: Span) -> None:
    """The last state, in the manner of ``kafka-topics --describe``, and the worst of all times."""
    run.tables.make(("described_states", "faults", "unavailable", "lost"))
    topic, number = run.names.topic_and_partition(partition)
    state = described_states(run, span.end_us).get(run.names.partition(partition))
    leader, isr, replicas = "unknown", "unknown", listed(run.names.replicas(partition))
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
    for line in _loss_lines(run.tables, partition):
        out.print(line, style="bold red", soft_wrap=True)
    for line in _refusing_lines(run.tables, partition):
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
        chain = ""
        if each["process"] is not None:
            chain = f"; show cause RUN {each['process']}:{each['sequence']}"
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
