"""Elections, and the parts of the time until a partition had a leader again.

The budget of an election is a chain of moments, each not before the one before it:

=============  ==================================================================================
moment         what it is
=============  ==================================================================================
``begin_us``   the fault that led to it began, or ended; without one the same as the next
``none_us``    the control plane wrote that there is no leader, as no replica may lead; if it
               named a leader until the election, the same as the next
``told_us``    the row of another process that notified the controller: ZooKeeper expired a session,
               a broker asked to shut down. The active controller of a quorum notices by itself that
               a broker is silent: then it is ``queued_us``
``queued_us``  the event that led to the election came into the controller's queue
``taken_us``   the controller took it from there
``time_us``    the controller had written the new leader; in KRaft mode it was committed
``led_us``     the new leader took over; null if it never did
``used_us``    it appended its first records, or sent its first fetch response: only a run that
               records single requests (trace level ``all``) has it
=============  ==================================================================================

The parts are the differences, so they sum to the whole by themselves; the whole ends with the
last moment that is known.

The controller handles one event at a time, and the others wait: **controller_events** has each.
"""

# ruff: noqa: S608 - queries are put together from texts of this room

from tidegauge.analysis.tables import result_table
from tidegauge.analysis.tables.dialect import IN_ORDER, ORDER, merged

#: Each part of the budget, and the moments between which it lies.
PARTS = {
    "detection_us": ("begin_us", "none_us"),
    "no_replica_us": ("none_us", "told_us"),
    "notice_us": ("told_us", "queued_us"),
    "queue_us": ("queued_us", "taken_us"),
    "election_us": ("taken_us", "time_us"),
    "takeover_us": ("time_us", "led_us"),
    "first_use_us": ("led_us", "used_us"),
}

#: The active controller of a quorum.
_QUORUM = result_table.View(
    "quorum_processes",
    "select run, process from processes where role = 'quorum controller'",
    key=("run", "process"),
)

#: Elections, each with the event of its controller in whose course it was made. As a controller is
#: elected, it is at work before it takes anything from its queue: when that began, only the end of
#: that work says. In KRaft mode an election is a row at its commit, after its event is done.
_ELECTED = result_table.View(
    "elected_in_events",
    f"""
    with every as (
        select run, {IN_ORDER}, partition, leader, leader_epoch, isr, old_leader, unclean,
            cast(null as bigint) as taken_us, cast(null as bigint) as event_queued_us,
            cast(null as bigint) as begun_us, 0 as is_event
        from leader_elected
        union all
        select run, {IN_ORDER}, null, null, null, null, null, null, time_us, queued_us, null, 1
        from controller_event
        union all
        select d.run, d.time_us, d.process, d.sequence, d.minor, null, null, null, null, null,
            null, null, null, d.time_us - processing_us, 1
        from controller_event_done as d
        left join quorum_processes as q on q.run = d.run and q.process = d.process
        where q.process is null
    ),
    numbered as (
        select *, sum(is_event) over (
            partition by run, process order by {IN_ORDER}
            rows between unbounded preceding and current row
        ) as event
        from every
    ),
    within as (
        select *,
            max(taken_us) over of_event as event_taken_us,
            max(event_queued_us) over of_event as queued_for_us,
            last_value(begun_us) ignore nulls over (
                partition by run, process
                order by {", ".join(f"{each} desc" for each in ORDER)}
                rows between unbounded preceding and current row
            ) as work_begun_us
        from numbered
        window of_event as (partition by run, process, event)
    )
    select run, partition, {IN_ORDER}, leader, leader_epoch, isr, old_leader, unclean,
        coalesce(event_taken_us, work_begun_us, time_us) as taken_us,
        coalesce(queued_for_us, 0) as queued_for_us
    from within where partition is not null
    """,
)

#: When the leader of each term took over, and when it was used first: by an append, or by a fetch
#: response without an error.
_TERM_MOMENTS = result_table.View(
    "term_moments",
    """
    with led as (
        select run, partition, process as leader, leader_epoch, min(time_us) as led_us
        from became_leader group by run, partition, process, leader_epoch
    ),
    terms as (
        select run, partition, process, leader_epoch, sequence, lead(sequence) over (
            partition by run, process, partition order by sequence
        ) as next_sequence
        from became_leader
    ),
    used as (
        select run, partition, leader, leader_epoch, min(time_us) as used_us
        from (
            select run, partition, process as leader, epoch as leader_epoch, time_us
            from appended where leads = 1
            union all
            select t.run, t.partition, t.process, t.leader_epoch, f.time_us
            from terms as t
            join fetch_answered as f on f.run = t.run and f.process = t.process
                and f.partition = t.partition and f.sequence >= t.sequence
                and (t.next_sequence is null or f.sequence < t.next_sequence)
            where f.error = 0
        ) as uses
        group by run, partition, leader, leader_epoch
    )
    select led.*, used.used_us from led
    left join used on used.run = led.run and used.partition = led.partition
        and used.leader = led.leader and used.leader_epoch = led.leader_epoch
    """,
)

#: When the control plane held that a partition has no leader: no replica of it might lead.
_NONE = result_table.View(
    "without_leader",
    merged("(select * from held_states where leader is null)", ("run", "partition"), ()),
)

#: Elections with all moments of their budgets.
_MOMENTS = result_table.View(
    "election_moments",
    """
    with told as (
        select e.*, c.trigger_kind, c.fault, c.fault_name, c.fault_us, c.faults,
            least(
                case
                    when q.process is not null and c.trigger_kind in ('fault_began', 'fault_ended')
                    then e.taken_us - e.queued_for_us
                    else coalesce(c.trigger_us, e.taken_us)
                end,
                e.taken_us
            ) as told_us
        from elected_in_events as e
        left join causes as c
            on c.run = e.run and c.process = e.process and c.sequence = e.sequence
            and c.effect = 'election'
        left join quorum_processes as q on q.run = e.run and q.process = e.process
    )
    select told.*, greatest(taken_us - queued_for_us, told_us) as queued_us,
        least(coalesce(fault_us, told_us), told_us, coalesce(n.begin_us, told_us)) as begin_us,
        least(told_us, coalesce(n.begin_us, told_us)) as none_us, t.led_us,
        case when t.used_us >= t.led_us then t.used_us end as used_us
    from told
    left join term_moments as t on t.run = told.run and t.partition = told.partition
        and t.leader = told.leader and t.leader_epoch = told.leader_epoch
    left join without_leader as n on n.run = told.run and n.partition = told.partition
        and n.begin_us < told.taken_us and told.taken_us <= n.end_us
    """,
)

VIEWS = (_QUORUM, _ELECTED, _TERM_MOMENTS, _NONE, _MOMENTS)

ELECTIONS = result_table.ResultTable(
    "elections",
    "one leader that the controller chose for one partition, and the parts of the time until then",
    (
        result_table.RUN,
        *result_table.PARTITION,
        *result_table.MOMENT,
        result_table.Column("leader", "bigint", "broker id", "the chosen leader; null: none"),
        result_table.Column("old_leader", "bigint", "broker id", "the leader before; null: none"),
        result_table.Column("leader_epoch", "bigint", "", "the new leader epoch"),
        result_table.Column(
            "isr", "array<bigint>", "broker id", "the ISR that was written with it"
        ),
        result_table.Column(
            "is_new",
            "boolean",
            "",
            "it differs from the leader before: only these elections are counted",
        ),
        result_table.Column("unclean", "boolean", "", "the leader was not in the ISR"),
        result_table.Column(
            "trigger_kind", "string", "", "kind of the row that notified the controller"
        ),
        result_table.Column(
            "begin_us", "bigint", "us", "fault_us, but not after none_us; without one: none_us"
        ),
        result_table.Column(
            "none_us",
            "bigint",
            "us",
            "no replica may lead from then on until told_us; if one always may: told_us",
        ),
        result_table.Column("told_us", "bigint", "us", "another process notified the controller"),
        result_table.Column(
            "queued_us", "bigint", "us", "its event came into the controller's queue"
        ),
        result_table.Column("taken_us", "bigint", "us", "the controller took it from its queue"),
        result_table.Column("led_us", "bigint", "us", "the new leader took over; null: never"),
        result_table.Column(
            "used_us", "bigint", "us", "first append or fetch; null: never, or not recorded"
        ),
        result_table.Column(
            "detection_us",
            "bigint",
            "us",
            "from the fault until the controller was notified, or had written that none may lead",
        ),
        result_table.Column(
            "no_replica_us",
            "bigint",
            "us",
            "... until a replica that may lead was back: no member of the ISR, or eligible leader "
            "replica, was alive",
        ),
        result_table.Column("notice_us", "bigint", "us", "... until its event was in the queue"),
        result_table.Column(
            "queue_us", "bigint", "us", "... until it was taken: the events before it"
        ),
        result_table.Column("election_us", "bigint", "us", "... until the new leader was written"),
        result_table.Column("takeover_us", "bigint", "us", "... until it took over"),
        result_table.Column("first_use_us", "bigint", "us", "... until its first use"),
        result_table.Column("total_us", "bigint", "us", "sum of the known parts"),
        *result_table.FAULT,
    ),
    f"""
    select e.run, e.partition, p.topic, p.topic_partition, e.time_us, e.process, e.sequence,
        now.broker_id as leader, before.broker_id as old_leader, e.leader_epoch,
        replica_ids(e.isr, p.slot_ids) as isr, e.leader <> e.old_leader as is_new,
        unclean <> 0 as unclean, trigger_kind, begin_us, none_us, told_us, queued_us, taken_us,
        led_us, used_us, fault, fault_name, fault_us, faults,
        {", ".join(f"{end} - {begin} as {part}" for part, (begin, end) in PARTS.items())},
        coalesce(used_us, led_us, e.time_us) - begin_us as total_us
    from election_moments as e
    join partitions as p on p.run = e.run and p.partition = e.partition
    left join brokers as now on now.run = e.run and now.broker = e.leader
    left join brokers as before on before.run = e.run and before.broker = e.old_leader
    """,
    key=("run", "time_us", "process", "sequence"),
)


CONTROLLER_EVENTS = result_table.ResultTable(
    "controller_events",
    "one event that a controller handled",
    (
        result_table.RUN,
        *result_table.MOMENT,
        result_table.Column(
            "event", "string", "", "its kind, by the name of Kafka's ControllerState"
        ),
        result_table.Column(
            "queue_length", "bigint", "events", "number of events still in the queue"
        ),
        result_table.Column(
            "queued_us",
            "bigint",
            "us",
            "its time in the queue: EventQueueTimeMs; null: the controller's own election",
        ),
        result_table.Column(
            "processing_us",
            "bigint",
            "us",
            "the controller's work on it; null: interrupted",
        ),
    ),
    f"""
    with every as (
        select run, {IN_ORDER}, event_kind, queue_length, queued_us, true as is_taken,
            cast(null as bigint) as processing_us
        from controller_event
        union all
        select run, {IN_ORDER}, event_kind, null, null, false, processing_us
        from controller_event_done
    ),
    followed as (
        select *, lead(processing_us) over in_order as following_us,
            -- As a controller is elected, it is at work before it takes anything from its queue.
            not is_taken and not coalesce(lag(is_taken) over in_order, false) as is_first
        from every
        window in_order as (partition by run, process order by {IN_ORDER})
    )
    select f.run, process, sequence, queue_length, queued_us,
        coalesce(names.name, 'event ' || cast(f.event_kind as string)) as event,
        case when is_first then time_us - processing_us else time_us end as time_us,
        -- One that another controller's election or the end of the run cuts short is never done.
        case when is_first then processing_us else following_us end as processing_us
    from followed as f
    left join names on names.run = f.run and names.enumeration = 'event_kind'
        and names.number = f.event_kind
    where is_taken or is_first
    """,
    key=("run", "time_us", "process", "sequence"),
)
