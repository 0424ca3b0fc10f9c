"""Changes of logs: truncated and lost records, and the lag of high watermarks.

The values of nodes' own gauges, as a dashboard would show them; the ends of leaders' logs at each
sample, whose rows have only what has changed.
"""

from tidegauge.analysis.tables import result_table

TRUNCATIONS = result_table.ResultTable(
    "truncations",
    "one truncation of a replica's log",
    (
        result_table.RUN,
        *result_table.PARTITION,
        *result_table.MOMENT,
        result_table.Column("broker", "bigint", "broker id", "the broker of the replica"),
        result_table.Column(
            "reason", "string", "", "`follower`: it follows its leader; `power`: power was lost"
        ),
        result_table.Column("end_offset", "bigint", "", "the log end offset after it"),
        result_table.Column("old_end_offset", "bigint", "", "the log end offset before it"),
        result_table.Column(
            "records", "bigint", "records", "number of records removed from this log"
        ),
        result_table.Column(
            "leader_epoch", "bigint", "", "the epoch that it follows in; null for `power`"
        ),
        result_table.Column(
            "high_watermark", "bigint", "", "its own high watermark then; null for `power`"
        ),
        *result_table.FAULT,
    ),
    """
    with cuts as (
        select run, partition, time_us, process, sequence, 'follower' as reason, end_offset,
            old_end_offset, leader_epoch, high_watermark
        from truncated
        union all
        select run, partition, time_us, process, sequence, 'power', end_offset, old_end_offset,
            null, null
        from log_lost
    )
    select c.*, p.topic, p.topic_partition, b.broker_id as broker,
        old_end_offset - end_offset as records, causes.fault, causes.fault_name,
        causes.fault_us, causes.faults
    from cuts as c
    join partitions as p on p.run = c.run and p.partition = c.partition
    left join brokers as b on b.run = c.run and b.broker = c.process
    left join causes
        on causes.run = c.run and causes.process = c.process and causes.sequence = c.sequence
    """,
    key=("run", "time_us", "process", "sequence"),
)

#: The samples of each process, numbered, and the last one until which its rows hold: the next one
#: tells all anew, with a row for every replica that the broker hosts. Such a sample is the first
#: one of each process, and each one of earlier releases, whose rows come back as they are.
_TIMES = result_table.View(
    "sample_times",
    """
    select *, max(nth) over (partition by run, process, told_anew) as last_nth
    from (
        select run, process, time_us,
            row_number() over (partition by run, process order by time_us) as nth,
            sum(case when replicas >= coalesce(hosted, 0) then 1 else 0 end) over (
                partition by run, process order by time_us
                rows between unbounded preceding and current row
            ) as told_anew
        from (
            select run, process, time_us, max(hosted) as hosted, sum(replicas) as replicas
            from (
                select run, process, time_us, partitions as hosted, 0 as replicas
                from broker_sampled
                union all
                select run, process, time_us, null, 1 from sampled
            ) as either
            group by run, process, time_us
        ) as counted
    ) as numbered
    """,
    key=("run", "process", "time_us"),
)

#: The ends of leaders' logs, with the numbers of the samples that show them: until the replica has
#: another row, a ``no_longer_sampled`` tells that it is gone, or all is told anew. Followers are
#: left out: no table asks for them, and they would make it three times as large.
_ENDS = result_table.View(
    "leader_ends",
    """
    with leads as (
        select run, process, partition, min(time_us) as first_us
        from sampled where leads = 1 group by run, process, partition
    ),
    changes as (
        select run, process, partition, time_us, sequence, minor, leads, log_end_offset,
            high_watermark
        from sampled
        union all
        select run, process, partition, time_us, sequence, minor, 0, null, null
        from no_longer_sampled
    ),
    followed as (
        select c.*, t.nth, t.last_nth, lead(t.nth) over (
            partition by c.run, c.process, c.partition order by c.time_us, c.sequence, c.minor
        ) as next_nth
        from changes as c
        join leads as l on l.run = c.run and l.process = c.process
            and l.partition = c.partition and l.first_us <= c.time_us
        join sample_times as t
            on t.run = c.run and t.process = c.process and t.time_us = c.time_us
    )
    select run, process, partition, log_end_offset, high_watermark,
        explode(sequence(nth, least(coalesce(next_nth - 1, last_nth), last_nth))) as nth
    from followed where leads = 1
    """,
    key=("run", "process", "partition", "nth"),
)

#: Each replica that leads, at each sample of its process.
LEADER_SAMPLES = result_table.View(
    "leader_samples",
    """
    select e.run, e.process, e.partition, t.time_us, e.log_end_offset, e.high_watermark
    from leader_ends as e
    join sample_times as t on t.run = e.run and t.process = e.process and t.nth = e.nth
    """,
    key=("run", "process", "partition", "time_us"),
)

VIEWS = (_TIMES, _ENDS, LEADER_SAMPLES)

HW_LAG = result_table.ResultTable(
    "hw_lag",
    "the lag of a leader's high watermark behind its log's end, at one sample",
    (
        result_table.RUN,
        *result_table.PARTITION,
        result_table.Column(
            "time_us", "bigint", "us", "when it was sampled (sample_every of the scenario)"
        ),
        result_table.Column("leader", "bigint", "broker id", "the broker that acts as leader"),
        result_table.Column("log_end_offset", "bigint", "", "its log end offset"),
        result_table.Column("high_watermark", "bigint", "", "its high watermark"),
        result_table.Column("lag", "bigint", "records", "log_end_offset - high_watermark"),
    ),
    """
    select s.run, s.partition, s.time_us, log_end_offset, high_watermark, p.topic,
        p.topic_partition, b.broker_id as leader,
        log_end_offset - high_watermark as lag
    from leader_samples as s
    join partitions as p on p.run = s.run and p.partition = s.partition
    left join brokers as b on b.run = s.run and b.broker = s.process
    """,
    key=("run", "time_us", "partition", "leader"),
)


# ruff: noqa: S608 - queries are put together from texts of this room


_GAUGES = {
    "partitions": ("PartitionCount", "partitions", "replicas that it hosts"),
    "leaders": ("LeaderCount", "partitions", "... and leads"),
    "under_replicated": (
        "UnderReplicatedPartitions",
        "partitions",
        "... and lack one in the ISR",
    ),
    "under_min_isr": ("UnderMinIsrPartitionCount", "partitions", "... below min.insync.replicas"),
    "at_min_isr": ("AtMinIsrPartitionCount", "partitions", "... exactly at min.insync.replicas"),
    "reassigning": ("ReassigningPartitions", "partitions", "... that are being moved"),
}

BROKER_SAMPLES = result_table.ResultTable(
    "broker_samples",
    "the values of a broker's gauges at one sample, while it ran",
    (
        result_table.RUN,
        result_table.Column(
            "time_us", "bigint", "us", "when they were sampled (sample_every of the scenario)"
        ),
        result_table.Column("broker", "bigint", "broker id", "the broker"),
        *(
            result_table.Column(name, "bigint", unit, f"{meaning}: {gauge}")
            for name, (gauge, unit, meaning) in _GAUGES.items()
        ),
    ),
    f"""
    select s.run, s.time_us, {", ".join(_GAUGES)}, b.broker_id as broker from broker_sampled as s
    left join brokers as b on b.run = s.run and b.broker = s.process
    """,
    key=("run", "time_us", "broker"),
)

METADATA_SAMPLES = result_table.ResultTable(
    "metadata_samples",
    "the metadata log of a KRaft node at one sample: of the active controller, or of a broker",
    (
        result_table.RUN,
        result_table.Column(
            "time_us", "bigint", "us", "when it was sampled (sample_every of the scenario)"
        ),
        result_table.Column(
            "broker", "bigint", "broker id", "the broker; null: the active controller"
        ),
        result_table.Column("log_end_offset", "bigint", "offset", "the end of its log"),
        result_table.Column(
            "high_watermark", "bigint", "offset", "its committed end, as far as it knows it"
        ),
        result_table.Column("queue_length", "bigint", "events", "events in the controller's queue"),
        result_table.Column(
            "deferred", "bigint", "responses", "the controller's that wait for a commit"
        ),
    ),
    """
    select s.run, s.time_us, log_end_offset, high_watermark, queue_length, deferred,
        b.broker_id as broker
    from metadata_sampled as s
    left join brokers as b on b.run = s.run and b.broker = s.broker
    """,
    key=("run", "time_us", "broker", "log_end_offset"),
)
