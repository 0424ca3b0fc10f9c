"""Stalled and refused writes, offline partitions and lost records.

**availability** has a line for each run. A partition accepts writes of ``acks=all`` while a broker
actually leads it and its ISR is not below min.insync.replicas; accepted writes can still be
stalled, by a follower that does not fetch. Percentages are of all the time that all partitions
existed after start-up.

**unavailability** is the time of partitions in unwanted states, topic by topic. An interval is one
partition in one condition without a break. Percentiles are of intervals, each one that really
occurred.

**lost-records** are acknowledged records that are lost, with the causes. With ``acks=1`` a record
was promised no more than its leader; with ``acks=all`` only an unclean election or a loss of power
breaks the promise. ``cause`` is the handle of the row with which the first leader without the
records began.
"""

# ruff: noqa: S608 - queries are put together from texts of these rooms

from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.tables.result_table import RUN, Column
from tidegauge.analysis.tables.unavailable import LABELS
from tidegauge.replication.in_sync_replicas import ACKS_ALL

_AVAILABLE = """
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
    lambda _: _AVAILABLE,
    "the most lost records first, then the longest without writes",
)


_UNAVAILABLE = f"""
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
    lambda _: _UNAVAILABLE,
    "condition by condition, the worst one for clients first; of each, the longest first",
)


_LOST = f"""
    with promised as (
        select run, acks, sum(records) as acknowledged_so from acknowledged group by run, acks
    ),
    ways as (
        select run, acks, permitted_by, fault_name, trigger_kind, sum(records) as records,
            count(distinct partition) as partitions, count(*) as ranges,
            max_by(l, row(records, -partition, -first_offset, process, sequence)) as example
        from lost as l group by run, acks, permitted_by, fault_name, trigger_kind
    )
    select w.run, w.records, acknowledged_so, partitions, ranges, w.permitted_by, w.fault_name,
        w.trigger_kind, example.topic_partition as topic_partition,
        example.first_offset as first_offset, example.end_offset as end_offset,
        example.leader as leader, example.new_leader as new_leader,
        example.began_us as began_us,
        example.began_process || ':' || example.began_sequence as cause,
        case when w.acks = {int(ACKS_ALL)} then 'all' else cast(w.acks as string) end as acks
    from ways as w join promised as p on p.run = w.run and p.acks = w.acks
    order by w.run, w.records desc, w.acks, topic_partition, first_offset, w.permitted_by,
        w.fault_name, w.trigger_kind
"""


LOST_RECORDS = Question(
    "lost-records",
    "Which acknowledged records are lost, and why?",
    (
        RUN,
        Column("acks", "string", "", "acks of the producer"),
        Column("records", "bigint", "records", "acknowledged, and lost in this way"),
        Column("acknowledged_so", "bigint", "records", "all records acknowledged with these acks"),
        Column("partitions", "bigint", "partitions", "partitions that have lost some of them"),
        Column("ranges", "bigint", "", "contiguous ranges of offsets"),
        Column(
            "permitted_by",
            "string",
            "",
            "the reason that permits the loss; null: it is not permitted",
        ),
        Column("fault_name", "string", "", "the fault that it goes back to; null: none"),
        Column(
            "trigger_kind", "string", "", "kind of the row that notified the new leader's broker"
        ),
        Column("topic_partition", "string", "", "the largest range as an example: its partition"),
        Column("first_offset", "bigint", "", "... its first offset"),
        Column("end_offset", "bigint", "", "... and the offset after its last"),
        Column("leader", "bigint", "broker id", "... the broker that acknowledged it"),
        Column("new_leader", "bigint", "broker id", "... the first leader without it"),
        Column("began_us", "bigint", "us", "... when it began to lead"),
        Column("cause", "string", "", "... for `tidegauge show cause`"),
    ),
    lambda _: _LOST,
    "the most records first",
)
