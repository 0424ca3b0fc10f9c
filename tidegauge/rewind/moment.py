"""A moment of a run: its whole state, which can be looked at, and moved forwards and backwards.

The run is repeated from the last snapshot before the moment, or from its beginning; nothing in its
folder is changed. The state is that after all events before the moment. Fetches of two brokers that
bring nothing are computed, and not handled event by event: they are in the state, but they are no
steps.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.rewinding import Position, Rewinding
from tidegauge.rewind.event_states import EventState, event_state
from tidegauge.rewind.field_values import seconds
from tidegauge.rewind.handled_event import HandledStep, changes_between, rows_as_events
from tidegauge.rewind.seen_run import SeenRun, SubjectState
from tidegauge.rewind.subjects import (
    NEXT_EVENTS,
    Subject,
    next_events,
    overview_of,
    parse_subjects,
    state_of,
)
from tidegauge.runs.run import Run
from tidegauge.simulation.quantities import parse_time, whole_time_text

#: The values of records by the names of their fields, by the titles of the records.
State = dict[str, dict[str, Any]]


class Moment:
    """A moment of a run; ``str`` of it is its time."""

    def __init__(
        self,
        run: Run,
        at: str,
        *,
        handles_idle: bool = False,
        branched: Callable[..., Any] | None = None,
    ) -> None:
        """Bring a run to a moment.

        Args:
            run: the run.
            at: the time, such as ``63.2s``.
            handles_idle: handle the fetches event by event, too, that are computed else; the run
                is repeated from its beginning.
            branched: makes the branches of the run: it takes the run's folder, a time, and what
                :meth:`branch` is given; None: there are none.

        Raises:
            TidegaugeError: the run is of logs, or the time is outside of it.
            SnapshotError: a snapshot cannot be used.
        """
        if run.is_of_logs:
            raise TidegaugeError(
                f"{run.path}: is made of the logs of a real cluster: it cannot be repeated; "
                "tidegauge show has its states"
            )
        self.run = run
        self._branched = branched
        self._rewinding = Rewinding(run, handles_idle=handles_idle)
        self._seen = SeenRun(self._rewinding, run.names)
        self.go_to(at)

    def __repr__(self) -> str:
        return f"<Moment {self} of {self.run.path}>"

    def __str__(self) -> str:
        events = self.position.events
        at = f"at {seconds(self.position.time_us)}"
        if events == 0:
            return at
        which = f"{abs(events)} {'event' if abs(events) == 1 else 'events'}"
        where = f"{which} {'after' if events > 0 else 'before'} {seconds(self.position.time_us)}"
        return f"at {seconds(self.time_us)}, {where}"

    @property
    def time_us(self) -> int:
        """Its virtual time; after a step that of the event."""
        return self._rewinding.time_us

    @property
    def idle_pairs(self) -> int:
        """The number of pairs of brokers whose fetches bring nothing now, and are computed."""
        return sum(int(world.context[0].idle_pairs) for world in self._seen.worlds)

    @property
    def position(self) -> Position:
        """The time to which the run was brought, and the number of steps since then."""
        return self._rewinding.position

    # Motion.

    def go_to(self, at: str) -> None:
        """Move to another time of the run.

        Raises:
            TidegaugeError: it is no time, or outside of the run.
        """
        try:
            at_us = parse_time(at)
        except ValueError as error:
            raise TidegaugeError(f"--at: {error}") from error
        end_us = self._rewinding.end_us
        if not 0 <= at_us <= end_us:
            raise TidegaugeError(
                f"--at {at}: is outside of the run, which is from 0s to {seconds(end_us)}; its "
                "liveness phase cannot be repeated"
            )
        self._rewinding.go_to(Position(at_us))

    def step(self, count: int = 1, subjects: Sequence[Subject] | str = ()) -> list[HandledStep]:
        """Move by events, forwards or (below 0) backwards, as far as the run goes.

        Args:
            count: the number of events.
            subjects: the subjects whose changes are wanted, such as ``partition orders-0``.

        Returns:
            The events that were handled; backwards none.

        Raises:
            TidegaugeError: the name of a subject is unknown.
        """
        if isinstance(subjects, str):
            subjects = self.subjects(shlex.split(subjects))
        if count < 0:
            time_us, events = self.position
            self._rewinding.go_to(Position(time_us, events + count))
            return []
        found: list[HandledStep] = []
        before = self.states(subjects) if subjects else []
        for _ in range(count):
            handled = self._rewinding.step()
            if handled is None:
                break
            after = self.states(subjects) if subjects else []
            event = event_state(handled.kept, self._seen.names)
            rows = rows_as_events(handled.rows, self._seen.names)
            found.append(HandledStep(event, rows, list(changes_between(before, after))))
            before = after
        return found

    def branch(self, **changed: Any) -> Any:
        """The result of the run if it goes on from here in another way.

        Args:
            changed: arguments of ``tidegauge.branch``: changes, faults, steps, seed, out.

        Raises:
            TidegaugeError: the moment is between two events of one time, after steps.
        """
        time_us, events = self.position
        if events != 0 or self._branched is None:
            raise TidegaugeError(f"{self}: a branch begins at a time, before all of its events")
        return self._branched(self.run.path, whole_time_text(time_us), **changed)

    # The state.

    def subjects(self, words: Sequence[str]) -> list[Subject]:
        """The subjects that words name: ``["broker", "2", "partition", "orders-0"]``.

        Raises:
            TidegaugeError: a name is unknown.
        """
        return parse_subjects(words, self._seen.names)

    def states(self, subjects: Sequence[Subject]) -> list[SubjectState]:
        """The state of each subject."""
        self._rewinding.settle()
        return [state_of(each, self._seen) for each in subjects]

    def overview(self) -> SubjectState:
        """The whole cluster in short."""
        self._rewinding.settle()
        return overview_of(self._seen)

    def events(self, count: int = NEXT_EVENTS) -> list[EventState]:
        """The events that come next, without those of idle fetches."""
        return next_events(self._seen, count)

    def broker(self, broker: int) -> State:
        """The records of a broker, by its id.

        Raises:
            TidegaugeError: there is none.
        """
        return self._state_of("broker", str(broker))

    def partition(self, partition: str) -> State:
        """A partition as the control plane has it, and each of its replicas as its broker has it.

        Raises:
            TidegaugeError: there is none.
        """
        return self._state_of("partition", partition)

    def client(self, client: str) -> State:
        """The records of a client, such as ``shop-0``.

        Raises:
            TidegaugeError: there is none.
        """
        return self._state_of("client", client)

    def controller(self, controller: int | None = None) -> State:
        """The records of a controller, by its id; by default of the active one.

        Raises:
            TidegaugeError: there is none.
        """
        return self._state_of("controller", *([] if controller is None else [str(controller)]))

    def zookeeper(self) -> State:
        """The records of ZooKeeper.

        Raises:
            TidegaugeError: the cluster has a KRaft quorum.
        """
        return self._state_of("zookeeper")

    def link(self, source: str, destination: str) -> State:
        """The link from one process to another, and the messages on it.

        Raises:
            TidegaugeError: there is no such process.
        """
        return self._state_of("link", source, destination)

    def _state_of(self, *words: str) -> State:
        (state,) = self.states(self.subjects(words))
        return state.values
