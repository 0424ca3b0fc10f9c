"""Topics that refused writes, or were offline, as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegauge.analysis.report.charts import BAD, WARNING, WORSE, axis, layout
from tidegauge.analysis.report.section import Chart, plain

#: At min ISR is not drawn: nothing is refused then.
_CONDITIONS = {
    "offline": ("offline", BAD),
    "not_accepting": ("not accepting", WORSE),
    "under_min_isr": ("under min ISR", WARNING),
}
#: So many topics are drawn, those that it was worst for.
_TOPICS = 15
_BAR, _ABOVE, _BELOW = 56, 40, 56

#: How to read it.
SAYS = (
    "Partition-seconds: one partition for one second. Offline: ZooKeeper names no leader, or "
    "one whose session is over. Not accepting: no broker actually leads, which producers see "
    "first. Under min ISR: acks=all is refused. At min ISR: it would be refused with one "
    "replica less."
)


def unavailable_topics(found: Sequence[Mapping[str, Any]]) -> Chart | None:
    """Bars for each topic, side by side; None if nothing was refused."""
    found = [each for each in found if each["condition"] in _CONDITIONS]
    topics = list(dict.fromkeys(each["topic"] for each in found))[:_TOPICS]
    if not topics:
        return None
    data = []
    for condition, (text, colour) in _CONDITIONS.items():
        seconds = {e["topic"]: e["total_seconds"] for e in found if e["condition"] == condition}
        if seconds:
            data.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": text,
                    "y": [plain(topic) for topic in topics],
                    "x": [round(seconds.get(topic, 0), 3) for topic in topics],
                    "hovertemplate": f"%{{y}}: {text} for %{{x:,.1f}} partition-seconds"
                    "<extra></extra>",
                    "marker": {"color": colour},
                }
            )
    whole = layout(
        _BAR * len(topics) + _ABOVE + _BELOW,
        barmode="group",
        showlegend=True,
        margin={"l": 64, "r": 16, "t": _ABOVE, "b": _BELOW},
        xaxis=axis("partition-seconds", rangemode="tozero"),
        yaxis=axis(type="category", autorange="reversed", fixedrange=True, showgrid=False),
    )
    return Chart("Partition-seconds that each topic was unavailable", data, whole)
