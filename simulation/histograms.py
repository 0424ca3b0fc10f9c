"""Histograms of times, as Kafka's metrics keep them: what was measured lately counts most.

Kafka (Yammer's ``ExponentiallyDecayingSample``, with its alpha of 0.015 per second) draws a sample
in which a value that is 46.2 s older is half as likely. Nothing is drawn here: every value counts,
in a bucket, with a weight that doubles every 46.2 s. As in Kafka, a histogram that gets no new
values stays as it is.

Values are rounded to milliseconds, as Kafka rounds them. Below 32 ms each has its own bucket; above
that 16 buckets of equal width share a power of two, so that the middle of a bucket is at most
1/32 (3.1 %) from a value in it. The last bucket begins at 17 minutes.

A histogram is ``BUCKETS`` records in a row.
"""

from __future__ import annotations

from tidegauge.compiled.records import Record, Records, i64
from tidegauge.compiled.rules import code, inner_rule, rule

#: Buckets up to 31 << 15 ms.
BUCKETS = code(272)

#: Buckets of one width.
_WIDTHS = code(16)
#: After so long a weight is half as much: ln(2) / 0.015.
_HALF_LIFE_US = code(46_209_812)
#: Weights up to 2 ** 32 leave room for 2 ** 30 values.
_MOST_HALVES = code(32)
_MOST_SHIFT = code(62)


class Bucket(Record):
    """The sum of the weights of the values in one bucket."""

    weight: i64


class Measured(Record):
    """Something that histograms are kept of."""

    #: When the weights in them are 1.
    since_us: i64


class ErrorCount(Record):
    """Responses, or partitions in them, with one error."""

    responses: i64


@rule
def bucket_of(time_us: int) -> int:
    """The bucket of a time."""
    time_ms = (time_us + 500) // 1000
    halves = 0
    while time_ms >= 2 * _WIDTHS:
        time_ms >>= 1
        halves += 1
    return min(halves * _WIDTHS + time_ms, BUCKETS - 1)


@rule
def middle_ms(bucket: int) -> int:
    """The time in the middle of a bucket."""
    if bucket < 2 * _WIDTHS:
        return bucket
    halves = bucket // _WIDTHS - 1
    return ((bucket - halves * _WIDTHS) << halves) + ((1 << halves) >> 1)


@inner_rule
def weight_at(now_us: int, measured: Measured, buckets: Records[Bucket]) -> int:
    """The weight of a value of now in histograms; if it is too large, others fade first."""
    halves = (now_us - measured.since_us) // _HALF_LIFE_US
    if halves >= _MOST_HALVES:
        shift = min(halves, _MOST_SHIFT)
        for index in range(len(buckets)):
            buckets[index].weight >>= shift
        measured.since_us += halves * _HALF_LIFE_US
        halves = 0
    return 1 << halves


@rule
def faded_by(since_us: int, until_us: int) -> int:
    """By how many bits weights that were 1 at ``since_us`` fade, for 1 to be that of later."""
    return min((until_us - since_us) // _HALF_LIFE_US, _MOST_SHIFT)


@rule
def total_weight(buckets: Records[Bucket]) -> int:
    """The weight of all values of a histogram; 0 if there are none."""
    total = 0
    for index in range(len(buckets)):
        total += buckets[index].weight
    return total


@rule
def quantile_ms(buckets: Records[Bucket], total: int, thousandths: int) -> int:
    """The value that so many thousandths of a histogram's weight do not exceed."""
    below = 0
    for index in range(len(buckets)):
        below += buckets[index].weight
        # ``below / total >= thousandths / 1000``, where products could be too large.
        if (
            total > 0
            and below
            >= (total // 1000) * thousandths + ((total % 1000) * thousandths + 999) // 1000
        ):
            return middle_ms(index)
    return 0
