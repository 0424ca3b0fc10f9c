"""The questions about runs, put to the rows of their traces in SQL of its own: another way.

There are no result tables here. The names for numbers in rows come from the plan of the cluster. A
state at some time is looked up at each moment at which anything changes, where result tables lay
intervals over each other.
"""

# ruff: noqa: S608 - queries are put together from texts of this file

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
from numpy.typing import NDArray

from sampled_replicas import samples_of
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.simulation.trace_rows.codes import (
    BROKER_ABSENT,
    REASON_END,
    REASON_LIVENESS,
    STATE_DELETED,
)
from tidegauge.simulation.trace_rows.schema import ROW_KINDS
from tidegauge.traces.run_folder import RunFolder
from tidegauge.traces.trace_file import ROW_COLUMNS

Row = dict[str, Any]

#: So many replicas a list can hold.
_PLACES = 15

_VIEWS = f"""
-- What the control plane holds of a partition or a broker after the last change of each moment.
create view states as
    select partition, time_us,
        max_by(change, (process, sequence, minor)) != {int(STATE_DELETED)} as there,
        max_by(leader, (process, sequence, minor)) as leader,
        max_by(isr, (process, sequence, minor)) as isr
    from partition_state group by all;
create view registrations as
    select broker, 0 as time_us, registered_before as there from brokers
    union all
    select broker, time_us + 0.5,
        max_by(state, (process, sequence, minor)) != {int(BROKER_ABSENT)}
    from broker_state group by all;

create view moments as
    select distinct partition, moment from (
        select partition, time_us as moment from states where time_us < (select ends_us from ends)
        union all
        select partition, cast(floor(registrations.time_us) as bigint)
        from registrations cross join partitions
        where registrations.time_us < (select ends_us from ends)
    );

-- Each partition at each of its moments.
create view looks as
    select moments.partition, moment, leader, min_isr,
        coalesce(states.there, false) as there,
        coalesce(registrations.there, false) as registered,
        case when isr = 0 then 0 else length(to_base(isr, 16)) end as in_sync
    from moments
    join partitions on partitions.partition = moments.partition
    asof left join states
        on moments.partition = states.partition and moments.moment >= states.time_us
    asof left join registrations
        on registrations.broker = leader and moment + 0.5 >= registrations.time_us;

create view isr_changes as
    select process, partition, old_isr, isr, true as by_leader from isr_shrunk
    where time_us < (select ends_us from ends)
    union all
    select process, partition, lag(isr) over (
            partition by partition order by time_us, process, sequence, minor
        ), isr, false
    from partition_state where time_us < (select ends_us from ends);

create view all_leaving as
    select process, partition, by_leader, slot_ids[member] as broker from (
        select *, unnest(range({_PLACES})) as place, (old_isr >> (4 * place)) & 15 as member
        from isr_changes
    )
    join partitions using (partition)
    where member > 0 and not list_contains(
        list_transform(range({_PLACES}), lambda other: (isr >> (4 * other)) & 15), member
    );
create view leaving as from all_leaving where by_leader;
"""

#: When a look finds a partition in a condition.
_CONDITIONS = {
    "offline": "there and not registered",
    "under_min_isr": "there and leader >= 0 and in_sync < min_isr",
    "at_min_isr": "there and leader >= 0 and in_sync = min_isr",
}


class Oracle:
    """One run in DuckDB, a table for each kind of rows, and what it answers."""

    def __init__(self, run: RunFolder) -> None:
        self._database = duckdb.connect()
        self._read(run)
        plan = ClusterPlan(scenario_from_mapping(run.manifest["scenario"], "oracle"))
        assert run.summary is not None
        self._plan(plan, run.summary)
        self._database.execute(_VIEWS)

    def _read(self, run: RunFolder) -> None:
        columns: defaultdict[str, list[dict[str, NDArray[np.int64]]]] = defaultdict(list)
        for trace in run.traces:
            for name in trace.kinds:
                columns[name].append(trace.table(name))
        for kind in ROW_KINDS.values():
            names = (*ROW_COLUMNS, *kind.columns)
            parts = columns[kind.name]
            nothing = np.empty(0, np.int64)
            table = pa.table(
                {name: np.concatenate([nothing, *(part[name] for part in parts)]) for name in names}
            )
            self._keep(kind.name, table)
        # Rows have only those that differ from the sample before.
        self._keep("samples", pa.Table.from_pylist([row.columns for row in samples_of(run)]))

    def _plan(self, plan: ClusterPlan, summary: Mapping[str, Any]) -> None:
        partitions = [
            {
                "partition": number,
                "topic": each.topic,
                "topic_partition": f"{each.topic}-{each.number}",
                "slot_ids": [plan.brokers[broker] for broker in each.slots],
                "min_isr": each.min_insync_replicas,
            }
            for number, each in enumerate(plan.partitions)
        ]
        brokers = [
            {"broker": index, "broker_id": broker, "registered_before": before}
            for index, (broker, before) in enumerate(
                zip(plan.brokers, plan.registered_before, strict=True)
            )
        ]
        self._keep("partitions", pa.Table.from_pylist(partitions))
        self._keep("brokers", pa.Table.from_pylist(brokers))
        # Where figures begin is counted while the run goes on.
        from_us = round(summary["figures_from_seconds"] * 1e6)
        self._keep("ends", pa.table({"ends_us": [plan.scenario.duration_us], "from_us": [from_us]}))

    def _keep(self, name: str, table: Any) -> None:
        self._database.register(f"_{name}", table)
        self._database.execute(f"create table {name} as from _{name}")

    def rows(self, query: str) -> list[Row]:
        """What a query finds."""
        found: list[Row] = self._database.sql(query).to_arrow_table().to_pylist()
        return found

    @contextmanager
    def bent(self, statement: str) -> Iterator[None]:
        """What it answers if the rows had been others, as long as this is entered."""
        self._database.begin()
        try:
            self._database.execute(statement)
            yield
        finally:
            self._database.rollback()

    # The questions.

    def shrunk_out(self) -> dict[int, int]:
        """How often leaders shrank replicas of each broker out."""
        found = self.rows("select broker, count(*) as times from leaving group by broker")
        return {row["broker"]: row["times"] for row in found}

    def changes(self) -> Row:
        """Changes of ISRs, and elections."""
        counts = {
            name: f"select count(*) from {kind} where time_us < ends_us {more}"
            for name, kind, more in (
                ("shrink", "isr_shrunk", ""),
                ("expand", "isr_expanded", ""),
                ("elections", "leader_elected", "and leader != old_leader"),
                ("unclean", "leader_elected", "and unclean != 0"),
            )
        }
        # A member leaves a state of its partition by its leader or by the controller.
        counts["removal"] = "select sum(if(by_leader, -1, 1)) from all_leaving"
        columns = ", ".join(f"({count}) as {name}" for name, count in counts.items())
        (found,) = self.rows(f"select {columns} from ends")
        return found

    def unavailability(self) -> list[Row]:
        """Of each topic and condition: intervals, their sum, half of them, the longest; in us."""
        islands = " union all ".join(
            f"""
            select '{name}' as condition, partition, moment, coalesce({holds}, false) as holds
            from looks
            """
            for name, holds in _CONDITIONS.items()
        )
        islands += "".join(
            f"""
            union all
            select '{name}', partition, time_us, sum(sum(change)) over (
                partition by partition order by time_us) > 0
            from (
                select partition, time_us, 1 as change from {client}_stalled
                union all
                select partition, time_us, -1 from {client}_resumed
            )
            where time_us < (select ends_us from ends) group by partition, time_us
            """
            for name, client in (("stalled", "produce"), ("reads_stalled", "consume"))
        )
        return self.rows(f"""
            with changed as (
                select * from ({islands})
                qualify holds is distinct from lag(holds) over (
                    partition by condition, partition order by moment)
            ),
            lasting as (
                select condition, partition, holds,
                    coalesce(lead(moment) over (partition by condition, partition order by moment),
                             ends_us) - greatest(moment, from_us) as lasted_us
                from changed, ends
            )
            select topic, condition, count(*) as intervals,
                count(distinct partition) as partitions, sum(lasted_us)::bigint as total_us,
                quantile_disc(lasted_us, 0.5) as p50_us, quantile_disc(lasted_us, 0.99) as p99_us,
                max(lasted_us) as longest_us
            from lasting join partitions using (partition)
            where holds and lasted_us > 0 group by topic, condition order by topic, condition
        """)

    def hw_lag(self, span_us: int) -> list[Row]:
        """Percentiles of the lag of leaders' high watermarks in spans of time."""
        return self.rows(f"""
            select time_us // {span_us} * {span_us} as begin_us, count(*) as samples,
                quantile_disc(lag, 0.5) as p50, quantile_disc(lag, 0.95) as p95,
                quantile_disc(lag, 0.99) as p99, max(lag) as largest
            from (select *, log_end_offset - high_watermark as lag from samples where leads = 1)
            where time_us < (select ends_us from ends) group by all
            order by largest desc, p99 desc, begin_us
        """)

    def notifications(self) -> list[Row]:
        """Of each fault until the next one begins: changes, notifications, batches, delays."""
        return self.rows("""
            with bounces as (
                select begin_us, coalesce(lead(begin_us) over (order by begin_us), ends_us)
                    as next_us
                from (select 0 as begin_us union select time_us from fault_began), ends
                where begin_us < ends_us
            ),
            changed as (select time_us, process, sequence from isr_shrunk
                union all select time_us, process, sequence from isr_expanded),
            sent as (
                select *, (
                    select max(sequence) from
                        (select process, sequence from notification_sent
                         union all select process, sequence from broker_stopped) as ended
                    where ended.process = notification_sent.process
                        and ended.sequence < notification_sent.sequence
                ) as after from notification_sent where time_us < (select ends_us from ends)
            ),
            timed as (
                select partition_count, sent.time_us,
                    least(min(changed.time_us), any_value(sent.time_us - quiet_ms * 1000))
                        as first_us
                from sent left join changed on changed.process = sent.process
                    and changed.sequence < sent.sequence
                    and changed.sequence > coalesce(after, -1)
                group by sent.process, sent.sequence, partition_count, sent.time_us
            )
            select begin_us,
                (select count(*) from changed where time_us >= begin_us and time_us < next_us)
                    as changes,
                count(first_us) as notifications, coalesce(max(partition_count), 0) as largest,
                quantile_disc(timed.time_us - first_us, 0.5) as delay_p50_us,
                max(timed.time_us - first_us) as delay_longest_us
            from bounces left join timed on first_us >= begin_us and first_us < next_us
            group by begin_us, next_us order by begin_us
        """)

    def promises(self) -> dict[int, tuple[int, int]]:
        """Records acknowledged and lost, by the acks that were asked for."""
        found = self.rows(f"""
            with leaders as (
                select partition, leader from (
                    select partition, max_by(leader, (time_us, process, sequence)) as leader
                    from partition_state group by partition
                ) where leader in (
                    select broker from (select broker, max_by(there, time_us) as there
                        from registrations group by broker) where there
                )
            ),
            logs as (
                select partition, process as leader, epoch, start_offset, end_offset from log_end
                where reason in ({int(REASON_END)}, {int(REASON_LIVENESS)})
                qualify time_us = max(time_us) over (partition by partition, process)
            ),
            pieces as (
                select a.acks, a.end_offset - a.first_offset as records,
                    sum(if(logs.epoch is null, 0, greatest(0, least(a.end_offset, logs.end_offset)
                        - greatest(a.first_offset, logs.start_offset)))) as held,
                    any_value(leaders.leader) as leader
                from acknowledged as a left join leaders using (partition)
                left join logs on logs.partition = a.partition and logs.leader = leaders.leader
                    and logs.epoch = a.leader_epoch
                group by a.partition, a.leader_epoch, a.acks, a.first_offset, a.end_offset,
                    a.process, a.sequence
            )
            select acks, sum(records)::bigint as acknowledged,
                sum(if(leader is null, 0, records - coalesce(held, 0)))::bigint as lost
            from pieces group by acks
        """)
        return {row["acks"]: (row["acknowledged"], row["lost"]) for row in found}

    def failovers(self) -> dict[tuple[int, int], int]:
        """Partitions that got another leader, by the end of the controller's event; not new ones.

        Elections are in the course of the event that is done next.
        """
        found = self.rows("""
            select process, event_us, count(*) as partitions from (
                select process, sequence, leader, old_leader, leader_epoch, (
                    select min_by(time_us, sequence) from controller_event_done as done
                    where done.process = leader_elected.process
                        and done.sequence > leader_elected.sequence
                ) as event_us
                from leader_elected, ends where time_us < ends_us
            ) where leader != old_leader and leader_epoch > 0 group by all
        """)
        return {(row["process"], row["event_us"]): row["partitions"] for row in found}
