"""Replicas that leave ISRs and return: how often, and the likely causes.

A replica leaves an ISR in three ways: its leader shrinks it, the controller removes it, or a leader
is elected without it. If what made it leave goes back to a fault, that fault is the likely cause.
Else the picture tells two cases apart (KIP-501): a follower that leaves many leaders is slow
itself; a leader that many followers leave at once is the slow one, however healthy it looks.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.tables.result_table import RUN, Column
from tidegauge.analysis.tables.run_tables import RunTables

_BROKER = ("run", "broker")

#: The first that holds is the likely cause of a broker's leaving.
_CAUSES = """
    case
        when reasons is null then 'not in the trace'
        when fault_leaves * 2 >= leaves
            then concat('fault ', fault_name, ': ', fault_leaves, ' of ', leaves, ' go back to it')
        when leader_leaves * 2 > shrinks and followers > 1
            then concat('leader ', leader, ' is slow, not this broker: ', followers,
                        ' followers fell behind it')
        when leaders > 1
            then concat('this broker is slow: it fell behind ', leaders, ' leaders')
        when leaders = 1
            then concat('only leader ', leader, ' saw it fall behind: one of the two is slow,',
                        ' or the link between them')
        else 'the controller removed it: see the events of its process'
    end
"""


def _isr_flapping(tables: RunTables) -> DataFrame:
    return (
        _absences(tables)
        .join(_reasons(tables), list(_BROKER), "left")
        .withColumn("likely_cause", f.expr(_CAUSES))
        .fillna(0, ["shrinks"])
        .orderBy("run", f.desc("times_left"), "broker")
    )


def _absences(tables: RunTables) -> DataFrame:
    """For each broker, how often its replicas left ISRs, and for how long."""
    of_partition = ("run", "partition")
    ends = (
        tables["isr_intervals"].groupBy(*of_partition).agg(f.max("end_us").alias("partition_end"))
    )
    of_replica = Window.partitionBy(*of_partition, "broker").orderBy("begin_us")
    members = tables["isr_members"].withColumn("back_us", f.lead("begin_us").over(of_replica))
    left = members.join(ends, list(of_partition)).where("end_us < partition_end")
    out_us = f.expr("coalesce(back_us, partition_end) - end_us")
    return (
        left.withColumn("out_us", out_us)
        .groupBy(*_BROKER)
        .agg(
            f.count("*").alias("times_left"),
            f.count("back_us").alias("times_back"),
            f.countDistinct("partition").alias("partitions"),
            f.expr("percentile_disc(0.5) within group (order by out_us)").alias("out_p50_us"),
            f.max("out_us").alias("out_longest_us"),
        )
    )


def _reasons(tables: RunTables) -> DataFrame:
    """For each broker, the fault behind most of its removals, and the leader that saw them."""
    changes = tables["isr_changes"].where("change != 'expand'")
    left = changes.select("run", "by_leader", "fault_name", f.explode("brokers").alias("broker"))
    elected = tables["elections"].where("not array_contains(isr, old_leader)")
    left = left.unionByName(
        elected.select("run", "fault_name", f.col("old_leader").alias("broker")), True
    )
    by_leader = Window.partitionBy("run", "by_leader")
    # Sets can be counted over a window, distinct values cannot.
    counted = left.withColumn("followers", f.size(f.collect_set("broker").over(by_leader)))
    each = counted.groupBy(*_BROKER, "by_leader", "followers", "fault_name").agg(
        f.count("*").alias("times")
    )
    by_fault = f.sum("times").over(Window.partitionBy(*_BROKER, "fault_name"))
    with_leader = f.sum("times").over(Window.partitionBy(*_BROKER, "by_leader"))
    of_fault = f.when(f.col("fault_name").isNotNull(), f.struct("of_fault", "fault_name"))
    of_leader = f.when(
        f.col("by_leader").isNotNull(), f.struct("of_leader", "by_leader", "followers")
    )
    return (
        each.withColumns({"of_fault": by_fault, "of_leader": with_leader})
        .groupBy(*_BROKER)
        .agg(
            f.lit(1).alias("reasons"),
            f.sum("times").alias("leaves"),
            f.sum(f.expr("if(by_leader is not null, times, 0)")).alias("shrinks"),
            f.countDistinct("by_leader").alias("leaders"),
            f.max(of_fault).alias("_fault"),
            f.max(of_leader).alias("_leader"),
        )
        .select(
            *("run", "broker", "reasons", "leaves", "shrinks", "leaders"),
            f.col("_fault.of_fault").alias("fault_leaves"),
            f.col("_fault.fault_name").alias("fault_name"),
            f.col("_leader.of_leader").alias("leader_leaves"),
            f.col("_leader.by_leader").alias("leader"),
            f.col("_leader.followers").alias("followers"),
        )
    )


ISR_FLAPPING = Question(
    "isr-flapping",
    "Which brokers' replicas leave ISRs and return, and why?",
    (
        RUN,
        Column("broker", "bigint", "broker id", "the broker of the replicas"),
        Column("times_left", "bigint", "", "times that its replicas left an ISR"),
        Column("times_back", "bigint", "", "... and returned to it"),
        Column("shrinks", "bigint", "", "... of which leaders shrank their ISRs"),
        Column("partitions", "bigint", "partitions", "partitions affected"),
        Column("out_p50_us", "bigint", "us", "median time outside of the ISR"),
        Column("out_longest_us", "bigint", "us", "... and the longest, at most until the run ends"),
        Column("likely_cause", "string", "", "the fault, or the broker that seems to be slow"),
    ),
    _isr_flapping,
)
