"""The parameters of the cost model on which the result of a run will depend, before it is run.

After the run ``cost_model`` in ``summary.json`` has the number of uses of each, and the total time.
Before the run they follow from the plan: no logs are loaded if no broker starts again. A default
is plausible, or measured on other brokers; for results exact to milliseconds, measure it on your
own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE, Mode
from tidegauge.replication.releases import rules_of
from tidegauge.scenario.model.component_faults import CutLinkFault
from tidegauge.scenario.model.costs import Latency
from tidegauge.scenario.model.fault import Stop
from tidegauge.scenario.reading import Scenario

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
        *("metadata_publication", "metadata_publication_partition"),
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
