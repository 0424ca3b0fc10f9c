"""Where a KRaft controller puts the replicas of a new topic: in stripes over racks.

Racks take turns: a partition begins with the rack after that of the partition before it. Within a
rack brokers take turns, too: with each partition the rack begins with its next broker. After as
many partitions as there are brokers, racks and brokers are shuffled, so that the stripes differ.
All begins at drawn places.

Leaders are balanced over racks, but over brokers only by the shuffles: in three racks of three
brokers each rack leads every third partition, and by then its brokers' turns have come round. So
nine partitions have three leaders. AdminUtils of ZooKeeper mode gives them nine. In a rack that
had its last partition in turn 0, no broker is left for turn 0 after a shuffle: another rack leads.

Left out: brokers that are fenced as the topic is created. Here there is none.

Source: StripedReplicaPlacer, read at 3.3.0 and 3.9.0; between them its placements are the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidegauge.scenario.placement.java_random import JavaRandom


class _Rack:
    """The brokers of a rack, in the order in which they take turns."""

    def __init__(self, brokers: list[int], random: JavaRandom) -> None:
        self.brokers = sorted(brokers)
        self._first = random.below(len(brokers))
        self._turn = 0
        self._taken = 0

    def next_broker(self, turn: int) -> int | None:
        """The next broker for the partition of this turn; None: it has all brokers of the rack.

        Source: StripedReplicaPlacer.BrokerList.next@3.9.0.
        """
        if turn != self._turn:
            self._turn = turn
            self._taken = 0
            self._first = (self._first + 1) % len(self.brokers)
        if self._taken == len(self.brokers):
            return None
        self._taken += 1
        return self.brokers[(self._first + self._taken - 1) % len(self.brokers)]


class StripedReplicaPlacer:
    """The placement of one topic, partition by partition."""

    def __init__(self, rack_of: Mapping[int, str], random: JavaRandom) -> None:
        """Begin at a drawn rack, and in each rack at a drawn broker."""
        in_rack: dict[str, list[int]] = {rack: [] for rack in sorted(set(rack_of.values()))}
        for broker, rack in rack_of.items():
            in_rack[rack].append(broker)
        self._random = random
        self._brokers = len(rack_of)
        #: As they take turns; Kafka shuffles them in the order in which it drew for them.
        self._racks = [_Rack(brokers, random) for brokers in in_rack.values()]
        self._in_order = list(self._racks)
        self._first = random.below(len(self._racks))
        self._turn = 0

    def place(self, replication_factor: int) -> list[int]:
        """The brokers of the next partition, its preferred leader first.

        Source: StripedReplicaPlacer.RackList.place@3.9.0.
        """
        assert replication_factor <= self._brokers
        if self._turn == self._brokers > 1:
            self._shuffle()
        place, leader = self._first_leader()
        replicas = [leader]
        led_from: int | None = place
        place = self._first
        while len(replicas) < replication_factor:
            if place == led_from:
                led_from = None  # only once: a second replica there comes after all other racks
            else:
                broker = self._racks[place].next_broker(self._turn)
                replicas += [] if broker is None else [broker]
            place = (place + 1) % len(self._racks)
        self._turn += 1
        self._first = (self._first + 1) % len(self._racks)
        return replicas

    def _first_leader(self) -> tuple[int, int]:
        """The place of the first rack that has a broker for this turn, and that broker."""
        place = self._first
        while True:
            broker = self._racks[place].next_broker(self._turn)
            if broker is not None:
                return place, broker
            place = (place + 1) % len(self._racks)

    def _shuffle(self) -> None:
        self._turn = 0
        self._random.shuffle(self._racks)
        for rack in self._in_order:
            self._random.shuffle(rack.brokers)
