"""The interface of engines, which run groups: inline (``inline_engine.py``) or on Ray.

Virtual time held back, so that people and dashboards can watch it pass.
"""

import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.group_snapshots import SavedGroup
from tidegauge.engine.group_states import GroupCounts, States
from tidegauge.engine.row_stream import RowStream
from tidegauge.engine.run_snapshots.snapshot_file import RunSnapshot
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.scenario.cluster_plan import ClusterPlan


class EngineError(TidegaugeError):
    """The engine cannot begin or continue a run; the message is one line."""


class ActorError(EngineError):
    """An actor died, or two of them are incompatible: the engine has ended."""

    def __init__(self, reason: str, reached: str = "") -> None:
        super().__init__(reason + reached)
        #: The reason alone, without what is said of the run.
        self.reason = reason
        self.reached = reached


class RayUnavailableError(EngineError):
    """Ray does not start, cannot be joined, or has no room; the message is one line."""


#: In place of the address of a Ray cluster: Ray starts on this machine, whatever RAY_ADDRESS says.
HERE = "local"


def address_in_force(address: str | None) -> str:
    """The address of the Ray cluster, or :data:`HERE`; None: that of RAY_ADDRESS, if it is set."""
    return address or os.environ.get("RAY_ADDRESS") or HERE


class Passed(NamedTuple):
    """The progress of a run."""

    #: Virtual time: all earlier events have been handled.
    time_us: int
    events: int
    #: CPU seconds of each group so far, by its name; none where there is one.
    busy: Mapping[str, float] = {}


#: A function that is called at times during a run.
Progress = Callable[[Passed], None]


class GroupFigures(NamedTuple):
    """The costs of one group so far."""

    #: Its name for people: which brokers, or the controller.
    name: str
    events: int
    #: Those of idle fetches among them: computed, not handled.
    computed: int
    #: The number of times that it began to run, up to some horizon.
    windows: int
    #: CPU time of the thread that runs it: in the kernel, in exchanging messages and promises, and
    #: in polling while it waits.
    kernel_cpu_seconds: float
    exchange_cpu_seconds: float
    waiting_cpu_seconds: float
    #: The time of the report, on the driver's clock.
    told_at_s: float = 0.0


@dataclass
class LoopFigures:
    """The figures of the event loop: all groups together."""

    #: Wall time of the loop, without tables being made and files being closed.
    seconds: float = 0.0
    windows: int = 0
    groups: Sequence[GroupFigures] = ()
    #: The kinds of processes in the samples, with their counts (``loop_sampler.py``).
    samples: Mapping[str, int] = field(default_factory=dict)

    def spent(self, past: RunSnapshot | None) -> tuple[float, int]:
        """Wall seconds and windows of the whole loop, with those before a past."""
        if past is None:
            return self.seconds, self.windows
        return self.seconds + past.loop_seconds, self.windows + past.windows

    def part_of_summary(self, virtual_seconds: float) -> dict[str, Any]:
        """The part of ``summary.json`` about the loop."""
        events = sum(group.events for group in self.groups)
        computed = sum(group.computed for group in self.groups)
        samples = sum(self.samples.values())
        share = self.seconds / max(1, samples)
        return {
            "loop_seconds": round(self.seconds, 3),
            "loop_seconds_by_process_kind": {
                kind: round(count * share, 4) for kind, count in self.samples.items()
            },
            "loop_samples": samples,
            "events": events,
            "events_computed": computed,
            "events_per_second": round(events / max(self.seconds, 1e-9)),
            "times_real_time": round(virtual_seconds / max(self.seconds, 1e-9), 1),
            "windows": self.windows,
            "windows_per_virtual_second": round(self.windows / virtual_seconds, 3),
            "events_per_window": round(events / max(self.windows, 1), 1),
            "groups": [_part_of_group(group) for group in self.groups],
        }


def _part_of_group(group: GroupFigures) -> dict[str, Any]:
    per_window_us = 1e6 * group.exchange_cpu_seconds / max(group.windows, 1)
    return {
        "name": group.name,
        "events": group.events,
        "windows": group.windows,
        "kernel_cpu_seconds": round(group.kernel_cpu_seconds, 3),
        "exchange_cpu_seconds": round(group.exchange_cpu_seconds, 3),
        "exchange_cpu_us_per_window": round(per_window_us, 2),
        "waiting_cpu_seconds": round(group.waiting_cpu_seconds, 3),
    }


class Onlooker(Protocol):
    """An observer of a run, called at times in real time."""

    def is_due(self) -> bool:
        """Whether another look is due; called often."""

    def look(self, snapshot: Snapshot, figures: LoopFigures) -> None:
        """Take a snapshot of the cluster and the figures of the loop."""


class EngineState(NamedTuple):
    """The state of all groups at a time that they have reached."""

    #: Compresses the state of each group, as msgpack takes it.
    groups: Sequence[Callable[[], Mapping[str, Any]]]
    #: The length of each trace file, by its path in the run's folder.
    trace: Mapping[str, int]


class Engine(Protocol):
    """Runs all groups of a scenario, and passes their rows on during the run."""

    #: Problems that do not end the run.
    warnings: list[str]

    def run_to(self, end_us: int) -> None:
        """Handle every event earlier than ``end_us``."""

    def save(self) -> EngineState:
        """The state of all groups after :meth:`run_to`; the trace has all rows until then."""

    def heal(self, time_us: int) -> None:
        """Begin the liveness phase in all processes."""

    def close(self, time_us: int, reason: int) -> None:
        """Let all groups write the rows that belong to the end."""

    def states(self) -> States:
        """All replicas as their brokers have them, all partitions as the control plane has them."""

    def snapshot(self) -> Snapshot:
        """The current metrics of the cluster."""

    def counts(self) -> Sequence[GroupCounts]:
        """The current counts that only the groups have."""

    def figures(self) -> LoopFigures:
        """The figures of the loop so far."""


class EngineInput(NamedTuple):
    """The input of an engine."""

    #: The scenario in numbers.
    plan: ClusterPlan
    #: The folder of the run; the engine writes its files there.
    folder: Path
    #: Takes the rows of all groups.
    stream: RowStream
    #: A function that is called at times.
    progress: Progress | None
    #: The speed limit, as a multiple of real time; None: no limit.
    speed: float | None
    #: Observes the run.
    onlooker: Onlooker | None
    #: Makes a file for the rows of each group; from then on the run can be read.
    new_trace_files: Callable[[int], list[Path]]
    #: The state to continue from; None: the run begins.
    past: RunSnapshot | None = None
    #: The plan of the past, where it was another one.
    past_plan: ClusterPlan | None = None
    #: 1, and one more each time that the engine is made again, after the death of an actor.
    generation: int = 1
    #: Is called with lines for people.
    tell: Callable[[str], None] = lambda _: None

    def saved_group(self, hosted: Sequence[int]) -> SavedGroup | None:
        """The saved state that a group continues, or a part of it; None: the run begins.

        Raises:
            EngineError: the group has processes of several groups that were saved.
        """
        if self.past is None:
            return None
        for state in self.past.groups:
            if {*hosted} <= {*state["hosted"]}:
                return SavedGroup(self.past.time_us, state, self.past_plan)
        raise EngineError(
            f"the saved state of {len(self.past.groups)} groups of processes cannot be joined in "
            "fewer: leave their number open"
        )

    @property
    def begin_us(self) -> int:
        """The virtual time from which it runs."""
        return 0 if self.past is None else self.past.time_us

    def path_of(self, file: Path) -> str:
        """The path of a file in the run's folder."""
        return file.relative_to(self.folder).as_posix()


#: Makes an engine, to be entered; nothing is written if that fails.
EngineMaker = Callable[[EngineInput], AbstractContextManager[Engine]]


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collect no garbage while entered: a search through a cluster's plan takes 10 ms."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Pace:
    """Virtual time goes on ``speed`` times as fast as real time at most."""

    def __init__(self, speed: float, begin_us: int = 0) -> None:
        """Virtual time is ``begin_us`` at the first wait."""
        self._speed = speed
        self._begin_us = begin_us
        self._begun: float | None = None

    def left_s(self, time_us: int) -> float:
        """The real time until virtual time may be ``time_us``; below 0 if it may already."""
        return -self._passed_s((self._begin_us - time_us) / (1e6 * self._speed))

    def virtual_us(self, ahead_s: float = 0.0) -> int:
        """The virtual time that may be reached so much later."""
        return self._begin_us + round(self._passed_s(ahead_s) * 1e6 * self._speed)

    def wait_for(self, time_us: int) -> None:
        """Wait until virtual time may be ``time_us``."""
        time.sleep(max(0.0, self.left_s(time_us)))

    def _passed_s(self, more_s: float) -> float:
        now = time.monotonic()
        if self._begun is None:
            self._begun = now
        return now - self._begun + more_s
