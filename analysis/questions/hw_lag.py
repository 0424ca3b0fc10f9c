"""The lag of high watermarks over time.

Records between a leader's high watermark and the end of its log are not replicated by all of the
ISR: consumers do not see them, and with ``acks=1`` they are lost if the leader dies now. Times are
grouped so that an answer has about a hundred rows for each run.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.tables.result_table import RUN, Column
from tidegauge.analysis.tables.run_tables import RunTables

#: At most so many spans of time for a run, all of whole seconds.
SPANS = 120

_PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def _hw_lag(tables: RunTables) -> DataFrame:
    span_us = f"1000000 * ceil(duration_us / {SPANS} / 1e6)"
    spans = tables.about().select("run", f.expr(span_us).cast("bigint").alias("span_us"))
    return (
        tables["hw_lag"]
        .join(f.broadcast(spans), "run")
        .withColumn("begin_us", f.expr("time_us - time_us % span_us"))
        .groupBy("run", "begin_us", "span_us")
        .agg(
            f.count("*").alias("samples"),
            *(
                f.expr(f"percentile_disc({share}) within group (order by lag)").alias(name)
                for name, share in _PERCENTILES.items()
            ),
            f.max("lag").alias("largest"),
            f.max_by("topic_partition", f.struct("lag", "partition")).alias("largest_of"),
        )
        .withColumn("end_us", f.expr("begin_us + span_us"))
        .orderBy("run", "begin_us")
    )


HW_LAG_OVER_TIME = Question(
    "hw-lag",
    "How far were high watermarks behind the ends of logs, and when?",
    (
        RUN,
        Column("begin_us", "bigint", "us", "samples from here on"),
        Column("end_us", "bigint", "us", "... to just before"),
        Column("samples", "bigint", "", "number of samples of leaders, one for each partition"),
        Column("p50", "bigint", "records", "the median lag of the samples"),
        Column("p95", "bigint", "records", "... 95 of 100"),
        Column("p99", "bigint", "records", "... 99 of 100"),
        Column("largest", "bigint", "records", "... all"),
        Column("largest_of", "string", "", "the partition that lagged most"),
    ),
    _hw_lag,
)
