"""All that the control plane holds of each partition, until the very end of the trace.

Figures end with the run, and so do the states in ``partition_states.py``. A cluster is described
after that, too: the liveness phase shows whether it recovers.
"""

# ruff: noqa: S608 - queries are put together from texts of this room

from tidegauge.analysis.tables import result_table
from tidegauge.analysis.tables.dialect import FROM_THE_BEGINNING, IN_ORDER, overlaid, tiled
from tidegauge.simulation.trace_rows.codes import (
    BROKER_ACTIVE,
    BROKER_SHUTTING_DOWN,
    STATE_CREATED,
    STATE_DELETED,
)

_KEYS = ("run", "partition")
_NEVER_US = (1 << 63) - 1

_WHOLE_RUNS = result_table.View(
    "whole_runs",
    f"select run, cast({_NEVER_US} as bigint) as ends_us from runs",
    key=("run",),
)

_HELD = result_table.View(
    "held_to_the_last",
    f"""
    select run, partition, begin_us, end_us, case when leader >= 0 then leader end as leader,
        leader_epoch, isr
    from (
        {tiled("partition_state_to_the_last", _KEYS, ("change", "leader", "leader_epoch", "isr"),
               "whole_runs")}
    ) as h
    where change <> {int(STATE_DELETED)}
    """,
)  # fmt: skip

#: A topic that is created again has the replicas that it began with.
_ASSIGNED = result_table.View(
    "assigned_to_the_last",
    tiled(
        f"""(
        select run, partition, first_replicas as replicas, replica_ids(0, slot_ids) as adding,
            replica_ids(0, slot_ids) as removing, replica_ids(0, slot_ids) as eligible_leaders,
            cast(null as bigint) as last_known_leader, {FROM_THE_BEGINNING}
        from partitions
        union all
        select r.run, r.partition, replica_ids(r.replicas, slot_ids),
            replica_ids(r.adding, slot_ids), replica_ids(r.removing, slot_ids),
            replica_ids(r.eligible_leaders, slot_ids),
            case when r.last_known_leader >= 0 then r.last_known_leader end,
            r.time_us, r.process, r.sequence, r.minor
        from partition_replicas_to_the_last as r
        join partitions as p on p.run = r.run and p.partition = r.partition
        union all
        select s.run, s.partition, first_replicas, replica_ids(0, slot_ids),
            replica_ids(0, slot_ids), replica_ids(0, slot_ids), null,
            s.time_us, s.process, s.sequence, s.minor
        from partition_state_to_the_last as s
        join partitions as p on p.run = s.run and p.partition = s.partition
        where change = {int(STATE_CREATED)}
        )""",
        _KEYS,
        ("replicas", "adding", "removing", "eligible_leaders", "last_known_leader"),
        "whole_runs",
    ),
)

_NEEDED = result_table.View(
    "needed_to_the_last",
    tiled(
        f"""(
        select run, partition, least(min_insync_replicas, most_insync_replicas)
            as min_insync_replicas, {FROM_THE_BEGINNING}
        from partitions
        union all
        select p.run, p.partition, least(t.min_insync_replicas, p.most_insync_replicas),
            t.time_us, t.process, t.sequence, t.minor
        from topic_configured_to_the_last as t
        join partitions as p on p.run = t.run and p.topic_number = t.topic
        )""",
        _KEYS,
        ("min_insync_replicas",),
        "whole_runs",
    ),
)

_ACTIVE = result_table.View(
    "active_to_the_last",
    tiled(
        f"""(
        select run, broker as leader, registered as active, {FROM_THE_BEGINNING} from brokers
        union all
        select run, broker, state in ({int(BROKER_ACTIVE)}, {int(BROKER_SHUTTING_DOWN)}),
            {IN_ORDER}
        from broker_state_to_the_last
        )""",
        ("run", "leader"),
        ("active",),
        "whole_runs",
    ),
)

_SAYS = (
    *("leader", "leader_epoch", "isr", "replicas", "adding", "removing", "eligible_leaders"),
    *("last_known_leader", "min_insync_replicas"),
)

_STATES = result_table.View(
    "states_to_the_last",
    f"""
    with assigned as (
        {overlaid("held_to_the_last", "assigned_to_the_last", _KEYS, _SAYS[:3], _SAYS[3:8])}
    ),
    states as ({overlaid("assigned", "needed_to_the_last", _KEYS, _SAYS[:8], _SAYS[8:])})
    {overlaid(
        "states", "active_to_the_last", ("run", "leader"), ("partition", *_SAYS[1:]), ("active",),
        whole=True,
    )}
    """,
)  # fmt: skip

VIEWS = (_WHOLE_RUNS, _HELD, _ASSIGNED, _NEEDED, _ACTIVE, _STATES)

DESCRIBED_STATES = result_table.ResultTable(
    "described_states",
    "one state of a partition as `describe` prints it; the liveness phase included",
    (
        result_table.RUN,
        *result_table.PARTITION,
        result_table.Column("begin_us", "bigint", "us", "when the interval begins"),
        result_table.Column(
            "end_us", "bigint", "us", "when it ends; null: it lasts as the trace ends"
        ),
        result_table.Column(
            "leader", "bigint", "broker id", "the leader in the control plane; null: none"
        ),
        result_table.Column(
            "leader_is_active", "boolean", "", "that broker is registered, and not fenced"
        ),
        result_table.Column("leader_epoch", "bigint", "", "the leader epoch in the control plane"),
        result_table.Column("isr", "array<bigint>", "broker id", "the ISR, in its order"),
        result_table.Column(
            "replicas", "array<bigint>", "broker id", "the assignment, the preferred one first"
        ),
        result_table.Column(
            "adding", "array<bigint>", "broker id", "replicas that a reassignment adds"
        ),
        result_table.Column("removing", "array<bigint>", "broker id", "replicas that it removes"),
        result_table.Column(
            "eligible_leaders", "array<bigint>", "broker id", "eligible leader replicas (KRaft)"
        ),
        result_table.Column(
            "last_known_leader", "bigint", "broker id", "the last leader, if no replica may lead"
        ),
        result_table.Column(
            "min_insync_replicas", "bigint", "replicas", "the effective min.insync.replicas"
        ),
    ),
    f"""
    select s.run, s.partition, p.topic, p.topic_partition, s.begin_us,
        case when s.end_us < {_NEVER_US} then s.end_us end as end_us, b.broker_id as leader,
        coalesce(s.active, false) as leader_is_active, s.leader_epoch,
        replica_ids(s.isr, p.slot_ids) as isr, s.replicas, s.adding, s.removing,
        s.eligible_leaders, l.broker_id as last_known_leader,
        s.min_insync_replicas
    from states_to_the_last as s
    join partitions as p on p.run = s.run and p.partition = s.partition
    left join brokers as b on b.run = s.run and b.broker = s.leader
    left join brokers as l on l.run = s.run and l.broker = s.last_known_leader
    """,
    key=("run", "partition", "begin_us"),
)
