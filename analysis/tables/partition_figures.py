"""The figures of each partition: its troubles, the worst first."""

# ruff: noqa: S608 - queries are put together from texts of this room

from tidegauge.analysis.tables.clients import GIVEN_UP
from tidegauge.analysis.tables.result_table import PARTITION, RUN, Column, ResultTable
from tidegauge.analysis.tables.run_figures import since_start_up


def _sums(value: str, rows: str) -> str:
    return f"select run, partition, sum({value}) as figure from {rows} group by run, partition"


#: Changes and elections after start-up, as in ``run_figures``.
_CHANGES = since_start_up("isr_changes")
_ELECTED = since_start_up("leader_elected")

#: The counts: unit and meaning of each, and the query of its rows.
_COUNTS = {
    "records_lost": (
        "records",
        "acknowledged records that are lost",
        _sums("records", "acknowledged where fate = 'lost'"),
    ),
    "records_unavailable": (
        "records",
        "acknowledged records without a leader at the end of the trace",
        _sums("records", "acknowledged where fate = 'unavailable'"),
    ),
    "unclean_elections": (
        "",
        "leaders elected that were not in the ISR, after start-up",
        _sums("unclean", f"{_ELECTED} as e"),
    ),
    "not_accepting_us": (
        "us",
        "the time without a running leader of the newest epoch",
        _sums("lasted_us", "unavailable where condition = 'not_accepting'"),
    ),
    "stalled_us": (
        "us",
        "the time for which it was stalled for producers, as in stalls",
        _sums("lasted_us", "unavailable where condition = 'stalled'"),
    ),
    "longest_stall_us": (
        "us",
        "... the longest without a break",
        """select run, partition, max(lasted_us) as figure
        from unavailable where condition = 'stalled' group by run, partition""",
    ),
    "reads_stalled_us": (
        "us",
        "the time for which it was stalled for consumers",
        _sums("lasted_us", "unavailable where condition = 'reads_stalled'"),
    ),
    "under_min_isr_us": (
        "us",
        "the time for which its ISR was below min.insync.replicas",
        _sums("lasted_us", "unavailable where condition = 'under_min_isr'"),
    ),
    "records_truncated": (
        "records",
        "records that followers removed from their logs",
        _sums("old_end_offset - end_offset", "truncated"),
    ),
    "batches_given_up": (
        "batches",
        "batches that producers gave up, sent or not",
        _sums("1", f"{GIVEN_UP} as g"),
    ),
    "records_given_up": (
        "records",
        "the records in these batches",
        _sums("records", f"{GIVEN_UP} as g"),
    ),
    "batches_appended_twice": (
        "batches",
        "batches that a retry appended again",
        _sums("1", "batch_duplicated"),
    ),
    "consumers_reset": (
        "",
        "consumers whose offset was out of range",
        _sums("1", "consumer_reset"),
    ),
    "given_up_by_followers": (
        "",
        "times that a follower gave it up until the next LeaderAndIsr",
        _sums("1", "partition_failed"),
    ),
    "isr_changes": (
        "",
        "changes of its ISR by leaders and by the controller, after start-up",
        _sums("1", f"{_CHANGES} as c"),
    ),
    "leader_terms": (
        "",
        "leader epochs in which a broker led it",
        """select run, partition, count(distinct leader_epoch) as figure
        from became_leader group by run, partition""",
    ),
}

_PARTS = " ".join(
    f"left join ({sql}) as of_{name} on of_{name}.run = p.run and of_{name}.partition = p.partition"
    for name, (_, _, sql) in _COUNTS.items()
)

#: Columns that the logs of a real cluster do not give; null in a run that is made of them.
_NOT_IN_LOGS = {
    *("records_lost", "records_unavailable", "records_truncated", "batches_given_up"),
    *("stalled_us", "longest_stall_us", "reads_stalled_us"),
    *("records_given_up", "batches_appended_twice", "consumers_reset"),
    "given_up_by_followers",
}


def _told(figure: str) -> str:
    """A figure, 0 where there is nothing to count."""
    counted = f"coalesce(of_{figure}.figure, 0)"
    if figure in _NOT_IN_LOGS:
        counted = f"case when runs.of_logs then null else {counted} end"
    return f"{counted} as {figure}"


PARTITION_FIGURES = ResultTable(
    "partition_figures",
    "one partition of the scenario, whether it exists or not",
    (
        RUN,
        *PARTITION,
        Column("is_written", "boolean", "", "producers of the scenario write to it"),
        *(Column(name, "bigint", unit, meaning) for name, (unit, meaning, _) in _COUNTS.items()),
        Column("leader", "bigint", "broker id", "the leader as the trace ends; null: none"),
        Column("in_sync", "bigint", "replicas", "members of its ISR then; null: it is deleted"),
        Column("replicas", "bigint", "replicas", "how many it is to have then"),
    ),
    f"""
    select p.run, p.partition, p.topic, p.topic_partition, p.is_written, s.leader,
        case when s.isr is not null then size(s.isr) end as in_sync,
        case when s.isr is not null then size(s.replicas) - size(s.adding) end as replicas,
        {", ".join(map(_told, _COUNTS))}
    from partitions as p
    join runs on runs.run = p.run
    left join (select * from described_states where end_us is null) as s
        on s.run = p.run and s.partition = p.partition
    {_PARTS}
    """,
    key=("run", "partition"),
)
