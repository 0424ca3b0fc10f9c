"""The effect of batching ISR changes into notifications on the controller, bounce by bounce.

A leader does not tell each ISR change at once: it looks every 2.5 s, and writes all that it has
gathered into one isr_change_notification after 5 s without a change, or 60 s after its last one
(KAFKA-2722). Here changes and notifications are counted from the beginning of a fault until that of
the next one; notifications belong to their first change.

Counts and estimates: the columns ``*_without`` are the values if each change were a notification of
its own. The number of those is certain. The controller's time for them is an estimate, and an upper
one: as many times what the cheapest such event of the run took it. It can be far too high, since a
controller reads all notifications that are there in one event, and those of a bounce come within
milliseconds. To measure instead, run the scenario again with ``isr_change_notification_batching:
false`` and ask both runs: ``gathering`` distinguishes them. With AlterPartition (KIP-497) there are
no notifications; the events are counted.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, GroupedData
from pyspark.sql import functions as f

from tidegauge.analysis.questions.fault_windows import fault_windows
from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.tables.result_table import RUN, Column
from tidegauge.analysis.tables.run_tables import RunTables

_BOUNCE = ("run", "begin_us")
_GATHERING = """
    case when settings['isr_change_notification_batching'] = 'false' then 'none'
         else concat(settings['isr_change_notification_quiet_ms'], ' ms quiet, ',
                     settings['isr_change_notification_max_delay_ms'], ' ms at most')
    end
"""
#: The controller's events about changed ISRs, by name.
_EVENTS = ("IsrChange", "AlterPartition")


def _notification_batching(tables: RunTables) -> DataFrame:
    # It is used for each part, and is small.
    bounces = _bounces(tables).localCheckpoint()
    events = tables["controller_events"].where(f.col("event").isin(*_EVENTS))
    one_us = f.min("processing_us").alias("one_us")
    cheapest = events.where("event = 'IsrChange'").groupBy("run").agg(one_us)
    gathering = tables.about().select("run", f.expr(_GATHERING).alias("gathering"))
    joined = bounces.join(f.broadcast(gathering), "run").join(f.broadcast(cheapest), "run", "left")
    parts = (
        _changes(tables, bounces),
        _written(tables, bounces),
        _within(events, bounces, "time_us").agg(
            f.count("*").alias("controller_events"),
            f.sum("processing_us").alias("controller_us"),
        ),
    )
    for part in parts:
        joined = joined.join(part, list(_BOUNCE), "left")
    counts = [name for part in parts for name in part.columns if not name.endswith("_us")]
    return (
        joined.fillna(0, [*counts, "controller_us"])
        .withColumn("controller_us_without", f.expr("changes * one_us"))
        .withColumn("changes_each", f.expr("changes / nullif(notifications, 0)"))
        .orderBy("run", "begin_us")
    )


def _bounces(tables: RunTables) -> DataFrame:
    """The time of each fault, or of those that begin together; and that before the first one."""
    bounces = (
        fault_windows(tables)
        .groupBy("run", "begin_us", "next_us")
        .agg(f.array_join(f.array_sort(f.collect_set("fault_name")), ", ").alias("fault_name"))
    )
    first = tables["faults"].groupBy("run").agg(f.min("begin_us").alias("first_us"))
    before = tables.about().join(first, "run", "left").where("coalesce(first_us, 1) > 0")
    return bounces.unionByName(
        before.selectExpr(
            "run",
            "0L as begin_us",
            "coalesce(first_us, duration_us) as next_us",
            "'(before any)' as fault_name",
        )
    )


def _within(rows: DataFrame, bounces: DataFrame, time_us: str) -> GroupedData:
    """Rows by the bounce in whose time they are."""
    times = f.broadcast(bounces).select(*_BOUNCE, "next_us")
    inside = f.expr(f"begin_us <= {time_us} and {time_us} < next_us")
    return rows.drop("begin_us").join(times, "run").where(inside).groupBy(*_BOUNCE)


def _changes(tables: RunTables, bounces: DataFrame) -> DataFrame:
    """ISR changes of leaders: those of the controller need no notification."""
    made = tables["isr_changes"].where("change != 'removal'")
    return _within(made, bounces, "time_us").agg(
        f.count("*").alias("changes"), f.countDistinct("partition").alias("partitions")
    )


def _written(tables: RunTables, bounces: DataFrame) -> DataFrame:
    return _within(tables["notifications"], bounces, "first_change_us").agg(
        f.count("*").alias("notifications"),
        f.max("partition_count").alias("largest"),
        f.expr("percentile_disc(0.5) within group (order by delay_us)").alias("delay_p50_us"),
        f.max("delay_us").alias("delay_longest_us"),
        f.count_if(f.expr("rule = 'quiet'")).alias("by_quiet"),
        f.count_if(f.expr("rule = 'long enough'")).alias("by_long_enough"),
        f.max("look_us").alias("look_longest_us"),
    )


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
        Column("controller_us", "bigint", "us", "... and how long they kept it"),
        Column("controller_us_without", "bigint", "us", "estimate, at most: one event a change"),
    ),
    _notification_batching,
)
