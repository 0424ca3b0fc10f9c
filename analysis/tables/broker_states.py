"""The state of every broker over time: its process, its registration, and its return to ISRs."""

# ruff: noqa: S608 - queries are put together from texts of this room

from __future__ import annotations

from tidegauge.analysis.tables.dialect import (
    FROM_THE_BEGINNING,
    IN_ORDER,
    merged,
    overlaid,
    tiled,
    united,
)
from tidegauge.analysis.tables.result_table import INTERVAL, RUN, Column, ResultTable, View
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

_STATES = View(
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

VIEWS = (_LIVES, _STATES, _OUT_OF_ISR, _RETURNS)

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
