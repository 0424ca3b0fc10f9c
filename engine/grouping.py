"""The grouping of processes into actors.

One actor hosts ZooKeeper and the controller of every broker; the others host brokers and clients:
one broker each in a cluster of up to :data:`ONE_EACH` brokers, else they are grouped rack by rack.
Processes in one group need no frames, and latencies within a rack are the shortest. So groups that
are racks can run furthest between two exchanges.

By contract the grouping does not change the trace. It changes the speed: the groups are as even as
the weights of their work allow.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from tidegauge.engine.contract import EngineError
from tidegauge.engine.exchange.frame_exchange import lookaheads_us
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.workload import ProducerGroup
from tidegauge.scenario.named_figures import Rates, batches_per_second, expected_events
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.kernel import CLIENT, CONTROLLER, QUORUM_CONTROLLER, RACK_LINK, ZOOKEEPER

#: Up to this number of brokers each has its own actor.
ONE_EACH = 8

#: With fewer events in a window and group, frames cost more than a further actor gains.
WORTH_EVENTS = 200

# The work for a batch: of the leader, of a follower, of its producer.
_LEADS = 4
_FOLLOWS = 2
_PRODUCES = 1


class Grouping(NamedTuple):
    """The groups: those of brokers, of which the first is the hub, and the controller's."""

    #: Their names for people.
    names: list[str]
    #: Their processes.
    hosted: list[list[int]]


def grouping_of(plan: ClusterPlan, broker_groups: int) -> Grouping:
    """Cut a cluster into this number of broker groups, and one group for its controllers.

    Raises:
        EngineError: the number is less than 1, or there are fewer brokers.
    """
    brokers = len(plan.brokers)
    if not 1 <= broker_groups <= brokers:
        raise EngineError(
            f"{counted(brokers, 'broker')} can be hosted by 1 to {counted(brokers, 'actor')}, "
            f"not by {broker_groups}"
        )
    batches = batches_per_second(plan)
    weights = _broker_weights(plan, batches)
    hosted = _groups_of_brokers(plan, broker_groups, weights)
    names = [_name(plan, group) for group in hosted]
    load = [sum(weights[broker] for broker in group) for group in hosted]
    for client in sorted(
        range(len(plan.clients)), key=lambda number: -_client_weight(plan, number, batches)
    ):
        lightest = load.index(min(load))
        hosted[lightest].append(plan.process_ranges[CLIENT][client])
        load[lightest] += _client_weight(plan, client, batches)
    for number, link in enumerate(plan.process_ranges[RACK_LINK]):
        hosted[number % len(hosted)].append(link)
    roles = (CONTROLLER, ZOOKEEPER, QUORUM_CONTROLLER)
    controllers = [process for role in roles for process in plan.process_ranges[role]]
    return Grouping([*names, "the controllers"], [*hosted, controllers])


def usual_broker_groups(plan: ClusterPlan, cpus: int) -> int:
    """The default number of broker groups on Ray."""
    brokers = len(plan.brokers)
    return brokers if brokers <= ONE_EACH else worth_broker_groups(plan, cpus)


def worth_broker_groups(plan: ClusterPlan, cpus: int) -> int:
    """The number of broker groups with the fastest run; with one, inline is faster still."""
    brokers = len(plan.brokers)
    if brokers <= ONE_EACH:
        return 1
    racks = len({plan.processes[broker].rack for broker in range(brokers)})
    most = min(cpus, racks)
    if most <= 1:
        return 1
    grouping = grouping_of(plan, most)
    lookahead_us = int(lookaheads_us(plan, grouping.hosted)[:-1, :-1].max())
    events = expected_events(plan).total * lookahead_us / plan.scenario.duration_us
    return max(1, min(most, int(events / WORTH_EVENTS)))


def _groups_of_brokers(plan: ClusterPlan, count: int, weights: Sequence[float]) -> list[list[int]]:
    """Brokers in groups: whole racks if there are enough, else parts of racks."""
    by_rack = sorted(range(len(plan.brokers)), key=lambda broker: plan.processes[broker].rack)
    racks = [
        list(group) for _, group in groupby(by_rack, lambda broker: plan.processes[broker].rack)
    ]
    if count <= len(racks):
        return _joined(racks, count, weights)
    while len(racks) < count:
        largest = max(
            (rack for rack in racks if len(rack) > 1),
            key=lambda rack: sum(weights[broker] for broker in rack),
        )
        place = racks.index(largest)
        half = (len(largest) + 1) // 2
        racks[place : place + 1] = [largest[:half], largest[half:]]
    return racks


def _joined(racks: Sequence[list[int]], count: int, weights: Sequence[float]) -> list[list[int]]:
    """Racks joined into this number of groups: the heaviest rack first, to the lightest group."""
    groups: list[list[int]] = [[] for _ in range(count)]
    load = [0.0] * count
    for rack in sorted(racks, key=lambda rack: -sum(weights[broker] for broker in rack)):
        lightest = load.index(min(load))
        groups[lightest] += rack
        load[lightest] += sum(weights[broker] for broker in rack)
    return [sorted(group) for group in groups]


def _broker_weights(plan: ClusterPlan, batches: Rates) -> list[float]:
    """The work of each broker, in some unit; it is never 0."""
    planned = plan.partitions
    rates = _FOLLOWS * batches[planned.of_replicas]
    rates[planned.first_replicas] = _LEADS * batches
    work = np.bincount(planned.columns.replicas, weights=rates, minlength=len(plan.brokers))
    weights: list[float] = (1.0 + work).tolist()
    return weights


def _client_weight(plan: ClusterPlan, number: int, batches: Rates) -> float:
    """The work of a client."""
    client = plan.clients[number]
    if isinstance(client.group, ProducerGroup):
        return client.group.batches_per_second / client.group.clients * _PRODUCES
    return float(batches[plan.partitions_of(client)].sum()) * _PRODUCES


def _name(plan: ClusterPlan, group: Sequence[int]) -> str:
    """``brokers 1-20, 41``: by their ids."""
    parts = []
    ids = sorted(plan.brokers[broker] for broker in group)
    for _, numbered in groupby(enumerate(ids), lambda pair: pair[1] - pair[0]):
        run = [broker for _, broker in numbered]
        parts.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return f"broker{'s' if len(group) > 1 else ''} {', '.join(parts)}"
