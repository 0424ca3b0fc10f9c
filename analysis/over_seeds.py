"""A figure over seeds: how it spreads, and how certain its mean is, or the share of some seeds.

The interval is that of the mean by Student's t (95 %): of a hundred sweeps with other seeds,
ninety-five would have the true mean in it. No figure can be below 0, so neither is the interval. It
rests on values near each other, so there is none where most of them are 0: the number of seeds with
another value means more. Percentiles are of runs, by nearest rank; P99 needs a hundred of them.

The interval of a share is exact (Clopper and Pearson, 1934; 95 %). Of a share that no seed shows it
has an upper bound alone, near 3 in as many as there are seeds: the rule of three.
"""

from collections.abc import Sequence
from functools import cache
from math import cos, log, log1p, pi, sin, sqrt, tan
from typing import NamedTuple

import numpy as np

#: The part of such intervals that contains the true mean.
_LEVEL = 0.95
#: An angle is halved so often until its doubles are next to each other.
_HALVINGS = 60
#: Of fewer seeds the P99 would be their largest value.
_SEEDS_OF_P99 = 100
#: The chance beyond a bound where an interval has two.
_TAIL = (1 - _LEVEL) / 2


class OverSeeds(NamedTuple):
    """The values of a figure in runs that differ in the seed alone."""

    seeds: int
    #: The number of seeds with a value above 0.
    above_zero: int
    mean: float
    #: The bounds of the true mean; None: of a single value, or of values that are mostly 0.
    low: float | None
    high: float | None
    p50: float
    #: None: of fewer than a hundred values.
    p99: float | None
    smallest: float
    largest: float


def over_seeds(values: Sequence[float]) -> OverSeeds:
    """The spread of some values, at least one."""
    array = np.array(values, np.float64)
    seeds, above_zero, mean = len(array), int(np.count_nonzero(array > 0)), float(array.mean())
    low, high = mean_interval(values)
    if low is not None:
        low = max(0.0, low)
    p50, p99 = np.percentile(array, (50, 99), method="inverted_cdf").tolist()
    return OverSeeds(
        *(seeds, above_zero, mean, low, high, p50),
        p99 if seeds >= _SEEDS_OF_P99 else None,
        *(float(array.min()), float(array.max())),
    )


def mean_interval(values: Sequence[float]) -> tuple[float, float] | tuple[None, None]:
    """The bounds of the true mean; None: of a value or none, or of values that are mostly 0."""
    count = len(values)
    if count <= 1 or 2 * np.count_nonzero(values) < count:
        return None, None
    mean = float(np.mean(values))
    error = float(np.std(values, ddof=1)) / count**0.5 * students_t(count - 1)
    return mean - error, mean + error


def percentile(ascending: Sequence[float], hundredths: int) -> float | None:
    """A percentile of sorted values, by nearest rank.

    None: there are too few values on its shorter side, and it would be the smallest or the largest.
    P5 and P95 need twenty values, P25 and P75 four, the median one.
    """
    count = len(ascending)
    if count * min(hundredths, 100 - hundredths) < 100 and hundredths != 50:  # noqa: PLR2004
        return None
    return ascending[-(-count * hundredths // 100) - 1]


@cache
def share_interval(count: int, seeds: int) -> tuple[float, float]:
    """The bounds of the true share, of which some of at least one seed were seen."""
    if count == 0:
        return 0.0, 1 - (1 - _LEVEL) ** (1 / seeds)
    if count == seeds:
        return (1 - _LEVEL) ** (1 / seeds), 1.0
    return _share(count - 1, seeds, 1 - _TAIL), _share(count, seeds, _TAIL)


def _share(most: int, seeds: int, chance: float) -> float:
    """The share of which no more than so many seeds are seen with this chance."""
    counts = np.arange(most + 1)
    # Logarithms: a binomial coefficient of ten thousand seeds is no double.
    ways = np.cumsum(np.log(np.maximum(seeds - counts + 1, 1) / np.maximum(counts, 1)))
    ways -= ways[0]
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        share = (low + high) / 2
        found = np.exp(ways + counts * log(share) + (seeds - counts) * log1p(-share)).sum()
        low, high = (share, high) if found > chance else (low, share)
    return low


@cache
def students_t(freedom: int) -> float:
    """The value that Student's t exceeds on either side with a chance of 5 %.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4: sums for
    whole degrees of freedom, by the angle whose tangent is t / sqrt(freedom).

    Args:
        freedom: the degrees of freedom, one at least.
    """
    low, high = 0.0, pi / 2
    for _ in range(_HALVINGS):
        angle = (low + high) / 2
        low, high = (angle, high) if _within(angle, freedom) < _LEVEL else (low, angle)
    return tan(low) * sqrt(freedom)


def _within(angle: float, freedom: int) -> float:
    """The chance that t is between the values of this angle below 0 and above it."""
    is_odd = freedom % 2
    term, total = cos(angle) if is_odd else 1.0, 0.0
    for degree in range(2 + is_odd, freedom + 1, 2):
        total += term
        term *= cos(angle) ** 2 * (degree - 1) / degree
    return 2 / pi * (angle + sin(angle) * total) if is_odd else sin(angle) * total
