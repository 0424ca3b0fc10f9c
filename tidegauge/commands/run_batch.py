"""What commands have in common that run many runs at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tidegauge.commands.output import console, fail


def jobs_of(jobs: int | None, runs: int) -> int:
    """How many processes: as many as are asked for, or there are CPUs, and none without a run."""
    if jobs is not None and jobs < 1:
        fail(f"--jobs {jobs}: must be 1 or more")
    return min(jobs or os.cpu_count() or 1, runs)


def make_batch_folder(out: Path) -> None:
    """Make the folder for all runs; the command ends if there is something in it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            fail(f"{out}: is not empty, and a run never overwrites another")
    except OSError as error:
        fail(f"{out}: cannot be written to: {error.strerror}")


@contextmanager
def batch_progress(total: int, what: str) -> Iterator[Callable[[], None]]:
    """A bar of runs on a terminal, nothing elsewhere; what moves it."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    out = console()
    if not out.is_terminal:
        yield lambda: None
        return
    text = TextColumn(f"{{task.completed}} of {{task.total}} {what}")
    with Progress(text, BarColumn(), TimeElapsedColumn(), console=out, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def number_text(value: float | None) -> str:
    """Seconds with their milliseconds, counts as they are; nothing of a run that failed."""
    return "" if value is None else f"{value:,.3f}".removesuffix(".000")
