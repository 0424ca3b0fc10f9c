"""Topics that were stalled, refused writes, or were offline, as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegauge.report.charts import (
    BAD,
    GOOD,
    LANE,
    LANE_LOWER,
    SKY,
    WARNING,
    WORSE,
    axis,
    lanes,
    layout,
)
from tidegauge.report.section import Chart, Key, plain

#: At min ISR is not drawn: nothing is refused then.
_CONDITIONS = {
    "stalled": ("stalled for producers", GOOD),
    "reads_stalled": ("stalled for consumers", SKY),
    "offline": ("offline", BAD),
    "not_accepting": ("not accepting", WORSE),
    "under_min_isr": ("under min ISR", WARNING),
}
#: So many topics are drawn, those that it was worst for.
_TOPICS = 15
#: How wide a bar is, in parts of a lane.
_BAR = 0.11

#: How to read it.
SAYS = (
    "Partition-seconds: one partition for one second. Stalled: a batch of a producer, or a fetch "
    "of a consumer, has waited for over a second. Offline: the control plane names no leader, "
    "or one whose session is over. Not accepting: no broker actually leads. "
    "Under min ISR: acks=all is refused. At min ISR: it would be refused with one "
    "replica less."
)


def unavailable_topics(found: Sequence[Mapping[str, Any]]) -> Chart | None:
    """Bars for each topic, side by side; None if nothing was stalled or refused."""
    found = [each for each in found if each["condition"] in _CONDITIONS]
    every = list(dict.fromkeys(each["topic"] for each in found))
    if not every:
        return None
    topics = every[:_TOPICS]
    title = "Partition-seconds that each topic was unavailable"
    if len(every) > _TOPICS:
        title = f"{title}: the worst {_TOPICS} of {len(every):,} topics"
    data, keys = [], []
    for nth, (condition, (text, colour)) in enumerate(_CONDITIONS.items()):
        seconds = {e["topic"]: e["total_seconds"] for e in found if e["condition"] == condition}
        if seconds:
            most = max(seconds, key=lambda topic: seconds[topic])
            keys.append(Key(text, colour, f"at most {seconds[most]:,.1f}, {most}"))
            data.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": text,
                    "y": [place + LANE_LOWER + (nth - 2) * _BAR for place in range(len(topics))],
                    "x": [round(seconds.get(topic, 0), 3) for topic in topics],
                    "text": [plain(topic) for topic in topics],
                    "textposition": "none",
                    "hovertemplate": f"%{{text}}: {text} for %{{x:,.1f}} partition-seconds"
                    "<extra></extra>",
                    "marker": {"color": colour},
                    "width": _BAR,
                }
            )
    whole = layout(
        LANE * len(topics) + 60,
        xaxis=axis("partition-seconds", rangemode="tozero"),
        margin={"l": 14, "r": 14, "t": 8, "b": 52},
        **lanes(topics),
    )
    return Chart(title, data, whole, keys)
