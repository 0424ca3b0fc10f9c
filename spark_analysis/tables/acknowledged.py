"""Acknowledged records, and those that are missing in the end.

A record is (partition, leader epoch, offset). It is lost if the leader that the control plane names
does not hold it when the trace ends, after the liveness phase if there is one. Records of a
partition without a leader are not lost yet, but unavailable. Records of a topic that was deleted do
not count any more.

Each range is divided into disjoint pieces that are held, lost or unavailable. The origin of a lost
piece is the first later leader that began without its last record.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from tidegauge.replication.min_insync_replicas import ACKS_ALL
from tidegauge.simulation.codes.occasions import (
    BROKER_ABSENT,
    REASON_END,
    REASON_LEADER,
    REASON_LIVENESS,
    STATE_CREATED,
)
from tidegauge.spark_analysis.tables.causes import with_causes
from tidegauge.spark_analysis.tables.result_table import (
    FAULT,
    MOMENT,
    PARTITION,
    RUN,
    Column,
    ResultTable,
)
from tidegauge.spark_analysis.tables.run_rows import ORDER, RunRows

_KEYS = ("run", "partition")
_RANGE = ("partition", "leader_epoch", "acks", "first_offset", "end_offset")
_NEVER_US = (1 << 63) - 1


def acknowledged(rows: RunRows) -> DataFrame:
    """The pieces of all acknowledged ranges, with the ``fate`` of each."""
    promised = rows.to_the_last("acknowledged", *_RANGE).join(
        _counts_from(rows), list(_KEYS), "left"
    )
    promised = promised.where("counts_from_us is null or time_us > counts_from_us")
    promised = promised.drop("counts_from_us").withColumn("acknowledged_by", f.col("process"))
    known = promised.join(_last_leaders(rows), list(_KEYS), "left")
    known = known.join(_last_logs(rows), [*_KEYS, "leader_index", "leader_epoch"], "left")
    held_from = f.expr("greatest(first_offset, least(coalesce(log_start, end_offset), end_offset))")
    held_to = f.expr("greatest(held_from, least(coalesce(log_end, end_offset), end_offset))")
    known = known.withColumn("held_from", held_from).withColumn("held_to", held_to)
    is_led = f.col("leader_index").isNotNull()
    pieces = [
        known.where(is_led).select(
            "*", f.lit(fate).alias("fate"), f.expr(begin).alias("begin"), f.expr(end).alias("end")
        )
        for fate, begin, end in (
            ("lost", "first_offset", "held_from"),
            ("held", "held_from", "held_to"),
            ("lost", "held_to", "end_offset"),
        )
    ]
    pieces.append(
        known.where(~is_led).select(
            "*",
            f.lit("unavailable").alias("fate"),
            f.col("first_offset").alias("begin"),
            f.col("end_offset").alias("end"),
        )
    )
    return (
        reduce(DataFrame.unionByName, pieces)
        .where("begin < end")
        .withColumns({"first_offset": f.col("begin"), "end_offset": f.col("end")})
        .withColumn("records", f.expr("end_offset - first_offset"))
        .drop("begin", "end", "held_from", "held_to", "log_start", "log_end", "leader_index")
    )


def _counts_from(rows: RunRows) -> DataFrame:
    """From when on records count of partitions that were deleted: when they were there again."""
    deleted = rows.to_the_last("topic_deletion_begun", "topic").groupBy("run", "topic")
    last = deleted.agg(f.max("time_us").alias("deleted_us")).withColumnRenamed(
        "topic", "topic_number"
    )
    partitions = rows.topology.partitions.select(*_KEYS, "topic_number")
    gone = partitions.join(last, ["run", "topic_number"])
    created = (
        rows.to_the_last("partition_state", "partition", "change")
        .where(f.col("change") == int(STATE_CREATED))
        .select(*_KEYS, f.col("time_us").alias("created_us"))
    )
    again = gone.join(created, list(_KEYS), "left").groupBy(*_KEYS)
    return again.agg(
        f.coalesce(
            f.min(f.expr("case when created_us > deleted_us then created_us end")),
            f.lit(_NEVER_US),
        ).alias("counts_from_us")
    )


def _last_leaders(rows: RunRows) -> DataFrame:
    """The registered leader that the control plane names in the end, for each partition."""
    place = f.struct(*ORDER)
    brokers = rows.topology.brokers.select("run", "broker", "registered")
    told = rows.to_the_last("broker_state", "broker", "state").groupBy("run", "broker")
    registered = (
        brokers.join(told.agg(f.max_by("state", place).alias("state")), ["run", "broker"], "left")
        .where(f.expr(f"if(state is null, registered, state != {int(BROKER_ABSENT)})"))
        .select("run", f.col("broker").alias("leader_index"))
    )
    states = rows.to_the_last("partition_state", "partition", "leader").groupBy(*_KEYS)
    named = states.agg(f.max_by("leader", place).alias("leader_index"))
    return named.join(registered, ["run", "leader_index"])


def _last_logs(rows: RunRows) -> DataFrame:
    """The runs of epochs in each replica's log as the trace ends."""
    runs = rows.to_the_last("log_end", "partition", "epoch", "start_offset", "end_offset", "reason")
    runs = runs.where(f.col("reason").isin(int(REASON_END), int(REASON_LIVENESS)))
    newest = f.max("time_us").over(Window.partitionBy(*_KEYS, "process"))
    return (
        runs.withColumn("_newest", newest)
        .where("time_us = _newest")
        .groupBy(
            *_KEYS, f.col("process").alias("leader_index"), f.col("epoch").alias("leader_epoch")
        )
        .agg(f.min("start_offset").alias("log_start"), f.max("end_offset").alias("log_end"))
    )


def _lost(rows: RunRows) -> DataFrame:
    lost = rows.shared(acknowledged).where("fate = 'lost'")
    terms = _terms_without(rows, lost)
    named = with_causes(rows, terms, "began_process", "began_sequence")
    named = named.join(_permits(rows), list(_KEYS), "left")
    named = named.withColumn(
        "permitted_by",
        f.when(
            f.col("acks") != int(ACKS_ALL), f.concat(f.lit("acks="), f.col("acks").cast("string"))
        )
        .when(f.col("unclean"), "unclean election")
        .when(f.col("lost_power"), "loss of power"),
    )
    return _named(rows, rows.topology.with_broker_id(named, "began_process", "new_leader"))


def _named(rows: RunRows, pieces: DataFrame) -> DataFrame:
    topology = rows.topology
    return topology.with_names(topology.with_broker_id(pieces, "acknowledged_by", "leader"))


def _terms_without(rows: RunRows, lost: DataFrame) -> DataFrame:
    """Lost pieces, each with the first later term whose leader began without its last record."""
    began = rows.to_the_last("became_leader", "partition", "leader_epoch").select(
        *_KEYS,
        f.col("leader_epoch").alias("term_epoch"),
        f.col("time_us").alias("began_us"),
        f.col("process").alias("began_process"),
        f.col("sequence").alias("began_sequence"),
    )
    log = rows.to_the_last("log_end", "partition", "epoch", "start_offset", "end_offset", "reason")
    log = log.where(f.col("reason") == int(REASON_LEADER)).select(
        *_KEYS,
        f.col("process").alias("began_process"),
        f.col("time_us").alias("began_us"),
        f.col("epoch").alias("leader_epoch"),
        f.col("start_offset").alias("has_from"),
        f.col("end_offset").alias("has_to"),
    )
    # A leader can lead on in its own epoch, but on a log that has lost its end with the power.
    is_later = f.expr(
        "term_epoch > leader_epoch or term_epoch = leader_epoch and began_us > time_us"
    )
    terms = lost.join(began, list(_KEYS), "left").withColumn("is_later", is_later)
    # It tells its log in the moment in which it begins to lead.
    held = terms.join(log, [*_KEYS, "began_process", "began_us", "leader_epoch"], "left")
    lacks = f.expr(
        "is_later and not coalesce(has_from < end_offset and end_offset <= has_to, false)"
    )
    first = f.min(f.when(lacks, f.struct("began_us", "began_process", "began_sequence")))
    return held.groupBy(*lost.columns).agg(first.alias("_first")).select(*lost.columns, "_first.*")


def _permits(rows: RunRows) -> DataFrame:
    """Of each partition whether a leader was elected uncleanly, and whether it lost power."""
    elected = rows.to_the_last("leader_elected", "partition", "unclean").where("unclean != 0")
    power = rows.to_the_last("log_lost", "partition")
    both = elected.select(*_KEYS, f.lit(col=True).alias("unclean")).unionByName(
        power.select(*_KEYS, f.lit(col=True).alias("lost_power")), allowMissingColumns=True
    )
    return both.groupBy(*_KEYS).agg(
        f.coalesce(f.bool_or("unclean"), f.lit(col=False)).alias("unclean"),
        f.coalesce(f.bool_or("lost_power"), f.lit(col=False)).alias("lost_power"),
    )


_PIECE = (
    RUN,
    *PARTITION,
    *MOMENT,
    Column("leader", "bigint", "broker id", "the leader that acknowledged the records"),
    Column("leader_epoch", "bigint", "", "the epoch of these records"),
    Column("acks", "bigint", "", "acks of the producer: -1 is all"),
    Column("first_offset", "bigint", "", "the first of the offsets"),
    Column("end_offset", "bigint", "", "the offset after the last one"),
    Column("records", "bigint", "records", "end_offset - first_offset"),
)

ACKNOWLEDGED = ResultTable(
    "acknowledged",
    "offsets of one epoch that a leader acknowledged, and their fate; recorded at `time_us`, at "
    "the latest when its term ends",
    (
        *_PIECE,
        Column("fate", "string", "", "`held`, `lost` or `unavailable` at the end of the trace"),
    ),
    lambda rows: _named(rows, rows.shared(acknowledged)),
)

LOST = ResultTable(
    "lost",
    "acknowledged offsets that are lost, and the origin of the loss",
    (
        *_PIECE,
        Column("permitted_by", "string", "", "the reason that permits the loss; null: none does"),
        Column("new_leader", "bigint", "broker id", "the first leader without the last record"),
        Column("began_us", "bigint", "us", "when it began to lead"),
        Column("began_process", "bigint", "", "first half of the handle of that row"),
        Column(
            "began_sequence", "bigint", "", "second half: `show --cause` prints the whole chain"
        ),
        Column("trigger_kind", "string", "", "the row of another process that led to it"),
        *FAULT,
    ),
    _lost,
)
