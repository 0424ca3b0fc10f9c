"""How idle the threads of voters have been since the snapshot before: Kafka's ``TimeRatio``.

A measurement begins the next interval. In the first one of a process it is the time since its
beginning.
"""

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.snapshots.snapshot import Snapshot


class IdleRatios:
    """The threads at the last snapshot."""

    def __init__(self) -> None:
        self._before: Snapshot | None = None

    def of(self, snapshot: Snapshot) -> NDArray[np.float64]:
        """By node of a quorum; a broker has none. The snapshot is later than those before."""
        nodes = snapshot.raft
        since_us, written_us = nodes["started_us"], nodes["written_us"]
        if self._before is not None:
            known = self._before.raft
            goes_on = known["is_voter"] & (known["started_us"] == nodes["started_us"])
            since_us = np.where(goes_on, self._before.time_us, since_us)
            written_us = written_us - np.where(goes_on, known["written_us"], 0)
        self._before = snapshot
        interval_us = (snapshot.time_us - since_us).clip(1)
        ratio: NDArray[np.float64] = (1 - written_us / interval_us).clip(0, 1)
        return np.where(nodes["is_voter"], ratio, np.nan)
