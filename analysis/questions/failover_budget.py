"""The time until a partition had a leader again: every second of a failover, accounted for.

A failover is all elections of the controller in the course of one event. Its partitions wait for
each other, so the longest wait is its length; the parts are those of that partition, and sum to its
total. An unknown part is null: without ``trace: all`` the first use is unknown, and a leader that
was replaced before it took over has no takeover.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.tables.elections import PARTS
from tidegauge.analysis.tables.result_table import RUN, Column
from tidegauge.analysis.tables.run_tables import RunTables

_EVENT = ("run", "process", "taken_us")
_OF_SLOWEST = ("topic_partition", "begin_us", *PARTS, "total_us", "fault_name", "trigger_kind")


def _failover_budget(tables: RunTables) -> DataFrame:
    # With epoch 0 a new partition gets its first leader: this is no failover.
    elected = tables["elections"].where("is_new and leader_epoch > 0")
    slowest = f.max_by(
        f.struct(*_OF_SLOWEST), f.struct(f.expr("led_us is not null"), "total_us", "partition")
    )
    failovers = elected.groupBy(*_EVENT).agg(
        f.count("*").alias("partitions"),
        f.count_if(f.expr("leader is null")).alias("without_leader"),
        f.expr("percentile_disc(0.5) within group (order by total_us)").alias("p50_us"),
        slowest.alias("slowest"),
    )
    events = (
        tables["controller_events"]
        .withColumnRenamed("time_us", "taken_us")
        .groupBy(*_EVENT)
        .agg(f.max_by("event", "sequence").alias("event"))
    )
    joined = failovers.join(events, list(_EVENT), "left")
    return joined.select("*", "slowest.*").orderBy("run", f.desc("total_us"), "taken_us")


FAILOVER_BUDGET = Question(
    "failover-budget",
    "How long did each failover take until partitions had a leader again, and which part took "
    "longest?",
    (
        RUN,
        Column(
            "begin_us",
            "bigint",
            "us",
            "the fault began, or ended; without one: the controller was notified",
        ),
        Column("fault_name", "string", "", "the fault that led to it; null: none"),
        Column("event", "string", "", "kind of the controller's event; null: its own election"),
        Column(
            "partitions", "bigint", "partitions", "partitions for which it chose another leader"
        ),
        Column("without_leader", "bigint", "partitions", "... of which no replica could lead"),
        Column(
            "total_us", "bigint", "us", "of the slowest partition: the sum of the following parts"
        ),
        Column("detection_us", "bigint", "us", "from the fault until the controller was notified"),
        Column("notice_us", "bigint", "us", "... until its event was in the queue"),
        Column("queue_us", "bigint", "us", "... until it was taken: the events before it"),
        Column("election_us", "bigint", "us", "... until the new leader was written"),
        Column("takeover_us", "bigint", "us", "... until it took over; null: it never did"),
        Column("first_use_us", "bigint", "us", "... until it was used; null: not recorded"),
        Column("p50_us", "bigint", "us", "total of half of the partitions"),
        Column("topic_partition", "string", "", "the slowest partition"),
        Column("trigger_kind", "string", "", "kind of the row that notified the controller"),
    ),
    _failover_budget,
)
