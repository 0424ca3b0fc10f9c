"""Which replicas the settings of a topic throttle, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tidegauge.replication.replica_list import pack
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.settings import THROTTLED_REPLICAS, Value, throttled_replicas


class ThrottledPartition(NamedTuple):
    """The replicas of a partition that are throttled; -1: that setting is not said."""

    partition: int
    #: What they send as leaders, and what they fetch as followers: replica lists.
    leaders: int
    followers: int


def throttled_partitions(
    plan: ClusterPlan, topic: str, settings: Mapping[str, Value]
) -> list[ThrottledPartition]:
    """What a topic's settings say of each of its partitions; none if they say nothing of it."""
    said = [settings.get(name) for name in THROTTLED_REPLICAS]
    if all(value is None for value in said):
        return []
    return [
        ThrottledPartition(number, *(_slots(plan, number, value) for value in said))
        for number, partition in enumerate(plan.partitions)
        if partition.topic == topic
    ]


def _slots(plan: ClusterPlan, number: int, value: Value | None) -> int:
    """The slots of a partition that a setting names; brokers without a replica do not count."""
    if value is None:
        return -1
    partition = plan.partitions[number]
    pairs = throttled_replicas(str(value))
    if pairs is None:
        return pack(range(len(partition.slots)))
    named = {broker for part, broker in pairs if part == partition.number}
    return pack(
        slot for slot, broker in enumerate(partition.slots) if plan.brokers[broker] in named
    )
