"""The headroom of partitions above min.insync.replicas during a fault, and afterwards.

Headroom is the size of the ISR less min.insync.replicas. At 0 a partition still takes writes of
``acks=all``, but one more replica that is lost makes it refuse them: below 0. A rolling restart
that is to be safe never lands on 0. The time of a fault lasts until the next one begins, if that is
later than its end.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from tidegauge.analysis.questions.fault_windows import fault_windows
from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.tables.result_table import RUN, Column
from tidegauge.analysis.tables.run_tables import RunTables

_FAULT = ("run", "fault", "from_us")
_SECONDS = "sum(if({}, end_us - begin_us, 0)) / 1e6"
_PARTITIONS = "count(distinct if({}, partition, null))"

_VERDICT = """
    concat(
        case
            when least_headroom < 0
                then concat('refused writes: ', partitions_below, ' partitions below min ISR')
            when least_headroom = 0
                then concat('landed on min ISR: ', partitions_at, ' partitions')
            else 'never landed on min ISR'
        end,
        if(first_partition is null, '', concat(', ', first_partition, ' first')),
        if(partitions_before = 0, '', concat(', ', partitions_before, ' were there before')),
        if(offline_seconds = 0, '', concat('; ', partitions_offline, ' partitions went offline'))
    )
"""


def _restart_headroom(tables: RunTables) -> DataFrame:
    faults = fault_windows(tables).select(
        "run",
        "fault",
        "fault_name",
        "fault_kind",
        f.col("begin_us").alias("from_us"),
        f.greatest("end_us", "next_us").alias("to_us"),
    )
    states = tables["partition_states"].select(
        *("run", "partition", "topic_partition", "begin_us", "end_us", "offline"),
        f.expr("if(leader is null, null, in_sync - min_insync_replicas)").alias("headroom"),
    )
    # States that only touch the beginning say how it was before.
    was_so = f.bool_or(f.expr("begin_us < from_us and coalesce(headroom <= 0, false)"))
    of_partition = Window.partitionBy(*_FAULT, "partition")
    during = (
        states.join(f.broadcast(faults), "run")
        .where("begin_us < to_us and from_us <= end_us")
        .withColumn("was_so", was_so.over(of_partition))
        .where("from_us < end_us")
        .withColumn("end_us", f.least("end_us", "to_us"))
        .withColumn("begin_us", f.greatest("begin_us", "from_us"))
    )
    landed = f.expr("if(headroom <= 0 and not was_so, struct(begin_us, headroom, partition), null)")
    return (
        during.groupBy(*_FAULT, "fault_name", "fault_kind", "to_us")
        .agg(
            f.min("headroom").alias("least_headroom"),
            f.expr(_SECONDS.format("headroom = 0")).alias("seconds_at"),
            f.expr(_SECONDS.format("headroom < 0")).alias("seconds_below"),
            f.expr(_SECONDS.format("offline")).alias("offline_seconds"),
            f.expr(_PARTITIONS.format("headroom = 0")).alias("partitions_at"),
            f.expr(_PARTITIONS.format("headroom < 0")).alias("partitions_below"),
            f.expr(_PARTITIONS.format("offline")).alias("partitions_offline"),
            f.expr(_PARTITIONS.format("was_so")).alias("partitions_before"),
            f.min_by("topic_partition", landed).alias("first_partition"),
            f.min(landed).alias("_first"),
        )
        .withColumn("first_us", f.col("_first.begin_us"))
        .withColumn("verdict", f.expr(_VERDICT))
        .orderBy("run", "least_headroom", f.desc("seconds_below"), f.desc("seconds_at"), "from_us")
    )


RESTART_HEADROOM = Question(
    "restart-headroom",
    "How near did each restart or failure bring partitions to min.insync.replicas?",
    (
        RUN,
        Column("fault_name", "string", "", "the fault"),
        Column("fault_kind", "string", "", "its kind: `restart`, `rolling_restart`, `crash`, ..."),
        Column("from_us", "bigint", "us", "when it began"),
        Column(
            "to_us", "bigint", "us", "its end, or the beginning of the next one if that is later"
        ),
        Column("verdict", "string", "", "the result in words"),
        Column(
            "least_headroom", "bigint", "replicas", "ISR less min.insync.replicas, at the least"
        ),
        Column("seconds_at", "double", "s", "partition-seconds at 0: nothing to spare"),
        Column("seconds_below", "double", "s", "... below 0: writes of acks=all are refused"),
        Column("offline_seconds", "double", "s", "... without a leader that has a session"),
        Column("partitions_at", "bigint", "partitions", "that were at 0"),
        Column("partitions_below", "bigint", "partitions", "... below 0"),
        Column("partitions_before", "bigint", "partitions", "... at or below 0 when it began"),
        Column("first_partition", "string", "", "the first partition at 0 or below"),
        Column("first_us", "bigint", "us", "... and when"),
    ),
    _restart_headroom,
)
