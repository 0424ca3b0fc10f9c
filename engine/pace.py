"""Virtual time held back, so that people and dashboards can watch it pass."""

from __future__ import annotations

import threading
import time


class Pace:
    """Virtual time goes on ``speed`` times as fast as real time at most."""

    def __init__(self, speed: float) -> None:
        """Virtual time is 0 when somebody waits first."""
        self._speed = speed
        self._begun: float | None = None

    def wait_for(self, time_us: int, wakes: threading.Event | None = None) -> None:
        """Wait until virtual time may be ``time_us``, or until ``wakes`` is set."""
        now = time.monotonic()
        if self._begun is None:
            self._begun = now
        left = self._begun + time_us / (1e6 * self._speed) - now
        if left > 0:
            if wakes is None:
                time.sleep(left)
            else:
                wakes.wait(left)
