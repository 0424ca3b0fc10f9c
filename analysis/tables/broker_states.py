"""The state of every broker over time: its process, its registration, its leaderships, its returns.

Of a partition two brokers can act as leader at a time, in different epochs.
"""

# ruff: noqa: S608 - queries are put together from texts of this room

from tidegauge.analysis.tables.dialect import (
    FROM_THE_BEGINNING,
    IN_ORDER,
    merged,
    overlaid,
    tiled,
    united,
)
from tidegauge.analysis.tables.result_table import (
    INTERVAL,
    PARTITION,
    RUN,
    Column,
    ResultTable,
    View,
)
from tidegauge.simulation.trace_rows.codes import (
    BROKER_ACTIVE,
    STOP_CLEAN,
    STOP_KILLED,
    STOP_LOG_DIRECTORY,
    STOP_POWER,
)

_KEYS = ("run", "broker")

_LIVES = View(
    "lives",
    tiled(
        f"""(
        select run, broker, 'down' as process_state, {FROM_THE_BEGINNING} from brokers
        union all
        select run, process, 'loading', {IN_ORDER} from broker_loading
        union all
        select run, process, 'up', {IN_ORDER} from broker_started
        union all
        select run, process, 'down', {IN_ORDER} from broker_stopped
        )""",
        _KEYS,
        ("process_state",),
    ),
)

_LIVES_AND_REGISTRATIONS = View(
    "lives_and_registrations",
    f"""
    with paused_lives as ({overlaid("lives", "pauses", _KEYS, ("process_state",), ("paused",))})
    {overlaid("paused_lives", "registrations", _KEYS, ("process_state", "paused"), ("registered",))}
    """,
    key=("run", "broker", "begin_us"),
)

#: When each replica that is assigned was not in the ISR; one that is being added is not expected.
_OUT_OF_ISR = View(
    "out_of_isr",
    """
    select d.run, d.partition, s.broker, d.begin_us,
        least(coalesce(d.end_us, runs.ends_us), runs.ends_us) as end_us
    from described_states as d
    join runs on runs.run = d.run and d.begin_us < runs.ends_us
    join slots as s on s.run = d.run and s.partition = d.partition
        and array_contains(d.replicas, s.broker_id) and not array_contains(d.isr, s.broker_id)
        and not array_contains(d.adding, s.broker_id)
    """,
)

#: The ends of processes that need another start, and not just another attempt at it.
_GONE = ", ".join(
    str(int(stop)) for stop in (STOP_KILLED, STOP_POWER, STOP_CLEAN, STOP_LOG_DIRECTORY)
)

#: Of each broker that came back: when its process began, and when it was in all of its ISRs.
_RETURNS = View(
    "returns",
    f"""
    with stops as (
        select run, process as broker, time_us as down_us,
            lead(time_us) over (partition by run, process order by {IN_ORDER}) as next_down_us
        from broker_stopped where stop in ({_GONE})
    ),
    starts as (
        select s.run, s.broker, s.down_us, s.next_down_us, min(l.time_us) as up_us
        from stops as s
        join broker_loading as l on l.run = s.run and l.process = s.broker
            and l.time_us >= s.down_us and (s.next_down_us is null or l.time_us < s.next_down_us)
        group by s.run, s.broker, s.down_us, s.next_down_us
    ),
    active as (
        select s.run, s.broker, s.up_us, min(b.time_us) as active_us
        from starts as s
        join broker_state as b on b.run = s.run and b.broker = s.broker
            and b.state = {int(BROKER_ACTIVE)} and b.time_us >= s.up_us
            and (s.next_down_us is null or b.time_us < s.next_down_us)
        group by s.run, s.broker, s.up_us
    )
    select a.run, a.broker, a.up_us, coalesce(max(o.end_us), max(a.active_us)) as returned_us
    from active as a
    left join ({united("out_of_isr", ("run", "broker"))}) as o
        on o.run = a.run and o.broker = a.broker
        and o.begin_us <= a.active_us and a.active_us < o.end_us
    group by a.run, a.broker, a.up_us
    """,
)

BROKER_STATES = ResultTable(
    "broker_states",
    "one state of a broker; its states cover the whole run without gaps",
    (
        RUN,
        *INTERVAL,
        Column("broker", "bigint", "broker id", "the broker"),
        Column("process_state", "string", "", "`down`, `loading` its logs, or `up`"),
        Column("paused", "boolean", "", "a fault pauses its process"),
        Column("registered", "boolean", "", "the control plane has it"),
    ),
    f"""
    select s.run, b.broker_id as broker, begin_us, end_us, process_state, paused, s.registered
    from ({
        merged("lives_and_registrations", _KEYS, ("process_state", "paused", "registered"))
    }) as s
    join brokers as b on b.run = s.run and b.broker = s.broker
    """,
    key=("run", "broker", "begin_us"),
)


_LEADER = ("run", "partition", "broker")

#: A term ends with any of these rows of its leader, or with the leader's process.
_LEAVES = ("became_follower", "replica_stopped", "log_deleted", "replica_offline")

_ACTED = View(
    "acted",
    tiled(
        f"""(
        select run, partition, process as broker, leader_epoch, {IN_ORDER} from became_leader
        {
            " ".join(
                f"union all select run, partition, process, null, {IN_ORDER} from {kind}"
                for kind in _LEAVES
            )
        }
        union all
        select b.run, s.partition, b.process, null, b.time_us, b.process, b.sequence, b.minor
        from broker_stopped as b
        join slots as s on s.run = b.run and s.broker = b.process
        )""",
        _LEADER,
        ("leader_epoch",),
    ),
    key=("run", "partition", "broker", "begin_us"),
)

VIEWS = (_LIVES, _LIVES_AND_REGISTRATIONS, _OUT_OF_ISR, _RETURNS, _ACTED)

ACTING_LEADERS = ResultTable(
    "acting_leaders",
    "one interval in which a broker acted as leader of a partition, even after another was elected",
    (
        RUN,
        *PARTITION,
        *INTERVAL,
        Column("leader", "bigint", "broker id", "the broker; its process may be paused"),
        Column("leader_epoch", "bigint", "", "the epoch in which it leads"),
        Column(
            "superseded_us",
            "bigint",
            "us",
            "when the control plane had a later epoch while it led on; null: never",
        ),
        Column("records_lost", "bigint", "records", "acknowledged by it in this epoch, and lost"),
    ),
    f"""
    with terms as (
        {merged("(select * from acted where leader_epoch is not null)", _LEADER, ("leader_epoch",))}
    ),
    superseded as (
        select t.run, t.partition, t.broker, t.begin_us, min(s.time_us) as superseded_us
        from terms as t
        join partition_state as s on s.run = t.run and s.partition = t.partition
            and s.leader_epoch > t.leader_epoch and s.time_us < t.end_us
        group by t.run, t.partition, t.broker, t.begin_us
    ),
    losses as (
        select run, partition, leader, leader_epoch, sum(records) as records
        from lost group by run, partition, leader, leader_epoch
    )
    select t.run, t.partition, p.topic, p.topic_partition, t.begin_us, t.end_us,
        b.broker_id as leader, t.leader_epoch, s.superseded_us,
        coalesce(l.records, 0) as records_lost
    from terms as t
    join partitions as p on p.run = t.run and p.partition = t.partition
    join brokers as b on b.run = t.run and b.broker = t.broker
    left join superseded as s on s.run = t.run and s.partition = t.partition
        and s.broker = t.broker and s.begin_us = t.begin_us
    left join losses as l on l.run = t.run and l.partition = t.partition
        and l.leader = b.broker_id and l.leader_epoch = t.leader_epoch
    """,
    key=("run", "partition", "begin_us", "leader"),
)
