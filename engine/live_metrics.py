"""The live metrics of a run: its snapshots are published to the endpoint once a second.

The endpoint renders its last snapshot, so a scrape cannot change the run.
"""

import time

from tidegauge.engine.contract import GroupFigures, LoopFigures
from tidegauge.metrics.endpoint.server import Endpoint
from tidegauge.metrics.samples.successive_snapshots import ActorHealth, Health
from tidegauge.metrics.snapshots.snapshot import Snapshot

#: The least real time between two snapshots: scrapes are not more frequent.
PERIOD_S = 1.0


class LiveMetrics:
    """Publishes the snapshots of a run (``engine.Onlooker``)."""

    def __init__(self, endpoint: Endpoint, speed: float | None) -> None:
        """Publish to an endpoint; the wanted speed is ``speed`` times real time."""
        self._endpoint = endpoint
        self._speed = speed
        self._due_s = 0.0
        #: The real time of virtual time 0, at the wanted speed.
        self._begun_s: float | None = None

    def is_due(self) -> bool:
        """Whether another snapshot is due."""
        return time.monotonic() >= self._due_s

    def look(self, snapshot: Snapshot, figures: LoopFigures) -> None:
        """Publish a snapshot, and the costs of the run so far."""
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
        """The delay of virtual time against the wanted speed."""
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
