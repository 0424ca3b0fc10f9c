"""The least time that a message takes from one group of processes to another.

That depends on the places of the processes: a broker and the controller on its machine are near,
two racks are not. The shortest way counts, over any processes in between. Between two machines it
is a way over racks; a hop within a machine only adds to it. A link between racks that has a limit
lies half-way between them.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tidegauge.scenario.cluster_plan import ClusterPlan, PlannedProcess
from tidegauge.simulation.kernel import CLIENT, RACK_LINK

#: The places of clients without a rack, and of processes in no rack; and the first link between
#: racks.
_AT_CLIENTS = -2
_IN_NO_RACK = -1
_FIRST_RACK_LINK = -3


def distances_us(plan: ClusterPlan, hosted: Sequence[int]) -> NDArray[np.int64]:
    """For each process the least that it takes from there to any of those in ``hosted``.

    For a hosted process it is the least distance to another hosted one.
    """
    places, ways = _ways_between(plan)
    place_of = np.array([places.index(_place_of(process)) for process in plan.processes])
    reached = np.unique(place_of[list(hosted)])
    distances = ways[:, reached].min(axis=1)[place_of]
    hosts = {plan.processes[process].host for process in hosted} - {-1}
    within_host_us = plan.scenario.network.within_host.quantiles_us()[0]
    on_same_host = np.array([process.host in hosts for process in plan.processes])
    distances[on_same_host] = np.minimum(distances[on_same_host], within_host_us)
    return np.asarray(distances, np.int64)


def lookaheads_us(plan: ClusterPlan, grouping: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """The least that it takes from one group to another, at ``[from, to]``; 0 to itself."""
    table = np.zeros((len(grouping), len(grouping)), np.int64)
    for number, hosted in enumerate(grouping):
        distances = distances_us(plan, hosted)
        for other, processes in enumerate(grouping):
            if other != number:
                table[other, number] = distances[list(processes)].min()
    return table


def _place_of(process: PlannedProcess) -> int:
    """The place of a process: a rack's number, or one of the constants above."""
    if process.role == RACK_LINK:
        return _FIRST_RACK_LINK - process.number
    # A client with a rack is in it.
    is_outside = process.role == CLIENT and process.rack == _IN_NO_RACK
    return _AT_CLIENTS if is_outside else process.rack


def _ways_between(plan: ClusterPlan) -> tuple[list[int], NDArray[np.int64]]:
    """All places, and the shortest ways from one machine at a place to another at a place."""
    network = plan.scenario.network
    places = sorted({_place_of(process) for process in plan.processes})
    ways = np.empty((len(places), len(places)), np.int64)
    for row, one in enumerate(places):
        for place, other in enumerate(places):
            latency = network.between_racks
            if _AT_CLIENTS in (one, other):
                latency = network.clients
            elif one == other != _IN_NO_RACK:
                latency = network.within_rack
            ways[row, place] = latency.quantiles_us()[0]
    on_links = np.array(places) <= _FIRST_RACK_LINK
    if on_links.any():
        # A message over a link takes its latency in two parts, whose ends are in any two racks.
        halves_us = max(1, network.between_racks.quantiles_us()[0] // 2)
        ways[on_links] = ways[:, on_links] = halves_us
    # Floyd and Warshall's algorithm.
    for over in range(len(places)):
        ways = np.minimum(ways, ways[:, [over]] + ways[[over], :])
    return places, ways
