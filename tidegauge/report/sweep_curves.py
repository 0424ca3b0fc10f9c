"""The effect of each setting: a small chart for each figure, with confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegauge.report.charts import GOOD, LANE, LANE_LOWER, WARNING, axis, lanes, layout
from tidegauge.report.quantities import plain_words
from tidegauge.report.section import Chart, Key, SideBySide, plain
from tidegauge.scenario.text.errors import counted

#: An answer has a row for each figure and setting.
Answer = Sequence[Mapping[str, Any]]

_CURVE = 220
#: The most settings with a line each, where they are names.
_SETTINGS = 40
#: Means that differ by no more than this part of them are the same.
_NEARLY = 0.01

#: How to read it.
SAYS = (
    "A line or a dot is the mean over seeds, with the confidence interval of the mean (95 %). A "
    "circle is the worst run. Where intervals overlap, more seeds may distinguish the settings. A "
    "figure that is 0 in most runs has no interval: the table counts the runs above 0."
)


def sweep_curves(answer: Answer) -> SideBySide | None:
    """Curves over a setting that is a number, else means and intervals by setting.

    None if no figure is other than 0 in any run. Figures that settings do not change are left out.
    """
    figures = _by_figure(answer)
    drawn = {name: rows for name, rows in figures.items() if any(row["largest"] for row in rows)}
    same = unchanged(answer)
    drawn = {name: rows for name, rows in drawn.items() if name not in same}
    if not drawn:
        return None
    draw = _curve if all(row["setting_value"] is not None for row in answer) else _intervals
    return SideBySide([draw(_title(name, rows), rows[:_SETTINGS]) for name, rows in drawn.items()])


def always_zero(answer: Answer) -> list[str]:
    """The figures that are 0 in all runs."""
    figures = _by_figure(answer)
    return [name for name, rows in figures.items() if not any(row["largest"] for row in rows)]


def unchanged(answer: Answer) -> list[str]:
    """The figures other than 0 that are the same with each of several settings, or nearly so."""
    found = []
    for name, rows in _by_figure(answer).items():
        means = [abs(row["mean"]) for row in rows]
        if len(rows) > 1 and 0 < max(means) <= (1 + _NEARLY) * min(means):
            found.append(name)
    return found


def _by_figure(answer: Answer) -> dict[str, list[Mapping[str, Any]]]:
    figures: dict[str, list[Mapping[str, Any]]] = {}
    for row in answer:
        figures.setdefault(row["figure"], []).append(row)
    return figures


def _title(name: str, rows: Answer) -> str:
    words = plain_words(name.replace("_ms of ", " of "))
    unit = f" ({rows[0]['unit']})" if rows[0]["unit"] else ""
    return f"{words[0].upper()}{words[1:]}{unit}"


_KEYS = (Key("mean over seeds", GOOD), Key("worst run", WARNING))


def _curve(title: str, rows: Answer) -> Chart:
    rows = sorted(rows, key=lambda row: row["setting_value"])
    at = [row["setting_value"] for row in rows]
    low = [_known(row, "low") for row in rows]
    high = [_known(row, "high") for row in rows]
    data = [
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
        {**_worst(rows), "x": at, "y": [row["worst"] for row in rows]},
    ]
    setting = plain(rows[0]["setting"].partition("=")[0])
    whole = layout(
        _CURVE,
        xaxis=axis(setting, fixedrange=True, nticks=5),
        yaxis=axis(fixedrange=True, nticks=5, rangemode="tozero", tickformat=",~r"),
        margin={"l": 60, "r": 14, "t": 8, "b": 48},
    )
    return Chart(title, data, whole, _KEYS)


def _intervals(title: str, rows: Answer) -> Chart:
    mean = [row["mean"] for row in rows]
    y = [place + LANE_LOWER for place in range(len(rows))]
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "mean, and 95 % of it",
            "x": mean,
            "y": y,
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
        {**_worst(rows), "x": [row["worst"] for row in rows], "y": y},
    ]
    whole = layout(
        LANE * len(rows) + 40,
        xaxis=axis(fixedrange=True, nticks=5, rangemode="tozero", tickformat=",~r"),
        margin={"l": 14, "r": 14, "t": 8, "b": 32},
        **lanes([_name(row) for row in rows]),
    )
    return Chart(title, data, whole, _KEYS)


def _worst(rows: Answer) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "worst run",
        "text": [plain(f"{row['worst_in']}: {row['worst']:,.4g}") for row in rows],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": WARNING, "symbol": "circle-open", "size": 8},
    }


def _known(row: Mapping[str, Any], side: str) -> float:
    """The border of an interval; where it is not known, the mean."""
    value = row["mean"] if row[side] is None else row[side]
    return float(value)


def _name(row: Mapping[str, Any]) -> str:
    return str(row["setting"] or "as the scenario is")


def _text(row: Mapping[str, Any]) -> str:
    sure = "" if row["low"] is None else f" ({row['low']:,.4g} to {row['high']:,.4g})"
    above = f", above 0 in {row['above_zero']:,} of {counted(row['seeds'], 'seed')}"
    return f"{plain(_name(row))}: {row['mean']:,.4g}{sure}{above}"
