"""``tidegauge show partition``: one partition's story."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.runs.partitions import described_states
from tidegauge.runs.run import Run
from tidegauge.runs.stories import partition_story
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import time_text
from tidegauge.views.output import print_hanging
from tidegauge.views.story_lines import Span, StoryOptions, print_story, when_text

_TABLES = ("described_states", "faults", "unavailable", "lost")
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


def partition_for_programs(run: Run, partition: int, options: StoryOptions) -> dict[str, Any]:
    """A partition's last state, its losses, its times without writes or reads, and its story."""
    run.tables.make(_TABLES)
    name = run.names.partition(partition)
    state = described_states(run, options.span.end_us).get(name)
    lines = partition_story(run, partition, options.span, details=options.details)
    return {
        "partition": name,
        "state": None if state is None else state._asdict(),
        "lost": [
            {key: row[key] for key in ("fault_name", "permitted_by", "leader", "records")}
            for row in _losses(run.tables, partition)
        ],
        "refusing": [each._asdict() for each in _refusing(run.tables, partition)],
        "story": [line._asdict() for line in lines],
    }


def show_partition(out: Console, run: Run, partition: int, options: StoryOptions) -> None:
    """Print a partition's last state, then its story."""
    _show_state(out, run, partition, options.span)
    lines = partition_story(run, partition, options.span, details=options.details)
    print_story(out, run, lines, options)


def _show_state(out: Console, run: Run, partition: int, span: Span) -> None:
    """The last state, in the manner of ``kafka-topics --describe``, and the worst of all times."""
    run.tables.make(_TABLES)
    topic, number = run.names.topic_and_partition(partition)
    state = described_states(run, span.end_us).get(run.names.partition(partition))
    leader, isr, replicas = "unknown", "unknown", listed(run.names.replicas(partition))
    if state is not None:
        leader = "none" if state.leader is None else str(state.leader)
        isr, replicas = listed(state.isr), listed(state.replicas)
    when = when_text(run, span.end_us)
    said = f"Partition: {number}  Leader: {leader}  Replicas: {replicas}  Isr: {isr}"
    print_hanging(out, "", Text(f"Topic: {topic}  {said}", style="bold"))
    term = "" if state is None else f", in leader epoch {state.leader_epoch}"
    out.print(f"({when[0].upper()}{when[1:]}{term})")
    for line in _loss_lines(_losses(run.tables, partition)):
        print_hanging(out, "", Text(line, style="bold red"))
    for line in _refusing_lines(_refusing(run.tables, partition)):
        print_hanging(out, "", Text(line, style="red"))
    out.print()


def _losses(tables: RunTables, partition: int) -> list[dict[str, Any]]:
    """The losses of acknowledged records, by their causes, the largest first."""
    return tables.rows(
        "select fault_name, permitted_by, leader, leader_epoch, sum(records) as records,"  # noqa: S608 - a number
        f" min_by(began_process, {_BEGAN}) as process, min_by(began_sequence, {_BEGAN}) as sequence"
        f" from lost where partition = {partition}"
        " group by fault_name, permitted_by, leader, leader_epoch"
        " order by records desc, leader_epoch, leader, fault_name, permitted_by"
    )


def _loss_lines(lost: list[dict[str, Any]]) -> Iterator[str]:
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


class _Refusing(NamedTuple):
    """A long time without writes or reads."""

    condition: str
    begin_us: int
    #: None: the end of the run.
    end_us: int | None
    #: The faults that were active when it began, with their kinds.
    faults: tuple[str, ...]


def _refusing(tables: RunTables, partition: int) -> list[_Refusing]:
    """The long times without writes or reads, the longest first."""
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
    return [
        _Refusing(condition, begin, None if end == rows[0]["run_us"] else end, tuple(active))
        for (begin, end, condition), active in times.items()
    ]


def _refusing_lines(times: list[_Refusing]) -> Iterator[str]:
    """The longest of the times, in their order."""
    for each in sorted(times[:_LISTED], key=lambda each: (each.begin_us, each.condition)):
        until = "the end" if each.end_us is None else time_text(each.end_us)
        active = ", ".join(each.faults)
        faults = f"; faults active when this began: {active}" if active else ""
        yield f"{_REFUSING[each.condition]} from {time_text(each.begin_us)} to {until}{faults}."
    if len(times) > _LISTED:
        yield f"... and {counted(len(times) - _LISTED, 'time')} more, none longer."


def listed(brokers: Iterable[int | None]) -> str:
    """Ids of brokers as ``kafka-topics`` lists them."""
    return ",".join("?" if broker is None else str(broker) for broker in brokers)
