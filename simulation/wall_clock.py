"""Wall-clock times of logs, and of the run that is made from them.

Lines of logs have wall-clock times; the time 0 of their run is one of these. While such a run is
shown, each of its times is printed with the wall clock's beside it, and may be typed as one: the
functions that print and read times (``simulation/quantities.py``) ask :func:`shown_clock`.

A wall-clock time without a zone is UTC, as in lines without a zone. A time of day alone is
enough where only one day can be meant.
"""

import datetime as dt
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

DAY_MS = 86_400_000

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
#: Durations have neither: ``23:56``, ``2026-11-22``.
_WALL_CLOCK = re.compile(r"\d\d:|\d{4}-\d\d")


class Moment(NamedTuple):
    """A wall-clock time as it is typed, with or without a date."""

    #: Since 1970; without a date since midnight.
    time_ms: int
    has_date: bool


def is_wall_clock(text: str) -> bool:
    """Whether a text is meant as a wall-clock time."""
    return _WALL_CLOCK.match(text.strip()) is not None


def parse_moment(text: str) -> Moment:
    """A wall-clock time: ``2026-11-22T23:56:48``, ``23:56``, also with ``Z`` or ``+02:00``.

    Raises:
        ValueError: the text is not valid.
    """
    said, has_date = text.strip(), "-" in text[:10]
    try:
        if not is_wall_clock(said):
            raise ValueError  # noqa: TRY301 - as for a text that Python refuses
        moment = dt.datetime.fromisoformat(said if has_date else f"1970-01-01T{said}")
    except ValueError:
        raise ValueError(
            f"must be a wall-clock time, such as 2026-11-22T23:56:48 or 23:56, not {text!r}"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    time_ms = (moment - _EPOCH) // dt.timedelta(milliseconds=1)
    return Moment(time_ms if has_date else time_ms % DAY_MS, has_date)


def wall_clock_text(time_ms: int) -> str:
    """A wall-clock time with its date: ``2026-11-22T23:56:48.340``."""
    moment = _EPOCH + dt.timedelta(milliseconds=time_ms)
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds")


class WallClock(NamedTuple):
    """A span of wall-clock time: that of a run, or of the lines of logs."""

    first_ms: int
    last_ms: int

    def time_ms(self, moment: Moment) -> int:
        """The time since 1970 that is meant; without a date the day is that of the span.

        Raises:
            ValueError: the span has this time of day more than once.
        """
        if moment.has_date:
            return moment.time_ms
        days = range(self.first_ms // DAY_MS, self.last_ms // DAY_MS + 1)
        times_ms = [day * DAY_MS + moment.time_ms for day in days]
        first, *others = sorted(times_ms, key=self._distance_ms)
        if others and self._distance_ms(others[0]) == self._distance_ms(first):
            dates = " or ".join(wall_clock_text(each) for each in (first, others[0]))
            raise ValueError(f"is a time of several days: add the date, as in {dates}")
        return first

    def _distance_ms(self, time_ms: int) -> int:
        """The time from a moment to the span; 0 within it."""
        return max(self.first_ms - time_ms, time_ms - self.last_ms, 0)

    def time_us(self, text: str) -> int:
        """The time of the run that a text means; negative before its begin.

        Raises:
            ValueError: the text is not valid, or a time of several days.
        """
        return (self.time_ms(parse_moment(text)) - self.first_ms) * 1000

    def text(self, time_us: int) -> str:
        """A time of the run; a time of day if the run has each only once."""
        return "T".join(self.texts(time_us))

    def texts(self, time_us: int) -> list[str]:
        """The same in parts: the date, if the time of day is not enough; and the time."""
        date, time = wall_clock_text(self.first_ms + int(time_us) // 1000).split("T")
        return [time] if self.last_ms - self.first_ms < DAY_MS else [date, time]


_SHOWN: ContextVar[WallClock | None] = ContextVar("shown_clock", default=None)


def show_clock(clock: WallClock | None) -> None:
    """Print and read times by a run's wall clock, too, until the command ends; None: do not."""
    _SHOWN.set(clock)


@contextmanager
def clock_shown(clock: WallClock | None) -> Iterator[None]:
    """Print and read times by a run's wall clock, too, within a block; None: do not."""
    token = _SHOWN.set(clock)
    try:
        yield
    finally:
        _SHOWN.reset(token)


def shown_clock() -> WallClock | None:
    """The wall clock of the run that the command shows; None: its times are virtual only."""
    return _SHOWN.get()
