"""Times in which clients got nowhere with a partition, as they see it.

A write is stalled while a producer has a batch of the partition, in its accumulator or in flight,
that is without an outcome for more than a second. While a dead follower is still in the ISR, every
write with acks=all waits: brokers call the partition healthy, and it is stalled. A read is stalled
while a consumer has not read up to a high watermark for so long. Clients write both down
(``simulation/trace_rows/client_rows.py``); logs of real brokers do not tell.
"""

# ruff: noqa: S608 - queries are put together from texts of this room

from __future__ import annotations

from tidegauge.analysis.tables.interval_queries import IN_ORDER, tiled, united
from tidegauge.analysis.tables.result_table import (
    INTERVAL,
    PARTITION,
    RUN,
    Column,
    ResultTable,
)

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


_CLIENT_GROUP = Column("client_group", "string", "", "its group in the scenario, as `shop`")

STALLS = ResultTable(
    "stalls",
    "one interval in which one client was stalled at one partition without a break",
    (
        RUN,
        *PARTITION,
        *INTERVAL,
        Column("lasted_us", "bigint", "us", "end_us - begin_us"),
        Column(
            "condition",
            "string",
            "",
            "`stalled`: a batch of this producer has been without an outcome for more than 1 s; "
            "`reads_stalled`: this consumer has had no response for as long, beyond "
            "fetch.max.wait.ms",
        ),
        Column("client", "string", "", "the client, as `shop-0`"),
        _CLIENT_GROUP,
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
)

#: What the clients of a group came to, as each tells at the end; none of it for logs.
_TOTALS = {
    "records_offered": "that its applications had for it: the sum of the next four",
    "records_acknowledged": "acknowledged",
    "records_failed": "that it gave up",
    "records_unsent": "that were due while applications waited for memory, and never left them",
    "records_in_flight": "without an outcome at the end",
    "records_duplicated": "that a retry appended again",
    "records_consumed": "that it read",
}

CLIENT_GROUPS = ResultTable(
    "client_groups",
    "one group of producers or consumers, and what came of its records",
    (
        RUN,
        _CLIENT_GROUP,
        Column("clients", "bigint", "clients", "number of its clients"),
        *(Column(name, "bigint", "records", text) for name, text in _TOTALS.items()),
        Column("blocked_us", "bigint", "us", "how long send() waited for memory, of all clients"),
        Column(
            "partitions_stalled", "bigint", "partitions", "at which any of its clients was stalled"
        ),
        Column("stalled_us", "bigint", "us", "... and how long, of all partitions together"),
        Column("longest_stall_us", "bigint", "us", "... the longest without a break, of one"),
    ),
    f"""
    with united_stalls as ({united("stalls", ("run", "client_group", "partition"))}),
    stalled as (
        select run, client_group, count(distinct partition) as partitions_stalled,
            sum(end_us - begin_us) as stalled_us, max(end_us - begin_us) as longest_stall_us
        from united_stalls group by run, client_group
    ),
    totals as (
        select c.run, client_group, count(distinct c.process) as clients,
            sum(blocked_us) as blocked_us, {", ".join(f"sum({n}) as {n}" for n in _TOTALS)}
        from client_processes as c
        left join client_totals_to_the_last as t on t.run = c.run and t.process = c.process
        group by c.run, client_group
    )
    select t.run, t.client_group, clients, {", ".join(_TOTALS)}, blocked_us,
        coalesce(partitions_stalled, 0) as partitions_stalled,
        coalesce(stalled_us, 0) as stalled_us, coalesce(longest_stall_us, 0) as longest_stall_us
    from totals as t
    left join stalled as s on s.run = t.run and s.client_group = t.client_group
    """,
)
