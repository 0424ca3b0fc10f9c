"""The grouping of processes into actors.

A small cluster has an actor for each broker, and one for the control plane: ZooKeeper and the
controller of every broker, or the quorum. Above :data:`ONE_EACH` brokers groups have several
brokers each, and the control plane is in the first of them; with ZooKeeper each controller is in
the group of its broker, which is on the same machine.

By contract the grouping does not change the trace. It changes the speed. Each rack is dealt out to
all groups, by the expected work of its brokers, heaviest first: so the groups stay as even as they
are when a rack is lost. A group that is a whole rack could run further ahead, as latencies between
racks are longer; that gains less than an uneven load costs. Clients, and links between racks, go to
the lightest groups.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from tidegauge.engine.contract import EngineError
from tidegauge.engine.exchange.lookahead import lookaheads_us
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.workload import ProducerGroup
from tidegauge.scenario.named_figures import Rates, batches_per_second, expected_events
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.kernel import CLIENT, CONTROLLER, QUORUM_CONTROLLER, RACK_LINK, ZOOKEEPER

#: Up to this number of brokers each has its own actor.
ONE_EACH = 8

#: With fewer events between two waits for another group, waits cost more than an actor gains.
WORTH_EVENTS = 8

# The work for a batch: of the leader, of a follower, of its producer.
_LEADS = 4
_FOLLOWS = 2
_PRODUCES = 1


class Grouping(NamedTuple):
    """The groups of processes."""

    #: Their names for people.
    names: list[str]
    #: Their processes.
    hosted: list[list[int]]
    #: The group that hosts ZooKeeper, or the quorum.
    controllers: int = 0


def grouping_of(plan: ClusterPlan, groups: int) -> Grouping:
    """Cut a cluster into this number of groups; with one more than brokers, controllers have it.

    Raises:
        EngineError: the number is less than 1, or there are fewer brokers and one.
    """
    brokers = len(plan.brokers)
    if not 1 <= groups <= brokers + 1:
        raise EngineError(
            f"{counted(brokers, 'broker')} and their controllers can be hosted by 1 to "
            f"{counted(brokers + 1, 'actor')}, not by {groups}"
        )
    has_own = groups == brokers + 1
    batches = batches_per_second(plan)
    weights = _broker_weights(plan, batches)
    hosted = _groups_of_brokers(plan, min(groups, brokers), weights)
    names = [_name(plan, group) for group in hosted]
    load = [sum(weights[broker] for broker in group) for group in hosted]
    group_of = {broker: number for number, group in enumerate(hosted) for broker in group}
    for client in sorted(
        range(len(plan.clients)), key=lambda number: -_client_weight(plan, number, batches)
    ):
        lightest = load.index(min(load))
        hosted[lightest].append(plan.process_ranges[CLIENT][client])
        load[lightest] += _client_weight(plan, client, batches)
    for number, link in enumerate(plan.process_ranges[RACK_LINK]):
        hosted[number % len(hosted)].append(link)
    controllers = [*plan.process_ranges[ZOOKEEPER], *plan.process_ranges[QUORUM_CONTROLLER]]
    of_brokers = list(plan.process_ranges[CONTROLLER])
    if has_own:
        hosted.append([*controllers, *of_brokers])
        return Grouping([*names, "the controllers"], hosted, len(hosted) - 1)
    for controller in of_brokers:
        hosted[group_of[plan.processes[controller].host]].append(controller)
    lightest = load.index(min(load))
    hosted[lightest] += controllers
    names[lightest] += " and the controllers"
    return Grouping(names, hosted, lightest)


def usual_groups(plan: ClusterPlan, cpus: int) -> int:
    """The default number of groups on Ray."""
    brokers = len(plan.brokers)
    return brokers + 1 if brokers <= ONE_EACH else worth_groups(plan, cpus)


def worth_groups(plan: ClusterPlan, cpus: int) -> int:
    """The number of groups with the fastest run; with one, inline is faster still."""
    brokers = len(plan.brokers)
    most = min(cpus, brokers)
    if brokers <= ONE_EACH or most <= 1:
        return 1
    grouping = grouping_of(plan, most)
    lookahead_us = int(lookaheads_us(plan, grouping.hosted).max())
    events = expected_events(plan).total * lookahead_us / plan.scenario.duration_us
    return max(1, min(most, int(events / WORTH_EVENTS)))


def _groups_of_brokers(plan: ClusterPlan, count: int, weights: Sequence[float]) -> list[list[int]]:
    """Brokers in groups: of each rack the heaviest one first, to the lightest group."""
    groups: list[list[int]] = [[] for _ in range(count)]
    load = [0.0] * count
    for broker in sorted(
        range(len(plan.brokers)),
        key=lambda broker: (plan.processes[broker].rack, -weights[broker], broker),
    ):
        lightest = load.index(min(load))
        groups[lightest].append(broker)
        load[lightest] += weights[broker]
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
