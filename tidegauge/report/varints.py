"""Columns of numbers in few bytes: seven bits in each, the lowest first; the last is below 128."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BITS = 7
_MORE = 128


def varints(values: NDArray[np.int64]) -> bytes:
    """Numbers from 0 on, one after the other."""
    rest = values.astype(np.uint64)
    lengths = np.ones(len(rest), np.int64)
    beyond = rest >> np.uint64(_BITS)
    while beyond.any():
        lengths += beyond > 0
        beyond >>= np.uint64(_BITS)
    starts = np.cumsum(lengths) - lengths
    packed = np.zeros(int(lengths.sum()), np.uint8)
    for place in range(int(lengths.max(initial=0))):
        has = lengths > place
        low = (rest[has] & np.uint64(_MORE - 1)).astype(np.uint8)
        packed[starts[has] + place] = low | np.where(lengths[has] > place + 1, _MORE, 0)
        rest >>= np.uint64(_BITS)
    return packed.tobytes()


def unsigned(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers of either sign as numbers from 0 on: 0, -1, 1, -2 become 0, 1, 2, 3."""
    return (values << 1) ^ (values >> 63)
