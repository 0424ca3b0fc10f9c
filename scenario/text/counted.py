"""How many of something, in words."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """A number with its noun: ``1 broker``, ``20,000 partitions``, ``2 leader epochs``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural(noun)}"


def plural(noun: str) -> str:
    """Several of it: partitions, batches, replicas."""
    return f"{noun}es" if noun.endswith(("tch", "s", "x")) else f"{noun}s"
