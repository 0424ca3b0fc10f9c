"""Ray: started on this machine or joined, and actors placed on it.

Ray is the control plane: it places actors, detects their death, and spans machines. Messages
between actors do not pass through it (``engine/exchange/rings.py``).
"""

import os
import signal
import socket
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import ray
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from tidegauge.compiled.interruptions import interruptions_deferred
from tidegauge.engine.contract import HERE, RayUnavailableError, address_in_force
from tidegauge.scenario.text.errors import one_line

#: For the content of reports: rows and bytes of traces, fetched several times a second.
_OBJECT_STORE_BYTES = 256 << 20

#: An actor waits for its peers most of the time, so it reserves no more than this.
_CPUS_PER_ACTOR = 0.25

#: The timeout for the connection to a cluster.
_ANSWER_S = 5.0

#: The timeout until there is room for all actors.
_PLACED_S = 60


@contextmanager
def ray_cluster(address: str | None, module: str | None = None) -> Iterator[None]:
    """Use Ray while entered: the one of this process, the one at an address, or a new one.

    Args:
        address: the cluster to join; None: that of RAY_ADDRESS, else :data:`HERE`: Ray starts
            without network, dashboard or usage statistics, and stops on exit.
        module: the module that all workers import while Ray starts here; None: they wait for work.

    Raises:
        RayUnavailableError: there is none at the address, or it does not start.
    """
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray's workers are nice. Actors wait for each other: one that waits for a CPU delays all.
    os.environ.setdefault("RAY_worker_niceness", "0")
    if module is not None:
        os.environ |= {"RAY_preload_python_modules": module}
    address = address_in_force(address)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == HERE:
        options |= {"include_dashboard": False, "object_store_memory": _OBJECT_STORE_BYTES}
    else:
        _expect_somebody(address)
    try:
        _start_or_join(address, options)
        yield
    finally:
        ray.shutdown()
        _idle.clear()


def _start_or_join(address: str, options: Mapping[str, Any]) -> None:
    try:
        # Ray's forks have callbacks.
        with interruptions_deferred():
            ray.init(address=address, **options)
    except Exception as error:  # Ray raises a plain one when its node does not start in time
        first_line = str(error).strip().partition("\n")[0]
        where = "Ray does not start here" if address == HERE else f"{address}: cannot join Ray"
        raise RayUnavailableError(f"{where}: {one_line(first_line)}") from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _end)


def _end(number: int, _: object) -> NoReturn:
    """End without a word, with the status of the signal; Ray's own handler prints its stack."""
    sys.exit(128 + number)


#: Actors without work, by their kind: later work of that kind has them, while Ray stays up.
_idle: dict[object, list[Any]] = {}


def idle_actors(kind: object) -> list[Any]:
    """The idle actors of a kind, to be taken and given back; others are ended: they hold CPUs."""
    for other in [*_idle]:
        if other != kind:
            for actor in _idle.pop(other):
                ray.kill(actor)
    return _idle.setdefault(kind, [])


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
    idle_actors(None)
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
