"""Stalled and refused writes, offline partitions and lost records: a line for each run.

A partition accepts writes of ``acks=all`` while a broker actually leads it and its ISR is not below
min.insync.replicas; what it accepts can still be stalled, by a follower that does not fetch.
Percentages are of all the time that all partitions existed after start-up.
"""

from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.tables.result_table import RUN, Column

_SQL = """
    with states as (
        select s.run, not accepting or under_min_isr as refuses,
            end_us - greatest(begin_us, from_us) as lasted_us
        from partition_states as s
        join (
            select run, cast(1e6 * figures_from_seconds as bigint) as from_us from run_figures
        ) as f on f.run = s.run and s.end_us > f.from_us
    ),
    existed as (
        select run, sum(lasted_us) / 1e6 as partition_seconds,
            coalesce(sum(lasted_us) filter (where refuses), 0) / 1e6 as refused
        from states group by run
    )
    select f.*,
        100 * (1 - refused / nullif(partition_seconds, 0)) as writable_percent,
        100 * (1 - partition_seconds_offline / nullif(partition_seconds, 0)) as online_percent,
        1e6 * records_acknowledged_lost / nullif(records_acknowledged, 0) as lost_per_million
    from run_figures as f left join existed on existed.run = f.run
    order by records_acknowledged_lost desc, coalesce(partition_seconds_stalled, refused) desc,
        refused desc, f.run
"""


AVAILABILITY = Question(
    "availability",
    "How much was unavailable, and is any acknowledged record lost?",
    (
        RUN,
        Column(
            "partition_seconds_stalled", "double", "s", "a producer's batch waited for over 1 s"
        ),
        Column("longest_stall_seconds", "double", "s", "... longest without a break, of one"),
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
        Column("figures_from_seconds", "double", "s", "start-up, before it, does not count"),
    ),
    lambda _: _SQL,
    "the most lost records first, then the longest without writes",
)
