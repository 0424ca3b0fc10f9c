"""Many calls of one function at once: on warm actors of Ray, or in processes of this machine.

Both call the function with one input after the other in each process, keep what it has cached
there, go on after a call that fails or whose process dies, and end all calls if they are
interrupted.

Ray has the calls where it starts or can be joined (``ray_pool.py``). Where it is to start on this
machine and does not, or is not installed, processes have them (``process_pool.py``).
"""

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from typing import TypeVar

from tidegauge.engine.contract import HERE, RayUnavailableError, address_in_force
from tidegauge.engine.process_pool import Ended, calls_in_processes

Input = TypeVar("Input")
Output = TypeVar("Output")


def run_on_pool(
    work: Callable[[Input], Output],
    inputs: Sequence[Input],
    jobs: int | None = None,
    address: str | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> Generator[Ended[Output]]:
    """Call a function with many inputs; yield the outcomes in the order in which they end.

    If the iteration ends early, also by an interruption, all calls are stopped first. The caller
    has to close the iterator.

    Args:
        work: the function, of a module; it is called in other processes, one call after the other
            in each, and what it keeps there is there for the next call.
        inputs: the input of each call.
        jobs: the number of parallel calls; None: the number of CPUs.
        address: the Ray cluster to join; None: that of RAY_ADDRESS, else :data:`HERE`.
        warn: is told in a line why the calls are made without Ray.

    Raises:
        RayUnavailableError: Ray cannot be joined.
    """
    if not inputs:
        return
    with ExitStack() as open_:
        try:
            open_.enter_context(_ray(address, work.__module__))
        except RayUnavailableError as error:
            if address_in_force(address) != HERE:
                raise
            count = min(jobs or os.cpu_count() or 1, len(inputs))
            warn(f"{error}: plain processes replace it, {count} at once")
            calls = calls_in_processes(work, inputs, count)
        else:
            from tidegauge.engine.ray_pool import calls_on_ray  # noqa: PLC0415 - Ray is there

            calls = calls_on_ray(work, inputs, jobs)
        yield from open_.enter_context(closing(calls))


@contextmanager
def warm_pool(module: str) -> Iterator[bool]:
    """Keep the actors of one :func:`run_on_pool` for the next one while entered.

    Args:
        module: the module of the function that they call.

    Yields:
        Whether there are any: Ray has started here, or was joined at RAY_ADDRESS.
    """
    with ExitStack() as open_:
        try:
            open_.enter_context(_ray(None, module))
        except RayUnavailableError:
            yield False
        else:
            yield True


def _ray(address: str | None, module: str) -> AbstractContextManager[None]:
    """Ray, while entered."""
    try:
        # It takes a second to be imported, and can be missing.
        from tidegauge.engine.ray_cluster import ray_cluster  # noqa: PLC0415
    except ImportError as error:
        raise RayUnavailableError(f"Ray cannot be imported: {error}") from error
    return ray_cluster(address, module)


def in_order(calls: Iterable[Ended[Output]]) -> Iterator[Ended[Output]]:
    """The outcomes in the order of their inputs, each as soon as those before it are there."""
    early: dict[int, Ended[Output]] = {}
    due = 0
    for ended in calls:
        early[ended.number] = ended
        while due in early:
            yield early.pop(due)
            due += 1
