"""Rows of the trace from a history, of the same classes as those of a simulated run.

A log's time has milliseconds. Rows of one millisecond are put into the order in which they cause
each other, and get microseconds by that order. A row's cause is the row that it follows from,
where lines leave no doubt: a state follows from the change that wrote it, an election from the
loss of the leader. A value that no line has is -1 in its column, which means "unknown".
"""

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.records import dtype_of
from tidegauge.real_cluster.logs.broker_states import ABSENT, ACTIVE, BrokerChange
from tidegauge.real_cluster.logs.log_files import LogsError
from tidegauge.real_cluster.logs.logged_cluster import LoggedCluster
from tidegauge.real_cluster.logs.partition_history import PartitionHistory, known_assignments
from tidegauge.real_cluster.logs.partition_rows import Assignment
from tidegauge.real_cluster.logs.partition_states import State
from tidegauge.real_cluster.logs.real_history import RealHistory
from tidegauge.real_cluster.logs.voter_rows import voter_rows
from tidegauge.replication.replica_list import pack
from tidegauge.simulation.trace_rows import codes, controller_rows, process_rows, replica_rows
from tidegauge.simulation.trace_rows.row import ROW_VALUES, Row, RowSlot
from tidegauge.simulation.trace_rows.schema import ROW_KINDS

_UNKNOWN = -1
#: A lost leader causes an election at most so much later.
_CAUSES_WITHIN_MS = 60_000

#: The order of rows within a millisecond; rows about partitions are of rank 3.
_RANKS: dict[type[Row], int] = {
    process_rows.BrokerStarted: 0,
    process_rows.BrokerStopped: 0,
    controller_rows.BrokerFailed: 1,
    controller_rows.BrokerRegistered: 1,
    controller_rows.BrokerState: 1,
    controller_rows.QuorumVoters: 2,
    controller_rows.ControllerElected: 2,
    controller_rows.ControllerActive: 2,
    replica_rows.BecameLeader: 4,
    replica_rows.BecameFollower: 4,
}
_RANK_OF_PARTITIONS = 3


class _Planned:
    """Rows before they have their microseconds and numbers: integers, as there may be millions."""

    #: time_ms, rank, process, kind, the place of the row it follows from; then its columns.
    _HEAD = 5
    _WIDTH = _HEAD + ROW_VALUES

    def __init__(self, first_ms: int) -> None:
        self._first_ms = first_ms
        self._cells = array("q")

    def add(
        self, row: type[Row], time_ms: int, process: int, cause: int | None = None, **values: int
    ) -> int:
        """Add a row, and return its place; columns that are not given are unknown.

        Args:
            row: its class.
            time_ms: of its line.
            process: that it is about.
            cause: the place of the row that it follows from, which is not later.
            values: of its columns.
        """
        columns = ROW_KINDS[row.KIND].columns
        assert values.keys() <= set(columns), (row, values)
        rank = _RANKS.get(row, _RANK_OF_PARTITIONS)
        if cause is not None:
            cause_ms, cause_rank = self._cells[cause * self._WIDTH : cause * self._WIDTH + 2]
            rank = max(rank, cause_rank) if time_ms <= cause_ms else rank
            time_ms = max(time_ms, cause_ms)
        place = len(self._cells) // self._WIDTH
        self._cells.extend((time_ms, rank, process, row.KIND, _UNKNOWN if cause is None else cause))
        self._cells.extend(values.get(name, _UNKNOWN) for name in columns)
        self._cells.extend([0] * (ROW_VALUES - len(columns)))
        return place

    def laid_out(self) -> NDArray[np.void]:
        """The rows in their order, with microseconds, numbers and causes.

        Raises:
            LogsError: a row is before time 0.
        """
        cells = np.frombuffer(self._cells, np.int64).reshape(-1, self._WIDTH)
        order = np.lexsort((cells[:, 1], cells[:, 0]))
        cells = cells[order]
        if len(cells) and cells[0, 0] < self._first_ms:
            before_ms = self._first_ms - cells[0, 0]
            raise LogsError(f"the logs have an event {before_ms:,} ms before their first line")
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        rows = np.zeros(len(order), dtype_of(RowSlot))
        at_us = (cells[:, 0] - self._first_ms) * 1_000
        rows["time_us"] = at_us + np.minimum(_places_within(at_us), 999)
        process = rows["process"] = cells[:, 2]
        by_process = np.argsort(process, kind="stable")
        rows["sequence"][by_process] = _places_within(process[by_process])
        rows["kind"] = cells[:, 3]
        cause = cells[:, 4]
        causes = places[np.maximum(cause, 0)]
        for column, values in (("process", process), ("sequence", rows["sequence"])):
            rows[f"cause_{column}"] = np.where(cause < 0, _UNKNOWN, values[causes])
            rows[f"because_{column}"] = _UNKNOWN
        rows["values"] = cells[:, self._HEAD :]
        return rows


def _places_within(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of each value among equal neighbours, from 0."""
    numbers = np.arange(len(values))
    begins = np.concatenate(([True], values[1:] != values[:-1])) if len(values) else numbers > 0
    return numbers - np.maximum.accumulate(np.where(begins, numbers, 0))


def rows_of(history: RealHistory, cluster: LoggedCluster) -> NDArray[np.void]:
    """All rows of a history, in their total order but for the process."""
    rows = _ClusterRows(history, cluster)
    for number, each in enumerate(cluster.partitions):
        if each is not None:
            _PartitionRows(rows, number, each, cluster).plan()
    return rows.planned.laid_out()


class _ClusterRows:
    """The rows about brokers and controllers, and the numbers of nodes for all rows."""

    def __init__(self, history: RealHistory, cluster: LoggedCluster) -> None:
        self._history = history
        self.is_kraft = history.is_kraft
        self.planned = _Planned(history.first_ms)
        plan = cluster.plan
        processes: dict[str, list[int]] = defaultdict(list)
        for number, process in enumerate(plan.processes):
            processes[process.name.split()[0]].append(number)
        #: By id of a node: the index of a broker, and the processes.
        self._index = {broker: index for index, broker in enumerate(plan.brokers)}
        self.brokers = dict(zip(plan.brokers, processes["broker"], strict=True))
        controllers = cluster.controllers if self.is_kraft else plan.brokers
        self._controllers = dict(zip(controllers, processes["controller"], strict=True))
        #: The number of a controller in rows; those of a quorum come after the brokers.
        first = len(plan.brokers) if self.is_kraft else 0
        self._members = {node: first + place for place, node in enumerate(controllers)}
        self._plane = processes["controller" if self.is_kraft else "zookeeper"][0]
        #: By broker: times and places of the rows of its loss.
        self._lost: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._plan_lives()
        self._plan_brokers()
        self._plan_controllers()
        self._plan_voters()

    def broker(self, broker: int) -> int:
        """The index of a broker; -1: there is none."""
        return self._index.get(broker, _UNKNOWN)

    def member(self, controller: int | None, time_ms: int) -> int:
        """The number of a controller, or of the one that is active at a time."""
        if controller not in self._members:
            controller = self._active_at(time_ms)
        return _UNKNOWN if controller is None else self._members.get(controller, _UNKNOWN)

    def deciding(self, controller: int | None, time_ms: int) -> int:
        """The process of a controller, or of the one that is active at a time."""
        if controller not in self._controllers:
            controller = self._active_at(time_ms)
        return self._plane if controller is None else self._controllers.get(controller, self._plane)

    def plane_at(self, time_ms: int) -> int:
        """The process that holds the cluster's state at a time."""
        return self.deciding(None, time_ms) if self.is_kraft else self._plane

    def loss_of(self, brokers: Iterable[int], after_ms: int, before_ms: int) -> int | None:
        """The row of the loss of one of these brokers, just before a change."""
        found = [
            (time_ms, place)
            for broker in brokers
            for time_ms, place in self._lost.get(broker, ())
            if after_ms <= time_ms <= before_ms and before_ms - time_ms <= _CAUSES_WITHIN_MS
        ]
        return max(found)[1] if found else None

    def _plan_lives(self) -> None:
        for life in self._history.lives:
            if life.node not in self.brokers:
                continue
            process, broker = self.brokers[life.node], self._index[life.node]
            if life.started_ms is not None:
                self.planned.add(
                    process_rows.BrokerStarted, life.started_ms, process, broker=broker
                )
            if life.end_ms is not None:
                stop = codes.STOP_CLEAN if life.stopped_cleanly else codes.STOP_KILLED
                self.planned.add(
                    process_rows.BrokerStopped, life.end_ms, process, broker=broker, stop=int(stop)
                )

    def _plan_brokers(self) -> None:
        for change in self._history.brokers:
            place = self.planned.add(
                controller_rows.BrokerState,
                change.time_ms,
                self.plane_at(change.time_ms),
                self._seen(change),
                broker=self._index[change.broker],
                state=change.state,
                broker_epoch=change.broker_epoch,
                state_reason=change.reason,
            )
            if change.state != ACTIVE:
                self._lost[change.broker].append((change.time_ms, place))

    def _seen(self, change: BrokerChange) -> int | None:
        """The row of a controller that sees a broker come or go; ZooKeeper's only."""
        rows = {ABSENT: controller_rows.BrokerFailed, ACTIVE: controller_rows.BrokerRegistered}
        node = self._active_at(change.time_ms)
        if self.is_kraft or change.state not in rows or node not in self._controllers:
            return None
        process, broker = self._controllers[node], self._index[change.broker]
        return self.planned.add(rows[change.state], change.time_ms, process, broker=broker)

    def _plan_controllers(self) -> None:
        for time_ms, node, epoch in self._history.controllers:
            if node not in self._members:
                continue
            numbers = {"broker": self._members[node], "controller_epoch": epoch}
            cause = None
            if not self.is_kraft:
                process = self._controllers[node]
                elected = controller_rows.ControllerElected
                cause = self.planned.add(elected, time_ms, process, **numbers)
            plane = self.plane_at(time_ms)
            active = controller_rows.ControllerActive
            self.planned.add(active, time_ms, plane, cause, **numbers)

    def _plan_voters(self) -> None:
        for time_ms, node, row, values in voter_rows(self._history, self._members):
            self.planned.add(row, time_ms, self._controllers[node], **values)

    def _active_at(self, time_ms: int) -> int | None:
        """The active controller; before the first activation, the first one."""
        changes = self._history.controllers
        place = bisect_right(changes, time_ms, key=lambda change: change.time_ms)
        return changes[max(place - 1, 0)].node if changes else None


class _Change(NamedTuple):
    """A change of a partition's state."""

    before: State
    state: State
    #: The last ISR before that is not assumed.
    old_isr: tuple[int, ...]

    @property
    def lost(self) -> list[int]:
        """The brokers that have left the ISR, as far as lines or rules tell it."""
        if self.state.is_isr_assumed:
            return []
        return [broker for broker in self.old_isr if broker not in (self.state.isr or ())]


class _PartitionRows:
    """The rows about a partition."""

    def __init__(
        self, rows: _ClusterRows, number: int, history: PartitionHistory, cluster: LoggedCluster
    ) -> None:
        self._rows = rows
        self._planned = rows.planned
        self._number = number
        self._history = history
        planned = cluster.plan.partitions[number]
        slots = [cluster.plan.brokers[index] for index in planned.slots]
        self._slot_of = {broker: slot for slot, broker in enumerate(slots)}
        self._first_replicas = tuple(slots[: len(planned.replicas)])

    def plan(self) -> None:
        """Plan all of them."""
        before: State | None = None
        isr: tuple[int, ...] = ()
        for state in self._history.states:
            cause = None if before is None else self._plan_change(_Change(before, state, isr))
            self._plan_state(state, before, cause)
            if before is None or not state.is_isr_assumed:
                isr = state.isr or ()
            before = None if state.deleted else state
        self._plan_roles()
        self._plan_assignments()
        for cut in self._history.truncations:
            if cut.broker in self._rows.brokers:
                self._planned.add(
                    replica_rows.Truncated,
                    cut.time_ms,
                    self._rows.brokers[cut.broker],
                    partition=self._number,
                    end_offset=cut.offset,
                )

    def _packed(self, brokers: tuple[int, ...] | None) -> int:
        """A list of brokers as a replica list."""
        slots = (self._slot_of[each] for each in brokers or () if each in self._slot_of)
        return int(pack(tuple(dict.fromkeys(slots))))

    def _common(self, state: State) -> dict[str, int]:
        """The columns that all rows about a change have."""
        return {
            "partition": self._number,
            "isr": self._packed(state.isr),
            "leader_epoch": state.leader_epoch,
            "version": state.version,
        }

    def _plan_state(self, state: State, before: State | None, cause: int | None) -> None:
        change, writer = codes.STATE_WRITTEN, self._writer(state)
        if state.deleted:
            change = codes.STATE_DELETED
        elif before is None:
            change = codes.STATE_CREATED
            if not state.created:
                writer = int(codes.FORMER_WRITER)
        self._planned.add(
            controller_rows.PartitionState,
            state.time_ms,
            self._rows.plane_at(state.time_ms),
            cause,
            partition=self._number,
            change=int(change),
            leader=self._rows.broker(state.leader),
            leader_epoch=max(state.leader_epoch, _UNKNOWN),
            partition_epoch=state.version,
            isr=self._packed(state.isr),
            controller_epoch=max(state.controller_epoch, _UNKNOWN),
            writer=writer,
        )

    def _writer(self, state: State) -> int:
        """The writer of a state: the leader with ZooKeeper alone, else the controller."""
        if state.by_leader and not self._rows.is_kraft and not state.altered:
            return self._rows.broker(state.leader)
        return self._rows.member(state.controller, state.time_ms)

    def _plan_change(self, change: _Change) -> int | None:
        """The row of the change that leads to a state."""
        before, state, _ = change
        if state.deleted:
            return None
        if state.by_leader and state.leader in self._rows.brokers:
            return self._plan_leaders_change(change)
        elected = None
        if state.leader not in (before.leader, -1):
            elected = self._plan_election(change)
            if not self._rows.is_kraft:
                # ZooKeeper's controller elects among those that live, in one write.
                return elected
        removed = self._plan_removals(change)
        if elected is None and removed is None and state.leader_epoch != before.leader_epoch:
            assignment = state.assignment or Assignment()
            return self._add_decision(
                controller_rows.LeaderEpochRaised,
                state,
                None,
                replicas=self._packed(assignment.replicas or state.isr),
            )
        return removed if elected is None else elected

    def _add_decision(self, row: type[Row], state: State, cause: int | None, **values: int) -> int:
        """Plan the row of a controller's decision."""
        process = self._rows.deciding(state.controller, state.time_ms)
        values |= {"leader": self._rows.broker(state.leader)} | self._common(state)
        return self._planned.add(row, state.time_ms, process, cause, **values)

    def _plan_leaders_change(self, change: _Change) -> int | None:
        _, state, old_isr = change
        old, new = set(old_isr), set(state.isr or ())
        if old == new:
            return None
        return self._planned.add(
            replica_rows.IsrShrunk if len(new) < len(old) else replica_rows.IsrExpanded,
            state.time_ms,
            self._rows.brokers[state.leader],
            old_isr=self._packed(old_isr),
            **self._common(state),
        )

    def _plan_election(self, change: _Change) -> int:
        before, state, _ = change
        return self._add_decision(
            controller_rows.LeaderElected,
            state,
            self._rows.loss_of((before.leader, *change.lost), before.time_ms, state.time_ms),
            old_leader=self._rows.broker(before.leader),
            unclean=int(state.unclean),
        )

    def _plan_removals(self, change: _Change) -> int | None:
        before, state, _ = change
        lost = change.lost
        if not lost and before.leader >= 0 > state.leader and not self._rows.is_kraft:
            # The last member stays in the ISR; its leadership ends.
            lost = [before.leader]
        places = [
            self._add_decision(
                controller_rows.RemovedFromIsr,
                state,
                self._rows.loss_of((broker,), before.time_ms, state.time_ms),
                replica=self._rows.broker(broker),
            )
            for broker in lost
        ]
        return places[0] if places else None

    def _plan_roles(self) -> None:
        led: dict[int, bool] = {}
        for role in self._history.roles:
            if role.broker not in self._rows.brokers:
                continue
            if role.leads:
                row: type[Row] = replica_rows.BecameLeader
                own = {
                    "isr": self._packed(role.isr),
                    "is_new_leader": int(not led.get(role.broker, False)),
                }
            else:
                row = replica_rows.BecameFollower
                own = {"leader": self._rows.broker(role.leader)}
            self._planned.add(
                row,
                role.time_ms,
                self._rows.brokers[role.broker],
                partition=self._number,
                leader_epoch=role.leader_epoch,
                version=role.version,
                log_end_offset=role.log_end_offset,
                **own,
            )
            led[role.broker] = role.leads

    def _plan_assignments(self) -> None:
        """Rows of the replicas, where they or their roles in a reassignment have changed."""
        last = self._replicas(Assignment(self._first_replicas))
        for time_ms, known in known_assignments(self._history.assignments):
            replicas = self._replicas(known)
            if known.replicas is None or replicas == last:
                continue
            last = replicas
            last_known = known.last_known or ()
            self._planned.add(
                controller_rows.PartitionReplicas,
                time_ms,
                self._rows.plane_at(time_ms),
                partition=self._number,
                last_known_leader=self._rows.broker(last_known[0]) if last_known else _UNKNOWN,
                **replicas,
            )

    def _replicas(self, assignment: Assignment) -> dict[str, int]:
        """The columns of an assignment whose changes have rows."""
        return {
            "replicas": self._packed(assignment.replicas),
            "adding": self._packed(assignment.adding),
            "removing": self._packed(assignment.removing),
            "eligible_leaders": self._packed(assignment.eligible_leaders),
            "recovering": int(bool(assignment.recovering)),
        }
