"""The worst affected partition: its leaders, its ISR and its losses, replica by replica."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tidegauge.report import charts
from tidegauge.report.charts import Chart, Dot, Dots, Key, Mark, Span, Spans
from tidegauge.report.one_run import OneRun
from tidegauge.report.quantities import duration_text
from tidegauge.report.section import Commands, Grid, Heading, Piece, Section, Words
from tidegauge.runs.run import Run
from tidegauge.runs.stories import StoryLine, partition_story
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import time_text

#: Tables about one partition.
_TABLES = ("isr_members", "leader_intervals", "unavailable", "truncations", "lost")
#: The number of events that are listed, the worst of them; the command shows all.
_EVENTS = 20

_CONDITIONS = {
    "stalled": ("stalled", charts.SKY),
    "under_min_isr": ("under min ISR", charts.WARNING),
    "not_accepting": ("not accepting", charts.WORSE),
    "offline": ("offline", charts.BAD),
}


class _Event(NamedTuple):
    """An event of the partition, in words."""

    time_us: int
    #: The process that it happened in.
    process: str
    words: str
    because: str
    #: Those with the smallest are shown if there are too many.
    rank: int


#: Ranks of events.
_LOST, _ELECTED, _CUT, _CHANGED = range(4)
_RANKS = {
    "leader_elected": _ELECTED,
    **dict.fromkeys(("truncated", "log_lost"), _CUT),
    **dict.fromkeys(("isr_shrunk", "isr_expanded", "removed_from_isr"), _CHANGED),
}


def section(run: OneRun) -> Section:
    """The story."""
    if run.worst_partition is None:
        return Section(
            "partition",
            "The worst partition",
            [
                Words(
                    "No partition was stalled for producers, refused acks=all writes or lost a "
                    "record.",
                    "good",
                )
            ],
        )
    number, name = run.worst_partition
    rows = {
        table: run.tables.rows(f"select * from {table} where partition = {number} order by all")  # noqa: S608
        for table in _TABLES
    }
    pieces: list[Piece] = [
        Words(_in_short(rows)),
        _chart(run, name, rows),
        Words(
            "A broker has a wide bar while it is in the ISR, and a line in it while it leads. This "
            "partition has lost the most acknowledged records, or else was stalled for producers, "
            "or refused acks=all writes, for longest.",
            "note",
        ),
    ]
    events = sorted(_events(partition_story(Run(run.run.folder), number), rows["lost"]))
    told = sorted(sorted(events, key=lambda each: (each.rank, each.time_us))[:_EVENTS])
    pieces.append(
        Grid(
            f"The story of {name}",
            [
                Heading("Time", is_number=True),
                Heading("Process"),
                Heading("Event"),
                Heading("Cause"),
            ],
            [(time_text(each.time_us), each.process, each.words, each.because) for each in told],
        )
    )
    if len(events) > len(told):
        left_out = counted(len(events) - len(told), "event")
        pieces.append(
            Words(f"{left_out} that matter less are left out; the command shows all.", "note")
        )
    pieces.append(
        Commands(
            [
                run.command("picture", "RUN", "--partition", name),
                run.command("show", "partition", "RUN", name),
            ]
        )
    )
    return Section("partition", f"The worst partition: {name}", pieces)


def _in_short(rows: dict[str, list[dict[str, Any]]]) -> str:
    parts = []
    for condition, (text, _) in _CONDITIONS.items():
        lasted_us = sum(
            each["lasted_us"] for each in rows["unavailable"] if each["condition"] == condition
        )
        if lasted_us:
            parts.append(f"{text} for {duration_text(lasted_us)}")
    lost = sum(each["records"] for each in rows["lost"])
    parts.append(f"{counted(lost, 'acknowledged record')} lost" if lost else "nothing lost")
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _chart(run: OneRun, name: str, rows: dict[str, list[dict[str, Any]]]) -> Chart:
    leads = [each for each in rows["leader_intervals"] if each["leader"] is not None]
    brokers = sorted(
        {each["broker"] for table in ("isr_members", "truncations") for each in rows[table]}
        | {each["leader"] for each in leads}
    )
    place = {broker: number for number, broker in enumerate(brokers)}
    in_isr = [_span(place[each["broker"]], each, "in the ISR") for each in rows["isr_members"]]
    led = [
        _span(place[each["leader"]], each, f"leader, epoch {each['leader_epoch']}")
        for each in leads
    ]
    keys = [Key("in the ISR", _IN_ISR), Key("leader", _LEADS)]
    marks: list[Mark] = [Spans(in_isr, _IN_ISR), Spans(led, _LEADS, height=5)]
    names = [f"broker {each}" for each in brokers]
    for condition, (text, colour) in _CONDITIONS.items():
        spans = [each for each in rows["unavailable"] if each["condition"] == condition]
        if spans:
            marks.append(Spans([_span(len(names), each, text) for each in spans], colour))
            names.append(text)
    for dots, key in _dots(rows, place, len(names)):
        marks.append(dots)
        keys.append(key)
    return Chart(
        f"Leader and ISR of {name}",
        charts.time_axis(run.duration_us),
        marks,
        keys,
        lanes=names,
        faults=run.faults,
    )


_IN_ISR, _LEADS = charts.GOOD, "var(--black)"


def _span(lane: int, each: Mapping[str, Any], text: str) -> Span:
    begin, end = (charts.seconds(each[name]) for name in ("begin_us", "end_us"))
    says = f"{text}, {time_text(each['begin_us'])} to {time_text(each['end_us'])}"
    return Span(lane, begin, end, says)


def _dots(
    rows: dict[str, list[dict[str, Any]]], place: Mapping[int, int], lanes: int
) -> Iterator[tuple[Dots, Key]]:
    """Losses of records: logs that were cut, leaders that began without acknowledged records."""
    cut = [
        (each["time_us"], each["broker"], f"log cut by {counted(each['records'], 'record')}")
        for each in rows["truncations"]
        if each["records"]
    ]
    lost = [
        (each["began_us"], each["new_leader"], f"leads without {each['records']:,} of them")
        for each in rows["lost"]
        if each["began_us"] is not None
    ]
    for name, found, colour in (
        ("log cut", cut, charts.WARNING),
        ("leads without acknowledged records", lost, charts.BAD),
    ):
        if found:
            dots = [
                Dot((charts.seconds(at_us), charts.in_lane(place[broker], lanes)), text)
                for at_us, broker, text in found
            ]
            yield Dots(dots, colour), Key(name, colour, f"{len(found):,}")


def _events(lines: Iterable[StoryLine], lost: Iterable[Mapping[str, Any]]) -> Iterator[_Event]:
    """The events that matter, with their reasons, and the losses."""
    for line in lines:
        if line.kind in _RANKS:
            rank = _LOST if "UNCLEAN" in line.words else _RANKS[line.kind]
            yield _Event(line.time_us, line.speaker, line.words, "; ".join(line.reasons), rank)
    for each in lost:
        began_us = each["time_us"] if each["began_us"] is None else each["began_us"]
        what = (
            f"{counted(each['records'], 'acknowledged record')} lost: offsets "
            f"{each['first_offset']:,} to {each['end_offset'] - 1:,} of epoch "
            f"{each['leader_epoch']}, acknowledged with acks="
            f"{'all' if each['acks'] == -1 else each['acks']}"
        )
        if each["new_leader"] is not None:
            what += f"; broker {each['new_leader']} leads without them"
        because = each["fault_name"] or each["permitted_by"] or ""
        yield _Event(began_us, f"broker {each['leader']}", what, because, _LOST)
