"""Ray: started on this machine or joined, and actors placed on it.

Ray is the control plane: it places actors, detects their death, and spans machines. Messages
between actors do not pass through it (``engine/exchange/rings.py``).

One function called with many inputs, each call a task of Ray: on this machine or a cluster.

A call whose process or machine dies is reported as failed and not retried; the others continue. An
interruption reaches only the driver, here. It interrupts the running calls, as Ctrl-C would, and
waits a moment for them to clean up.
"""

import os
import socket
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

import ray
from ray.exceptions import OutOfMemoryError, RayError, RayTaskError
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from tidegauge.engine.contract import EngineError
from tidegauge.scenario.text.errors import one_line

#: For the content of reports: rows and bytes of traces, fetched several times a second.
_OBJECT_STORE_BYTES = 256 << 20

#: An actor waits for its peers most of the time, so it reserves no more than this.
_CPUS_PER_ACTOR = 0.25

#: The timeout for the connection to a cluster.
_ANSWER_S = 5.0

#: The timeout until there is room for all actors.
_PLACED_S = 60


class RayUnavailableError(EngineError):
    """Ray does not start, cannot be joined, or has no room; the message is one line."""


@contextmanager
def ray_cluster(address: str | None) -> Iterator[None]:
    """Use Ray while entered: the one of this process, the one at an address, or a new one.

    Args:
        address: the cluster to join; None: that of RAY_ADDRESS, else Ray starts here, without
            network, dashboard or usage statistics, and stops on exit.

    Raises:
        RayUnavailableError: there is none at the address, or it does not start.
    """
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray's workers are nice. Actors wait for each other: one that waits for a CPU delays all.
    os.environ.setdefault("RAY_worker_niceness", "0")
    address = address or os.environ.get("RAY_ADDRESS")
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        options |= {"include_dashboard": False, "object_store_memory": _OBJECT_STORE_BYTES}
    else:
        _expect_somebody(address)
    try:
        ray.init(address=address or "local", **options)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        where = "Ray does not start here" if address is None else f"{address}: cannot join Ray"
        raise RayUnavailableError(f"{where}: {str(error).splitlines()[0]}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _expect_somebody(address: str) -> None:
    """Check that a server listens at ``host:port``: Ray itself would retry for minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        # It is one of Ray's own names.
        return
    try:
        socket.create_connection((host, int(port)), _ANSWER_S).close()
    except (OSError, OverflowError) as error:
        raise RayUnavailableError(f"{address}: no Ray cluster responds: {error}") from error


def cluster_cpus() -> int:
    """The number of CPUs of the cluster."""
    return max(1, int(sum(node_cpus())))


def node_cpus() -> list[float]:
    """The number of CPUs of each node that has any."""
    resources = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return [each["CPU"] for each in resources if each.get("CPU", 0) > 0]


def node_address() -> str:
    """The address of this machine for other machines."""
    return str(ray.util.get_node_ip_address())


@contextmanager
def placed(machines: Sequence[int]) -> Iterator[Sequence[dict[str, Any]]]:
    """Reserve room for actors, and yield the options for each of them.

    Args:
        machines: for each actor the number of its machine: those with one number are on one node,
            and the others on other nodes as far as these have room.

    Raises:
        RayUnavailableError: there is no room.
    """
    counts = Counter(machines)
    share = min(_CPUS_PER_ACTOR, int(900 * min(node_cpus()) / max(counts.values())) / 1000)
    bundles = [{"CPU": share * counts[machine]} for machine in range(len(counts))]
    group = placement_group(bundles, strategy="SPREAD")
    try:
        if not group.wait(_PLACED_S):
            free = ray.available_resources().get("CPU", 0.0)
            raise RayUnavailableError(
                f"Ray has no room for {len(machines)} actors of {share:g} CPUs: {free:g} of "
                f"{cluster_cpus()} are free"
            )
        yield [_options(group, machine, share) for machine in machines]
    finally:
        remove_placement_group(group)


def _options(group: PlacementGroup, place: int, share: float) -> dict[str, Any]:
    strategy = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=place)
    return {"num_cpus": share, "scheduling_strategy": strategy}


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
