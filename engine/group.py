"""A group of processes: its tables, and its run to a horizon.

A group hosts some of the scenario's processes, or all. The engine gives it a horizon, takes
the rows that it has written and its messages for other groups, and delivers the messages of
other groups.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from operator import is_
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tidegauge.actors.idle_fetches.pairs import settle_idle
from tidegauge.actors.state.brokers import Brokers
from tidegauge.compiled.records import column, grown, new_records
from tidegauge.compiled.rules import COMPILED
from tidegauge.compiled.signatures import as_base
from tidegauge.controller.kraft.state import Quorum
from tidegauge.controller.raft.state import Raft
from tidegauge.controller.state.control_plane import ControlPlane
from tidegauge.engine import event_loop, group_states
from tidegauge.engine.doors import World
from tidegauge.engine.exchange.lookahead import distances_us
from tidegauge.engine.exchange.promises import next_event_us, take
from tidegauge.engine.exchange.rings import send_news
from tidegauge.engine.exchange.state import ENDED, NO_ROOM, READY, REPORTS, GroupExchange
from tidegauge.engine.group_snapshots import GroupCopy, SavedGroup, copy_of_group, note_all_is_sent
from tidegauge.engine.group_splitting import split, wake_own_pairs, wake_pairs_across
from tidegauge.engine.group_states import GroupCounts, counts_of
from tidegauge.engine.group_tables import (
    item_reserve_of,
    new_world,
    reserve_of,
    restored_world,
    row_reserve_of,
)
from tidegauge.engine.layout import cluster_tables
from tidegauge.engine.layout.broker_tables import enlarge_brokers
from tidegauge.engine.layout.controller_tables import enlarge_control_plane
from tidegauge.engine.layout.quorum_tables import enlarge_quorum, enlarge_raft
from tidegauge.engine.planned_events import (
    drop_planned_faults,
    is_next_step_changed,
    plan_beginning,
    plan_fault,
    planned_changes,
    wait_for_next_step,
)
from tidegauge.engine.row_stream import LogDirectories
from tidegauge.metrics.snapshots.snapshot import Snapshot, take_snapshot
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation import kernel
from tidegauge.simulation.metadata_log import compact_changes, needed_from
from tidegauge.simulation.trace_rows.row import RowSlot

if TYPE_CHECKING:
    from tidegauge.engine.invariants.validator import Validator

#: Whether the state is validated (``invariants/``): "1" after every event, "windows" when the
#: kernel returns after thousands of events and at the end, if it is compiled; else never.
_CHECKED = os.environ.get("TIDEGAUGE_CHECKED", "0")

#: Events between two readings of the clock: some 20 ms.
_BUDGET = 1 if _CHECKED == "1" else 20_000 if COMPILED else 200

#: Rows of the trace that are handed on together. Room for more takes no memory until an event
#: needs it.
_ROWS = 1 << 12

#: Later than any controller epoch.
_LAST_EPOCH = 2**62

#: A function that takes rows of the trace: an array of ``RowSlot``.
RowSink = Callable[[NDArray[np.void]], None]
#: A function that is called at times with the virtual time reached.
Reached = Callable[[int], None]


class Group:
    """The processes in ``hosted``, of the cluster that ``plan`` describes."""

    def __init__(
        self,
        plan: ClusterPlan,
        hosted: Collection[int],
        folder: Path | None = None,
        saved: SavedGroup | None = None,
    ) -> None:
        """Lay out the tables.

        Args:
            plan: the scenario in numbers.
            hosted: the processes of the group.
            folder: the folder for checkpoints that are to be real files.
            saved: the state to continue from (``group_snapshots.py``); None: the beginning.

        Raises:
            DamagedTablesError: the state is not that of such a group.
            MergeError: the state is that of another plan, which cannot become this one.
        """
        self.plan = plan
        self.log_directories = LogDirectories(plan, folder)
        self.hosted = sorted(hosted)
        self.reserve = reserve_of(plan)
        self.item_reserve = item_reserve_of(plan)
        self.exchange = GroupExchange(plan, [self.hosted], 0)
        self.world = new_world(plan, set(hosted), self.reserve, self.item_reserve)
        self._saved = saved
        #: Its tables have something left of processes that are in other groups by now.
        self._is_part = False
        if saved is not None:
            begun = dict(vars(self.world))
            self.world = restored_world(plan, self.world, self.hosted, saved)
            self._is_part = saved.state["is_part"]
            if self.hosted != saved.state["hosted"]:
                split(self.world, begun, self.hosted, saved.time_us)
                self._is_part = True
            self.log_directories.restore(self._brokers, saved.state["files"])
        self._validator = None if self._is_part else _new_validator(plan)
        self._size_rows()
        #: The tables, and the exchange with other groups, that the view is made for.
        self._seen: tuple[object, ...] = ()
        self.view = self._make_view()
        if saved is None:
            plan_beginning(plan, self.kernel_view, self.hosted)
            self._plan_faults()
        elif saved.past is not None:
            self._change_plan(saved.past, saved.time_us)
        # Nothing is due yet: this loads the compiled loop, which takes a third of a second.
        if saved is None:
            event_loop.run_windows(self.view, self.exchange.view, 1)

    @property
    def _brokers(self) -> list[int]:
        """The indexes of the brokers hosted here."""
        return [each for each in self.hosted if self.plan.processes[each].role == kernel.BROKER]

    @property
    def events(self) -> int:
        """The number of events handled here."""
        return int(self.world.context[0].handled)

    @property
    def computed(self) -> int:
        """The number of those that were computed: events of idle fetches."""
        return int(self.world.context[0].computed)

    @property
    def in_kernel(self) -> bool:
        """Whether events are being handled, as seen from another thread."""
        return bool(self.exchange.state.in_kernel)

    @property
    def kernel_cpu_seconds(self) -> float:
        """CPU time of the kernel so far."""
        return self.exchange.kernel_cpu_seconds

    @property
    def windows(self) -> int:
        """The number of times that it began to run, up to some horizon."""
        return int(self.exchange.state.windows)

    @property
    def horizon_us(self) -> int:
        """Every event has been handled that is due before this time, unless a window is open."""
        return int(self.world.context[0].horizon_us)

    def run_to(self, horizon_us: int, sink: RowSink, reached: Reached | None = None) -> None:
        """Handle every event earlier than ``horizon_us``; only without other groups."""
        self.world.context[0].horizon_us = horizon_us
        self.exchange.state.windows += 1
        self.run(sink, reached)
        self.settle(horizon_us)
        if self._validator is not None:
            self._validator.check()
        self.drain(sink)

    def run(self, sink: RowSink, reached: Reached | None = None) -> int:
        """Handle every event earlier than the horizon.

        With links it continues, as the horizon moves, until the driver is needed. Rows are passed
        on only when room for more is needed.

        Returns:
            HORIZON; with links the reason why the driver is needed (``exchange/state.py``).
        """
        while True:
            why = int(event_loop.run_windows(self.view, self.exchange.view, _BUDGET))
            if self._validator is not None and self._validator.is_due(_BUDGET):
                self._validator.check()
            if self._make_way(why, sink):
                pass
            elif why != event_loop.BUDGET:
                if why == ENDED:
                    # Idle fetches up to the end count, too.
                    self.settle(int(self.exchange.state.end_us))
                return why
            elif self.exchange.state.report_wanted:
                return int(REPORTS)
            if reached is not None:
                reached(int(self.world.context[0].time_us))

    def _make_way(self, why: int, sink: RowSink) -> bool:
        """Make what the loop has returned for: room, or files; False: it returned for neither."""
        if why == event_loop.ROOM:
            # Mostly rows alone need room, which draining makes.
            self.drain(sink)
            self._make_room_if_needed(sink)
        elif why == event_loop.FILES:
            self.log_directories.exchange(self.world)
            self.world.context[0].files_due = False
            self.view = self._make_view()
        elif why == NO_ROOM:
            self._make_room_to_take()
        else:
            return False
        return True

    def next_event(self, end_us: int, sink: RowSink) -> int:
        """The place in ``World.events`` of the next event; below 0: none before ``end_us``.

        Of several groups (:meth:`begin`) there may be one later, once the others have gone on.
        """
        self._make_room_if_needed(sink)
        if not self.exchange.state.linked:
            self.world.context[0].horizon_us = end_us
        elif not self._look_at_others(sink):
            return int(kernel.NONE)
        return int(event_loop.next_due(self.view, self.exchange.view))

    def _look_at_others(self, sink: RowSink) -> bool:
        """Take the messages of other groups; whether something is due before the horizon."""
        self.exchange.state.runs = False
        why = event_loop.run_windows(self.view, self.exchange.view, 0)
        while self._make_way(int(why), sink):
            why = event_loop.run_windows(self.view, self.exchange.view, 0)
        return bool(why == event_loop.BUDGET)

    def handle_next(self, sink: RowSink) -> None:
        """Handle the event that :meth:`next_event` has found, and hand on its rows."""
        while self._make_way(int(event_loop.run_windows(self.view, self.exchange.view, 1)), sink):
            pass
        self.drain(sink)

    def settle(self, time_us: int) -> None:
        """Bring idle fetches to a time before which all events are handled."""
        settle_idle(as_base(self.view, Brokers), time_us)

    def heal(self, time_us: int, restart_us: int, sink: RowSink) -> None:
        """Begin the liveness phase in all processes that this group hosts."""
        hits = column(self.world.fault_roles, "side") != 0
        for process in self.hosted:
            for fault in np.flatnonzero(hits[process :: len(self.plan.processes)]).tolist():
                if self.world.fault_roles[fault * len(self.plan.processes) + process].active:
                    self._make_room_if_needed(sink)
                    event_loop.end_fault(self.view, process, fault, time_us)
            self._make_room_if_needed(sink)
            event_loop.heal_process(self.view, process, time_us, restart_us)
        self.drain(sink)

    def close(self, end_us: int, sink: RowSink, reason: int) -> None:
        """Write the rows that belong to the end of the run, or of its liveness phase."""
        self.settle(end_us)
        if self._validator is not None:
            self._validator.check()
        for process in self.hosted:
            self._make_room_if_needed(sink)
            event_loop.close_process(self.view, process, end_us, reason)
        self.drain(sink)

    def drain(self, sink: RowSink) -> None:
        """Hand on the rows written since the last time."""
        context = self.world.context[0]
        assert context.row_count <= len(self.world.rows), "an event wrote more rows than fit"
        if context.row_count > 0:
            sink(np.asarray(self.world.rows)[: int(context.row_count)])
            context.row_count = 0

    def counts(self) -> GroupCounts:
        """The current counts that only the processes hosted here have."""
        self.settle(int(self.world.context[0].time_us))
        return counts_of(self.hosted, self.world)

    def look_at_states(self, states: group_states.StateRecords) -> None:
        """Enter the replicas of the brokers hosted here; of the control plane, if it is, the rest.

        There is an entry for each slot of the topology, each partition and each controller.
        """
        group_states.look_at_replicas(self.world.view_as(Brokers), states.replicas)
        if self.plan.is_kraft:
            quorum = self.world.view_as(Quorum)
            group_states.look_at_committed(quorum, states.partitions)
            group_states.look_at_controllers(self.world.view_as(Raft), states.controllers)
        else:
            group_states.look_at_partitions(self.world.view_as(ControlPlane), states.partitions)

    def snapshot(self, time_us: int) -> Snapshot:
        """The metrics of the processes hosted here, at this virtual time."""
        self.settle(time_us)
        return take_snapshot(self.plan, time_us, self.world)

    # Other groups.

    def join(self, grouping: Sequence[Sequence[int]], number: int) -> None:
        """Become one of several groups, each with the processes in ``grouping``."""
        self.exchange = GroupExchange(self.plan, grouping, number)
        note_all_is_sent(self.exchange, self.world)
        self.world.context[0].group = number
        column(self.world.processes, "answer_us")[:] = distances_us(self.plan, self.hosted)
        self.view = self._make_view()

    def begin(self, end_us: int) -> None:
        """Run up to this time from now on; messages from outside of a run are sent."""
        self.exchange.state.end_us = end_us
        self.exchange.state.runs = False
        context, pools = self.world.context[0], self.world.pools[0]
        context.idles_across = (
            context.computes_idle
            and self.exchange.state.linked
            and self.exchange.state.distant == 0
            and pools.fetchers_of_source == 1
        )
        if self._saved is not None and context.idle_pairs > 0 and not context.idles_across:
            wake_pairs_across(self.world, self._saved.time_us)
            self.view = self._make_view()
        self._saved = None
        send_news(self.kernel_view, self.exchange.view)

    def take_all(self) -> int:
        """Take all messages that have come in; READY, STRANGE or BROKEN (``exchange/state.py``)."""
        while self.exchange.state.linked:
            said = int(take(self.kernel_view, self.exchange.view))
            if said != NO_ROOM:
                return said
            self._make_room_to_take()
        return int(READY)

    def copy(self) -> GroupCopy:
        """A copy of its state, from which it can be restored; its rows are drained."""
        files = self.log_directories.saved(self._brokers)
        return copy_of_group(self.hosted, self.world, files, is_part=self._is_part)

    @property
    def next_us(self) -> int:
        """The time of its next event; idle fetches are known up to a time."""
        return int(next_event_us(self.kernel_view))

    @property
    def reached_us(self) -> int:
        """The time before which nothing more happens in it."""
        return min(self.next_us, self.horizon_us)

    def _make_room_to_take(self) -> None:
        """Enlarge all tables in which there was no room for what has come in."""
        cluster_tables.enlarge_kernel(self.world, 2 * self.reserve, 2 * self.item_reserve)
        cluster_tables.enlarge_metadata(self.world, 2 * self.reserve)
        cluster_tables.enlarge_commits(self.world, 2 * self.reserve)
        if len(self.world.row_marks) - self.world.context[0].row_marks <= kernel.MARKS_OF_EVENT:
            marks = self.world.row_marks
            self.world.row_marks = grown(marks, 2 * len(marks))
        self.view = self._make_view()

    # Its tables.

    def _make_view(self) -> World:
        """The tables as rules take them; the same ones as before unless a table was exchanged."""
        seen = (self.exchange, *vars(self.world).values())
        if len(seen) == len(self._seen) and all(map(is_, seen, self._seen)):
            return self.view
        self._seen = seen
        if self._validator is not None:
            self._validator.look_at(self.world)
        view = self.world.view
        self.kernel_view = as_base(view, kernel.Kernel)
        return view

    def _make_room_if_needed(self, sink: RowSink) -> None:
        if event_loop.needs_room(self.view):
            self.make_room(sink)

    def make_room(self, sink: RowSink) -> None:
        """Drain the rows, and enlarge every table in which little is left."""
        self.drain(sink)
        self._check_reserves()
        self._size_rows()
        cluster_tables.enlarge_kernel(self.world, self.reserve, self.item_reserve)
        enlarge_brokers(self.world, self.reserve)
        self._make_room_for_metadata()
        cluster_tables.enlarge_commits(self.world, self.reserve)
        cluster_tables.enlarge_impairments(self.world)
        enlarge_control_plane(self.plan, self.world)
        enlarge_quorum(self.plan, self.world)
        enlarge_raft(self.world)
        cluster_tables.enlarge_clients(self.world)
        self.world.context[0].needs_room = False
        self.view = self._make_view()

    def _make_room_for_metadata(self) -> None:
        """Drop entries that no broker here needs any more, and enlarge the log if necessary."""
        world = self.world
        if len(world.metadata_changes) - world.context[0].metadata_changes >= self.reserve:
            return
        known = [
            world.known_metadata[process]
            for process in self.hosted
            if self.plan.processes[process].role == kernel.BROKER and world.processes[process].alive
        ]
        context = world.context[0]
        if not self.exchange.is_alone:
            send_news(self.kernel_view, self.exchange.view)
        # Entries that other groups still have to get are there.
        is_told = self.exchange.is_alone or (
            context.first_unsent_change == context.metadata_changes
        )
        if is_told and all(position.controller_epoch >= 0 for position in known):
            places = [needed_from(position) for position in known]
            compact_changes(self.kernel_view, *min(places, default=(_LAST_EPOCH, 0)))
            column(self.exchange.tables.groups, "next_change")[:] = context.metadata_changes
        cluster_tables.enlarge_metadata(world, self.reserve)

    def _check_reserves(self) -> None:
        """End the run if an event has overrun a table."""
        context = self.world.context[0]
        slots = (context.event_slots, context.item_slots, self.world.pools[0].watch_slots)
        free = [int(each.free) for each in slots]
        assert min(free) >= 0, f"an event needed more than was reserved for it: {free} are free"

    def _size_rows(self) -> None:
        """Make room for all rows that one event can write; no row waits to be drained."""
        row_reserve = row_reserve_of(self.plan, int(self.world.pools[0].epoch_room))
        self.world.context[0].row_reserve = row_reserve
        if len(self.world.rows) < _ROWS + row_reserve:
            self.world.rows = new_records(RowSlot, _ROWS + row_reserve)

    def _change_plan(self, past: ClusterPlan, time_us: int) -> None:
        """Plan the faults and the next step anew, where they are other ones than in the past."""
        drop_planned_faults(self.kernel_view)
        self._plan_faults(time_us)
        if self.world.context[0].idle_pairs > 0 and not self.world.context[0].computes_idle:
            wake_own_pairs(self.world, time_us)
            self.view = self._make_view()
        operator = self.plan.process_ranges[kernel.CLIENT][-1]
        if operator in self.hosted and is_next_step_changed(past, self.plan, self.world):
            wait_for_next_step(self.view, operator, time_us)

    def _plan_faults(self, from_us: int = 0) -> None:
        """Faults that have a time begin and end in each hosted process that they hit."""
        changes = planned_changes(self.plan, self.world.fault_roles, self.hosted, from_us)
        # All of them wait from then on, beside the slots that a single event needs.
        cluster_tables.enlarge_kernel(self.world, self.reserve + len(changes), self.item_reserve)
        self.view = self._make_view()
        for change in changes:
            plan_fault(self.kernel_view, *change)


def _new_validator(plan: ClusterPlan) -> Validator | None:
    """The validator of the group's state, if that is to be validated."""
    # In plain Python a look takes as long as many events.
    if _CHECKED != "1" and not (_CHECKED == "windows" and COMPILED):
        return None
    # Its rules are compiled only then.
    from tidegauge.engine.invariants.validator import Validator  # noqa: PLC0415

    return Validator(plan)
