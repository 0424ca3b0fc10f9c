"""Virtual time held back, so that people and dashboards can watch it pass."""

from __future__ import annotations

import threading
import time


class Pace:
    """Virtual time goes on ``speed`` times as fast as real time at most."""

    def __init__(self, speed: float) -> None:
        """It counts from the first time that somebody waits for."""
        self._speed = speed
        self._begun: tuple[int, float] | None = None

    def wait_for(self, time_us: int, wakes: threading.Event | None = None) -> None:
        """Wait until virtual time may be ``time_us``, or until ``wakes`` is set."""
        now = time.monotonic()
        if self._begun is None:
            self._begun = (time_us, now)
        begun_us, begun = self._begun
        left = begun + (time_us - begun_us) / (1e6 * self._speed) - now
        if left > 0:
            if wakes is None:
                time.sleep(left)
            else:
                wakes.wait(left)
