"""Values beside a snapshot: the state of the simulation itself, and values of successive snapshots.

The driver of a run measures its ``Health``, in seconds of ``time.monotonic``, whenever it has
a new snapshot.
"""

from collections.abc import Mapping
from math import nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.samples.record_times import AppliedTimes


class ActorHealth(NamedTuple):
    """One of the groups of processes that the run consists of; all since it began."""

    name: str
    events: int
    #: CPU time spent on events, on exchanging messages, and on waiting for other groups.
    kernel_cpu_seconds: float
    exchange_cpu_seconds: float
    waiting_cpu_seconds: float
    #: When the driver received its last snapshot, by ``time.monotonic``.
    snapshot_at_seconds: float


class Health(NamedTuple):
    """The simulation at one moment."""

    #: When this was measured, by ``time.monotonic``.
    at_seconds: float
    virtual_time_us: int
    #: Virtual seconds per real second that the run is paced to; None: as fast as possible.
    wanted_speed: float | None
    #: How far behind that pace virtual time is.
    behind_us: int
    #: Since the run began.
    events: int
    windows: int
    actors: tuple[ActorHealth, ...] = ()


class ScrapeCounts(NamedTuple):
    """The work of the endpoint so far."""

    by_target: Mapping[int, int]
    render_cpu_seconds: float


class SnapshotContext(NamedTuple):
    """All values beside a snapshot; unknown ones are left out of the pages."""

    health: Health | None = None
    #: The time of the values, by ``time.monotonic``; None: that of the health.
    now_seconds: float | None = None
    #: Virtual seconds per real second, and the mean size of a window, since the last snapshot.
    speed: float = nan
    window_us: float = nan
    #: For each of ``Snapshot.committed``: how long its first unread record has been readable.
    consumer_lag_ms: NDArray[np.float64] | None = None
    scrapes: ScrapeCounts | None = None
    applied: AppliedTimes | None = None
    #: By node of a quorum, brokers first: the idle share of its Raft thread's time; NaN: unknown.
    idle_ratio: NDArray[np.float64] | None = None


def speed_between(before: Health, after: Health) -> float:
    """Virtual seconds per real second."""
    seconds = after.at_seconds - before.at_seconds
    return (after.virtual_time_us - before.virtual_time_us) / 1e6 / seconds if seconds > 0 else nan


def window_between(before: Health, after: Health) -> float:
    """The mean size of a window, in microseconds of virtual time."""
    windows = after.windows - before.windows
    return (after.virtual_time_us - before.virtual_time_us) / windows if windows > 0 else nan
