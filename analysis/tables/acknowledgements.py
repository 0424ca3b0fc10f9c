"""What leaders acknowledged over time, partition by partition.

Rows say exactly which offsets a leader has acknowledged, a range of them for a term or until the
next change of the ISR (``acknowledged``). Samples say how far it was at some time: producers with
acks=all are answered at the high watermark, others at the log end. So each range is divided at the
samples of its leader. What it has beyond the last one counts when its row was written. The sum of
all is that of the ranges, whatever the trace level, and however often replicas are sampled.
"""

# ruff: noqa: S608 - queries are put together from texts of this room

from __future__ import annotations

from tidegauge.analysis.tables.result_table import (
    INTERVAL,
    PARTITION,
    RUN,
    Column,
    ResultTable,
)
from tidegauge.replication.min_insync_replicas import ACKS_ALL

_A_SECOND_US = 1_000_000

ACKNOWLEDGEMENTS = ResultTable(
    "acknowledgements",
    "one second of one partition in which its leader acknowledged records; where samples are "
    "further apart, the time between two of them",
    (
        RUN,
        *PARTITION,
        *INTERVAL,
        Column("records", "bigint", "records", "acknowledged by its leader, with any acks"),
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
        join sampled as s on s.run = r.run and s.partition = r.partition
            and s.process = r.process and s.leads = 1
            and r.since_us < s.time_us and s.time_us < r.time_us
        union all
        select run, partition, process, sequence, first_offset, time_us, end_offset from ranges
    ),
    reached as (
        select *, max(place) over (
            partition by run, process, sequence order by time_us
            rows between unbounded preceding and current row
        ) as until_offset
        from places
    ),
    grown as (
        select run, partition, time_us, until_offset - lag(until_offset, 1, first_offset) over (
            partition by run, process, sequence order by time_us
        ) as records
        from reached
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
)
