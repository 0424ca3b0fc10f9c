"""What ZooKeeper and its controller hold during a run, in the form of a recording."""

from __future__ import annotations

from tidegauge.laboratory.conformance.recorded_dialects import Tree
from tidegauge.laboratory.conformance.recorded_schedule import RecordedSchedule
from tidegauge.laboratory.conformance.step_outcome import StateWrite, StepOutcome
from tidegauge.runs.trace_events import Names
from tidegauge.runs.zookeeper import pending_notifications
from tidegauge.simulation.codes.occasions import BROKER_ACTIVE, STATE_DELETED
from tidegauge.traces.run_folder import TraceRow


class ZooKeeperState:
    """Follows the rows about the state of the cluster."""

    def __init__(self, names: Names, schedule: RecordedSchedule) -> None:
        self.names = names
        self.brokers = schedule.brokers
        self.pending = pending_notifications(names)
        #: Numbers of topics that were deleted.
        self._deleted: set[int] = set()
        #: By partition: the last rows about its state, and about its replicas.
        self._states: dict[int, TraceRow] = {}
        self._moved: dict[int, TraceRow] = {}
        self._registered: set[int] = set()
        #: Id of the active controller's broker, and the newest controller epoch.
        self._controller: int | None = None
        self._controller_epoch: int | None = None
        #: Faults during which ZooKeeper does not respond to the harness.
        self._outages: set[int] = set()

    def take(self, row: TraceRow, outcome: StepOutcome | None) -> None:
        """Take over the information of one row.

        Args:
            row: of any kind.
            outcome: of the step that is being played; None: before the first.
        """
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
            known = row["state"] == BROKER_ACTIVE
            (self._registered.add if known else self._registered.discard)(
                self.brokers[row["broker"]]
            )
        elif row.kind in {"fault_began", "fault_ended"}:
            self._take_fault(row)

    def _take_fault(self, row: TraceRow) -> None:
        if self.names.fault_kind(row["fault"]) == "zookeeper_outage":
            began = row.kind == "fault_began"
            (self._outages.add if began else self._outages.discard)(row["fault"])

    def _take_state(self, row: TraceRow, outcome: StepOutcome | None) -> None:
        if row["change"] == STATE_DELETED:
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
            "leader": self.brokers[row["leader"]] if row["leader"] >= 0 else row["leader"],
            "version": row["partition_epoch"],
            "leader_epoch": row["leader_epoch"],
            "isr": self.names.brokers_in(row["isr"], row["partition"]),
        }

    def observe(self, topics: list[str]) -> Tree:
        """What it says of itself and of the partitions of these topics; brokers have own rows."""
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
                "zk": None if row is None or self._outages else self._state(row),
                "logs": {},
            }
        return tree
