"""Runs compared by their settings: each figure, and its confidence over seeds.

Runs whose scenarios differ only in the seed belong together; a seed that was run twice counts once,
since it gives the same run. The interval is that of the mean by Student's t (95 %): of a hundred
sweeps with other seeds, ninety-five would have the true mean in it. No figure can be below 0, so
neither is the interval. Percentiles are of runs: P99 of fewer than a hundred is the largest.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from scipy.stats import t as students_t  # type: ignore[import-untyped]  # it comes without types

from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.questions.run_settings import settings_at
from tidegauge.analysis.tables.result_table import Column
from tidegauge.analysis.tables.run_tables import RunTables
from tidegauge.traces.run_files import read_summary

_AN_HOUR = "{} * 3600 / virtual_seconds"

#: Figures of a run, as they are compared: how each comes from ``run_figures``, and its unit.
_FIGURES = {
    "isr_shrinks_per_hour": (_AN_HOUR.format("isr_shrinks"), "/h"),
    "isr_expands_per_hour": (_AN_HOUR.format("isr_expands"), "/h"),
    "isr_notifications_per_hour": (_AN_HOUR.format("isr_notifications"), "/h"),
    "leader_elections": ("leader_elections", ""),
    "unclean_elections": ("unclean_elections", ""),
    "partition_seconds_offline": ("partition_seconds_offline", "s"),
    "partition_seconds_not_accepting": ("partition_seconds_not_accepting", "s"),
    "partition_seconds_under_min_isr": ("partition_seconds_under_min_isr", "s"),
    "partition_seconds_at_min_isr": ("partition_seconds_at_min_isr", "s"),
    "partition_seconds_isr_of_one": ("partition_seconds_isr_of_one", "s"),
    "controller_busy_seconds": ("controller_busy_seconds", "s"),
    "records_acknowledged": ("records_acknowledged", "records"),
    "records_acknowledged_lost": ("records_acknowledged_lost", "records"),
    "records_acknowledged_unavailable": ("records_acknowledged_unavailable", "records"),
}
#: Of a hundred such intervals so many contain the true mean.
_LEVEL = 0.95

_SETTING = ("setting", "setting_value", "place")


def _sweep(tables: RunTables) -> DataFrame:
    values = _values(tables).join(f.broadcast(_settings(tables)), "run")
    sure = f.expr("t * deviation / sqrt(seeds)")
    return (
        values.groupBy(*_SETTING, "figure", "unit", "figure_place")
        .agg(
            f.count("*").alias("seeds"),
            f.mean("value").alias("mean"),
            f.stddev_samp("value").alias("deviation"),
            f.expr("percentile_disc(0.5) within group (order by value)").alias("p50"),
            f.expr("percentile_disc(0.99) within group (order by value)").alias("p99"),
            f.min("value").alias("smallest"),
            f.max("value").alias("largest"),
            f.max_by("run", f.struct("value", "run")).alias("largest_in"),
        )
        .join(f.broadcast(_errors(tables)), "seeds", "left")
        .withColumn("low", f.greatest(f.lit(0.0), f.col("mean") - sure))
        .withColumn("high", f.col("mean") + sure)
        # Nothing is known of an error, not even that there is none.
        .withColumn("low", f.when(sure.isNotNull(), f.col("low")))
        .orderBy("figure_place", "figure", "place")
    )


def _settings(tables: RunTables) -> DataFrame:
    """One run of each setting and seed, with its setting, and the place of that among all."""
    settings = settings_at(tables.runs)
    in_order = sorted({setting.order for setting in settings.values()})
    places = {order: place for place, order in enumerate(in_order)}
    once = {
        (setting.text, setting.seed): (
            *(run, setting.text, setting.value),
            places[setting.order],
        )
        for run, setting in settings.items()
    }
    schema = "run string, setting string, setting_value double, place bigint"
    return tables.spark.createDataFrame(list(once.values()), schema)


def _values(tables: RunTables) -> DataFrame:
    """A row for each figure of each run."""
    figures = f.array(
        *(
            f.struct(
                f.lit(name).alias("figure"),
                f.lit(unit).alias("unit"),
                f.lit(place).alias("figure_place"),
                f.expr(value).cast("double").alias("value"),
            )
            for place, (name, (value, unit)) in enumerate(_FIGURES.items())
        )
    )
    counted = tables["run_figures"].select("run", f.inline(figures))
    return counted.unionByName(_losses(tables)).unionByName(_latencies(tables))


def _losses(tables: RunTables) -> DataFrame:
    """How much each run has lost of every topic of which any has."""
    lost = tables["lost"].groupBy("run", "topic").agg(f.sum("records").alias("value"))
    every = tables["run_figures"].select("run").crossJoin(lost.select("topic").distinct())
    return every.join(lost, ["run", "topic"], "left").select(
        "run",
        f.concat(f.lit("records_lost of "), "topic").alias("figure"),
        f.lit("records").alias("unit"),
        f.lit(len(_FIGURES)).alias("figure_place"),
        f.coalesce("value", f.lit(0)).cast("double").alias("value"),
    )


def _latencies(tables: RunTables) -> DataFrame:
    """How long producers waited for 99 of 100 batches, as summaries of runs that ended have it."""
    rows = [
        (run.name, f"produce_p99_ms of {client}", "ms", len(_FIGURES) + 1, float(each["p99"]))
        for run in tables.runs
        for client, each in (read_summary(run.folder) or {}).get("produce_ms", {}).items()
        if each["p99"] is not None
    ]
    schema = "run string, figure string, unit string, figure_place int, value double"
    return tables.spark.createDataFrame(rows, schema)


def _errors(tables: RunTables) -> DataFrame:
    """For each number of runs, how many standard errors the interval is wide to each side."""
    upper = (1 + _LEVEL) / 2
    rows = [
        (seeds, float(students_t.ppf(upper, seeds - 1))) for seeds in range(2, len(tables.runs) + 1)
    ]
    return tables.spark.createDataFrame(rows, "seeds bigint, t double")


SWEEP = Question(
    "sweep",
    "What does each setting change, and how certain is that over seeds?",
    (
        Column("figure", "string", "", "the compared figure"),
        Column(
            "setting",
            "string",
            "",
            "the settings in which these runs differ from the others, apart from seeds",
        ),
        Column("seeds", "bigint", "", "number of runs"),
        Column("mean", "double", "", "mean of them"),
        Column("low", "double", "", "lower bound of the true mean (95 %); null: one run"),
        Column("high", "double", "", "... and upper bound"),
        Column("p50", "double", "", "half of the runs had no more"),
        Column("p99", "double", "", "... 99 of 100"),
        Column("smallest", "double", "", "the least of all runs"),
        Column("largest", "double", "", "the most"),
        Column("unit", "string", "", "of the figure"),
        Column("setting_value", "double", "", "the setting if it is one number; of a duration: s"),
        Column("largest_in", "string", "", "the run that had the most"),
    ),
    _sweep,
)
