"""Parts of commands that perform many runs: parallelism, folders, progress."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.scenario.text.counted import counted
from tidegauge.views.output import console

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
