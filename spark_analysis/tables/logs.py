"""Changes of logs: truncated and lost records, and the lag of high watermarks."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tidegauge.spark_analysis.tables.causes import with_causes
from tidegauge.spark_analysis.tables.result_table import (
    FAULT,
    MOMENT,
    PARTITION,
    RUN,
    Column,
    ResultTable,
)
from tidegauge.spark_analysis.tables.run_rows import RunRows


def _truncations(rows: RunRows) -> DataFrame:
    ends = ("partition", "end_offset", "old_end_offset")
    truncated = rows.of_kind("truncated", *ends, "leader_epoch", "high_watermark")
    lost = rows.of_kind("log_lost", *ends)
    cuts = (
        truncated.withColumn("reason", f.lit("follower"))
        .unionByName(lost.withColumn("reason", f.lit("power")), allowMissingColumns=True)
        .withColumn("records", f.expr("old_end_offset - end_offset"))
        .withColumn("broker_index", f.col("process"))
    )
    named = rows.topology.with_broker_id(rows.topology.with_names(cuts), "broker_index", "broker")
    return with_causes(rows, named)


def _hw_lag(rows: RunRows) -> DataFrame:
    ends = ("partition", "leads", "log_end_offset", "high_watermark")
    samples = rows.of_kind("sampled", *ends).where("leads = 1")
    samples = samples.withColumn("leader_index", f.col("process"))
    named = rows.topology.with_broker_id(
        rows.topology.with_names(samples), "leader_index", "leader"
    )
    return named.withColumn("lag", f.expr("log_end_offset - high_watermark"))


TRUNCATIONS = ResultTable(
    "truncations",
    "one truncation of a replica's log",
    (
        RUN,
        *PARTITION,
        *MOMENT,
        Column("broker", "bigint", "broker id", "the broker of the replica"),
        Column(
            "reason", "string", "", "`follower`: it follows its leader; `power`: power was lost"
        ),
        Column("end_offset", "bigint", "", "the log end offset after it"),
        Column("old_end_offset", "bigint", "", "the log end offset before it"),
        Column("records", "bigint", "records", "number of records removed from this log"),
        Column("leader_epoch", "bigint", "", "the epoch that it follows in; null for `power`"),
        Column("high_watermark", "bigint", "", "its own high watermark then; null for `power`"),
        *FAULT,
    ),
    _truncations,
)

HW_LAG = ResultTable(
    "hw_lag",
    "the lag of a leader's high watermark behind its log's end, at one sample",
    (
        RUN,
        *PARTITION,
        Column("time_us", "bigint", "us", "when it was sampled (sample_every of the scenario)"),
        Column("leader", "bigint", "broker id", "the broker that acts as leader"),
        Column("log_end_offset", "bigint", "", "its log end offset"),
        Column("high_watermark", "bigint", "", "its high watermark"),
        Column("lag", "bigint", "records", "log_end_offset - high_watermark"),
    ),
    _hw_lag,
)
