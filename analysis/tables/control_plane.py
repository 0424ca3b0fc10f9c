"""The cost of a control plane in a run, by figures of one meaning with ZooKeeper and KRaft."""

# ruff: noqa: S608 - queries are put together from texts of this room

from tidegauge.analysis.tables.dialect import (
    FROM_THE_BEGINNING,
    IN_ORDER,
    merged,
    overlaid,
    tiled,
    united,
)
from tidegauge.analysis.tables.result_table import RUN, Column, ResultTable, View
from tidegauge.analysis.tables.run_figures import since_start_up
from tidegauge.simulation.faults import PAUSE, RESTART
from tidegauge.simulation.trace_rows.codes import (
    BROKER_ABSENT,
    BROKER_ACTIVE,
    BROKER_FENCED,
    BROKER_REGISTERS,
    BROKER_SESSION_EXPIRED,
    LEADER,
    STATE_DELETED,
    STOP_CLEAN,
)
from tidegauge.traces.summary_figures import CONTROL_PLANE_FIGURES as FIGURES

#: The mode of each run.
_MODES = View(
    "modes",
    """
    select runs.run,
        case when count(q.process) > 0 then 'kraft' else 'zookeeper' end as mode
    from runs left join quorum_processes as q on q.run = runs.run
    group by runs.run
    """,
)

#: When each process was the active controller, by itself: one that is cut off or paused does not
#: know of its successor. In ZooKeeper mode it dies with its broker, a process of its own.
_CONTROLLERS = View(
    "active_controllers",
    f"""
    select run, controller, begin_us, end_us from ({
        tiled(
            f'''(
            select run, process as controller, true as is_active, {IN_ORDER}
            from controller_elected
            union all
            select run, process, false, {IN_ORDER} from controller_resigned
            union all
            select b.run, e.controller, false, b.time_us, b.process, b.sequence, b.minor
            from broker_stopped as b
            join (
                select distinct run, broker, process as controller from controller_elected
            ) as e on e.run = b.run and e.broker = b.process
            union all
            select a.run, a.process, a.broker >= 0, a.time_us, a.process, a.sequence, a.minor
            from controller_active as a
            join quorum_processes as q on q.run = a.run and q.process = a.process
            union all
            select run, process, false, {IN_ORDER}
            from voter_state where voter_state <> {int(LEADER)}
            )''',
            ("run", "controller"),
            ("is_active",),
        )
    }) as active
    where is_active
    """,
)

#: How long each partition that lost its leader to a fault had none, at its longest. One whose
#: leader leads on, without a request of a later epoch yet, has lost none.
_LEADERLESS = View(
    "leaderless",
    f"""
    select u.run, u.partition, max(u.end_us - u.begin_us) as lasted_us
    from ({merged("(select * from partition_states where not led)", ("run", "partition"), ())}) as u
    join first_fault_times as f on f.run = u.run and u.begin_us >= f.first_fault_us
    join beginnings as b on b.run = u.run and u.begin_us >= b.from_us
    group by u.run, u.partition
    """,
    key=("run", "partition"),
)
_FIRST_FAULT_TIMES = View(
    "first_fault_times",
    "select run, min(time_us) as first_fault_us from fault_began group by run",
)

#: Whether each process is stopped by a pause.
_STOPPED = View(
    "stopped_processes",
    tiled(
        f"""(
        select run, process as controller, sum(change) over (
            partition by run, process order by {IN_ORDER}
            rows between unbounded preceding and current row
        ) > 0 as paused, {IN_ORDER}
        from (
            select run, {IN_ORDER}, 1 as change from fault_began where fault_kind = {int(PAUSE)}
            union all
            select run, {IN_ORDER}, -1 from fault_ended where fault_kind = {int(PAUSE)}
        ) as changes
        union all
        select run, process, false, {FROM_THE_BEGINNING} from processes
        )""",
        ("run", "controller"),
        ("paused",),
    ),
)

#: When each active controller could work.
_WORKING = View(
    "working_controllers",
    f"""
    select * from ({
        overlaid("active_controllers", "stopped_processes", ("run", "controller"), (), ("paused",))
    }) as either
    where not paused
    """,
)

#: Of each process and kind of message, how many there were since the start-up.
_MESSAGE_COUNTS = View(
    "message_counts",
    """
    select k.run, message_kind, from_process, count_if(time_us > from_us) as messages
    from message as k join beginnings as b on b.run = k.run
    group by k.run, message_kind, from_process
    """,
    key=("run", "message_kind", "from_process"),
)

VIEWS = (
    _MODES,
    _MESSAGE_COUNTS,
    _CONTROLLERS,
    _STOPPED,
    _WORKING,
    _FIRST_FAULT_TIMES,
    _LEADERLESS,
)

#: Requests by which the control plane and brokers talk of partitions and registrations, by their
#: names in rows; with ZooKeeper also each request of a broker to it that is no ping.
_REQUESTS = (
    *("LEADER_AND_ISR", "UPDATE_METADATA", "STOP_REPLICA", "CONTROLLED_SHUTDOWN"),
    *("ALTER_PARTITION", "BROKER_REGISTRATION"),
)
_HEARTBEATS = ("BROKER_HEARTBEAT", "ZK_PING")
_METADATA_FETCHES = ("RAFT_FETCH", "FETCH_SNAPSHOT")


def _replaced(intervals: str, held: str, figure: str) -> str:
    """How often intervals of partitions after start-up hold something else than those before."""
    return f"""
        select c.run, count_if(c.begin_us > b.from_us and c.{held} <> c.before) as {figure}
        from (
            select run, begin_us, {held}, lag({held}) over (
                partition by run, partition order by begin_us
            ) as before
            from {intervals}
        ) as c
        join beginnings as b on b.run = c.run group by c.run"""


#: Parts of the figures, each with a row for a run where there is anything to count.
_PARTS = {
    "led": """
        select run, max(partitions) as leaderless_partitions,
            min(lasted_us) as leaderless_first_us, max(lasted_us) as leaderless_last_us,
            max(case when 2 * place in (partitions, partitions + 1) then lasted_us end)
                as leaderless_median_us
        from (
            select run, lasted_us, count(*) over (partition by run) as partitions,
                row_number() over (partition by run order by lasted_us, partition) as place
            from leaderless
        ) as ranked
        group by run""",
    "states": """
        select run, sum(case when not accepting or under_min_isr then lasted_us end)
                as unwritable_us,
            sum(case when offline and leader is not null then lasted_us end) as absent_leader_us
        from (
            select s.*, s.end_us - greatest(s.begin_us, b.from_us) as lasted_us
            from partition_states as s
            join beginnings as b on b.run = s.run and b.from_us < s.end_us
        ) as states group by run""",
    "worked": f"""
        select w.run, sum(w.end_us - greatest(w.begin_us, b.from_us)) as worked_us
        from ({united("working_controllers", ("run",))}) as w
        join beginnings as b on b.run = w.run and b.from_us < w.end_us
        group by w.run""",
    "controllers": """
        with edges as (
            select run, begin_us as time_us, 1 as change from active_controllers
            union all
            select run, end_us, -1 from active_controllers
        ),
        net as (select run, time_us, sum(change) as change from edges group by run, time_us),
        counted as (
            select run, sum(change) over (
                partition by run order by time_us
                rows between unbounded preceding and current row
            ) as controllers, time_us, lead(time_us) over (partition by run order by time_us)
                as end_us
            from net
        )
        select c.run, max(controllers) as active_controllers_most, sum(
                case when controllers > 1 then c.end_us - greatest(c.time_us, b.from_us) else 0 end
            ) as two_controllers_us
        from counted as c
        join beginnings as b on b.run = c.run and (c.end_us is null or c.end_us > b.from_us)
        group by c.run""",
    "voted": "select run, max(quorum_epoch) - 1 as quorum_epochs from voter_state group by run",
    "reloaded": f"""
        select e.run, max(e.processing_us) as controller_reload_longest_us
        from {since_start_up("controller_events")} as e
        where e.queued_us is null group by e.run""",
    "exited": f"""
        with asked as (
            select s.run, s.process, s.time_us, max(f.time_us) as asked_us
            from {since_start_up("broker_stopped")} as s
            join fault_began as f on f.run = s.run and f.process = s.process
                and f.fault_kind = {int(RESTART)} and f.time_us <= s.time_us
            where s.stop = {int(STOP_CLEAN)}
            group by s.run, s.process, s.time_us
        )
        select run, max(time_us - asked_us) as exit_longest_us from asked group by run""",
    "stopped": f"""
        select run, count(*) as clean_stops from {since_start_up("broker_stopped")} as k
        where stop = {int(STOP_CLEAN)} group by run""",
    "detected": f"""
        select run, max(until_us) as detection_longest_us from (
            select s.run, min(e.time_us) - s.time_us as until_us
            from {since_start_up("broker_stopped")} as s
            join broker_state as e on e.run = s.run and e.broker = s.process
                and e.time_us >= s.time_us
            where s.stop <> {int(STOP_CLEAN)} group by s.run, s.process, s.time_us
            having min(e.time_us) = min(
                case when e.state in ({int(BROKER_ABSENT)}, {int(BROKER_FENCED)}) then e.time_us end
            )
        ) as losses group by run""",
    "restarted": f"""
        select run, max(until_us) as restart_longest_us from (
            select f.run, min(e.time_us) - f.time_us as until_us
            from fault_began as f
            join broker_state as e on e.run = f.run and e.broker = f.process
                and e.time_us > f.time_us and e.state = {int(BROKER_ACTIVE)}
            where f.fault_kind = {int(RESTART)} group by f.run, f.process, f.time_us
        ) as restarts group by run""",
    "registered": f"""
        select run, count_if(state_reason = {int(BROKER_REGISTERS)}) as registrations,
            count_if(state_reason = {int(BROKER_SESSION_EXPIRED)}) as sessions_expired
        from {since_start_up("broker_state")} as k group by run""",
    "lived": f"""
        select e.run, count(distinct e.broker) as live_brokers_expired
        from {since_start_up("broker_state")} as e
        where e.state_reason = {int(BROKER_SESSION_EXPIRED)} and not exists (
            select 1 from broker_stopped as s where s.run = e.run and s.process = e.broker
        ) group by e.run""",
    "refused_brokers": f"""
        select r.run, count(*) as registrations_refused
        from {since_start_up("request_refused")} as r
        join names on names.run = r.run and names.enumeration = 'error'
            and names.number = r.error and name = 'DUPLICATE_BROKER_REGISTRATION'
        group by r.run""",
    "returned": """
        select run, max(returned_us - up_us) as return_longest_us from returns group by run""",
    "outside": """
        select o.run, sum(o.end_us - greatest(o.begin_us, b.from_us)) as out_of_isr_us
        from out_of_isr as o join beginnings as b on b.run = o.run and b.from_us < o.end_us
        group by o.run""",
    "changed": _replaced("isr_intervals", "isr", "isr_changes"),
    "begun": _replaced("leader_intervals", "leader_epoch", "leader_epochs"),
    "followed": f"""
        select run, count(*) as follower_starts from {since_start_up("became_follower")} as k
        group by run""",
    "written": f"""
        select k.run, count(*) as state_writes,
            case when max(m.mode) = 'kraft' then count(distinct time_us) else count(*) end
                as state_commits
        from {since_start_up("partition_state")} as k join modes as m on m.run = k.run
        where change <> {int(STATE_DELETED)} group by k.run""",
    "made": """
        select run, count(distinct partition) as partitions from partition_state group by run""",
    "sent": f"""
        select m.run,
            sum(case when n.name in {_REQUESTS} or f.role = 'broker' and n.name like 'ZK_%'
                and n.name not in {_HEARTBEATS} then messages else 0 end) as control_requests,
            sum(case when n.name in {_HEARTBEATS} then messages else 0 end) as heartbeats,
            sum(case when f.role = 'broker' and n.name in {_METADATA_FETCHES} then messages else 0
                end) as metadata_fetches
        from message_counts as m
        left join names as n on n.run = m.run and n.enumeration = 'message_kind'
            and n.number = m.message_kind
        left join processes as f on f.run = m.run and f.process = m.from_process
        group by m.run""",
    "waited": """
        select run, sum(blocked_us) as blocked_us from client_groups group by run""",
}

#: Figures that are 0 where there is nothing to count, and how each comes from the parts.
_COUNTED = (
    *("partitions", "leaderless_partitions", "leaderless_first_us", "leaderless_median_us"),
    *("leaderless_last_us", "unwritable_us", "absent_leader_us", "out_of_isr_us", "isr_changes"),
    *("active_controllers_most", "two_controllers_us", "leader_epochs", "follower_starts"),
    *("state_writes", "state_commits", "clean_stops", "registrations", "registrations_refused"),
    *("sessions_expired", "live_brokers_expired"),
)
#: Figures that are null where there was nothing of the kind.
_OF_SOME = (
    *("exit_longest_us", "restart_longest_us", "return_longest_us", "detection_longest_us"),
    *("controller_reload_longest_us", "quorum_epochs", "control_requests", "heartbeats"),
)

CONTROL_PLANE_FIGURES = ResultTable(
    "control_plane_figures",
    "one run, in figures that mean the same with ZooKeeper and with KRaft",
    (
        RUN,
        Column("mode", "string", "", "`zookeeper` or `kraft`"),
        *(Column(each.name, "bigint", each.unit, each.meaning) for each in FIGURES.values()),
    ),
    """
    select runs.run, m.mode, t.first_fault_us, {},
        runs.ends_us - b.from_us - coalesce(worked.worked_us, 0) as controller_less_us,
        case when not runs.of_logs then coalesce(waited.blocked_us, 0) end as blocked_us,
        case when m.mode = 'kraft' then sent.metadata_fetches end as metadata_fetches
    from runs
    join modes as m on m.run = runs.run
    join beginnings as b on b.run = runs.run
    left join first_fault_times as t on t.run = runs.run
    {}
    """.format(
        ", ".join(
            [
                *(f"coalesce({name}, 0) as {name}" for name in _COUNTED),
                *_OF_SOME,
            ]
        ),
        " ".join(
            f"left join ({sql}) as {part} on {part}.run = runs.run" for part, sql in _PARTS.items()
        ),
    ),
    key=("run",),
)
