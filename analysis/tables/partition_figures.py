"""The figures of each partition: its troubles, the worst first."""

# ruff: noqa: S608 - queries are put together from texts of this room

from tidegauge.analysis.tables.clients import GIVEN_UP
from tidegauge.analysis.tables.result_table import PARTITION, RUN, Column, ResultTable
from tidegauge.analysis.tables.run_figures import since_start_up


def _condition(condition: str) -> tuple[str, str]:
    """The time of a partition in a condition, and the rows that have it."""
    return f"sum(case when condition = '{condition}' then lasted_us end)", "unavailable"


#: Changes and elections after start-up, as in ``run_figures``.
_CHANGES = f"{since_start_up('isr_changes')} as c"
_ELECTED = f"{since_start_up('leader_elected')} as e"
_GIVEN_UP = f"{GIVEN_UP} as g"

#: The counts: unit and meaning of each, and what it is of which rows of its partition.
_COUNTS = {
    "records_lost": (
        "records",
        "acknowledged records that are lost",
        "sum(case when fate = 'lost' then records end)",
        "acknowledged",
    ),
    "records_unavailable": (
        "records",
        "acknowledged records without a leader at the end of the trace",
        "sum(case when fate = 'unavailable' then records end)",
        "acknowledged",
    ),
    "unclean_elections": (
        "",
        "leaders elected that were not in the ISR, after start-up",
        "sum(unclean)",
        _ELECTED,
    ),
    "not_accepting_us": (
        "us",
        "the time without a running leader of the newest epoch",
        *_condition("not_accepting"),
    ),
    "stalled_us": (
        "us",
        "the time for which it was stalled for producers, as in stalls",
        *_condition("stalled"),
    ),
    "longest_stall_us": (
        "us",
        "... the longest without a break",
        "max(case when condition = 'stalled' then lasted_us end)",
        "unavailable",
    ),
    "reads_stalled_us": (
        "us",
        "the time for which it was stalled for consumers",
        *_condition("reads_stalled"),
    ),
    "under_min_isr_us": (
        "us",
        "the time for which its ISR was below min.insync.replicas",
        *_condition("under_min_isr"),
    ),
    "records_truncated": (
        "records",
        "records that followers removed from their logs",
        "sum(old_end_offset - end_offset)",
        "truncated",
    ),
    "batches_given_up": (
        "batches",
        "batches that producers gave up, sent or not",
        "count(*)",
        _GIVEN_UP,
    ),
    "records_given_up": (
        "records",
        "the records in these batches",
        "sum(records)",
        _GIVEN_UP,
    ),
    "batches_appended_twice": (
        "batches",
        "batches that a retry appended again",
        "count(*)",
        "batch_duplicated",
    ),
    "consumers_reset": (
        "",
        "consumers whose offset was out of range",
        "count(*)",
        "consumer_reset",
    ),
    "given_up_by_followers": (
        "",
        "times that a follower gave it up until the next LeaderAndIsr",
        "count(*)",
        "partition_failed",
    ),
    "isr_changes": (
        "",
        "changes of its ISR by leaders and by the controller, after start-up",
        "count(*)",
        _CHANGES,
    ),
    "leader_terms": (
        "",
        "leader epochs in which a broker led it",
        "count(distinct leader_epoch)",
        "became_leader",
    ),
}


def _part(place: int, rows: str) -> str:
    """A join with all figures that are of the same rows."""
    figures = ", ".join(
        f"{sql} as {name}" for name, (*_, sql, its) in _COUNTS.items() if its == rows
    )
    return f"""
    left join (
        select run, partition, {figures} from {rows} group by run, partition
    ) as of_{place} on of_{place}.run = p.run and of_{place}.partition = p.partition"""


_PARTS = "".join(
    _part(place, rows)
    for place, rows in enumerate(dict.fromkeys(its for *_, its in _COUNTS.values()))
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
    counted = f"coalesce({figure}, 0)"
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
        *(Column(name, "bigint", unit, meaning) for name, (unit, meaning, *_) in _COUNTS.items()),
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
