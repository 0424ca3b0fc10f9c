"""ISRs and high watermarks: replicas that leave and return, and how far followers are behind.

**isr-flapping**: a replica leaves an ISR in three ways: its leader shrinks it, the controller
removes it, or a leader is elected without it. If the cause goes back to a fault, that fault is the
likely one. Else the picture separates two cases (KIP-501): a follower that leaves many leaders is
slow itself; a leader that many followers leave at once is the slow one, however healthy it looks.

**hw-lag**: records between a leader's high watermark and the end of its log are not replicated by
all of the ISR: consumers do not see them, and with ``acks=1`` they are lost if the leader dies now.
Times are grouped so that an answer has about a hundred rows for each run.
"""

# ruff: noqa: S608 - queries are put together from texts of these rooms

from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.tables.result_table import RUN, Column

#: How often the replicas of each broker left ISRs, and for how long.
_ABSENCES = """
    select run, broker, count(*) as times_left, count(back_us) as times_back,
        count(distinct partition) as partitions,
        percentile_disc(0.5) within group (order by out_us) as out_p50_us,
        max(out_us) as out_longest_us
    from (
        select m.*, coalesce(back_us, ends_us) - end_us as out_us
        from (
            select *, lead(begin_us) over (
                partition by run, partition, broker order by begin_us
            ) as back_us
            from isr_members
        ) as m
        join (
            select run, partition, max(end_us) as ends_us from isr_intervals
            group by run, partition
        ) as i on i.run = m.run and i.partition = m.partition
        where m.end_us < i.ends_us
    ) as absences
    group by run, broker
"""

#: Each leaving of a replica of which the trace has the reason.
_LEAVES = """
    select run, by_leader, fault_name, unnest(brokers) as broker
    from isr_changes where change <> 'expand'
    union all
    select run, null, fault_name, old_leader
    from elections where not array_contains(isr, old_leader)
"""

#: The fault behind most of them, and the leader that saw most of them, for each broker.
_REASONS = f"""
    select run, broker, sum(times) as leaves,
        coalesce(sum(times) filter (where by_leader is not null), 0) as shrinks,
        count(distinct by_leader) as leaders,
        max(of_fault) filter (where fault_name is not null) as fault_leaves,
        max_by(fault_name, row(of_fault, fault_name)) filter (where fault_name is not null)
            as fault_name,
        max(of_leader) filter (where by_leader is not null) as leader_leaves,
        max_by(by_leader, place(of_leader, by_leader, 0, 0)) filter (where by_leader is not null)
            as leader,
        max_by(followers, place(of_leader, by_leader, followers, 0))
            filter (where by_leader is not null) as followers
    from (
        select *, sum(times) over (partition by run, broker, fault_name) as of_fault,
            sum(times) over (partition by run, broker, by_leader) as of_leader
        from (
            select run, broker, by_leader, followers, fault_name, count(*) as times
            from (
                select *, count(distinct broker) over (partition by run, by_leader) as followers
                from ({_LEAVES}) as leaves
            ) as seen
            group by run, broker, by_leader, followers, fault_name
        ) as each_way
    ) as shares
    group by run, broker
"""

#: The first that holds is the likely cause of a broker's leaving.
_CAUSE = """
    case
        when leaves is null then 'not in the trace'
        when fault_leaves * 2 >= leaves
            then 'fault ' || fault_name || ': ' || fault_leaves || ' of ' || leaves
                || ' go back to it'
        when leader_leaves * 2 > shrinks and followers > 1
            then 'leader ' || leader || ' is slow, not this broker: ' || followers
                || ' followers fell behind it'
        when leaders > 1
            then 'this broker is slow: it fell behind ' || leaders || ' leaders'
        when leaders = 1
            then 'only leader ' || leader || ' saw it fall behind: one of the two is slow,'
                || ' or the link between them'
        else 'the controller removed it: see the events of its process'
    end
"""

_FLAPPING = f"""
    select a.*, coalesce(shrinks, 0) as shrinks, {_CAUSE} as likely_cause
    from ({_ABSENCES}) as a
    left join ({_REASONS}) as r on r.run = a.run and r.broker = a.broker
    order by a.run, times_left desc, a.broker
"""


ISR_FLAPPING = Question(
    "isr-flapping",
    "Which brokers' replicas leave ISRs and return, and why?",
    (
        RUN,
        Column("broker", "bigint", "broker id", "the broker of the replicas"),
        Column("times_left", "bigint", "", "times that its replicas left an ISR"),
        Column("times_back", "bigint", "", "... and returned to it"),
        Column("shrinks", "bigint", "", "... of which leaders shrank their ISRs"),
        Column("partitions", "bigint", "partitions", "partitions affected"),
        Column("out_p50_us", "bigint", "us", "median time outside of the ISR"),
        Column("out_longest_us", "bigint", "us", "... and the longest, at most until the run ends"),
        Column("likely_cause", "string", "", "the fault, or the broker that seems to be slow"),
    ),
    lambda _: _FLAPPING,
    "the brokers that left most often first",
)


#: At most so many spans of time for a run, all of whole seconds.
SPANS = 120

_LAG_OVER_TIME = f"""
    with spans as (
        select run, cast(1000000 * ceil(ends_us / {SPANS} / 1e6) as bigint) as span_us from runs
    ),
    samples as (
        select h.*, time_us - time_us % span_us as begin_us, span_us
        from hw_lag as h join spans on spans.run = h.run
    )
    select run, begin_us, begin_us + span_us as end_us, count(*) as samples,
        percentile_disc(0.5) within group (order by lag) as p50,
        percentile_disc(0.95) within group (order by lag) as p95,
        percentile_disc(0.99) within group (order by lag) as p99,
        max(lag) as largest,
        max_by(topic_partition, row(lag, partition, topic_partition)) as largest_of
    from samples group by run, begin_us, span_us
    order by run, largest desc, p99 desc, begin_us, span_us
"""


HW_LAG_OVER_TIME = Question(
    "hw-lag",
    "How far were high watermarks behind the ends of logs, and when?",
    (
        RUN,
        Column("begin_us", "bigint", "us", "samples from here on"),
        Column("end_us", "bigint", "us", "... to just before"),
        Column("samples", "bigint", "", "number of samples of leaders, one for each partition"),
        Column("p50", "bigint", "records", "the median lag of the samples"),
        Column("p95", "bigint", "records", "... 95 of 100"),
        Column("p99", "bigint", "records", "... 99 of 100"),
        Column("largest", "bigint", "records", "... all"),
        Column("largest_of", "string", "", "the partition that lagged most"),
    ),
    lambda _: _LAG_OVER_TIME,
    "the largest lag first",
)
