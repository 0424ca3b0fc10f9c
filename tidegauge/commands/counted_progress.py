"""The progress of what is counted: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

from tidegauge.commands.output import console

#: Seconds between two lines where there is no terminal.
_LINE_EVERY_S = 10.0


@contextmanager
def counted(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show how many of how many are done; the title ends with the noun of what is counted."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    out = console()
    if not (out.is_terminal and sys.stderr.isatty()):
        yield _Lines(title).show
        return
    text = TextColumn(title + " {task.completed:,.0f} of {task.total:,.0f}")
    with Progress(text, BarColumn(), TimeRemainingColumn(), console=out, transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _Lines:
    def __init__(self, title: str) -> None:
        self._title = title
        self._last = 0.0

    def show(self, done: int, total: int) -> None:
        """Print a line on standard error, unless the last one was a moment ago."""
        now = time.monotonic()
        if now - self._last >= _LINE_EVERY_S:
            self._last = now
            typer.echo(f"{self._title} {done:,} of {total:,}", err=True)
