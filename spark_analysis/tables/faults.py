"""The active times of each fault, in all processes that it hit."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from tidegauge.spark_analysis.tables.result_table import INTERVAL, RUN, Column, ResultTable
from tidegauge.spark_analysis.tables.run_rows import ORDER, RunRows

_KEYS = ("run", "fault")


def _faults(rows: RunRows) -> DataFrame:
    began = rows.of_kind("fault_began", "fault").withColumn("change", f.lit(1))
    ended = rows.of_kind("fault_ended", "fault").withColumn("change", f.lit(-1))
    in_order = Window.partitionBy(*_KEYS).orderBy(*ORDER)
    # A step can begin a fault again: each time that it is on anywhere is a span of its own.
    still_on = f.sum("change").over(in_order)
    spans = (
        began.unionByName(ended)
        .withColumn("still_on", still_on)
        .withColumn("is_first", f.when(f.expr("still_on - change = 0"), 1).otherwise(0))
        .withColumn("span", f.sum("is_first").over(in_order))
        .groupBy(*_KEYS, "span")
        .agg(
            f.min("time_us").alias("begin_us"),
            f.max(f.when(f.col("still_on") == 0, f.col("time_us"))).alias("over_us"),
            f.sort_array(f.collect_set("process")).alias("processes"),
        )
    )
    return (
        spans.join(rows.topology.ends, "run")
        .where("begin_us < ends_us")
        .withColumn("end_us", f.least("over_us", "ends_us"))
        .withColumn("ended", f.expr("over_us is not null and over_us <= ends_us"))
        .join(rows.topology.faults, list(_KEYS))
    )


FAULTS = ResultTable(
    "faults",
    "one active time of a fault of the scenario",
    (
        RUN,
        *INTERVAL,
        Column(
            "fault", "bigint", "", "its place in the scenario; after these the restarts of rolls"
        ),
        Column("fault_name", "string", "", "its name"),
        Column("fault_kind", "string", "", "its kind, as in scenarios"),
        Column("fault_text", "string", "", "its targets, in words"),
        Column(
            "ended", "boolean", "", "it ended before the run; else end_us is the end of the run"
        ),
        Column("processes", "array<bigint>", "", "the processes that it hit"),
    ),
    _faults,
)
