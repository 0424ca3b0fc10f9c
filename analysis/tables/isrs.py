"""ISRs: intervals of them, of their members and of leaders, and every change one by one.

The intervals are derived from the states of partitions. A change is made by the leader, which
shrinks and expands its ISR, or by the controller.
"""

# ruff: noqa: S608 - queries are put together from texts of this room

from collections.abc import Sequence

from tidegauge.analysis.tables import result_table
from tidegauge.analysis.tables.dialect import merged

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


ISR_INTERVALS = result_table.ResultTable(
    "isr_intervals",
    "one interval in which the control plane held one ISR of a partition",
    (
        result_table.RUN,
        *result_table.PARTITION,
        *result_table.INTERVAL,
        result_table.Column("isr", "array<bigint>", "broker id", "the ISR, in its order"),
        result_table.Column("in_sync", "bigint", "replicas", "number of its members"),
    ),
    _named(merged("partition_states", _KEYS, ("isr", "in_sync")), ("isr", "in_sync")),
    key=("run", "partition", "begin_us"),
)

ISR_MEMBERS = result_table.ResultTable(
    "isr_members",
    "one interval in which one replica was in the ISR without a break",
    (
        result_table.RUN,
        *result_table.PARTITION,
        *result_table.INTERVAL,
        result_table.Column("broker", "bigint", "broker id", "the broker of the replica"),
    ),
    _named(merged(_MEMBERS, (*_KEYS, "broker"), ()), ("broker",)),
    key=("run", "partition", "begin_us", "broker"),
)

LEADER_INTERVALS = result_table.ResultTable(
    "leader_intervals",
    "one interval in which the control plane named one leader in one epoch",
    (
        result_table.RUN,
        *result_table.PARTITION,
        *result_table.INTERVAL,
        result_table.Column("leader", "bigint", "broker id", "the leader; null: none"),
        result_table.Column("leader_epoch", "bigint", "", "its leader epoch"),
    ),
    _named(
        merged("partition_states", _KEYS, ("leader", "leader_epoch")), ("leader", "leader_epoch")
    ),
    key=("run", "partition", "begin_us"),
)

_MOMENT = "time_us, process, sequence"

ISR_CHANGES = result_table.ResultTable(
    "isr_changes",
    "one change of one ISR",
    (
        result_table.RUN,
        *result_table.PARTITION,
        *result_table.MOMENT,
        result_table.Column(
            "change",
            "string",
            "",
            "`shrink` and `expand` by the leader, `removal` by the controller",
        ),
        result_table.Column(
            "by_leader", "bigint", "broker id", "the leader that made it; null: the controller"
        ),
        result_table.Column("leader_epoch", "bigint", "", "the leader epoch in which it was made"),
        result_table.Column("isr", "array<bigint>", "broker id", "the ISR since then"),
        result_table.Column(
            "brokers", "array<bigint>", "broker id", "the brokers that left or joined it"
        ),
        result_table.Column(
            "lag_ms", "bigint", "ms", "shrink: the longest that one of them had not caught up"
        ),
        *result_table.FAULT,
    ),
    f"""
    with changes as (
        select run, partition, {_MOMENT}, 'shrink' as change, leader_epoch, isr, old_isr, lag_ms,
            cast(null as bigint) as replica
        from isr_shrunk
        union all
        select run, partition, {_MOMENT}, 'expand', leader_epoch, isr, old_isr, null, null
        from isr_expanded
        union all
        select run, partition, {_MOMENT}, 'removal', leader_epoch, isr, null, null, replica
        from removed_from_isr
    ),
    listed as (
        select c.run, c.partition, {_MOMENT}, change, leader_epoch, lag_ms, replica, p.topic,
            p.topic_partition, p.slot_ids, replica_ids(isr, p.slot_ids) as isr,
            replica_ids(old_isr, p.slot_ids) as old_isr
        from changes as c
        join partitions as p on p.run = c.run and p.partition = c.partition
    )
    select l.run, l.partition, topic, topic_partition, l.time_us, l.process, l.sequence, change,
        -- The controller is in a process of its own; a leader's process is its broker's index.
        leader.broker_id as by_leader, leader_epoch, isr, lag_ms,
        case change
            when 'shrink' then array_without(old_isr, isr)
            when 'expand' then array_without(isr, old_isr)
            -- The list of this one slot.
            else replica_ids(replica_slot + 1, slot_ids)
        end as brokers,
        causes.fault, causes.fault_name, causes.fault_us, causes.faults
    from (
        select listed.*, slots.slot as replica_slot from listed
        left join slots on slots.run = listed.run and slots.partition = listed.partition
            and slots.broker = listed.replica
    ) as l
    left join brokers as leader on leader.run = l.run and leader.broker = l.process
    left join causes
        on causes.run = l.run and causes.process = l.process and causes.sequence = l.sequence
    """,
    key=("run", "time_us", "process", "sequence"),
)
