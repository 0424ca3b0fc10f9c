"""The worst affected partition: its leaders, its ISR and its losses, replica by replica."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tidegauge.report.charts import (
    BAD,
    LANE,
    LANE_BAR,
    LANE_LOWER,
    SKY,
    WARNING,
    WORSE,
    fault_band,
    lanes,
    layout,
    seconds,
    time_axis,
)
from tidegauge.report.one_run import OneRun
from tidegauge.report.quantities import duration_text
from tidegauge.report.section import Chart, Grid, Heading, Key, Piece, Section, Words
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import time_text

#: Tables that tell of one partition.
_TABLES = (
    "isr_members",
    "leader_intervals",
    "unavailable",
    "isr_changes",
    "elections",
    "truncations",
    "lost",
)
#: So many events are listed, the worst of them; the command shows all.
_EVENTS = 40

_CONDITIONS = {
    "stalled": ("stalled", SKY),
    "under_min_isr": ("under min ISR", WARNING),
    "not_accepting": ("not accepting", WORSE),
    "offline": ("offline", BAD),
}
_CHANGES = {"shrink": "ISR shrinks", "expand": "ISR expands", "removal": "ISR, by the controller"}


class _Event(NamedTuple):
    """An event of the partition, in words."""

    time_us: int
    what: str
    how: str
    fault: str
    #: Those with the smallest are told if there are too many.
    rank: int


#: Ranks of events.
_LOST, _ELECTED, _CUT, _CHANGED = range(4)


def section(run: OneRun) -> Section:
    """The story."""
    if run.worst_partition is None:
        return Section(
            "partition",
            "The story of the worst affected partition",
            "There is none in this run.",
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
    pieces: list[Piece] = [Words(_in_short(rows)), _chart(run, name, rows)]
    events = sorted(_events(rows))
    told = sorted(sorted(events, key=lambda each: (each.rank, each.time_us))[:_EVENTS])
    pieces.append(
        Grid(
            f"The story of {name}",
            [
                Heading("Time", is_number=True),
                Heading("Event"),
                Heading("Details"),
                Heading("Cause"),
            ],
            [(time_text(each.time_us), each.what, each.how, each.fault) for each in told],
        )
    )
    if len(events) > len(told):
        left_out = counted(len(events) - len(told), "event")
        pieces.append(
            Words(f"{left_out} that matter less are left out; the command shows all.", "note")
        )
    return Section(
        "partition",
        f"The story of {name}, the worst affected partition",
        "This partition has lost the most acknowledged records, or else was stalled for producers, "
        "or refused acks=all writes, for longest. A broker has a wide bar while it is in the ISR, "
        "and a line in it while it leads.",
        pieces,
        [
            run.command("picture", "RUN", "--partition", name),
            run.command("show", "partition", "RUN", name),
        ],
    )


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
    place = {broker: float(number) for number, broker in enumerate(brokers)}
    in_isr = [(place[each["broker"]], each) for each in rows["isr_members"]]
    led = [(place[each["leader"]], each) for each in leads]
    keys = [Key("in the ISR", _IN_ISR), Key("leader", _LEADS)]
    data = [
        _bars("in the ISR", in_isr, _IN_ISR, LANE_BAR, ""),
        _bars("leader", led, _LEADS, LANE_BAR / 3, "epoch %{customdata}"),
    ]
    names = [f"broker {each}" for each in brokers]
    for condition, (text, colour) in _CONDITIONS.items():
        spans = [each for each in rows["unavailable"] if each["condition"] == condition]
        if spans:
            lane = float(len(names))
            data.append(_bars(text, [(lane, each) for each in spans], colour, LANE_BAR, ""))
            names.append(text)
    for trace, key in _markers(rows, place):
        data.append(trace)
        keys.append(key)
    whole = layout(
        LANE * len(names) + 34,
        xaxis=time_axis(run.duration_us),
        shapes=[fault_band(each) for each in run.faults],
        **lanes(names),
    )
    return Chart(f"Leader and ISR of {name}", data, whole, keys, is_over_time=True)


_IN_ISR, _LEADS = "var(--sky)", "var(--black)"


def _bars(
    name: str, spans: Sequence[tuple[float, dict[str, Any]]], colour: str, width: float, more: str
) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": [place + LANE_LOWER for place, _ in spans],
        "base": [seconds(each["begin_us"]) for _, each in spans],
        "x": [seconds(each["end_us"] - each["begin_us"]) for _, each in spans],
        "width": width,
        "customdata": [each.get("leader_epoch") for _, each in spans],
        "text": [
            f"{time_text(each['begin_us'])} to {time_text(each['end_us'])}" for _, each in spans
        ],
        "textposition": "none",
        "hovertemplate": f"{name} {more}<br>%{{text}}<extra></extra>",
        "marker": {"color": colour, "line": {"width": 0}},
    }


def _markers(
    rows: dict[str, list[dict[str, Any]]], place: Mapping[int, float]
) -> Iterator[tuple[dict[str, Any], Key]]:
    """Where records went: logs that were cut, leaders that began without what was acknowledged."""
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
    for name, found, symbol, colour in (
        ("log cut", cut, "triangle-down", WARNING),
        ("leads without acknowledged records", lost, "x", BAD),
    ):
        if found:
            trace = {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                "x": [seconds(time_us) for time_us, _, _ in found],
                "y": [place[broker] + LANE_LOWER for _, broker, _ in found],
                "text": [text for _, _, text in found],
                "hovertemplate": "%{x}: %{text}<extra></extra>",
                "marker": {
                    "color": colour,
                    "symbol": symbol,
                    "size": 12,
                    "line": {"color": "var(--paper)", "width": 1},
                },
            }
            yield trace, Key(name, colour, f"{len(found):,}")


def _events(rows: dict[str, list[dict[str, Any]]]) -> Iterator[_Event]:
    """The events in words."""
    for each in rows["isr_changes"]:
        how = f"ISR {_list(each['isr'])}: {_change(each)}"
        if each["lag_ms"] is not None and each["change"] == "shrink":
            how += f", {duration_text(each['lag_ms'] * 1000)} not caught up"
        what = _CHANGES[each["change"]]
        yield _Event(each["time_us"], what, how, each["fault_name"] or "", _CHANGED)
    for each in rows["elections"]:
        leader = "none" if each["leader"] is None else f"broker {each['leader']}"
        how = f"{leader}, epoch {each['leader_epoch']}, ISR {_list(each['isr'])}"
        what = "unclean election" if each["unclean"] else "leader elected"
        rank = _LOST if each["unclean"] else _ELECTED
        yield _Event(each["time_us"], what, how, each["fault_name"] or "", rank)
    for each in rows["truncations"]:
        why = "power was lost" if each["reason"] == "power" else "it follows its leader"
        how = f"broker {each['broker']}: {counted(each['records'], 'record')}, since {why}"
        rank = _CUT if each["records"] else _CHANGED
        yield _Event(each["time_us"], "log cut", how, each["fault_name"] or "", rank)
    for each in rows["lost"]:
        began_us = each["time_us"] if each["began_us"] is None else each["began_us"]
        how = (
            f"offsets {each['first_offset']:,} to {each['end_offset'] - 1:,} of epoch "
            f"{each['leader_epoch']}, acknowledged by broker {each['leader']} with acks="
            f"{'all' if each['acks'] == -1 else each['acks']}"
        )
        if each["new_leader"] is not None:
            how += f"; broker {each['new_leader']} leads without them"
        because = each["fault_name"] or each["permitted_by"] or ""
        yield _Event(began_us, f"{counted(each['records'], 'record')} lost", how, because, _LOST)


def _change(each: dict[str, Any]) -> str:
    """The brokers that joined an ISR, or left it."""
    brokers = f"broker {_list(each['brokers'])}"
    if each["change"] == "expand":
        return f"joined by {brokers}"
    # The last replica remains in the ISR, as no other may be elected.
    if set(each["brokers"]) <= set(each["isr"]):
        return f"{brokers} is gone, and remains in it as the last member"
    return f"without {brokers}"


def _list(brokers: Sequence[int]) -> str:
    return ",".join(str(each) for each in brokers)
