"""Elections, and the parts of the time until a partition had a leader again.

The budget of an election is a chain of moments, each not before the one before it:

=============  ==================================================================================
moment         what it is
=============  ==================================================================================
``begin_us``   the fault that led to it began, or ended; without one the same as the next
``told_us``    the row of another process that notified the controller: ZooKeeper expired a session,
               a broker asked to shut down
``queued_us``  the event that led to the election came into the controller's queue
``taken_us``   the controller took it from there
``time_us``    the controller had written the new leader
``led_us``     the new leader took over; null if it never did
``used_us``    it appended its first records, or sent its first fetch response: only a run that
               records single requests (trace level ``all``) has it
=============  ==================================================================================

The parts are the differences, so they sum to the whole by themselves; the whole ends with the
last moment that is known.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from tidegauge.spark_analysis.tables.causes import with_causes
from tidegauge.spark_analysis.tables.replica_lists import list_members
from tidegauge.spark_analysis.tables.result_table import (
    FAULT,
    MOMENT,
    PARTITION,
    RUN,
    Column,
    ResultTable,
)
from tidegauge.spark_analysis.tables.run_rows import ORDER, RunRows

#: Each part of the budget, and the moments between which it lies.
PARTS = {
    "detection_us": ("begin_us", "told_us"),
    "notice_us": ("told_us", "queued_us"),
    "queue_us": ("queued_us", "taken_us"),
    "election_us": ("taken_us", "time_us"),
    "takeover_us": ("time_us", "led_us"),
    "first_use_us": ("led_us", "used_us"),
}

_TERM = ("run", "partition", "leader_epoch", "leader_index")


def _elections(rows: RunRows) -> DataFrame:
    elected = _with_events(rows).withColumnRenamed("leader", "leader_index")
    elected = with_causes(rows, elected)
    taken = f.col("event_us")
    told = f.least(f.coalesce("trigger_us", taken), taken)
    moments = (
        elected.withColumn("taken_us", taken)
        .withColumn("told_us", told)
        .withColumn("queued_us", f.greatest(taken - f.col("event_queued_us"), "told_us"))
        .withColumn("begin_us", f.least(f.coalesce("fault_us", "told_us"), "told_us"))
        .join(_takeovers(rows), list(_TERM), "left")
        .join(_first_uses(rows), list(_TERM), "left")
        .withColumn("used_us", f.when(f.expr("used_us >= led_us"), f.col("used_us")))
    )
    with_parts = moments.withColumns(
        {part: f.col(end) - f.col(begin) for part, (begin, end) in PARTS.items()}
    ).withColumn("total_us", f.coalesce("used_us", "led_us", "time_us") - f.col("begin_us"))
    return _with_ids(rows, with_parts)


def _with_events(rows: RunRows) -> DataFrame:
    """Elections, each with the event of its controller in whose course it was made.

    As a controller is elected, it is at work before it takes anything from its queue: when that
    began, only the end of that work says.
    """
    elected = rows.of_kind(
        "leader_elected", "partition", "leader", "leader_epoch", "isr", "old_leader", "unclean"
    )
    nothing = f.lit(None).cast("bigint")
    taken = rows.of_kind("controller_event", "queued_us").withColumn(
        "event", f.struct(f.col("time_us").alias("taken_us"), "queued_us")
    )
    done = rows.of_kind("controller_event_done", "processing_us").withColumns(
        {
            "begun_us": f.expr("time_us - processing_us"),
            "event": f.struct(nothing.alias("taken_us"), nothing.alias("queued_us")),
        }
    )
    in_order = Window.partitionBy("run", "process")
    before = in_order.orderBy(*ORDER)
    after = in_order.orderBy(*(f.desc(name) for name in ORDER))
    every = elected.unionByName(taken.drop("queued_us"), True).unionByName(
        done.drop("processing_us"), True
    )
    return (
        every.withColumn("event", f.last("event", ignorenulls=True).over(before))
        .withColumn("begun_us", f.last("begun_us", ignorenulls=True).over(after))
        .where("partition is not null")
        .withColumn("event_us", f.expr("coalesce(event.taken_us, begun_us, time_us)"))
        .withColumn("event_queued_us", f.expr("coalesce(event.queued_us, 0)"))
        .drop("event", "begun_us")
    )


def _takeovers(rows: RunRows) -> DataFrame:
    led = rows.of_kind("became_leader", "partition", "leader_epoch")
    return (
        led.withColumnRenamed("process", "leader_index")
        .groupBy(*_TERM)
        .agg(f.min("time_us").alias("led_us"))
    )


def _first_uses(rows: RunRows) -> DataFrame:
    """The time of each term's first append, or of its first fetch response without an error."""
    appended = rows.of_kind("appended", "partition", "leads", "epoch").where("leads = 1")
    appended = appended.withColumnRenamed("epoch", "leader_epoch").drop("leads")
    led = rows.of_kind("became_leader", "partition", "leader_epoch")
    answered = rows.of_kind("fetch_answered", "partition", "error").where("error = 0")
    last_epoch = f.last("leader_epoch", ignorenulls=True).over(
        Window.partitionBy("run", "process", "partition").orderBy(*ORDER)
    )
    answered = (
        led.unionByName(answered, allowMissingColumns=True)
        .withColumn("leader_epoch", last_epoch)
        .where("error is not null")
        .drop("error")
    )
    return (
        appended.unionByName(answered)
        .withColumnRenamed("process", "leader_index")
        .groupBy(*_TERM)
        .agg(f.min("time_us").alias("used_us"))
    )


def _with_ids(rows: RunRows, elected: DataFrame) -> DataFrame:
    topology = rows.topology
    named = topology.with_names(elected)
    named = named.withColumn("is_new", f.expr("leader_index != old_leader"))
    named = named.withColumn("unclean", f.expr("unclean != 0"))
    named = named.withColumn("isr", list_members(f.col("isr"), f.col("slot_ids")))
    named = topology.with_broker_id(named, "old_leader", "old_leader_id")
    named = topology.with_broker_id(named, "leader_index", "leader").drop("old_leader")
    return named.withColumnRenamed("old_leader_id", "old_leader")


ELECTIONS = ResultTable(
    "elections",
    "one leader that the controller chose for one partition, and the parts of the time until then",
    (
        RUN,
        *PARTITION,
        *MOMENT,
        Column("leader", "bigint", "broker id", "the chosen leader; null: none"),
        Column("old_leader", "bigint", "broker id", "the leader before; null: none"),
        Column("leader_epoch", "bigint", "", "the new leader epoch"),
        Column("isr", "array<bigint>", "broker id", "the ISR that was written with it"),
        Column(
            "is_new",
            "boolean",
            "",
            "it differs from the leader before: only these elections are counted",
        ),
        Column("unclean", "boolean", "", "the leader was not in the ISR"),
        Column("trigger_kind", "string", "", "kind of the row that notified the controller"),
        Column("begin_us", "bigint", "us", "fault_us; without a fault: told_us"),
        Column("told_us", "bigint", "us", "another process notified the controller"),
        Column("queued_us", "bigint", "us", "its event came into the controller's queue"),
        Column("taken_us", "bigint", "us", "the controller took it from its queue"),
        Column("led_us", "bigint", "us", "the new leader took over; null: never"),
        Column("used_us", "bigint", "us", "first append or fetch; null: never, or not recorded"),
        Column("detection_us", "bigint", "us", "from the fault until the controller was notified"),
        Column("notice_us", "bigint", "us", "... until its event was in the queue"),
        Column("queue_us", "bigint", "us", "... until it was taken: the events before it"),
        Column("election_us", "bigint", "us", "... until the new leader was written"),
        Column("takeover_us", "bigint", "us", "... until it took over"),
        Column("first_use_us", "bigint", "us", "... until its first use"),
        Column("total_us", "bigint", "us", "sum of the known parts"),
        *FAULT,
    ),
    _elections,
)
