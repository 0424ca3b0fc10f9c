"""The progress of a run: virtual time, speed, events, the slowest actor, the remaining time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tidegauge.engine.contract import Passed
from tidegauge.engine.contract import Progress as RunProgress
from tidegauge.simulation.durations import short_time_text
from tidegauge.views.output import console
from tidegauge.views.run_batch import left_text
from tidegauge.views.working import LINE_S

#: Speeds are those of the last seconds.
_WINDOW_S = 3.0


@contextmanager
def progress_bar(end_us: int) -> Iterator[RunProgress | None]:
    """A bar of virtual time on a terminal; elsewhere a line on standard error every 10 s."""
    out = console()
    if not out.is_terminal:
        yield Lines(end_us, time.monotonic()).tell
        return
    far = TextColumn("{task.completed:.0f} of {task.total:.0f} virtual seconds")
    fast = TextColumn("{task.fields[rates]}")
    with Progress(far, BarColumn(), TimeElapsedColumn(), fast, console=out, transient=True) as bar:
        task = bar.add_task("run", total=end_us / 1e6, rates="starting")
        rates = Rates()

        def show(passed: Passed) -> None:
            words = rates.of(passed, time.monotonic()) + rates.left(end_us)
            if passed.time_us > end_us:
                words = "over; all faults have ended: waiting until the cluster has recovered"
            bar.update(task, completed=min(passed.time_us, end_us) / 1e6, rates=words)

        yield show


class Lines:
    """The progress lines of a run without a terminal."""

    def __init__(self, end_us: int, now_s: float) -> None:
        """Begin now; the run ends at this virtual time."""
        self._end_us = end_us
        self._told_s = now_s
        self._rates = Rates()

    def tell(self, passed: Passed) -> None:
        """Print the progress, if a line is due."""
        line = self.line(passed, time.monotonic())
        if line is not None:
            typer.echo(line, err=True)

    def line(self, passed: Passed, now_s: float) -> str | None:
        """The progress line; None if the last one is less than 10 s old."""
        rates = self._rates.of(passed, now_s)
        if now_s - self._told_s < LINE_S:
            return None
        self._told_s = now_s
        if passed.time_us > self._end_us:
            return "over; all faults have ended: waiting until the cluster has recovered"
        far, end = short_time_text(passed.time_us), short_time_text(self._end_us)
        return f"{far} of {end} of virtual time, {rates}{self._rates.left(self._end_us)}"


class Rates:
    """The speed of a run in the last seconds."""

    def __init__(self) -> None:
        """Begin without any progress."""
        self._told: deque[tuple[float, Passed]] = deque()
        #: The last that is older than that.
        self._before: tuple[float, Passed] | None = None
        #: Virtual microseconds in a second; and how far it is.
        self._speed_us = 0.0
        self._time_us = 0

    def of(self, passed: Passed, now: float) -> str:
        """Speed, events a second and the slowest actor, in words; ``now`` in seconds."""
        self._told.append((now, passed))
        while self._told[0][0] < now - _WINDOW_S and self._told[0] is not self._told[-1]:
            self._before = self._told.popleft()
        then, before = self._before or self._told[0]
        elapsed = now - then
        if elapsed <= 0:
            return ""
        self._speed_us = (passed.time_us - before.time_us) / elapsed
        self._time_us = passed.time_us
        speed = self._speed_us / 1e6
        events = (passed.events - before.events) / elapsed
        words = f"{speed:,.3g} times real time, {events:,.0f} events/s"
        busy = {name: spent - before.busy.get(name, 0.0) for name, spent in passed.busy.items()}
        if busy:
            slowest = max(busy, key=lambda name: busy[name])
            words += f", slowest: {slowest} ({100 * busy[slowest] / elapsed:.0f} % CPU)"
        return words

    def left(self, end_us: int) -> str:
        """The remaining time until this virtual time at that speed; empty if it is unknown."""
        if self._speed_us <= 0 or self._time_us >= end_us:
            return ""
        return left_text((end_us - self._time_us) / self._speed_us)
