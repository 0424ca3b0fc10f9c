"""Series over time, as a few numbers for each bucket of time, so that charts stay small.

All of a kind has the columns ``series``, ``at_us`` (where its bucket begins) and ``value``. Buckets
in which nothing happened have no row.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.window import Window


def levels(intervals: DataFrame, bucket_us: int, run_us: int) -> DataFrame:
    """The number of intervals open at once: the maximum within each bucket.

    ``value`` is the most at any time within the bucket, and ``then`` how many are open when it
    ends, until the next row.

    Args:
        intervals: ``series``, ``begin_us``, ``end_us``.
        bucket_us: the length of a bucket.
        run_us: when the run ends; what is open then is not closed by that.
    """
    opened = intervals.selectExpr("series", "begin_us time_us", "1 change")
    closed = intervals.where(f"end_us < {run_us}").selectExpr(
        "series", "end_us time_us", "-1 change"
    )
    changes = (
        opened.unionByName(closed).groupBy("series", "time_us").agg(f.sum("change").alias("d"))
    )
    so_far = Window.partitionBy("series").orderBy("time_us")
    return (
        changes.withColumn("open", f.sum("d").over(so_far))
        .groupBy("series", _bucket(bucket_us))
        .agg(
            # Intervals open before the first change of a bucket were open in it, too.
            f.max(f.expr("greatest(open, open - d)")).alias("value"),
            f.max_by("open", "time_us").alias("then"),
        )
    )


def counts(happened: DataFrame, bucket_us: int) -> DataFrame:
    """The number of events in each bucket.

    Args:
        happened: ``series``, ``time_us``.
        bucket_us: the length of a bucket.
    """
    return happened.groupBy("series", _bucket(bucket_us)).agg(f.count("*").alias("value"))


def measured(rows: DataFrame, bucket_us: int, **values: Column) -> DataFrame:
    """Aggregates of the measurements in each bucket, each a series of its name.

    Args:
        rows: with ``time_us``.
        bucket_us: the length of a bucket.
        values: an aggregate for each series.
    """
    together = rows.groupBy(_bucket(bucket_us)).agg(
        *(value.cast("double").alias(name) for name, value in values.items())
    )
    return together.unpivot(["at_us"], [*values], "series", "value")


def one_after_the_other(parts: list[DataFrame]) -> DataFrame:
    """All series in one DataFrame: Spark computes them together."""
    return reduce(DataFrame.unionByName, (_wide(part) for part in parts))


def _wide(part: DataFrame) -> DataFrame:
    then = f.col("then") if "then" in part.columns else f.lit(None)
    return part.select(
        "series", "at_us", f.col("value").cast("double"), then.cast("double").alias("then")
    )


def _bucket(bucket_us: int) -> Column:
    return f.expr(f"time_us div {bucket_us} * {bucket_us}").alias("at_us")
