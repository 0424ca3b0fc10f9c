"""The time of partitions in unwanted states, topic by topic.

An interval is one partition in one condition without a break. Percentiles are of intervals, each
one that really occurred.
"""

# ruff: noqa: S608 - queries are put together from texts of these rooms

from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.tables.result_table import RUN, Column
from tidegauge.analysis.tables.unavailable import LABELS

_SQL = f"""
    select run, topic, condition, count(*) as intervals,
        count(distinct partition) as partitions, sum(lasted_us) / 1e6 as total_seconds,
        percentile_disc(0.5) within group (order by lasted_us) as p50_us,
        percentile_disc(0.95) within group (order by lasted_us) as p95_us,
        percentile_disc(0.99) within group (order by lasted_us) as p99_us,
        max(lasted_us) as longest_us,
        max_by(topic_partition, place(lasted_us, partition, begin_us, 0)) as longest_of,
        max_by(begin_us, place(lasted_us, partition, begin_us, 0)) as longest_began_us
    from unavailable where condition <> 'under_replicated' group by run, topic, condition
    order by run, list_position({list(LABELS)}, condition), total_seconds desc, topic,
        condition
"""


UNAVAILABILITY = Question(
    "unavailability",
    "Which topics were stalled, offline or below min.insync.replicas, and for how long at a time?",
    (
        RUN,
        Column("condition", "string", "", "`stalled`, `not_accepting`, `under_min_isr`, ..."),
        Column("topic", "string", "", "the topic"),
        Column(
            "intervals",
            "bigint",
            "",
            "number of intervals of one of its partitions in this condition",
        ),
        Column("partitions", "bigint", "partitions", "number of partitions that ever were"),
        Column("total_seconds", "double", "s", "all intervals: partition-seconds"),
        Column("p50_us", "bigint", "us", "the median of the intervals"),
        Column("p95_us", "bigint", "us", "... 95 of 100"),
        Column("p99_us", "bigint", "us", "... 99 of 100"),
        Column("longest_us", "bigint", "us", "... all"),
        Column("longest_of", "string", "", "the partition of the longest one"),
        Column("longest_began_us", "bigint", "us", "when that began"),
    ),
    lambda _: _SQL,
    "condition by condition, the worst one for clients first; of each, the longest first",
)
