"""The history of one broker, and its state at a time, as far as rows have it.

A broker's history is every row of its own process and every row elsewhere that names it: its
sessions and its registration, the controllers' events about it, the partitions that
they gave to it or took from it. Acknowledged and exposed offsets of its terms, and the content of
its logs, belong to the stories of the partitions and are left out.

Its state is the broker's own view: a broker that is cut off keeps leading until it gets a request
of the controller. A note shows where the newest state of the cluster differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.runs.row_selection import Mask, is_about_broker, selected
from tidegauge.runs.story import Names
from tidegauge.runs.topic_description import PartitionDescription, described_states
from tidegauge.traces.run_folder import RunFolder, TraceRow
from tidegauge.traces.trace_file import Table, TraceKind

if TYPE_CHECKING:
    from tidegauge.analysis.making.run_tables import RunTables

#: Rows that are the accounts of a partition rather than actions of a broker.
ACCOUNTS = frozenset(
    {"acknowledged", "exposed", "log_end", "epoch_answered", "epoch_assigned", "epochs_cut"}
)

#: The most brokers that are listed in an error about an unknown broker.
LISTED = 40

#: The start of a broker's process: it has its logs, and no roles.
BEGINNINGS = frozenset({"broker_loading", "broker_started"})

#: The role that a row gives to a replica.
ROLES = {
    "became_leader": "leader",
    "became_follower": "follower",
    "partition_failed": "given up",
    "replica_stopped": "stopped",
}
ISRS = frozenset({"became_leader", "isr_shrunk", "isr_expanded"})
#: The kinds that have a replica's log end offset in a column of another name.
LOG_ENDS = dict.fromkeys(("truncated", "appended", "log_lost"), "end_offset")


class ReplicaState(NamedTuple):
    """One replica on the broker, as the broker believes."""

    partition: int
    #: As in :data:`ROLES`, or ``-`` while no LeaderAndIsr has come.
    role: str
    leader_epoch: int | None
    #: Ids of brokers: the leader's own ISR, or the cluster's; None if no row has it.
    isr: Sequence[int | None] | None
    log_end_offset: int | None
    high_watermark: int | None
    #: The time of the row or sample with these ends.
    told_us: int | None
    #: The difference to the cluster's newest state; empty if there is none.
    note: str


#: Rows that show whether a broker's process runs.
LIVES = frozenset({"broker_loading", "broker_started", "broker_stopped"})


class BrokerState(NamedTuple):
    """A broker at a time: for each field the last row that has it, or None."""

    #: Its own ``broker_started``, ``broker_loading`` or ``broker_stopped``.
    life: TraceRow | None
    session: TraceRow | None
    #: The last ``broker_state`` about it.
    registration: TraceRow | None
    #: The last event of a controller about it.
    seen: TraceRow | None
    #: The faults that have begun in its process and not ended.
    faults: list[TraceRow]
    replicas: list[ReplicaState]


def broker_index(name: str, names: Names) -> int:
    """Index of a broker within the cluster, by its id as text.

    Raises:
        TidegaugeError: there is no such broker; the message lists the known ones.
    """
    ids = names.brokers
    for index, broker in enumerate(ids):
        if name == str(broker):
            return index
    listed = ", ".join(map(str, ids[:LISTED])) + (" ..." if len(ids) > LISTED else "")
    raise TidegaugeError(f"{name}: no such broker; there are: {listed}")


def broker_rows(
    run: RunFolder, names: Names, broker: int, *, details: bool = False
) -> list[TraceRow]:
    """The rows of a broker's history, in their total order.

    Args:
        run: the run.
        names: its names.
        broker: index of the broker within the cluster.
        details: include rows that are not canonical, and the accounts of partitions.

    Raises:
        TraceError: a trace file is damaged.
    """

    def wanted(kind: TraceKind, table: Table) -> Mask | None:
        if not details and (not kind.canonical or kind.name in ACCOUNTS):
            return None
        if kind.name == "controller_active":  # its controller has rows of its own about it
            return None
        return _is_own(table, names, broker) | is_about_broker(table, broker)

    return selected(run, wanted)


def _is_own(table: Table, names: Names, broker: int) -> Mask:
    processes = [
        process
        for process in np.unique(table["process"]).tolist()
        if names.broker_of_process(process) == broker
    ]
    return np.isin(table["process"], processes)


def broker_state(
    run: RunFolder, tables: RunTables, names: Names, broker: int, until_us: int | None = None
) -> BrokerState:
    """A broker's state at a time (by default the end of the run).

    Raises:
        TraceError: a trace file is damaged.
    """
    rows = [
        row
        for row in broker_rows(run, names, broker, details=True)
        if until_us is None or row["time_us"] <= until_us
    ]
    own = [row for row in rows if names.broker_of_process(row["process"]) == broker]
    return BrokerState(
        life=_last(row for row in own if row.kind in LIVES),
        session=_last(row for row in rows if row.kind.startswith("session_")),
        registration=_last(row for row in rows if row.kind == "broker_state"),
        seen=_last(row for row in rows if row.kind in {"broker_failed", "broker_registered"}),
        faults=_active_faults(own),
        replicas=_replicas(own, names, broker, described_states(tables, until_us)),
    )


def _last(rows: Iterable[TraceRow]) -> TraceRow | None:
    return max(rows, key=lambda row: row.place, default=None)


def _active_faults(own: Iterable[TraceRow]) -> list[TraceRow]:
    active: dict[int, TraceRow] = {}
    for row in own:
        if row.kind == "fault_began":
            active[row["fault"]] = row
        elif row.kind == "fault_ended":
            active.pop(row["fault"], None)
    return list(active.values())


class _Replica:
    """One replica according to the broker's own rows, row by row."""

    def __init__(self) -> None:
        self.role = "-"
        self.leader_epoch: int | None = None
        self.isr: int | None = None
        self.log_end_offset: int | None = None
        self.high_watermark: int | None = None
        self.told_us: int | None = None

    def take(self, row: TraceRow) -> None:
        if row.kind in ROLES:
            self.role, self.leader_epoch = ROLES[row.kind], row["leader_epoch"]
            self.isr = None
        if row.kind in ISRS:
            self.isr = row["isr"]
        # With a ``replica``, a row is about a leader's state of a follower.
        log_end_offset = row.columns.get(LOG_ENDS.get(row.kind, "log_end_offset"))
        if log_end_offset is not None and "replica" not in row.columns:
            self.log_end_offset, self.told_us = log_end_offset, row["time_us"]
            self.high_watermark = row.columns.get("high_watermark", self.high_watermark)
        elif row.kind == "high_watermark_moved":
            self.high_watermark, self.told_us = row["high_watermark"], row["time_us"]

    def forget_role(self) -> None:
        """Drop the role: a new process has none until a LeaderAndIsr request."""
        self.role, self.leader_epoch, self.isr = "-", None, None


def _replicas(
    own: Iterable[TraceRow], names: Names, broker: int, states: dict[int, PartitionDescription]
) -> list[ReplicaState]:
    identity = names.broker_id(broker)
    replicas = {
        partition: _Replica()
        for partition in names.partitions.values()
        if identity in names.slots(partition)
    }
    for row in own:
        if row.kind in BEGINNINGS:
            for replica in replicas.values():
                replica.forget_role()
        replica_of_row = replicas.get(row.columns.get("partition", -1))
        if replica_of_row is not None:
            replica_of_row.take(row)
    return [
        _replica_state(partition, replica, names, broker, states.get(partition))
        for partition, replica in replicas.items()
    ]


def _replica_state(
    partition: int, replica: _Replica, names: Names, broker: int, state: PartitionDescription | None
) -> ReplicaState:
    isr: Sequence[int | None] | None = None
    if replica.isr is not None:
        isr = names.brokers_in(replica.isr, partition)
    elif state is not None:
        isr = state.isr
    return ReplicaState(
        partition,
        replica.role,
        replica.leader_epoch,
        isr,
        replica.log_end_offset,
        replica.high_watermark,
        replica.told_us,
        "" if state is None else _note(replica, names.broker_id(broker), state),
    )


def _note(replica: _Replica, broker: int | None, state: PartitionDescription) -> str:
    """The difference between the broker's view and the state in the control plane."""
    leads = replica.role == "leader"
    if leads and state.leader != broker:
        who = "no leader" if state.leader is None else f"broker {state.leader} leads"
        return f"{who} in epoch {state.leader_epoch}"
    if state.leader == broker and not (leads and state.leader_epoch == replica.leader_epoch):
        return f"elected leader in epoch {state.leader_epoch}, not informed yet"
    return "" if broker in state.isr else "not in the ISR"
