"""A run that is watched: what its endpoint shows is published from here, once a second.

The endpoint renders from the last snapshot that it was given, so that whoever scrapes it cannot
change what happens.
"""

from __future__ import annotations

import time

from tidegauge.engine.contract import GroupFigures, LoopFigures
from tidegauge.metrics.endpoint.endpoint import Endpoint
from tidegauge.metrics.samples.health import ActorHealth, Health
from tidegauge.metrics.snapshots.snapshot import Snapshot

#: So much real time passes between two snapshots at least: nobody scrapes more often.
PERIOD_S = 1.0


class LiveMetrics:
    """Publishes what there is to be seen of a run (``engine.Onlooker``)."""

    def __init__(self, endpoint: Endpoint, speed: float | None) -> None:
        """Publish to an endpoint; the run is to go ``speed`` times as fast as real time."""
        self._endpoint = endpoint
        self._speed = speed
        self._due_s = 0.0
        #: When virtual time was 0, had it gone at its speed ever since.
        self._begun_s: float | None = None

    def is_due(self) -> bool:
        """Whether it is time for another snapshot."""
        return time.monotonic() >= self._due_s

    def look(self, snapshot: Snapshot, figures: LoopFigures) -> None:
        """Publish a snapshot, and what it has cost to get there."""
        now_s = time.monotonic()
        self._due_s = now_s + PERIOD_S
        health = Health(
            now_s,
            snapshot.time_us,
            self._speed,
            self._behind_us(now_s, snapshot.time_us),
            sum(group.events for group in figures.groups),
            figures.windows,
            tuple(_actor(group) for group in figures.groups),
        )
        self._endpoint.publish(snapshot, health)

    def _behind_us(self, now_s: float, time_us: int) -> int:
        """How far virtual time is behind where it would be at the wanted speed."""
        if self._speed is None:
            return 0
        if self._begun_s is None:
            self._begun_s = now_s - time_us / 1e6 / self._speed
        return max(0, round((now_s - self._begun_s) * self._speed * 1e6) - time_us)


def _actor(group: GroupFigures) -> ActorHealth:
    return ActorHealth(
        group.name,
        group.events,
        group.kernel_cpu_seconds,
        group.exchange_cpu_seconds,
        group.waiting_cpu_seconds,
        group.told_at_s,
    )
