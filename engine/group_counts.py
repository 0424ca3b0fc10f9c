"""Counts that only the processes of a group have, as for JMX."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.clients.latency_counts import BUCKETS
from tidegauge.compiled.records import column
from tidegauge.engine.doors import World
from tidegauge.simulation.links import NETWORK_TABLES
from tidegauge.simulation.rows import COST_NAMES

_OF_BROKERS = ("failed_isr_updates", "starts", "reassignment_bytes", "records_deduplicated")
_OF_CONTROLLERS = ("failovers",)
_OF_CLIENTS = (
    *("records_sent", "records_failed", "records_duplicated", "records_consumed"),
    *("steps_taken", "steps_timed_out"),
)
_OF_EACH_CLIENT = ("longest_us", "records_unsent", "blocked_us")


class GroupCounts(NamedTuple):
    """The counts of one group; processes of other groups count nothing."""

    #: Of each process: the number of its canonical rows, and the hash over them.
    hashes: dict[int, tuple[int, int]]
    #: By the names that ``summary.json`` has for them.
    counts: dict[str, int]
    #: Of each parameter of ``costs``: the number of its uses, and microseconds in all.
    costs: dict[str, tuple[int, int]]
    #: Of each client, counts of batches by how long they took (``clients/latency_counts.py``).
    latencies: NDArray[np.int64]
    #: By the names of :class:`~tidegauge.clients.client_state.Client`, of each client.
    of_clients: dict[str, NDArray[np.int64]]


def counts_of(hosted: Sequence[int], world: World) -> GroupCounts:
    """The counts of the processes in ``hosted`` so far."""
    processes = world.processes
    hashes = {
        process: (int(processes[process].rows), int(processes[process].hash)) for process in hosted
    }
    counts = {
        field: int(column(table, field).sum())
        for table, fields in (
            (world.brokers, _OF_BROKERS),
            (world.controllers, _OF_CONTROLLERS),
            (world.clients, _OF_CLIENTS),
        )
        for field in fields
    }
    # The active controller of a quorum, too, has taken over.
    counts["failovers"] += sum(int(state.claims) for state in world.active_controller)
    costs = {}
    for place, name in enumerate(COST_NAMES, int(NETWORK_TABLES)):
        use = world.quantile_uses[place]
        costs[name] = (int(use.times), int(use.total_us))
    latencies = column(world.latencies, "batches").reshape(-1, int(BUCKETS)).copy()
    of_clients = {name: column(world.clients, name).copy() for name in _OF_EACH_CLIENT}
    return GroupCounts(hashes, counts, costs, latencies, of_clients)
