"""The rows of the timeline, top to bottom: the series of each, and their tables."""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tidegauge.analysis.report.charts import BAD, GOOD, QUIET, WARNING, WORSE
from tidegauge.analysis.report.one_run import OneRun
from tidegauge.analysis.report.series import counts, levels, measured, one_after_the_other


class Mark(NamedTuple):
    """A series, and how it is drawn."""

    series: str
    name: str
    colour: str
    #: ``level``: a line with steps; ``line``; ``bar``: as wide as what it counts; ``point``.
    drawn: str


class Panel(NamedTuple):
    """A row of the timeline."""

    title: str
    #: The unit of its numbers.
    unit: str
    marks: tuple[Mark, ...]


PANELS = (
    Panel(
        "In sync",
        "replicas",
        (
            Mark("assigned", "all replicas", QUIET, "line"),
            Mark("in_sync", "in the ISR of their partition", GOOD, "level"),
        ),
    ),
    Panel(
        "Under-replicated, as brokers that run report it",
        "partitions",
        (Mark("under_replicated", "UnderReplicatedPartitions, all brokers", WARNING, "line"),),
    ),
    Panel(
        "Unhealthy",
        "partitions",
        (
            Mark("under_min_isr", "under min ISR", WARNING, "level"),
            Mark("not_accepting", "not accepting: no broker actually leads", WORSE, "level"),
            Mark("offline", "offline: no leader with a session in ZooKeeper", BAD, "level"),
        ),
    ),
    Panel(
        "With a new leader",
        "partitions",
        (
            Mark("clean", "from the ISR", GOOD, "bar"),
            Mark("unclean", "unclean: from outside it", BAD, "bar"),
        ),
    ),
    Panel(
        "ISRs changed",
        "changes",
        (
            Mark("expand", "expanded by leaders", GOOD, "bar"),
            Mark("shrink", "shrunk by leaders", WARNING, "bar"),
            Mark("removal", "removed by the controller", WORSE, "bar"),
        ),
    ),
    Panel(
        "High watermark behind the log's end",
        "records",
        (
            Mark("lag_max", "most", BAD, "line"),
            Mark("lag_p99", "P99 of partitions", WARNING, "line"),
            Mark("lag_p50", "half of them", GOOD, "line"),
        ),
    ),
    Panel(
        "Longest wait in the controller's queue",
        "seconds",
        (Mark("queued", "until an event was taken", WARNING, "bar"),),
    ),
    Panel(
        "Most events left in the controller's queue",
        "events",
        (Mark("queue", "events", GOOD, "bar"),),
    ),
    Panel(
        "Largest isr_change_notification",
        "partitions",
        (Mark("notified", "when it was sent", GOOD, "point"),),
    ),
)


def all_series(run: OneRun) -> DataFrame:
    """Every series of every panel, as :mod:`series` has them."""
    tables = run.tables
    conditions = tables["unavailable"].selectExpr("condition series", "begin_us", "end_us")
    in_sync = tables["isr_members"].selectExpr("'in_sync' series", "begin_us", "end_us")
    elected = tables["elections"].where("is_new")
    happened = tables["isr_changes"].selectExpr("change series", "time_us")
    return one_after_the_other(
        [
            levels(conditions.where("series != 'at_min_isr'"), run.bucket_us, run.duration_us),
            levels(in_sync, run.bucket_us, run.duration_us),
            counts(
                elected.selectExpr("if(unclean, 'unclean', 'clean') series", "time_us"), run.bar_us
            ),
            counts(happened, run.bar_us),
            measured(
                tables["hw_lag"],
                run.sample_us,
                lag_max=f.max("lag"),
                lag_p99=f.percentile_approx("lag", 0.99),
                lag_p50=f.percentile_approx("lag", 0.5),
            ),
            measured(
                tables["controller_events"],
                run.bar_us,
                queue=f.max("queue_length"),
                queued=f.max("queued_us") / 1e6,
            ),
            measured(tables["notifications"], run.bucket_us, notified=f.max("partition_count")),
            _under_replicated(run),
        ]
    )


def _under_replicated(run: OneRun) -> DataFrame:
    """The sum over brokers, of the most that each has said in a bucket."""
    bucket_us = run.sample_us
    of_brokers = (
        run.tables["broker_samples"]
        .withColumn("time_us", f.expr(f"time_us div {bucket_us} * {bucket_us}"))
        .groupBy("time_us", "broker")
        .agg(f.max("under_replicated").alias("under_replicated"))
    )
    return measured(of_brokers, bucket_us, under_replicated=f.sum("under_replicated"))
