"""The active times of each fault, in all processes that it hit; and the steps of the scenario."""

# ruff: noqa: S608 - queries are put together from texts of this room

from __future__ import annotations

from tidegauge.analysis.tables.interval_queries import IN_ORDER
from tidegauge.analysis.tables.result_table import INTERVAL, RUN, Column, ResultTable

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
        Column("action", "string", "", "what it does, as in scenarios"),
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
