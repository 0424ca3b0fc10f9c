"""Rows of the trace from a history: the classes of rows that a simulated run has, too.

A log's time has milliseconds. Rows of one millisecond are put into the order in which they cause
each other, and get microseconds by that order. A row's cause is the row that it follows from,
where lines leave no doubt: a state follows from the change that wrote it, an election from the
loss of the leader. What logs cannot tell has the value that means "unknown" in its column, which
is -1.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.records import dtype_of
from tidegauge.real_cluster.logs.broker_states import ABSENT, ACTIVE, BrokerChange
from tidegauge.real_cluster.logs.logged_cluster import LoggedCluster
from tidegauge.real_cluster.logs.partition_rows import Assignment, Told
from tidegauge.real_cluster.logs.partition_states import State, joined
from tidegauge.real_cluster.logs.real_history import PartitionTold, RealHistory
from tidegauge.replication.replica_list import pack
from tidegauge.simulation.codes.occasions import (
    FORMER_WRITER,
    STATE_CREATED,
    STATE_DELETED,
    STATE_WRITTEN,
    STOP_CLEAN,
    STOP_KILLED,
)
from tidegauge.simulation.trace_rows.broker_rows import BrokerStarted, BrokerStopped
from tidegauge.simulation.trace_rows.control_plane_rows import (
    BrokerState,
    ControllerActive,
    PartitionReplicas,
    PartitionState,
)
from tidegauge.simulation.trace_rows.controller_rows import (
    BrokerFailed,
    BrokerRegistered,
    ControllerElected,
    LeaderElected,
    LeaderEpochRaised,
    RemovedFromIsr,
)
from tidegauge.simulation.trace_rows.isr_rows import IsrExpanded, IsrShrunk
from tidegauge.simulation.trace_rows.replica_rows import BecameFollower, BecameLeader, Truncated
from tidegauge.simulation.trace_rows.row import ROW_VALUES, Row, RowSlot
from tidegauge.simulation.trace_rows.schema import ROW_KINDS

_UNKNOWN = -1
#: A lost leader causes an election at most so much later.
_CAUSES_WITHIN_MS = 60_000

# The order of rows within a millisecond.
_PROCESS, _BROKERS, _CONTROLLERS, _PARTITIONS, _ROLES = range(5)


class _Planned:
    """Rows before they have their microseconds and numbers: integers, as there may be millions."""

    #: time_ms, rank, process, kind, the place of the row it follows from; then its columns.
    _HEAD = 5
    _WIDTH = _HEAD + ROW_VALUES

    def __init__(self) -> None:
        self._cells = array("q")

    def __len__(self) -> int:
        return len(self._cells) // self._WIDTH

    def add(
        self, time_ms: int, rank: int, process: int, kind: int, cause: int | None, told: list[int]
    ) -> int:
        """Add a row, and return its place."""
        place = len(self)
        padding = [0] * (ROW_VALUES - len(told))
        self._cells.extend((time_ms, rank, process, kind, _UNKNOWN if cause is None else cause))
        self._cells.extend(told + padding)
        return place

    def moment_of(self, place: int) -> tuple[int, int]:
        """The time and the rank of a row."""
        begin = place * self._WIDTH
        return self._cells[begin], self._cells[begin + 1]

    def laid_out(self, first_ms: int) -> NDArray[np.void]:
        """The rows in their order, with microseconds, numbers and causes."""
        cells = np.frombuffer(self._cells, np.int64).reshape(-1, self._WIDTH)
        order = np.lexsort((cells[:, 1], cells[:, 0]))
        cells = cells[order]
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        rows = np.zeros(len(order), dtype_of(RowSlot))
        at_us = (cells[:, 0] - first_ms) * 1_000
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


#: Makes a replica list of brokers.
_Packs = Callable[[tuple[int, ...] | None], int]


class _Change(NamedTuple):
    """A change of a partition's state."""

    partition: int
    before: State
    state: State
    packed: _Packs

    @property
    def lost(self) -> list[int]:
        """The brokers that have left the ISR."""
        return [broker for broker in self.before.isr or () if broker not in (self.state.isr or ())]

    @property
    def columns(self) -> dict[str, int]:
        """The columns that all rows about a change have."""
        return {
            "partition": self.partition,
            "isr": self.packed(self.state.isr),
            "leader_epoch": self.state.leader_epoch,
            "version": self.state.version,
        }


def rows_of(history: RealHistory, cluster: LoggedCluster) -> NDArray[np.void]:
    """All rows of a history, in their total order but for the process."""
    return _Rows(history, cluster).laid_out()


class _Rows:
    """The rows of a history, as they are planned."""

    def __init__(self, history: RealHistory, cluster: LoggedCluster) -> None:
        self._history = history
        plan = cluster.plan
        self._index = {broker: index for index, broker in enumerate(plan.brokers)}
        roles: dict[str, list[int]] = defaultdict(list)
        for number, process in enumerate(plan.processes):
            roles[process.name.split()[0]].append(number)
        self._brokers = dict(zip(plan.brokers, roles["broker"], strict=True))
        if history.is_kraft:
            self._controllers = dict(zip(cluster.controllers, roles["controller"], strict=True))
            self._members = {
                **{node: len(plan.brokers) + at for at, node in enumerate(cluster.controllers)}
            }
            self._plane = next(iter(self._controllers.values()))
        else:
            self._controllers = dict(zip(plan.brokers, roles["controller"], strict=True))
            self._members = dict(self._index)
            self._plane = roles["zookeeper"][0]
        self._planned = _Planned()
        #: When each controller became the active one.
        self._active = [(each.time_ms, each.node, each.epoch) for each in history.controllers]
        self._lost: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._plan_lives()
        self._plan_brokers()
        self._plan_controllers()
        for number, each in enumerate(cluster.partitions):
            if each is not None:
                planned = plan.partitions[number]
                slots = [plan.brokers[index] for index in planned.slots]
                self._plan_partition(number, each, slots, len(planned.replicas))

    def laid_out(self) -> NDArray[np.void]:
        """The rows with microseconds, numbers and causes."""
        return self._planned.laid_out(self._history.first_ms)

    def _add(
        self,
        time_ms: int,
        rank: int,
        process: int,
        row: type[Row],
        cause: int | None = None,
        common: Mapping[str, int] | None = None,
        **values: int,
    ) -> int:
        """Plan a row; columns that are not given are unknown."""
        columns = ROW_KINDS[row.KIND].columns
        values |= common or {}
        assert values.keys() <= set(columns), (row, values)
        time_ms = max(time_ms, self._history.first_ms)
        if cause is not None:
            # What a row follows from is not later.
            cause_ms, cause_rank = self._planned.moment_of(cause)
            rank = max(rank, cause_rank) if time_ms <= cause_ms else rank
            time_ms = max(time_ms, cause_ms)
        told = [values.get(name, _UNKNOWN) for name in columns]
        return self._planned.add(time_ms, rank, process, row.KIND, cause, told)

    def _plan_lives(self) -> None:
        for life in self._history.lives:
            if life.node not in self._brokers or life.node in self._controllers_alone():
                continue
            process, broker = self._brokers[life.node], self._index[life.node]
            if life.started_ms is not None:
                self._add(life.started_ms, _PROCESS, process, BrokerStarted, broker=broker)
            if life.end_ms is not None:
                stop = STOP_CLEAN if life.stopped_cleanly else STOP_KILLED
                self._add(
                    *(life.end_ms, _PROCESS, process, BrokerStopped), broker=broker, stop=int(stop)
                )

    def _controllers_alone(self) -> set[int]:
        return set(self._members) - set(self._index) if self._history.is_kraft else set()

    def _plan_brokers(self) -> None:
        epochs: dict[int, int] = {}
        for change in self._history.brokers:
            cause = self._seen(change)
            at = self._add(
                *(change.time_ms, _BROKERS, self._plane_at(change.time_ms), BrokerState, cause),
                broker=self._index[change.broker],
                state=change.state,
                broker_epoch=change.broker_epoch,
                state_reason=change.reason,
            )
            epochs[change.broker] = change.broker_epoch
            if change.state != ACTIVE:
                self._lost[change.broker].append((change.time_ms, at))

    def _seen(self, change: BrokerChange) -> int | None:
        """The row of a controller that sees a broker come or go; ZooKeeper's only."""
        if self._history.is_kraft:
            return None
        row = {ABSENT: BrokerFailed, ACTIVE: BrokerRegistered}.get(change.state)
        node = self._controller_at(change.time_ms)
        if row is None or node not in self._controllers:
            return None
        process = self._controllers[node]
        return self._add(
            *(change.time_ms, _BROKERS, process, row), broker=self._index[change.broker]
        )

    def _plan_controllers(self) -> None:
        for time_ms, node, epoch in self._active:
            if node not in self._members:
                continue
            member = self._members[node]
            cause = None
            if not self._history.is_kraft:
                cause = self._add(
                    *(time_ms, _CONTROLLERS, self._controllers[node], ControllerElected),
                    broker=member,
                    controller_epoch=epoch,
                )
            self._add(
                *(time_ms, _CONTROLLERS, self._plane_at(time_ms), ControllerActive, cause),
                broker=member,
                controller_epoch=epoch,
            )

    def _controller_at(self, time_ms: int) -> int | None:
        node = None
        for at_ms, active, _ in self._active:
            if at_ms > time_ms and node is not None:
                break
            node = active
        return node

    def _plane_at(self, time_ms: int) -> int:
        """The process that holds the cluster's state at a time."""
        if not self._history.is_kraft:
            return self._plane
        return self._controllers.get(self._controller_at(time_ms) or -1, self._plane)

    def _plan_partition(
        self, number: int, told: PartitionTold, slots: list[int], first_replicas: int
    ) -> None:
        slot_of = {broker: slot for slot, broker in enumerate(slots)}

        def packed(brokers: tuple[int, ...] | None) -> int:
            known = dict.fromkeys(slot_of[each] for each in brokers or () if each in slot_of)
            return int(pack(tuple(known)))

        before: State | None = None
        for state in told.states:
            cause = self._plan_change(number, before, state, packed)
            self._plan_state(number, before, state, packed, cause)
            before = None if state.deleted else state
        self._plan_roles(number, told, packed)
        self._plan_assignments(number, told, slots[:first_replicas], packed)
        for cut in told.truncations:
            if cut.broker in self._brokers:
                self._add(
                    *(cut.time_ms, _PARTITIONS, self._brokers[cut.broker], Truncated),
                    partition=number,
                    end_offset=cut.offset,
                )

    def _plan_roles(self, number: int, told: PartitionTold, packed: _Packs) -> None:
        leads: dict[int, bool] = {}
        for role in told.roles:
            if role.broker not in self._brokers:
                continue
            common = {
                "partition": number,
                "leader_epoch": role.leader_epoch,
                "version": role.version,
                "log_end_offset": role.log_end_offset,
            }
            process = self._brokers[role.broker]
            if role.leads:
                self._add(
                    *(role.time_ms, _ROLES, process, BecameLeader),
                    isr=packed(role.isr),
                    is_new_leader=int(not leads.get(role.broker, False)),
                    common=common,
                )
            else:
                leader = role.leader
                if leader is None:
                    leader = _leader_in(told.states, role.leader_epoch)
                self._add(
                    *(role.time_ms, _ROLES, process, BecameFollower),
                    leader=self._broker(leader),
                    common=common,
                )
            leads[role.broker] = role.leads

    def _plan_state(
        self, number: int, before: State | None, state: State, packed: _Packs, cause: int | None
    ) -> None:
        change, writer = STATE_WRITTEN, self._writer(state)
        if state.deleted:
            change = STATE_DELETED
        elif before is None:
            change = STATE_CREATED
            if not state.created:
                writer = int(FORMER_WRITER)
        self._add(
            *(state.time_ms, _PARTITIONS, self._plane_at(state.time_ms), PartitionState, cause),
            partition=number,
            change=int(change),
            leader=self._broker(state.leader),
            leader_epoch=max(state.leader_epoch, _UNKNOWN),
            partition_epoch=state.version,
            isr=packed(state.isr),
            controller_epoch=max(state.controller_epoch, _UNKNOWN),
            writer=writer,
        )

    def _writer(self, state: State) -> int:
        """Who wrote a state: the leader with ZooKeeper alone, else the controller."""
        leader_writes = not self._history.is_kraft and not state.is_told_by(Told.ALTERED)
        if state.by_leader and leader_writes:
            return self._broker(state.leader)
        node = state.controller
        if node is None or node not in self._members:
            node = self._controller_at(state.time_ms)
        return self._members.get(-1 if node is None else node, _UNKNOWN)

    def _broker(self, broker: int) -> int:
        return self._index.get(broker, _UNKNOWN)

    def _plan_change(
        self, number: int, before: State | None, state: State, packed: _Packs
    ) -> int | None:
        """The row of the change that leads to a state; none for the first state."""
        if before is None or state.deleted:
            return None
        change = _Change(number, before, state, packed)
        if state.by_leader and state.leader in self._brokers:
            return self._plan_leaders_change(change)
        elected = None
        if state.leader not in (before.leader, -1):
            elected = self._plan_election(change)
            if not self._history.is_kraft:
                # ZooKeeper's controller elects among those that live, in one write.
                return elected
        removed = self._plan_removals(change)
        if elected is None and removed is None and state.leader_epoch != before.leader_epoch:
            assignment = state.assignment or Assignment()
            return self._add(
                *(state.time_ms, _PARTITIONS, self._deciding(state), LeaderEpochRaised),
                replicas=packed(assignment.replicas or state.isr),
                leader=self._broker(state.leader),
                common=change.columns,
            )
        return removed if elected is None else elected

    def _plan_leaders_change(self, change: _Change) -> int | None:
        old, new = set(change.before.isr or ()), set(change.state.isr or ())
        if old == new:
            return None
        process = self._brokers[change.state.leader]
        row = IsrShrunk if len(new) < len(old) else IsrExpanded
        return self._add(
            *(change.state.time_ms, _PARTITIONS, process, row),
            old_isr=change.packed(change.before.isr),
            common=change.columns,
        )

    def _plan_election(self, change: _Change) -> int:
        before, state = change.before, change.state
        unclean = state.unclean
        if not self._history.is_kraft:
            unclean = before.isr_told and state.leader not in (before.isr or ())
        return self._add(
            *(state.time_ms, _PARTITIONS, self._deciding(state), LeaderElected),
            cause=self._loss_of((before.leader, *change.lost), before.time_ms, state.time_ms),
            leader=self._broker(state.leader),
            old_leader=self._broker(before.leader),
            unclean=int(unclean),
            common=change.columns,
        )

    def _plan_removals(self, change: _Change) -> int | None:
        before, state = change.before, change.state
        lost = change.lost
        if not lost and before.leader >= 0 > state.leader and not self._history.is_kraft:
            # The last member stays in the ISR; its leadership ends.
            lost = [before.leader]
        rows = [
            self._add(
                *(state.time_ms, _PARTITIONS, self._deciding(state), RemovedFromIsr),
                cause=self._loss_of((broker,), before.time_ms, state.time_ms),
                replica=self._broker(broker),
                leader=self._broker(state.leader),
                common=change.columns,
            )
            for broker in lost
        ]
        return rows[0] if rows else None

    def _deciding(self, state: State) -> int:
        node = state.controller
        if node is None or node not in self._controllers:
            node = self._controller_at(state.time_ms)
        return self._controllers.get(-1 if node is None else node, self._plane)

    def _loss_of(self, brokers: tuple[int, ...], after_ms: int, before_ms: int) -> int | None:
        """The row that tells that one of these brokers was lost, just before a change."""
        found = [
            (time_ms, at)
            for broker in brokers
            for time_ms, at in self._lost.get(broker, ())
            if after_ms <= time_ms <= before_ms and before_ms - time_ms <= _CAUSES_WITHIN_MS
        ]
        return max(found)[1] if found else None

    def _plan_assignments(
        self, number: int, told: PartitionTold, first_replicas: list[int], packed: _Packs
    ) -> None:
        """Rows of the replicas, where they or what belongs to them has changed."""
        if not told.assignments:
            return
        known = Assignment()
        last: tuple[int, ...] = (packed(tuple(first_replicas)), 0, 0, 0, 0)
        for each in told.assignments:
            says = each.assignment
            if says.replicas is None and says.removing == () and known.removing and known.replicas:
                # The leader alone tells that a reassignment is done.
                left = [broker for broker in known.replicas if broker not in known.removing]
                says = says._replace(replicas=tuple(left))
            known = joined(says, known) or says
            if known.replicas is None:
                continue
            values = (
                *(packed(known.replicas), packed(known.adding), packed(known.removing)),
                *(packed(known.eligible_leaders), int(bool(known.recovering))),
            )
            if values == last:
                continue
            last = values
            replicas, adding, removing, eligible, recovering = values
            last_known = known.last_known or ()
            self._add(
                *(each.time_ms, _PARTITIONS, self._plane_at(each.time_ms), PartitionReplicas),
                partition=number,
                replicas=replicas,
                adding=adding,
                removing=removing,
                eligible_leaders=eligible,
                last_known_leader=self._broker(last_known[0]) if last_known else _UNKNOWN,
                recovering=recovering,
            )


def _leader_in(states: list[State], leader_epoch: int) -> int:
    """The leader of an epoch; -1 if no line names it."""
    return next((each.leader for each in states if each.leader_epoch == leader_epoch), _UNKNOWN)
