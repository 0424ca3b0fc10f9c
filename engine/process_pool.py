"""A pool of warm processes of this machine: one function called with many inputs, without Ray.

A process keeps its interpreter, with all that is imported, compiled or cached there, from call to
call, as an actor does (``ray_pool.py``). It is a fresh interpreter that imports the function's
module, and not the program of the driver: that may have no guard against being imported.

A call whose process dies is reported as failed and not repeated. Another process takes the place of
the dead one, and the other calls continue. A process ends as soon as its connection to the driver
does, because the driver closes it or dies: a running call is interrupted, as Ctrl-C would, and has
a moment to clean up. Ctrl-C itself reaches the driver only.
"""

import os
import pickle
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait
from queue import SimpleQueue
from subprocess import DEVNULL, Popen, TimeoutExpired
from threading import Thread, main_thread
from typing import Any, Generic, NamedTuple, TypeVar

from tidegauge.compiled.interruptions import interruptions_deferred
from tidegauge.scenario.text.errors import one_line

Input = TypeVar("Input")
Output = TypeVar("Output")

#: Interrupted calls have so long to end. A call of compiled code can swallow an interruption, so
#: another one follows then; after so many of them the processes are killed.
INTERRUPTED_AGAIN_S = 2.0
INTERRUPTIONS = 5

#: The program of a process.
_PROGRAM = (
    "import sys; sys.path[:] = {path!r}; "
    "from tidegauge.engine.process_pool import answer_calls; answer_calls({handle})"
)


class Ended(NamedTuple, Generic[Output]):
    """The outcome of a call: a result, or the reason why there is none."""

    #: The place of its input.
    number: int
    result: Output | None
    error: str | None = None


def calls_in_processes(
    work: Callable[[Input], Output], inputs: Sequence[Input], jobs: int
) -> Generator[Ended[Output]]:
    """Call a function with many inputs; yield the outcomes in the order in which they end.

    If the iteration ends early, also by an interruption, all calls are stopped first. The caller
    has to close the iterator.

    Args:
        work: the function, of a module that is not the program of the driver.
        inputs: the input of each call.
        jobs: the number of parallel calls.

    Raises:
        OSError: a process cannot be started.
    """
    pool = _Pool(work, inputs)
    try:
        yield from pool.outcomes(jobs)
    finally:
        pool.stop()


class _Worker:
    """A process of the pool, and the driver's end of the connection to it."""

    def __init__(self) -> None:
        self.calls, there = Pipe()
        with there:
            handle = there.fileno()
            program = _PROGRAM.format(path=sys.path, handle=handle)
            self.process = Popen(  # noqa: S603 - this interpreter, with this package
                [sys.executable, "-c", program],
                stdin=DEVNULL,
                stdout=DEVNULL,
                pass_fds=[handle],
                # A terminal sends Ctrl-C to the driver's group.
                process_group=0,
            )

    def cause_of_death(self) -> str:
        """The reason why its connection has ended."""
        status = self.process.wait()
        reason = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return f"its process died: {reason}"

    def end(self) -> None:
        """Wait for the process, whose connection was closed; kill it if it does not end."""
        try:
            self.process.wait(INTERRUPTED_AGAIN_S * (INTERRUPTIONS + 1))
        except TimeoutExpired:
            self.process.kill()
            self.process.wait()


class _Pool(Generic[Input, Output]):
    """The processes, the calls that they have, and the inputs that are left."""

    def __init__(self, work: Callable[[Input], Output], inputs: Sequence[Input]) -> None:
        self._work = work
        self._waiting = deque(enumerate(inputs))
        self._workers: dict[Connection, _Worker] = {}
        #: The place of the input that each process has.
        self._running: dict[Connection, int] = {}

    def outcomes(self, jobs: int) -> Iterator[Ended[Output]]:
        """Call the function with all inputs, and yield each outcome."""
        for _ in range(min(jobs, len(self._waiting))):
            self._start_worker()
        while self._running:
            for calls in wait([*self._running]):
                assert isinstance(calls, Connection)
                yield self._ended(calls)

    def _start_worker(self) -> None:
        if self._waiting:
            with interruptions_deferred():
                worker = _Worker()
                self._workers[worker.calls] = worker
            self._go_on(worker.calls)

    def _ended(self, calls: Connection) -> Ended[Output]:
        """The outcome of a call; its process, or another one, has the next input."""
        number = self._running.pop(calls)
        try:
            result, error = calls.recv()
        except (EOFError, OSError):
            calls.close()
            ended = Ended[Output](number, None, self._workers.pop(calls).cause_of_death())
            self._start_worker()
            return ended
        self._go_on(calls)
        return Ended(number, result, error)

    def _go_on(self, calls: Connection) -> None:
        if self._waiting:
            number, each = self._waiting.popleft()
            self._running[calls] = number
            # The outcome of a call to a dead process is its death.
            with suppress(BrokenPipeError):
                calls.send_bytes(pickle.dumps((self._work, each)))

    def stop(self) -> None:
        """End all processes, with the calls that still run in them."""
        for calls in self._workers:
            calls.close()
        for worker in self._workers.values():
            worker.end()


def answer_calls(handle: int) -> None:
    """Perform the calls that a driver sends, in a process of its pool, until it is interrupted.

    Args:
        handle: the number of the connection to the driver.
    """
    driver = Connection(handle)
    asked: SimpleQueue[bytes] = SimpleQueue()
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        Thread(target=_receive, args=(driver, asked), daemon=True).start()
        while True:
            driver.send(_outcome(asked.get()))
    except (KeyboardInterrupt, BrokenPipeError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _receive(driver: Connection, asked: SimpleQueue[bytes]) -> None:
    """Pass on the calls of the driver; as the connection ends, interrupt the main thread."""
    with suppress(EOFError, OSError):
        while True:
            asked.put(driver.recv_bytes())
    worker = main_thread().ident
    assert worker is not None
    for _ in range(INTERRUPTIONS):
        signal.pthread_kill(worker, signal.SIGINT)
        time.sleep(INTERRUPTED_AGAIN_S)
    os._exit(1)


def _outcome(call: bytes) -> tuple[Any, str | None]:
    """The result of a call, or its error."""
    try:
        work, each = pickle.loads(call)  # noqa: S301 - the driver has written it
        return work(each), None
    except Exception as error:  # noqa: BLE001 - the other calls continue
        return None, one_line(str(error))
