"""The figures of a run, counted from its tables: they are those of ``summary.json``.

Their meanings are defined in ``traces/summary_figures.py``.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tidegauge.simulation.codes.occasions import STATE_CREATED
from tidegauge.spark_analysis.tables.acknowledged import acknowledged
from tidegauge.spark_analysis.tables.intervals import from_the_beginning, merged, overlaid, tiled
from tidegauge.spark_analysis.tables.partition_states import partition_states
from tidegauge.spark_analysis.tables.replica_lists import list_size
from tidegauge.spark_analysis.tables.result_table import RUN, Column, ResultTable
from tidegauge.spark_analysis.tables.run_rows import RunRows
from tidegauge.spark_analysis.tables.unavailable import CONDITIONS
from tidegauge.traces.summary_figures import FIGURES

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
    parts += _of_one(rows)
    done = rows.of_kind("controller_event_done", "processing_us").groupBy("run")
    parts.append(done.agg((f.sum("processing_us") / 1e6).alias("controller_busy_seconds")))
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


def _of_one(rows: RunRows) -> list[DataFrame]:
    """How often, and how long in all, ISRs had one member where there were more replicas."""
    partition = ("run", "partition")
    topology = rows.topology
    planned = topology.partitions.select(*partition, f.col("replica_count").alias("replicas"))
    assigned = rows.of_kind("partition_replicas", "partition", "replicas", "adding")
    assigned = assigned.withColumn(
        "replicas", list_size(f.col("replicas")) - list_size(f.col("adding"))
    ).drop("adding")
    # A topic that is created again has the replicas that it began with.
    states = rows.of_kind("partition_state", "partition", "change")
    created = states.where(f.col("change") == int(STATE_CREATED)).drop("change")
    created = created.join(planned, list(partition))
    changes = from_the_beginning(planned).unionByName(assigned).unionByName(created)
    lists = rows.shared(partition_states).where("in_sync = 1")
    alone = overlaid(
        lists.select(*partition, "begin_us", "end_us"),
        tiled(changes, topology.ends, partition).where("replicas > 1"),
        partition,
    )
    seconds = f.sum(f.expr("end_us - begin_us")) / 1e6
    return [
        alone.groupBy("run").agg(seconds.alias("partition_seconds_isr_of_one")),
        merged(alone, partition, ()).groupBy("run").agg(f.count("*").alias("isr_of_one_episodes")),
    ]


def _column(name: str, spark_type: str) -> Column:
    return Column(name, spark_type, FIGURES[name].unit, FIGURES[name].meaning)


RUN_FIGURES = ResultTable(
    "run_figures",
    "one run, in the figures of its summary",
    (
        RUN,
        _column("virtual_seconds", "double"),
        _column("isr_shrinks", "bigint"),
        _column("isr_expands", "bigint"),
        _column("isr_removals", "bigint"),
        _column("isr_notifications", "bigint"),
        _column("leader_elections", "bigint"),
        _column("unclean_elections", "bigint"),
        _column("partition_seconds_offline", "double"),
        _column("partition_seconds_not_accepting", "double"),
        _column("partition_seconds_under_min_isr", "double"),
        _column("partition_seconds_at_min_isr", "double"),
        _column("partition_seconds_isr_of_one", "double"),
        _column("isr_of_one_episodes", "bigint"),
        _column("controller_busy_seconds", "double"),
        _column("records_acknowledged", "bigint"),
        _column("records_acknowledged_lost", "bigint"),
        _column("records_acknowledged_unavailable", "bigint"),
    ),
    _run_figures,
)
