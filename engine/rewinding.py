"""A run that is repeated up to a moment of its past, and from there event by event.

It begins at the last snapshot before that moment, or at the beginning of the run. Nothing of its
folder changes, and its rows are given to the caller. From the beginning all processes are one
group. From a snapshot they are in its groups, which run in turn: the next event is that of the
group in which it comes first.

Moments lie between two events. A moment is a virtual time, before which all events are handled, and
a number of events behind it, or before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, NamedTuple, cast
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.doors import World
from tidegauge.engine.exchange.state import ENDED
from tidegauge.engine.group import Group
from tidegauge.engine.group_snapshots import SavedGroup
from tidegauge.engine.inline_engine import link_in_turn
from tidegauge.engine.resuming import plan_of_run
from tidegauge.engine.run_snapshots.snapshot_file import read_snapshot
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.event import EventSlot, ItemSlot
from tidegauge.simulation.messages.idle_fetches import OTHER_END
from tidegauge.simulation.quantities import format_duration
from tidegauge.traces.run_files import snapshot_times_us
from tidegauge.traces.run_folder import RunFolder

#: The first time before a moment at which it looks for events that came before it, and how much
#: further back each next one is.
_BACK_US = 1000
_FURTHER = 8


class RewindError(TidegaugeError):
    """A moment that a run cannot be brought to; the message is one line."""


class Position(NamedTuple):
    """A moment of a run."""

    #: All events earlier than this virtual time are handled,
    time_us: int
    #: ... and so many later ones; below 0: but not so many of the last ones.
    events: int = 0


class KeptEvent(NamedTuple):
    """An event, copied before it is handled."""

    event: EventSlot
    #: The entries of its chain.
    items: Sequence[ItemSlot]


class HandledEvent(NamedTuple):
    """An event that was handled, and the rows that it wrote: an array of ``RowSlot``."""

    kept: KeptEvent
    rows: NDArray[np.void]


class RepeatedRun:
    """All processes of a run, at a time of it."""

    def __init__(
        self, plan: ClusterPlan, folder: Path | None, saved: Sequence[SavedGroup] = ()
    ) -> None:
        """Lay out the tables.

        Args:
            plan: the run's.
            folder: where checkpoints go that are to be real files; None: there are none.
            saved: the state of each group; none: the beginning.

        Raises:
            DamagedTablesError: the state is not that of groups of this plan.
        """
        self.groups = [Group(plan, each.state["hosted"], folder, each) for each in saved]
        if not saved:
            self.groups = [Group(plan, range(len(plan.processes)), folder)]
        link_in_turn(self.groups)

    @property
    def worlds(self) -> Sequence[World]:
        """The tables of each group."""
        return [group.world for group in self.groups]

    def world_of(self, process: int) -> World:
        """The tables of the group that hosts a process."""
        return next(group.world for group in self.groups if process in group.hosted)

    def run_to(self, time_us: int) -> None:
        """Handle every event earlier than a time."""
        if len(self.groups) == 1:
            self.groups[0].run_to(time_us, _drop)
            return
        for group in self.groups:
            group.begin(time_us)
        running = list(self.groups)
        while running:
            running = [group for group in running if group.run(_drop) != ENDED]
        for group in self.groups:
            group.take_all()
            group.drain(_drop)

    def step(self, end_us: int) -> HandledEvent | None:
        """Handle the next event; None: there is none before ``end_us``."""
        if len(self.groups) == 1:
            return self._step_of(self.groups[0], end_us)
        for group in self.groups:
            group.begin(end_us)
        while True:
            group = min(self.groups, key=_order_of_next)
            if group.next_us >= end_us:
                return None
            handled = self._step_of(group, end_us)
            for other in self.groups:
                other.take_all()
            if handled is not None:
                return handled
            for other in self.groups:
                # It promises the others no event before its next one, so that they may go on.
                other.next_event(end_us, _drop)

    def _step_of(self, group: Group, end_us: int) -> HandledEvent | None:
        """The next event of a group; None: there is none, or it is only news of another group."""
        place = group.next_event(end_us, _drop)
        if place < 0:
            return None
        kept = kept_event(group.world, place)
        rows: list[NDArray[np.void]] = []
        group.handle_next(lambda some: rows.append(some.copy()))
        if kept.event.source == OTHER_END:
            return None
        none = np.asarray(group.world.rows)[:0]
        return HandledEvent(kept, np.concatenate([none, *rows]))

    def settle(self, time_us: int) -> None:
        """Bring idle fetches, which are computed, to a time before which all is handled."""
        for group in self.groups:
            group.settle(time_us)

    def saved(self, time_us: int, past: ClusterPlan | None = None) -> Sequence[SavedGroup]:
        """The state after :meth:`run_to`, of the same run or of the past of a branch."""
        return [SavedGroup(time_us, group.copy().packed(), past) for group in self.groups]


def _drop(_rows: NDArray[np.void]) -> None:
    """Rows of what is known already go nowhere."""


def _order_of_next(group: Group) -> tuple[int, ...]:
    """The place of a group's next event in the order of all, as far as it is known."""
    context = group.world.context[0]
    if context.ready.first != NONE:
        return (int(context.time_us), -1)
    next_us = group.next_us
    if context.heap_size == 0 or group.world.heap[0].time_us > next_us:
        return (next_us, -1)
    event = group.world.events[group.world.heap[0].index]
    return (next_us, int(event.destination), int(event.source), int(event.sequence))


def kept_event(world: World, place: int) -> KeptEvent:
    """A copy of an event and of its chain."""
    event = world.events[place]
    items = []
    cursor = int(event.first_item)
    while cursor != NONE:
        item = world.items[cursor]
        items.append(_copied(item))
        cursor = int(item.next)
    return KeptEvent(cast("EventSlot", _copied(event)), cast("Sequence[ItemSlot]", items))


def _copied(record: Any) -> Any:
    """A copy of a record, apart from its table."""
    return np.array([record], record.dtype)[0]


class Rewinding:
    """A run that can be brought to any moment of it, again and again.

    ``run`` has its processes at ``position``.
    """

    run: RepeatedRun

    def __init__(
        self, folder: RunFolder, *, handles_idle: bool = False, may_branch: bool = False
    ) -> None:
        """Take a run; :meth:`go_to` lays out its tables.

        Args:
            folder: the run; none of its files is changed.
            handles_idle: handle idle fetches event by event, which are computed else. Then it is
                repeated from its beginning: snapshots are not used.
            may_branch: its state is to become that of a branch.
        """
        plan = plan_of_run(folder)
        self.plan = replace(plan, may_branch=plan.may_branch or may_branch)
        self.end_us = self.plan.scenario.duration_us
        self._folder = folder.path
        self._past = folder.manifest.get("past")
        #: Before that it is the run that this one is a branch of.
        self._first_us = 0 if self._past is None else int(self._past["at_us"])
        self._handles_idle = handles_idle
        self._files = self._new_folder() if self.plan.scenario.checkpoint_files else None
        #: The states that are kept, by their times; those in files are read when they are needed.
        self._saved: dict[int, Sequence[SavedGroup]] = {}
        self._in_files = [] if handles_idle else snapshot_times_us(self._folder)
        #: It is nowhere until it is brought to a moment.
        self.position = Position(-1)
        self._reached_us = 0

    def go_to(self, position: Position) -> None:
        """Bring the run to a moment; one that is before its beginning is its beginning.

        Raises:
            RewindError: it is a branch, and the moment is in its past.
            SnapshotError: a snapshot cannot be used.
        """
        if position.events < 0:
            self._go_back(position)
            return
        if position != self.position:
            is_ahead = self.position.time_us == position.time_us and (
                0 <= self.position.events <= position.events
            )
            if not is_ahead:
                self._go_to_time(position.time_us)
            while self.position.events < position.events and self.step() is not None:
                pass

    def step(self) -> HandledEvent | None:
        """Handle the next event; None: the run is over."""
        time_us, events = self.position
        if events == -1:
            # The event is the last one before that time; idle fetches go on until then.
            handled = self.run.step(time_us)
            self.run.run_to(time_us)
            self.position = Position(time_us)
            return handled
        handled = self.run.step(self.end_us if events >= 0 else time_us)
        if handled is not None:
            self._reached_us = int(handled.kept.event.time_us)
            self.position = Position(time_us, events + 1)
        return handled

    def settle(self) -> None:
        """Bring idle fetches to the moment."""
        self.run.settle(self.time_us)

    @property
    def time_us(self) -> int:
        """The virtual time of the moment: that of the last event if it is behind one."""
        return self.position.time_us if self.position.events == 0 else self._reached_us

    def _new_folder(self) -> Path:
        """A folder for checkpoints that are real files, which goes with this object."""
        folder = Path(mkdtemp(prefix="tidegauge-"))
        finalize(self, rmtree, folder, ignore_errors=True)
        return folder

    def _begin(self, time_us: int) -> None:
        """Take up the last state before a time, or the beginning."""
        begin_us = self._last_saved_us(time_us)
        if begin_us in self._in_files and begin_us not in self._saved:
            groups = read_snapshot(self._folder, begin_us).groups
            self._saved[begin_us] = [SavedGroup(begin_us, each, None) for each in groups]
        elif begin_us == 0 and self._past is not None:
            self._take_past(self._past, time_us)
            begin_us = self._first_us
        self.run = RepeatedRun(self.plan, self._files, self._saved.get(begin_us, ()))
        if self._handles_idle:
            self.run.worlds[0].context[0].computes_idle = False
        self.position = Position(begin_us)

    def _take_past(self, past: Mapping[str, Any], time_us: int) -> None:
        """Take up the state of the run that this one is a branch of, where it begins."""
        if time_us < self._first_us:
            raise RewindError(
                f"{self._folder}: is a branch of {past['run']} from "
                f"{format_duration(self._first_us)} on: {format_duration(time_us)} is in the past "
                "of that run"
            )
        before = Rewinding(
            RunFolder(Path(past["run"])), handles_idle=self._handles_idle, may_branch=True
        )
        before.go_to(Position(self._first_us))
        self._saved[self._first_us] = before.run.saved(self._first_us, before.plan)

    def _last_saved_us(self, time_us: int) -> int:
        """The time of the last state up to a time that is saved; 0: none is."""
        saved_us = (*self._saved, *self._in_files)
        return max((each for each in saved_us if each <= time_us), default=0)

    def _go_to_time(self, time_us: int) -> None:
        """Bring the run to a time."""
        here = self.position
        is_before = here.events == 0 and here.time_us <= time_us
        if not is_before or here.time_us < self._last_saved_us(time_us):
            self._begin(time_us)
        self.run.run_to(time_us)
        self.position = Position(time_us)

    def _go_back(self, position: Position) -> None:
        """Bring the run to a moment before a time, by the number of events between the two."""
        time_us, events = position
        begin_us, count = time_us, 0
        back_us = _BACK_US
        # With the last event that stays, whose time is that of the moment.
        while begin_us > self._first_us and count <= -events:
            begin_us = max(self._first_us, time_us - back_us)
            back_us *= _FURTHER
            self._go_to_time(begin_us)
            if begin_us not in self._saved:
                self._saved[begin_us] = self.run.saved(begin_us)
            count = 0
            while self.run.step(time_us) is not None:
                count += 1
            self.position = Position(begin_us, count)
        self._go_to_time(begin_us)
        self._reached_us = begin_us
        for _ in range(count + events):
            handled = self.run.step(time_us)
            assert handled is not None, "the same run has as many events"
            self._reached_us = int(handled.kept.event.time_us)
        self.position = Position(time_us, -min(count, -events))
