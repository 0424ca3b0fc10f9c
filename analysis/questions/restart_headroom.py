"""The headroom of partitions above min.insync.replicas during a fault, and afterwards.

Headroom is the size of the ISR less min.insync.replicas. At 0 a partition still takes writes of
``acks=all``, but one more replica that is lost makes it refuse them: below 0. A rolling restart
that is to be safe never lands on 0. The time of a fault lasts until the next one begins, if that is
later than its end.
"""

# ruff: noqa: S608 - queries are put together from texts of these rooms

from tidegauge.analysis.questions.question import FAULT_WINDOWS, Question
from tidegauge.analysis.tables.result_table import RUN, Column

_AT = "headroom = 0"
_BELOW = "headroom < 0"
_LANDED = "headroom <= 0 and not was_so"


def _seconds(holds: str) -> str:
    return f"coalesce(sum(end_us - begin_us) filter (where {holds}), 0) / 1e6"


def _partitions(holds: str) -> str:
    return f"count(distinct partition) filter (where {holds})"


_SQL = f"""
    with fault_times as (
        select run, fault, fault_name, fault_kind, begin_us as from_us,
            greatest(end_us, next_us) as to_us
        from ({FAULT_WINDOWS}) as windows
    ),
    states as (
        select run, partition, topic, topic_partition, begin_us, end_us, offline,
            case when leader is not null then in_sync - min_insync_replicas end as headroom
        from partition_states
    ),
    -- States that only touch the beginning say how it was before.
    touched as (
        select s.*, fault, fault_name, fault_kind, from_us, to_us,
            bool_or(s.begin_us < from_us and coalesce(headroom <= 0, false))
                over (partition by s.run, fault, from_us, partition) as was_so
        from states as s
        join fault_times as t on t.run = s.run and s.begin_us < to_us and from_us <= s.end_us
    ),
    during as (
        select * replace (greatest(begin_us, from_us) as begin_us, least(end_us, to_us) as end_us)
        from touched where from_us < end_us
    ),
    -- By their names, topic by topic: orders-1,4,7.
    concerned as (
        select run, fault, from_us,
            string_agg(topic || '-' || numbers, ' ' order by topic) as partitions
        from (
            select run, fault, from_us, topic,
                string_agg(cast(number as string), ',' order by number) as numbers
            from (
                select distinct run, fault, from_us, topic,
                    cast(substr(topic_partition, length(topic) + 2) as bigint) as number
                from during where ({_LANDED}) or offline
            ) as numbered
            group by run, fault, from_us, topic
        ) as of_topics
        group by run, fault, from_us
    ),
    counted as (
        select run, fault, fault_name, fault_kind, from_us, to_us,
            min(headroom) as least_headroom,
            {_seconds(_AT)} as seconds_at, {_seconds(_BELOW)} as seconds_below,
            {_seconds("offline")} as offline_seconds,
            {_partitions(_AT)} as partitions_at, {_partitions(_BELOW)} as partitions_below,
            {_partitions("offline")} as partitions_offline,
            {_partitions("was_so")} as partitions_before,
            min_by(topic_partition, row(begin_us, headroom, partition, topic_partition))
                filter (where {_LANDED}) as first_partition,
            min(begin_us) filter (where {_LANDED}) as first_us
        from during group by run, fault, fault_name, fault_kind, from_us, to_us
    )
    select c.*, o.partitions,
        case
            when least_headroom < 0
                then 'refused writes: ' || partitions_below || ' partitions below min ISR'
            when least_headroom = 0
                then 'landed on min ISR: ' || partitions_at || ' partitions'
            else 'never landed on min ISR'
        end
        || coalesce(', ' || first_partition || ' first', '')
        || case when partitions_before = 0 then ''
            else ', ' || partitions_before || ' were there before' end
        || case when offline_seconds = 0 then ''
            else '; ' || partitions_offline || ' partitions went offline' end as verdict
    from counted as c
    left join concerned as o on o.run = c.run and o.fault = c.fault and o.from_us = c.from_us
    order by c.run, least_headroom nulls first, seconds_below desc, seconds_at desc, c.from_us,
        c.fault, c.to_us, c.fault_name, c.fault_kind
"""


RESTART_HEADROOM = Question(
    "restart-headroom",
    "How near did each restart or failure bring partitions to min.insync.replicas?",
    (
        RUN,
        Column("fault_name", "string", "", "the fault"),
        Column("fault_kind", "string", "", "its kind: `restart`, `rolling_restart`, `crash`, ..."),
        Column("from_us", "bigint", "us", "when it began"),
        Column(
            "to_us", "bigint", "us", "its end, or the beginning of the next one if that is later"
        ),
        Column("verdict", "string", "", "the result in words"),
        Column(
            "least_headroom", "bigint", "replicas", "ISR less min.insync.replicas, at the least"
        ),
        Column("seconds_at", "double", "s", "partition-seconds at 0: nothing to spare"),
        Column("seconds_below", "double", "s", "... below 0: writes of acks=all are refused"),
        Column("offline_seconds", "double", "s", "... without a leader that has a session"),
        Column("partitions_at", "bigint", "partitions", "that were at 0"),
        Column("partitions_below", "bigint", "partitions", "... below 0"),
        Column("partitions_before", "bigint", "partitions", "... at or below 0 when it began"),
        Column(
            "partitions",
            "string",
            "",
            "those that came to 0, below or offline, by topic: `orders-1,4,7`",
        ),
        Column("first_partition", "string", "", "the first partition at 0 or below"),
        Column("first_us", "bigint", "us", "... and when"),
    ),
    lambda _: _SQL,
    "the least headroom first, then the longest below it",
)
