"""Java's hash of a text, by which Kafka's brokers spread and order partitions."""

from __future__ import annotations


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
