"""Refused writes, offline partitions and lost records: a line for each run.

A partition accepts writes of ``acks=all`` while a broker actually leads it and its ISR is not below
min.insync.replicas. Percentages are of all the time that all partitions existed.
"""

from __future__ import annotations

from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.tables.result_table import RUN, Column

_SQL = """
    with existed as (
        select run, sum(end_us - begin_us) / 1e6 as partition_seconds,
            coalesce(
                sum(end_us - begin_us) filter (where not accepting or under_min_isr), 0
            ) / 1e6 as refused
        from partition_states group by run
    )
    select f.*,
        100 * (1 - refused / nullif(partition_seconds, 0)) as writable_percent,
        100 * (1 - partition_seconds_offline / nullif(partition_seconds, 0)) as online_percent,
        1e6 * records_acknowledged_lost / nullif(records_acknowledged, 0) as lost_per_million
    from run_figures as f left join existed on existed.run = f.run
    order by records_acknowledged_lost desc, refused desc, f.run
"""


AVAILABILITY = Question(
    "availability",
    "How much was unavailable, and is any acknowledged record lost?",
    (
        RUN,
        Column("writable_percent", "double", "%", "of partition-seconds: acks=all was accepted"),
        Column("online_percent", "double", "%", "... a leader with a session was named"),
        Column("partition_seconds_offline", "double", "s", "no leader, or one without a session"),
        Column("partition_seconds_not_accepting", "double", "s", "no broker actually led"),
        Column("partition_seconds_under_min_isr", "double", "s", "below min.insync.replicas"),
        Column("records_acknowledged", "bigint", "records", "acknowledged to producers"),
        Column("records_acknowledged_lost", "bigint", "records", "... and missing in the end"),
        Column("lost_per_million", "double", "", "... per million acknowledged"),
        Column(
            "records_acknowledged_unavailable",
            "bigint",
            "records",
            "... of partitions without a leader in the end",
        ),
    ),
    lambda _: _SQL,
)
