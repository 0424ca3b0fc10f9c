"""Brokers of a run: their states over time, their rows, and ``kafka-log-dirs.sh --describe``.

A broker's history is every row of its own process and every row elsewhere that names it: its
sessions and registration, the controllers' events about it, the partitions that it got or lost.
Acknowledged and exposed offsets of its terms, and the content of its logs, belong to the stories of
the partitions and are left out.

A broker's state is its own view: one that is cut off keeps leading until it gets a request of the
controller. A note shows where the newest state of the cluster differs.

The log directories tool asks the brokers that run. A trace has the ends of logs at samples and at
transitions, so a log may be some records longer. The directory of each log is the broker's choice
for a new one: that with the fewest.

Source: LogDirsCommand.formatAsJson@2.6.0 and @3.9.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import NamedTuple

import numpy as np

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication import errors
from tidegauge.runs.histories import PartitionState
from tidegauge.runs.partitions import described_states
from tidegauge.runs.run import Mask, Run
from tidegauge.runs.samples import last_samples
from tidegauge.runs.trace_events import Names, TraceEvent
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.traces.run_folder import RunFolder, TraceRow
from tidegauge.traces.trace_file import Table, TraceKind

#: Columns with a broker's index that relate a row of another process to this broker.
BROKER_COLUMNS = ("broker", "replica")
#: The same, if a row has them both: a role has passed from one broker to another.
ROLE_COLUMNS = ("leader", "old_leader")

#: Rows that are the accounts of a partition rather than actions of a broker.
ACCOUNTS = frozenset(
    {"acknowledged", "exposed", "log_end", "epoch_answered", "epoch_assigned", "epochs_cut"}
)

#: The most brokers that are listed in an error about an unknown broker.
LISTED = 40

#: The start of a broker's process: it has its logs, and no roles.
BEGINNINGS = frozenset({"broker_loading", "broker_started"})
#: Rows that show whether a broker's process runs.
LIVES = BEGINNINGS | {"broker_stopped"}

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


class BrokerDescription(NamedTuple):
    """A broker at a time: for each field the last row that has it, or None."""

    #: Its own ``broker_started``, ``broker_loading`` or ``broker_stopped``.
    life: TraceEvent | None
    #: The control plane's row about its session.
    session: TraceEvent | None
    #: The row about its registration.
    registration: TraceEvent | None
    #: A controller's ``broker_failed`` or ``broker_registered``.
    seen: TraceEvent | None
    #: The beginnings of faults that have begun in its process and not ended.
    faults: list[TraceEvent]
    replicas: list[ReplicaState]


class ReplicaState(NamedTuple):
    """One replica on the broker, as the broker believes."""

    partition: str
    #: As in :data:`ROLES`, or ``-`` while no LeaderAndIsr has come.
    role: str = "-"
    leader_epoch: int | None = None
    #: Ids of brokers: the leader's own ISR, or the cluster's; None if no row has it.
    isr: Sequence[int | None] | None = None
    log_end_offset: int | None = None
    high_watermark: int | None = None
    #: The time of the row or sample with these ends.
    as_of_us: int | None = None
    #: The difference to the cluster's newest state; empty if there is none.
    note: str = ""

    def after(self, event: TraceEvent) -> ReplicaState:
        """The replica after a row about it."""
        state = self
        if event.kind in ROLES:
            state = state._replace(
                role=ROLES[event.kind], leader_epoch=event.leader_epoch, isr=None
            )
        if event.kind in ISRS:
            state = state._replace(isr=event.isr)
        # With a ``replica``, a row is about a leader's state of a follower.
        columns = event.row.columns
        log_end_offset = columns.get(LOG_ENDS.get(event.kind, "log_end_offset"))
        if log_end_offset is not None and "replica" not in columns:
            high_watermark = columns.get("high_watermark", state.high_watermark)
            return state._replace(
                log_end_offset=log_end_offset, high_watermark=high_watermark, as_of_us=event.time_us
            )
        if event.kind == "high_watermark_moved":
            return state._replace(high_watermark=event.high_watermark, as_of_us=event.time_us)
        return state

    def described(self, broker: int, held: PartitionState | None) -> ReplicaState:
        """The replica of a broker beside the state that the control plane holds."""
        if held is None:
            return self
        isr = held.isr if self.isr is None else self.isr
        return self._replace(isr=isr, note=self._note(broker, held))

    def _note(self, broker: int, held: PartitionState) -> str:
        leads = self.role == "leader"
        if leads and held.leader != broker:
            leader = "no leader" if held.leader is None else f"broker {held.leader} leads"
            return f"{leader} in epoch {held.leader_epoch}"
        if held.leader == broker and not (leads and held.leader_epoch == self.leader_epoch):
            return f"elected leader in epoch {held.leader_epoch}, not informed yet"
        return "" if broker in held.isr else "not in the ISR"


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


def broker_events(run: Run, broker: int, *, details: bool = False) -> list[TraceEvent]:
    """The rows of a broker's history, in their total order.

    Args:
        run: the run.
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
        return _is_own(table, run.names, broker) | is_about_broker(table, broker)

    return run.selected(wanted)


def _is_own(table: Table, names: Names, broker: int) -> Mask:
    processes = [
        process
        for process in np.unique(table["process"]).tolist()
        if names.broker_of_process(process) == broker
    ]
    return np.isin(table["process"], processes)


def is_about_broker(table: Table, broker: int) -> Mask:
    """A mask of the rows about a broker, by its index.

    A row in which the broker is only the leader of a follower is not about it.
    """
    about: Mask = np.zeros(len(table["process"]), np.bool_)
    for column in BROKER_COLUMNS:
        if column in table:
            about |= table[column] == broker
    if all(column in table for column in ROLE_COLUMNS):
        leader, old_leader = (table[column] == broker for column in ROLE_COLUMNS)
        about |= leader | old_leader
    if all(column in table for column in ("from_process", "error")):
        # Its registration is refused.
        is_its = table["from_process"] == broker
        about |= is_its & (table["error"] == errors.DUPLICATE_BROKER_REGISTRATION)
    return about


def described_broker(run: Run, broker: int, until_us: int | None = None) -> BrokerDescription:
    """A broker's state at a time (by default the end of the run).

    Raises:
        TraceError: a trace file is damaged.
    """
    events = [
        event
        for event in broker_events(run, broker, details=True)
        if until_us is None or event.time_us <= until_us
    ]
    own = [e for e in events if run.names.broker_of_process(e.row["process"]) == broker]
    process = run.directory.process_of_broker(run.names.brokers[broker])
    samples = [run.event(row) for row in last_samples(run, until_us, process)]

    def last(among: Iterable[TraceEvent], kinds: Iterable[str]) -> TraceEvent | None:
        return next((event for event in reversed([*among]) if event.kind in {*kinds}), None)

    sessions = ("session_opened", "session_expired", "session_closed")
    return BrokerDescription(
        life=last(own, LIVES),
        session=last(events, sessions),
        registration=last(events, ["broker_state"]),
        seen=last(events, ("broker_failed", "broker_registered")),
        faults=_active_faults(own),
        replicas=_replicas(
            sorted([*own, *samples], key=lambda event: event.row.place),
            run,
            broker,
            described_states(run, until_us),
        ),
    )


def _active_faults(own: Iterable[TraceEvent]) -> list[TraceEvent]:
    active: dict[int, TraceEvent] = {}
    for event in own:
        if event.kind == "fault_began":
            active[event.row["fault"]] = event
        elif event.kind == "fault_ended":
            active.pop(event.row["fault"], None)
    return list(active.values())


def _replicas(
    own: Iterable[TraceEvent], run: Run, broker: int, states: dict[str, PartitionState]
) -> list[ReplicaState]:
    identity = run.names.brokers[broker]
    replicas = {
        partition: ReplicaState(partition)
        for partition, number in run.names.partitions.items()
        if identity in run.names.slots(number)
    }
    for event in own:
        if event.kind in BEGINNINGS:
            # A new process has no role until a LeaderAndIsr request.
            for partition, replica in replicas.items():
                replicas[partition] = replica._replace(role="-", leader_epoch=None, isr=None)
        partition = event.partition or ""
        if partition in replicas:
            replicas[partition] = replicas[partition].after(event)
    return [
        replica.described(identity, states.get(partition))
        for partition, replica in replicas.items()
    ]


#: Rows with the end of a log.
_ENDS = {
    "log_start_raised",
    *("sampled", "checkpoint_read", "log_end", "truncated", "log_lost"),
    *("became_leader", "became_follower"),
}


@dataclass
class _Log:
    directory: int
    log_start_offset: int = 0
    log_end_offset: int = 0
    high_watermark: int = 0


def log_dirs_lines(run: RunFolder, at_us: int | None = None) -> list[str]:
    """The lines of the tool at a time, by default at the end.

    Raises:
        TraceError: a trace file is damaged.
    """
    logs, alive = _logs_at(run, at_us)
    plan = ClusterPlan(scenario_from_mapping(run.manifest["scenario"], str(run.path)))
    ids = ",".join(str(plan.brokers[broker]) for broker in sorted(alive))
    described = {
        "version": 1,
        "brokers": [
            {
                "broker": plan.brokers[broker],
                "logDirs": list(_directories(plan, logs, broker)),
            }
            for broker in sorted(alive)
        ],
    }
    return [
        "Querying brokers for log directories information",
        f"Received log directory information from brokers {ids}",
        json.dumps(described, separators=(",", ":")),
    ]


def _logs_at(run: RunFolder, at_us: int | None) -> tuple[dict[tuple[int, int], _Log], set[int]]:
    """The logs by broker and partition, and the brokers that run."""
    directories = int(run.manifest["scenario"]["cluster"]["log_directories"])
    wanted = _ENDS | LIVES | {"log_deleted"}
    logs: dict[tuple[int, int], _Log] = {}
    alive: set[int] = set()
    rows = run.all_rows(wanted=lambda kind: kind.name in wanted)
    for row in merge(rows, last_samples(run, at_us), key=lambda row: row.place):
        if at_us is not None and row["time_us"] > at_us:
            break
        if row.kind in LIVES:
            (alive.discard if row.kind == "broker_stopped" else alive.add)(row["process"])
        elif row.kind == "log_deleted":
            logs.pop((row["process"], row["partition"]), None)
        else:
            _take_end(logs, row, directories)
    return logs, alive


def _take_end(logs: dict[tuple[int, int], _Log], row: TraceRow, directories: int) -> None:
    place = (row["process"], row["partition"])
    if place not in logs:
        counts = [0] * directories
        for (broker, _), log in logs.items():
            if broker == row["process"]:
                counts[log.directory] += 1
        logs[place] = _Log(counts.index(min(counts)))
    has_end = row.kind in {"truncated", "log_lost", "log_end"}
    logs[place].log_end_offset = row["end_offset" if has_end else "log_end_offset"]
    if row.kind == "log_start_raised":
        logs[place].log_start_offset = row["log_start_offset"]
    elif row.kind != "log_lost":
        logs[place].high_watermark = row["high_watermark"]


def _directories(
    plan: ClusterPlan, logs: dict[tuple[int, int], _Log], broker: int
) -> Iterator[dict[str, object]]:
    for directory in range(plan.scenario.cluster.log_directories):
        partitions = []
        for (owner, number), log in sorted(logs.items(), key=lambda item: item[0]):
            if (owner, log.directory) != (broker, directory):
                continue
            planned = plan.partitions[number]
            described = {
                "partition": planned.name,
                "size": max(0, log.log_end_offset - log.log_start_offset) * planned.record_bytes,
                "offsetLag": max(0, log.high_watermark - log.log_end_offset),
                "isFuture": False,
            }
            partitions.append(described)
        name = f"/log-directories/{directory + 1}"
        yield {"partitions": partitions, "error": None, "logDir": name}
