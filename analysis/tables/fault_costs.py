"""The costs of faults: each fault is charged with its own effects, found by their causes.

Faults can overlap, and so do the times of their effects. ``charges`` alone charges an effect to a
fault, and ``charged_outages`` an outage; the rest here counts.

A refused request, or a batch that was given up, is charged as the outage of its partition that it
met; without one, to the faults that were active in processes of this partition.
"""

# ruff: noqa: S608 - queries are put together from texts of this room

from tidegauge.analysis.tables.charged_outages import CHARGED
from tidegauge.analysis.tables.clients import PRODUCE
from tidegauge.analysis.tables.dialect import united
from tidegauge.analysis.tables.elections import PARTS as ELECTION_PARTS
from tidegauge.analysis.tables.result_table import RUN, Column, ResultTable, View

#: A request that an outage delays is refused within a second of its end, and a batch is given up
#: within the default of delivery.timeout.ms.
_WITHIN = """(
    select 'refused' as failure, 1000000 as within_us union all select 'given up', 120000000
)"""

#: The intervals in which a failure of a partition is charged to the outages of a fault.
_OUTAGE_SPANS = View(
    "outage_spans",
    united(
        f"""(
            select run, partition, fault, failure, begin_us, end_us + within_us as end_us
            from charged_outages cross join {_WITHIN}
            where condition in ('offline', 'not_accepting', 'under_min_isr')
        )""",
        ("run", "partition", "fault", "failure"),
    ),
)

#: ... and when to a fault that is active in one of its processes.
_HIT_SPANS = View(
    "hit_spans",
    united(
        f"""(
            select h.run, s.partition, f.part_of as fault, w.failure, h.begin_us,
                h.end_us + w.within_us as end_us
            from faults as h
            join scenario_faults as f on f.run = h.run and f.fault = h.fault
            join slots as s on s.run = h.run and array_contains(h.processes, s.broker)
            cross join {_WITHIN} as w
        )""",
        ("run", "partition", "fault", "failure"),
    ),
)

_MET = """s.run = f.run and s.partition = f.partition and s.failure = f.failure
            and s.begin_us <= f.time_us and f.time_us <= s.end_us"""

#: Sessions that ended by the silence of a broker which a fault had hit, or by its farewell.
_SESSIONS = View(
    "ended_sessions",
    """
    with ends as (
        select run, broker, time_us, time_us - silent_us as silent_from_us from session_expired
        union all
        select run, broker, time_us, time_us from session_closed
    )
    select distinct ends.run, f.part_of as fault, ends.broker, ends.time_us
    from ends
    join faults as hit on hit.run = ends.run and array_contains(hit.processes, ends.broker)
        and hit.begin_us <= ends.time_us and ends.silent_from_us <= hit.end_us
    join scenario_faults as f on f.run = hit.run and f.fault = hit.fault
    join zookeeper_processes as z on z.run = ends.run
    -- A link is of importance if it is the one to ZooKeeper.
    where hit.fault_kind not in ('cut_link', 'slow_link')
        or array_contains(hit.processes, z.process)
    """,
)

#: Effects after start-up, where the figures of the summary begin; a removal counts each replica.
_COUNTED = View(
    "counted_effects",
    """
    select e.*, case when e.effect = 'removal' then coalesce(size(c.brokers), 0) else 1 end as times
    from effects as e
    join beginnings as b on b.run = e.run and e.time_us > b.from_us
    left join uncaused_isr_changes as c
        on c.run = e.run and c.process = e.process and c.sequence = e.sequence
    """,
)

#: The UpdateMetadata requests of controllers.
_METADATA_UPDATES = View(
    "metadata_updates",
    """
    select m.run, m.time_us
    from message as m
    join names on names.run = m.run and names.enumeration = 'message_kind'
        and names.number = m.message_kind and names.name = 'UPDATE_METADATA'
    """,
    is_small=True,
)

VIEWS = (_OUTAGE_SPANS, _HIT_SPANS, _SESSIONS, _COUNTED, _METADATA_UPDATES)

#: The columns of the numbers of changes.
COUNTS = (
    Column("elections", "bigint", "", "leaders elected that differ from those before"),
    Column("unclean_elections", "bigint", "", "... of them not in the ISR"),
    Column("isr_shrinks", "bigint", "", "ISRs shrunk by leaders"),
    Column("isr_expands", "bigint", "", "ISRs expanded by leaders"),
    Column("isr_removals", "bigint", "", "dead replicas taken out by the controller"),
    Column("fenced", "bigint", "", "times that a broker was no longer taken for active"),
    Column("controllers", "bigint", "", "active controllers elected"),
)

#: Effects that are counted, beside elections, and the columns of their numbers.
_NUMBERS = {
    "shrink": "isr_shrinks",
    "expand": "isr_expands",
    "removal": "isr_removals",
    "fence": "fenced",
    "controller": "controllers",
}
_COUNTED_EFFECTS = ("election", *_NUMBERS)
_CHANGES = ", ".join(
    f"sum(case when effect = '{e}' then times else 0 end) as {count}"
    for e, count in _NUMBERS.items()
)

FAULT_SESSIONS = ResultTable(
    "fault_sessions",
    "one session with ZooKeeper that ended while its broker was silent because of a fault",
    (
        RUN,
        *CHARGED,
        Column("broker", "bigint", "broker id", "the broker"),
        Column("time_us", "bigint", "us", "when the session expired, or was closed"),
    ),
    """
    select e.run, e.fault, f.fault_name, b.broker_id as broker, e.time_us
    from ended_sessions as e
    join scenario_faults as f on f.run = e.run and f.fault = e.fault
    join brokers as b on b.run = e.run and b.broker = e.broker
    """,
    key=("run", "time_us", "broker", "fault"),
)

FAULT_OUTAGES = ResultTable(
    "fault_outages",
    "one condition of partitions, as far as it is charged to one fault",
    (
        RUN,
        *CHARGED,
        Column("condition", "string", "", "as in unavailable"),
        Column("partitions", "bigint", "partitions", "partitions that came into it"),
        Column("at_once", "bigint", "partitions", "... at most at the same time"),
        Column("partition_seconds", "double", "partition-seconds", "their time, all together"),
        Column(
            "shared_seconds", "double", "partition-seconds", "... of these shared by other faults"
        ),
        Column("longest_us", "bigint", "us", "the longest time without a break of a partition"),
        Column("begin_us", "bigint", "us", "when the first came into it"),
        Column("over_us", "bigint", "us", "when the last was out of it; null: the run ends first"),
    ),
    """
    with edges as (
        select run, fault, condition, begin_us as time_us, 1 as change from caused_outages
        union all
        select run, fault, condition, end_us, -1 from caused_outages
    ),
    changes as (
        select run, fault, condition, time_us, sum(change) as change
        from edges group by run, fault, condition, time_us
    ),
    counted as (
        select run, fault, condition, sum(change) over (
            partition by run, fault, condition order by time_us
            rows between unbounded preceding and current row
        ) as partitions
        from changes
    ),
    most as (
        select run, fault, condition, max(partitions) as at_once
        from counted group by run, fault, condition
    ),
    whole as (
        select run, fault, condition, count(distinct partition) as partitions,
            sum(end_us - begin_us) / 1e6 as partition_seconds,
            sum(case when is_shared then end_us - begin_us else 0 end) / 1e6 as shared_seconds,
            max(end_us - begin_us) as longest_us,
            min(begin_us) as begin_us, max(end_us) as end_us
        from caused_outages group by run, fault, condition
    )
    select w.run, w.fault, f.fault_name, w.condition, w.partitions, m.at_once,
        w.partition_seconds, w.shared_seconds, w.longest_us, w.begin_us,
        case when w.end_us < runs.ends_us then w.end_us end as over_us
    from whole as w
    join runs on runs.run = w.run
    join most as m on m.run = w.run and m.fault = w.fault and m.condition = w.condition
    join scenario_faults as f on f.run = w.run and f.fault = w.fault
    """,
    key=("run", "fault", "condition"),
)

FAULT_FAILURES = ResultTable(
    "fault_failures",
    "one way in which requests of producers failed, as far as it is charged to one fault",
    (
        RUN,
        *CHARGED,
        Column("failure", "string", "", "`refused` by a broker, or `given up` by the producer"),
        Column("error", "string", "", "Kafka's name of the error; null: send() found no memory"),
        Column("batches", "bigint", "batches", "how many times"),
        Column("records", "bigint", "records", "records that were given up"),
    ),
    f"""
    with failures as (
        select run, partition, time_us, 'refused' as failure, error, 0 as records
        from request_refused where api_key = {PRODUCE}
        union all
        select run, partition, time_us, 'given up', error, records from batch_failed
        union all
        select run, partition, time_us, 'given up', null, records from send_failed
    ),
    outages as (
        select f.*, s.fault from failures as f left join outage_spans as s on {_MET}
    )
    select f.run, c.fault, c.fault_name, f.failure, names.name as error, count(*) as batches,
        sum(f.records) as records
    from outages as f
    left join hit_spans as s on f.fault is null and {_MET}
    join scenario_faults as c on c.run = f.run and c.fault = coalesce(f.fault, s.fault)
    left join names on names.run = f.run and names.enumeration = 'error'
        and names.number = f.error
    group by f.run, c.fault, c.fault_name, f.failure, names.name
    """,
    key=("run", "fault", "failure", "error"),
)

#: Parts of the first election that is charged to a fault, which sum to the whole.
PARTS = tuple(part for part in ELECTION_PARTS if part != "first_use_us")

CAUSE_COUNTS = ResultTable(
    "cause_counts",
    "one sort of cause, and the changes of a run that have it: together the figures of its summary",
    (
        RUN,
        Column(
            "cause",
            "string",
            "",
            "`one fault`, `several faults` that share a change, or without a fault: `start-up`, "
            "`preferred election`, `step` of the scenario, `busy controller`, "
            "`load`; of the logs of a real cluster `not in the logs`",
        ),
        *COUNTS,
    ),
    f"""
    with changes as (
        select distinct run, effect, process, sequence, times, case
            when fault is null then reason when is_shared then 'several faults' else 'one fault'
        end as cause
        from counted_effects
    )
    select c.run, c.cause, count_if(c.effect = 'election' and e.is_new) as elections,
        count_if(c.effect = 'election' and e.unclean) as unclean_elections, {_CHANGES}
    from changes as c
    left join elections as e
        on e.run = c.run and e.process = c.process and e.sequence = c.sequence
    where c.effect in {_COUNTED_EFFECTS}
    group by c.run, c.cause
    """,
    key=("run", "cause"),
)

FAULT_COSTS = ResultTable(
    "fault_costs",
    "one fault of the scenario that began, and its effects; a rolling restart with its restarts",
    (
        RUN,
        *CHARGED,
        Column("fault_kind", "string", "", "its kind, as in scenarios"),
        Column("fault_text", "string", "", "its targets, in words"),
        Column("begin_us", "bigint", "us", "when it began first"),
        Column("end_us", "bigint", "us", "when it ended last; null: the run ends first"),
        Column("last_effect_us", "bigint", "us", "the last of its effects; null: it has none"),
        *COUNTS,
        Column("shared", "bigint", "", "... of all these changes, shared by other faults"),
        Column("records_lost", "bigint", "records", "acknowledged records that are lost"),
        Column("first_led_us", "bigint", "us", "when the first new leader took over; null: none"),
        Column("last_led_us", "bigint", "us", "the time of the last one"),
        *(
            Column(part, "bigint", "us", f"of the first election, as in elections: {part}")
            for part in PARTS
        ),
        Column(
            "controller_events",
            "bigint",
            "events",
            "taken by controllers from begin_us to last_effect_us",
        ),
        Column("controller_busy_us", "bigint", "us", "time that controllers worked on them"),
        Column("longest_queued_us", "bigint", "us", "the longest time that one of them waited"),
        Column("notifications", "bigint", "", "isr_change_notifications sent in that time"),
        Column(
            "update_metadata_requests",
            "bigint",
            "",
            "... that arrived in that time; null: not recorded",
        ),
    ),
    f"""
    with began as (
        select h.run, f.part_of as fault, min(h.begin_us) as begin_us, max(h.end_us) as end_us,
            bool_and(h.ended) as ended
        from faults as h
        join scenario_faults as f on f.run = h.run and f.fault = h.fault
        group by h.run, f.part_of
    ),
    changes as (
        select e.run, fault, {_CHANGES},
            sum(case when is_shared and effect in {_COUNTED_EFFECTS} then times else 0 end)
                as shared,
            max(time_us) as last_us
        from counted_effects as e where fault is not null group by e.run, fault
    ),
    charged_elections as (
        select distinct run, process, sequence, fault from counted_effects
        where effect = 'election' and fault is not null
    ),
    elected as (
        select e.run, c.fault, count_if(e.is_new) as elections,
            count_if(e.unclean) as unclean_elections,
            min(case when e.is_new then e.led_us end) as first_led_us,
            max(case when e.is_new then e.led_us end) as last_led_us,
            {", ".join(
                f"min_by(e.{part}, place(e.led_us, e.time_us, e.process, e.sequence))"
                f" filter (where e.is_new and e.led_us is not null) as {part}"
                for part in PARTS
            )}
        from elections as e
        join charged_elections as c
            on c.run = e.run and c.process = e.process and c.sequence = e.sequence
        group by e.run, c.fault
    ),
    losses as (
        select l.run, c.fault, sum(l.records) as records
        from lost as l
        join charges as c on c.run = l.run and c.process = l.began_process
            and c.sequence = l.began_sequence and c.effect = 'loss' and c.fault is not null
        group by l.run, c.fault
    ),
    followed as (
        select b.run, b.fault, b.begin_us, b.end_us, b.ended,
            greatest(c.last_us, e.last_led_us, o.last_us) as last_effect_us
        from began as b
        left join changes as c on c.run = b.run and c.fault = b.fault
        left join elected as e on e.run = b.run and e.fault = b.fault
        left join (
            select run, fault, max(end_us) as last_us from charged_outages group by run, fault
        ) as o on o.run = b.run and o.fault = b.fault
    ),
    windows as (
        select *, greatest(end_us, coalesce(last_effect_us, end_us)) as until_us from followed
    ),
    work as (
        select run, time_us, queued_us, processing_us, 0 as notifications, 0 as requests
        from controller_events
        union all
        select run, time_us, null, null, 1, 0 from notification_sent
        union all
        select run, time_us, null, null, 0, 1 from metadata_updates
    ),
    worked as (
        select w.run, w.fault, count(k.queued_us) as controller_events,
            sum(k.processing_us) as controller_busy_us, max(k.queued_us) as longest_queued_us,
            sum(k.notifications) as notifications, sum(k.requests) as requests
        from windows as w
        join work as k on k.run = w.run and k.time_us >= w.begin_us and k.time_us <= w.until_us
        group by w.run, w.fault
    ),
    recorded as (select distinct run from message_counts)
    select w.run, w.fault, f.fault_name, f.fault_kind, f.fault_text, w.begin_us,
        case when w.ended then w.end_us end as end_us, w.last_effect_us,
        coalesce(e.elections, 0) as elections,
        coalesce(e.unclean_elections, 0) as unclean_elections,
        coalesce(c.isr_shrinks, 0) as isr_shrinks, coalesce(c.isr_expands, 0) as isr_expands,
        coalesce(c.isr_removals, 0) as isr_removals, coalesce(c.fenced, 0) as fenced,
        coalesce(c.controllers, 0) as controllers, coalesce(c.shared, 0) as shared,
        coalesce(l.records, 0) as records_lost,
        e.first_led_us, e.last_led_us, {", ".join(f"e.{part}" for part in PARTS)},
        coalesce(k.controller_events, 0) as controller_events,
        coalesce(k.controller_busy_us, 0) as controller_busy_us,
        coalesce(k.longest_queued_us, 0) as longest_queued_us,
        coalesce(k.notifications, 0) as notifications,
        case when r.run is not null then coalesce(k.requests, 0) end as update_metadata_requests
    from windows as w
    join scenario_faults as f on f.run = w.run and f.fault = w.fault
    left join changes as c on c.run = w.run and c.fault = w.fault
    left join elected as e on e.run = w.run and e.fault = w.fault
    left join losses as l on l.run = w.run and l.fault = w.fault
    left join worked as k on k.run = w.run and k.fault = w.fault
    left join recorded as r on r.run = w.run
    """,
    key=("run", "fault"),
)  # fmt: skip
