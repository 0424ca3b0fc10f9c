"""Counts and durations in words."""

from __future__ import annotations

_MILLISECOND_US, _SECOND_US = 1_000, 1_000_000


def counted(number: int, noun: str) -> str:
    """A number with its noun: ``1 broker``, ``20,000 partitions``, ``2 leader epochs``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural(noun)}"


def plural(noun: str) -> str:
    """Several of it: partitions, batches, replicas."""
    return f"{noun}es" if noun.endswith(("tch", "s", "x")) else f"{noun}s"


def duration_text(duration_us: int) -> str:
    """A duration in a suitable unit: ``650 us``, ``6.18 ms``, ``12.35 s``."""
    if duration_us < _MILLISECOND_US:
        return f"{duration_us} us"
    if duration_us < _SECOND_US:
        return f"{duration_us / _MILLISECOND_US:.2f} ms"
    return f"{duration_us / _SECOND_US:.2f} s"
