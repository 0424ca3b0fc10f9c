"""An estimator: which lines of a log tell a parameter of the cost model, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tidegauge.calibration.cluster_logs import ClusterLogs
from tidegauge.replication.release_versions import Mode

#: A millisecond, the resolution of a log's time, in microseconds.
MS_US = 1000


class Sample(NamedTuple):
    """A duration that was seen once."""

    value_us: int
    #: The log file that its last line is in, or the metric.
    seen_in: str
    #: It counts only where no sample of the first choice is.
    second_choice: bool = False


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
    """The samples of the first choice, or all if there are none."""
    every = list(samples)
    return [sample for sample in every if not sample.second_choice] or every
