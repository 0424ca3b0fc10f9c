"""Notifications of ISR changes: their changes, the rule that delayed them, and their cost.

A leader gathers the partitions whose ISRs it has changed. Every 2.5 s it looks, and writes them
all into one notification if the last change is more than 5 s ago, or its last notification more
than 60 s (``replication/isr_update.py``). So the wait of the first change has two
parts: until one of the two became true, and then for the next look.
"""

# ruff: noqa: S608 - queries are put together from texts of this room

from tidegauge.analysis.tables import result_table
from tidegauge.analysis.tables.dialect import IN_ORDER

#: Each notification as it was sent, with its first change.
_BATCHES = result_table.View(
    "notification_batches",
    f"""
    with every as (
        select run, {IN_ORDER}, partition_count, quiet_ms, since_propagation_ms, 1 as ends_batch,
            cast(null as bigint) as change_us
        from notification_sent
        union all
        -- Pending changes of a broker are lost with its process.
        select run, {IN_ORDER}, null, null, null, 1, null from broker_stopped
        union all
        select run, {IN_ORDER}, null, null, null, 0, time_us from isr_shrunk
        union all
        select run, {IN_ORDER}, null, null, null, 0, time_us from isr_expanded
    ),
    batched as (
        select *, coalesce(sum(ends_batch) over (
            partition by run, process order by {IN_ORDER}
            rows between unbounded preceding and 1 preceding
        ), 0) as batch
        from every
    ),
    gathered as (
        select *, min(change_us) over of_batch as first_change_us,
            count(change_us) over of_batch as changes
        from batched
        window of_batch as (partition by run, process, batch)
    )
    select run, time_us, process, sequence, batch, partition_count, since_propagation_ms, changes,
        first_change_us, time_us - quiet_ms * 1000 as last_change_us
    from gathered where partition_count is not null
    """,
)

#: The number that ZooKeeper gave to the znode of each notification.
_NUMBERS = result_table.View(
    "notification_numbers",
    f"""
    with every as (
        select run, {IN_ORDER}, process as told_by, 1 as ends_batch,
            cast(null as bigint) as sequence_number
        from notification_sent
        union all
        select run, {IN_ORDER}, process, 1, null from broker_stopped
        union all
        select c.run, c.time_us, c.writer, c.sequence, c.minor, c.process, 0, c.sequence_number
        from znode_created as c join notification_znodes as n on n.run = c.run
        where c.znode >= n.first_znode
    ),
    batched as (
        select *, sum(ends_batch) over (
            partition by run, process order by time_us, ends_batch desc, told_by, sequence
            rows between unbounded preceding and current row
        ) - 1 as batch
        from every
    )
    select run, process, batch,
        min_by(sequence_number, place(time_us, told_by, sequence, minor)) as notification
    from batched where sequence_number is not null
    group by run, process, batch
    """,
)

#: The first reading of each notification, and the costs of the controller's event.
_READS = result_table.View(
    "notification_reads",
    f"""
    with every as (
        select run, {IN_ORDER}, 1 as begins, queued_us, cast(null as bigint) as processing_us,
            cast(null as bigint) as notification, cast(null as bigint) as partition_count
        from controller_event
        union all
        select run, {IN_ORDER}, 0, null, null, notification, partition_count
        from notification_read
        union all
        select run, {IN_ORDER}, 0, null, processing_us, null, null from controller_event_done
    ),
    numbered as (
        select *, sum(begins) over (
            partition by run, process order by {IN_ORDER}
            rows between unbounded preceding and current row
        ) as event
        from every
    ),
    costed as (
        select *, max(queued_us) over of_event as controller_queued_us,
            max(processing_us) over of_event as controller_processing_us,
            count(notification) over of_event as read_together
        from numbered
        window of_event as (partition by run, process, event)
    ),
    placed as (
        select *, row_number() over (partition by run, notification order by {IN_ORDER}) as nth
        from costed where notification is not null
    )
    select run, notification, time_us as read_us, partition_count as states_read,
        controller_queued_us, controller_processing_us, read_together
    from placed where nth = 1
    """,
)

VIEWS = (_BATCHES, _NUMBERS, _READS)

NOTIFICATIONS = result_table.ResultTable(
    "notifications",
    "one isr_change_notification that a broker wrote",
    (
        result_table.RUN,
        *result_table.MOMENT,
        result_table.Column("broker", "bigint", "broker id", "the leader that wrote it"),
        result_table.Column(
            "notification", "bigint", "", "ZooKeeper's number for its znode; null: never written"
        ),
        result_table.Column(
            "partition_count", "bigint", "partitions", "batch size: partitions with changed ISRs"
        ),
        result_table.Column("changes", "bigint", "", "changes of ISRs that are batched in it"),
        result_table.Column("first_change_us", "bigint", "us", "when the first of them was made"),
        result_table.Column(
            "last_change_us", "bigint", "us", "when the last one was, to the millisecond"
        ),
        result_table.Column(
            "rule", "string", "", "`quiet` (5 s without a change) or `long enough` (60 s)"
        ),
        result_table.Column(
            "rule_us", "bigint", "us", "from the first change until that rule permitted it"
        ),
        result_table.Column(
            "look_us", "bigint", "us", "... until the broker checked, which it does every 2.5 s"
        ),
        result_table.Column("delay_us", "bigint", "us", "both together"),
        result_table.Column(
            "read_us", "bigint", "us", "when a controller had read it; null: never"
        ),
        result_table.Column("to_read_us", "bigint", "us", "from its sending until then"),
        result_table.Column(
            "states_read", "bigint", "partitions", "states that the controller read for it"
        ),
        result_table.Column(
            "read_together", "bigint", "", "notifications that it read in the same event"
        ),
        result_table.Column(
            "controller_queued_us", "bigint", "us", "the wait of that event in the queue"
        ),
        result_table.Column(
            "controller_processing_us", "bigint", "us", "the controller's work on it"
        ),
    ),
    """
    with ruled as (
        select *, last_change_us + notifies_quiet_us as quiet_us,
            greatest(first_change_us,
                time_us - since_propagation_ms * 1000 + notifies_at_most_us) as long_us
        from (
            select s.run, s.time_us, s.process, s.sequence, b.broker_id as broker, w.notification,
                s.partition_count, s.changes, s.last_change_us, s.since_propagation_ms,
                r.notifies_quiet_us, r.notifies_at_most_us,
                least(coalesce(s.first_change_us, s.last_change_us), s.last_change_us)
                    as first_change_us
            from notification_batches as s
            join brokers as b on b.run = s.run and b.broker = s.process
            join notification_rules as r on r.run = s.run and r.broker = s.process
            left join notification_numbers as w
                on w.run = s.run and w.process = s.process and w.batch = s.batch
        ) as sent
    ),
    timed as (
        select *, case when quiet_us <= long_us then 'quiet' else 'long enough' end as rule,
            -- Clocks of the rules count whole milliseconds: a rule can seem a fraction early.
            greatest(least(quiet_us, long_us, time_us), first_change_us) as ready_us
        from ruled
    )
    select t.*, ready_us - first_change_us as rule_us, time_us - ready_us as look_us,
        time_us - first_change_us as delay_us, r.read_us, r.read_us - time_us as to_read_us,
        r.states_read, r.read_together, r.controller_queued_us, r.controller_processing_us
    from timed as t
    left join notification_reads as r on r.run = t.run and r.notification = t.notification
    """,
    key=("run", "time_us", "process", "sequence"),
)
