"""Acknowledged records, and those that are missing in the end.

A record is (partition, leader epoch, offset). It is lost if the leader that the control plane names
does not hold it when the trace ends, after the liveness phase if there is one. Records of a
partition without a leader are not lost yet, but unavailable. Those that retention has deleted are
not lost. Records of a deleted topic do not count.

Each range is divided into disjoint pieces that are held, lost or unavailable. The origin of a lost
piece is the first later leader that began without its last record.
"""

# ruff: noqa: S608 - queries are put together from texts of this room

from tidegauge.analysis.tables.result_table import (
    FAULT,
    MOMENT,
    PARTITION,
    RUN,
    Column,
    ResultTable,
    View,
)
from tidegauge.replication.in_sync_replicas import ACKS_ALL
from tidegauge.simulation.trace_rows.codes import (
    BROKER_ABSENT,
    REASON_END,
    REASON_LEADER,
    REASON_LIVENESS,
    STATE_CREATED,
)

_NEVER_US = (1 << 63) - 1
_RANGE = "run, partition, time_us, process, sequence, leader_epoch, acks"

#: From when on records count of partitions that were deleted: when they were there again.
_COUNTS_FROM = View(
    "counts_from",
    f"""
    select g.run, g.partition, coalesce(
        min(case when s.time_us > g.deleted_us then s.time_us end), {_NEVER_US}
    ) as counts_from_us
    from (
        select p.run, p.partition, max(d.time_us) as deleted_us
        from topic_deletion_begun_to_the_last as d
        join partitions as p on p.run = d.run and p.topic_number = d.topic
        group by p.run, p.partition
    ) as g
    left join partition_state_to_the_last as s
        on s.run = g.run and s.partition = g.partition and s.change = {int(STATE_CREATED)}
    group by g.run, g.partition
    """,
)

#: The registered leader that the control plane names in the end, for each partition.
_LAST_LEADERS = View(
    "last_leaders",
    f"""
    with told as (
        select run, broker, max_by(state, place(time_us, process, sequence, minor)) as state
        from broker_state_to_the_last group by run, broker
    ),
    named as (
        select run, partition, max_by(leader, place(time_us, process, sequence, minor)) as leader
        from partition_state_to_the_last group by run, partition
    )
    select named.run, named.partition, named.leader
    from named
    join brokers as b on b.run = named.run and b.broker = named.leader
    left join told on told.run = b.run and told.broker = b.broker
    where case when told.state is null then b.registered else state <> {int(BROKER_ABSENT)} end
    """,
)

#: The runs of epochs in each replica's log as the trace ends. In a run that was interrupted no
#: replica tells its log then: that of a leader is what it had as it began to lead, and all since.
_LAST_LOGS = View(
    "last_logs",
    f"""
    with begun as (
        select b.*, max(b.time_us) over (partition by b.run, b.partition, b.process) as last_us
        from became_leader_to_the_last as b
        where not exists (
            select 1 from log_end_to_the_last as h
            where h.reason = {int(REASON_END)} and h.run = b.run
        )
    ),
    told as (
        select run, partition, process, time_us, epoch, start_offset, end_offset
        from log_end_to_the_last where reason in ({int(REASON_END)}, {int(REASON_LIVENESS)})
        union all
        select h.run, h.partition, h.process, h.time_us, h.epoch, h.start_offset, h.end_offset
        from begun as b
        join log_end_to_the_last as h on h.reason = {int(REASON_LEADER)} and h.run = b.run
            and h.partition = b.partition and h.process = b.process and h.time_us = b.time_us
        where b.time_us = b.last_us
        union all
        select run, partition, process, time_us, leader_epoch, log_end_offset, {_NEVER_US}
        from begun where time_us = last_us
    )
    select run, partition, process as leader, epoch as leader_epoch,
        min(start_offset) as log_start, max(end_offset) as log_end
    from (
        select *, max(time_us) over (partition by run, partition, process) as newest_us from told
    ) as ends
    where time_us = newest_us
    group by run, partition, process, epoch
    """,
)

#: Of each partition the offset below which retention has deleted records.
_KEPT_FROM = View(
    "kept_from",
    """
    select run, partition, max(log_start_offset) as kept_from
    from log_start_raised_to_the_last group by run, partition
    """,
)

#: The pieces of all acknowledged ranges, with the ``fate`` of each.
_PIECES = View(
    "acknowledged_pieces",
    f"""
    with promised as (
        select a.*, k.leader as last_leader,
            greatest(a.first_offset, least(coalesce(r.kept_from, 0), a.end_offset)) as kept_from,
            greatest(a.first_offset, least(coalesce(g.log_start, a.end_offset), a.end_offset))
                as held_from,
            least(coalesce(g.log_end, a.end_offset), a.end_offset) as held_until
        from acknowledged_to_the_last as a
        left join counts_from as c on c.run = a.run and c.partition = a.partition
        left join kept_from as r on r.run = a.run and r.partition = a.partition
        left join last_leaders as k on k.run = a.run and k.partition = a.partition
        left join last_logs as g on g.run = a.run and g.partition = a.partition
            and g.leader = k.leader and g.leader_epoch = a.leader_epoch
        where c.counts_from_us is null or a.time_us > c.counts_from_us
    ),
    known as (
        select *, greatest(kept_from, held_from) as held_first,
            greatest(kept_from, held_from, held_until) as held_to
        from promised
    ),
    pieces as (
        select {_RANGE},
            case
                when nth = 1 then 'deleted'
                when last_leader is null then 'unavailable'
                when nth = 3 then 'held'
                else 'lost'
            end as fate,
            case nth
                when 1 then first_offset when 2 then kept_from when 3 then held_first else held_to
            end as first_offset,
            case nth
                when 1 then kept_from when 2 then held_first when 3 then held_to else end_offset
            end as end_offset
        -- Without a leader the second of four pieces has all that is not deleted.
        from (select *, explode(sequence(1, 4)) as nth from known) as divided
    )
    select *, end_offset - first_offset as records from pieces where first_offset < end_offset
    """,
    key=("run", "process", "sequence", "first_offset"),
)

#: Lost pieces, each with the first later term whose leader began without its last record.
_LOST_PIECES = View(
    "lost_pieces",
    f"""
    with missing as (
        select * from acknowledged_pieces where fate = 'lost'
    ),
    -- A leader can lead on in its own epoch, but on a log that has lost its end with the power.
    lacking as (
        select l.*, t.time_us as began_us, t.process as began_process,
            t.sequence as began_sequence,
            row_number() over (
                partition by l.run, l.process, l.sequence, l.first_offset
                order by t.time_us, t.process, t.sequence
            ) as nth
        from missing as l
        join became_leader_to_the_last as t on t.run = l.run and t.partition = l.partition
            and (t.leader_epoch > l.leader_epoch
                or t.leader_epoch = l.leader_epoch and t.time_us > l.time_us)
        -- It tells its log in the moment in which it begins to lead.
        where not exists (
            select 1 from log_end_to_the_last as h
            where h.reason = {int(REASON_LEADER)} and h.run = l.run and h.partition = l.partition
                and h.process = t.process and h.time_us = t.time_us and h.epoch = l.leader_epoch
                and h.start_offset < l.end_offset and l.end_offset <= h.end_offset
        )
    )
    select missing.*, f.began_us, f.began_process, f.began_sequence
    from missing
    left join lacking as f on f.run = missing.run and f.process = missing.process
        and f.sequence = missing.sequence and f.first_offset = missing.first_offset and f.nth = 1
    """,
)

#: Of each partition whether a leader was elected from outside of ISR and ELR, whether all that were
#: are last known leaders (KIP-966), and whether it lost power.
_PERMITS = View(
    "loss_permits",
    """
    select run, partition, bool_or(unclean) as unclean, bool_and(known) as known,
        bool_or(lost_power) as lost_power
    from (
        select e.run, e.partition, true as unclean, k.run is not null as known,
            false as lost_power
        from leader_elected_to_the_last as e
        left join states_to_the_last as k on k.run = e.run and k.partition = e.partition
            and k.end_us = e.time_us and k.last_known_leader = e.leader
        where e.unclean <> 0
        union all
        select run, partition, false, null, true from log_lost_to_the_last
    ) as permits
    group by run, partition
    """,
)

VIEWS = (_COUNTS_FROM, _LAST_LEADERS, _LAST_LOGS, _KEPT_FROM, _PIECES, _LOST_PIECES, _PERMITS)

_PIECE = (
    RUN,
    *PARTITION,
    *MOMENT,
    Column("leader", "bigint", "broker id", "the leader that acknowledged the records"),
    Column("leader_epoch", "bigint", "", "the epoch of these records"),
    Column("acks", "bigint", "", "acks of the producer: -1 is all"),
    Column("first_offset", "bigint", "", "the first of the offsets"),
    Column("end_offset", "bigint", "", "the offset after the last one"),
    Column("records", "bigint", "records", "end_offset - first_offset"),
)

ACKNOWLEDGED = ResultTable(
    "acknowledged",
    "offsets of one epoch that a leader acknowledged, and their fate; recorded at `time_us`, at "
    "the latest when its term ends",
    (
        *_PIECE,
        Column(
            "fate",
            "string",
            "",
            "`held`, `lost`, `unavailable` or, by retention, `deleted` at the end of the trace",
        ),
    ),
    """
    select a.*, p.topic, p.topic_partition, b.broker_id as leader
    from acknowledged_pieces as a
    join partitions as p on p.run = a.run and p.partition = a.partition
    left join brokers as b on b.run = a.run and b.broker = a.process
    """,
    key=("run", "partition", "process", "sequence", "first_offset"),
)

LOST = ResultTable(
    "lost",
    "acknowledged offsets that are lost, and the origin of the loss",
    (
        *_PIECE,
        Column(
            "permitted_by",
            "string",
            "",
            "the reason that permits the loss; null: it is not permitted",
        ),
        Column("new_leader", "bigint", "broker id", "the first leader without the last record"),
        Column("began_us", "bigint", "us", "when it began to lead"),
        Column("began_process", "bigint", "", "first half of the handle of that row"),
        Column("began_sequence", "bigint", "", "second half: `show cause` prints the whole chain"),
        Column("trigger_kind", "string", "", "the row of another process that led to it"),
        *FAULT,
    ),
    f"""
    select l.*, p.topic, p.topic_partition, b.broker_id as leader, n.broker_id as new_leader,
        c.trigger_kind, c.fault, c.fault_name, c.fault_us, c.faults,
        case
            when acks <> {int(ACKS_ALL)} then 'acks=' || cast(acks as string)
            when w.unclean and w.known then 'election of the last known leader'
            when w.unclean then 'unclean election'
            when w.lost_power then 'loss of power'
        end as permitted_by
    from lost_pieces as l
    join partitions as p on p.run = l.run and p.partition = l.partition
    left join brokers as b on b.run = l.run and b.broker = l.process
    left join brokers as n on n.run = l.run and n.broker = l.began_process
    left join causes as c on c.run = l.run and c.process = l.began_process
        and c.sequence = l.began_sequence and c.effect = 'loss'
    left join loss_permits as w on w.run = l.run and w.partition = l.partition
    """,
    key=("run", "partition", "process", "sequence", "first_offset"),
)
