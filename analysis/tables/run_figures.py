"""The figures of a run, as its summary has them, from tables."""

# ruff: noqa: S608 - queries are put together from texts of this room

from tidegauge.analysis.tables.dialect import IN_ORDER, merged
from tidegauge.analysis.tables.result_table import RUN, Column, ResultTable, View
from tidegauge.analysis.tables.unavailable import CONDITIONS, OF_CLIENTS
from tidegauge.traces.summary_figures import FIGURES

_COUNTED = {
    "isr_shrinks": "isr_shrunk",
    "isr_expands": "isr_expanded",
    "isr_notifications": "notification_sent",
}
#: Totals of clients.
_OF_CLIENTS = (
    *("records_offered", "records_acknowledged", "records_failed", "records_unsent"),
    "records_in_flight",
)
_KEYS = ("run", "partition")

#: Intervals in which an ISR had one member and the partition more replicas.
_ISR_OF_ONE = View(
    "isr_of_one",
    """
    select run, partition, begin_us, end_us from partition_states
    where in_sync = 1 and replicas > 1
    """,
    key=("run", "partition", "begin_us"),
)

#: The start of each run's figures (``traces/checks/figures.py``): that of the scenario, or the
#: first time at which every first partition has a leader, at the latest the first fault.
_BEGINNINGS = View(
    "beginnings",
    """
    with changes as (
        select run, begin_us as time_us, 1 as change from partition_states where accepting
        union all
        select run, end_us, -1 from partition_states where accepting
    ),
    net as (
        select run, time_us, sum(change) as change from changes group by run, time_us
    ),
    moments as (
        select run, time_us, sum(change) over (
            partition by run order by time_us rows between unbounded preceding and current row
        ) as accepting
        from net
    ),
    first_leaders as (
        select m.run, min(m.time_us) as led_us
        from moments as m
        join (
            select run, count(*) as count from partitions where is_first group by run
        ) as p on p.run = m.run
        where m.accepting >= p.count
        group by m.run
    ),
    first_faults as (
        select run, min(time_us) as began_us from fault_began group by run
    )
    select runs.run, coalesce(
        case when measured_from_us < ends_us then measured_from_us end,
        case when measured_from_us is null then least(led_us, began_us) end,
        0
    ) as from_us
    from runs
    left join first_leaders as l on l.run = runs.run and l.led_us < runs.ends_us
    left join first_faults as f on f.run = runs.run
    """,
)

VIEWS = (_ISR_OF_ONE, _BEGINNINGS)


def since_start_up(kind: str) -> str:
    """The rows of a kind, or of a table, after start-up."""
    return f"""(
        select k.* from {kind} as k join beginnings as b on b.run = k.run
        where k.time_us > b.from_us
    )"""


#: The states of partitions after start-up.
_STATES = """(
    select s.run, s.offline, s.accepting, s.under_min_isr, s.at_min_isr, s.under_replicated,
        s.end_us - greatest(s.begin_us, b.from_us) as lasted_us
    from partition_states as s join beginnings as b on b.run = s.run
    where s.end_us > b.from_us
)"""

#: Parts of the figures, each with a row for a run where there is anything to count.
_PARTS = {
    **{
        name: f"select run, count(*) as {name} from {since_start_up(kind)} as k group by run"
        for name, kind in _COUNTED.items()
    },
    "removed": f"""
        select run, sum(size(brokers)) as isr_removals
        from {since_start_up("uncaused_isr_changes")} as k where change = 'removal' group by run""",
    "elected": f"""
        select run, count_if(leader <> old_leader) as leader_elections,
            sum(unclean) as unclean_elections
        from {since_start_up("leader_elected")} as k group by run""",
    "states": "select run, {} from {} as s group by run".format(
        ", ".join(
            f"sum(case when {holds} then lasted_us else 0 end) / 1e6"
            f" as partition_seconds_{condition}"
            for condition, holds in CONDITIONS.items()
        ),
        _STATES,
    ),
    "alone": """
        select i.run, sum(end_us - greatest(begin_us, from_us)) / 1e6
            as partition_seconds_isr_of_one
        from isr_of_one as i join beginnings as b on b.run = i.run
        where end_us > from_us
        group by i.run""",
    "episodes": f"""
        select m.run, count(*) as isr_of_one_episodes
        from ({merged("isr_of_one", _KEYS, ())}) as m join beginnings as b on b.run = m.run
        where end_us > from_us
        group by m.run""",
    "done": f"""
        select run, sum(processing_us) / 1e6 as controller_busy_seconds
        from {since_start_up("controller_event_done")} as k group by run""",
    "stalls": "select run, {} from unavailable group by run".format(
        ", ".join(
            f"""sum(case when condition = '{condition}' then lasted_us end) / 1e6
                as partition_seconds_{condition},
            count(distinct case when condition = '{condition}' then partition end)
                as partitions_{condition},
            max(case when condition = '{condition}' then lasted_us end) / 1e6
                as longest_{condition.removesuffix("ed")}_seconds"""
            for condition in OF_CLIENTS
        )
    ),
    "at_once": "select run, {} from condition_counts group by run".format(
        ", ".join(
            f"max(case when condition = '{condition}' then partitions end)"
            f" as partitions_{condition}_most"
            for condition in OF_CLIENTS
        )
    ),
    "totals": "select run, {} from client_totals_to_the_last group by run".format(
        ", ".join(f"sum({each}) as {each}" for each in _OF_CLIENTS)
    ),
    # A process that ends as it loads its logs has no other row of its start.
    "started": f"""
        select run, count_if(
                life = 'started' or life = 'loading' and next_life is distinct from 'started'
            ) as starts
        from (
            select run, life, lead(life) over (partition by run, process order by {IN_ORDER})
                as next_life
            from (
                select run, {IN_ORDER}, 'loading' as life from broker_loading
                union all
                select run, {IN_ORDER}, 'started' from broker_started
                union all
                select run, {IN_ORDER}, 'stopped' from broker_stopped
            ) as lives
        ) as followed group by run""",
    "controlled": """
        select run, count(*) as failovers from controller_active where broker >= 0 group by run""",
    "fates": """
        select run,
            sum(case when fate = 'lost' then records else 0 end) as records_acknowledged_lost,
            sum(case when fate = 'unavailable' then records else 0 end)
                as records_acknowledged_unavailable
        from acknowledged group by run""",
}


def _of_stalls(condition: str) -> tuple[str, ...]:
    stall = condition.removesuffix("ed")
    return (
        *(f"partitions_{condition}", f"partitions_{condition}_most"),
        *(f"partition_seconds_{condition}", f"longest_{stall}_seconds"),
    )


_NAMES = (
    *("figures_from_seconds", "virtual_seconds", "isr_shrinks", "isr_expands", "isr_removals"),
    *("isr_notifications", "leader_elections", "unclean_elections", "failovers", "starts"),
    *(*_of_stalls("stalled"), *_of_stalls("reads_stalled"), "partition_seconds_offline"),
    *("partition_seconds_not_accepting", "partition_seconds_under_min_isr"),
    *("partition_seconds_at_min_isr", "partition_seconds_isr_of_one", "isr_of_one_episodes"),
    *("controller_busy_seconds", *_OF_CLIENTS),
    *("records_acknowledged_lost", "records_acknowledged_unavailable"),
)
_COLUMNS = tuple(
    Column(each.name, "double" if each.unit == "s" else "bigint", each.unit, each.meaning)
    for each in map(FIGURES.__getitem__, _NAMES)
)

#: Columns that the logs of a real cluster do not give; null in a run that is made of them.
_NOT_IN_LOGS = {
    *(name for condition in OF_CLIENTS for name in _of_stalls(condition)),
    *("isr_notifications", "controller_busy_seconds", *_OF_CLIENTS),
    *("records_acknowledged_lost", "records_acknowledged_unavailable"),
}


def _told(figure: str) -> str:
    """A figure, 0 where there is nothing to count."""
    counted = f"coalesce({figure}, 0)"
    if figure in _NOT_IN_LOGS:
        counted = f"case when runs.of_logs then null else {counted} end"
    return f"{counted} as {figure}"


RUN_FIGURES = ResultTable(
    "run_figures",
    "one run, in the figures of its summary",
    (RUN, *_COLUMNS),
    """
    select runs.run, begins.from_us / 1e6 as figures_from_seconds,
        runs.ends_us / 1e6 as virtual_seconds, {}
    from runs join beginnings as begins on begins.run = runs.run {}
    """.format(
        ", ".join(map(_told, _NAMES[2:])),
        " ".join(
            f"left join ({sql}) as {part} on {part}.run = runs.run" for part, sql in _PARTS.items()
        ),
    ),
    key=("run",),
)
