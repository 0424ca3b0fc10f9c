"""Averages, maxima and rates of the last minute, as Kafka's own metrics keep them.

What is recorded goes into one of two samples. When the newer one is 30 s old, the next value begins
a new one in place of the older. A sample that is a minute old does not count any more. So an
average is that of the last 30 to 60 s.

Source: SampledStat, Rate.windowSize@4.1.0, with metrics.num.samples = 2 and
metrics.sample.window.ms = 30000.
"""

from __future__ import annotations

from tidegauge.compiled.records import Record, i64
from tidegauge.compiled.rules import code, inner_rule, rule

_WINDOW_US = code(30_000_000)


class SampledStat(Record):
    """Values of the last minute: the sample that grows, and the one before it."""

    since_us: i64
    values: i64
    total: i64
    most: i64
    since_before_us: i64
    values_before: i64
    total_before: i64
    most_before: i64


@rule
def record_value(stat: SampledStat, now_us: int, value: int) -> None:
    """Enter a value of now."""
    if stat.values == 0 or now_us - stat.since_us >= _WINDOW_US:
        stat.since_before_us = stat.since_us
        stat.values_before = stat.values
        stat.total_before = stat.total
        stat.most_before = stat.most
        stat.since_us = now_us
        stat.values = 0
        stat.total = 0
        stat.most = 0
    stat.values += 1
    stat.total += value
    stat.most = max(stat.most, value)


@inner_rule
def _counts(since_us: int, now_us: int) -> bool:
    return now_us - since_us < 2 * _WINDOW_US


@rule
def values_in(stat: SampledStat, now_us: int) -> int:
    """How many values count."""
    values = stat.values if _counts(stat.since_us, now_us) else 0
    return values + (stat.values_before if _counts(stat.since_before_us, now_us) else 0)


@rule
def total_of(stat: SampledStat, now_us: int) -> int:
    """The sum of the values that count."""
    total = stat.total if _counts(stat.since_us, now_us) else 0
    return total + (stat.total_before if _counts(stat.since_before_us, now_us) else 0)


@rule
def most_of(stat: SampledStat, now_us: int) -> int:
    """The largest value that counts; 0 if none does."""
    most = stat.most if _counts(stat.since_us, now_us) else 0
    return max(most, stat.most_before if _counts(stat.since_before_us, now_us) else 0)


@rule
def window_us(stat: SampledStat, now_us: int) -> int:
    """The time that the values are of which count: what a rate divides by, at least 30 s."""
    since_us = now_us
    if stat.values_before > 0 and _counts(stat.since_before_us, now_us):
        since_us = stat.since_before_us
    elif stat.values > 0 and _counts(stat.since_us, now_us):
        since_us = stat.since_us
    elapsed_us = now_us - since_us
    return elapsed_us if elapsed_us >= _WINDOW_US else elapsed_us + _WINDOW_US
