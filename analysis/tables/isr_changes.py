"""Every change of an ISR: by its leader, which shrinks and expands it, or by the controller."""

# ruff: noqa: S608 - queries are put together from texts of this room

from __future__ import annotations

from tidegauge.analysis.tables.result_table import (
    FAULT,
    MOMENT,
    PARTITION,
    RUN,
    Column,
    ResultTable,
)

_MOMENT = "time_us, process, sequence"

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
)
