"""The places of replicas of a topic without an assignment, as Kafka places those of a new topic.

**The default** is Kafka's round robin over racks. Brokers are put in an order in which racks take
turns. The first replica of partition p is on the p-th broker of it; the others follow at a distance
that grows by one with each round, and skip racks that have a replica already as long as others have
none. With one rack, or none, this equals Kafka's assignment without racks.

Kafka begins each topic at a random broker with a random distance. Here both are 0, in both modes,
unless the scenario asks for drawn placements: then the seed and the topic's name decide them, by
Java's random numbers, and with KRaft its own placer is used.

**KRaft's placer** makes stripes over racks (``StripedReplicaPlacer``), from drawn places on. A
partition begins with the rack after that of the partition before it, and each rack with its next
broker. After as many partitions as there are brokers, racks and brokers are shuffled, so that the
stripes differ.

Leaders are balanced over racks, but over brokers only by the shuffles: in three racks of three
brokers each rack leads every third partition, and by then its brokers' turns have come round. So
nine partitions have three leaders. AdminUtils of ZooKeeper mode gives them nine. In a rack that had
its last partition in turn 0, no broker is left for turn 0 after a shuffle: another rack leads.

Left out: brokers that are fenced as the topic is created. Here there is none.

Source: StripedReplicaPlacer, read at 3.3.0 and 3.9.0; between them its placements are the same.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from tidegauge.replication.release_versions import KRAFT_MODE, Mode

_Item = TypeVar("_Item")

_BITS = 48
_MASK = (1 << _BITS) - 1
_MULTIPLIER = 0x5DEECE66D
_INCREMENT = 0xB
_DRAWN_BITS = 31
_SEED_BYTES = _BITS // 8


#: Rows of which lists are made at the same time.
_AT_ONCE = 4096

#: Behind the last broker of a partition that has fewer than others.
_NO_BROKER = -1


class Assignments(Sequence[list[int]]):
    """The ids of the brokers of each partition of a topic, the preferred leader first.

    A million partitions are one array: a list is made of a row when it is asked for.
    """

    def __init__(self, table: NDArray[np.int64]) -> None:
        """Take an array with a row for each partition; -1 fills rows with fewer brokers."""
        self.table = table

    @classmethod
    def of(cls, brokers: Sequence[Sequence[int]]) -> Self:
        """The assignments with these brokers of each partition."""
        counts = np.fromiter(map(len, brokers), np.int64, len(brokers))
        table = np.full((len(brokers), counts.max(initial=0)), _NO_BROKER)
        table[np.arange(table.shape[1]) < counts[:, None]] = [id_ for ids in brokers for id_ in ids]
        return cls(table)

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of brokers of each partition."""
        return np.asarray(np.count_nonzero(self.table != _NO_BROKER, axis=1))

    @property
    def flat(self) -> NDArray[np.int64]:
        """The brokers of all partitions, one partition behind the other."""
        return np.asarray(self.table[self.table != _NO_BROKER])

    def on_any(self, brokers: Iterable[int]) -> NDArray[np.bool_]:
        """For each replica, in the places of the array, whether one of these brokers has it."""
        return np.isin(self.table, list(brokers))

    def replaced(self, brokers: Mapping[int, Sequence[int]]) -> Self:
        """The same with other brokers for some partitions, by their numbers."""
        return self.of([brokers.get(number, own) for number, own in enumerate(self)])

    @overload
    def __getitem__(self, place: int) -> list[int]: ...

    @overload
    def __getitem__(self, place: slice) -> Self: ...

    def __getitem__(self, place: int | slice) -> list[int] | Self:
        if isinstance(place, slice):
            return type(self)(self.table[place])
        row = self.table[place]
        return [int(broker) for broker in row if broker != _NO_BROKER]

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[list[int]]:
        for first in range(0, len(self), _AT_ONCE):
            for row in self.table[first : first + _AT_ONCE].tolist():
                yield [broker for broker in row if broker != _NO_BROKER]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def by_number(assignments: Assignments) -> dict[str, list[int]]:
    """The brokers of each partition, by its number as text: as a scenario in JSON has them."""
    return {str(number): brokers for number, brokers in enumerate(assignments)}


class JavaRandom:
    """The numbers of a java.util.Random: a linear congruential generator of 48 bits.

    Source: the documentation of java.util.Random, whose numbers each Java must give.
    """

    def __init__(self, seed: int) -> None:
        """Begin with a seed; only its lower 48 bits count."""
        self._state = (seed ^ _MULTIPLIER) & _MASK

    @classmethod
    def of(cls, seed: int, name: str) -> Self:
        """The numbers for one subject of a scenario: no other subject changes them.

        The seed is hashed, as the first numbers of neighbouring seeds are nearly the same.
        """
        digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
        return cls(int.from_bytes(digest[:_SEED_BYTES], "big"))

    def below(self, limit: int) -> int:
        """A number from 0 to ``limit`` - 1: Random.nextInt(limit)."""
        assert 0 < limit < 1 << _DRAWN_BITS
        if limit & (limit - 1) == 0:
            return (limit * self._drawn()) >> _DRAWN_BITS
        while True:
            drawn = self._drawn()
            # The last numbers, too few for each remainder, are drawn again.
            if drawn - drawn % limit + limit <= 1 << _DRAWN_BITS:
                return drawn % limit

    def shuffle(self, items: list[_Item]) -> None:
        """Put the items into another order: Collections.shuffle."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]

    def _drawn(self) -> int:
        self._state = (self._state * _MULTIPLIER + _INCREMENT) & _MASK
        return self._state >> (_BITS - _DRAWN_BITS)


Placement = Literal["fixed", "drawn"]


def assign_replicas_to_brokers(
    rack_of: Mapping[int, str],
    partitions: int,
    replication_factor: int,
    start: int = 0,
    shift: int = 0,
) -> Assignments:
    """The brokers of each partition, its preferred leader first.

    Args: rack_of: the rack of each broker. partitions: their number. replication_factor: the number
    of replicas of each of them. start: the place of the first partition's leader, in the order of
    racks. shift: the rounds by which the distance of the others has grown already.

    Source: AdminUtils.assignReplicasToBrokersRackAware@2.6.0; the same at 0.10.2.2 and 3.9.0.
    """
    assert replication_factor <= len(rack_of)
    brokers = rack_alternated_brokers(rack_of)
    racks = np.unique([rack_of[broker] for broker in brokers], return_inverse=True)[1]
    rack_count = int(racks.max()) + 1
    numbers = np.arange(partitions)
    # Places in the order of racks; all partitions get their next replica at the same time.
    places = np.empty((partitions, replication_factor), np.int64)
    places[:, 0] = (start + numbers) % len(brokers)
    # From round to round the distance grows by one broker of each rack.
    shifts = (shift + numbers // len(brokers)) * rack_count
    for replica in range(1, replication_factor):
        waiting = numbers
        while len(waiting):
            others = places[waiting, :replica]
            distances = 1 + shifts[waiting] % (len(brokers) - 1)
            found = (others[:, 0] + distances) % len(brokers)
            shifts[waiting] += 1
            places[waiting, replica] = found
            is_taken = (others == found[:, None]).any(axis=1)
            if replica < rack_count:
                # Each replica so far is in a rack of its own.
                is_taken |= (racks[others] == racks[found][:, None]).any(axis=1)
            waiting = waiting[is_taken]
    return Assignments(np.array(brokers)[places])


def drawn_placement(
    rack_of: Mapping[int, str],
    partitions: int,
    replication_factor: int,
    mode: Mode,
    random: JavaRandom,
) -> Assignments:
    """The brokers of each partition of a topic that Kafka creates, its preferred leader first."""
    if mode == KRAFT_MODE:
        placer = StripedReplicaPlacer(rack_of, random)
        return Assignments.of([placer.place(replication_factor) for _ in range(partitions)])
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
