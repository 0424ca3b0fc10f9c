"""The bar that shows how far a run is: virtual time, speed, events, and who holds it up."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tidegauge.commands.output import console

if TYPE_CHECKING:
    from tidegauge.engine import Passed, Progress

#: Speeds are those of the last seconds.
_WINDOW_S = 3.0


@contextmanager
def progress_bar(end_us: int) -> Iterator[Progress | None]:
    """A bar of virtual time on a terminal; nothing elsewhere."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    out = console()
    if not out.is_terminal:
        yield None
        return
    far = TextColumn("{task.completed:.0f} of {task.total:.0f} virtual seconds")
    fast = TextColumn("{task.fields[rates]}")
    with Progress(far, BarColumn(), TimeElapsedColumn(), fast, console=out, transient=True) as bar:
        task = bar.add_task("run", total=end_us / 1e6, rates="starting")
        rates = Rates()

        def show(passed: Passed) -> None:
            words = rates.of(passed, time.monotonic())
            if passed.time_us > end_us:
                words = "over; all faults have ended: waiting until all is well"
            bar.update(task, completed=min(passed.time_us, end_us) / 1e6, rates=words)

        yield show


class Rates:
    """How fast a run goes, by what was told of it in the last seconds."""

    def __init__(self) -> None:
        """Nothing has been told yet."""
        self._told: deque[tuple[float, Passed]] = deque()
        #: The last that is older than that.
        self._before: tuple[float, Passed] | None = None

    def of(self, passed: Passed, now: float) -> str:
        """Speed, events a second and the slowest actor, in words; ``now`` in seconds."""
        self._told.append((now, passed))
        while self._told[0][0] < now - _WINDOW_S and self._told[0] is not self._told[-1]:
            self._before = self._told.popleft()
        then, before = self._before or self._told[0]
        elapsed = now - then
        if elapsed <= 0:
            return ""
        speed = (passed.time_us - before.time_us) / 1e6 / elapsed
        events = (passed.events - before.events) / elapsed
        words = f"{speed:,.3g} times real time, {events:,.0f} events/s"
        busy = {name: spent - before.busy.get(name, 0.0) for name, spent in passed.busy.items()}
        if busy:
            slowest = max(busy, key=lambda name: busy[name])
            words += f", slowest: {slowest} ({100 * busy[slowest] / elapsed:.0f} % CPU)"
        return words
