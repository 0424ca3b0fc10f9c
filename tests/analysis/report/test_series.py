"""Buckets of time keep what matters: the most at once, however short it was, and what is left."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tidegauge.analysis.report.series import counts, levels, measured, one_after_the_other

SECOND = 1_000_000


def rows(found: DataFrame, *columns: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in found.select(*columns).collect())


def test_the_most_within_a_bucket_is_seen_however_short_it_was(spark: SparkSession) -> None:
    intervals = spark.createDataFrame(
        [
            ("offline", 0, 9 * SECOND),
            ("offline", 2 * SECOND + 1, 2 * SECOND + 2),  # within the bucket of 2 s to 3 s
            ("offline", 2 * SECOND + 2, 2 * SECOND + 3),  # begins as that ends: not one more
            ("under_min_isr", 5 * SECOND, 20 * SECOND),  # until the run ends
        ],
        "series string, begin_us bigint, end_us bigint",
    )
    found = levels(intervals, SECOND, run_us=20 * SECOND)
    assert rows(found, "series", "at_us", "value", "then") == [
        ("offline", 0, 1, 1),
        ("offline", 2 * SECOND, 2, 1),
        ("offline", 9 * SECOND, 1, 0),
        ("under_min_isr", 5 * SECOND, 1, 1),
    ]


def test_what_happened_is_counted_where_it_happened(spark: SparkSession) -> None:
    happened = spark.createDataFrame(
        [("shrink", 0), ("shrink", SECOND - 1), ("shrink", SECOND), ("expand", 5 * SECOND)],
        "series string, time_us bigint",
    )
    found = one_after_the_other([counts(happened, SECOND)])
    assert rows(found, "series", "at_us", "value") == [
        ("expand", 5 * SECOND, 1.0),
        ("shrink", 0, 2.0),
        ("shrink", SECOND, 1.0),
    ]


def test_each_aggregate_of_samples_is_a_series(spark: SparkSession) -> None:
    samples = spark.createDataFrame([(100, 1), (200, 5), (SECOND, 7)], "time_us bigint, lag bigint")
    found = measured(samples, SECOND, most=f.max("lag"), least=f.min("lag"))
    assert rows(found, "series", "at_us", "value") == [
        ("least", 0, 1.0),
        ("least", SECOND, 7.0),
        ("most", 0, 5.0),
        ("most", SECOND, 7.0),
    ]
