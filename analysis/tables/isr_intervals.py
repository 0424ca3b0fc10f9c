"""Intervals of ISRs, of their members, and of leaders, derived from the states of partitions."""

# ruff: noqa: S608 - queries are put together from texts of this room

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.analysis.tables.interval_queries import merged
from tidegauge.analysis.tables.result_table import (
    INTERVAL,
    PARTITION,
    RUN,
    Column,
    ResultTable,
)

_KEYS = ("run", "partition")

#: Each member of each ISR.
_MEMBERS = """(
    select s.run, s.partition, s.begin_us, s.end_us, slots.broker_id as broker
    from partition_states as s
    join slots on slots.run = s.run and slots.partition = s.partition
        and array_contains(s.isr, slots.broker_id)
)"""


def _named(intervals: str, says: Sequence[str]) -> str:
    """Intervals of partitions with the names of these."""
    columns = ", ".join(f"m.{each}" for each in (*_KEYS, "begin_us", "end_us", *says))
    return f"""
        select {columns}, p.topic, p.topic_partition from ({intervals}) as m
        join partitions as p on p.run = m.run and p.partition = m.partition
    """


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
    _named(merged("partition_states", _KEYS, ("isr", "in_sync")), ("isr", "in_sync")),
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
    _named(merged(_MEMBERS, (*_KEYS, "broker"), ()), ("broker",)),
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
    _named(
        merged("partition_states", _KEYS, ("leader", "leader_epoch")), ("leader", "leader_epoch")
    ),
)
