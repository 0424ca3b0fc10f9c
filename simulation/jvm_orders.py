"""The JVM's orders: the hashes of Java and Scala that choose partitions, threads and orders.

Java's hash of a text is the one by which Kafka's brokers spread and order partitions. The order in
which Scala goes over a set of replicas decides which of them is handled first.
"""


def java_hash(text: str) -> int:
    """The 32 bits of String.hashCode."""
    hashed = 0
    for unit in text.encode("utf-16-le")[::2]:
        hashed = (31 * hashed + unit) & 0xFFFFFFFF
    return hashed


def java_abs(bits: int) -> int:
    """Utils.abs of 32 bits: of the smallest number, which has no positive one, it is 0.

    Source: Utils.abs@0.10.2.0 and @2.6.0 of the clients.
    """
    signed = (bits & 0x7FFFFFFF) - (bits & 0x80000000)
    return abs(signed) & 0x7FFFFFFF


#: A set with more elements is a HashSet.
MOST_IN_ORDER = 4

_MASK = 0xFFFFFFFF
_PRODUCT_SEED = 0xCAFEBABE
_BITS_OF_LEVEL = 5
_LEVELS = 7


def set_order(topic: str, partition: int, broker: int) -> int:
    """The place of a replica in a HashSet: smaller numbers come first.

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
