"""The standing of each replica of a partition over time, its log end and its high watermark.

Leader and ISR are those of the control plane; the rows of a broker's own process say whether it is
up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np

from tidegauge.history.broker_history import LIVES
from tidegauge.history.moments import FAULTS
from tidegauge.history.row_selection import Mask, selected
from tidegauge.history.story import Names
from tidegauge.replication import replica_list
from tidegauge.simulation.codes.occasions import STATE_DELETED
from tidegauge.simulation.faults import PAUSE
from tidegauge.traces.run_folder import RunFolder, TraceRow
from tidegauge.traces.trace_file import Table, TraceKind


class Standing(Enum):
    """The standing of a replica."""

    ABSENT = "the partition has no replica here"
    DOWN = "its broker is down, loads its logs, or is paused"
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


def replica_times(run: RunFolder, names: Names, partition: int) -> list[ReplicaTimes]:
    """The standings of all replicas that a partition ever has, in the order of its slots.

    Raises:
        TraceError: a trace file is damaged.
    """
    state = _State(names, partition)
    replicas = [ReplicaTimes(broker, [], []) for broker in names.slots(partition)]
    for row in _rows(run, names, partition):
        state.take(row)
        for slot, replica in enumerate(replicas):
            standing = state.standing(slot)
            if replica.times_us and replica.times_us[-1] == row["time_us"]:
                replica.standings[-1] = standing
            elif not replica.standings or replica.standings[-1] is not standing:
                replica.times_us.append(row["time_us"])
                replica.standings.append(standing)
    return replicas


def times_without_leader(replicas: Sequence[ReplicaTimes]) -> list[tuple[int, int | None]]:
    """The times without a live leader after the first leader; an end of None: until the end."""
    changes = sorted({time_us for replica in replicas for time_us in replica.times_us})
    found: list[tuple[int, int | None]] = []
    was_led, since_us = False, None
    for time_us in changes:
        is_led = any(replica.at(time_us) is Standing.LEADER for replica in replicas)
        if was_led and not is_led and since_us is None:
            since_us = time_us
        elif is_led and since_us is not None:
            found.append((since_us, time_us))
            since_us = None
        was_led = was_led or is_led
    return found if since_us is None else [*found, (since_us, None)]


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


def _rows(run: RunFolder, names: Names, partition: int) -> list[TraceRow]:
    """The rows that change the standing of a replica."""
    hosts = [names.process_of_broker(broker) for broker in names.slots(partition)]

    def wanted(kind: TraceKind, table: Table) -> Mask | None:
        mask: Mask | None = None
        if kind.name in {"partition_state", "partition_replicas"}:
            mask = table["partition"] == partition
        elif kind.name in FAULTS:
            mask = np.isin(table["process"], hosts) & (table["fault_kind"] == int(PAUSE))
        elif kind.name in LIVES:
            mask = np.isin(table["process"], hosts)
        return mask

    return selected(run, wanted)


@dataclass
class _State:
    """Leader, ISR and brokers, row by row."""

    names: Names
    partition: int
    exists: bool = False
    #: Index of a broker; -1 for none.
    leader: int = -1
    in_sync: frozenset[int] = frozenset()
    up: set[int] = field(default_factory=set)
    #: Slot and fault.
    paused: set[tuple[int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.slots = self.names.slots(self.partition)
        self.assigned = set(self.names.replicas(self.partition))

    def take(self, row: TraceRow) -> None:
        """Apply one row; rows come in their total order."""
        if row.kind == "partition_state":
            self.exists = row["change"] != STATE_DELETED
            self.leader = row["leader"]
            self.in_sync = frozenset(replica_list.unpack(row["isr"]))
        elif row.kind == "partition_replicas":
            brokers = self.names.brokers_in(row["replicas"], self.partition)
            self.assigned = {broker for broker in brokers if broker is not None}
        else:
            self._live(row)

    def _live(self, row: TraceRow) -> None:
        broker = self.names.broker_id(self.names.broker_of_process(row["process"]))
        assert broker is not None
        slot = self.slots.index(broker)
        if row.kind == "fault_began":
            self.paused.add((slot, row["fault"]))
        elif row.kind == "fault_ended":
            self.paused.discard((slot, row["fault"]))
        elif row.kind == "broker_started":
            self.up.add(slot)
        else:
            self.up.discard(slot)

    def standing(self, slot: int) -> Standing:
        """The current standing of the replica in a slot."""
        if not self.exists or self.slots[slot] not in self.assigned:
            return Standing.ABSENT
        if slot not in self.up or any(paused == slot for paused, _ in self.paused):
            return Standing.DOWN
        if self.slots[slot] == self.names.broker_id(self.leader):
            return Standing.LEADER
        return Standing.IN_SYNC if slot in self.in_sync else Standing.OUT
