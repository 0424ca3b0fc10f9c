"""The state of every partition over time: in the control plane, and in its processes.

The states of a partition tile the time that it exists, without gaps and overlaps. The intervals of
ISRs, of leaders and of unavailability are derived from them, and so are all figures in
partition-seconds, whose meanings are defined in ``traces/checks/figures.py``.
"""

# ruff: noqa: S608 - queries are put together from texts of this room

from tidegauge.analysis.tables import result_table
from tidegauge.analysis.tables.dialect import FROM_THE_BEGINNING, IN_ORDER, overlaid, tiled
from tidegauge.simulation.faults import PAUSE
from tidegauge.simulation.trace_rows.codes import (
    BROKER_ABSENT,
    BROKER_FENCED,
    STATE_CREATED,
    STATE_DELETED,
)

_KEYS = ("run", "partition")
_HELD = ("leader", "leader_epoch", "isr")

#: The control plane's state of each partition, while it exists; ``leader``: an index.
_HELD_STATES = result_table.View(
    "held_states",
    f"""
    select h.run, h.partition, h.begin_us, h.end_us,
        case when leader >= 0 then leader end as leader, leader_epoch,
        replica_count(isr) as in_sync, replica_ids(isr, slot_ids) as isr
    from ({tiled("partition_state", _KEYS, ("change", *_HELD))}) as h
    join partitions as p on p.run = h.run and p.partition = h.partition
    where change <> {int(STATE_DELETED)}
    """,
    key=("run", "partition", "begin_us"),
)

#: The effective min.insync.replicas of each partition: it can be altered in a run.
_NEEDS = result_table.View(
    "needs",
    f"""
    select run, partition, begin_us, end_us,
        least(min_insync_replicas, most_insync_replicas) as min_insync_replicas
    from ({
        tiled(
            f'''(
            select run, partition, min_insync_replicas, most_insync_replicas, {FROM_THE_BEGINNING}
            from partitions
            union all
            select p.run, p.partition, t.min_insync_replicas, p.most_insync_replicas,
                t.time_us, t.process, t.sequence, t.minor
            from topic_configured as t
            join partitions as p on p.run = t.run and p.topic_number = t.topic
            )''',
            _KEYS,
            ("min_insync_replicas", "most_insync_replicas"),
        )
    }) as needed
    """,
)

#: Whether each broker (its index) is registered and not fenced, from 0 to the end of the run.
REGISTRATIONS = result_table.View(
    "registrations",
    tiled(
        f"""(
        select run, broker, registered, {FROM_THE_BEGINNING} from brokers
        union all
        select run, broker, state not in ({int(BROKER_ABSENT)}, {int(BROKER_FENCED)}) as registered,
            {IN_ORDER}
        from broker_state
        )""",
        ("run", "broker"),
        ("registered",),
    ),
)

#: Terms end with any of these rows of the partition's leader.
_LEAVES = ("became_follower", "replica_stopped", "log_deleted")

#: The actual leader of each partition (an index, null for none), and its epoch.
_TERMS = result_table.View(
    "terms",
    tiled(
        f"""(
        select run, partition, {IN_ORDER}, led_epoch, led_by from (
            select *, last_value(led_by) ignore nulls over (
                partition by run, partition order by {IN_ORDER}
                rows between unbounded preceding and 1 preceding
            ) as last_leader
            from (
                select run, partition, {IN_ORDER}, leader_epoch as led_epoch, process as led_by
                from became_leader
                {
            " ".join(
                f'''union all
                select run, partition, {IN_ORDER}, cast(null as bigint), cast(null as bigint)
                from {kind}'''
                for kind in _LEAVES
            )
        }
                union all
                select b.run, s.partition, b.time_us, b.process, b.sequence, b.minor,
                    cast(null as bigint), cast(null as bigint)
                from broker_stopped as b
                join slots as s on s.run = b.run and s.broker = b.process
            ) as changes
        ) as those
        -- Another broker that follows or dies ends no term.
        where led_by is not null or process = last_leader
        union all
        select run, partition, {FROM_THE_BEGINNING}, null, null from partitions
        )""",
        _KEYS,
        ("led_by", "led_epoch"),
    ),
)

#: Whether each broker (its index) is stopped by a pause, from 0 to the end of the run. A pause hits
#: a process: it is over when its fault is, or when that process is gone.
PAUSES = result_table.View(
    "pauses",
    tiled(
        f"""(
        with changes as (
            select c.run, c.process as broker, c.time_us, c.process, c.sequence, c.minor,
                c.fault, c.change, c.lives
            from (
                select run, {IN_ORDER}, fault, 1 as change, cast(null as boolean) as lives
                from fault_began where fault_kind = {int(PAUSE)}
                union all
                select run, {IN_ORDER}, fault, -1, null
                from fault_ended where fault_kind = {int(PAUSE)}
                union all
                select run, {IN_ORDER}, null, null, true from broker_loading
                union all
                select run, {IN_ORDER}, null, null, true from broker_started
                union all
                select run, {IN_ORDER}, null, null, false from broker_stopped
            ) as c
            join brokers as b on b.run = c.run and b.broker = c.process
        ),
        lived as (
            select *,
                sum(case when not lives then 1 else 0 end) over in_order as life,
                last_value(lives) ignore nulls over in_order as alive
            from changes
            window in_order as (partition by run, broker order by {IN_ORDER})
        ),
        begun as (
            select *, coalesce(change = 1 and alive, false) as begins from lived
        ),
        stepped as (
            select *,
                case
                    when begins then 1
                    when change = -1 and lag(begins) over (
                        partition by run, broker, life, fault order by {IN_ORDER}
                    ) then -1
                    else 0
                end as step
            from begun
        )
        select run, broker, {IN_ORDER},
            sum(step) over (partition by run, broker, life order by {IN_ORDER}) > 0 as paused
        from stepped
        union all
        select run, broker, {FROM_THE_BEGINNING}, false from brokers
        )""",
        ("run", "broker"),
        ("paused",),
    ),
)

#: The number of replicas that each partition is to have. A topic that is created again has the
#: replicas that it began with.
_WANTED = result_table.View(
    "wanted_replicas",
    tiled(
        f"""(
        select run, partition, replica_count as replicas, {FROM_THE_BEGINNING} from partitions
        union all
        select run, partition, replica_count(replicas) - replica_count(adding), {IN_ORDER}
        from partition_replicas
        union all
        select s.run, s.partition, p.replica_count, s.time_us, s.process, s.sequence, s.minor
        from partition_state as s
        join partitions as p on p.run = s.run and p.partition = s.partition
        where change = {int(STATE_CREATED)}
        )""",
        _KEYS,
        ("replicas",),
    ),
)

_STATES = ("leader", "leader_epoch", "isr", "in_sync", "min_insync_replicas", "replicas")

#: States of partitions, cut where their leader's broker registers or is gone.
_REGISTERED_STATES = result_table.View(
    "registered_states",
    f"""
    with held as ({overlaid("held_states", "needs", _KEYS, _STATES[:4], _STATES[4:5])}),
    states as ({overlaid("held", "wanted_replicas", _KEYS, _STATES[:5], _STATES[5:])})
    {
        overlaid(
            "states",
            "(select run, broker as leader, registered, begin_us, end_us from registrations)",
            ("run", "leader"),
            ("partition", *_STATES[1:]),
            ("registered",),
            whole=True,
        )
    }
    """,
)

#: Terms cut where their leader is paused or resumes: a paused broker leads no partition.
_LED = result_table.View(
    "led",
    f"""
    select run, partition, begin_us, end_us, case when not paused then led_epoch end as led_epoch,
        case when not paused then led_by end as led_by
    from ({
        overlaid(
            "terms",
            "(select run, broker as led_by, paused, begin_us, end_us from pauses)",
            ("run", "led_by"),
            ("partition", "led_epoch"),
            ("paused",),
            whole=True,
        )
    }) as led_by_somebody
    """,
)

PARTITION_STATES = result_table.ResultTable(
    "partition_states",
    "one state of a partition; its states cover the time of its existence without gaps",
    (
        result_table.RUN,
        *result_table.PARTITION,
        *result_table.INTERVAL,
        result_table.Column(
            "leader", "bigint", "broker id", "the leader in the control plane; null: none"
        ),
        result_table.Column("leader_epoch", "bigint", "", "the leader epoch in the control plane"),
        result_table.Column(
            "isr", "array<bigint>", "broker id", "the ISR in the control plane, in its order"
        ),
        result_table.Column("in_sync", "bigint", "replicas", "number of members of the ISR"),
        result_table.Column(
            "min_insync_replicas", "bigint", "replicas", "the effective min.insync.replicas"
        ),
        result_table.Column(
            "replicas", "bigint", "replicas", "how many it is to have; not those being added"
        ),
        result_table.Column(
            "offline", "boolean", "", "the control plane names no leader, or one that is gone"
        ),
        result_table.Column(
            "accepting", "boolean", "", "the leader of this epoch runs, and actually leads"
        ),
        result_table.Column(
            "led",
            "boolean",
            "",
            "the leader runs, and leads in this epoch or, until it is notified, in an older one",
        ),
        result_table.Column(
            "under_min_isr", "boolean", "", "there is a leader, and in_sync is below the minimum"
        ),
        result_table.Column(
            "at_min_isr", "boolean", "", "there is a leader, and in_sync is exactly the minimum"
        ),
        result_table.Column("under_replicated", "boolean", "", "in_sync is below replicas"),
    ),
    f"""
    select s.run, s.partition, p.topic, p.topic_partition, s.begin_us, s.end_us,
        b.broker_id as leader, s.leader_epoch, s.isr, s.in_sync, s.min_insync_replicas,
        not coalesce(s.registered, false) as offline,
        led_epoch is not distinct from s.leader_epoch as accepting,
        coalesce(led_by = s.leader, false) as led,
        s.leader is not null and in_sync < s.min_insync_replicas as under_min_isr,
        s.leader is not null and in_sync = s.min_insync_replicas as at_min_isr,
        s.in_sync < s.replicas as under_replicated, s.replicas
    from ({
        overlaid(
            "registered_states", "led", _KEYS, (*_STATES, "registered"), ("led_epoch", "led_by")
        )
    }) as s
    join partitions as p on p.run = s.run and p.partition = s.partition
    left join brokers as b on b.run = s.run and b.broker = s.leader
    """,
    key=("run", "partition", "begin_us"),
)

VIEWS = (_HELD_STATES, _NEEDS, _WANTED, REGISTRATIONS, _TERMS, PAUSES, _REGISTERED_STATES, _LED)
