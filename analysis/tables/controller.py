"""The events of the controller: it handles one at a time, and the others wait."""

# ruff: noqa: S608 - queries are put together from texts of this room

from tidegauge.analysis.tables.dialect import IN_ORDER
from tidegauge.analysis.tables.result_table import (
    MOMENT,
    RUN,
    Column,
    ResultTable,
)

CONTROLLER_EVENTS = ResultTable(
    "controller_events",
    "one event that a controller handled",
    (
        RUN,
        *MOMENT,
        Column("event", "string", "", "its kind, by the name of Kafka's ControllerState"),
        Column("queue_length", "bigint", "events", "number of events still in the queue"),
        Column(
            "queued_us",
            "bigint",
            "us",
            "its time in the queue: EventQueueTimeMs; null: the controller's own election",
        ),
        Column(
            "processing_us",
            "bigint",
            "us",
            "how long the controller worked on it; null: interrupted",
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
