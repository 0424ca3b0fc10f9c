"""The states of a run by their subjects, as far as logs have them too.

Only rows that logs can have are read: states that the control plane held, ISR changes of leaders,
starts and clean stops of brokers. Faults, kills, records and causes are not, so a simulated run and
a real one are read alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import chain, pairwise
from typing import Any, NamedTuple, Protocol, TypeVar

from tidegauge.replication.release_versions import KRAFT_MODE
from tidegauge.runs.controllers import ActiveController, active_controllers
from tidegauge.runs.run import Run
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.simulation.trace_rows import codes
from tidegauge.traces.directory import Directory, NamedPartition

_SECOND_US = 1_000_000


class Life(Enum):
    """A change in the life of a broker."""

    STARTED = "its process has started"
    STOPPED = "its process has stopped cleanly"
    REGISTERED = "the control plane has registered it"
    ACTIVE = "the control plane has unfenced it"
    SHUTTING_DOWN = "its controlled shutdown is granted"
    GONE = "the control plane takes it for gone"


class BrokerEvent(NamedTuple):
    """A moment in the life of a broker."""

    time_us: int
    kind: Life
    #: Whether the control plane lost it, in contrast to a session that was closed.
    is_expired: bool = False


class WrittenState(NamedTuple):
    """A state of a partition that was written; brokers are ids."""

    time_us: int
    leader: int | None
    isr: tuple[int, ...]
    is_created: bool
    is_deleted: bool
    #: Whether it was written before the run.
    is_preexisting: bool


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
    #: The time for which it had not been caught up; None: unknown.
    lag_us: int | None


class IsrExpansion(NamedTuple):
    """A follower that a leader took into an ISR."""

    time_us: int
    partition: str
    follower: int


class WrittenVoters(NamedTuple):
    """The voters of the quorum from a time on, as the first controller has them in its log."""

    time_us: int
    #: Keys: ids of controllers with the numbers of their directories.
    voters: tuple[str, ...]
    #: The offset of their record; -1: directories were formatted with them.
    offset: int

    @property
    def words(self) -> str:
        """The place of the record."""
        return "at first" if self.offset < 0 else f"from record {self.offset} on"


class _Change(Protocol):
    @property
    def time_us(self) -> int: ...


_Key = TypeVar("_Key")
_Timed = TypeVar(
    "_Timed",
    ActiveController,
    BrokerEvent,
    WrittenState,
    Assignment,
    IsrRemoval,
    IsrExpansion,
    WrittenVoters,
)


def _moved(changes: list[_Timed], moved_us: Callable[[int], int]) -> list[_Timed]:
    return [change._replace(time_us=moved_us(change.time_us)) for change in changes]


def _all_moved(
    changes: dict[_Key, list[_Timed]], moved_us: Callable[[int], int]
) -> dict[_Key, list[_Timed]]:
    return {key: _moved(of_key, moved_us) for key, of_key in changes.items()}


def _times_moved(
    times_us: dict[int, list[int]], moved_us: Callable[[int], int]
) -> dict[int, list[int]]:
    return {node: [moved_us(time_us) for time_us in times] for node, times in times_us.items()}


@dataclass
class ClusterHistory:
    """The states of a cluster over the time of a run."""

    directory: Directory
    #: The scenario in the manifest: of a real run only its beginnings.
    scenario: dict[str, Any]
    end_us: int
    #: Each change of the active controller.
    terms: list[ActiveController]
    #: Of logs: the settings that their nodes print, and lines about the reading.
    logged_settings: frozenset[str] = frozenset()
    notices: tuple[str, ...] = ()
    #: ... and the shortest time from a last line to the end of a session; None: there is none.
    longest_session_ms: int | None = None
    begin_us: int = 0
    #: By the id of the broker.
    lives: dict[int, list[BrokerEvent]] = field(default_factory=dict)
    #: By partition, such as ``orders-0``, in the order of the directory.
    partitions: dict[str, NamedPartition] = field(default_factory=dict)
    states: dict[str, list[WrittenState]] = field(default_factory=dict)
    assignments: dict[str, list[Assignment]] = field(default_factory=dict)
    removals: list[IsrRemoval] = field(default_factory=list)
    expansions: list[IsrExpansion] = field(default_factory=list)
    #: Each set of voters that another follows, and the last one; none: they are static.
    voters: list[WrittenVoters] = field(default_factory=list)
    #: The times at which a controller has read voters in its log, by its id.
    voters_read: dict[int, list[int]] = field(default_factory=dict)
    #: Partitions with an unclean election.
    unclean: set[str] = field(default_factory=set)
    #: The times of the rows that a broker wrote itself, in order: its signs of life.
    signs: dict[int, list[int]] = field(default_factory=dict)

    @property
    def brokers(self) -> tuple[int, ...]:
        """Ids of all brokers."""
        return self.directory.brokers

    @property
    def has_kraft(self) -> bool:
        """Whether a quorum of controllers holds the state."""
        return bool(self.scenario["mode"] == KRAFT_MODE)

    @property
    def is_from_logs(self) -> bool:
        """Whether it is from logs: settings are those of the release, unless files have others."""
        return self.directory.is_of_logs

    @property
    def times_us(self) -> list[int]:
        """The times of all changes, and the end."""
        lists: list[Sequence[_Change]] = [self.terms, self.removals, self.expansions, self.voters]
        lists += [*self.lives.values(), *self.states.values(), *self.assignments.values()]
        times = [change.time_us for changes in lists for change in changes]
        return [*times, *chain(*self.signs.values()), self.end_us]

    def moved(self, moved_us: Callable[[int], int]) -> ClusterHistory:
        """The same changes at other times, in the same order."""
        return replace(
            self,
            begin_us=moved_us(self.begin_us),
            end_us=moved_us(self.end_us),
            terms=_moved(self.terms, moved_us),
            lives=_all_moved(self.lives, moved_us),
            states=_all_moved(self.states, moved_us),
            assignments=_all_moved(self.assignments, moved_us),
            removals=_moved(self.removals, moved_us),
            expansions=_moved(self.expansions, moved_us),
            voters=_moved(self.voters, moved_us),
            voters_read=_times_moved(self.voters_read, moved_us),
            signs=_times_moved(self.signs, moved_us),
        )

    def is_registered_before(self, broker: int) -> bool:
        """Whether a broker counts as registered before the run."""
        return self.brokers.index(broker) in self.directory.registered_before

    def changes(self) -> Iterator[tuple[str, WrittenState, WrittenState]]:
        """Each state of a partition that another follows, and that one."""
        for partition, states in self.states.items():
            for before, after in pairwise(states):
                yield partition, before, after

    def state_at(self, partition: str, time_us: int) -> WrittenState | None:
        """The state of a partition before a time; None: there is none."""
        earlier = [each for each in self.states.get(partition, ()) if each.time_us < time_us]
        return None if not earlier or earlier[-1].is_deleted else earlier[-1]

    def removals_by_control_plane(self, broker: int) -> Iterator[int]:
        """The times at which a broker left ISRs that no leader took it out of."""
        by_leaders = {
            (removal.partition, removal.time_us // _SECOND_US)
            for removal in self.removals
            if removal.follower == broker
        }
        for partition, before, after in self.changes():
            if broker in before.isr and broker not in after.isr and not after.is_deleted:
                second = after.time_us // _SECOND_US
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


def cluster_history(run: Run) -> ClusterHistory:
    """The states of a run.

    Raises:
        TraceError: a trace file is damaged.
    """
    logs = run.manifest.get("logs", {})
    history = ClusterHistory(
        run.directory,
        run.manifest["scenario"],
        run.end_us,
        active_controllers(run, run.end_us),
        frozenset(logs.get("settings", ())),
        tuple(logs.get("notices", ())),
        logs.get("longest_session_ms"),
        partitions={
            name: run.directory.all_partitions[number]
            for name, number in run.directory.partitions.items()
        },
    )
    for event in run.events_of(*_READERS, until_us=history.end_us):
        _READERS[event.kind](history, event)
    times = [row_us for signs in history.signs.values() for row_us in signs[:1]]
    times += [events[0].time_us for events in history.lives.values() if events]
    times += [states[0].time_us for states in history.states.values() if states]
    history.begin_us = min(times, default=0)
    return history


def _read_partition_state(history: ClusterHistory, event: TraceEvent) -> None:
    change = event.row["change"]
    state = WrittenState(
        event.time_us,
        event.leader,
        _ids(event.isr),
        is_created=bool(change == codes.STATE_CREATED),
        is_deleted=bool(change == codes.STATE_DELETED),
        is_preexisting=bool(event.row["writer"] == codes.FORMER_WRITER),
    )
    history.states.setdefault(str(event.partition), []).append(state)


def _read_partition_replicas(history: ClusterHistory, event: TraceEvent) -> None:
    lists = map(_ids, (event.replicas, event.adding, event.removing))
    assignment = Assignment(event.time_us, *lists)
    known = history.assignments.setdefault(str(event.partition), [])
    # With KRaft such a row can also be about eligible leaders alone.
    if not known or known[-1][1:] != assignment[1:]:
        known.append(assignment)


def _ids(brokers: Sequence[int | None]) -> tuple[int, ...]:
    return tuple(broker for broker in brokers if broker is not None)


def _read_elected(history: ClusterHistory, event: TraceEvent) -> None:
    if event.row["unclean"]:
        history.unclean.add(str(event.partition))


def _read_broker_state(history: ClusterHistory, event: TraceEvent) -> None:
    if event.broker is None:
        return
    state, reason = event.row["state"], event.row["state_reason"]
    kind = Life.GONE
    if reason == codes.BROKER_REGISTERS:
        kind = Life.REGISTERED
    elif state == codes.BROKER_ACTIVE:
        kind = Life.ACTIVE
    elif state == codes.BROKER_SHUTTING_DOWN:
        kind = Life.SHUTTING_DOWN
    change = BrokerEvent(event.time_us, kind, bool(reason == codes.BROKER_SESSION_EXPIRED))
    history.lives.setdefault(event.broker, []).append(change)


def _read_voters(history: ClusterHistory, event: TraceEvent) -> None:
    """Of the same record in several logs the first row counts; static voters do not."""
    if event.kraft_version == 0:
        return
    history.voters_read.setdefault(event.broker, []).append(event.time_us)
    voters = WrittenVoters(event.time_us, tuple(event.voters), int(event.row["voters_offset"]))
    known = history.voters
    if not voters.voters or (known and voters.offset <= known[-1].offset):
        return
    if known and known[-1].voters == voters.voters:
        known[-1] = known[-1]._replace(offset=voters.offset)
    else:
        known.append(voters)


def _read_shrunk(history: ClusterHistory, event: TraceEvent) -> None:
    leader = _own_broker(history, event)
    if leader is None:
        return
    lag_ms = event.row.columns.get("lag_ms", 0)
    history.removals += [
        IsrRemoval(
            event.time_us,
            str(event.partition),
            leader,
            follower,
            lag_ms * 1000 if lag_ms > 0 else None,
        )
        for follower in sorted({*_ids(event.old_isr)} - {*event.isr})
    ]


def _read_expanded(history: ClusterHistory, event: TraceEvent) -> None:
    _own_broker(history, event)
    for follower in {*_ids(event.isr)} - {*event.old_isr}:
        history.expansions.append(IsrExpansion(event.time_us, str(event.partition), follower))


def _read_started(history: ClusterHistory, event: TraceEvent) -> None:
    broker = _own_broker(history, event)
    if broker is not None:
        start = BrokerEvent(event.time_us, Life.STARTED)
        history.lives.setdefault(broker, []).append(start)


def _read_stopped(history: ClusterHistory, event: TraceEvent) -> None:
    """... cleanly: a process that is killed writes nothing, and logs have its last line."""
    is_clean = event.row["stop"] == codes.STOP_CLEAN
    if event.broker is not None and is_clean:
        stop = BrokerEvent(event.time_us, Life.STOPPED)
        history.lives.setdefault(event.broker, []).append(stop)
    if event.broker is not None and (is_clean or history.is_from_logs):
        history.signs.setdefault(event.broker, []).append(event.time_us)


def _own_broker(history: ClusterHistory, event: TraceEvent) -> int | None:
    """The broker that wrote a row, which was alive then."""
    directory = history.directory
    broker = directory.broker_id(directory.broker_of_process(event.row["process"]))
    if broker is not None:
        history.signs.setdefault(broker, []).append(event.time_us)
    return broker


_READERS = {
    "partition_state": _read_partition_state,
    "partition_replicas": _read_partition_replicas,
    "leader_elected": _read_elected,
    "broker_state": _read_broker_state,
    "quorum_voters": _read_voters,
    "isr_shrunk": _read_shrunk,
    "isr_expanded": _read_expanded,
    "broker_started": _read_started,
    "broker_stopped": _read_stopped,
    "became_leader": _own_broker,
    "became_follower": _own_broker,
}

#: The kinds of rows that are read.
KINDS = frozenset({*_READERS, "controller_active"})
