"""An estimator: which lines of a log tell a parameter of the cost model, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tidegauge.real_cluster.costs.cluster_logs import ClusterLogs
from tidegauge.replication.release_versions import Mode

#: With so many partitions the part that has nothing to do with their number does not count.
MANY_PARTITIONS = 100
#: A millisecond, the resolution of a log's time, in microseconds.
MS_US = 1000


class Sample(NamedTuple):
    """A duration that was seen once."""

    value_us: int
    #: The log file that its last line is in, or the metric.
    seen_in: str
    #: Its rank: samples count only where there are none of a lower one.
    choice: int = 0
    #: Of a duration by partition: the number of partitions that it is divided by; 0: it is not.
    partitions: int = 0


class Estimator(NamedTuple):
    """How one parameter is found in logs."""

    #: A field of ``costs``.
    cost: str
    #: None: both.
    mode: Mode | None
    #: From which line to which, for people.
    source: str
    #: The literals of these lines.
    markers: tuple[str, ...]
    samples: Callable[[ClusterLogs], Iterable[Sample]]
    #: What the duration holds besides, or lacks; empty: nothing of note.
    bias: str = ""


def per_part(begin_ms: int, end_ms: int, parts: int) -> int:
    """The microseconds of each of some parts; half a millisecond where the clock has not moved."""
    return max((end_ms - begin_ms) * MS_US, MS_US // 2) // max(parts, 1)


def chosen(samples: Iterable[Sample]) -> list[Sample]:
    """The samples of the first choice that there is."""
    every = list(samples)
    best = min((sample.choice for sample in every), default=0)
    return [sample for sample in every if sample.choice == best]
