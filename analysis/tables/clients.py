"""What clients saw: topic by topic what was written and made readable, refused and given up.

Throughput comes from the samples of replicas, so it is as fine as ``sample_every``. Errors are rows
of the trace themselves. How long producers waited is in the summary of the run (``produce_ms``), as
single requests are recorded with ``--trace-level all`` only.
"""

# ruff: noqa: S608 - queries are put together from texts of this room

from __future__ import annotations

from tidegauge.analysis.tables.result_table import RUN, Column, ResultTable, View

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
#: Batches that producers gave up; those of which send() failed for want of memory were never made.
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


#: Between two samples; what was in the log at the first one is in neither. A high watermark that
#: falls and rises again commits nothing twice.
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
            from sampled where leads = 1 group by run, partition, time_us
        ) as ends
        window so_far as (
            partition by run, partition order by time_us
            rows between unbounded preceding and current row
        )
    ) as ends_so_far
    window w as (partition by run, partition order by time_us)
) as growth"""

#: Refused requests of clients, second by second: brokers' own are refused, too.
_REFUSED = View(
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

CLIENTS = ResultTable(
    "clients",
    "one second of one topic in which its clients got anything done, or an error",
    (
        RUN,
        Column("time_us", "bigint", "us", "when the second begins"),
        Column("topic", "string", "", "the topic"),
        Column("records_written", "bigint", "records", "that leaders appended, as samples show"),
        Column(
            "records_committed",
            "bigint",
            "records",
            "of these, below the highest high watermark: acknowledged with acks=all",
        ),
        Column("writes_refused", "bigint", "requests", "produce requests with an error"),
        Column("fetches_refused", "bigint", "requests", "fetches of consumers with an error"),
        Column("batches_failed", "bigint", "batches", "that producers gave up"),
        Column("records_failed", "bigint", "records", "in the batches that producers gave up"),
        Column("batches_duplicated", "bigint", "batches", "that a retry appended again"),
    ),
    f"""
    select c.run, second_us as time_us, topic, {", ".join(f"sum({n}) as {n}" for n in _COUNTS)}
    from ({" union all ".join(_PARTS)}) as c
    join partitions as p on p.run = c.run and p.partition = c.partition
    group by c.run, second_us, topic
    having {" + ".join(f"sum({name})" for name in _COUNTS)} > 0
    """,
)

REFUSALS = ResultTable(
    "refusals",
    "one error with which brokers refused a request of clients about a topic",
    (
        RUN,
        Column("topic", "string", "", "the topic"),
        Column("request", "string", "", "the request, by its name in Kafka's protocol"),
        Column("error", "string", "", "the error, by its name in Kafka's protocol"),
        Column("requests", "bigint", "requests", "number of requests refused with it"),
        Column("partitions", "bigint", "partitions", "number of partitions that they were about"),
        Column("first_us", "bigint", "us", "when the first one was refused"),
        Column("last_us", "bigint", "us", "when the last one was refused"),
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
)
