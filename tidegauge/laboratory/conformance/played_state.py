"""The state that a run's control plane holds, in the form of a recording.

With ZooKeeper it is that of ZooKeeper and its controller. With KRaft it is that of the active
controller: all records of a batch are committed at one time. A record of a partition is a row
``partition_state``, and a row ``partition_replicas`` after it if the record has anything that only
this row has.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from tidegauge.laboratory.conformance import recorded_dialects
from tidegauge.laboratory.conformance.recorded_quorums import Tree
from tidegauge.laboratory.conformance.recorded_schedule import RecordedSchedule
from tidegauge.runs.trace_events import Names
from tidegauge.runs.zookeeper import pending_notifications
from tidegauge.simulation.trace_rows import codes
from tidegauge.traces.run_folder import TraceRow


@dataclass
class StateWrite:
    """A write of a partition's state: the columns of a recording, and the time."""

    columns: list[Any]
    time_us: int


@dataclass
class StepOutcome:
    """The outcome of one recorded step in the run."""

    begin_us: int = 0
    #: None: the step did not finish.
    end_us: int | None = None
    observed: Tree = field(default_factory=dict)
    result: Tree = field(default_factory=dict)
    #: By partition.
    state_writes: dict[str, list[StateWrite]] = field(default_factory=lambda: defaultdict(list))
    #: By broker (``b1``), of KRaft.
    broker_records: dict[str, list[StateWrite]] = field(default_factory=lambda: defaultdict(list))
    #: The records about voters, of KRaft.
    quorum_records: dict[str, list[StateWrite]] = field(default_factory=lambda: defaultdict(list))
    #: Milliseconds since the step began, by path as in a recording.
    times_ms: dict[str, float] = field(default_factory=dict)


UP, PAUSED, DOWN = "up", "paused", "down"


class _HeldState:
    """Follows the rows about the state of the cluster."""

    def __init__(self, names: Names, schedule: RecordedSchedule) -> None:
        self.names = names
        self.brokers = schedule.brokers
        #: Id of the active controller, or of its broker, and the newest controller epoch.
        self._controller: int | None = None
        self._controller_epoch: int | None = None
        #: By process: the faults that hit it now.
        self._faults: dict[int, set[int]] = defaultdict(set)

    def take(self, row: TraceRow, outcome: StepOutcome | None) -> None:
        """Take over the information of one row.

        Args:
            row: of any kind.
            outcome: of the step that is being played; None: before the first.
        """
        del outcome
        if row.kind == "fault_began":
            self._faults[row["process"]].add(row["fault"])
        elif row.kind == "fault_ended":
            self._faults[row["process"]].discard(row["fault"])
        elif row.kind == "broker_stopped":
            self._faults[row["process"]].clear()

    def is_hit(self, process: int, *kinds: str) -> bool:
        """Whether a fault of one of these kinds hits a process now."""
        return any(self.names.fault_kind(fault) in kinds for fault in self._faults[process])

    def _leader(self, row: TraceRow) -> int:
        """The id of the leader in a row; below 0 if there is none."""
        leader: int = row["leader"]
        return self.brokers[leader] if leader >= 0 else leader


class ZooKeeperState(_HeldState):
    """The state of ZooKeeper and its controller."""

    def __init__(self, names: Names, schedule: RecordedSchedule) -> None:
        super().__init__(names, schedule)
        self.pending = pending_notifications(names)
        #: Numbers of topics that were deleted.
        self._deleted: set[int] = set()
        #: By partition: the last rows about its state, and about its replicas.
        self._states: dict[int, TraceRow] = {}
        self._moved: dict[int, TraceRow] = {}
        self._registered: set[int] = set()

    def take(self, row: TraceRow, outcome: StepOutcome | None) -> None:
        """Take over the information of one row."""
        super().take(row, outcome)
        self.pending.take(row)
        if row.kind == "topic_deleted":
            self._deleted.add(row["topic"])
        elif row.kind == "partition_replicas":
            self._moved[row["partition"]] = row
        elif row.kind == "partition_state":
            self._take_state(row, outcome)
        elif row.kind == "controller_active":
            self._controller = self.names.broker_id(row["broker"])
        elif row.kind == "controller_elected":
            self._controller_epoch = row["controller_epoch"]
        elif row.kind == "broker_state":
            known = row["state"] == codes.BROKER_ACTIVE
            (self._registered.add if known else self._registered.discard)(
                self.brokers[row["broker"]]
            )

    def _take_state(self, row: TraceRow, outcome: StepOutcome | None) -> None:
        if row["change"] == codes.STATE_DELETED:
            self._states.pop(row["partition"], None)
            return
        self._states[row["partition"]] = row
        if outcome is not None:
            state = self._state(row)
            columns = [
                f"b{self.brokers[row['writer'] % len(self.brokers)]}",
                *(state[each] for each in ("leader", "isr", "leader_epoch", "controller_epoch")),
                state["version"],
            ]
            name = self.names.partition(row["partition"])
            outcome.state_writes[name].append(StateWrite(columns, row["time_us"]))

    def _state(self, row: TraceRow) -> Tree:
        """A partition's state in the form of a recording."""
        return {
            "controller_epoch": row["controller_epoch"],
            "leader": self._leader(row),
            "version": row["partition_epoch"],
            "leader_epoch": row["leader_epoch"],
            "isr": self.names.brokers_in(row["isr"], row["partition"]),
        }

    def observe(self, topics: list[str]) -> Tree:
        """The observation of it and of these topics' partitions; brokers have rows of their own."""
        is_out = any(self.is_hit(process, "zookeeper_outage") for process in [*self._faults])
        tree: Tree = {
            "controller": self._controller,
            "controller_epoch": self._controller_epoch,
            "isr_change_notifications": len(self.pending.numbers),
            "registered": [broker for broker in self.brokers if broker in self._registered],
            "partitions": {},
        }
        for name, number in self.names.partitions.items():
            named = self.names.all_partitions[number]
            if named.topic not in topics or named.topic_number in self._deleted:
                continue
            row, moved = self._states.get(number), self._moved.get(number)
            tree["partitions"][name] = {
                "replicas_assigned": (
                    self.names.replicas(number)
                    if moved is None
                    else self.names.brokers_in(moved["replicas"], number)
                ),
                "zk": None if row is None or is_out else self._state(row),
                "logs": {},
            }
        return tree


#: Kinds of records.
_CREATE, _CHANGE, _CLEAR_ELR = "create", "change", "ClearElrRecord"
#: States of brokers, as their records are described.
_STATES = {
    int(codes.BROKER_FENCED): recorded_dialects.FENCED,
    int(codes.BROKER_ACTIVE): recorded_dialects.UNFENCED,
    int(codes.BROKER_SHUTTING_DOWN): recorded_dialects.SHUTTING_DOWN,
}


@dataclass(frozen=True)
class Registration:
    """A partition as records leave it; brokers are ids."""

    leader: int
    isr: list[int | None]
    leader_epoch: int
    partition_epoch: int
    controller_epoch: int
    replicas: list[int | None]
    adding: list[int | None]
    removing: list[int | None]
    elr: list[int | None]
    last_known_elr: list[int | None]
    recovering: int

    @property
    def moves(self) -> list[list[int | None]]:
        """The lists that reassignments change."""
        return [self.replicas, self.adding, self.removing]


@dataclass
class _Record:
    """A record of the batch that is being read."""

    state: TraceRow
    outcome: StepOutcome | None
    replicas: TraceRow | None = None


class _Voters:
    """The node ids of the quorum's controllers, by their numbers in the run.

    A race decides the next controllers after the first one. If no step of the recording names one
    of the others, their ids are exchanged so that they are elected in the recorded order.
    """

    def __init__(self, schedule: RecordedSchedule) -> None:
        first, *self._others = schedule.voters
        self._ids = {0: first}
        if schedule.names_a_controller:
            self._ids = dict(enumerate(schedule.voters))
            self._others = []

    def id_of(self, number: int) -> int:
        """The id of the controller that is active now."""
        if number not in self._ids:
            self._ids[number] = self._others.pop(0)
        return self._ids[number]

    def ids(self) -> dict[int, int]:
        """The ids by number; of those that have never been active in any order."""
        count = len(self._ids) + len(self._others)
        free = [number for number in range(count) if number not in self._ids]
        return self._ids | dict(zip(free, self._others, strict=True))


class KRaftState(_HeldState):
    """The state of the active controller of a quorum."""

    def __init__(self, names: Names, schedule: RecordedSchedule) -> None:
        super().__init__(names, schedule)
        self._voters = _Voters(schedule)
        #: By number of the controller.
        self._processes = {
            each.number: process
            for process, each in names.processes.items()
            if each.role == "quorum controller"
        }
        #: By partition.
        self._registrations: dict[int, Registration] = {}
        #: By broker: its state in the control plane, and whether it has requested its shutdown.
        self._broker_states: dict[int, int] = {}
        self._in_shutdown: dict[int, bool] = dict.fromkeys(self.brokers, False)
        #: By broker: how many log directories it has, and how many of them are cordoned.
        self._directories = schedule.log_directories
        self._cordoned: dict[int, int] = dict.fromkeys(self.brokers, 0)
        #: By epoch of an active controller: its number, as in a recording.
        self._controllers: dict[int, int] = {}
        self._numbered = recorded_dialects.Registrations()
        self._has_begun = False
        #: Records and topics with changed settings of the batch that is being read, and its time.
        self._batch: list[_Record] = []
        self._configured: set[int] = set()
        self._batch_us = 0

    def take(self, row: TraceRow, outcome: StepOutcome | None) -> None:
        """Take over the information of one row."""
        super().take(row, outcome)
        if row["time_us"] != self._batch_us:
            self._close_batch()
            self._batch_us = row["time_us"]
        if outcome is not None and not self._has_begun:
            self._has_begun = True
            self._numbered.begin()
            self._controllers.clear()
            if self._controller_epoch is not None:
                self._number(self._controller_epoch)
        if row.kind == "partition_state":
            self._batch.append(_Record(row, outcome))
        elif row.kind == "partition_replicas":
            self._record_of(row["partition"]).replicas = row
        elif row.kind == "topic_configured":
            self._configured.add(row["topic"])
        elif row.kind == "broker_state":
            self._take_broker(row, outcome)
        elif row.kind == "log_directories_cordoned":
            self._cordoned[self.brokers[row["broker"]]] = row["cordoned"]
        elif row.kind == "controller_active":
            self._take_controller(row)

    def _take_controller(self, row: TraceRow) -> None:
        """A controller is active; a harness keeps the id of a former one."""
        if row["broker"] >= 0:
            self._controller = self._voters.id_of(row["broker"] - len(self.brokers))
            self._controller_epoch = row["controller_epoch"]
            self._number(row["controller_epoch"])

    def _number(self, epoch: int) -> int:
        """The number of the active controller of an epoch."""
        return self._controllers.setdefault(epoch, len(self._controllers) + 1)

    def _process(self, number: int) -> str:
        process = self._processes.get(number, -1)
        if self.is_hit(process, "crash", "restart"):
            return DOWN
        return PAUSED if self.is_hit(process, "pause") else UP

    def _record_of(self, partition: int) -> _Record:
        """The last record of a partition in this batch."""
        return next(each for each in reversed(self._batch) if each.state["partition"] == partition)

    def _take_broker(self, row: TraceRow, outcome: StepOutcome | None) -> None:
        broker = self.brokers[row["broker"]]
        self._broker_states[broker] = row["state"]
        registers = row["state_reason"] == codes.BROKER_REGISTERS
        state = recorded_dialects.REGISTERED if registers else _STATES.get(row["state"])
        if state is not None:
            record = self._numbered.take(broker, state, row["broker_epoch"])
            if record is not None and outcome is not None:
                outcome.broker_records[f"b{broker}"].append(StateWrite(record, row["time_us"]))
        if row["state"] == codes.BROKER_SHUTTING_DOWN:
            self._in_shutdown[broker] = True
        elif row["state"] == codes.BROKER_ACTIVE or registers:
            self._in_shutdown[broker] = False

    def _close_batch(self) -> None:
        """Take over a batch once all of it has been read."""
        for record in self._batch:
            self._commit(record)
        self._batch.clear()
        self._configured.clear()

    def _commit(self, record: _Record) -> None:
        partition = record.state["partition"]
        before = self._registrations.get(partition)
        if record.state["change"] == codes.STATE_DELETED:
            self._registrations.pop(partition, None)
            return
        after = self._registration(record, before)
        self._registrations[partition] = after
        if record.outcome is not None:
            columns = self._columns(self._kind(record.state, before, after), before, after)
            write = StateWrite(columns, record.state["time_us"])
            record.outcome.state_writes[self.names.partition(partition)].append(write)

    def _registration(self, record: _Record, before: Registration | None) -> Registration:
        state, row, partition = record.state, record.replicas, record.state["partition"]
        if record.state["change"] == codes.STATE_CREATED:
            before = None

        def listed(column: str, known: list[int | None]) -> list[int | None]:
            return known if row is None else self.names.brokers_in(row[column], partition)

        last_known: list[int | None] = [] if before is None else before.last_known_elr
        if row is not None:
            leader = self.names.broker_id(row["last_known_leader"])
            last_known = [] if leader is None else [leader]
        return Registration(
            leader=self._leader(state),
            isr=self.names.brokers_in(state["isr"], partition),
            leader_epoch=state["leader_epoch"],
            partition_epoch=state["partition_epoch"],
            controller_epoch=self._number(state["controller_epoch"]),
            replicas=listed(
                "replicas", [*self.names.replicas(partition)] if before is None else before.replicas
            ),
            adding=listed("adding", [] if before is None else before.adding),
            removing=listed("removing", [] if before is None else before.removing),
            elr=listed("eligible_leaders", [] if before is None else before.elr),
            last_known_elr=last_known,
            recovering=(
                row["recovering"] if row is not None else 0 if before is None else before.recovering
            ),
        )

    def _kind(self, row: TraceRow, before: Registration | None, after: Registration) -> str:
        """The kind of a record: settings of a topic that empty its ELR are committed with it."""
        if before is None or row["change"] == codes.STATE_CREATED:
            return _CREATE
        named = self.names.all_partitions[row["partition"]]
        was_cleared = (
            [before.elr, before.last_known_elr] != [[], []] == [after.elr, after.last_known_elr]
        )
        same_isr = (before.leader, before.isr) == (after.leader, after.isr)
        if was_cleared and same_isr and named.topic_number in self._configured:
            return _CLEAR_ELR
        return _CHANGE

    @staticmethod
    def _columns(kind: str, before: Registration | None, after: Registration) -> list[Any]:
        """A write in the form of a recording."""
        columns: list[Any] = [kind, after.leader, after.isr, after.elr, after.last_known_elr]
        columns += [after.leader_epoch, after.partition_epoch, after.recovering]
        columns.append(after.controller_epoch)
        if kind != _CREATE and before is not None:
            is_moving = after.moves[1:] != [[], []]
            if is_moving or before.replicas != after.replicas:
                columns += after.moves
        return columns

    def observe(self, topics: list[str]) -> Tree:
        """The observation of it and of these topics' partitions; brokers have rows of their own."""
        self._close_batch()
        unfenced = {codes.BROKER_ACTIVE, codes.BROKER_SHUTTING_DOWN}
        return {
            "controller": self._controller,
            "controller_epoch": self._controllers.get(self._controller_epoch or 0),
            "registered": [
                each for each in self.brokers if self._broker_states.get(each) in unfenced
            ],
            "brokers": {
                str(broker): {
                    "fenced": bool(state == codes.BROKER_FENCED),
                    "in_controlled_shutdown": self._in_shutdown[broker],
                }
                for broker, state in self._broker_states.items()
            },
            "process": {
                str(id_): self._process(number) for number, id_ in self._voters.ids().items()
            },
            "log_dirs": {str(broker): self._log_dirs(broker) for broker in self.brokers},
            "partitions": {
                name: self._partition(self._registrations[number])
                for name, number in self.names.partitions.items()
                if number in self._registrations
                and self.names.all_partitions[number].topic in topics
            },
        }

    def _log_dirs(self, broker: int) -> Tree:
        """The log directories of a broker, under the names that a harness gives their ids."""
        names = [f"b{broker}#{number + 1}" for number in range(self._directories)]
        return {"log_dirs": names, "cordoned": names[: self._cordoned[broker]]}

    @staticmethod
    def _partition(registration: Registration) -> Tree:
        state = {
            name: getattr(registration, name)
            for name in (
                *("leader", "isr", "elr", "last_known_elr", "leader_epoch", "partition_epoch"),
                *("recovering", "adding", "removing"),
            )
        }
        return {"replicas_assigned": registration.replicas, "kraft": state, "logs": {}}

    def is_moving(self, name: str) -> bool:
        """Whether a reassignment of a partition is in progress."""
        self._close_batch()
        known = self._registrations.get(self.names.partitions[name])
        return known is not None and known.moves[1:] != [[], []]
