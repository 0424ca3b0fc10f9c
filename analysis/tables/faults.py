"""The active times of each fault, and the service that clients got in them; steps of the scenario.

The service is that of the time from a fault's begin until it is over, and its last effect
(``fault_costs``). The service that producers got in that time is given whatever its cause: faults
that overlap share it. The time before a fault is as long as its own, but at least 10 s and at most
a minute, and begins with the second after the first acknowledgement of the run at the earliest.

A partition that is at or under min ISR although no replica is missing is so by its settings: that
is taken off the outages of a fault.
"""

# ruff: noqa: S608 - queries are put together from texts of this room

from tidegauge.analysis.tables.charged_outages import CHARGED
from tidegauge.analysis.tables.dialect import IN_ORDER, united
from tidegauge.analysis.tables.result_table import INTERVAL, RUN, Column, ResultTable, View

# A step can begin a fault again: each time that it is on anywhere is a span of its own.
_FAULTS = f"""
    with changes as (
        select run, fault, process, time_us, sequence, minor, 1 as change from fault_began
        union all
        select run, fault, process, time_us, sequence, minor, -1 as change from fault_ended
    ),
    counted as (
        select *, sum(change) over (partition by run, fault order by {IN_ORDER}) as still_on
        from changes
    ),
    numbered as (
        select *, sum(case when still_on - change = 0 then 1 else 0 end) over (
            partition by run, fault order by {IN_ORDER}
        ) as span
        from counted
    ),
    spans as (
        select run, fault, span, min(time_us) as began_us,
            max(case when still_on = 0 then time_us end) as over_us,
            sorted_set(process) as processes
        from numbered group by run, fault, span
    )
    select spans.run, spans.fault, fault_name, fault_kind, fault_text, processes,
        began_us as begin_us, least(coalesce(over_us, ends_us), ends_us) as end_us,
        over_us is not null and over_us <= ends_us as ended
    from spans
    join runs on runs.run = spans.run
    join scenario_faults as f on f.run = spans.run and f.fault = spans.fault
    where began_us < ends_us
"""


FAULTS = ResultTable(
    "faults",
    "one active time of a fault of the scenario",
    (
        RUN,
        *INTERVAL,
        Column(
            "fault", "bigint", "", "its place in the scenario; after these the restarts of rolls"
        ),
        Column("fault_name", "string", "", "its name"),
        Column("fault_kind", "string", "", "its kind, as in scenarios"),
        Column("fault_text", "string", "", "its targets, in words"),
        Column(
            "ended", "boolean", "", "it ended before the run; else end_us is the end of the run"
        ),
        Column("processes", "array<bigint>", "", "the processes that it hit"),
    ),
    _FAULTS,
    key=("run", "begin_us", "fault"),
)

STEPS = ResultTable(
    "steps",
    "one step of the scenario",
    (
        RUN,
        Column("step", "bigint", "", "its place in the scenario"),
        Column("action", "string", "", "its action, as in scenarios"),
        Column("step_text", "string", "", "the same with its fields"),
        Column("awaited_us", "bigint", "us", "when the step before it was taken; 0 for the first"),
        Column("taken_us", "bigint", "us", "when it was taken; null: never"),
        Column("over_us", "bigint", "us", "when its request had its response; null: it has none"),
        Column("waited_us", "bigint", "us", "for its time or condition: taken_us - awaited_us"),
        Column("lasted_us", "bigint", "us", "over_us - taken_us"),
        Column("outcome", "string", "", "`taken`, `timed out`, `unanswered`, or Kafka's error"),
    ),
    f"""
    with taken as (
        select run, step, min(time_us) as taken_us from step_taken group by run, step
    ),
    late as (select run, step, min(time_us) as late_us from step_timed_out group by run, step),
    answers as (
        select run, step, {IN_ORDER}, error, true as came from step_answered
        union all
        select run, step, {IN_ORDER}, error, false from step_unanswered
    ),
    answered as (
        select run, step, max(time_us) as over_us,
            max_by(error, place({IN_ORDER})) as error, max_by(came, place({IN_ORDER})) as came
        from answers group by run, step
    ),
    timed as (
        select s.run, s.step, s.action, s.step_text, t.taken_us, l.late_us, a.over_us, a.error,
            a.came, lag(coalesce(t.taken_us, l.late_us), 1, 0) over (
                partition by s.run order by s.step
            ) as awaited_us
        from scenario_steps as s
        left join taken as t on t.run = s.run and t.step = s.step
        left join late as l on l.run = s.run and l.step = s.step
        left join answered as a on a.run = s.run and a.step = s.step
    )
    select t.run, step, action, step_text, awaited_us, taken_us, over_us,
        taken_us - awaited_us as waited_us, over_us - taken_us as lasted_us,
        case
            when late_us is not null then 'timed out'
            when came then names.name
            when not came then 'unanswered'
            when taken_us is not null then 'taken'
        end as outcome
    from timed as t
    left join names on names.run = t.run and names.enumeration = 'error'
        and names.number = t.error
    """,
    key=("run", "step"),
)

_LEAST_BEFORE_US, _MOST_BEFORE_US = 10_000_000, 60_000_000

_STANDING = View(
    "standing_conditions",
    " union all ".join(
        f"select distinct run, partition, '{condition}' as condition from partition_states"
        f" where {condition} and in_sync >= replicas"
        for condition in ("under_min_isr", "at_min_isr")
    ),
)

#: The outages that are charged to faults, without those that settings cause.
_CAUSED = View(
    "caused_outages",
    """
    select c.* from charged_outages as c
    left join standing_conditions as s on s.run = c.run and s.partition = c.partition
        and s.condition = c.condition
    where s.run is null
    """,
)

#: Acknowledgements to producers: members of consumer groups commit their offsets besides.
_PRODUCED = View(
    "produced",
    """
    select a.run, a.begin_us, a.end_us, sum(a.records) as records
    from acknowledgements as a
    join partitions as p on p.run = a.run and p.partition = a.partition and p.is_written
    group by a.run, a.begin_us, a.end_us
    """,
)

#: The time of each fault.
_WINDOWS = View(
    "fault_times",
    """
    select c.run, c.fault, c.fault_name, c.begin_us, least(runs.ends_us, greatest(
        coalesce(c.end_us, runs.ends_us), coalesce(c.last_effect_us, c.begin_us)
    )) as until_us
    from fault_costs as c join runs on runs.run = c.run
    """,
)

#: The same, and the time before, each cut to whole seconds, or to the times between samples.
_SPANS = View(
    "fault_spans",
    f"""
    with acknowledged_times as (
        select run, min(begin_us) as first_us, max(end_us - begin_us) as each_us
        from produced group by run
    ),
    spans as (
        select run, fault, 'during' as part, begin_us, until_us from fault_times
        union all
        select run, fault, 'before', begin_us - least({_MOST_BEFORE_US},
            greatest({_LEAST_BEFORE_US}, until_us - begin_us)), begin_us
        from fault_times
    )
    select s.run, s.fault, s.part, a.each_us, s.begin_us, s.until_us,
        greatest(
            a.first_us + a.each_us, s.begin_us + (a.each_us - s.begin_us % a.each_us) % a.each_us
        ) as from_us,
        s.until_us - s.until_us % a.each_us as to_us
    from spans as s join acknowledged_times as a on a.run = s.run
    """,
)

VIEWS = (_STANDING, _CAUSED, _PRODUCED, _WINDOWS, _SPANS)


def _of_each(name: str) -> str:
    """A figure of the time of a fault, and of that before."""
    return (
        f"max(case when part = 'during' then {name} end) as {name},"
        f" max(case when part = 'before' then {name} end) as before_{name}"
    )


_PER_SECOND = "records of all topics that producers write to"
_BATCH = "from the moment when a send was made until its outcome"

FAULT_SERVICE = ResultTable(
    "fault_service",
    "one fault of the scenario that began, and the service of clients and controllers during it",
    (
        RUN,
        *CHARGED,
        Column("begin_us", "bigint", "us", "when it began first"),
        Column("until_us", "bigint", "us", "when it was over, and its last effect"),
        Column("acknowledged_per_second", "double", "records/s", f"{_PER_SECOND}, during it"),
        Column("before_acknowledged_per_second", "double", "records/s", "... before it began"),
        Column("silent_us", "bigint", "us", "time without any acknowledgement during it"),
        Column("before_silent_us", "bigint", "us", "... before it began"),
        Column("batch_us", "bigint", "us", f"{_BATCH}: the mean, during it"),
        Column("before_batch_us", "bigint", "us", "... before it began"),
        Column("longest_batch_us", "bigint", "us", "... the longest, during it"),
        Column("before_longest_batch_us", "bigint", "us", "... before it began"),
        Column(
            "controller_less_us",
            "bigint",
            "us",
            "time during it in which no process that runs was the active controller",
        ),
    ),
    f"""
    with acknowledged_in as (
        select s.run, s.fault, s.part, sum(a.records) as records,
            count(*) as spans
        from fault_spans as s
        join produced as a on a.run = s.run and s.from_us <= a.begin_us
            and a.begin_us < s.to_us
        group by s.run, s.fault, s.part
    ),
    throughput as (
        select s.run, s.fault, s.part,
            1e6 * coalesce(a.records, 0) / (s.to_us - s.from_us) as acknowledged_per_second,
            s.to_us - s.from_us - coalesce(a.spans, 0) * s.each_us as silent_us
        from fault_spans as s
        left join acknowledged_in as a on a.run = s.run and a.fault = s.fault and a.part = s.part
        where s.from_us < s.to_us
    ),
    latency as (
        select s.run, s.fault, s.part,
            cast(round(sum(p.taken_us) / sum(p.batches)) as bigint) as batch_us,
            max(p.longest_us) as longest_batch_us
        from fault_spans as s
        join producer_sampled_to_the_last as p on p.run = s.run and s.begin_us < p.time_us
            and p.time_us <= s.until_us
        group by s.run, s.fault, s.part
    ),
    sent as (
        select run, fault, {_of_each("acknowledged_per_second")}, {_of_each("silent_us")}
        from throughput group by run, fault
    ),
    waited as (
        select run, fault, {_of_each("batch_us")}, {_of_each("longest_batch_us")}
        from latency group by run, fault
    ),
    controlled as (
        select t.run, t.fault,
            sum(least(w.end_us, t.until_us) - greatest(w.begin_us, t.begin_us)) as worked_us
        from fault_times as t
        join ({united("working_controllers", ("run",))}) as w
            on w.run = t.run and w.begin_us < t.until_us and t.begin_us < w.end_us
        group by t.run, t.fault
    )
    select t.*, s.acknowledged_per_second, s.before_acknowledged_per_second, s.silent_us,
        s.before_silent_us, w.batch_us, w.before_batch_us, w.longest_batch_us,
        w.before_longest_batch_us,
        t.until_us - t.begin_us - coalesce(c.worked_us, 0) as controller_less_us
    from fault_times as t
    left join sent as s on s.run = t.run and s.fault = t.fault
    left join waited as w on w.run = t.run and w.fault = t.fault
    left join controlled as c on c.run = t.run and c.fault = t.fault
    """,
    key=("run", "fault"),
)

FAULT_TOPICS = ResultTable(
    "fault_topics",
    "one topic that a fault concerned: it is charged with an outage, an election or another ISR",
    (
        RUN,
        *CHARGED,
        Column("topic", "string", "", "the topic"),
        Column("partitions", "bigint", "partitions", "the number of them"),
    ),
    """
    select c.run, c.fault, f.fault_name, p.topic, count(distinct c.partition) as partitions
    from (
        select run, fault, partition from caused_outages
        union all
        select run, fault, partition from effects where fault is not null
    ) as c
    join partitions as p on p.run = c.run and p.partition = c.partition
    join scenario_faults as f on f.run = c.run and f.fault = c.fault
    group by c.run, c.fault, f.fault_name, p.topic
    """,
    key=("run", "fault", "topic"),
)
