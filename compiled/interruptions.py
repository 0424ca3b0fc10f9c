"""Ctrl-C while a process is being started: it takes effect afterwards, and is never lost.

Python raises ``KeyboardInterrupt`` wherever the main thread is. While a process is forked, that may
be a callback of ``os.register_at_fork``, of which ``logging`` has some. Python only prints an
exception that a callback raises, and goes on. Between the fork and the return of ``Popen`` nobody
knows the new process yet, so nobody would end it.

It lies here because every room can import from here.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptions_deferred() -> Iterator[None]:
    """Keep a SIGINT that arrives until the end, where the former handler is in force and gets it.

    A second one reaches that handler at once: Ray and Java may take long to start, or not start at
    all. A thread that is not the main one is left alone, because Python's handlers do not run
    in it.
    """
    former = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or former is None:
        yield
        return
    is_interrupted = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal is_interrupted
        if is_interrupted and callable(former):
            former(number, frame)
        is_interrupted = True

    # A signal that is ignored has to stay so in the new process.
    if callable(former):
        signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)
        if is_interrupted:
            signal.raise_signal(signal.SIGINT)
