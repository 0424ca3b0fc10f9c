"""Notifications of ISR changes: their changes, the rule that delayed them, and their cost.

A leader gathers the partitions whose ISRs it has changed. Every 2.5 s it looks, and writes them
all into one notification if the last change is more than 5 s ago, or its last notification more
than 60 s (``replication/isr_change_notification.py``). So the wait of the first change has two
parts: until one of the two became true, and then for the next look.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from tidegauge.spark_analysis.tables.result_table import MOMENT, RUN, Column, ResultTable
from tidegauge.spark_analysis.tables.run_rows import ORDER, RunRows

_BATCH = ("run", "process", "batch")
_EVENT = ("run", "process", "event")


def _notifications(rows: RunRows) -> DataFrame:
    sent = _batches(rows).join(_written(rows), list(_BATCH), "left")
    sent = sent.withColumn(
        "first_change_us",
        f.least(f.coalesce("first_change_us", "last_change_us"), "last_change_us"),
    )
    rules = rows.topology.brokers.select(
        "run",
        f.col("broker").alias("process"),
        f.col("broker_id").alias("broker"),
        "notifies_quiet_us",
        "notifies_at_most_us",
    )
    sent = sent.join(rules, ["run", "process"])
    quiet_us = f.expr("last_change_us + notifies_quiet_us")
    long_us = f.expr(
        "greatest(first_change_us, time_us - since_propagation_ms * 1000 + notifies_at_most_us)"
    )
    # Clocks of the rules count whole milliseconds, so that a rule can seem to be a fraction early.
    ready_us = f.least(quiet_us, long_us, "time_us")
    timed = (
        sent.withColumn("rule", f.when(quiet_us <= long_us, "quiet").otherwise("long enough"))
        .withColumn("ready_us", f.greatest(ready_us, "first_change_us"))
        .withColumn("rule_us", f.expr("ready_us - first_change_us"))
        .withColumn("look_us", f.expr("time_us - ready_us"))
        .withColumn("delay_us", f.expr("time_us - first_change_us"))
    )
    read = timed.join(_read(rows), ["run", "notification"], "left")
    return read.withColumn("to_read_us", f.expr("read_us - time_us"))


def _batches(rows: RunRows) -> DataFrame:
    """Each notification as it was sent, with the first change that it tells of."""
    sent = rows.of_kind(
        "notification_sent", "partition_count", "quiet_ms", "since_propagation_ms"
    ).withColumn("ends_batch", f.lit(1))
    # Pending changes of a broker are lost with its process.
    stopped = rows.of_kind("broker_stopped").withColumn("ends_batch", f.lit(1))
    changes = [rows.of_kind(kind) for kind in ("isr_shrunk", "isr_expanded")]
    both = changes[0].unionByName(changes[1]).withColumn("change_us", f.col("time_us"))
    every = sent.unionByName(stopped, True).unionByName(both, True)
    so_far = Window.partitionBy("run", "process").orderBy(*ORDER)
    ended = f.coalesce(
        f.sum("ends_batch").over(so_far.rowsBetween(Window.unboundedPreceding, -1)), f.lit(0)
    )
    of_batch = Window.partitionBy(*_BATCH)
    gathered = (
        every.withColumn("batch", ended)
        .withColumn("first_change_us", f.min("change_us").over(of_batch))
        .withColumn("changes", f.count("change_us").over(of_batch))
        .where("partition_count is not null")
        .withColumn("last_change_us", f.expr("time_us - quiet_ms * 1000"))
    )
    return gathered.drop("ends_batch", "change_us", "minor")


def _written(rows: RunRows) -> DataFrame:
    """The number that ZooKeeper gave to the znode of each notification."""
    marks = [rows.of_kind(kind) for kind in ("notification_sent", "broker_stopped")]
    marked = marks[0].unionByName(marks[1]).withColumn("ends_batch", f.lit(1))
    created = rows.of_kind("znode_created", "znode", "writer", "sequence_number")
    firsts = (
        (run, each.first)
        for run, directory in rows.topology.directories.items()
        for each in directory.zookeeper_tree
        if each.sort == "notification"
    )
    topology = rows.topology
    created = created.join(topology.table(firsts, "run string, first_znode bigint"), "run")
    created = created.where("znode >= first_znode").withColumn("process", f.col("writer"))
    every = marked.unionByName(
        created.select("run", *ORDER, "sequence_number"), allowMissingColumns=True
    )
    so_far = Window.partitionBy("run", "process").orderBy(
        "time_us", f.col("ends_batch").desc_nulls_last(), "sequence"
    )
    return (
        every.withColumn("batch", f.sum("ends_batch").over(so_far) - 1)
        .where("sequence_number is not null")
        .groupBy(*_BATCH)
        .agg(
            f.min_by("sequence_number", "time_us").alias("notification"),
            f.min("time_us").alias("written_us"),
        )
    )


def _read(rows: RunRows) -> DataFrame:
    """The first reading of each notification, and the costs of the controller's event."""
    event = rows.of_kind("controller_event", "queued_us").withColumn("begins", f.lit(1))
    read = rows.of_kind("notification_read", "notification", "partition_count")
    done = rows.of_kind("controller_event_done", "processing_us")
    every = event.unionByName(read, True).unionByName(done, True)
    so_far = Window.partitionBy("run", "process").orderBy(*ORDER)
    of_event = Window.partitionBy(*_EVENT)
    first = f.row_number().over(Window.partitionBy("run", "notification").orderBy(*ORDER))
    return (
        every.withColumn("event", f.sum("begins").over(so_far))
        .withColumns(
            {
                "controller_queued_us": f.max("queued_us").over(of_event),
                "controller_processing_us": f.max("processing_us").over(of_event),
                "read_together": f.count("notification").over(of_event),
            }
        )
        .where("notification is not null")
        .withColumn("first", first)
        .where("first = 1")
        .select(
            "run",
            "notification",
            f.col("time_us").alias("read_us"),
            f.col("partition_count").alias("states_read"),
            "controller_queued_us",
            "controller_processing_us",
            "read_together",
        )
    )


NOTIFICATIONS = ResultTable(
    "notifications",
    "one isr_change_notification that a broker wrote",
    (
        RUN,
        *MOMENT,
        Column("broker", "bigint", "broker id", "the leader that wrote it"),
        Column(
            "notification", "bigint", "", "ZooKeeper's number for its znode; null: never written"
        ),
        Column(
            "partition_count", "bigint", "partitions", "batch size: partitions with changed ISRs"
        ),
        Column("changes", "bigint", "", "changes of ISRs that are batched in it"),
        Column("first_change_us", "bigint", "us", "when the first of them was made"),
        Column("last_change_us", "bigint", "us", "when the last one was, to the millisecond"),
        Column("rule", "string", "", "`quiet` (5 s without a change) or `long enough` (60 s)"),
        Column("rule_us", "bigint", "us", "from the first change until that rule permitted it"),
        Column(
            "look_us", "bigint", "us", "... until the broker checked, which it does every 2.5 s"
        ),
        Column("delay_us", "bigint", "us", "both together"),
        Column("read_us", "bigint", "us", "when a controller had read it; null: never"),
        Column("to_read_us", "bigint", "us", "from its sending until then"),
        Column("states_read", "bigint", "partitions", "states that the controller read for it"),
        Column("read_together", "bigint", "", "notifications that it read in the same event"),
        Column("controller_queued_us", "bigint", "us", "how long that event waited in the queue"),
        Column("controller_processing_us", "bigint", "us", "how long the controller worked on it"),
    ),
    _notifications,
)
