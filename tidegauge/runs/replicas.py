"""Replicas of a partition over time: their standings, log ends and high watermarks.

Leader and ISR are those of the control plane; the process of a broker has whether it is up.

KAFKA-14704 in a run: records that a replica took for committed, and those of its leader. A row
``diverging_high_watermark`` breaks the check ``committed_agree`` with the permission of the
release (``traces/checks/misled_replicas.py``).
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np

from tidegauge.runs.run import Run
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.simulation.trace_rows.codes import REASON_LEADER, REASON_TRUNCATION


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
    """The ends of a replica, as a sample shows them."""

    #: The first sample that shows them: later ones have no row until they change.
    time_us: int
    high_watermark: int
    log_end_offset: int


#: In an orderly move of leadership the former leader is notified some milliseconds later.
NOTABLE_US = 1_000_000

#: The times at which anything changes, and the state from each on; a broker and a partition at a
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


def replica_times(run: Run, partition: int) -> list[ReplicaTimes]:
    """The standings of all replicas that a partition ever has, in the order of its slots.

    Raises:
        TraceError: a trace file is damaged.
    """
    replicas = {broker: ReplicaTimes(broker, [], []) for broker in run.directory.slots(partition)}
    for row in run.tables.rows(_STANDINGS.format(partition=partition, notable_us=NOTABLE_US)):
        replica, standing = replicas.get(row["broker"]), Standing[row["standing"]]
        if replica is not None and (not replica.standings or replica.standings[-1] is not standing):
            replica.times_us.append(row["time_us"])
            replica.standings.append(standing)
    return list(replicas.values())


def sampled_ends(run: Run, partition: int, times_us: Iterable[int]) -> dict[int, list[Ends | None]]:
    """The ends of each replica at the last sample before these times, by its broker's id.

    They are those of its last row, also where the replica is not hosted any more.

    Raises:
        TraceError: a trace file is damaged.
    """
    table = run.table("sampled")
    ends: dict[int, list[Ends | None]] = {}
    for broker in run.directory.slots(partition):
        rows: list[Ends] = []
        if table:
            process = run.directory.process_of_broker(broker)
            mine = (table["partition"] == partition) & (table["process"] == process)
            values = [table[name][mine].tolist() for name in Ends._fields]
            rows = [Ends(*row) for row in zip(*values, strict=True)]
        sampled_us = [row.time_us for row in rows]
        places = np.searchsorted(sampled_us, list(times_us), side="right").tolist()
        ends[broker] = [rows[place - 1] if place else None for place in places]
    return ends


class EpochRun(NamedTuple):
    """Records of one leader epoch in a log."""

    epoch: int
    start_offset: int
    end_offset: int


class MisledReplica(NamedTuple):
    """A replica that took records for committed, and truncated them."""

    time_us: int
    partition: str
    #: Ids of its broker and of its leader's broker.
    broker: int
    leader: int
    #: The truncated records below the high watermark that it believed.
    believed: list[EpochRun]
    #: The leader's records at these offsets, as far as its log is known.
    led: list[EpochRun]

    @property
    def words(self) -> str:
        """It in words."""
        led = _runs_words(self.led) if self.led else "others"
        return (
            f"broker {self.broker} took {_runs_words(self.believed)} of {self.partition} for "
            f"committed, where its leader, broker {self.leader}, has {led}; then it truncated its "
            "own records"
        )


def misled_replica(run: Run, misled: TraceEvent) -> MisledReplica | None:
    """The story that a row ``diverging_high_watermark`` begins; None if nothing was truncated."""
    kinds, number = {"truncated", "log_end", "became_leader"}, misled.partition_number
    about = run.selected(
        lambda kind, table: table["partition"] == number if kind.name in kinds else None
    )
    later = [
        event
        for event in about
        if event.process == misled.process and event.sequence > misled.sequence
    ]
    truncated = next((event for event in later if event.kind == "truncated"), None)
    if truncated is None:
        return None
    begin = max(truncated.end_offset, misled.old_high_watermark)
    own = [
        event
        for event in later
        if event.kind == "log_end"
        and event.row["reason"] == REASON_TRUNCATION
        and event.sequence < truncated.sequence
    ]
    return MisledReplica(
        misled.time_us,
        str(misled.partition),
        run.directory.brokers[misled.row["process"]],
        misled.leader,
        list(_within(map(_epoch_run, own), begin, misled.high_watermark)),
        list(_within(_led(run, about, misled), begin, misled.high_watermark)),
    )


def _epoch_run(event: TraceEvent) -> EpochRun:
    return EpochRun(event.epoch, event.start_offset, event.end_offset)


def _led(run: Run, about: Sequence[TraceEvent], misled: TraceEvent) -> Iterator[EpochRun]:
    """The runs of the log on which the leader has begun its term, and those of the term."""
    leader = run.directory.process_of_broker(misled.leader)
    own = [event for event in about if event.row["process"] == leader]
    began = [
        event
        for event in own
        if event.kind == "became_leader"
        and event.leader_epoch == misled.leader_epoch
        and event.row.place <= misled.row.place
    ]
    if not began:
        return
    term = began[-1]
    for event in own:
        if (
            event.kind == "log_end"
            and event.row["reason"] == REASON_LEADER
            and event.time_us == term.time_us
            and event.sequence < term.sequence
        ):
            yield _epoch_run(event)
    yield EpochRun(term.leader_epoch, term.log_end_offset, misled.high_watermark)


def _within(runs: Iterable[EpochRun], begin: int, end: int) -> Iterator[EpochRun]:
    """The parts of runs from one offset to before another."""
    for run in runs:
        first, last = max(run.start_offset, begin), min(run.end_offset, end)
        if first < last:
            yield EpochRun(run.epoch, first, last)


def _runs_words(runs: Sequence[EpochRun]) -> str:
    """Offsets with their epochs: ``offset 20 of epoch 2``."""
    return " and ".join(
        f"offset {run.start_offset} of epoch {run.epoch}"
        if run.end_offset - run.start_offset == 1
        else f"offsets {run.start_offset} to {run.end_offset - 1} of epoch {run.epoch}"
        for run in runs
    )
