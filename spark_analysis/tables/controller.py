"""The events of the controller: it handles one at a time, and the others wait."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from tidegauge.spark_analysis.tables.result_table import MOMENT, RUN, Column, ResultTable
from tidegauge.spark_analysis.tables.run_rows import ORDER, RunRows


def _controller_events(rows: RunRows) -> DataFrame:
    taken = rows.of_kind("controller_event", "event_kind", "queue_length", "queued_us")
    taken = taken.withColumn("is_taken", f.lit(col=True))
    done = rows.of_kind("controller_event_done", "event_kind", "processing_us")
    in_order = Window.partitionBy("run", "process").orderBy(*ORDER)
    # One that another controller's election or the end of the run cuts short is never done.
    following = f.lead("processing_us").over(in_order)
    # As a controller is elected, it is at work before it takes anything from its queue.
    is_first = f.col("is_taken").isNull() & f.lag("is_taken").over(in_order).isNull()
    events = (
        taken.unionByName(done, allowMissingColumns=True)
        .withColumns({"following_us": following, "is_first": is_first})
        .where("is_taken or is_first")
        .withColumn("time_us", f.expr("if(is_first, time_us - processing_us, time_us)"))
        .withColumn("processing_us", f.expr("if(is_first, processing_us, following_us)"))
    )
    return events.withColumn("event", rows.named("event_kind"))


CONTROLLER_EVENTS = ResultTable(
    "controller_events",
    "one event that a controller handled",
    (
        RUN,
        *MOMENT,
        Column("event", "string", "", "its kind, by the name of Kafka's ControllerState"),
        Column("queue_length", "bigint", "events", "number of events still in the queue"),
        Column(
            "queued_us",
            "bigint",
            "us",
            "its time in the queue: EventQueueTimeMs; null: the controller's own election",
        ),
        Column(
            "processing_us",
            "bigint",
            "us",
            "how long the controller worked on it; null: interrupted",
        ),
    ),
    _controller_events,
)
