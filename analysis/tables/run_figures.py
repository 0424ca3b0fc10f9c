"""The figures of a run, as its summary has them, from tables."""

# ruff: noqa: S608 - queries are put together from texts of this room

from __future__ import annotations

from tidegauge.analysis.tables.interval_queries import merged
from tidegauge.analysis.tables.result_table import RUN, Column, ResultTable, View
from tidegauge.analysis.tables.unavailable import CONDITIONS
from tidegauge.traces.summary_figures import FIGURES

_COUNTED = {
    "isr_shrinks": "isr_shrunk",
    "isr_expands": "isr_expanded",
    "isr_removals": "removed_from_isr",
    "isr_notifications": "notification_sent",
}
_KEYS = ("run", "partition")

#: When ISRs had one member where there were more replicas.
_ISR_OF_ONE = View(
    "isr_of_one",
    """
    select run, partition, begin_us, end_us from partition_states
    where in_sync = 1 and replicas > 1
    """,
)

VIEWS = (_ISR_OF_ONE,)

#: Parts of the figures, each with a row for a run where there is anything to count.
_PARTS = {
    **{
        name: f"select run, count(*) as {name} from {kind} group by run"
        for name, kind in _COUNTED.items()
    },
    "elected": """
        select run, count_if(leader <> old_leader) as leader_elections,
            sum(unclean) as unclean_elections
        from leader_elected group by run""",
    "states": "select run, {} from partition_states group by run".format(
        ", ".join(
            f"sum(case when {holds} then end_us - begin_us else 0 end) / 1e6"
            f" as partition_seconds_{condition}"
            for condition, holds in CONDITIONS.items()
        )
    ),
    "alone": """
        select run, sum(end_us - begin_us) / 1e6 as partition_seconds_isr_of_one
        from isr_of_one group by run""",
    "episodes": f"""
        select run, count(*) as isr_of_one_episodes
        from ({merged("isr_of_one", _KEYS, ())}) as merged group by run""",
    "done": """
        select run, sum(processing_us) / 1e6 as controller_busy_seconds
        from controller_event_done group by run""",
    "totals": """
        select run, sum(records_acknowledged) as records_acknowledged
        from client_totals_to_the_last group by run""",
    "fates": """
        select run,
            sum(case when fate = 'lost' then records else 0 end) as records_acknowledged_lost,
            sum(case when fate = 'unavailable' then records else 0 end)
                as records_acknowledged_unavailable
        from acknowledged group by run""",
}


def _column(name: str, spark_type: str) -> Column:
    return Column(name, spark_type, FIGURES[name].unit, FIGURES[name].meaning)


_COLUMNS = (
    RUN,
    _column("virtual_seconds", "double"),
    _column("isr_shrinks", "bigint"),
    _column("isr_expands", "bigint"),
    _column("isr_removals", "bigint"),
    _column("isr_notifications", "bigint"),
    _column("leader_elections", "bigint"),
    _column("unclean_elections", "bigint"),
    _column("partition_seconds_offline", "double"),
    _column("partition_seconds_not_accepting", "double"),
    _column("partition_seconds_under_min_isr", "double"),
    _column("partition_seconds_at_min_isr", "double"),
    _column("partition_seconds_isr_of_one", "double"),
    _column("isr_of_one_episodes", "bigint"),
    _column("controller_busy_seconds", "double"),
    _column("records_acknowledged", "bigint"),
    _column("records_acknowledged_lost", "bigint"),
    _column("records_acknowledged_unavailable", "bigint"),
)

RUN_FIGURES = ResultTable(
    "run_figures",
    "one run, in the figures of its summary",
    _COLUMNS,
    """
    select runs.run, runs.ends_us / 1e6 as virtual_seconds, {}
    from runs {}
    """.format(
        ", ".join(f"coalesce({each.name}, 0) as {each.name}" for each in _COLUMNS[2:]),
        " ".join(
            f"left join ({sql}) as {part} on {part}.run = runs.run" for part, sql in _PARTS.items()
        ),
    ),
)
