"""The effect of each setting: a small chart for each figure, with confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegauge.analysis.report.charts import GOOD, WARNING, axis, layout
from tidegauge.analysis.report.section import Chart, plain
from tidegauge.scenario.text.counted import counted

#: An answer has a row for each figure and setting.
Answer = Sequence[Mapping[str, Any]]

_COLUMNS = 3
#: In pixels: a chart, a setting's line where settings are names, and the room around charts.
_CURVE, _LINE, _BETWEEN, _ABOVE, _BELOW = 190, 24, 84, 70, 56
#: The most settings with a line each, where they are names.
_SETTINGS = 40

#: How to read it.
SAYS = (
    "A line is the mean over seeds, its band the confidence interval of the mean (95 %), dots "
    "the P99 of runs. Where bands overlap, more seeds may distinguish the settings."
)


def sweep_curves(answer: Answer) -> Chart | None:
    """Curves over a setting that is a number, else means and intervals by setting.

    None if no figure is other than 0 in any run.
    """
    figures: dict[str, list[Mapping[str, Any]]] = {}
    for row in answer:
        figures.setdefault(row["figure"], []).append(row)
    drawn = {name: rows for name, rows in figures.items() if any(row["largest"] for row in rows)}
    if not drawn:
        return None
    is_curve = all(row["setting_value"] is not None for row in answer)
    return _Charts(drawn, is_curve=is_curve).chart()


def always_zero(answer: Answer) -> list[str]:
    """The figures that are 0 in all runs."""
    names = dict.fromkeys(row["figure"] for row in answer)
    return [
        name for name in names if not any(row["largest"] for row in answer if row["figure"] == name)
    ]


class _Charts:
    """Charts side by side, as one for plotly."""

    def __init__(
        self, figures: Mapping[str, Sequence[Mapping[str, Any]]], *, is_curve: bool
    ) -> None:
        self.figures = figures
        self.is_curve = is_curve
        settings = min(_SETTINGS, max(len(rows) for rows in figures.values()))
        self.each = _CURVE if is_curve else _LINE * max(settings, 3)
        self.rows = -(-len(figures) // _COLUMNS)
        self.height = self.rows * (self.each + _BETWEEN) - _BETWEEN
        self.data: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = {"annotations": []}

    def chart(self) -> Chart:
        """All of them."""
        for place, (name, rows) in enumerate(self.figures.items()):
            self._place(place, name, rows[0])
            draw = self._curve if self.is_curve else self._intervals
            for trace in draw(rows[:_SETTINGS]):
                number = place + 1
                named = {"showlegend": place == 0} if "showlegend" not in trace else {}
                self.data.append(trace | named | {"xaxis": f"x{number}", "yaxis": f"y{number}"})
        whole = layout(
            self.height + _ABOVE + _BELOW,
            margin={"l": 64, "r": 16, "t": _ABOVE, "b": _BELOW},
            legend={
                "orientation": "h",
                "x": 0,
                "y": 1,
                "yanchor": "bottom",
                "yref": "paper",
                "traceorder": "normal",
            },
            **self.layout,
        )
        whole["legend"]["y"] = 1 + 26 / self.height
        return Chart("The effect of each setting, figure by figure", self.data, whole)

    def _place(self, place: int, name: str, row: Mapping[str, Any]) -> None:
        """The axes and the title of a chart."""
        line, column = divmod(place, _COLUMNS)
        top = 1 - line * (self.each + _BETWEEN) / self.height
        width = 1 / _COLUMNS
        left = column * width + (0.0 if self.is_curve or column == 0 else 0.02)
        right = column * width + width - (0.05 if self.is_curve else 0.02)
        number = place + 1
        unit = f", {row['unit']}" if row["unit"] else ""
        setting = row["setting"].partition("=")[0] if self.is_curve else ""
        self.layout[f"xaxis{number}"] = axis(
            plain(setting),
            domain=[left, right],
            anchor=f"y{number}",
            fixedrange=True,
            nticks=5,
            rangemode="normal" if self.is_curve else "tozero",
        )
        self.layout[f"yaxis{number}"] = axis(
            domain=[max(0.0, top - self.each / self.height), top],
            anchor=f"x{number}",
            fixedrange=True,
            nticks=5,
            rangemode="tozero",
        )
        if not self.is_curve:
            self.layout[f"yaxis{number}"] |= {
                "type": "category",
                "autorange": "reversed",
                "showticklabels": column == 0,
                "nticks": 0,
                "rangemode": "normal",
            }
        self.layout["annotations"].append(
            {
                "text": f"<b>{plain(name.replace('_', ' '))}{unit}</b>",
                "showarrow": False,
                "x": left,
                "xref": "paper",
                "xanchor": "left",
                "y": top,
                "yref": "paper",
                "yanchor": "bottom",
                "yshift": 3,
            }
        )

    def _curve(self, rows: Answer) -> list[dict[str, Any]]:
        rows = sorted(rows, key=lambda row: row["setting_value"])
        at = [row["setting_value"] for row in rows]
        low, high = ([_known(row, side) for row in rows] for side in ("low", "high"))
        return [
            {
                "type": "scatter",
                "mode": "lines",
                "name": "95 % of the mean",
                "x": at + at[::-1],
                "y": high + low[::-1],
                "fill": "toself",
                "fillcolor": "var(--sure)",
                "line": {"width": 0},
                "hoverinfo": "skip",
            },
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": "mean",
                "x": at,
                "y": [row["mean"] for row in rows],
                "text": [_text(row) for row in rows],
                "hovertemplate": "%{text}<extra></extra>",
                "line": {"color": GOOD, "width": 2},
            },
            {
                "type": "scatter",
                "mode": "markers",
                "name": "P99 of runs",
                "x": at,
                "y": [row["p99"] for row in rows],
                "hovertemplate": "P99 of runs: %{y:,.4~r}<extra></extra>",
                "marker": {"color": WARNING, "symbol": "circle-open", "size": 8},
            },
        ]

    def _intervals(self, rows: Answer) -> list[dict[str, Any]]:
        names = [plain(row["setting"] or "as the scenario is") for row in rows]
        mean = [row["mean"] for row in rows]
        return [
            {
                "type": "scatter",
                "mode": "markers",
                "name": "mean, and 95 % of it",
                "x": mean,
                "y": names,
                "text": [_text(row) for row in rows],
                "hovertemplate": "%{text}<extra></extra>",
                "marker": {"color": GOOD, "size": 9},
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "color": GOOD,
                    "thickness": 2,
                    "array": [_known(row, "high") - row["mean"] for row in rows],
                    "arrayminus": [row["mean"] - _known(row, "low") for row in rows],
                },
            },
            {
                "type": "scatter",
                "mode": "markers",
                "name": "P99 of runs",
                "x": [row["p99"] for row in rows],
                "y": names,
                "hovertemplate": "%{y}: P99 of runs %{x:,.4~r}<extra></extra>",
                "marker": {"color": WARNING, "symbol": "circle-open", "size": 8},
            },
        ]


def _known(row: Mapping[str, Any], side: str) -> float:
    """The border of an interval; for a single run, its figure."""
    value = row["mean"] if row[side] is None else row[side]
    return float(value)


def _text(row: Mapping[str, Any]) -> str:
    name = plain(row["setting"] or "as the scenario is")
    sure = "" if row["low"] is None else f" ({row['low']:,.4g} to {row['high']:,.4g})"
    return f"{name}: {row['mean']:,.4g}{sure}, {counted(row['seeds'], 'seed')}"
