"""Every change of an ISR: by its leader, which shrinks and expands it, or by the controller."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tidegauge.spark_analysis.tables.causes import with_causes
from tidegauge.spark_analysis.tables.replica_lists import list_members
from tidegauge.spark_analysis.tables.result_table import (
    FAULT,
    MOMENT,
    PARTITION,
    RUN,
    Column,
    ResultTable,
)
from tidegauge.spark_analysis.tables.run_rows import RunRows

#: The names of changes, and the columns of their rows besides ``partition``, ``isr``.
_CHANGES = {
    "shrink": ("isr_shrunk", ("leader_epoch", "old_isr", "lag_ms")),
    "expand": ("isr_expanded", ("leader_epoch", "old_isr")),
    "removal": ("removed_from_isr", ("leader_epoch", "replica")),
}


def _isr_changes(rows: RunRows) -> DataFrame:
    topology = rows.topology
    parts = [
        rows.of_kind(kind, "partition", "isr", *columns).withColumn("change", f.lit(change))
        for change, (kind, columns) in _CHANGES.items()
    ]
    changes = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    changes = topology.with_names(changes)
    changes = topology.with_broker_id(changes, "replica", "removed")
    before, after = (list_members(f.col(isr), f.col("slot_ids")) for isr in ("old_isr", "isr"))
    moved = (
        f.when(f.col("change") == "shrink", f.array_except(before, after))
        .when(f.col("change") == "expand", f.array_except(after, before))
        .otherwise(f.array("removed"))
    )
    # The controller is in a process of its own; a leader's process is its broker's index.
    changes = changes.withColumn("brokers", moved).withColumn("isr", after)
    changes = topology.with_broker_id(changes.withColumn("by", f.col("process")), "by", "by_leader")
    return with_causes(rows, changes)


ISR_CHANGES = ResultTable(
    "isr_changes",
    "one change of one ISR",
    (
        RUN,
        *PARTITION,
        *MOMENT,
        Column(
            "change",
            "string",
            "",
            "`shrink` and `expand` by the leader, `removal` by the controller",
        ),
        Column("by_leader", "bigint", "broker id", "the leader that made it; null: the controller"),
        Column("leader_epoch", "bigint", "", "the leader epoch in which it was made"),
        Column("isr", "array<bigint>", "broker id", "the ISR since then"),
        Column("brokers", "array<bigint>", "broker id", "the brokers that left or joined it"),
        Column("lag_ms", "bigint", "ms", "shrink: the longest that one of them had not caught up"),
        *FAULT,
    ),
    _isr_changes,
)
