"""A figure over seeds: how it spreads, and how certain its mean is.

The interval is that of the mean by Student's t (95 %): of a hundred sweeps with other seeds,
ninety-five would have the true mean in it. No figure can be below 0, so neither is the interval. It
rests on values near each other, so there is none where most of them are 0: the number of seeds with
another value means more. Percentiles are of runs, by nearest rank; P99 needs a hundred of them.
"""

from collections.abc import Sequence
from functools import cache
from math import cos, pi, sin, sqrt, tan
from typing import NamedTuple

import numpy as np

#: The part of such intervals that contains the true mean.
_LEVEL = 0.95
#: An angle is halved so often until its doubles are next to each other.
_HALVINGS = 60
#: Of fewer seeds the P99 would be their largest value.
_SEEDS_OF_P99 = 100


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
    low = high = None
    if seeds > 1 and 2 * above_zero >= seeds:
        error = float(array.std(ddof=1)) / seeds**0.5 * students_t(seeds - 1)
        low, high = max(0.0, mean - error), mean + error
    p50, p99 = np.percentile(array, (50, 99), method="inverted_cdf").tolist()
    return OverSeeds(
        *(seeds, above_zero, mean, low, high, p50),
        p99 if seeds >= _SEEDS_OF_P99 else None,
        *(float(array.min()), float(array.max())),
    )


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
