"""The number of partitions in each unwanted condition, over time."""

from __future__ import annotations

from tidegauge.analysis.tables.result_table import (
    INTERVAL,
    RUN,
    Column,
    ResultTable,
)

CONDITION_COUNTS = ResultTable(
    "condition_counts",
    "one interval in which the number of partitions in a condition stayed the same, and above 0",
    (
        RUN,
        Column("condition", "string", "", "as in unavailable"),
        *INTERVAL,
        Column("partitions", "bigint", "partitions", "how many were in this condition"),
    ),
    """
    with edges as (
        select run, condition, begin_us as time_us, 1 as change from unavailable
        union all
        select run, condition, end_us, -1 from unavailable
    ),
    changes as (
        select run, condition, time_us, sum(change) as change
        from edges group by run, condition, time_us
    ),
    counted as (
        select run, condition, time_us as begin_us,
            lead(time_us) over (partition by run, condition order by time_us) as end_us,
            sum(change) over (
                partition by run, condition order by time_us
                rows between unbounded preceding and current row
            ) as partitions
        from changes where change <> 0
    )
    select * from counted where partitions > 0
    """,
)
