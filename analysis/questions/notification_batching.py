"""The effect of batching ISR changes into notifications on the controller, bounce by bounce.

A leader does not send each ISR change at once: it checks every 2.5 s, and writes all pending
changes into one isr_change_notification after 5 s without a change, or 60 s after its last one
(KAFKA-2722). Here changes and notifications are counted from the beginning of a fault until that of
the next one; notifications belong to their first change.

Counts and estimates: the columns ``*_without`` are the values if each change were a notification of
its own. The number of those is certain. The controller's time for them is an estimate, and an upper
one: their number times the cheapest such event of the run. It can be far too high, since a
controller reads all notifications that are there in one event, and those of a bounce come within
milliseconds. To measure instead, run the scenario again with ``isr_change_notification_batching:
false`` and ask both runs: ``gathering`` distinguishes them. With AlterPartition (KIP-497) there are
no notifications; the events are counted.
"""

# ruff: noqa: S608 - queries are put together from texts of these rooms

from collections.abc import Mapping
from typing import Any

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.questions.question import FAULT_WINDOWS, Question
from tidegauge.analysis.tables.result_table import RUN, Column
from tidegauge.traces.run_files import read_manifest

#: The time of each fault, or of those that begin together; and that before the first one.
_BOUNCES = f"""
    select run, begin_us, next_us,
        string_agg(distinct fault_name, ', ' order by fault_name) as fault_name
    from ({FAULT_WINDOWS}) as windows group by run, begin_us, next_us
    union all
    select runs.run, 0, coalesce(min(begin_us), max(ends_us)), '(before any)'
    from runs left join faults on faults.run = runs.run
    group by runs.run having coalesce(min(begin_us), 1) > 0
"""


def _within(rows: str, time_us: str, counts: str) -> str:
    """Counts of the rows in the time of each bounce; none for a bounce without a row."""
    return f"""
        select b.run, b.begin_us, {counts}
        from {rows} as x
        join bounces as b on b.run = x.run and b.begin_us <= x.{time_us} and x.{time_us} < b.next_us
        group by b.run, b.begin_us
    """


#: ISR changes of leaders: those of the controller need no notification.
_CHANGES = _within(
    "(select * from isr_changes where change <> 'removal')",
    "time_us",
    "count(*) as changes, count(distinct partition) as partitions",
)
_WRITTEN = _within(
    "notifications",
    "first_change_us",
    """count(*) as notifications, max(partition_count) as largest,
        percentile_disc(0.5) within group (order by delay_us) as delay_p50_us,
        max(delay_us) as delay_longest_us, count_if(rule = 'quiet') as by_quiet,
        count_if(rule = 'long enough') as by_long_enough, max(look_us) as look_longest_us""",
)
#: The controller's events about changed ISRs, by name.
_HANDLED = _within(
    "(select * from controller_events where event in ('IsrChange', 'AlterPartition'))",
    "time_us",
    "count(*) as controller_events, sum(processing_us) as controller_us",
)
_COUNTS = (
    *("changes", "partitions", "notifications", "largest", "by_quiet", "by_long_enough"),
    *("controller_events", "controller_us"),
)

_SQL = f"""
    with bounces as ({_BOUNCES}),
    changes as ({_CHANGES}),
    written as ({_WRITTEN}),
    handled as ({_HANDLED}),
    cheapest as (
        select run, min(processing_us) as one_us
        from controller_events where event = 'IsrChange' group by run
    )
    select b.run, b.begin_us, b.fault_name, gathering,
        {", ".join(f"coalesce({each}, 0) as {each}" for each in _COUNTS)},
        delay_p50_us, delay_longest_us, look_longest_us,
        coalesce(changes, 0) * one_us as controller_us_without,
        coalesce(changes, 0) / nullif(notifications, 0) as changes_each
    from bounces as b
    join gathering_rules as g on g.run = b.run
    left join cheapest on cheapest.run = b.run
    left join changes as c on c.run = b.run and c.begin_us = b.begin_us
    left join written as w on w.run = b.run and w.begin_us = b.begin_us
    left join handled as h on h.run = b.run and h.begin_us = b.begin_us
    order by all
"""


def _notification_batching(tables: RunTables) -> str:
    tables.add(
        "gathering_rules",
        "run string, gathering string",
        [(run.name, _gathering(read_manifest(run.folder))) for run in tables.runs],
    )
    return _SQL


def _gathering(manifest: Mapping[str, Any]) -> str:
    """By which rules the brokers of a run batch ISR changes, in words."""
    settings = manifest["scenario"]["cluster"]["settings"]
    if not settings.get("isr_change_notification_batching", False):
        return "none"
    quiet, at_most = (
        settings[f"isr_change_notification_{each}_ms"] for each in ("quiet", "max_delay")
    )
    return f"{quiet} ms quiet, {at_most} ms at most"


NOTIFICATION_BATCHING = Question(
    "notification-batching",
    "How much work does batching ISR changes into notifications save the controller, fault by "
    "fault?",
    (
        RUN,
        Column("begin_us", "bigint", "us", "from here until the next fault began"),
        Column("fault_name", "string", "", "the fault that began; several if at the same time"),
        Column("gathering", "string", "", "the rules of the run: 5 s quiet, 60 s at most; or none"),
        Column("changes", "bigint", "", "counted: ISRs that leaders shrank or expanded"),
        Column("partitions", "bigint", "partitions", "... of so many partitions"),
        Column("notifications", "bigint", "", "counted: notifications that were written for them"),
        Column("changes_each", "double", "", "... changes in one of them, on average"),
        Column("largest", "bigint", "partitions", "... partitions in the largest one"),
        Column(
            "delay_p50_us", "bigint", "us", "from its first change to its writing: half of them"
        ),
        Column("delay_longest_us", "bigint", "us", "... the longest"),
        Column("by_quiet", "bigint", "", "written since it had been quiet (5 s)"),
        Column("by_long_enough", "bigint", "", "... since the last one was long ago (60 s)"),
        Column("look_longest_us", "bigint", "us", "waited then for the broker's check (2.5 s)"),
        Column(
            "controller_events", "bigint", "", "counted: events of the controller for these changes"
        ),
        Column("controller_us", "bigint", "us", "... and the time that they took"),
        Column("controller_us_without", "bigint", "us", "estimate, at most: one event a change"),
    ),
    _notification_batching,
    "in the order of time",
)
