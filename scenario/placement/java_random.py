"""Java's random numbers, which Kafka draws to place the replicas of a new topic."""

from __future__ import annotations

import hashlib
from typing import Self, TypeVar

_Item = TypeVar("_Item")

_BITS = 48
_MASK = (1 << _BITS) - 1
_MULTIPLIER = 0x5DEECE66D
_INCREMENT = 0xB
_DRAWN_BITS = 31
_SEED_BYTES = _BITS // 8


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
