"""The progress of a command: of one run, of many, and of work without a bar."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import short_time_text
from tidegauge.views.output import console

if TYPE_CHECKING:
    # They would import the compiler and the engine, which most commands with a progress do without.
    from tidegauge.compiled.compile_all import Compiled
    from tidegauge.engine.contract import Passed
    from tidegauge.engine.contract import Progress as RunProgress

#: The seconds between two lines, where there is no terminal.
LINE_S = 10.0


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Show a spinner on a terminal; elsewhere a line on standard error every 10 s.

    Args:
        what: the activity in words, such as ``reads runs/first``.

    Yields:
        The function to call with other words, once the activity changes.
    """
    began_s = time.monotonic()
    out = console()
    if out.is_terminal:
        with out.status(what) as status:
            yield lambda words: status.update(_so_far(words, began_s))
        return
    words = [what]
    ended = threading.Event()

    def tell() -> None:
        while not ended.wait(LINE_S):
            typer.echo(_so_far(words[-1], began_s), err=True)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield words.append
    finally:
        ended.set()
        teller.join()


def _so_far(words: str, began_s: float) -> str:
    return f"{words}: {time.monotonic() - began_s:.0f} s so far"


#: Speeds are those of the last seconds.
_WINDOW_S = 3.0


@contextmanager
def progress_bar(end_us: int, begin_us: int = 0) -> Iterator[RunProgress | None]:
    """A bar of virtual time on a terminal; elsewhere a line on standard error every 10 s.

    Args:
        end_us: the end of the run.
        begin_us: the time from which it runs.
    """
    out = console()
    if not out.is_terminal:
        yield Lines(end_us, time.monotonic()).tell
        return
    far = TextColumn("{task.completed:.0f} of {task.total:.0f} virtual seconds")
    fast = TextColumn("{task.fields[rates]}")
    with Progress(far, BarColumn(), TimeElapsedColumn(), fast, console=out, transient=True) as bar:
        task = bar.add_task("run", total=end_us / 1e6, rates="starting")
        bar.update(task, completed=begin_us / 1e6)
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
        #: Virtual microseconds in a second; and the time reached.
        self._speed_us = 0.0
        self._time_us = 0

    def of(self, passed: Passed, now: float) -> str:
        """Speed, events a second and the slowest actor, in words; ``now`` in seconds."""
        if passed.time_us < self._time_us:
            # It has begun again from a snapshot.
            self._told.clear()
            self._before = None
        self._time_us = passed.time_us
        self._told.append((now, passed))
        while self._told[0][0] < now - _WINDOW_S and self._told[0] is not self._told[-1]:
            self._before = self._told.popleft()
        then, before = self._before or self._told[0]
        elapsed = now - then
        if elapsed <= 0:
            return ""
        self._speed_us = (passed.time_us - before.time_us) / elapsed
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


#: Without a terminal a line shows the progress: after this part of all runs, but not more often
#: than this, or after this time.
_LINE_SHARE = 0.1
_OFTEN_S = 2.0
_LINE_S = 30.0

#: Times up to these are shown in seconds, and in minutes.
_IN_SECONDS_S = 90.0
_IN_MINUTES_S = 5400.0


def check_jobs(jobs: int | None) -> None:
    """Fail if the number of parallel runs is less than one."""
    if jobs is not None and jobs < 1:
        raise TidegaugeError(f"--jobs {jobs}: must be 1 or more")


def jobs_of(jobs: int | None, runs: int) -> int:
    """The number of processes: the given one, or that of CPUs; at most one for each run."""
    check_jobs(jobs)
    return min(jobs or os.cpu_count() or 1, runs)


def make_batch_folder(out: Path) -> None:
    """Make the folder for all runs; the command ends if the folder is not empty."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise TidegaugeError(f"{out}: is not empty, and a run never overwrites another")
    except OSError as error:
        raise TidegaugeError(f"{out}: cannot be written to: {error.strerror}") from error


@contextmanager
def runs_progress(total: int, before: int = 0) -> Iterator[Callable[[], None]]:
    """Show a bar of runs with the remaining time, or without a terminal a line at times.

    Args:
        total: the number of all runs.
        before: the number of runs that were finished before.

    Yields:
        The function to call when a run has ended.
    """
    pace = BatchPace(total, before, time.monotonic())
    out = console()
    if not out.is_terminal:
        yield lambda: _say(pace.line(time.monotonic()))
        return
    text = TextColumn("{task.completed} of {task.total} runs{task.fields[left]}")
    with Progress(text, BarColumn(), TimeElapsedColumn(), console=out, transient=True) as bar:
        task = bar.add_task("runs", total=total, completed=before, left="")

        def advance() -> None:
            pace.line(time.monotonic())
            bar.update(task, completed=pace.done, left=pace.left(time.monotonic()))

        yield advance


def _say(line: str | None) -> None:
    if line is not None:
        typer.echo(line)


class BatchPace:
    """The progress of many runs, and the time for the rest at the same pace."""

    def __init__(self, total: int, before: int, now_s: float) -> None:
        """Begin, with ``before`` of ``total`` runs finished."""
        self.done = before
        self._total = total
        self._before = before
        self._first_s = now_s
        self._told_s = now_s
        self._told = before

    def left(self, now_s: float) -> str:
        """The remaining time, in words; empty while it is unknown, and when all is done."""
        remaining = self._total - self.done
        # The time until the first one ended includes the start of processes.
        since_first = self.done - self._before - 1
        if not remaining or since_first < 1:
            return ""
        return left_text((now_s - self._first_s) / since_first * remaining)

    def line(self, now_s: float) -> str | None:
        """Count one more finished run, and return the line to print, if one is due."""
        if self.done == self._before:
            self._first_s = now_s
        self.done += 1
        since_s = now_s - self._told_s
        is_much = self.done - self._told >= _LINE_SHARE * self._total and since_s >= _OFTEN_S
        if self.done == self._total or not (is_much or since_s >= _LINE_S):
            return None
        self._told_s, self._told = now_s, self.done
        return f"{self.done} of {counted(self._total, 'run')}{self.left(now_s)}"


class CompilationPace:
    """The progress of a compilation in words, and the time for the rest at the same pace."""

    def __init__(self, now_s: float) -> None:
        """Begin without any progress."""
        self._first_s = now_s

    def words(self, done: Compiled, now_s: float) -> str:
        """``compiling, 42 % (1,512 of 1,877 functions), some 43 s left``."""
        elapsed_s = now_s - self._first_s
        words = f"compiling, {100 * done.share:.0f} % ({done.functions:,} of {done.of:,} functions)"
        is_known = _KNOWN_SHARE <= done.share < 1
        return words + (left_text(elapsed_s / done.share * (1 - done.share)) if is_known else "")


#: Up to this part of a compilation the imports at its begin would be most of an estimate.
_KNOWN_SHARE = 0.03


def left_text(seconds: float) -> str:
    """The remaining time, as the end of a sentence: ``, some 12 s left``."""
    if seconds < _IN_SECONDS_S:
        return f", some {max(1, round(seconds))} s left"
    if seconds < _IN_MINUTES_S:
        return f", some {round(seconds / 60)} min left"
    return f", some {seconds / 3600:.1f} h left"


def number_text(value: float | None) -> str:
    """Seconds with milliseconds, counts as integers; empty for a failed run."""
    return "" if value is None else f"{value:,.3f}".removesuffix(".000")
