"""When records of a quorum's log were written: what brokers have applied, as a time.

A broker reports the time of the last record that it has applied. Offsets and times of the log are
known at each snapshot, and are interpolated between two of them.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.snapshots.snapshot import Snapshot

#: Number of snapshots that are kept.
_MOST_POINTS = 256


class RecordTimes:
    """The end of what is committed, with its times."""

    def __init__(self) -> None:
        self._points: deque[tuple[int, int]] = deque([(-1, 0)], maxlen=_MOST_POINTS)

    def applied_at_us(self, snapshot: Snapshot) -> NDArray[np.float64] | None:
        """By broker, of a snapshot that is later than those before; None: there is no quorum."""
        if not len(snapshot.controllers):
            return None
        newest = int(snapshot.controllers["last_committed_offset"].max())
        if newest > self._points[-1][0]:
            self._points.append((newest, snapshot.time_us))
        offsets, times_us = zip(*self._points, strict=True)
        return np.interp(snapshot.brokers["applied_offset"], offsets, times_us)
