"""The time until a partition had a leader again: every second of a failover, accounted for.

A failover is all elections of the controller in the course of one event. Its partitions wait for
each other, so the longest wait is its length; the parts are those of that partition, and sum to its
total. An unknown part is null: without ``trace: all`` the first use is unknown, and a leader that
was replaced before it took over has no takeover.
"""

# ruff: noqa: S608 - queries are put together from texts of these rooms

from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.tables.elections import PARTS
from tidegauge.analysis.tables.result_table import RUN, Column

_OF_SLOWEST = ("topic_partition", "begin_us", *PARTS, "total_us", "fault_name", "trigger_kind")

_SQL = f"""
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
    lambda _: _SQL,
    "the longest first",
)
