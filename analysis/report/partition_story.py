"""The worst affected partition: its leaders, its ISR and its losses, replica by replica."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame

from tidegauge.analysis.report.charts import (
    BAD,
    WARNING,
    WORSE,
    axis,
    fault_band,
    layout,
    seconds,
    time_axis,
)
from tidegauge.analysis.report.collected import Answers
from tidegauge.analysis.report.one_run import OneRun
from tidegauge.analysis.report.quantities import duration_text
from tidegauge.analysis.report.section import Chart, Grid, Heading, Piece, Section, Words
from tidegauge.scenario.text.counted import counted
from tidegauge.simulation.durations import time_text

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
#: So many events are listed; all of them are what the command shows.
_EVENTS = 40
_LANE, _ABOVE, _BELOW = 34, 60, 40

_CONDITIONS = {
    "under_min_isr": ("under min ISR", WARNING),
    "not_accepting": ("not accepting", WORSE),
    "offline": ("offline", BAD),
}
_CHANGES = {"shrink": "ISR shrinks", "expand": "ISR expands", "removal": "ISR, by the controller"}


def asks(run: OneRun) -> dict[str, DataFrame]:
    """Its rows in all tables that tell of partitions."""
    if run.worst_partition is None:
        return {}
    number, _ = run.worst_partition
    return {f"story {name}": run.tables[name].where(f"partition = {number}") for name in _TABLES}


def tells(run: OneRun, answers: Answers) -> Section:
    """The story."""
    if run.worst_partition is None:
        return Section(
            "partition",
            "A partition's story",
            "This section has the story of the worst affected partition.",
            [Words("Every partition accepted writes all the time, and lost no record.", "good")],
        )
    _, name = run.worst_partition
    rows = {table: answers[f"story {table}"].to_pylist() for table in _TABLES}
    pieces: list[Piece] = [
        Words(_in_short(rows)),
        _chart(run, name, rows, answers["faults"].to_pylist()),
    ]
    events = sorted(_events(rows))
    pieces.append(
        Grid(
            [Heading("time", is_number=True), Heading("what"), Heading("how"), Heading("because")],
            [(time_text(time_us), *texts) for time_us, *texts in events[:_EVENTS]],
        )
    )
    if len(events) > _EVENTS:
        pieces.append(Words(f"... and {counted(len(events) - _EVENTS, 'event')} more.", "note"))
    return Section(
        "partition",
        f"The story of {name}, the worst affected partition",
        "This partition has lost the most acknowledged records, or else refused writes for "
        "longest. A broker has a wide bar while it is in the ISR, and a line in it while it "
        "leads.",
        pieces,
        [
            run.command("picture", "RUN", "--partition", name),
            run.command("show", "RUN", "--partition", name),
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


def _chart(
    run: OneRun, name: str, rows: dict[str, list[dict[str, Any]]], faults: Sequence[dict[str, Any]]
) -> Chart:
    brokers = sorted(
        {each["broker"] for table in ("isr_members", "truncations") for each in rows[table]}
        | {each["leader"] for each in rows["leader_intervals"] if each["leader"] is not None}
    )
    conditions = [
        (condition, text, colour)
        for condition, (text, colour) in _CONDITIONS.items()
        if any(each["condition"] == condition for each in rows["unavailable"])
    ]
    lanes = [f"broker {each}" for each in brokers] + [text for _, text, _ in conditions]
    in_isr = [(f"broker {each['broker']}", each) for each in rows["isr_members"]]
    leads = [
        (f"broker {each['leader']}", each)
        for each in rows["leader_intervals"]
        if each["leader"] is not None
    ]
    data = [
        _bars("in the ISR", in_isr, "var(--sky)", 0.72, ""),
        _bars("leader", leads, "var(--black)", 0.3, "epoch %{customdata}"),
    ]
    for condition, text, colour in conditions:
        spans = [(text, each) for each in rows["unavailable"] if each["condition"] == condition]
        data.append(_bars(text, spans, colour, 0.5, "") | {"showlegend": False})
    data += _markers(rows)
    height = _LANE * len(lanes) + _ABOVE + _BELOW
    whole = layout(
        height,
        margin={"l": 64, "r": 16, "t": _ABOVE, "b": _BELOW},
        barmode="overlay",
        xaxis=time_axis(0, run.duration_us),
        yaxis=axis(
            type="category",
            categoryorder="array",
            categoryarray=lanes[::-1],
            fixedrange=True,
            range=[-0.5, len(lanes) - 0.5],
        ),
        shapes=[fault_band(each) for each in faults],
    )
    return Chart(f"Leader and ISR of {name} over time, broker by broker", data, whole)


def _bars(
    name: str, spans: Sequence[tuple[str, dict[str, Any]]], colour: str, width: float, more: str
) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": [lane for lane, _ in spans],
        "base": [seconds(each["begin_us"]) for _, each in spans],
        "x": [seconds(each["end_us"] - each["begin_us"]) for _, each in spans],
        "width": width,
        "customdata": [each.get("leader_epoch") for _, each in spans],
        "text": [
            f"{time_text(each['begin_us'])} to {time_text(each['end_us'])}" for _, each in spans
        ],
        "textposition": "none",
        "hovertemplate": f"%{{y}}: {name} {more}<br>%{{text}}<extra></extra>",
        "marker": {"color": colour, "line": {"width": 0}},
    }


def _markers(rows: dict[str, list[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
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
            yield {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                "x": [seconds(time_us) for time_us, _, _ in found],
                "y": [f"broker {broker}" for _, broker, _ in found],
                "text": [text for _, _, text in found],
                "hovertemplate": "%{x}, %{y}: %{text}<extra></extra>",
                "marker": {
                    "color": colour,
                    "symbol": symbol,
                    "size": 12,
                    "line": {"color": "var(--paper)", "width": 1},
                },
            }


def _events(rows: dict[str, list[dict[str, Any]]]) -> Iterator[tuple[int, str, str, str]]:
    """The events in words: time, event, details, fault."""
    for each in rows["isr_changes"]:
        how = f"ISR {_list(each['isr'])}: {_change(each)}"
        if each["lag_ms"] is not None and each["change"] == "shrink":
            how += f", {duration_text(each['lag_ms'] * 1000)} not caught up"
        yield each["time_us"], _CHANGES[each["change"]], how, each["fault_name"] or ""
    for each in rows["elections"]:
        who = "none" if each["leader"] is None else f"broker {each['leader']}"
        how = f"{who}, epoch {each['leader_epoch']}, ISR {_list(each['isr'])}"
        what = "unclean election" if each["unclean"] else "leader elected"
        yield each["time_us"], what, how, each["fault_name"] or ""
    for each in rows["truncations"]:
        why = "power was lost" if each["reason"] == "power" else "it follows its leader"
        how = f"broker {each['broker']}: {counted(each['records'], 'record')}, since {why}"
        yield each["time_us"], "log cut", how, each["fault_name"] or ""
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
        yield began_us, f"{counted(each['records'], 'record')} lost", how, because


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
