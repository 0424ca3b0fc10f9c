"""The times of the sends that were offered to producers (``stalls.py``): counts by duration.

A duration falls into one of eight steps of its power of two, so a percentile that is read from the
counts is exact to an eighth: its rank has a place within the step. The longest is exact.
"""

from collections.abc import Sequence

from tidegauge.compiled.records import Record, i64
from tidegauge.compiled.rules import code, rule

#: Steps of each power of two: 2 to the power of this many.
_STEP_BITS = code(3)
_STEPS = 8
#: Durations up to two hours and more, in microseconds; longer ones count as these.
_POWERS = 34
#: The number of buckets of one producer.
BUCKETS = code(_POWERS * _STEPS)


class LatencyCount(Record):
    """The number of sends of about one duration."""

    sends: i64


@rule
def bucket_of(duration_us: int) -> int:
    """The bucket of a duration."""
    power = _STEP_BITS
    while duration_us >> (power + 1) > 0:
        power += 1
    if duration_us < 1 << _STEP_BITS:
        return max(duration_us, 0)
    step = (duration_us >> (power - _STEP_BITS)) - (1 << _STEP_BITS)
    bucket = ((power - _STEP_BITS + 1) << _STEP_BITS) + step
    return min(bucket, BUCKETS - 1)


def least_us(bucket: int) -> int:
    """The shortest duration that belongs to one of the counts, in microseconds."""
    power, step = divmod(bucket, _STEPS)
    return step if power == 0 else (_STEPS + step) << (power - 1)


def percentile_us(counts: Sequence[int], percent: int, longest_us: int) -> int:
    """By nearest rank: so many percent of all took no longer than this; 0 of none.

    Args:
        counts: of each bucket.
        percent: 100 gives the longest.
        longest_us: the longest duration that was counted.
    """
    rank = -(-percent * sum(counts) // 100)
    passed = 0
    for bucket, count in enumerate(counts):
        if count and passed + count >= rank:
            first_us, last_us = least_us(bucket), min(least_us(bucket + 1) - 1, longest_us)
            return first_us + (last_us - first_us) * (rank - passed) // count
        passed += count
    return 0
