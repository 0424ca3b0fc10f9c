"""All groups of a scenario in this interpreter, one after the other.

By default there is one group. Several groups exchange messages and promises as actors do. So the
contract (the same hash, however the processes are grouped) can be tested and debugged without Ray.
"""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tidegauge.engine import contract
from tidegauge.engine.exchange.shared_memory import SharedMemory
from tidegauge.engine.exchange.state import ENDED
from tidegauge.engine.group import Group, RowSink
from tidegauge.engine.group_states import GroupCounts, States, new_states
from tidegauge.engine.grouping import Grouping
from tidegauge.engine.liveness import RESTART_US
from tidegauge.engine.loop_sampler import LoopSampler
from tidegauge.metrics.snapshots.snapshot import Snapshot, merged, part_of
from tidegauge.simulation.kernel import QUORUM_CONTROLLER
from tidegauge.traces.trace_file import TraceWriter

#: With a pace, the real time of one step.
_PACED_S = 0.02


def inline(grouping: Sequence[Sequence[int]] | None = None) -> contract.EngineMaker:
    """All processes in this interpreter: as one group, or in those that are given.

    Raises:
        ValueError: controllers of a quorum are in several groups, but share their state.
    """

    def make(run: contract.EngineInput) -> InlineEngine:
        groups = grouping or _usual_grouping(run)
        hosted = [list(group) for group in groups]
        quorum = {*run.plan.process_ranges[QUORUM_CONTROLLER]}
        if not any(quorum <= {*group} for group in hosted):
            raise ValueError(f"the controllers {sorted(quorum)} have to be in one group")
        names = [f"group {number}" for number in range(len(hosted))]
        return InlineEngine(run, Grouping(names, hosted))

    return make


def _usual_grouping(run: contract.EngineInput) -> Sequence[Sequence[int]]:
    """One group, or those of the state that a run continues from."""
    if run.past is not None:
        return [each["hosted"] for each in run.past.groups]
    return [range(len(run.plan.processes))]


def link_in_turn(groups: Sequence[Group]) -> None:
    """Let groups that run one after the other exchange messages; one alone has no need to."""
    if len(groups) == 1:
        return
    shared = SharedMemory(range(len(groups)))
    shared.begin()
    grouping = [group.hosted for group in groups]
    for number, group in enumerate(groups):
        group.join(grouping, number)
        group.exchange.link(shared)
        group.exchange.state.in_turn = True


class InlineEngine:
    """Runs groups while it is entered."""

    def __init__(self, run: contract.EngineInput, grouping: Grouping) -> None:
        """Make these groups."""
        self._plan = run.plan
        self._names = grouping.names
        self._stream = run.stream
        self._progress = run.progress
        self._speed = run.speed
        self._onlooker = run.onlooker
        #: Inline, every problem ends the run.
        self.warnings: list[str] = []
        self._pace = None if run.speed is None else contract.Pace(run.speed, run.begin_us)
        self._groups = [
            Group(run.plan, hosted, run.folder, run.saved_group(hosted))
            for hosted in grouping.hosted
        ]
        link_in_turn(self._groups)
        files = run.new_trace_files(len(self._groups))
        self._writers = {run.path_of(file): TraceWriter(file) for file in files}
        self._sinks = [self._sink(writer.write) for writer in self._writers.values()]
        self._sampler = LoopSampler(self._groups)
        self._seconds = 0.0
        self._windows = 0
        #: Every event has been handled that is due before this time.
        self._reached_us = run.begin_us

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for writer in self._writers.values():
            writer.close()

    def _sink(self, write: RowSink) -> RowSink:
        """A function that takes the rows of one group."""

        def take(rows: NDArray[np.void]) -> None:
            write(rows)
            self._stream.take(rows)
            if len(self._groups) == 1:
                # It writes rows in the order of time; more of the same time may follow.
                self._stream.settle(int(rows[-1]["time_us"]))

        return take

    def run_to(self, end_us: int) -> None:
        """Handle every event earlier than ``end_us``."""
        started = time.perf_counter()
        # The liveness phase has no speed limit.
        pace = self._pace if end_us <= self._plan.scenario.duration_us else None
        with self._sampler, contract.no_garbage_collection():
            if pace is None:
                self._advance(end_us)
            else:
                self._run_paced(end_us, pace)
        self._seconds += time.perf_counter() - started

    def _run_paced(self, end_us: int, pace: contract.Pace) -> None:
        """Run in steps of a fraction of a second, and wait after each."""
        assert self._speed is not None
        step_us = max(1, round(1e6 * _PACED_S * self._speed))
        while self._reached_us < end_us:
            pace.wait_for(self._reached_us)
            self._show_progress(self._reached_us)
            self._advance(min(end_us, self._reached_us + step_us))
        pace.wait_for(end_us)

    def _advance(self, end_us: int) -> None:
        """Handle every event earlier than ``end_us``, as fast as possible."""
        if len(self._groups) > 1:
            self._run_in_turn(end_us)
        else:
            self._groups[0].run_to(end_us, self._sinks[0], self._show_progress)
            self._windows += 1
        self._reached_us = end_us

    def _run_in_turn(self, end_us: int) -> None:
        """Let each group run as far as the others' promises allow, one after the other."""
        for group in self._groups:
            group.begin(end_us)
        running = list(zip(self._groups, self._sinks, strict=True))
        while running:
            running = [each for each in running if each[0].run(each[1]) != ENDED]
            reached_us = min(group.reached_us for group in self._groups)
            if self._stream.is_due:
                self._drain()
                self._stream.settle(reached_us)
            self._show_progress(reached_us)
            self._windows += 1
        self._drain()

    def _drain(self) -> None:
        for group, sink in zip(self._groups, self._sinks, strict=True):
            group.drain(sink)

    def _show_progress(self, time_us: int) -> None:
        if self._onlooker is not None and self._onlooker.is_due():
            self._onlooker.look(self._snapshot_at(time_us), self.figures())
        if self._progress is not None:
            self._progress(contract.Passed(time_us, sum(group.events for group in self._groups)))

    def save(self) -> contract.EngineState:
        """The state of all groups after :meth:`run_to`; the trace has all rows until then."""
        for group, sink in zip(self._groups, self._sinks, strict=True):
            group.take_all()
            group.drain(sink)
        for writer in self._writers.values():
            writer.flush()
        trace = {path: writer.length_bytes for path, writer in self._writers.items()}
        return contract.EngineState([group.copy().packed for group in self._groups], trace)

    def heal(self, time_us: int) -> None:
        """Begin the liveness phase in all processes."""
        for group, sink in zip(self._groups, self._sinks, strict=True):
            group.heal(time_us, RESTART_US, sink)

    def close(self, time_us: int, reason: int) -> None:
        """Let all groups write the rows that belong to the end."""
        for group, sink in zip(self._groups, self._sinks, strict=True):
            group.close(time_us, sink, reason)

    def states(self) -> States:
        """All replicas as their brokers have them, all partitions as the control plane has them."""
        states = new_states(self._plan)
        for group in self._groups:
            group.look_at_states(states)
        return states.arrays()

    def snapshot(self) -> Snapshot:
        """The current metrics of the cluster."""
        return self._snapshot_at(self._reached_us)

    def _snapshot_at(self, time_us: int) -> Snapshot:
        if len(self._groups) == 1:
            return self._groups[0].snapshot(time_us)
        parts = [part_of(group.snapshot(time_us)) for group in self._groups]
        return merged(self._plan, time_us, parts)

    def counts(self) -> Sequence[GroupCounts]:
        """The current counts that only the groups have."""
        return [group.counts() for group in self._groups]

    def figures(self) -> contract.LoopFigures:
        """The figures of the loop so far."""
        groups = [
            contract.GroupFigures(
                name,
                group.events,
                group.computed,
                group.windows,
                group.kernel_cpu_seconds,
                exchange_cpu_seconds=0.0,
                waiting_cpu_seconds=0.0,
                told_at_s=time.monotonic(),
            )
            for name, group in zip(self._names, self._groups, strict=True)
        ]
        return contract.LoopFigures(self._seconds, self._windows, groups, dict(self._sampler.seen))
