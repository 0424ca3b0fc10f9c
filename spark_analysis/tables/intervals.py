"""Intervals of time: made of changes, laid over each other, and put together again.

An interval lasts from ``begin_us`` to just before ``end_us``. All are of one run, and end with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from tidegauge.spark_analysis.tables.run_rows import ORDER

#: A change at the very beginning, before all rows: the order of rows begins with 0, 0, 0, 0.
BEGINNING = {"time_us": 0, "process": -1, "sequence": -1, "minor": 0}


def from_the_beginning(rows: DataFrame) -> DataFrame:
    """Rows as changes that come before all rows of the trace."""
    return rows.withColumns(
        {name: f.lit(value).cast("bigint") for name, value in BEGINNING.items()}
    )


def tiled(changes: DataFrame, runs: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Each change of an object of ``keys``, as the interval until the next one.

    Args:
        changes: with the columns of the order of rows, which do not stay.
        runs: where each run ends, ``ends_us``.
        keys: what changes, ``run`` among them.
    """
    following = f.lead("time_us").over(Window.partitionBy(*keys).orderBy(*ORDER))
    return (
        changes.join(runs, "run")
        .withColumn("end_us", f.least(f.coalesce(following, "ends_us"), "ends_us"))
        .withColumn("begin_us", f.col("time_us"))
        # Of changes at the same time only the last one lasts.
        .where("begin_us < end_us")
        .drop(*ORDER, "ends_us")
    )


def overlaid(one: DataFrame, other: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The parts of intervals that lie in others with the same keys, with the columns of both."""
    theirs = other.withColumnsRenamed({"begin_us": "_begin_us", "end_us": "_end_us"})
    return (
        one.join(theirs, list(keys))
        .where("begin_us < _end_us and _begin_us < end_us")
        .withColumn("begin_us", f.greatest("begin_us", "_begin_us"))
        .withColumn("end_us", f.least("end_us", "_end_us"))
        .drop("_begin_us", "_end_us")
    )


def merged(intervals: DataFrame, keys: Sequence[str], same: Sequence[str]) -> DataFrame:
    """Consecutive intervals with equal values merged into one; only ``keys`` and ``same`` remain.

    Args:
        intervals: of one key no two overlap.
        keys: what they are about, ``run`` among them.
        same: what they say.
    """
    in_order = Window.partitionBy(*keys).orderBy("begin_us")
    goes_on: Column = f.lag("end_us").over(in_order).eqNullSafe(f.col("begin_us"))
    for name in same:
        goes_on = goes_on & f.lag(name).over(in_order).eqNullSafe(f.col(name))
    begun = f.sum(f.when(goes_on, 0).otherwise(1)).over(in_order)
    return (
        intervals.withColumn("_begun", begun)
        .groupBy(*keys, *same, "_begun")
        .agg(f.min("begin_us").alias("begin_us"), f.max("end_us").alias("end_us"))
        .drop("_begun")
    )
