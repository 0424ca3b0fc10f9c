"""Hours in which nothing happens: a proposed scenario leaves them out.

A cluster that is at rest for hours would be simulated for hours. The events before such a time and
after it are kept as they were; between them some minutes are left, in which the timeouts of
sessions, followers and elections end. The outage of a broker that lasts over such a time is
shorter in the scenario, with the same states.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from tidegauge.real_cluster.describe.input_file import Notice
from tidegauge.real_cluster.incident.cluster_history import ClusterHistory
from tidegauge.real_cluster.incident.sightings import Sightings
from tidegauge.runs.run import Run
from tidegauge.simulation.quantities import format_duration, short_seconds_text
from tidegauge.simulation.wall_clock import wall_clock_text

#: A longer time without a change is cut.
_IDLE_US = 3_600_000_000
#: The time that is left behind a change, and before the next one.
_LEFT_US = 300_000_000
_SECOND_US = 1_000_000


class IdleTime(NamedTuple):
    """A time that is cut out of a run."""

    begin_us: int
    end_us: int

    @property
    def lasts_us(self) -> int:
        """Its length."""
        return self.end_us - self.begin_us


class IdleTimes(tuple[IdleTime, ...]):
    """All times that are cut out of a run, in their order."""

    __slots__ = ()

    def left_us(self, time_us: int) -> int:
        """A time of the run without them; within one of them it is that of its begin."""
        cut_us = sum(
            min(idle.end_us, time_us) - idle.begin_us for idle in self if idle.begin_us < time_us
        )
        return time_us - cut_us

    def whole_us(self, left_us: int) -> int:
        """The time of the run of a time that is left."""
        for idle in self:
            if left_us > idle.begin_us:
                left_us += idle.lasts_us
        return left_us

    def includes(self, time_us: int) -> bool:
        """Whether a time of the run is cut out."""
        return any(idle.begin_us <= time_us < idle.end_us for idle in self)

    def notices(self, run: Run) -> list[Notice]:
        """A notice for each, by the wall clock if the run has one."""
        return [
            Notice(
                "times",
                f"nothing happens from {_text(run, idle.begin_us)} to {_text(run, idle.end_us)}: "
                f"these {format_duration(idle.lasts_us // _SECOND_US * _SECOND_US)} are left out, "
                "and a fault that lasts over them is shorter by them",
            )
            for idle in self
        ]

    def description(self, run: Run) -> str:
        """A sentence about them for the scenario itself."""
        spans = (f"{_text(run, idle.begin_us)} to {_text(run, idle.end_us)}" for idle in self)
        return f"Times in which nothing happened are left out: {', '.join(spans)}."


def _text(run: Run, time_us: int) -> str:
    clock = run.wall_clock
    if clock is None:
        return short_seconds_text(time_us)
    return wall_clock_text(clock.first_ms + time_us // 1000)


def idle_times(times_us: Iterable[int]) -> IdleTimes:
    """The times to cut out of a run.

    Args:
        times_us: of all changes, and the end of the run; in any order.
    """
    return IdleTimes(
        IdleTime(before + _LEFT_US, after - _LEFT_US)
        for before, after in pairwise(sorted(times_us))
        if after - before > _IDLE_US
    )


def cut_out(
    idle: IdleTimes, history: ClusterHistory, sightings: Sightings
) -> tuple[ClusterHistory, Sightings]:
    """A history and its sightings without the times in which nothing happens."""
    if not idle:
        return history, sightings
    return history.moved(idle.left_us), sightings.moved(idle.left_us, idle.includes)
