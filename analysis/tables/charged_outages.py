"""The faults that rows and outages of partitions are charged to.

An outage is an interval of ``unavailable``. One that is about the ISR is charged as the leaving of
each replica that is missing as it begins. One of a leader is charged as the first election or new
leader of its partition since it began. Without any it is charged to the faults that are active in
the leader or in ZooKeeper: a pause can be over before the session is. One of clients is charged as
all that stalled meanwhile.

A restart of a rolling restart is a part of that roll.
"""

# ruff: noqa: S608 - queries are put together from texts of this room

from tidegauge.analysis.tables import result_table

#: A change of the control plane is a row of its writer once the response has come.
_TOLD_WITHIN_US = 1_000_000

#: Each consequence with each fault that it is charged to; ``fault`` null: none, for a ``reason``.
_CHARGES = result_table.View(
    "charges",
    """
    select distinct c.run, c.effect, c.partition, c.time_us, c.process, c.sequence, c.reason,
        f.part_of as fault, size(c.faults) > 1 as is_shared
    from causes as c
    left join scenario_faults as f on f.run = c.run and array_contains(c.faults, f.fault)
    """,
    key=("run", "process", "sequence", "effect", "fault"),
)

#: Those within the run: others belong to its liveness phase.
_EFFECTS = result_table.View(
    "effects",
    """
    select c.* from charges as c join runs on runs.run = c.run and c.time_us < runs.ends_us
    """,
)

#: The process of ZooKeeper.
_ZOOKEEPER = result_table.View(
    "zookeeper_processes", "select distinct run, process from session_opened"
)

#: The effects that are the reason of a condition.
_EFFECTS_OF = {
    ("offline", "not_accepting"): ("election", "takeover"),
    ("under_min_isr", "at_min_isr", "under_replicated"): ("shrink", "removal", "election"),
}

_IS_REASON = " or ".join(
    f"r.condition in {conditions} and e.effect in {effects}"
    for conditions, effects in _EFFECTS_OF.items()
)

#: An outage ``r`` meets an effect ``e``, which is sent once the response has come.
_MEETS = f"""e.run = r.run and e.partition = r.partition and e.time_us >= r.since_us
            and e.time_us <= r.end_us + {_TOLD_WITHIN_US} and ({_IS_REASON})"""

#: Outages of partitions, and since when a change can be their reason: several for several replicas.
_REASONS = result_table.View(
    "outage_reasons",
    """
    select run, partition, condition, begin_us, end_us, begin_us as since_us from unavailable
    where condition in ('offline', 'not_accepting')
    union all
    select u.run, u.partition, u.condition, u.begin_us, u.end_us, max(m.end_us)
    from unavailable as u
    join isr_members as m on m.run = u.run and m.partition = u.partition
        and m.begin_us <= u.begin_us
    where u.condition in ('under_min_isr', 'at_min_isr', 'under_replicated')
    group by u.run, u.partition, u.condition, u.begin_us, u.end_us, m.broker
    having max(m.end_us) <= u.begin_us
    """,
)

#: The first change since then.
_MET = result_table.View(
    "outages_met",
    f"""
    select * from (
        select r.run, r.partition, r.condition, r.begin_us, r.end_us, e.fault,
            rank() over (
                partition by r.run, r.partition, r.condition, r.begin_us, r.since_us
                order by e.time_us, e.process, e.sequence
            ) as nth
        from outage_reasons as r
        join effects as e on {_MEETS}
    ) as changes
    where nth = 1
    """,
)

#: All stalls of clients within an outage of theirs, or the last one before it begins to count.
_STALLS_MET = result_table.View(
    "stalls_met",
    """
    select distinct u.run, u.partition, u.condition, u.begin_us, u.end_us, e.fault
    from (
        select u.run, u.partition, u.condition, u.begin_us, u.end_us,
            coalesce(max(e.time_us), u.begin_us) as since_us
        from unavailable as u
        left join effects as e on e.run = u.run and e.partition = u.partition
            and e.effect = u.condition and e.time_us <= u.begin_us
        where u.condition in ('stalled', 'reads_stalled')
        group by u.run, u.partition, u.condition, u.begin_us, u.end_us
    ) as u
    join effects as e on e.run = u.run and e.partition = u.partition and e.effect = u.condition
        and u.since_us <= e.time_us and e.time_us < u.end_us
    """,
)

VIEWS = (_CHARGES, _EFFECTS, _ZOOKEEPER, _REASONS, _MET, _STALLS_MET)

#: The fault of a charge.
CHARGED = (
    result_table.Column("fault", "bigint", "", "its place in the scenario"),
    result_table.Column("fault_name", "string", "", "its name"),
)

CHARGED_OUTAGES = result_table.ResultTable(
    "charged_outages",
    "one interval of unavailable, and one fault that it is charged to",
    (
        result_table.RUN,
        *CHARGED,
        *result_table.PARTITION,
        *result_table.INTERVAL,
        result_table.Column("condition", "string", "", "as in unavailable"),
        result_table.Column("is_shared", "boolean", "", "it is charged to other faults, too"),
    ),
    f"""
    with charged as (
        select run, partition, condition, begin_us, end_us, fault from outages_met
        where fault is not null
        union
        select run, partition, condition, begin_us, end_us, fault from stalls_met
        where fault is not null
        union
        select r.run, r.partition, r.condition, r.begin_us, r.end_us, f.part_of
        from (
            select *, begin_us as since_us from unavailable
            where condition in ('offline', 'not_accepting')
        ) as r
        join partition_states as s on s.run = r.run and s.partition = r.partition
            and s.begin_us <= r.begin_us and r.begin_us < s.end_us
        left join brokers as b on b.run = s.run and b.broker_id = s.leader
        left join zookeeper_processes as z on z.run = r.run
        join faults as h on h.run = r.run and h.begin_us <= r.begin_us and r.begin_us <= h.end_us
            and h.fault_kind <> 'slow_disk'
            and (array_contains(h.processes, b.broker) or array_contains(h.processes, z.process))
        join scenario_faults as f on f.run = h.run and f.fault = h.fault
        where not exists (select 1 from effects as e where {_MEETS})
    )
    select c.run, c.fault, f.fault_name, c.partition, p.topic, p.topic_partition, c.begin_us,
        c.end_us, c.condition,
        count(*) over (partition by c.run, c.partition, c.condition, c.begin_us) > 1 as is_shared
    from charged as c
    join partitions as p on p.run = c.run and p.partition = c.partition
    join scenario_faults as f on f.run = c.run and f.fault = c.fault
    """,
    key=("run", "partition", "condition", "begin_us", "fault"),
)
