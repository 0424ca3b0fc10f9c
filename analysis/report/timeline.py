"""The run over time: faults above, and their consequences below, on the same axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from tidegauge.analysis.report.charts import (
    axis,
    fault_band,
    layout,
    seconds,
    time_axis,
)
from tidegauge.analysis.report.collected import Answers
from tidegauge.analysis.report.one_run import OneRun
from tidegauge.analysis.report.panels import PANELS, Mark, Panel, all_series
from tidegauge.analysis.report.section import Chart, Section, plain
from tidegauge.simulation.durations import time_text

#: Heights in pixels: of a row, of one in which nothing is, of a fault's line, and between rows.
_ROW, _EMPTY_ROW, _LANE, _GAP = 110, 14, 22, 46
_ABOVE, _BELOW = 40, 40
#: Up to so many have a tick each.
_FEW = 4
#: So many faults have a line each; else those of a kind share one.
_LANES = 10
#: So many letters of a name fit beside the axis.
_NAME = 28


class Points(NamedTuple):
    """A series as it was collected, in the order of time."""

    at_us: NDArray[np.int64]
    value: NDArray[np.float64]
    then: NDArray[np.float64]


class Rows(NamedTuple):
    """Where a row of the timeline stands: from its top down, in pixels of the whole chart."""

    top: int
    height: int


def asks(run: OneRun) -> dict[str, DataFrame]:
    """The queries of the timeline."""
    return {
        "series": all_series(run),
        "faults": run.tables["faults"].orderBy("begin_us", "fault"),
    }


def tells(run: OneRun, answers: Answers) -> Section:
    """The timeline."""
    faults = answers["faults"].to_pylist()
    found = _points(answers["series"])
    replicas = sum(len(each["replicas"]) for each in run.manifest["partitions"])
    whole_run = np.array([0, run.duration_us])
    found["assigned"] = Points(whole_run, np.full(2, replicas), np.full(2, np.nan))
    chart = _Timeline(run, faults, found).chart()
    return Section(
        "timeline",
        "Timeline",
        "Time is virtual time since the run began. Times of active faults are shaded; all rows "
        "have the same axis. Drag to zoom in, double-click to zoom out.",
        [chart],
        [
            run.command("picture", "RUN"),
            run.command("show", "RUN", "--faults"),
            run.command("show", "RUN", "--controller"),
        ],
    )


def _points(series: Any) -> dict[str, Points]:
    """Series by their names."""
    names = np.asarray(series["series"].to_numpy(zero_copy_only=False))
    columns = [series[name].to_numpy(zero_copy_only=False) for name in Points._fields]
    found = {}
    for name in np.unique(names.astype(str)):
        places = np.flatnonzero(names == name)
        places = places[np.argsort(columns[0][places], kind="stable")]
        found[str(name)] = Points(*(column[places] for column in columns))
    return found


class _Timeline:
    """The chart while it is built."""

    def __init__(
        self, run: OneRun, faults: Sequence[dict[str, Any]], series: dict[str, Points]
    ) -> None:
        self.run = run
        self.faults = faults
        self.lanes = fault_lanes(faults)
        self.series = series
        self.rows: list[Rows] = []
        top = _LANE * max(1, len(self.lanes)) + _GAP
        for panel in PANELS:
            height = _ROW if self._marks(panel) else _EMPTY_ROW
            self.rows.append(Rows(top, height))
            top += height + _GAP
        self.height = top - _GAP
        self.data: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = {}

    def _whole_ticks(self, panel: Panel) -> dict[str, Any]:
        """Where little is counted, a tick for each: there is no half of an election."""
        found = [self.series[mark.series].value.max(initial=0) for mark in self._marks(panel)]
        return {"dtick": 1} if panel.unit != "seconds" and sum(found) <= _FEW else {}

    def _marks(self, panel: Panel) -> list[Mark]:
        """The series to draw: those that are not 0 all the time."""
        return [
            mark
            for mark in panel.marks
            if mark.series in self.series and self.series[mark.series].value.any()
        ]

    def chart(self) -> Chart:
        """All of it."""
        self._draw_faults()
        for number, (panel, row) in enumerate(zip(PANELS, self.rows, strict=True), start=2):
            self._draw(panel, row, number)
        whole = layout(
            self.height + _ABOVE + _BELOW,
            margin={"l": 64, "r": 16, "t": _ABOVE, "b": _BELOW},
            hovermode="x unified",
            barmode="stack",
            bargap=0,
            xaxis=time_axis(
                0,
                self.run.duration_us,
                anchor="free",
                position=0,
                showspikes=True,
                spikemode="across",
                spikethickness=1,
                spikecolor="var(--muted)",
                spikedash="dot",
            ),
            xaxis2=time_axis(0, self.run.duration_us, anchor="y", matches="x", side="top"),
            shapes=[fault_band(each) for each in self.faults],
            **self.layout,
        )
        return Chart("Timeline of the run: faults, and their consequences", self.data, whole)

    def _domain(self, row: Rows) -> list[float]:
        """Where a row stands, as plotly has it: from below, in parts of the whole."""
        return [
            max(0.0, 1 - (row.top + row.height) / self.height),
            1 - row.top / self.height,
        ]

    def _draw_faults(self) -> None:
        lanes = self.lanes
        self.layout["yaxis"] = axis(
            domain=self._domain(Rows(0, _LANE * max(1, len(lanes)))),
            anchor="x2",
            type="category",
            categoryarray=[plain(_shortened(name)) for name in reversed(lanes)],
            categoryorder="array",
            fixedrange=True,
            showgrid=False,
        )
        spans = [(name, each) for name, of_lane in lanes.items() for each in of_lane]
        self.data.append(
            {
                "type": "bar",
                "orientation": "h",
                "xaxis": "x2",
                "yaxis": "y",
                "y": [plain(_shortened(name)) for name, _ in spans],
                "base": [seconds(each["begin_us"]) for _, each in spans],
                "x": [seconds(each["end_us"] - each["begin_us"]) for _, each in spans],
                "text": [plain(_fault_text(each)) for _, each in spans],
                "textposition": "none",
                "hovertemplate": "%{text}<extra></extra>",
                "marker": {"color": "var(--fault)"},
                "showlegend": False,
            }
        )
        if not spans:
            self._note("No fault in this run", Rows(0, _LANE))

    def _draw(self, panel: Panel, row: Rows, number: int) -> None:
        marks = self._marks(panel)
        top = 1 - row.top / self.height
        self._annotate(f"<b>{panel.title}</b>, {panel.unit}", top, yanchor="bottom", yshift=3)
        self.layout[f"yaxis{number}"] = axis(
            domain=self._domain(row),
            anchor="x",
            rangemode="tozero",
            nticks=4,
            fixedrange=True,
            visible=bool(marks),
            tickformat=",~r",
            **self._whole_ticks(panel),
        )
        if not marks:
            self._note("none in this run", row)
            return
        legend = f"legend{number}"
        self.layout[legend] = {
            "orientation": "h",
            "x": 1,
            "xanchor": "right",
            "y": top,
            "yanchor": "bottom",
            "font": {"size": 12},
            "bgcolor": "rgba(0,0,0,0)",
        }
        for mark in marks:
            drawn = self._drawn(mark, self.series[mark.series], panel.unit)
            self.data.append({**drawn, "yaxis": f"y{number}", "legend": legend})

    def _drawn(self, mark: Mark, points: Points, unit: str) -> dict[str, Any]:
        common: dict[str, Any] = {
            "name": mark.name,
            "xaxis": "x",
            "showlegend": True,
            "hovertemplate": f"%{{y:,.4~r}} {unit}",
        }
        if mark.drawn == "bar":
            bar_us = self.run.bar_us
            return common | {
                "type": "bar",
                "x": [seconds(at_us + bar_us / 2) for at_us in points.at_us.tolist()],
                "y": _rounded(points.value),
                "width": seconds(bar_us),
                "marker": {"color": mark.colour, "line": {"width": 0}},
            }
        if mark.drawn == "level":
            at_us, value = _steps(points, self.run.bucket_us, self.run.duration_us)
            shape = {"shape": "hv", "color": mark.colour, "width": 1.5}
        else:
            at_us, value = points.at_us, points.value
            shape = {"color": mark.colour, "width": 1.5}
        is_point = mark.drawn == "point"
        return common | {
            "type": "scatter",
            "mode": "markers" if is_point else "lines",
            "x": [seconds(each) for each in at_us.tolist()],
            "y": _rounded(value),
            **({"marker": {"color": mark.colour, "size": 7}} if is_point else {"line": shape}),
        }

    def _note(self, text: str, row: Rows) -> None:
        self._annotate(text, 1 - (row.top + row.height / 2) / self.height, yanchor="middle")

    def _annotate(self, text: str, y: float, **more: Any) -> None:
        self.layout.setdefault("annotations", []).append(
            {
                "text": text,
                "x": 0,
                "xref": "paper",
                "xanchor": "left",
                "y": y,
                "yref": "paper",
                "showarrow": False,
                **more,
            }
        )


def fault_lanes(faults: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Faults by their line: their own, or that of their kind if there are many."""
    lanes: dict[str, list[dict[str, Any]]] = {}
    for each in faults:
        lanes.setdefault(each["fault_name"], []).append(each)
    if len(lanes) <= _LANES:
        return lanes
    kinds: dict[str, list[dict[str, Any]]] = {}
    for each in faults:
        kinds.setdefault(each["fault_kind"], []).append(each)
    return dict(_named(kinds))


def _named(
    kinds: dict[str, list[dict[str, Any]]],
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for kind, of_kind in kinds.items():
        yield (
            (of_kind[0]["fault_name"] if len(of_kind) == 1 else f"{len(of_kind)} x {kind}"),
            of_kind,
        )


def _shortened(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"


def _fault_text(fault: dict[str, Any]) -> str:
    to = time_text(fault["end_us"]) if fault["ended"] else "the end"
    return f"{fault['fault_name']}: {fault['fault_text']}, {time_text(fault['begin_us'])} to {to}"


def _steps(
    points: Points, bucket_us: int, end_us: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Where a line of steps goes: the most within each bucket, then what was left until the next.

    A level is 0 before its first bucket, and stays to the end of the run.
    """
    at_us = np.stack([points.at_us, points.at_us + bucket_us], axis=1).ravel()
    value = np.stack([points.value, points.then], axis=1).ravel()
    at_us = np.concatenate([[0], at_us, [end_us]])
    value = np.concatenate([[0.0], value, value[-1:]])
    within = at_us <= end_us
    at_us, value = at_us[within], value[within]
    # The last of several points at a moment counts; points without a change are left out.
    is_last = np.append(np.diff(at_us) > 0, True)
    at_us, value = at_us[is_last], value[is_last]
    is_news = np.concatenate([[True], np.diff(value) != 0])
    is_news[-1] = True
    return at_us[is_news], value[is_news]


def _rounded(values: NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.6g}") for value in values.tolist()]
