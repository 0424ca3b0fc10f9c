"""ISRs: intervals of them, of their members and of leaders, and every change one by one.

The intervals are derived from the states of partitions. A change is made by the leader, which
shrinks and expands its ISR, or by the controller.
"""

# ruff: noqa: S608 - queries are put together from texts of this room

from collections.abc import Sequence

from tidegauge.analysis.tables import result_table
from tidegauge.analysis.tables.dialect import IN_ORDER, merged
from tidegauge.simulation.trace_rows.codes import STATE_CREATED

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

#: Elections with the ISR before each. ZooKeeper's controller writes its row after the state of the
#: partition, a quorum before it.
_ISRS_AT_ELECTIONS = result_table.View(
    "isrs_at_elections",
    f"""
    with every as (
        select run, partition, {IN_ORDER}, leader as by_leader, leader_epoch as in_epoch,
            isr as held_isr, case when change = {int(STATE_CREATED)} then 0 else coalesce(
                lag(isr) over (partition by run, partition order by {IN_ORDER}), 0
            ) end as former_isr,
            cast(null as bigint) as leader, cast(null as bigint) as leader_epoch,
            cast(null as bigint) as version, cast(null as bigint) as isr
        from partition_state
        union all
        select run, partition, {IN_ORDER}, null, null, null, null, leader, leader_epoch, version,
            isr
        from leader_elected
    ),
    held as (
        select run, partition, {IN_ORDER}, leader, leader_epoch, version, isr,
            {
        ", ".join(
            f"last_value({each}) ignore nulls over before as {each}"
            for each in ("by_leader", "in_epoch", "held_isr", "former_isr")
        )
    }
        from every
        window before as (
            partition by run, partition order by {IN_ORDER}
            rows between unbounded preceding and 1 preceding
        )
    )
    select run, partition, {_MOMENT}, leader_epoch, version, isr,
        case when leader = by_leader and leader_epoch = in_epoch then former_isr else held_isr end
            as old_isr
    from held where isr is not null
    """,
)

#: Every change of an ISR, without its cause. A member that its controller takes out is a removal
#: whether that elects a leader or not; of an election with KRaft rows of its own name the members.
_ISR_CHANGES = result_table.View(
    "uncaused_isr_changes",
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
        union all
        select run, partition, {_MOMENT}, 'removal', leader_epoch, isr, old_isr, null, null
        from isrs_at_elections as e
        where not exists (
            select 1 from removed_from_isr as r
            where r.run = e.run and r.partition = e.partition and r.time_us = e.time_us
                and r.version = e.version
        )
    ),
    listed as (
        select c.run, c.partition, c.time_us, c.process, c.sequence, c.change, c.leader_epoch,
            c.lag_ms, p.topic, p.topic_partition, replica_ids(c.isr, p.slot_ids) as isr,
            case
                when c.replica is null then replica_ids(c.old_isr, p.slot_ids)
                -- The list of this one slot.
                else replica_ids(s.slot + 1, p.slot_ids)
            end as others
        from changes as c
        join partitions as p on p.run = c.run and p.partition = c.partition
        left join slots as s on s.run = c.run and s.partition = c.partition
            and s.broker = c.replica
    ),
    told as (
        select *, case when change = 'expand' then array_without(isr, others)
            else array_without(others, isr) end as brokers
        from listed
    )
    -- The last member stays in the ISR as it is lost.
    select run, partition, topic, topic_partition, {_MOMENT}, change, leader_epoch, isr, lag_ms,
        brokers
    from told where change <> 'removal' or size(brokers) > 0
    """,
    key=("run", "process", "sequence"),
)

VIEWS = (_ISRS_AT_ELECTIONS, _ISR_CHANGES)

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
            "`shrink` and `expand` by the leader, `removal` by the controller, also as it elects "
            "another leader",
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
    """
    -- The controller is in a process of its own; a leader's process is its broker's index.
    select c.*, leader.broker_id as by_leader,
        causes.fault, causes.fault_name, causes.fault_us, causes.faults
    from uncaused_isr_changes as c
    left join brokers as leader on leader.run = c.run and leader.broker = c.process
    left join causes
        on causes.run = c.run and causes.process = c.process and causes.sequence = c.sequence
        and causes.effect = c.change
    """,
    key=("run", "time_us", "process", "sequence"),
)
