"""The unwanted conditions of partitions, each with its duration."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tidegauge.spark_analysis.tables.intervals import merged
from tidegauge.spark_analysis.tables.partition_states import partition_states
from tidegauge.spark_analysis.tables.result_table import (
    INTERVAL,
    PARTITION,
    RUN,
    Column,
    ResultTable,
)
from tidegauge.spark_analysis.tables.run_rows import RunRows

#: Name of a condition, and when a state of a partition fulfils it.
CONDITIONS = {
    "offline": "offline",
    "not_accepting": "not accepting",
    "under_min_isr": "under_min_isr",
    "at_min_isr": "at_min_isr",
}


def _unavailable(rows: RunRows) -> DataFrame:
    states = rows.shared(partition_states)
    parts = [
        merged(states.where(holds), ("run", "partition"), ()).withColumn("condition", f.lit(name))
        for name, holds in CONDITIONS.items()
    ]
    return rows.topology.with_names(reduce(DataFrame.unionByName, parts)).withColumn(
        "lasted_us", f.expr("end_us - begin_us")
    )


UNAVAILABLE = ResultTable(
    "unavailable",
    "one interval in which a partition was, without a break, in an unwanted condition",
    (
        RUN,
        *PARTITION,
        *INTERVAL,
        Column("lasted_us", "bigint", "us", "end_us - begin_us"),
        Column(
            "condition",
            "string",
            "",
            "`offline`, `not_accepting`, `under_min_isr` or `at_min_isr`, as in partition_states",
        ),
    ),
    _unavailable,
)
