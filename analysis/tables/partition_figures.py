"""The figures of each partition: what went wrong with it, the worst first."""

# ruff: noqa: S608 - queries are put together from texts of this room

from __future__ import annotations

from tidegauge.analysis.tables.result_table import (
    PARTITION,
    RUN,
    Column,
    ResultTable,
)

#: The counts: the meaning of each, and the query of its rows.
_COUNTS = {
    "records_lost": (
        "records",
        "acknowledged records that are lost",
        "select run, partition, sum(records) as {name} from acknowledged "
        "where fate = 'lost' group by run, partition",
    ),
    "records_unavailable": (
        "records",
        "acknowledged records without a leader at the end of the trace",
        "select run, partition, sum(records) as {name} from acknowledged "
        "where fate = 'unavailable' group by run, partition",
    ),
    "unclean_elections": (
        "",
        "leaders elected that were not in the ISR",
        "select run, partition, sum(unclean) as {name} from leader_elected group by run, partition",
    ),
    "not_accepting_us": (
        "us",
        "how long it took no writes, after it first did",
        "select run, partition, sum(lasted_us) as {name} from ("
        "select * from unavailable where condition = 'not_accepting') as refusing "
        "join (select run as of_run, partition as of_partition, min(begin_us) as created_us "
        "from partition_states group by run, partition) as created "
        "on of_run = run and of_partition = partition "
        "where begin_us > created_us group by run, partition",
    ),
    "under_min_isr_us": (
        "us",
        "how long its ISR was below min.insync.replicas",
        "select run, partition, sum(lasted_us) as {name} from unavailable "
        "where condition = 'under_min_isr' group by run, partition",
    ),
    "records_truncated": (
        "records",
        "records that followers removed from their logs",
        "select run, partition, sum(old_end_offset - end_offset) as {name} from truncated "
        "group by run, partition",
    ),
    "batches_given_up": (
        "batches",
        "batches that producers gave up",
        "select run, partition, count(*) as {name} from batch_failed group by run, partition",
    ),
    "records_given_up": (
        "records",
        "the records in these batches",
        "select run, partition, sum(records) as {name} from batch_failed group by run, partition",
    ),
    "batches_appended_twice": (
        "batches",
        "batches that a retry appended again",
        "select run, partition, count(*) as {name} from batch_duplicated group by run, partition",
    ),
    "consumers_reset": (
        "",
        "consumers whose offset was out of range",
        "select run, partition, count(*) as {name} from consumer_reset group by run, partition",
    ),
    "given_up_by_followers": (
        "",
        "times that a follower gave it up until the next LeaderAndIsr",
        "select run, partition, count(*) as {name} from partition_failed group by run, partition",
    ),
    "isr_changes": (
        "",
        "changes of its ISR by leaders and by the controller",
        "select run, partition, count(*) as {name} from isr_changes group by run, partition",
    ),
    "leader_terms": (
        "",
        "leader epochs in which a broker led it",
        "select run, partition, count(distinct leader_epoch) as {name} from became_leader "
        "group by run, partition",
    ),
}

_PARTS = " ".join(
    f"left join ({sql.format(name=name)}) as of_{name}"
    f" on of_{name}.run = p.run and of_{name}.partition = p.partition"
    for name, (_, _, sql) in _COUNTS.items()
)

PARTITION_FIGURES = ResultTable(
    "partition_figures",
    "one partition of the scenario, whether it exists or not",
    (
        RUN,
        *PARTITION,
        *(Column(name, "bigint", unit, meaning) for name, (unit, meaning, _) in _COUNTS.items()),
        Column("leader", "bigint", "broker id", "the leader as the trace ends; null: none"),
        Column("in_sync", "bigint", "replicas", "members of its ISR then; null: it is deleted"),
        Column("replicas", "bigint", "replicas", "how many it is to have then"),
    ),
    f"""
    select p.run, p.partition, p.topic, p.topic_partition, s.leader,
        case when s.isr is not null then size(s.isr) end as in_sync,
        case when s.isr is not null then size(s.replicas) - size(s.adding) end as replicas,
        {", ".join(f"coalesce(of_{name}.{name}, 0) as {name}" for name in _COUNTS)}
    from partitions as p
    left join (select * from described_states where end_us is null) as s
        on s.run = p.run and s.partition = p.partition
    {_PARTS}
    """,
)
