"""The progress of a command that takes a while and has no bar of a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

from tidegauge.views.output import console

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
    out = console()
    if out.is_terminal:
        with out.status(what) as status:
            yield status.update
        return
    words = [what]
    ended = threading.Event()
    began_s = time.monotonic()

    def tell() -> None:
        while not ended.wait(LINE_S):
            typer.echo(f"{words[-1]}: {time.monotonic() - began_s:.0f} s so far", err=True)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield words.append
    finally:
        ended.set()
        teller.join()
