"""Values beside a snapshot: the state of the simulation, and values of successive snapshots.

The driver of a run measures its ``Health``, in seconds of ``time.monotonic``, whenever it has a new
snapshot. Several snapshots give speed, waits of records, and idle times of threads.
"""

from collections import deque
from collections.abc import Mapping
from math import nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.samples.layout import Layout, Numbers, Offsets, offsets_of_leaders
from tidegauge.metrics.snapshots.snapshot import Snapshot

#: Number of snapshots that are kept.
_MOST_POINTS = 256


class AppliedTimes(NamedTuple):
    """Write times of the last records that nodes have applied, by broker and by controller."""

    brokers_us: NDArray[np.float64]
    controllers_us: NDArray[np.float64]


class RecordTimes:
    """The committed end, with its times."""

    def __init__(self) -> None:
        self._points: deque[tuple[int, int]] = deque([(-1, 0)], maxlen=_MOST_POINTS)

    def applied(self, snapshot: Snapshot) -> AppliedTimes | None:
        """The times of a snapshot that is later than those before; None: there is no quorum."""
        controllers = snapshot.controllers
        if not len(controllers):
            return None
        newest = int(controllers["last_committed_offset"].max())
        if newest > self._points[-1][0]:
            self._points.append((newest, snapshot.time_us))
        offsets, times_us = zip(*self._points, strict=True)
        return AppliedTimes(
            np.interp(snapshot.brokers["applied_offset"], offsets, times_us),
            np.interp(controllers["last_applied_offset"], offsets, times_us),
        )


#: The work of a node's threads, and the columns with the times that it has taken.
_WORK = {"writing": "written_us", "handling": "handled_us", "loading": "loaded_us"}


class IdleRatios:
    """The threads of a quorum's nodes at the last snapshot (Kafka: ``TimeRatio``)."""

    def __init__(self) -> None:
        self._before: Snapshot | None = None

    def of(self, snapshot: Snapshot) -> dict[str, NDArray[np.float64]]:
        """By work the idle shares of the nodes' threads; NaN: a broker has no such thread.

        The snapshot is later than those before.
        """
        nodes, before = snapshot.raft, self._before
        self._before = snapshot
        since_us = nodes["started_us"]
        goes_on = np.zeros(len(nodes), bool)
        if before is not None:
            goes_on = before.raft["exists"] & (before.raft["started_us"] == since_us)
            since_us = np.where(goes_on, before.time_us, since_us)
        interval_us = (snapshot.time_us - since_us).clip(1)
        ratios = {}
        for work, column in _WORK.items():
            earlier_us = 0 if before is None else np.where(goes_on, before.raft[column], 0)
            ratio = (1 - (nodes[column] - earlier_us) / interval_us).clip(0, 1)
            has_thread = nodes["is_controller"] | (work == "loading")
            ratios[work] = np.where(has_thread, ratio, np.nan)
        return ratios


class ActorHealth(NamedTuple):
    """One of the groups of processes that the run consists of; all since it began."""

    name: str
    events: int
    #: CPU time spent on events, on exchanging messages, and on waiting for other groups.
    kernel_cpu_seconds: float
    exchange_cpu_seconds: float
    waiting_cpu_seconds: float
    #: The time at which the driver received its last snapshot, by ``time.monotonic``.
    snapshot_at_seconds: float


class Health(NamedTuple):
    """The simulation at one moment."""

    #: The time of this measurement, by ``time.monotonic``.
    at_seconds: float
    virtual_time_us: int
    #: Virtual seconds per real second that the run is paced to; None: as fast as possible.
    wanted_speed: float | None
    #: The delay of virtual time behind that pace.
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
    #: For each of ``Snapshot.committed``: the time for which its first unread record has been
    #: readable.
    consumer_lag_ms: NDArray[np.float64] | None = None
    scrapes: ScrapeCounts | None = None
    applied: AppliedTimes | None = None
    #: By work, then by node of a quorum, brokers first: the idle share of its thread's time.
    idle_ratios: Mapping[str, NDArray[np.float64]] = {}


def speed_between(before: Health, after: Health) -> float:
    """Virtual seconds per real second."""
    seconds = after.at_seconds - before.at_seconds
    return (after.virtual_time_us - before.virtual_time_us) / 1e6 / seconds if seconds > 0 else nan


def window_between(before: Health, after: Health) -> float:
    """The mean size of a window, in microseconds of virtual time."""
    windows = after.windows - before.windows
    return (after.virtual_time_us - before.virtual_time_us) / windows if windows > 0 else nan


#: Number of snapshots that are kept; the fork keeps a thousand of its scrapes.
MOST_POINTS = 256

#: Below any offset: a high watermark that no leader has reported yet.
_UNKNOWN = -1


class OffsetTimes:
    """The high watermarks of partitions that groups read, with their times."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        _, _, partitions = layout.committed
        #: The partitions that are read, and the place among them of each group's partitions.
        self._partitions, self._place = np.unique(partitions, return_inverse=True)
        # Points are overwritten in turn, the oldest first.
        self._times_us = np.zeros(MOST_POINTS)
        self._high_watermarks = np.full((MOST_POINTS, len(self._partitions)), float(_UNKNOWN))
        self._seen = 0

    def add(self, snapshot: Snapshot) -> None:
        """Keep the high watermarks of a snapshot that is later than those before."""
        high_watermarks, _ = offsets_of_leaders(self._layout, snapshot)
        before = self._high_watermarks[(self._seen - 1) % MOST_POINTS]
        # Without a leader the readable offsets do not change.
        now = high_watermarks[self._partitions]
        now = np.where(np.isnan(now), before, now)
        # Lost records cannot be read: the next records have these offsets again.
        fallen = np.flatnonzero(now < before)
        if len(fallen):
            kept = np.minimum(self._high_watermarks[:, fallen], now[fallen])
            self._high_watermarks[:, fallen] = kept
        self._times_us[self._seen % MOST_POINTS] = snapshot.time_us
        self._high_watermarks[self._seen % MOST_POINTS] = now
        self._seen += 1

    def lag_ms(self, snapshot: Snapshot) -> NDArray[np.float64]:
        """The waiting time of each entry of ``Snapshot.committed``; NaN below two known points."""
        rows, _, _ = self._layout.committed
        lags_ms = np.full(len(snapshot.committed), np.nan)
        if len(rows):
            committed = snapshot.committed["offset"][rows]
            latest = self._high_watermarks[(self._seen - 1) % MOST_POINTS][self._place]
            waits_us = snapshot.time_us - np.maximum(self._passed_at_us(committed), 0)
            waits_us[committed >= latest] = 0
            waits_us[latest == _UNKNOWN] = np.nan
            lags_ms[rows] = np.maximum(waits_us, 0) / 1000
        return lags_ms

    def _passed_at_us(self, offsets: Numbers) -> NDArray[np.float64]:
        """The times at which high watermarks passed a group's offsets, one for each."""
        last = min(self._seen, MOST_POINTS) - 1
        before = self._points_up_to(offsets, last + 1) - 1
        is_older = (before < 0) | (self._high_watermark(before.clip(0)) == _UNKNOWN)
        low = np.where(is_older, before + 1, before).clip(0, last)
        high = np.where(is_older, last, before + 1).clip(0, last)
        low_offset, low_us = self._high_watermark(low), self._time_us(low)
        grown = self._high_watermark(high) - low_offset
        us_per_record = np.full(len(offsets), np.nan)
        np.divide(self._time_us(high) - low_us, grown, out=us_per_record, where=grown > 0)
        passed_us: NDArray[np.float64] = low_us + us_per_record * (offsets - low_offset)
        return passed_us

    def _points_up_to(self, offsets: Numbers, count: int) -> Numbers:
        """Counts the points that are not above these offsets: high watermarks only grow."""
        low, high = np.zeros_like(offsets), np.full_like(offsets, count)
        for _ in range(count.bit_length()):
            middle = (low + high) // 2
            is_up_to = (middle < high) & (self._high_watermark(middle) <= offsets)
            low, high = np.where(is_up_to, middle + 1, low), np.where(is_up_to, high, middle)
        return low

    def _high_watermark(self, points: Numbers) -> Offsets:
        """The high watermarks of the partitions that groups read at a point; the oldest is 0."""
        found: Offsets = self._high_watermarks[self._slots(points), self._place]
        return found

    def _time_us(self, points: Numbers) -> NDArray[np.float64]:
        times_us: NDArray[np.float64] = self._times_us[self._slots(points)]
        return times_us

    def _slots(self, points: Numbers) -> Numbers:
        oldest = max(0, self._seen - MOST_POINTS)
        slots: Numbers = (oldest + points) % MOST_POINTS
        return slots


class SuccessiveSnapshots:
    """Creates the context of each snapshot, one after the other."""

    def __init__(self, layout: Layout) -> None:
        self._offset_times = OffsetTimes(layout)
        self._record_times = RecordTimes()
        self._idle_ratios = IdleRatios()
        self._before: Health | None = None

    def context(self, snapshot: Snapshot, health: Health | None = None) -> SnapshotContext:
        """The context of a snapshot that is later than those before."""
        self._offset_times.add(snapshot)
        context = SnapshotContext(
            health,
            consumer_lag_ms=self._offset_times.lag_ms(snapshot),
            applied=self._record_times.applied(snapshot),
            idle_ratios=self._idle_ratios.of(snapshot),
        )
        before, self._before = self._before, health
        if before is None or health is None:
            return context
        return context._replace(
            speed=speed_between(before, health), window_us=window_between(before, health)
        )
