"""The contract of a place that measured values are read from: a Prometheus, or files of samples.

All that is asked of it is one kind of aggregation: a function over the samples that each series has
in a window, and then the sum, the mean or an extreme of those series that have certain labels in
common. Prometheus evaluates it itself; of files ``sampled_source.py`` does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import NamedTuple, Protocol

from tidegauge.real_cluster.describe.notices import Notice
from tidegauge.simulation.quantities import format_duration

#: A larger number of seconds is one of milliseconds: the year 5138.
_MOST_SECONDS = 1e11


class Over(Enum):
    """A function over the samples of one series in the window."""

    #: Growth of a counter per second; a fall is a restart.
    RATE = "rate"
    #: Growth of an offset per second; a fall is a truncation.
    GROWTH = "growth"
    MEAN = "mean"
    LAST = "last"
    #: The number of samples.
    COUNT = "count"


class Together(Enum):
    """A function over the series that have the same labels."""

    SUM = "sum"
    MAX = "max"
    MEAN = "avg"


class Selected(NamedTuple):
    """The series of one metric."""

    #: As the place has it.
    name: str
    #: Labels that all of them have.
    labels: Mapping[str, str] = {}
    #: Labels that must not be empty.
    required: tuple[str, ...] = ()


class Window(NamedTuple):
    """A stretch of real time, in seconds since 1970."""

    begin_s: float
    end_s: float

    def __str__(self) -> str:
        """For messages: ``5m up to 2026-11-24 17:40:00 UTC``."""
        seconds = max(round(self.seconds, 1 if self.seconds < 10 else 0), 0)  # noqa: PLR2004
        length = format_duration(round(seconds * 1e6)) if seconds else "0s"
        return f"{length} up to {moment_text(self.end_s)}"

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end_s - self.begin_s


#: Values by the values of the labels that were asked for.
Values = dict[tuple[str, ...], float]


class RateSource(Protocol):
    """A place that has series."""

    #: Its name in messages, without a password.
    place: str
    #: Of the samples that are used; ``settle`` may shorten it.
    window: Window
    notices: list[Notice]

    def names(self, also: Collection[str] = ()) -> Collection[str]:
        """The names of all series that begin with ``kafka_``, and of these if they are there."""

    def settle(self, selected: Selected) -> None:
        """Shorten the window to the part in which these series have samples.

        Raises:
            InputError: they have none in it.
        """

    def read(self, selected: Selected, over: Over, by: Sequence[str], together: Together) -> Values:
        """An aggregation of finite values; series without a value are left out.

        Raises:
            InputError: they cannot be read.
        """


def in_seconds(time: float) -> float:
    """A time since 1970 in seconds, which may be given in milliseconds."""
    return time / 1000 if abs(time) > _MOST_SECONDS else time


def moment_text(time_s: float) -> str:
    """A moment in real time, for messages."""
    try:
        return f"{datetime.fromtimestamp(round(time_s), UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{time_s:g} s"
