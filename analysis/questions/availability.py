"""Refused writes, offline partitions and lost records: a line for each run.

A partition accepts writes of ``acks=all`` while a broker actually leads it and its ISR is not below
min.insync.replicas. Percentages are of all the time that all partitions existed.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.tables.result_table import RUN, Column
from tidegauge.analysis.tables.run_tables import RunTables

_LASTED_S = "(end_us - begin_us) / 1e6"


def _availability(tables: RunTables) -> DataFrame:
    states = tables["partition_states"].groupBy("run")
    existed = states.agg(
        f.sum(f.expr(_LASTED_S)).alias("partition_seconds"),
        f.sum(f.expr(f"if(not accepting or under_min_isr, {_LASTED_S}, 0)")).alias("refused"),
    )
    joined = tables["run_figures"].join(existed, "run", "left")
    share = "100 * (1 - {} / partition_seconds)"
    return joined.withColumns(
        {
            "writable_percent": f.expr(share.format("refused")),
            "online_percent": f.expr(share.format("partition_seconds_offline")),
            "lost_per_million": f.expr(
                "1e6 * records_acknowledged_lost / nullif(records_acknowledged, 0)"
            ),
        }
    ).orderBy(f.desc("records_acknowledged_lost"), f.desc("refused"), "run")


AVAILABILITY = Question(
    "availability",
    "How much was unavailable, and is any acknowledged record lost?",
    (
        RUN,
        Column("writable_percent", "double", "%", "of partition-seconds: acks=all was accepted"),
        Column("online_percent", "double", "%", "... a leader with a session was named"),
        Column("partition_seconds_offline", "double", "s", "no leader, or one without a session"),
        Column("partition_seconds_not_accepting", "double", "s", "no broker actually led"),
        Column("partition_seconds_under_min_isr", "double", "s", "below min.insync.replicas"),
        Column("records_acknowledged", "bigint", "records", "acknowledged to producers"),
        Column("records_acknowledged_lost", "bigint", "records", "... and missing in the end"),
        Column("lost_per_million", "double", "", "... per million acknowledged"),
        Column(
            "records_acknowledged_unavailable",
            "bigint",
            "records",
            "... of partitions without a leader in the end",
        ),
    ),
    _availability,
)
