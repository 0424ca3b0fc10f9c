"""What commands have in common that run many runs at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import typer

from tidegauge.commands.output import console, fail
from tidegauge.commands.perform import INTERRUPTED

#: What came of one run.
Ended = TypeVar("Ended")


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


def ended_runs(runs: Iterable[Ended], total: int, what: str, out: Path) -> list[Ended]:
    """All runs as they end, with a bar; an interruption ends the command, and is told."""
    ended: list[Ended] = []
    try:
        with _progress(total, what) as advance:
            for each in runs:
                ended.append(each)
                advance()
    except KeyboardInterrupt:
        typer.echo(f"\nStopped: {len(ended)} of {total} {what} have come to their end in {out}")
        raise typer.Exit(INTERRUPTED) from None
    return ended


def write_batch(file: Path, content: object) -> None:
    """Write down what came of all runs; the command ends if that cannot be."""
    from tidegauge.run_folder import write_json_atomically

    try:
        write_json_atomically(file, content)
    except OSError as error:
        fail(f"{file}: cannot be written: {error.strerror}")


@contextmanager
def _progress(total: int, what: str) -> Iterator[Callable[[], None]]:
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
