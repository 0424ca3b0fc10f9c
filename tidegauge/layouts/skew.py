"""Sizes and rates of topics by Zipf's law: that of rank r is proportional to 1 / r ** skew.

A skew of 0 makes all equal. With 1 the first is twice the second and ten times the tenth. Shares
are whole numbers, their sum is exact, and none is less than 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeVar

from tidegauge.scenario.model.replica_placement import JavaRandom

_Item = TypeVar("_Item")

_DRAWN = 2**30


def zipf_shares(total: int, ranks: int, skew: float) -> list[int]:
    """A whole number as a sum of shares by Zipf's law, the largest first.

    Ranks whose share would be less than 1 have 1. The others share the rest.
    """
    assert total >= ranks > 0
    weights = [rank**-skew for rank in range(1, ranks + 1)]
    sums = list(accumulate(weights))
    more = ranks
    while more and (total - (ranks - more)) * weights[more - 1] < sums[more - 1]:
        more -= 1
    return _in_proportion(total - (ranks - more), weights[:more]) + [1] * (ranks - more)


def _in_proportion(total: int, weights: Sequence[float]) -> list[int]:
    """Whole shares of these weights; the largest remainders are rounded up."""
    if not weights:
        return []
    whole = math.fsum(weights)
    exact = [total * weight / whole for weight in weights]
    shares = [math.floor(share) for share in exact]
    by_remainder = sorted(range(len(exact)), key=lambda rank: (shares[rank] - exact[rank], rank))
    for rank in by_remainder[: total - sum(shares)]:
        shares[rank] += 1
    return sorted(shares, reverse=True)


def drawn_order(items: Sequence[_Item], weights: Sequence[int], random: JavaRandom) -> list[_Item]:
    """All items in a drawn order: which is next has the chances of the weights that are left.

    Source: Efraimidis and Spirakis, Weighted random sampling with a reservoir, 2006.
    """
    keys = [-math.log((random.below(_DRAWN) + 1) / (_DRAWN + 1)) / weight for weight in weights]
    places = sorted(range(len(items)), key=lambda place: (keys[place], place))
    return [items[place] for place in places]
