"""Java's hash of a text, by which Kafka's brokers spread and order partitions."""

from __future__ import annotations


def java_hash(text: str) -> int:
    """The 32 bits of String.hashCode."""
    hashed = 0
    for unit in text.encode("utf-16-le")[::2]:
        hashed = (31 * hashed + unit) & 0xFFFFFFFF
    return hashed
