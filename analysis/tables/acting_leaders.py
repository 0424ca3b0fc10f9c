"""The acting leaders of each partition: there can be two, of different epochs."""

# ruff: noqa: S608 - queries are put together from texts of this room

from tidegauge.analysis.tables import result_table
from tidegauge.analysis.tables.dialect import IN_ORDER, merged, tiled

_KEYS = ("run", "partition", "broker")

#: A term ends with any of these rows of its leader, or with the leader's process.
_LEAVES = ("became_follower", "replica_stopped", "log_deleted", "replica_offline")

_ACTED = result_table.View(
    "acted",
    tiled(
        f"""(
        select run, partition, process as broker, leader_epoch, {IN_ORDER} from became_leader
        {
            " ".join(
                f"union all select run, partition, process, null, {IN_ORDER} from {kind}"
                for kind in _LEAVES
            )
        }
        union all
        select b.run, s.partition, b.process, null, b.time_us, b.process, b.sequence, b.minor
        from broker_stopped as b
        join slots as s on s.run = b.run and s.broker = b.process
        )""",
        _KEYS,
        ("leader_epoch",),
    ),
    key=("run", "partition", "broker", "begin_us"),
)

VIEWS = (_ACTED,)

ACTING_LEADERS = result_table.ResultTable(
    "acting_leaders",
    "one interval in which a broker acted as leader of a partition, even after another was elected",
    (
        result_table.RUN,
        *result_table.PARTITION,
        *result_table.INTERVAL,
        result_table.Column(
            "leader", "bigint", "broker id", "the broker; its process may be paused"
        ),
        result_table.Column("leader_epoch", "bigint", "", "the epoch in which it leads"),
        result_table.Column(
            "superseded_us",
            "bigint",
            "us",
            "when the control plane had a later epoch while it led on; null: never",
        ),
        result_table.Column(
            "records_lost", "bigint", "records", "acknowledged by it in this epoch, and lost"
        ),
    ),
    f"""
    with terms as (
        {merged("(select * from acted where leader_epoch is not null)", _KEYS, ("leader_epoch",))}
    ),
    superseded as (
        select t.run, t.partition, t.broker, t.begin_us, min(s.time_us) as superseded_us
        from terms as t
        join partition_state as s on s.run = t.run and s.partition = t.partition
            and s.leader_epoch > t.leader_epoch and s.time_us < t.end_us
        group by t.run, t.partition, t.broker, t.begin_us
    ),
    losses as (
        select run, partition, leader, leader_epoch, sum(records) as records
        from lost group by run, partition, leader, leader_epoch
    )
    select t.run, t.partition, p.topic, p.topic_partition, t.begin_us, t.end_us,
        b.broker_id as leader, t.leader_epoch, s.superseded_us,
        coalesce(l.records, 0) as records_lost
    from terms as t
    join partitions as p on p.run = t.run and p.partition = t.partition
    join brokers as b on b.run = t.run and b.broker = t.broker
    left join superseded as s on s.run = t.run and s.partition = t.partition
        and s.broker = t.broker and s.begin_us = t.begin_us
    left join losses as l on l.run = t.run and l.partition = t.partition
        and l.leader = b.broker_id and l.leader_epoch = t.leader_epoch
    """,
    key=("run", "partition", "begin_us", "leader"),
)
