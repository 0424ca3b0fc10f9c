"""Failovers as bars: the time that partitions waited for another leader, and its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegauge.analysis.report.charts import COLOURS, axis, layout
from tidegauge.analysis.report.quantities import duration_text
from tidegauge.analysis.report.section import Chart, plain
from tidegauge.scenario.text.counted import counted
from tidegauge.simulation.durations import short_time_text

#: Where the time goes, in its order: column, and what it is called.
_STEPS = {
    "detection_us": "until the controller is notified",
    "notice_us": "... its event is in the queue",
    "queue_us": "... it is taken from the queue",
    "election_us": "... the new leader is written",
    "takeover_us": "... it has taken over",
    "first_use_us": "... it is used",
}
_BAR, _ABOVE, _BELOW = 30, 76, 56

#: How to read it.
SAYS = (
    "A bar is one failover: the slowest of its partitions, from the fault until the first use "
    "of the new leader. Detection is mostly the expiry of a ZooKeeper session."
)


def failover_bars(found: Sequence[Mapping[str, Any]]) -> Chart:
    """Stacked bars, the earliest failover on top."""
    found = sorted(found, key=lambda each: each["begin_us"])
    places = [*range(len(found))]
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": text,
            "y": places,
            "x": [round((each[step] or 0) / 1e6, 6) for each in found],
            "text": [duration_text(each[step] or 0) for each in found],
            "textposition": "none",
            "hovertemplate": f"{text}: %{{text}}<extra></extra>",
            "marker": {"color": colour},
        }
        for (step, text), colour in zip(_STEPS.items(), COLOURS, strict=False)
    ]
    whole = layout(
        _BAR * len(found) + _ABOVE + _BELOW,
        barmode="stack",
        margin={"l": 64, "r": 16, "t": _ABOVE, "b": _BELOW},
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal"},
        xaxis=axis("seconds", rangemode="tozero"),
        yaxis=axis(
            tickvals=places,
            ticktext=[plain(_name(each)) for each in found],
            range=[len(found) - 0.5, -0.5],
            fixedrange=True,
            showgrid=False,
        ),
    )
    return Chart(
        "Failovers: seconds until the first use of the new leader, step by step", data, whole
    )


def _name(each: Mapping[str, Any]) -> str:
    what = each["fault_name"] or each["event"]
    at = short_time_text(each["begin_us"])
    return f"{at} {what}, {counted(each['partitions'], 'partition')}"
