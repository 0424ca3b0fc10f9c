"""What a run asks of whoever runs its groups: inline (``inline_engine.py``) or on Ray."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tidegauge.engine.group_counts import GroupCounts
from tidegauge.engine.row_stream import RowStream
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.scenario.cluster_plan import ClusterPlan


class EngineError(Exception):
    """A run that cannot begin, or not go on, where it was to be run; the message is one line."""


class ActorError(EngineError):
    """An actor died, or two of them do not understand each other: the run has ended there."""


class Passed(NamedTuple):
    """How far a run is, as its progress is told."""

    #: Virtual time: everything of before has happened.
    time_us: int
    events: int
    #: CPU seconds of each group so far, by its name; none where there is one.
    busy: Mapping[str, float] = {}


#: What is called now and then as a run goes on.
Progress = Callable[[Passed], None]


class GroupFigures(NamedTuple):
    """What one group has cost until now."""

    #: What people call it: which brokers, or the controller.
    name: str
    events: int
    #: In which it took part; the hub does in all.
    windows: int
    #: CPU time of the thread that runs it: in the kernel, in exchanging frames, and in looking for
    #: frames that have not come yet.
    kernel_cpu_seconds: float
    exchange_cpu_seconds: float
    waiting_cpu_seconds: float
    #: When the driver was told, on its own clock.
    told_at_s: float = 0.0


@dataclass
class LoopFigures:
    """What the event loop has done: all groups together."""

    #: Wall time of the loop, without tables being made and files being closed.
    seconds: float = 0.0
    windows: int = 0
    groups: Sequence[GroupFigures] = ()
    #: What the loop was seen at, and how often (``loop_sampler.py``).
    samples: Mapping[str, int] = field(default_factory=dict)

    def part_of_summary(self, virtual_seconds: float) -> dict[str, Any]:
        """What ``summary.json`` says of it."""
        events = sum(group.events for group in self.groups)
        samples = sum(self.samples.values())
        share = self.seconds / max(1, samples)
        return {
            "loop_seconds": round(self.seconds, 3),
            "loop_seconds_by_process_kind": {
                kind: round(count * share, 4) for kind, count in self.samples.items()
            },
            "loop_samples": samples,
            "events": events,
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
    """Who looks at a run while it goes on, now and then in real time."""

    def is_due(self) -> bool:
        """Whether it is time to look again; asked often."""

    def look(self, snapshot: Snapshot, figures: LoopFigures) -> None:
        """Take what there is to be seen."""


class Engine(Protocol):
    """Runs all groups of a scenario, and hands their rows on as it goes."""

    #: What was noticed that does not keep the run from going on.
    warnings: list[str]

    def run_to(self, end_us: int) -> None:
        """Handle every event earlier than ``end_us``."""

    def heal(self, time_us: int) -> None:
        """Begin the liveness phase in all processes."""

    def close(self, time_us: int, reason: int) -> None:
        """Have written down what can be judged only at the end."""

    def states(self) -> tuple[NDArray[np.void], NDArray[np.void]]:
        """All replicas as their brokers have them, all partitions as ZooKeeper has them."""

    def snapshot(self) -> Snapshot:
        """What can be scraped of the cluster, now."""

    def counts(self) -> Sequence[GroupCounts]:
        """What only the groups know themselves, now."""

    def figures(self) -> LoopFigures:
        """What the loop has done until now."""


class EngineInput(NamedTuple):
    """What an engine is made from."""

    #: The scenario in numbers.
    plan: ClusterPlan
    #: Of the run; what the engine writes goes there.
    folder: Path
    #: What takes the rows of all groups.
    stream: RowStream
    #: Is called now and then.
    progress: Progress | None
    #: So many times as fast as real time at most; None: as fast as it can.
    speed: float | None
    #: Who looks at it meanwhile.
    onlooker: Onlooker | None = None


#: Makes an engine, to be entered; nothing is written if that fails.
EngineMaker = Callable[[EngineInput], AbstractContextManager[Engine]]
