"""Records of clients: written and made readable, acknowledged, refused, given up and unsent.

Throughput comes from the samples of replicas, so it is as fine as ``sample_every``. Errors are rows
of the trace themselves. Single requests are recorded with ``--trace-level all`` only. The times of
sends until their outcomes are in the summary (``produce_ms``), and in ``producer_sampled`` rows.
"""

# ruff: noqa: S608 - queries are put together from texts of this room

from tidegauge.analysis.tables import result_table
from tidegauge.analysis.tables.dialect import united
from tidegauge.analysis.tables.unavailable import CLIENT_GROUP
from tidegauge.replication.in_sync_replicas import ACKS_ALL

_SECOND = "time_us - time_us % 1000000"
_COUNTS = (
    "records_written",
    "records_committed",
    "writes_refused",
    "fetches_refused",
    "batches_failed",
    "records_failed",
    "batches_duplicated",
)
#: Batches that producers gave up; those whose send() failed for want of memory were never made.
GIVEN_UP = """(
    select run, partition, time_us, process, sequence, records from batch_failed
    union all
    select run, partition, time_us, process, sequence, records from send_failed
)"""

#: Numbers of requests in Kafka's protocol.
PRODUCE, _FETCH = 0, 1


def _counted(source: str, second: str = _SECOND, **values: str) -> str:
    """The sums of some counts, partition by partition and second by second; others are 0."""
    counts = ", ".join(f"{values.get(name, '0')} as {name}" for name in _COUNTS)
    return f"""
        select run, partition, {second} as second_us, {counts}
        from {source} group by run, partition, second_us
    """


#: Between two samples; records that were in the log at the first one are in neither. A high
#: watermark that falls and rises again commits nothing twice. A former leader that leads on counts
#: at each sample, also where its log does not change any more.
_GROWTH = """(
    select run, partition, time_us,
        log_end - lag(log_end) over w as written, committed - lag(committed) over w as committed
    from (
        select run, partition, time_us, log_end, greatest(
            max(high_watermark) over so_far, first_value(log_end) over so_far
        ) as committed
        from (
            select run, partition, time_us, max(log_end_offset) as log_end,
                max(high_watermark) as high_watermark
            from leader_samples group by run, partition, time_us
        ) as ends
        window so_far as (
            partition by run, partition order by time_us
            rows between unbounded preceding and current row
        )
    ) as ends_so_far
    window w as (partition by run, partition order by time_us)
) as growth"""

#: Refused requests of clients, second by second: those of brokers are left out here.
_REFUSED = result_table.View(
    "client_refusals",
    f"""
    select r.run, partition, api_key, error, {_SECOND} as second_us, count(*) as requests,
        min(time_us) as first_us, max(time_us) as last_us
    from request_refused as r
    join processes on processes.run = r.run and processes.process = r.from_process
    where role = 'client'
    group by r.run, partition, api_key, error, second_us
    """,
)

VIEWS = (_REFUSED,)

_PARTS = (
    # A log that was cut, or another leader's, can be shorter than at the sample before.
    _counted(
        _GROWTH,
        records_written="sum(greatest(coalesce(written, 0), 0))",
        records_committed="sum(greatest(coalesce(committed, 0), 0))",
    ),
    _counted(
        "client_refusals",
        "second_us",
        writes_refused=f"sum(case when api_key = {PRODUCE} then requests else 0 end)",
        fetches_refused=f"sum(case when api_key = {_FETCH} then requests else 0 end)",
    ),
    _counted(f"{GIVEN_UP} as g", batches_failed="count(*)", records_failed="sum(records)"),
    _counted("batch_duplicated", batches_duplicated="count(*)"),
)

CLIENTS = result_table.ResultTable(
    "clients",
    "one second of one topic in which its clients got anything done, or an error",
    (
        result_table.RUN,
        result_table.Column("time_us", "bigint", "us", "when the second begins"),
        result_table.Column("topic", "string", "", "the topic"),
        result_table.Column(
            "records_written", "bigint", "records", "that leaders appended, as samples show"
        ),
        result_table.Column(
            "records_committed",
            "bigint",
            "records",
            "of these, below the highest high watermark: acknowledged with acks=all",
        ),
        result_table.Column(
            "writes_refused", "bigint", "requests", "produce requests with an error"
        ),
        result_table.Column(
            "fetches_refused", "bigint", "requests", "fetches of consumers with an error"
        ),
        result_table.Column("batches_failed", "bigint", "batches", "that producers gave up"),
        result_table.Column(
            "records_failed", "bigint", "records", "in the batches that producers gave up"
        ),
        result_table.Column(
            "batches_duplicated", "bigint", "batches", "that a retry appended again"
        ),
    ),
    f"""
    select c.run, second_us as time_us, topic, {", ".join(f"sum({n}) as {n}" for n in _COUNTS)}
    from ({" union all ".join(_PARTS)}) as c
    join partitions as p on p.run = c.run and p.partition = c.partition
    group by c.run, second_us, topic
    having {" + ".join(f"sum({name})" for name in _COUNTS)} > 0
    """,
    key=("run", "time_us", "topic"),
)

REFUSALS = result_table.ResultTable(
    "refusals",
    "one error with which brokers refused a request of clients about a topic",
    (
        result_table.RUN,
        result_table.Column("topic", "string", "", "the topic"),
        result_table.Column(
            "request", "string", "", "the request, by its name in Kafka's protocol"
        ),
        result_table.Column("error", "string", "", "the error, by its name in Kafka's protocol"),
        result_table.Column("requests", "bigint", "requests", "number of requests refused with it"),
        result_table.Column(
            "partitions", "bigint", "partitions", "number of partitions that they were about"
        ),
        result_table.Column("first_us", "bigint", "us", "when the first one was refused"),
        result_table.Column("last_us", "bigint", "us", "when the last one was refused"),
    ),
    """
    select r.run, topic, coalesce(a.name, cast(api_key as string)) as request,
        coalesce(e.name, cast(error as string)) as error, sum(requests) as requests,
        count(distinct r.partition) as partitions, min(first_us) as first_us,
        max(last_us) as last_us
    from client_refusals as r
    join partitions as p on p.run = r.run and p.partition = r.partition
    left join names as a on a.run = r.run and a.enumeration = 'api_key' and a.number = api_key
    left join names as e on e.run = r.run and e.enumeration = 'error' and e.number = r.error
    group by r.run, topic, a.name, api_key, e.name, r.error
    """,
    key=("run", "topic", "request", "error"),
)

_A_SECOND_US = 1_000_000

#: Rows have the exact offsets that a leader has acknowledged, a range for a term or until the next
#: change of the ISR (``acknowledged``). Samples have its position at some time: producers with
#: acks=all get their responses at the high watermark, others at the log end. So each range is
#: divided at the samples of its leader; its part beyond the last one counts when its row was
#: written. The sum of all is that of the ranges, whatever the trace level and sample_every. The
#: rows ``sampled`` alone would not do: the first sample within a range can show the same position
#: as the one before it, some records into the range, and then has no row.
ACKNOWLEDGEMENTS = result_table.ResultTable(
    "acknowledgements",
    "one second of one partition in which its leader acknowledged records; where samples are "
    "further apart, the time between two of them",
    (
        result_table.RUN,
        *result_table.PARTITION,
        *result_table.INTERVAL,
        result_table.Column(
            "records", "bigint", "records", "acknowledged by its leader, with any acks"
        ),
    ),
    f"""
    with ranges as (
        select a.*, coalesce(max(a.time_us) over (
            partition by a.run, a.partition, a.process, a.acks = {int(ACKS_ALL)}
            order by a.time_us range between unbounded preceding and 1 preceding
        ), 0) as since_us
        from acknowledged_to_the_last as a
        -- The control plane writes down what existed before the run.
        join brokers as b on b.run = a.run and b.broker = a.process
    ),
    places as (
        select r.run, r.partition, r.process, r.sequence, r.first_offset, s.time_us,
            least(r.end_offset, greatest(r.first_offset, case
                when r.acks = {int(ACKS_ALL)} then s.high_watermark else s.log_end_offset
            end)) as place
        from ranges as r
        join leader_samples as s on s.run = r.run and s.partition = r.partition
            and s.process = r.process and r.since_us < s.time_us and s.time_us < r.time_us
        union all
        select run, partition, process, sequence, first_offset, time_us, end_offset from ranges
    ),
    grown as (
        select run, partition, time_us, place - coalesce(max(place) over (
            partition by run, process, sequence order by time_us
            range between unbounded preceding and 1 preceding
        ), first_offset) as records
        from places
    ),
    told as (
        select g.run, g.partition, runs.ends_us, g.records,
            greatest(coalesce(runs.sample_us, 0), {_A_SECOND_US}) as each_us, g.time_us
        from grown as g join runs on runs.run = g.run and g.time_us <= runs.ends_us
        where g.records > 0
    )
    select t.run, t.partition, p.topic, p.topic_partition, t.begin_us,
        least(t.begin_us + t.each_us, t.ends_us) as end_us, sum(t.records) as records
    from (
        -- A sample tells of the time before it.
        select *, time_us - 1 - (time_us - 1) % each_us as begin_us from told
    ) as t
    join partitions as p on p.run = t.run and p.partition = t.partition
    group by t.run, t.partition, p.topic, p.topic_partition, t.begin_us, t.each_us, t.ends_us
    """,
    key=("run", "partition", "begin_us"),
)

#: The sums over the clients of a group, from each client's last row; null for logs.
_TOTALS = {
    "records_offered": "that its applications had for it: the sum of the next four",
    "records_acknowledged": "acknowledged",
    "records_failed": "that it gave up",
    "records_unsent": "that were due while applications waited for memory, and never left them",
    "records_in_flight": "without an outcome at the end",
    "records_duplicated": "that a retry appended again",
    "records_consumed": "that it read",
}

CLIENT_GROUPS = result_table.ResultTable(
    "client_groups",
    "one group of producers or consumers, and the outcome of its records",
    (
        result_table.RUN,
        CLIENT_GROUP,
        result_table.Column("clients", "bigint", "clients", "number of its clients"),
        *(result_table.Column(name, "bigint", "records", text) for name, text in _TOTALS.items()),
        result_table.Column(
            "blocked_us",
            "bigint",
            "us",
            "the time for which send() waited for memory, of all clients",
        ),
        result_table.Column(
            "partitions_stalled", "bigint", "partitions", "at which any of its clients was stalled"
        ),
        result_table.Column(
            "stalled_us", "bigint", "us", "... and their time, of all partitions together"
        ),
        result_table.Column(
            "longest_stall_us", "bigint", "us", "... the longest without a break, of one"
        ),
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
    key=("run", "client_group"),
)
