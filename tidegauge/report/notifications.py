"""Notifications of ISR changes: the number of changes in each, and their waits."""

from typing import Any

from tidegauge.replication.release_versions import KRAFT_MODE
from tidegauge.report.charts import GOOD, WARNING, axis, layout
from tidegauge.report.one_run import OneRun
from tidegauge.report.quantities import duration_text
from tidegauge.report.section import Chart, Key, Section, Words
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import time_text

_RULES = {
    "quiet": ("isr_change_notification_quiet_ms", "without another change", GOOD),
    "long enough": (
        "isr_change_notification_max_delay_ms",
        "since the last notification",
        WARNING,
    ),
}
#: The number of notifications that are drawn, those with the largest batches.
_MOST = 2000


def section(run: OneRun) -> Section | None:
    """A point for each notification; none with KRaft, where leaders ask for each change."""
    if run.scenario["mode"] == KRAFT_MODE:
        return None
    found = run.tables.rows(
        "select time_us, broker, partition_count, rule, delay_us, states_read, to_read_us"
        " from notifications order by partition_count desc, time_us, process, sequence"
    )
    return Section(
        "notifications",
        "Notifications of ISR changes",
        "A point is a notification that a broker wrote to ZooKeeper: the time that its first "
        "change had waited, and the number of partitions in it. Brokers check in intervals, and "
        "write once a rule permits it. The controller then reads the state of every partition.",
        [Words(_in_short(found)), _chart(run, found[:_MOST])]
        if found
        else [Words("None in this run.")],
        [run.command("analyze", "RUN", "--table", "notifications")],
    )


def _in_short(found: list[dict[str, Any]]) -> str:
    delays_us = [each["delay_us"] for each in found if each["delay_us"] is not None]
    read = sum(each["states_read"] or 0 for each in found)
    longest = f"; a change waited at most {duration_text(max(delays_us))}" if delays_us else ""
    return (
        f"{counted(len(found), 'notification')}, the largest of "
        f"{counted(found[0]['partition_count'], 'partition')}{longest}. For them the controller "
        f"read {counted(read, 'state')}."
    )


def _chart(run: OneRun, found: list[dict[str, Any]]) -> Chart:
    data, keys = [], []
    for rule, (setting, since, colour) in _RULES.items():
        of_rule = [e for e in found if e["rule"] == rule and e["delay_us"] is not None]
        if of_rule:
            waited_us = 1000 * run.scenario["cluster"]["settings"][setting]
            text = f"{duration_text(waited_us)} {since}"
            keys.append(Key(text, colour, f"{len(of_rule):,}"))
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": text,
                    "x": [round(each["delay_us"] / 1e6, 3) for each in of_rule],
                    "y": [each["partition_count"] for each in of_rule],
                    "text": [
                        f"broker {each['broker']}, {time_text(each['time_us'])}" for each in of_rule
                    ],
                    "hovertemplate": "%{text}: %{y:,} partitions, the first of them changed "
                    "%{x} s before<extra></extra>",
                    "marker": {"color": colour, "size": 9, "opacity": 0.75},
                }
            )
    whole = layout(
        300,
        xaxis=axis("seconds from the first change to the notification", rangemode="tozero"),
        yaxis=axis("partitions in it", rangemode="tozero"),
        margin={"l": 64, "r": 14, "t": 8, "b": 52},
    )
    return Chart(
        "Partitions in each notification, by the wait of its first change", data, whole, keys
    )
