"""The standing of each replica of a partition over time, its log end and its high watermark.

Leader and ISR are those of the control plane; the process of a broker says whether it is up.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tidegauge.runs.story import Names
from tidegauge.traces.run_folder import RunFolder

if TYPE_CHECKING:
    from tidegauge.analysis.making.run_tables import RunTables


class Standing(Enum):
    """The standing of a replica."""

    ABSENT = "the partition has no replica here"
    DOWN = "its broker is down, loads its logs, or is paused"
    FORMER = "leads on, while the control plane has a later epoch"
    OUT = "up, and not in the ISR"
    IN_SYNC = "in the ISR"
    LEADER = "leads, as the control plane has it"


class ReplicaTimes(NamedTuple):
    """The standings of one replica, each from its time until the next one."""

    #: Id of its broker.
    broker: int
    times_us: list[int]
    standings: list[Standing]

    def at(self, time_us: int) -> Standing:
        """The standing at a time."""
        place = int(np.searchsorted(self.times_us, time_us, side="right")) - 1
        return self.standings[place] if place >= 0 else Standing.ABSENT

    def between(self, begin_us: int, end_us: int) -> list[Standing]:
        """The new standings between two times, without the later one."""
        first, last = np.searchsorted(self.times_us, [begin_us, end_us]).tolist()
        return self.standings[first:last]


class Ends(NamedTuple):
    """The last sample of a replica's ends."""

    time_us: int
    high_watermark: int
    log_end_offset: int


#: In an orderly move of leadership the former leader learns of it some milliseconds later.
NOTABLE_US = 1_000_000

#: The times at which anything changes, and what is so from each on; a broker and a partition at a
#: time have one row each in their tables.
_STANDINGS = """
    with held as (
        select begin_us, end_us, leader, isr, replicas from described_states
        where partition = {partition}
    ),
    former as (
        select leader as broker, superseded_us as begin_us, end_us from acting_leaders
        where partition = {partition} and end_us - superseded_us >= {notable_us}
    ),
    times as (
        select begin_us as time_us from held
        union select end_us from held where end_us is not null
        union select begin_us from broker_states
        union select begin_us from former
        union select end_us from former
    )
    select b.broker, t.time_us,
        case
            when h.replicas is null or not array_contains(h.replicas, b.broker) then 'ABSENT'
            when b.process_state <> 'up' or b.paused then 'DOWN'
            when h.leader = b.broker then 'LEADER'
            when f.broker is not null then 'FORMER'
            when array_contains(h.isr, b.broker) then 'IN_SYNC'
            else 'OUT'
        end as standing
    from times as t
    join broker_states as b on b.begin_us <= t.time_us and t.time_us < b.end_us
    left join held as h on h.begin_us <= t.time_us and coalesce(t.time_us < h.end_us, true)
    left join former as f
        on f.broker = b.broker and f.begin_us <= t.time_us and t.time_us < f.end_us
    order by time_us, broker, standing
"""


def replica_times(tables: RunTables, names: Names, partition: int) -> list[ReplicaTimes]:
    """The standings of all replicas that a partition ever has, in the order of its slots.

    Raises:
        TraceError: a trace file is damaged.
    """
    replicas = {broker: ReplicaTimes(broker, [], []) for broker in names.slots(partition)}
    for row in tables.rows(_STANDINGS.format(partition=partition, notable_us=NOTABLE_US)):
        replica, standing = replicas.get(row["broker"]), Standing[row["standing"]]
        if replica is not None and (not replica.standings or replica.standings[-1] is not standing):
            replica.times_us.append(row["time_us"])
            replica.standings.append(standing)
    return list(replicas.values())


def sampled_ends(
    run: RunFolder, names: Names, partition: int, times_us: Iterable[int]
) -> dict[int, list[Ends | None]]:
    """The last samples of each replica before these times, by its broker's id.

    Raises:
        TraceError: a trace file is damaged.
    """
    table = run.table("sampled")
    ends: dict[int, list[Ends | None]] = {}
    for broker in names.slots(partition):
        rows: list[Ends] = []
        if table:
            process = names.process_of_broker(broker)
            mine = (table["partition"] == partition) & (table["process"] == process)
            columns = ("time_us", "high_watermark", "log_end_offset")
            values = [table[name][mine].tolist() for name in columns]
            rows = [Ends(*row) for row in zip(*values, strict=True)]
        sampled_us = [row.time_us for row in rows]
        places = np.searchsorted(sampled_us, list(times_us), side="right").tolist()
        ends[broker] = [rows[place - 1] if place else None for place in places]
    return ends
