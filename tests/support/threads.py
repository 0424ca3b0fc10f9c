"""Threads in tests: what they come to, and nobody waits for them, should they hang."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")


def beside(task: Callable[[], Result]) -> Future[Result]:
    """What a task comes to in a thread that nobody waits for, should it hang."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(task())
        except Exception as error:  # noqa: BLE001  # it is raised where the result is asked for
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future
