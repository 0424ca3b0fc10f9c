"""The time until a partition had a leader again, and how close a fault comes to refused writes.

**failover-budget** accounts for every second of a failover, which is all elections of the
controller in the course of one event. Its partitions wait for each other, so the longest wait is
its length; the parts are those of that partition, and sum to its total. An unknown part is null:
without ``trace: all`` the first use is unknown, and a leader that was replaced before it took over
has no takeover.

**restart-headroom** is the size of the ISR less min.insync.replicas, during a fault and afterwards.
At 0 a partition still takes writes of ``acks=all``, but the loss of one more replica makes it
refuse them. A safe rolling restart never lands on 0. The time of a fault lasts until the next one
begins, if that is later than its end.
"""

# ruff: noqa: S608 - queries are put together from texts of these rooms

from tidegauge.analysis.questions.question import FAULT_WINDOWS, Question
from tidegauge.analysis.tables.elections import PARTS
from tidegauge.analysis.tables.result_table import RUN, Column

_OF_SLOWEST = ("topic_partition", "begin_us", *PARTS, "total_us", "fault_name", "trigger_kind")

_BUDGET = f"""
    -- With epoch 0 a new partition gets its first leader: this is no failover.
    with chosen as (
        select * from elections where is_new and leader_epoch > 0
    ),
    failovers as (
        select run, process, taken_us, count(*) as partitions,
            count_if(leader is null) as without_leader,
            percentile_disc(0.5) within group (order by total_us) as p50_us,
            max_by(c, row(led_us is not null, coalesce(total_us, -1), partition, sequence))
                as slowest
        from chosen as c group by run, process, taken_us
    ),
    events as (
        select run, process, time_us, max_by(event, sequence) as event
        from controller_events group by run, process, time_us
    )
    select f.run, partitions, without_leader, p50_us, event,
        {", ".join(f"slowest.{each} as {each}" for each in _OF_SLOWEST)}
    from failovers as f
    left join events as e
        on e.run = f.run and e.process = f.process and e.time_us = f.taken_us
    order by f.run, slowest.total_us desc, f.taken_us, f.process
"""


FAILOVER_BUDGET = Question(
    "failover-budget",
    "How long did each failover take until partitions had a leader again, and which part took "
    "longest?",
    (
        RUN,
        Column(
            "begin_us",
            "bigint",
            "us",
            "the fault began, or ended, or no replica might lead; else the controller was told",
        ),
        Column("fault_name", "string", "", "the fault that led to it; null: none"),
        Column("event", "string", "", "kind of the controller's event; null: its own election"),
        Column(
            "partitions", "bigint", "partitions", "partitions for which it chose another leader"
        ),
        Column("without_leader", "bigint", "partitions", "... of which no replica could lead"),
        Column(
            "total_us", "bigint", "us", "of the slowest partition: the sum of the following parts"
        ),
        Column(
            "detection_us",
            "bigint",
            "us",
            "from the fault until the controller was notified, or had written that none may lead",
        ),
        Column("no_replica_us", "bigint", "us", "... until a replica that may lead was back"),
        Column("notice_us", "bigint", "us", "... until its event was in the queue"),
        Column("queue_us", "bigint", "us", "... until it was taken: the events before it"),
        Column("election_us", "bigint", "us", "... until the new leader was written"),
        Column("takeover_us", "bigint", "us", "... until it took over; null: it never did"),
        Column("first_use_us", "bigint", "us", "... until it was used; null: not recorded"),
        Column("p50_us", "bigint", "us", "total of half of the partitions"),
        Column("topic_partition", "string", "", "the slowest partition"),
        Column("trigger_kind", "string", "", "kind of the row that notified the controller"),
    ),
    lambda _: _BUDGET,
    "the longest first",
)


_AT = "headroom = 0"
_BELOW = "headroom < 0"
_LANDED = "headroom <= 0 and not was_so"


def _seconds(holds: str) -> str:
    return f"coalesce(sum(end_us - begin_us) filter (where {holds}), 0) / 1e6"


def _partitions(holds: str) -> str:
    return f"count(distinct partition) filter (where {holds})"


_HEADROOM = f"""
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
    lambda _: _HEADROOM,
    "the least headroom first, then the longest below it",
)
