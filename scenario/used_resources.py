"""The load of networks before a run: the clients' traffic, against the bandwidth.

The resources of machines and networks on which the result of a run will depend.

The parameters of the cost model on which the result of a run will depend, before it is run.

After the run ``cost_model`` in ``summary.json`` has the number of uses of each, and the total time.
Before the run they follow from the plan: no logs are loaded if no broker starts again. A default
is plausible, or measured on other brokers; for results exact to milliseconds, measure it on your
own.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE, Mode
from tidegauge.replication.releases import rules_of
from tidegauge.scenario.model.component_faults import CutLinkFault
from tidegauge.scenario.model.costs import Latency
from tidegauge.scenario.model.fault import Stop
from tidegauge.scenario.model.limits import Machine
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.simulation.quantities import UNLIMITED, format_bandwidth


class BrokerLoad(NamedTuple):
    """The load of a broker's network while all replicas are in sync, in bytes per second."""

    incoming: float
    outgoing: float


def offered_loads(scenario: Scenario) -> dict[int, BrokerLoad]:
    """The load of each broker, by its id: preferred leaders lead, and consumers keep up.

    A leader receives its producers' records, and sends them to its followers and to each group of
    consumers.
    """
    ids = np.array(scenario.broker_ids())
    incoming, outgoing = np.zeros(len(ids)), np.zeros(len(ids))
    known = {topic.name: topic for topic in scenario.topics}
    for group in scenario.workload.producers:
        partitions = sum(known[topic].partition_count for topic in group.topics)
        group_bytes = group.batches_per_second * group.records_per_batch * group.record_bytes
        for topic in group.topics:
            assigned = scenario.assignments(known[topic])
            readers = sum(topic in each.topics for each in scenario.workload.consumers)
            replicas = np.searchsorted(ids, assigned.flat)
            leaders = np.searchsorted(ids, assigned.table[:, 0])
            copies = assigned.counts - 1 + readers
            share = group_bytes / partitions
            incoming += share * np.bincount(replicas, minlength=len(ids))
            outgoing += share * np.bincount(leaders, weights=copies, minlength=len(ids))
    loads = zip(ids.tolist(), incoming.tolist(), outgoing.tolist(), strict=True)
    return {broker: BrokerLoad(*load) for broker, *load in loads if load[0] > 0}


def overloads(scenario: Scenario) -> Iterator[str]:
    """Warnings of brokers whose network is offered more than it can move, one per direction."""
    loads = offered_loads(scenario)
    for place, (name, direction) in enumerate((("network_in", "receive"), ("network_out", "send"))):
        over = {
            broker: load[place]
            for broker, load in loads.items()
            if 0 < getattr(scenario.resources.of_broker(broker), name) < load[place]
        }
        if over:
            broker = max(over, key=lambda each: (over[each], -each))
            limit = getattr(scenario.resources.of_broker(broker), name)
            others = f" (and {len(over) - 1} more)" if len(over) > 1 else ""
            yield (
                f"broker {broker}{others}: producers and consumers have it {direction} "
                f"{over[broker] / 1e6:,.0f} MB/s, and its {name} is {format_bandwidth(limit)}: "
                "it cannot keep up"
            )


#: Fields of ``resources``, each with the occasion on which it takes time.
_OCCASIONS = {
    "network_in": "records that are sent",
    "network_out": "records that are sent",
    "between_racks": "records that are sent",
    "disk_read": "records that are read and not in the page cache",
    "page_cache": "records that are read and not in the page cache",
    "disk_write": "appends, flushes and losses of power",
    "dirty_limit": "appends, flushes and losses of power",
}


class UsedResource(NamedTuple):
    """A resource, and its use."""

    #: Its path in a scenario, such as ``resources.disk_read``.
    name: str
    #: The kind of work that takes its time.
    occasion: str
    #: Its bandwidth or size as a scenario has it, such as ``600MB/s``.
    value: str
    is_default: bool


def used_resources(scenario: Scenario) -> list[UsedResource]:
    """The resources that records take time on, those of single brokers last; without records none.

    A resource without a limit takes no time.
    """
    if not scenario.workload.groups and not scenario.steps:
        return []
    common = scenario.resources
    found = _of_machine("resources", common, list(_OCCASIONS), common.model_fields_set)
    for broker, machine in common.brokers.items():
        fields = [name for name in _OCCASIONS if name in Machine.model_fields]
        own = [name for name in fields if getattr(machine, name) != getattr(common, name)]
        found += _of_machine(f"resources.brokers.{broker}", machine, own, set(own))
    return found


def _of_machine(
    path: str, machine: Machine, fields: list[str], said: set[str]
) -> list[UsedResource]:
    values = machine.model_dump(mode="json")
    return [
        UsedResource(f"{path}.{field}", _OCCASIONS[field], values[field], field not in said)
        for field in _OCCASIONS
        if field in fields and values[field] != UNLIMITED
    ]


_CONTROL = "elections and changes of ISRs"
#: The costs of elections and changes of ISRs.
_COSTS_OF_CONTROL: dict[Mode, tuple[str, ...]] = {
    ZOOKEEPER_MODE: (
        *("controller_event", "controller_partition", "controller_election"),
        *("zookeeper_read", "zookeeper_write", "zookeeper_pipelined_write"),
        *("become_leader", "become_follower"),
    ),
    KRAFT_MODE: (
        *("metadata_record", "metadata_append", "metadata_fsync"),
        *("metadata_publication", "metadata_publication_partition", "metadata_vote"),
    ),
}
#: The costs of a broker's start, without its logs.
_COSTS_OF_STARTS: dict[Mode, tuple[str, ...]] = {
    ZOOKEEPER_MODE: ("broker_start", "broker_ready"),
    KRAFT_MODE: ("broker_start", "broker_registration", "metadata_first_publication"),
}


class LeanedOn(NamedTuple):
    """A parameter of the cost model, and its use."""

    #: Its path in a scenario, such as ``costs.request``.
    name: str
    #: The kind of event that has this cost.
    occasion: str
    #: Median, in microseconds.
    median_us: int
    is_default: bool


def leaned_on(scenario: Scenario) -> list[LeanedOn]:
    """The parameters that a run will use, those of each request first."""
    found = []
    for name, occasion in _asked_for(scenario):
        part, field = name.split(".")
        parameters = getattr(scenario, part)
        latency: Latency = getattr(parameters, field)
        is_default = field not in parameters.model_fields_set
        found.append(LeanedOn(name, occasion, latency.quantiles_us()[8], is_default))
    return found


def _asked_for(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Names of parameters, and the occasion on which each is used."""
    messages, requests = "each message", "each request"
    yield "network.between_racks", messages
    if len(scenario.cluster.racks) < len(scenario.broker_ids()):
        yield "network.within_rack", messages
    if not scenario.has_kraft:
        yield "network.within_host", messages
    if scenario.workload.groups or scenario.steps:
        yield "network.clients", messages
    yield "costs.request", requests
    yield "costs.request_partition", requests
    if scenario.workload.producers or scenario.steps:
        yield "costs.append", requests
    yield from ((f"costs.{cost}", _CONTROL) for cost in _COSTS_OF_CONTROL[scenario.mode])
    yield from _of_faults(scenario)
    if scenario.commits():
        yield "costs.offsets_load", "coordinators that move"
        yield "costs.offsets_load_mebibyte", "coordinators that move"


def _of_faults(scenario: Scenario) -> Iterator[tuple[str, str]]:
    stops = {fault.stop for fault in scenario.faults}
    starts = "brokers that start again"
    if stops - {Stop.NEVER}:
        yield from ((f"costs.{cost}", starts) for cost in _COSTS_OF_STARTS[scenario.mode])
        yield "costs.log_load", starts
    if Stop.KILLED in stops:
        # They leave torn logs.
        yield from ((f"costs.{cost}", starts) for cost in ("log_recovery", "log_recovery_mebibyte"))
    if Stop.CLEANLY in stops:
        yield from _of_stops(scenario)
    if scenario.faults and not scenario.has_kraft:
        yield "costs.controller_failover_partition", "a controller that takes over"
    if any(isinstance(fault, CutLinkFault) for fault in scenario.faults):
        yield "network.retransmission_after_cut", "cuts that heal"


def _of_stops(scenario: Scenario) -> Iterator[tuple[str, str]]:
    brokers = scenario.broker_ids()
    interrupts = {rules_of(*scenario.release_of(each)).stop_interrupts_polls for each in brokers}
    names = {False: "broker_stop", True: "broker_stop_interrupting"}
    stops = "brokers that stop cleanly"
    for each in sorted(interrupts):
        yield f"costs.{names[bool(each)]}", stops
    if scenario.has_kraft:
        yield "costs.broker_stop_request", stops
