"""The acknowledged records that are lost, and the causes.

A record that was acknowledged with ``acks=1`` was never promised more than its leader; of
``acks=all`` only an unclean election or a loss of power breaks the promise. ``cause`` is the handle
of the row with which the first leader began that did not have the records.
"""

# ruff: noqa: S608 - queries are put together from texts of these rooms

from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.tables.result_table import RUN, Column
from tidegauge.replication.in_sync_replicas import ACKS_ALL

_SQL = f"""
    with promised as (
        select run, acks, sum(records) as acknowledged_so from acknowledged group by run, acks
    ),
    ways as (
        select run, acks, permitted_by, fault_name, trigger_kind, sum(records) as records,
            count(distinct partition) as partitions, count(*) as ranges,
            max_by(l, row(records, -partition, -first_offset, process, sequence)) as example
        from lost as l group by run, acks, permitted_by, fault_name, trigger_kind
    )
    select w.run, w.records, acknowledged_so, partitions, ranges, w.permitted_by, w.fault_name,
        w.trigger_kind, example.topic_partition as topic_partition,
        example.first_offset as first_offset, example.end_offset as end_offset,
        example.leader as leader, example.new_leader as new_leader,
        example.began_us as began_us,
        example.began_process || ':' || example.began_sequence as cause,
        case when w.acks = {int(ACKS_ALL)} then 'all' else cast(w.acks as string) end as acks
    from ways as w join promised as p on p.run = w.run and p.acks = w.acks
    order by w.run, w.records desc, w.acks, topic_partition, first_offset, w.permitted_by,
        w.fault_name, w.trigger_kind
"""


LOST_RECORDS = Question(
    "lost-records",
    "Which acknowledged records are lost, and why?",
    (
        RUN,
        Column("acks", "string", "", "acks of the producer"),
        Column("records", "bigint", "records", "acknowledged, and lost in this way"),
        Column("acknowledged_so", "bigint", "records", "all records acknowledged with these acks"),
        Column("partitions", "bigint", "partitions", "partitions that have lost some of them"),
        Column("ranges", "bigint", "", "contiguous ranges of offsets"),
        Column("permitted_by", "string", "", "the reason that permits the loss; null: none does"),
        Column("fault_name", "string", "", "the fault that it goes back to; null: none"),
        Column(
            "trigger_kind", "string", "", "kind of the row that notified the new leader's broker"
        ),
        Column("topic_partition", "string", "", "the largest range as an example: its partition"),
        Column("first_offset", "bigint", "", "... its first offset"),
        Column("end_offset", "bigint", "", "... and the offset after its last"),
        Column("leader", "bigint", "broker id", "... the broker that acknowledged it"),
        Column("new_leader", "bigint", "broker id", "... the first leader without it"),
        Column("began_us", "bigint", "us", "... when it began to lead"),
        Column("cause", "string", "", "... for `tidegauge show cause`"),
    ),
    lambda _: _SQL,
    "the most records first",
)
