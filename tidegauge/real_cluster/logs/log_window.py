"""The part of the logs that a run is made of: a window of wall-clock time.

A run begins with the states that the cluster had at the begin of its window: what happened before
is left out, but for the last state of each partition, broker and controller. Logs of more than a
day have their last day with events as the window, unless another is named.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from tidegauge.real_cluster.logs.broker_states import (
    ABSENT,
    ACTIVE,
    BrokerChange,
    ControllerChange,
    Life,
)
from tidegauge.real_cluster.logs.log_files import LogsError
from tidegauge.real_cluster.logs.partition_states import State
from tidegauge.simulation.quantities import MAX_DURATION_US, format_duration
from tidegauge.simulation.wall_clock import DAY_MS, Moment, WallClock, wall_clock_text

_MINUTE_MS = 60_000


class LogWindow(NamedTuple):
    """The window that is asked for; None: from the first line on, or up to the last one."""

    begin: Moment | None = None
    end: Moment | None = None
    #: The middle of the window, instead of both.
    around: Moment | None = None
    within_ms: int = 0

    @property
    def is_asked_for(self) -> bool:
        """Whether any of its times is named."""
        return (self.begin, self.end, self.around) != (None, None, None)

    def span(self, lines: WallClock, last_event_ms: int) -> WallClock:
        """The window within the lines.

        Args:
            lines: from the first line to the last one.
            last_event_ms: the last line about the state of a partition or a broker.

        Raises:
            LogsError: the window has none of the lines, is longer than a run can be, or a time is
                that of several days.
        """
        begin_ms, end_ms = self._ends(lines, last_event_ms)
        if begin_ms > lines.last_ms or end_ms < lines.first_ms:
            begin, end = map(wall_clock_text, lines)
            raise LogsError(f"no line is in this time: the logs go from {begin} to {end}")
        if end_ms < begin_ms:
            begin, end = map(wall_clock_text, (begin_ms, end_ms))
            raise LogsError(f"--to {end}: is before --from {begin}")
        span = WallClock(max(begin_ms, lines.first_ms), min(end_ms, lines.last_ms))
        if (span.last_ms - span.first_ms + 1) * 1000 > MAX_DURATION_US:
            begin, end = map(wall_clock_text, span)
            most = format_duration(MAX_DURATION_US)
            raise LogsError(f"a run has {most} at most: name --from and --to within {begin}, {end}")
        return span

    def _ends(self, lines: WallClock, last_event_ms: int) -> tuple[int, int]:
        if self.around is not None:
            middle_ms = _resolved("--around", self.around, lines)
            return middle_ms - self.within_ms, middle_ms + self.within_ms
        begin_ms, end_ms = lines
        if not self.is_asked_for and end_ms - begin_ms > DAY_MS:
            # From a full minute on, and less than a day: each time of day is there once.
            return (last_event_ms - DAY_MS) // _MINUTE_MS * _MINUTE_MS + _MINUTE_MS, last_event_ms
        if self.begin is not None:
            begin_ms = _resolved("--from", self.begin, lines)
        if self.end is not None:
            end_ms = _resolved("--to", self.end, lines)
        return begin_ms, end_ms


ALL_OR_LAST_DAY = LogWindow()


def _resolved(option: str, moment: Moment, lines: WallClock) -> int:
    try:
        return lines.time_ms(moment)
    except ValueError as error:
        raise LogsError(f"{option}: {error}") from error


def states_within(states: Iterable[State], span: WallClock) -> list[State]:
    """The states of a partition in a window: the one at its begin is there already."""
    kept: list[State] = []
    for state in states:
        if state.time_ms < span.first_ms:
            at_begin = replace(state, created=False, time_ms=span.first_ms)
            kept = [] if state.deleted else [at_begin]
        elif state.time_ms <= span.last_ms:
            kept.append(state)
    return kept


def lives_within(lives: Iterable[Life], span: WallClock) -> list[Life]:
    """The processes that run in a window; those that run at its begin do not start in it."""
    kept = []
    for life in lives:
        if life.begin_ms > span.last_ms or (
            life.end_ms is not None and life.end_ms < span.first_ms
        ):
            continue
        started_ms, end_ms = life.started_ms, life.end_ms
        if started_ms is not None and not span.first_ms <= started_ms <= span.last_ms:
            started_ms = None
        if end_ms is not None and end_ms > span.last_ms:
            end_ms = None
        kept.append(life._replace(started_ms=started_ms, end_ms=end_ms))
    return kept


def ends_before(lives: Iterable[Life], span: WallClock) -> dict[int, int]:
    """By node, the last end of a process before a window."""
    ends_ms: dict[int, int] = {}
    for life in lives:
        if life.end_ms is not None and life.end_ms < span.first_ms:
            ends_ms[life.node] = max(life.end_ms, ends_ms.get(life.node, -1))
    return ends_ms


def brokers_within(
    changes: Iterable[BrokerChange], span: WallClock
) -> tuple[list[BrokerChange], frozenset[int]]:
    """The changes of brokers' states in a window, and the brokers that are active at its begin.

    A broker that is fenced then, or shuts down, is so as the window begins.
    """
    before: dict[int, BrokerChange] = {}
    kept = []
    for change in changes:
        if change.time_ms < span.first_ms:
            before[change.broker] = change
        elif change.time_ms <= span.last_ms:
            kept.append(change)
    active = frozenset(broker for broker, last in before.items() if last.state == ACTIVE)
    others = [
        last._replace(time_ms=span.first_ms)
        for last in before.values()
        if last.state not in (ABSENT, ACTIVE)
    ]
    return [*others, *kept], active


def controllers_within(
    changes: Iterable[ControllerChange], span: WallClock
) -> list[ControllerChange]:
    """The active controllers in a window; the first is active as it begins."""
    kept: list[ControllerChange] = []
    for change in changes:
        if change.time_ms < span.first_ms:
            kept = [change._replace(time_ms=span.first_ms)]
        elif change.time_ms <= span.last_ms:
            kept.append(change)
    return kept
