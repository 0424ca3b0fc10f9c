"""How long producers waited for their batches to be acknowledged: counts by duration.

A duration falls into one of eight steps of its power of two, so a percentile that is read from the
counts is exact to an eighth. From the moment when the batch was made to the one when its producer
has the answer, all retries included; batches that were given up are not among them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.compiled.records import Record, i64
from tidegauge.compiled.rules import code, rule

#: Steps of each power of two: 2 to the power of this many.
_STEP_BITS = code(3)
_STEPS = 8
#: Durations up to two hours and more, in microseconds; longer ones count as these.
_POWERS = 34
#: How many counts there are for one producer.
BUCKETS = code(_POWERS * _STEPS)


class LatencyCount(Record):
    """How many batches took so long."""

    batches: i64


@rule
def bucket_of(duration_us: int) -> int:
    """Which of the counts a duration belongs to."""
    power = _STEP_BITS
    while duration_us >> (power + 1) > 0:
        power += 1
    if duration_us < 1 << _STEP_BITS:
        return max(duration_us, 0)
    step = (duration_us >> (power - _STEP_BITS)) - (1 << _STEP_BITS)
    bucket = ((power - _STEP_BITS + 1) << _STEP_BITS) + step
    return min(bucket, BUCKETS - 1)


def most_us(bucket: int) -> int:
    """The longest duration that belongs to one of the counts, in microseconds."""
    power, step = divmod(bucket, _STEPS)
    if power == 0:
        return step
    return ((_STEPS + step + 1) << (power - 1)) - 1


def percentile_us(counts: Sequence[int], percent: int) -> int:
    """By nearest rank: so many percent of all took no longer than this; 0 of none."""
    rank = -(-percent * sum(counts) // 100)
    passed = 0
    for bucket, count in enumerate(counts):
        passed += count
        if count and passed >= rank:
            return most_us(bucket)
    return 0
