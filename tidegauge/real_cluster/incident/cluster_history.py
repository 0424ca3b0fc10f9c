"""The states of a run by their subjects: brokers, partitions, controllers.

Only rows that logs can have too are read: states that the control plane held, ISR changes of
leaders, starts and clean stops of brokers. Faults, kills, records and causes are not, so a
simulated run and a real one are read alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from tidegauge.replication.release_versions import KRAFT_MODE
from tidegauge.simulation.trace_rows.codes import (
    BROKER_ABSENT,
    BROKER_ACTIVE,
    BROKER_FENCED,
    BROKER_REGISTERS,
    BROKER_SESSION_EXPIRED,
    BROKER_SHUTTING_DOWN,
    FORMER_WRITER,
    STATE_CREATED,
    STATE_DELETED,
    STOP_CLEAN,
)
from tidegauge.traces.run_folder import RunFolder, TraceRow

#: The kinds of rows that are read.
KINDS = frozenset(
    {
        *("partition_state", "partition_replicas", "broker_state", "controller_active"),
        *("isr_shrunk", "isr_expanded", "broker_started", "broker_stopped"),
        *("became_leader", "became_follower"),
    }
)

#: Kinds of events in the life of a broker.
STARTED, STOPPED = "started", "stopped"
REGISTERED, ACTIVE, GONE, SHUTTING_DOWN = "registered", "active", "gone", "shutting down"


class BrokerEvent(NamedTuple):
    """A moment in the life of a broker."""

    time_us: int
    kind: str
    #: Whether the control plane lost it, in contrast to a session that was closed.
    is_expired: bool = False


class PartitionState(NamedTuple):
    """A state that the control plane holds of a partition; brokers are ids."""

    time_us: int
    leader: int | None
    isr: tuple[int, ...]
    leader_epoch: int
    is_created: bool = False
    is_deleted: bool = False
    #: Whether it was written before the run.
    is_former: bool = False

    def has_state_of(self, other: PartitionState) -> bool:
        """Whether leader and ISR are the same, in whatever order the ISR is."""
        return self.leader == other.leader and set(self.isr) == set(other.isr)


class Assignment(NamedTuple):
    """The replicas of a partition from a time on."""

    time_us: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas after the move."""
        return tuple(broker for broker in self.replicas if broker not in self.removing)


class IsrRemoval(NamedTuple):
    """A follower that a leader took out of an ISR, since it lagged."""

    time_us: int
    partition: str
    leader: int
    follower: int
    #: How long it had not been caught up; None: not told.
    lag_us: int | None


class ControllerTerm(NamedTuple):
    """The active controller from a time on; None: there is none."""

    time_us: int
    controller: int | None


class Topic(NamedTuple):
    """A partition's place in its topic, and its first replicas."""

    name: str
    number: int
    replicas: tuple[int, ...]
    min_insync_replicas: int


@dataclass
class ClusterHistory:
    """The states of a cluster over the time of a run."""

    name: str
    release: str
    mode: str
    brokers: tuple[int, ...]
    #: Node ids of KRaft's controllers; with ZooKeeper there are none.
    controllers: tuple[int, ...]
    #: Brokers that count as registered before the run.
    registered_before: frozenset[int]
    #: The scenario in the manifest: of a real run only its beginnings.
    scenario: dict[str, Any]
    #: Whether logs tell it: its settings are those of the release, unless files say more.
    is_from_logs: bool = False
    begin_us: int = 0
    end_us: int = 0
    lives: dict[int, list[BrokerEvent]] = field(default_factory=dict)
    terms: list[ControllerTerm] = field(default_factory=list)
    #: By partition, such as ``orders-0``, in the order of the directory.
    partitions: dict[str, Topic] = field(default_factory=dict)
    states: dict[str, list[PartitionState]] = field(default_factory=dict)
    assignments: dict[str, list[Assignment]] = field(default_factory=dict)
    removals: list[IsrRemoval] = field(default_factory=list)
    #: The times of leaders' expansions, by follower and leader.
    expansions: list[tuple[int, str, int]] = field(default_factory=list)
    #: The times of the rows that a broker wrote itself, in order: its signs of life.
    signs: dict[int, list[int]] = field(default_factory=dict)

    @property
    def has_kraft(self) -> bool:
        """Whether a quorum of controllers holds the state."""
        return self.mode == KRAFT_MODE

    def changes(self) -> Iterator[tuple[str, PartitionState, PartitionState]]:
        """Each state of a partition that another follows, and that one."""
        for partition, states in self.states.items():
            for before, after in pairwise(states):
                yield partition, before, after

    def state_at(self, partition: str, time_us: int) -> PartitionState | None:
        """The state of a partition before a time; None: there is none."""
        found = None
        for state in self.states.get(partition, ()):
            if state.time_us >= time_us:
                break
            found = state
        return None if found is None or found.is_deleted else found

    def removals_by_control_plane(self, broker: int) -> Iterator[int]:
        """The times at which a broker left ISRs that no leader took it out of."""
        by_leaders = {
            (removal.partition, removal.time_us // 1_000_000)
            for removal in self.removals
            if removal.follower == broker
        }
        for partition, before, after in self.changes():
            if broker in before.isr and broker not in after.isr and not after.is_deleted:
                second = after.time_us // 1_000_000
                if not {(partition, second - 1), (partition, second)} & by_leaders:
                    yield after.time_us

    def is_in_isr_before(self, broker: int, time_us: int) -> bool:
        """Whether a state of before a time has a broker in its ISR."""
        return any(
            broker in state.isr
            for states in self.states.values()
            for state in states
            if state.time_us < time_us
        )

    def last_sign_us(self, broker: int, before_us: int) -> int | None:
        """The time of a broker's last row of its own before a time; None: it has none."""
        signs = [time_us for time_us in self.signs.get(broker, ()) if time_us < before_us]
        return signs[-1] if signs else None


def cluster_history(run: RunFolder) -> ClusterHistory:
    """The states of a run.

    Raises:
        TraceError: a trace file is damaged.
    """
    directory = run.directory
    scenario = run.manifest["scenario"]
    before = (directory.brokers[index] for index in directory.registered_before)
    history = ClusterHistory(
        name=str(scenario.get("name", run.path.name)),
        release=str(scenario["release"]),
        mode=str(scenario["mode"]),
        brokers=directory.brokers,
        controllers=directory.controllers,
        registered_before=frozenset(before),
        scenario=scenario,
        is_from_logs=run.manifest.get("source") == "logs",
        end_us=run.end_us,
    )
    for place, each in enumerate(directory.all_partitions):
        name = directory.partition(place)
        history.partitions[name] = Topic(
            each.topic, each.number, each.replicas, each.min_insync_replicas
        )
    for row in run.all_rows(wanted=lambda kind: kind.name in KINDS):
        if row["time_us"] <= history.end_us:
            _READERS[row.kind](history, run, row)
    times = [row_us for signs in history.signs.values() for row_us in signs[:1]]
    times += [events[0].time_us for events in history.lives.values() if events]
    times += [states[0].time_us for states in history.states.values() if states]
    history.begin_us = min(times, default=0)
    return history


def _read_partition_state(history: ClusterHistory, run: RunFolder, row: TraceRow) -> None:
    partition = row["partition"]
    state = PartitionState(
        row["time_us"],
        run.directory.broker_id(row["leader"]),
        _ids(run, row, "isr"),
        row["leader_epoch"],
        is_created=bool(row["change"] == STATE_CREATED),
        is_deleted=bool(row["change"] == STATE_DELETED),
        is_former=bool(row["writer"] == FORMER_WRITER),
    )
    history.states.setdefault(run.directory.partition(partition), []).append(state)


def _read_partition_replicas(history: ClusterHistory, run: RunFolder, row: TraceRow) -> None:
    lists = (_ids(run, row, name) for name in ("replicas", "adding", "removing"))
    assignment = Assignment(row["time_us"], *lists)
    name = run.directory.partition(row["partition"])
    known = history.assignments.setdefault(name, [])
    # With KRaft such a row also tells of eligible leaders alone.
    if not known or known[-1][1:] != assignment[1:]:
        known.append(assignment)


def _ids(run: RunFolder, row: TraceRow, column: str) -> tuple[int, ...]:
    return tuple(
        each for each in run.directory.brokers_in(row[column], row["partition"]) if each is not None
    )


def _read_broker_state(history: ClusterHistory, run: RunFolder, row: TraceRow) -> None:
    broker = run.directory.broker_id(row["broker"])
    if broker is None:
        return
    state, reason = row["state"], row["state_reason"]
    if reason == BROKER_REGISTERS:
        kind = REGISTERED
    elif state == BROKER_ACTIVE:
        kind = ACTIVE
    elif state == BROKER_SHUTTING_DOWN:
        kind = SHUTTING_DOWN
    elif state in (BROKER_ABSENT, BROKER_FENCED):
        kind = GONE
    event = BrokerEvent(row["time_us"], kind, is_expired=bool(reason == BROKER_SESSION_EXPIRED))
    history.lives.setdefault(broker, []).append(event)


def _read_controller_active(history: ClusterHistory, run: RunFolder, row: TraceRow) -> None:
    term = ControllerTerm(row["time_us"], run.directory.member_id(row["broker"]))
    history.terms.append(term)


def _read_shrunk(history: ClusterHistory, run: RunFolder, row: TraceRow) -> None:
    leader = _own_broker(history, run, row)
    if leader is None:
        return
    lag_ms = row.columns.get("lag_ms", 0)
    history.removals += [
        IsrRemoval(
            row["time_us"],
            run.directory.partition(row["partition"]),
            leader,
            follower,
            lag_ms * 1000 if lag_ms > 0 else None,
        )
        for follower in sorted({*_ids(run, row, "old_isr")} - {*_ids(run, row, "isr")})
    ]


def _read_expanded(history: ClusterHistory, run: RunFolder, row: TraceRow) -> None:
    _own_broker(history, run, row)
    name = run.directory.partition(row["partition"])
    for follower in {*_ids(run, row, "isr")} - {*_ids(run, row, "old_isr")}:
        history.expansions.append((row["time_us"], name, follower))


def _read_started(history: ClusterHistory, run: RunFolder, row: TraceRow) -> None:
    broker = _own_broker(history, run, row)
    if broker is not None:
        history.lives.setdefault(broker, []).append(BrokerEvent(row["time_us"], STARTED))


def _read_stopped(history: ClusterHistory, run: RunFolder, row: TraceRow) -> None:
    """... cleanly: a process that is killed writes nothing, and logs have its last line."""
    broker = run.directory.broker_id(row["broker"])
    if broker is None:
        return
    if row["stop"] == STOP_CLEAN:
        history.lives.setdefault(broker, []).append(BrokerEvent(row["time_us"], STOPPED))
    if row["stop"] == STOP_CLEAN or history.is_from_logs:
        history.signs.setdefault(broker, []).append(row["time_us"])


def _read_sign(history: ClusterHistory, run: RunFolder, row: TraceRow) -> None:
    _own_broker(history, run, row)


def _own_broker(history: ClusterHistory, run: RunFolder, row: TraceRow) -> int | None:
    """The broker that wrote a row, which was alive then."""
    broker = run.directory.broker_id(run.directory.broker_of_process(row["process"]))
    if broker is not None:
        history.signs.setdefault(broker, []).append(row["time_us"])
    return broker


_READERS = {
    "partition_state": _read_partition_state,
    "partition_replicas": _read_partition_replicas,
    "broker_state": _read_broker_state,
    "controller_active": _read_controller_active,
    "isr_shrunk": _read_shrunk,
    "isr_expanded": _read_expanded,
    "broker_started": _read_started,
    "broker_stopped": _read_stopped,
    "became_leader": _read_sign,
    "became_follower": _read_sign,
}
