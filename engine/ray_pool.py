"""A pool of warm actors of Ray: one function called with many inputs, on one actor for each CPU.

An actor keeps its interpreter, with all that is imported, compiled or cached there, from call to
call. So a call costs its own work, and Ray's round trip of a millisecond. Actors start where the
cluster has free CPUs, on any machine; one that waits for a CPU gets no input meanwhile.

A call whose process or machine dies is reported as failed and not repeated. Another actor takes the
place of the dead one, and the other calls continue. An interruption reaches only the driver, here.
It interrupts the running calls, as Ctrl-C would, and waits a moment for them to clean up.
"""

import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import ray
from ray.exceptions import OutOfMemoryError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from tidegauge.engine.process_pool import INTERRUPTED_AGAIN_S, INTERRUPTIONS, Ended
from tidegauge.engine.ray_cluster import cluster_cpus, idle_actors
from tidegauge.scenario.text.errors import one_line

Input = TypeVar("Input")
Output = TypeVar("Output")

#: Ray counts CPUs in ten-thousandths.
_CPU_PARTS = 10_000


def calls_on_ray(
    work: Callable[[Input], Output], inputs: Sequence[Input], jobs: int | None = None
) -> Generator[Ended[Output]]:
    """Call a function with many inputs on the Ray of this process; yield the outcomes as they end.

    If the iteration ends early, also by an interruption, all calls are stopped first. The caller
    has to close the iterator.

    Args:
        work: the function, of a module.
        inputs: the input of each call.
        jobs: the number of parallel calls; None: the number of CPUs of the cluster.
    """
    pool = _Pool(work, inputs, jobs or cluster_cpus())
    try:
        yield from pool.outcomes()
    finally:
        pool.stop()


class _Place(NamedTuple):
    """Where an actor is."""

    node: str
    process: int


class PoolActor:
    """Calls the function, in a process of its own."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        """Take the function, whose module is imported with it."""
        self._work = work

    def place(self) -> _Place:
        """Its machine and its process."""
        return _Place(ray.get_runtime_context().get_node_id(), os.getpid())

    def call(self, each: Any) -> Any:
        """Call the function with an input; None if the call was interrupted."""
        try:
            with _interruptions_let_in():
                return self._work(each)
        except KeyboardInterrupt:
            return None


@contextmanager
def _interruptions_let_in() -> Iterator[None]:
    """Let SIGINT interrupt this thread, which is Ray's: it blocks the signal."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])


class _Call(NamedTuple):
    """A running call."""

    #: The place of its input.
    number: int
    actor: Any
    place: _Place


class _Pool(Generic[Input, Output]):
    """The actors that start or have a call; one without further input is idle."""

    def __init__(self, work: Callable[[Input], Output], inputs: Sequence[Input], jobs: int) -> None:
        share = min(1.0, cluster_cpus() * _CPU_PARTS // jobs / _CPU_PARTS)
        self._idle = idle_actors((work, share))
        self._new_actor = partial(ray.remote(PoolActor).options(num_cpus=share).remote, work)
        self._waiting = deque(enumerate(inputs))
        self._starting: dict[ray.ObjectRef[_Place], Any] = {}
        self._running: dict[ray.ObjectRef[Output], _Call] = {}
        for _ in range(min(jobs, len(inputs))):
            self._start_actor()

    def outcomes(self) -> Iterator[Ended[Output]]:
        """Call the function with all inputs, and yield each outcome."""
        while self._starting or self._running:
            (done,), _ = ray.wait([*self._running, *self._starting])
            ended = self._started(done) if done in self._starting else self._ended(done)
            if ended is not None:
                yield ended

    def _start_actor(self) -> None:
        if self._waiting:
            actor: Any = self._idle.pop() if self._idle else self._new_actor()
            self._starting[actor.place.remote()] = actor

    def _started(self, done: ray.ObjectRef[_Place]) -> Ended[Output] | None:
        """Give an actor its first input; one that cannot start is the error of an input."""
        actor = self._starting.pop(done)
        try:
            self._go_on(actor, ray.get(done))
        except RayError as error:
            if self._waiting:
                number, _ = self._waiting.popleft()
                self._start_actor()
                return Ended(number, None, _cause_of_death(error))
        return None

    def _ended(self, done: ray.ObjectRef[Output]) -> Ended[Output]:
        """The outcome of a call; its actor, or another one, has the next input."""
        number, actor, place = self._running.pop(done)
        try:
            ended = Ended(number, ray.get(done))
        except RayTaskError as error:
            ended = Ended(number, None, one_line(str(error.cause)))
        except RayError as error:
            self._start_actor()
            return Ended(number, None, _cause_of_death(error))
        self._go_on(actor, place)
        return ended

    def _go_on(self, actor: Any, place: _Place) -> None:
        if self._waiting:
            number, each = self._waiting.popleft()
            self._running[actor.call.remote(each)] = _Call(number, actor, place)
        else:
            self._idle.append(actor)

    def stop(self) -> None:
        """Interrupt the running calls, wait for them to end, and end their actors."""
        left = [*self._running]
        for _ in range(INTERRUPTIONS):
            for done in left:
                _interrupt(self._running[done].place)
            if left:
                _, left = ray.wait(left, num_returns=len(left), timeout=INTERRUPTED_AGAIN_S)
        for actor in (*self._starting.values(), *(each.actor for each in self._running.values())):
            ray.kill(actor)


def _cause_of_death(error: RayError) -> str:
    if isinstance(error, OutOfMemoryError):
        return "its machine ran out of memory, so Ray ended its process"
    # Before that Ray names its actor.
    return f"its process died: {one_line(str(error).splitlines()[-1])}"


def _interrupt(place: _Place) -> None:
    """Send SIGINT to a process, on any machine."""
    if place.node == ray.get_runtime_context().get_node_id():
        with suppress(ProcessLookupError):
            os.kill(place.process, signal.SIGINT)
    else:
        there = NodeAffinitySchedulingStrategy(place.node, soft=False)
        send = ray.remote(os.kill).options(num_cpus=0, scheduling_strategy=there)
        send.remote(place.process, signal.SIGINT)
