"""Intervals in which partitions were in an unwanted condition, and the number of them at once.

Most are states that the control plane and brokers know of. Those of clients are not: writes are
*stalled* while a producer has a batch of the partition, in its accumulator or in flight, that is
without an outcome for more than a second. While a dead follower is still in the ISR, every write
with acks=all waits: brokers call the partition healthy, and it is stalled. Reads are stalled while
a consumer has had no response for this time, beyond the wait of a fetch. Clients write both down
(``simulation/trace_rows/client_rows.py``); logs of real brokers do not.
"""

# ruff: noqa: S608 - queries are put together from texts of this room

from tidegauge.analysis.tables import result_table
from tidegauge.analysis.tables.dialect import IN_ORDER, merged, tiled, united

#: Name of a condition, and when a state of a partition fulfils it; others are those of clients.
CONDITIONS = {
    "not_accepting": "not accepting",
    "offline": "offline",
    "under_min_isr": "under_min_isr",
    "at_min_isr": "at_min_isr",
    "under_replicated": "under_replicated",
}

#: The labels of all conditions, the worst one for clients first.
LABELS = {
    "stalled": "stalled",
    "reads_stalled": "reads stalled",
    "not_accepting": "not accepting",
    "offline": "offline",
    "under_min_isr": "under min ISR",
    "at_min_isr": "at min ISR",
    "under_replicated": "under-replicated",
}

#: Those in which brokers refuse writes with acks=all.
REFUSING = ("not_accepting", "under_min_isr")


def _intervals(condition: str, holds: str) -> str:
    fulfilling = f"(select * from partition_states where {holds})"
    return f"""
        select run, partition, begin_us, end_us, '{condition}' as condition
        from ({merged(fulfilling, ("run", "partition"), ())}) as those
    """


#: Conditions of clients, and the kinds of rows with which each begins and ends.
OF_CLIENTS = {
    "stalled": ("produce_stalled", "produce_resumed"),
    "reads_stalled": ("consume_stalled", "consume_resumed"),
}

_KEYS = ("run", "partition", "process")


def _stalls(condition: str, begins: str, ends: str) -> str:
    changes = f"""(
        select run, partition, {IN_ORDER}, true as stalls from {begins}
        union all
        select run, partition, {IN_ORDER}, false from {ends}
    )"""
    return f"""
        select run, partition, process, begin_us, end_us, '{condition}' as condition
        from ({tiled(changes, _KEYS, ("stalls",))}) as those where stalls
    """


#: The group of a client.
CLIENT_GROUP = result_table.Column(
    "client_group", "string", "", "its group in the scenario, as `shop`"
)

STALLS = result_table.ResultTable(
    "stalls",
    "one interval in which one client was stalled at one partition without a break",
    (
        result_table.RUN,
        *result_table.PARTITION,
        *result_table.INTERVAL,
        result_table.Column("lasted_us", "bigint", "us", "end_us - begin_us"),
        result_table.Column(
            "condition",
            "string",
            "",
            "`stalled`: a batch of this producer has been without an outcome for more than 1 s; "
            "`reads_stalled`: this consumer has had no response for as long, beyond "
            "fetch.max.wait.ms",
        ),
        result_table.Column("client", "string", "", "the client, as `shop-0`"),
        CLIENT_GROUP,
    ),
    f"""
    select s.run, s.partition, p.topic, p.topic_partition,
        greatest(begin_us, b.from_us) as begin_us, end_us,
        end_us - greatest(begin_us, b.from_us) as lasted_us, condition, client, client_group
    from ({" union all ".join(_stalls(name, *kinds) for name, kinds in OF_CLIENTS.items())}) as s
    join partitions as p on p.run = s.run and p.partition = s.partition
    join client_processes as c on c.run = s.run and c.process = s.process
    -- Start-up does not count.
    join beginnings as b on b.run = s.run and b.from_us < s.end_us
    """,
    key=("run", "partition", "client", "condition", "begin_us"),
)

#: A partition is stalled while any of its clients is.
_STALLED = f"""
    select run, partition, begin_us, end_us, condition
    from ({united("stalls", ("run", "partition", "condition"))}) as those
"""

UNAVAILABLE = result_table.ResultTable(
    "unavailable",
    "one condition of one partition, in an interval after start-up in which it held without a "
    "break. Conditions overlap: choose one, as in `where condition = 'offline'`, before adding up",
    (
        result_table.RUN,
        *result_table.PARTITION,
        *result_table.INTERVAL,
        result_table.Column("lasted_us", "bigint", "us", "end_us - begin_us"),
        result_table.Column(
            "condition",
            "string",
            "",
            "`stalled` or `reads_stalled` for any client, as in stalls; `offline`, "
            "`not_accepting`, `under_min_isr`, `at_min_isr` or `under_replicated`, as in "
            "partition_states",
        ),
    ),
    f"""
    select u.run, u.partition, p.topic, p.topic_partition,
        greatest(begin_us, b.from_us) as begin_us, end_us,
        end_us - greatest(begin_us, b.from_us) as lasted_us, condition
    from (
        {" union all ".join([_STALLED, *(_intervals(*each) for each in CONDITIONS.items())])}
    ) as u
    join partitions as p on p.run = u.run and p.partition = u.partition
    -- Start-up does not count.
    join beginnings as b on b.run = u.run and b.from_us < u.end_us
    """,
    key=("run", "partition", "begin_us", "condition"),
)

CONDITION_COUNTS = result_table.ResultTable(
    "condition_counts",
    "one interval in which the number of partitions in a condition stayed the same, and above 0",
    (
        result_table.RUN,
        result_table.Column("condition", "string", "", "as in unavailable"),
        *result_table.INTERVAL,
        result_table.Column(
            "partitions", "bigint", "partitions", "how many were in this condition"
        ),
    ),
    """
    with edges as (
        select run, condition, begin_us as time_us, 1 as change from unavailable
        union all
        select run, condition, end_us, -1 from unavailable
    ),
    changes as (
        select run, condition, time_us, sum(change) as change
        from edges group by run, condition, time_us
    ),
    counted as (
        select run, condition, time_us as begin_us,
            lead(time_us) over (partition by run, condition order by time_us) as end_us,
            sum(change) over (
                partition by run, condition order by time_us
                rows between unbounded preceding and current row
            ) as partitions
        from changes where change <> 0
    )
    select * from counted where partitions > 0
    """,
    key=("run", "condition", "begin_us"),
)
