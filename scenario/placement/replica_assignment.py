"""The default placement of the replicas of a new topic: Kafka's round robin over racks.

Brokers are put in an order in which racks take turns. The first replica of partition p is on
the p-th broker of it; the others follow at a distance that grows by one with each round, and
skip racks that have a replica already as long as others have none. With one rack, or none, this is
the same as Kafka's assignment without racks.

Kafka begins each topic at a random broker with a random distance. Here both are 0, in both modes,
unless the scenario wants placements drawn: then the seed and the topic's name decide them, and with
KRaft the replicas go where its own placer puts them (``striped_replica_placer.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from tidegauge.replication.release_versions import KRAFT_MODE, Mode
from tidegauge.scenario.placement.java_random import JavaRandom
from tidegauge.scenario.placement.striped_replica_placer import StripedReplicaPlacer

Placement = Literal["fixed", "drawn"]


def assign_replicas_to_brokers(
    rack_of: Mapping[int, str],
    partitions: int,
    replication_factor: int,
    start: int = 0,
    shift: int = 0,
) -> list[list[int]]:
    """The brokers of each partition, its preferred leader first.

    Args:
        rack_of: the rack of each broker.
        partitions: their number.
        replication_factor: how many replicas each of them has.
        start: the place of the first partition's leader, in the order of racks.
        shift: the rounds by which the distance of the others has grown already.

    Source: AdminUtils.assignReplicasToBrokersRackAware@2.6.0; the same at 0.10.2.2 and 3.9.0.
    """
    assert replication_factor <= len(rack_of)
    brokers = rack_alternated_brokers(rack_of)
    racks = len(set(rack_of.values()))
    return [
        _replicas(
            rack_of,
            brokers,
            (start + number) % len(brokers),
            # From round to round the distance grows by one broker of each rack.
            (shift + number // len(brokers)) * racks,
            replication_factor,
        )
        for number in range(partitions)
    ]


def drawn_placement(
    rack_of: Mapping[int, str],
    partitions: int,
    replication_factor: int,
    mode: Mode,
    random: JavaRandom,
) -> list[list[int]]:
    """The brokers of each partition of a topic that Kafka creates, its preferred leader first."""
    if mode == KRAFT_MODE:
        placer = StripedReplicaPlacer(rack_of, random)
        return [placer.place(replication_factor) for _ in range(partitions)]
    start, shift = random.below(len(rack_of)), random.below(len(rack_of))
    return assign_replicas_to_brokers(rack_of, partitions, replication_factor, start, shift)


def rack_alternated_brokers(rack_of: Mapping[int, str]) -> list[int]:
    """The brokers in an order in which racks take turns.

    Source: AdminUtils.getRackAlternatedBrokerList@2.6.0.
    """
    in_rack: dict[str, list[int]] = {rack: [] for rack in sorted(set(rack_of.values()))}
    for broker in sorted(rack_of):
        in_rack[rack_of[broker]].append(broker)
    rounds = range(max(len(brokers) for brokers in in_rack.values()))
    return [brokers[turn] for turn in rounds for brokers in in_rack.values() if turn < len(brokers)]


def _replicas(
    rack_of: Mapping[int, str], brokers: list[int], first: int, shift: int, replication_factor: int
) -> list[int]:
    racks = len(set(rack_of.values()))
    replicas = [brokers[first]]
    racks_with_replicas = {rack_of[brokers[first]]}
    while len(replicas) < replication_factor:
        distance = 1 + shift % (len(brokers) - 1)
        broker = brokers[(first + distance) % len(brokers)]
        shift += 1
        rack = rack_of[broker]
        if broker not in replicas and (
            rack not in racks_with_replicas or len(racks_with_replicas) == racks
        ):
            replicas.append(broker)
            racks_with_replicas.add(rack)
    return replicas
