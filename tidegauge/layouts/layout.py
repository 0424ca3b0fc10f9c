"""The numbers of a cluster: those of ``tidegauge generate``, and what they are by default."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication.release_versions import Mode, Release

#: Of a KRaft cluster, by default.
CONTROLLERS = 3


class LayoutError(TidegaugeError):
    """Numbers that make no cluster; the text names the option."""


@dataclass(frozen=True)
class Layout:
    """The numbers of a cluster; each field is an option of the command."""

    name: str
    brokers: int = 6
    racks: int = 3
    #: None: three, with KRaft.
    controllers: int | None = None
    topics: int = 20
    partitions: int = 300
    replication_factor: int = 3
    min_insync_replicas: int | None = None
    #: Exponents of Zipf's law.
    size_skew: float = 0.6
    rate_skew: float = 1.1
    #: Share of topics.
    idle: float = 0.2
    batches_per_second: float = 200
    consumer_groups: int = 1
    release: str = "4.1"
    mode: Mode | None = None
    duration: str = "5m"
    seed: int = 1

    @property
    def mode_in_force(self) -> Mode:
        """The mode, by default that of the release."""
        return self.mode or Release.parse(self.release).mode()

    @property
    def least_in_sync(self) -> int:
        """The min.insync.replicas of all topics: by default one replica may be missing."""
        if self.min_insync_replicas is not None:
            return self.min_insync_replicas
        return max(1, self.replication_factor - 1)

    @property
    def idle_topics(self) -> int:
        """The number of topics without clients; at least one topic has some."""
        return min(round(self.topics * self.idle), self.topics - 1)

    def options(self) -> list[str]:
        """The options of the command that differ from their defaults."""
        words = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name != "name" and value != field.default:
                text = f"{value:g}" if isinstance(value, float) else str(value)
                words += [f"--{field.name.replace('_', '-')}", text]
        return words
