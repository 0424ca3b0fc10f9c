"""How long a group's next record has waited: ``kafka_consumer_lag_millis``.

Grafana's fork of kafka_exporter records high watermarks with their times, and derives from them
when the log reached a committed offset: between two of these points it interpolates, before the
oldest it extrapolates at the mean rate. Here time is virtual, and the points are the snapshots.
"""

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.samples.exporter_tables import Offsets, offsets_of_leaders
from tidegauge.metrics.samples.layout import Layout, Numbers
from tidegauge.metrics.snapshots.snapshot import Snapshot

#: Number of snapshots that are kept; the fork keeps a thousand of its scrapes.
MOST_POINTS = 256

#: Below any offset: a high watermark that no leader has reported yet.
_UNKNOWN = -1


class OffsetTimes:
    """The high watermarks of partitions that groups read, with their times."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        _, _, partitions = layout.committed
        #: The partitions that are read, and the place among them of what each group reads.
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
        """When high watermarks passed these offsets, one for each that a group reads."""
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
        """How many of ``count`` points are not above these offsets: high watermarks only grow."""
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
