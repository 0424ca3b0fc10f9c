"""When records of a quorum's log were written: what nodes have applied, as a time.

Brokers and controllers report the time of the last record that they have applied. Offsets and times
of the log are known at each snapshot, and are interpolated between two of them.
"""

from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.snapshots.snapshot import Snapshot

#: Number of snapshots that are kept.
_MOST_POINTS = 256


class AppliedTimes(NamedTuple):
    """When the last record that a node has applied was written, by broker and by controller."""

    brokers_us: NDArray[np.float64]
    controllers_us: NDArray[np.float64]


class RecordTimes:
    """The end of what is committed, with its times."""

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
