"""The state of every partition over time: in the control plane, and in its processes.

The states of a partition tile the time that it exists, without gaps and overlaps. The intervals of
ISRs, of leaders and of unavailability are derived from them, and so are all figures in
partition-seconds, whose meanings are defined in ``traces/checks/figures.py``.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from tidegauge.simulation.codes.occasions import BROKER_ABSENT, STATE_DELETED
from tidegauge.simulation.faults import PAUSE
from tidegauge.spark_analysis.tables.intervals import from_the_beginning, overlaid, tiled
from tidegauge.spark_analysis.tables.replica_lists import list_members, list_size
from tidegauge.spark_analysis.tables.result_table import (
    INTERVAL,
    PARTITION,
    RUN,
    Column,
    ResultTable,
)
from tidegauge.spark_analysis.tables.run_rows import ORDER, RunRows

_COLUMNS = (
    RUN,
    *PARTITION,
    *INTERVAL,
    Column("leader", "bigint", "broker id", "the leader in the control plane; null: none"),
    Column("leader_epoch", "bigint", "", "the leader epoch in the control plane"),
    Column("isr", "array<bigint>", "broker id", "the ISR in the control plane, in its order"),
    Column("in_sync", "bigint", "replicas", "number of members of the ISR"),
    Column("min_insync_replicas", "bigint", "replicas", "the effective min.insync.replicas"),
    Column("offline", "boolean", "", "the control plane names no leader, or one that is gone"),
    Column("accepting", "boolean", "", "the leader of this epoch runs, and actually leads"),
    Column("under_min_isr", "boolean", "", "there is a leader, and in_sync is below the minimum"),
    Column("at_min_isr", "boolean", "", "there is a leader, and in_sync is exactly the minimum"),
)

_KEYS = ("run", "partition")
_LEAVES = ("became_follower", "replica_stopped", "log_deleted")


def partition_states(rows: RunRows) -> DataFrame:
    """The states of all partitions, with their names."""
    topology = rows.topology
    states = overlaid(_held(rows), _needs(rows), _KEYS)
    states = overlaid(_with_registrations(rows, states), _with_pauses(rows, _terms(rows)), _KEYS)
    has_leader = f.col("leader").isNotNull()
    return (
        topology.with_broker_id(states, "leader", "leader_id")
        .withColumn("offline", ~f.coalesce("registered", f.lit(col=False)))
        .withColumn("accepting", f.col("leader_epoch").eqNullSafe(f.col("led_epoch")))
        .withColumn("under_min_isr", has_leader & f.expr("in_sync < min_insync_replicas"))
        .withColumn("at_min_isr", has_leader & f.expr("in_sync = min_insync_replicas"))
        .drop("leader")
        .withColumnRenamed("leader_id", "leader")
    )


def _held(rows: RunRows) -> DataFrame:
    """What the control plane holds of each partition, while it exists; ``leader``: an index."""
    written = ("partition", "change", "leader", "leader_epoch", "isr")
    changes = rows.of_kind("partition_state", *written)
    states = tiled(changes, rows.topology.ends, _KEYS).where(f.col("change") != int(STATE_DELETED))
    slots = rows.topology.partitions.select(*_KEYS, "slot_ids")
    return states.join(slots, list(_KEYS)).select(
        *_KEYS,
        "begin_us",
        "end_us",
        f.when(f.col("leader") >= 0, f.col("leader")).alias("leader"),
        "leader_epoch",
        list_size(f.col("isr")).alias("in_sync"),
        list_members(f.col("isr"), f.col("slot_ids")).alias("isr"),
    )


def _needs(rows: RunRows) -> DataFrame:
    """The effective min.insync.replicas of each partition: it can be altered in a run."""
    partitions = rows.topology.partitions.select(
        *_KEYS, "topic_number", "min_insync_replicas", "most_insync_replicas"
    )
    altered = rows.of_kind("topic_configured", "topic", "min_insync_replicas").withColumnRenamed(
        "topic", "topic_number"
    )
    of_topics = partitions.drop("min_insync_replicas").join(altered, ["run", "topic_number"])
    changes = from_the_beginning(partitions).unionByName(of_topics)
    return tiled(changes, rows.topology.ends, _KEYS).select(
        *_KEYS,
        "begin_us",
        "end_us",
        f.least("min_insync_replicas", "most_insync_replicas").alias("min_insync_replicas"),
    )


def registrations(rows: RunRows) -> DataFrame:
    """Whether each broker (its index) is registered, from 0 to the end of the run."""
    changes = rows.of_kind("broker_state", "broker", "state")
    changes = changes.withColumn("registered", f.col("state") != int(BROKER_ABSENT)).drop("state")
    before = from_the_beginning(rows.topology.brokers.select("run", "broker", "registered"))
    return tiled(before.unionByName(changes), rows.topology.ends, ("run", "broker"))


def _with_registrations(rows: RunRows, states: DataFrame) -> DataFrame:
    """States cut where their leader's broker registers or is gone, and which it is."""
    leaders = registrations(rows).withColumnRenamed("broker", "leader")
    led = overlaid(states.where("leader is not null"), leaders, ("run", "leader"))
    return led.unionByName(states.where("leader is null"), allowMissingColumns=True)


def _terms(rows: RunRows) -> DataFrame:
    """The actual leader of each partition (an index, null for none), and its epoch."""
    led = rows.of_kind("became_leader", "partition", "leader_epoch").withColumnsRenamed(
        {"leader_epoch": "led_epoch"}
    )
    left = [rows.of_kind(kind, "partition") for kind in _LEAVES]
    stops = rows.of_kind("broker_stopped").withColumn("broker", f.col("process"))
    left.append(stops.join(rows.topology.slots, ["run", "broker"]).drop("broker"))
    changes = led.withColumn("led_by", f.col("process"))
    for leaves in left:
        changes = changes.unionByName(leaves, allowMissingColumns=True)
    before = Window.partitionBy(*_KEYS).orderBy(*ORDER).rowsBetween(Window.unboundedPreceding, -1)
    last_leader = f.last("led_by", ignorenulls=True).over(before)
    # Another broker that follows or dies ends no term.
    own = changes.withColumn("_last", last_leader).where("led_by is not null or process = _last")
    nobody = from_the_beginning(rows.topology.partitions.select(*_KEYS))
    return tiled(
        own.drop("_last").unionByName(nobody, allowMissingColumns=True), rows.topology.ends, _KEYS
    )


def _with_pauses(rows: RunRows, terms: DataFrame) -> DataFrame:
    """Terms cut where their leader is paused or resumes: a paused broker leads no partition."""
    leaders = pauses(rows).withColumnRenamed("broker", "led_by")
    led = overlaid(terms.where("led_by is not null"), leaders, ("run", "led_by"))
    led = led.withColumn("led_epoch", f.when(~f.col("paused"), f.col("led_epoch")))
    everywhere = led.drop("paused").unionByName(terms.where("led_by is null"))
    return everywhere.drop("led_by")


def pauses(rows: RunRows) -> DataFrame:
    """Whether each broker (its index) is stopped by a pause, from 0 to the end of the run.

    A pause hits a process: it is over when its fault is, or when that process is gone.
    """
    faults = [
        rows.of_kind(kind, "fault", "fault_kind")
        .where(f.col("fault_kind") == int(PAUSE))
        .drop("fault_kind")
        for kind in ("fault_began", "fault_ended")
    ]
    changes = (
        faults[0].withColumn("by", f.lit(1)).unionByName(faults[1].withColumn("by", f.lit(-1)))
    )
    for kind, lives in (
        ("broker_loading", True),
        ("broker_started", True),
        ("broker_stopped", False),
    ):
        life = rows.of_kind(kind).withColumn("lives", f.lit(lives))
        changes = changes.unionByName(life, allowMissingColumns=True)
    brokers = rows.topology.brokers.select("run", "broker")
    changes = changes.withColumn("broker", f.col("process")).join(brokers, ["run", "broker"])

    in_order = Window.partitionBy("run", "broker").orderBy(*ORDER)
    of_life = Window.partitionBy("run", "broker", "life").orderBy(*ORDER)
    of_fault = Window.partitionBy("run", "broker", "life", "fault").orderBy(*ORDER)
    stopped = f.when(~f.col("lives"), 1).otherwise(0)
    counted = (
        changes.withColumn("life", f.sum(stopped).over(in_order))
        .withColumn("alive", f.last("lives", ignorenulls=True).over(in_order))
        .withColumn("begins", f.coalesce(f.expr("by = 1 and alive"), f.lit(col=False)))
        .withColumn("ends", f.expr("by = -1") & f.lag("begins").over(of_fault))
        .withColumn("step", f.expr("case when begins then 1 when ends then -1 else 0 end"))
        .withColumn("paused", f.sum("step").over(of_life) > 0)
    )
    nobody = from_the_beginning(brokers).withColumn("paused", f.lit(col=False))
    all_changes = counted.select("run", "broker", *ORDER, "paused").unionByName(nobody)
    return tiled(all_changes, rows.topology.ends, ("run", "broker"))


PARTITION_STATES = ResultTable(
    "partition_states",
    "one state of a partition; its states cover the time of its existence without gaps",
    _COLUMNS,
    lambda rows: rows.topology.with_names(rows.shared(partition_states)),
)
