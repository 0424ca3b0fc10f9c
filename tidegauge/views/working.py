"""Saying that a command is at work, where it takes a while and there is no run to show a bar of."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

from tidegauge.views.output import console

#: Where there is no terminal, a line says so after each of so many seconds.
LINE_S = 10.0


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """A spinner on a terminal; elsewhere a line on standard error every 10 s.

    Args:
        what: is done, such as ``reads runs/first``.

    Yields:
        What is called with other words, once something else is done.
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
