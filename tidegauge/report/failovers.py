"""Failovers as bars: the time that partitions waited for another leader, and its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegauge.report.charts import COLOURS, LANE, LANE_BAR, LANE_LOWER, axis, lanes, layout
from tidegauge.report.quantities import duration_text
from tidegauge.report.section import Chart, Key
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import short_time_text

#: Where the time goes, in its order: column, and what it is called.
_STEPS = {
    "detection_us": "until the controller is notified",
    "no_replica_us": "no replica may lead",
    "notice_us": "until its event is in the queue",
    "queue_us": "until it is taken from the queue",
    "election_us": "until the new leader is written",
    "takeover_us": "until it has taken over",
    "first_use_us": "until it is used",
}
#: So many bars are drawn, those of the longest failovers.
_MOST = 12

#: How to read it.
SAYS = (
    "A bar is one failover: the slowest of its partitions, from the fault until the first use "
    "of the new leader. Detection is mostly the expiry of a session. No replica may lead while "
    "no member of the ISR, and no eligible leader replica, is alive."
)


def failover_bars(found: Sequence[Mapping[str, Any]]) -> Chart:
    """Stacked bars, the longest failover on top."""
    title = "From the fault to the first use of the new leader"
    if len(found) > _MOST:
        title = f"{title}: the longest {_MOST} of {len(found):,} failovers"
    found = sorted(found, key=_whole_us, reverse=True)[:_MOST]
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": text,
            "y": [place + LANE_LOWER for place in range(len(found))],
            "x": [round((each[step] or 0) / 1e6, 6) for each in found],
            "text": [duration_text(each[step] or 0) for each in found],
            "textposition": "none",
            "hovertemplate": f"{text}: %{{text}}<extra></extra>",
            "marker": {"color": colour},
            "width": LANE_BAR,
        }
        for (step, text), colour in zip(_STEPS.items(), COLOURS, strict=False)
    ]
    whole = layout(
        LANE * len(found) + 60,
        xaxis=axis("seconds", rangemode="tozero"),
        margin={"l": 14, "r": 14, "t": 8, "b": 52},
        **lanes([_name(each) for each in found]) | {"barmode": "stack"},
    )
    keys = [Key(text, colour) for text, colour in zip(_STEPS.values(), COLOURS, strict=False)]
    return Chart(title, data, whole, keys)


def _whole_us(each: Mapping[str, Any]) -> int:
    return sum(each[step] or 0 for step in _STEPS)


def _name(each: Mapping[str, Any]) -> str:
    what = each["fault_name"] or each["event"]
    at = short_time_text(each["begin_us"])
    return f"{at} {what}, {counted(each['partitions'], 'partition')}"
