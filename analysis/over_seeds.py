"""A figure over seeds: how it spreads, and how certain its mean is.

The interval is that of the mean by Student's t (95 %): of a hundred sweeps with other seeds,
ninety-five would have the true mean in it. No figure can be below 0, so neither is the interval. It
rests on values near each other, so there is none where most of them are 0: the number of seeds with
another value means more. Percentiles are of runs, by nearest rank; P99 needs a hundred of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit  # type: ignore[import-untyped]  # it comes without types

#: The part of such intervals that contains the true mean.
_LEVEL = 0.95
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
        error = float(array.std(ddof=1)) / seeds**0.5 * float(stdtrit(seeds - 1, (1 + _LEVEL) / 2))
        low, high = max(0.0, mean - error), mean + error
    p50, p99 = np.percentile(array, (50, 99), method="inverted_cdf").tolist()
    return OverSeeds(
        *(seeds, above_zero, mean, low, high, p50),
        p99 if seeds >= _SEEDS_OF_P99 else None,
        *(float(array.min()), float(array.max())),
    )
