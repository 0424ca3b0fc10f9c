"""Where the replicas of a new topic go, if nobody says so: Kafka's round robin over racks.

Brokers are put in an order in which racks take turns. The first replica of partition p is on
the p-th broker of it; the others follow at a distance that grows by one with each round, and
skip racks that have a replica already as long as others have none. Kafka begins at a random
broker with a random distance, which would make every run another one; here both are 0.

With one rack, or none, this is the same as Kafka's assignment without racks.
"""

from __future__ import annotations

from collections.abc import Mapping


def assign_replicas_to_brokers(
    rack_of: Mapping[int, str], partitions: int, replication_factor: int
) -> list[list[int]]:
    """The brokers of each partition, its preferred leader first.

    Source: AdminUtils.assignReplicasToBrokersRackAware@2.6.0 with fixedStartIndex 0.
    """
    assert replication_factor <= len(rack_of)
    brokers = rack_alternated_brokers(rack_of)
    return [_replicas(rack_of, brokers, number, replication_factor) for number in range(partitions)]


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
    rack_of: Mapping[int, str], brokers: list[int], number: int, replication_factor: int
) -> list[int]:
    racks = len(set(rack_of.values()))
    first = number % len(brokers)
    # From round to round the distance grows by one broker of each rack.
    shift = number // len(brokers) * racks
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
