"""The time of partitions in unwanted states, topic by topic.

An interval is one partition in one condition without a break. Percentiles are of intervals, each
one that really occurred.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.tables.result_table import RUN, Column
from tidegauge.analysis.tables.run_tables import RunTables
from tidegauge.analysis.tables.unavailable import CONDITIONS

_PERCENTILES = {"p50_us": 0.5, "p95_us": 0.95, "p99_us": 0.99}


def _unavailability(tables: RunTables) -> DataFrame:
    worst_first = f.array_position(
        f.array(*(f.lit(name) for name in CONDITIONS)), f.col("condition")
    )
    return (
        tables["unavailable"]
        .groupBy("run", "topic", "condition")
        .agg(
            f.count("*").alias("intervals"),
            f.countDistinct("partition").alias("partitions"),
            (f.sum("lasted_us") / 1e6).alias("total_seconds"),
            *(
                f.expr(f"percentile_disc({share}) within group (order by lasted_us)").alias(name)
                for name, share in _PERCENTILES.items()
            ),
            f.max("lasted_us").alias("longest_us"),
            f.max_by("topic_partition", f.struct("lasted_us", "partition")).alias("longest_of"),
            f.max_by("begin_us", f.struct("lasted_us", "partition")).alias("longest_began_us"),
        )
        .orderBy("run", worst_first, f.desc("total_seconds"), "topic")
    )


UNAVAILABILITY = Question(
    "unavailability",
    "Which topics were offline or below min.insync.replicas, and for how long at a time?",
    (
        RUN,
        Column("condition", "string", "", "`offline`, `not_accepting`, `under_min_isr`, ..."),
        Column("topic", "string", "", "the topic"),
        Column(
            "intervals",
            "bigint",
            "",
            "number of intervals of one of its partitions in this condition",
        ),
        Column("partitions", "bigint", "partitions", "number of partitions that ever were"),
        Column("total_seconds", "double", "s", "all intervals: partition-seconds"),
        Column("p50_us", "bigint", "us", "the median of the intervals"),
        Column("p95_us", "bigint", "us", "... 95 of 100"),
        Column("p99_us", "bigint", "us", "... 99 of 100"),
        Column("longest_us", "bigint", "us", "... all"),
        Column("longest_of", "string", "", "the partition of the longest one"),
        Column("longest_began_us", "bigint", "us", "when that began"),
    ),
    _unavailability,
)
