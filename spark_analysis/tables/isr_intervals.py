"""Intervals of ISRs, of their members, and of leaders."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tidegauge.spark_analysis.tables.intervals import merged
from tidegauge.spark_analysis.tables.partition_states import partition_states
from tidegauge.spark_analysis.tables.result_table import (
    INTERVAL,
    PARTITION,
    RUN,
    Column,
    ResultTable,
)
from tidegauge.spark_analysis.tables.run_rows import RunRows

_KEYS = ("run", "partition")


def _isr_intervals(rows: RunRows) -> DataFrame:
    same = merged(rows.shared(partition_states), _KEYS, ("isr", "in_sync"))
    return rows.topology.with_names(same)


def _isr_members(rows: RunRows) -> DataFrame:
    states = rows.shared(partition_states)
    members = states.withColumn("broker", f.explode("isr"))
    return rows.topology.with_names(merged(members, (*_KEYS, "broker"), ()))


def _leader_intervals(rows: RunRows) -> DataFrame:
    same = merged(rows.shared(partition_states), _KEYS, ("leader", "leader_epoch"))
    return rows.topology.with_names(same)


ISR_INTERVALS = ResultTable(
    "isr_intervals",
    "one interval in which the control plane held one ISR of a partition",
    (
        RUN,
        *PARTITION,
        *INTERVAL,
        Column("isr", "array<bigint>", "broker id", "the ISR, in its order"),
        Column("in_sync", "bigint", "replicas", "number of its members"),
    ),
    _isr_intervals,
)

ISR_MEMBERS = ResultTable(
    "isr_members",
    "one interval in which one replica was in the ISR without a break",
    (
        RUN,
        *PARTITION,
        *INTERVAL,
        Column("broker", "bigint", "broker id", "the broker of the replica"),
    ),
    _isr_members,
)

LEADER_INTERVALS = ResultTable(
    "leader_intervals",
    "one interval in which the control plane named one leader in one epoch",
    (
        RUN,
        *PARTITION,
        *INTERVAL,
        Column("leader", "bigint", "broker id", "the leader; null: none"),
        Column("leader_epoch", "bigint", "", "its leader epoch"),
    ),
    _leader_intervals,
)
