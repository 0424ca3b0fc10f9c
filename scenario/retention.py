"""Retention of logs: settings of topics and brokers, and what they come to for a topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tidegauge.scenario.model.settings import OFFSETS_TOPIC, Value

#: Defaults of Kafka (KafkaConfig, LogConfig@2.6.0).
_SEGMENT_BYTES = 2**30
_RETENTION_MS = 7 * 24 * 3_600_000
_CHECK_INTERVAL_MS = 300_000
#: Of a broker: in milliseconds, the most precise first.
_RETENTION_TIMES = (
    ("log.retention.ms", 1),
    ("log.retention.minutes", 60_000),
    ("log.retention.hours", 3_600_000),
)


class Retention(NamedTuple):
    """What is kept of the logs of a topic; None: no limit."""

    segment_bytes: int
    bytes: int | None
    seconds: int | None


def retention_of(
    topic: str, own: Mapping[str, Value], broker: Mapping[str, Value], *, existed: bool
) -> Retention | None:
    """The retention of a topic with these settings on a broker with these; None: all is kept.

    Without a size there is a limit only where a setting says so: logs that begin empty do not grow
    old in a run.
    """
    compacted = "compact" if topic == OFFSETS_TOPIC else "delete"
    policy = own.get("cleanup.policy", broker.get("log.cleanup.policy", compacted))
    size = int(own.get("retention.bytes", broker.get("log.retention.bytes", -1)))
    if "delete" not in str(policy) or (size < 0 and not existed):
        return None
    time_ms = next(
        (int(broker[name]) * unit for name, unit in _RETENTION_TIMES if name in broker),
        _RETENTION_MS,
    )
    time_ms = int(own.get("retention.ms", time_ms))
    segment = own.get("segment.bytes", broker.get("log.segment.bytes", _SEGMENT_BYTES))
    return Retention(
        int(segment),
        None if size < 0 else size,
        None if time_ms < 0 or not existed else max(1, time_ms // 1000),
    )


def check_interval_ms(broker: Mapping[str, Value]) -> int:
    """The interval in which a broker with these settings looks for old segments."""
    return int(broker.get("log.retention.check.interval.ms", _CHECK_INTERVAL_MS))
