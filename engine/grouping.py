"""The grouping of processes into actors.

A small cluster has an actor for each broker, and one for the control plane: ZooKeeper and the
controller of every broker, or the quorum. Above :data:`ONE_EACH` brokers groups have several
brokers each, and the control plane is in the lightest of them; with ZooKeeper each controller is in
the group of its broker, which is on the same machine.

By contract the grouping does not change the trace. It changes the speed. Racks that are far from
each other, such as regions, are groups as a whole: a group runs as far ahead of the others as the
latency between them. Within a data centre each rack is dealt out to all groups, by the expected
work of its brokers, heaviest first: so groups stay as even as they are when a rack is lost, which
gains more than latencies between racks do. Clients go to the group of the most brokers of their
rack; those without a rack, and links between racks, go to the lightest groups.

Of several machines each has whole racks, so that a message between machines takes a latency between
racks, and as many groups as it has of the work. A cluster in one rack is dealt out by broker.
"""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from tidegauge.engine.contract import EngineError
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.workload import ProducerGroup
from tidegauge.scenario.named_figures import Rates, batches_per_second, expected_events
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.kernel import CLIENT, CONTROLLER, QUORUM_CONTROLLER, RACK_LINK, ZOOKEEPER

#: Up to this number of brokers each has its own actor.
ONE_EACH = 8

#: From this number of events on two actors make up for the start of Ray where no batch goes from
#: one to the other: they save almost half of the loop. With half of all batches between them, as of
#: 60 brokers whose replicas are all over, they save 0.15 to 0.2, and need eight times as many.
_WORTH_EVENTS = 12_000_000

#: Racks are far from each other from this latency on.
_FAR_US = 1_000

# The work for a batch: of the leader, of a follower, of its producer.
_LEADS = 4
_FOLLOWS = 2
_PRODUCES = 3


class Grouping(NamedTuple):
    """The groups of processes."""

    #: Their names for people.
    names: list[str]
    #: Their processes.
    hosted: list[list[int]]
    #: The group that hosts ZooKeeper, or the quorum.
    controllers: int = 0
    #: The number of the machine of each; empty: all are on one.
    machines: Sequence[int] = ()
    #: For people: that there are fewer groups than they asked for, or more.
    notice: str = ""


def grouping_of(plan: ClusterPlan, groups: int, machines: int = 1) -> Grouping:
    """Cut a cluster into this number of groups; with one more than brokers, controllers have it.

    Args:
        plan: the cluster.
        groups: the number of groups.
        machines: the number of machines to place them on.

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
    weights = _broker_weights(plan, batches_per_second(plan))
    hosted, machine_of = _groups_on_machines(plan, min(groups, brokers), machines, weights)
    lightest = _host_others(plan, hosted, range(len(plan.processes)), has_own=has_own)
    if has_own:
        machine_of.append(machine_of[lightest])
    return _named(plan, hosted, machine_of)


def finer_grouping(
    plan: ClusterPlan, saved: Sequence[Sequence[int]], groups: int, machines: int = 1
) -> Grouping:
    """Cut groups whose state is saved into this number of groups, or the nearest that is possible.

    There are at least the saved groups, and each can be cut by its brokers. A state of one group
    can be cut into any groups.

    Args:
        plan: the cluster.
        saved: the processes of each saved group, of which there are several.
        groups: the number of groups.
        machines: the number of machines to place them on.
    """
    weights = _broker_weights(plan, batches_per_second(plan))
    of_groups = [[each for each in group if each < len(plan.brokers)] for group in saved]
    shares = [1] * len(saved)
    for _ in range(groups - len(saved)):
        divisible = [each for each, share in enumerate(shares) if share < len(of_groups[each])]
        if not divisible:
            break
        shares[
            max(divisible, key=lambda each: _weight(of_groups[each], weights) / shares[each])
        ] += 1
    hosted = []
    for group, brokers, share in zip(saved, of_groups, shares, strict=True):
        parts = [sorted(group)]
        if share > 1:
            parts = _groups_of_brokers(plan, brokers, share, weights)
            _host_others(plan, parts, group, has_own=False)
        hosted += parts
    # Neighbours are of one rack, if they were cut for several machines.
    on_machines = [place * machines // len(hosted) for place in range(len(hosted))]
    finer = _named(plan, hosted, on_machines)
    if len(hosted) == groups:
        return finer
    notice = (
        f"the saved state of {len(saved)} groups of processes continues on "
        f"{counted(len(hosted), 'actor')}, not on {groups}"
    )
    return finer._replace(notice=notice)


def _host_others(
    plan: ClusterPlan, hosted: list[list[int]], processes: Sequence[int], *, has_own: bool
) -> int:
    """Host the other ones of these processes beside brokers; the number of the lightest group.

    It has the control plane, or with ``has_own`` one more group has that, and all controllers.
    """
    batches = batches_per_second(plan)
    weights = _broker_weights(plan, batches)
    load = [_weight(group, weights) for group in hosted]
    group_of = {broker: number for number, group in enumerate(hosted) for broker in group}
    of_racks = _groups_of_racks(plan, hosted)
    clients, links, of_brokers, controllers = (
        [process for process in processes if plan.processes[process].role in roles]
        for roles in ((CLIENT,), (RACK_LINK,), (CONTROLLER,), (ZOOKEEPER, QUORUM_CONTROLLER))
    )
    of_clients = {
        process: _client_weight(plan, plan.processes[process].number, batches)
        for process in clients
    }
    for process in sorted(clients, key=lambda each: -of_clients[each]):
        group = of_racks.get(plan.processes[process].rack, load.index(min(load)))
        hosted[group].append(process)
        load[group] += of_clients[process]
    for number, link in enumerate(links):
        hosted[number % len(hosted)].append(link)
    lightest = load.index(min(load))
    if has_own:
        hosted.append([*controllers, *of_brokers])
        return lightest
    for controller in of_brokers:
        hosted[group_of.get(plan.processes[controller].host, lightest)].append(controller)
    hosted[lightest] += controllers
    return lightest


def _named(plan: ClusterPlan, hosted: list[list[int]], machines: Sequence[int]) -> Grouping:
    """Groups with names for people."""
    first = min([*plan.process_ranges[ZOOKEEPER], *plan.process_ranges[QUORUM_CONTROLLER]])
    controllers = next(number for number, group in enumerate(hosted) if first in group)
    names = [_name(plan, [each for each in group if each < len(plan.brokers)]) for group in hosted]
    of_controllers = names[controllers]
    names[controllers] = (
        f"{of_controllers} and the controllers" if of_controllers else "the controllers"
    )
    return Grouping(names, hosted, controllers, machines)


class Choice(NamedTuple):
    """The number of groups with the fastest run; with one, inline is faster still."""

    groups: int
    #: For people.
    reason: str


def usual_groups(plan: ClusterPlan, cpus: int) -> int:
    """The default number of groups on Ray."""
    brokers = len(plan.brokers)
    return brokers + 1 if brokers <= ONE_EACH else fastest(plan, cpus).groups


def fastest(plan: ClusterPlan, cpus: int) -> Choice:
    """Choose the number of groups with the fastest run on a machine with so many CPUs."""
    most = min(cpus, len(plan.brokers))
    if most == 1:
        return Choice(1, "there is one CPU" if cpus == 1 else "there is one broker")
    events = expected_events(plan).total
    expected = f"{events / 1e6:,.1f} million events"
    if events < _WORTH_EVENTS:
        return Choice(1, f"{expected}, and actors pay from {_WORTH_EVENTS / 1e6:.0f} million on")
    shares = {count: cut(plan, grouping_of(plan, count)) for count in range(most, 1, -1)}
    count = min(shares, key=lambda each: shares[each])
    worth = _WORTH_EVENTS / (1 - shares[count]) ** 3 if shares[count] < 1 else math.inf
    reason = (
        f"{expected}, and with {shares[count]:.0%} of the batches between {count} actors these pay "
        f"from {worth / 1e6:,.0f} million on"
    )
    return Choice(count if events >= worth else 1, reason)


def cut(plan: ClusterPlan, grouping: Grouping) -> float:
    """The share of all sent batches, of producers and to followers, that go between groups."""
    batches = batches_per_second(plan)
    planned = plan.partitions
    group_of = np.zeros(len(plan.processes), np.int64)
    for number, hosted in enumerate(grouping.hosted):
        group_of[hosted] = number
    replicas = group_of[planned.columns.replicas]
    leaders = replicas[planned.first_replicas]
    to_followers = batches[planned.of_replicas]
    crossing = float(to_followers[replicas != leaders[planned.of_replicas]].sum())
    everything = float(to_followers.sum())
    for number, client in enumerate(plan.clients):
        if isinstance(client.group, ProducerGroup):
            partitions = plan.partitions_of(client)
            is_near = leaders[partitions] == group_of[plan.process_ranges[CLIENT][number]]
            share = 1 - float(batches[partitions][is_near].sum() / batches[partitions].sum())
            crossing += _client_weight(plan, number, batches) / _PRODUCES * share
    return crossing / max(everything, 1.0)


def _groups_on_machines(
    plan: ClusterPlan, count: int, machines: int, weights: Sequence[float]
) -> tuple[list[list[int]], list[int]]:
    """Brokers in groups, and the machine of each group.

    A machine has whole racks, unless there is one alone, and groups according to its work.
    """
    everywhere = range(len(plan.brokers))
    racks = _racks(plan, everywhere, weights)
    parts = racks if len(racks) > 1 else [[broker] for broker in everywhere]
    of_machines = _dealt(parts, min(count, machines, len(parts)), weights)
    shares = [1] * len(of_machines)
    for _ in range(count - len(of_machines)):
        divisible = [each for each, share in enumerate(shares) if share < len(of_machines[each])]
        busiest = max(
            divisible, key=lambda each: _weight(of_machines[each], weights) / shares[each]
        )
        shares[busiest] += 1
    hosted = []
    machine_of = []
    for machine, (brokers, share) in enumerate(zip(of_machines, shares, strict=True)):
        hosted += _groups_of_brokers(plan, brokers, share, weights)
        machine_of += [machine] * share
    return hosted, machine_of


def _groups_of_brokers(
    plan: ClusterPlan, brokers: Sequence[int], count: int, weights: Sequence[float]
) -> list[list[int]]:
    """Brokers in groups: whole racks where these are far from each other, and enough."""
    racks = _racks(plan, brokers, weights)
    is_far = plan.scenario.network.between_racks.quantiles_us()[0] >= _FAR_US
    if is_far and len(racks) >= count:
        return _dealt(racks, count, weights)
    in_order = sorted(brokers, key=lambda each: (plan.processes[each].rack, -weights[each]))
    return _dealt([[broker] for broker in in_order], count, weights)


def _racks(plan: ClusterPlan, brokers: Sequence[int], weights: Sequence[float]) -> list[list[int]]:
    """The brokers of each rack, the heaviest rack first."""
    racks: dict[int, list[int]] = {}
    for broker in brokers:
        racks.setdefault(plan.processes[broker].rack, []).append(broker)
    return sorted(racks.values(), key=lambda rack: -_weight(rack, weights))


def _dealt(parts: Sequence[Sequence[int]], count: int, weights: Sequence[float]) -> list[list[int]]:
    """Parts in groups: one after the other to the lightest group."""
    groups: list[list[int]] = [[] for _ in range(count)]
    load = [0.0] * count
    for part in parts:
        lightest = load.index(min(load))
        groups[lightest] += part
        load[lightest] += _weight(part, weights)
    return [sorted(group) for group in groups]


def _weight(brokers: Sequence[int], weights: Sequence[float]) -> float:
    return sum(weights[broker] for broker in brokers)


def _groups_of_racks(plan: ClusterPlan, hosted: Sequence[Sequence[int]]) -> dict[int, int]:
    """For each rack the group that has the most of its brokers."""
    counts = Counter(
        (plan.processes[broker].rack, number)
        for number, group in enumerate(hosted)
        for broker in group
    )
    # Of the same number the first group.
    return {rack: group for (rack, group), _ in reversed(counts.most_common())}


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
    """``brokers 1-20, 41``: by their ids; empty without brokers."""
    if not group:
        return ""
    parts = []
    ids = sorted(plan.brokers[broker] for broker in group)
    for _, numbered in groupby(enumerate(ids), lambda pair: pair[1] - pair[0]):
        run = [broker for _, broker in numbered]
        parts.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return f"broker{'s' if len(group) > 1 else ''} {', '.join(parts)}"
