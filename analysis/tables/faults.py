"""The active times of each fault, in all processes that it hit."""

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
)
