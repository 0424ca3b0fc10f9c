"""One function called with many inputs, each call a task of Ray: on this machine or a cluster.

A call whose process or machine dies is reported as failed and not retried; the others continue. An
interruption reaches only the driver, here. It interrupts the running calls, as Ctrl-C would, and
waits a moment for them to clean up.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

import ray
from ray.exceptions import OutOfMemoryError, RayError, RayTaskError

from tidegauge.engine.ray_cluster import cluster_cpus, ray_cluster
from tidegauge.scenario.text.errors import one_line

Input = TypeVar("Input")
Output = TypeVar("Output")

#: The time for interrupted calls to end; then their processes are killed.
_STOP_S = 10.0

#: Ray counts CPUs in ten-thousandths.
_CPU_PARTS = 10_000


class EndedTask(NamedTuple, Generic[Output]):
    """The outcome of a call: a result, or the reason why there is none."""

    #: The place of its input.
    number: int
    result: Output | None
    error: str | None = None


def run_tasks(
    work: Callable[[Input], Output],
    inputs: Sequence[Input],
    jobs: int | None = None,
    address: str | None = None,
) -> Generator[EndedTask[Output]]:
    """Call a function with many inputs; yield the outcomes in the order in which they end.

    If the iteration ends early, also by an interruption, all calls are stopped first. The caller
    has to close the iterator.

    Args:
        work: the function, of a module; it is called in other processes.
        inputs: the input of each call.
        jobs: the number of parallel calls; None: the number of CPUs.
        address: the Ray cluster to join; None: that of RAY_ADDRESS, else Ray starts here.

    Raises:
        RayUnavailableError: Ray does not start, or cannot be joined.
    """
    with ray_cluster(address):
        cpus = cluster_cpus()
        at_once = jobs or cpus
        share = min(1.0, cpus * _CPU_PARTS // at_once / _CPU_PARTS)
        task = ray.remote(num_cpus=share, max_retries=0)(work)
        running: dict[ray.ObjectRef[Output], int] = {}
        waiting = iter(enumerate(inputs))

        def begin_more() -> None:
            for number, each in islice(waiting, at_once - len(running)):
                running[task.remote(each)] = number

        try:
            begin_more()
            while running:
                (done,), _ = ray.wait(list(running))
                ended = _ended(running.pop(done), done)
                begin_more()
                yield ended
        finally:
            _stop(list(running))


def _ended(number: int, reference: ray.ObjectRef[Output]) -> EndedTask[Output]:
    try:
        return EndedTask(number, ray.get(reference))
    except RayTaskError as error:
        return EndedTask(number, None, one_line(str(error.cause)))
    except OutOfMemoryError:
        return EndedTask(number, None, "its machine ran out of memory, so Ray ended its process")
    except RayError as error:
        return EndedTask(number, None, f"its process died: {one_line(str(error))}")


def _stop(running: list[ray.ObjectRef[Output]]) -> None:
    """Interrupt the running calls, and wait for them to end."""
    for reference in running:
        ray.cancel(reference)
    if running:
        ray.wait(running, num_returns=len(running), timeout=_STOP_S)
