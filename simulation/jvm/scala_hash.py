"""The order in which Scala goes over a set of replicas, which decides who is handled first.

Up to 1.0 a controller keeps the replicas of dead brokers in a Set. Of up to four elements that
has the order in which they came; a larger one is a HashSet, and is gone over by their hashes.
Source: immutable.HashSet and MurmurHash3.productHash of Scala 2.11 and 2.12, in which Kafka
0.10.2 to 1.0 were built.
"""

from __future__ import annotations

from tidegauge.simulation.jvm.java_hash import java_hash

#: A set with more elements is a HashSet.
MOST_IN_ORDER = 4

_MASK = 0xFFFFFFFF
_PRODUCT_SEED = 0xCAFEBABE
_BITS_OF_LEVEL = 5
_LEVELS = 7


def set_order(topic: str, partition: int, broker: int) -> int:
    """Where a HashSet has a replica: smaller numbers come first.

    Source: PartitionAndReplica@0.10.2.2, a case class of these three.
    """
    hashed = _PRODUCT_SEED
    for element in (java_hash(topic), partition, broker):
        hashed = _mix(hashed, element & _MASK)
    hashed = _improved(_avalanche(hashed ^ 3))
    digit = (1 << _BITS_OF_LEVEL) - 1
    order = 0
    for level in range(_LEVELS):
        order = (order << _BITS_OF_LEVEL) | (hashed >> (_BITS_OF_LEVEL * level) & digit)
    return order


def _mix(hashed: int, element: int) -> int:
    element = _rotated((element * 0xCC9E2D51) & _MASK, 15) * 0x1B873593 & _MASK
    return (_rotated(hashed ^ element, 13) * 5 + 0xE6546B64) & _MASK


def _avalanche(hashed: int) -> int:
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & _MASK
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & _MASK
    return hashed ^ hashed >> 16


def _improved(hashed: int) -> int:
    hashed = (hashed + ~(hashed << 9)) & _MASK
    hashed ^= hashed >> 14
    hashed = (hashed + (hashed << 4)) & _MASK
    return hashed ^ hashed >> 10


def _rotated(bits: int, by: int) -> int:
    return (bits << by | bits >> (32 - by)) & _MASK
