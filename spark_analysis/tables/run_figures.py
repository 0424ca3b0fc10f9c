"""The figures of a run, counted from its tables: they are those of ``summary.json``."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tidegauge.spark_analysis.tables.acknowledged import acknowledged
from tidegauge.spark_analysis.tables.partition_states import partition_states
from tidegauge.spark_analysis.tables.result_table import RUN, Column, ResultTable
from tidegauge.spark_analysis.tables.run_rows import RunRows
from tidegauge.spark_analysis.tables.unavailable import CONDITIONS

_COUNTED = {
    "isr_shrinks": "isr_shrunk",
    "isr_expands": "isr_expanded",
    "isr_removals": "removed_from_isr",
    "isr_notifications": "notification_sent",
}
_FATES = {"lost": "records_acknowledged_lost", "unavailable": "records_acknowledged_unavailable"}


def _run_figures(rows: RunRows) -> DataFrame:
    parts = [
        rows.of_kind(kind).groupBy("run").agg(f.count("*").alias(name))
        for name, kind in _COUNTED.items()
    ]
    elected = rows.of_kind("leader_elected", "leader", "old_leader", "unclean").groupBy("run")
    parts.append(
        elected.agg(
            f.count_if(f.expr("leader != old_leader")).alias("leader_elections"),
            f.sum("unclean").alias("unclean_elections"),
        )
    )
    lasted_us = f.expr("end_us - begin_us")
    parts.append(
        rows.shared(partition_states)
        .groupBy("run")
        .agg(
            *(
                (f.sum(f.when(f.expr(holds), lasted_us).otherwise(0)) / 1e6).alias(
                    f"partition_seconds_{condition}"
                )
                for condition, holds in CONDITIONS.items()
            )
        )
    )
    totals = rows.to_the_last("client_totals", "records_acknowledged").groupBy("run")
    parts.append(totals.agg(f.sum("records_acknowledged").alias("records_acknowledged")))
    fates = rows.shared(acknowledged).groupBy("run")
    parts.append(
        fates.agg(
            *(
                f.sum(f.when(f.col("fate") == fate, f.col("records")).otherwise(0)).alias(name)
                for fate, name in _FATES.items()
            )
        )
    )
    runs = rows.topology.ends.select("run", (f.col("ends_us") / 1e6).alias("virtual_seconds"))
    joined = reduce(lambda one, other: one.join(other, "run", "left"), parts, runs)
    return joined.fillna(0)


RUN_FIGURES = ResultTable(
    "run_figures",
    "one run, in the figures of its summary",
    (
        RUN,
        Column("virtual_seconds", "double", "s", "how long it was, without the liveness phase"),
        Column("isr_shrinks", "bigint", "", "ISRs that leaders shrank"),
        Column("isr_expands", "bigint", "", "ISRs that leaders expanded"),
        Column("isr_removals", "bigint", "", "replicas that the controller took out of ISRs"),
        Column("isr_notifications", "bigint", "", "isr_change_notifications that brokers wrote"),
        Column("leader_elections", "bigint", "", "partitions that got another leader, each time"),
        Column("unclean_elections", "bigint", "", "... from outside the ISR"),
        Column("partition_seconds_offline", "double", "s", "no leader, or one without a session"),
        Column("partition_seconds_not_accepting", "double", "s", "nobody leads in truth"),
        Column("partition_seconds_under_min_isr", "double", "s", "below min.insync.replicas"),
        Column("partition_seconds_at_min_isr", "double", "s", "just as many"),
        Column("records_acknowledged", "bigint", "records", "as producers were told"),
        Column("records_acknowledged_lost", "bigint", "records", "... and not there in the end"),
        Column("records_acknowledged_unavailable", "bigint", "records", "... nobody leads then"),
    ),
    _run_figures,
)
