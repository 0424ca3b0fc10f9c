"""Which parameters of the cost model the answer of a run will lean on, before it is run.

Afterwards ``cost_model`` in ``summary.json`` says how often each was asked for, and what it came
to. Before, it follows from what is planned: nobody loads logs if no broker ever starts again.
A parameter at its default is plausible, or measured on somebody else's brokers; whoever wants to
rely on milliseconds measures it on their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tidegauge.replication.releases import rules_of
from tidegauge.scenario.model.costs import Latency
from tidegauge.scenario.reading import Scenario

#: Faults that bring a broker to start again, with those of them that leave torn logs.
_STARTS_AGAIN = frozenset({"crash", "power_loss", "restart", "rolling_restart"})
_STARTS_UNCLEAN = frozenset({"crash", "power_loss"})
_STOPS_CLEANLY = frozenset({"restart", "rolling_restart"})


class LeanedOn(NamedTuple):
    """A parameter."""

    #: Its path in a scenario, such as ``costs.request``.
    name: str
    #: What happens that costs this.
    occasion: str
    #: Median, in microseconds.
    median_us: int
    is_default: bool


def leaned_on(scenario: Scenario) -> list[LeanedOn]:
    """The parameters that a run will ask for, those of each request first."""
    found = []
    for name, occasion in _asked_for(scenario):
        part, field = name.split(".")
        parameters = getattr(scenario, part)
        latency: Latency = getattr(parameters, field)
        is_default = field not in parameters.model_fields_set
        found.append(LeanedOn(name, occasion, latency.quantiles_us()[8], is_default))
    return found


def _asked_for(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Names of parameters, and the occasion at which each is asked for."""
    messages, requests = "each message", "each request"
    yield "network.between_racks", messages
    if len(scenario.cluster.racks) < len(scenario.broker_ids()):
        yield "network.within_rack", messages
    yield "network.within_host", messages
    if scenario.workload.groups or scenario.steps:
        yield "network.clients", messages
    yield "costs.request", requests
    yield "costs.request_partition", requests
    if scenario.workload.producers or scenario.steps:
        yield "costs.append", requests
    elections = "elections and changes of ISRs"
    for cost in ("controller_event", "controller_partition", "controller_election"):
        yield f"costs.{cost}", elections
    for cost in ("read", "write", "pipelined_write"):
        yield f"costs.zookeeper_{cost}", elections
    yield "costs.become_leader", elections
    yield "costs.become_follower", elections
    yield from _of_faults(scenario)
    if scenario.commits():
        yield "costs.offsets_load", "coordinators that move"
        yield "costs.offsets_load_mebibyte", "coordinators that move"


def _of_faults(scenario: Scenario) -> Iterator[tuple[str, str]]:
    kinds: set[str] = {fault.kind for fault in scenario.faults}
    starts = "brokers that start again"
    if kinds & _STARTS_AGAIN:
        yield from ((f"costs.{cost}", starts) for cost in ("broker_start", "broker_ready"))
        yield "costs.log_load", starts
    if kinds & _STARTS_UNCLEAN:
        yield from ((f"costs.{cost}", starts) for cost in ("log_recovery", "log_recovery_mebibyte"))
    if kinds & _STOPS_CLEANLY:
        yield from _of_stops(scenario)
    if kinds:
        yield "costs.controller_failover_partition", "a controller that takes over"
    if "cut_link" in kinds:
        yield "network.retransmission_after_cut", "cuts that heal"


def _of_stops(scenario: Scenario) -> Iterator[tuple[str, str]]:
    brokers = scenario.broker_ids()
    interrupts = {rules_of(*scenario.release_of(each)).stop_interrupts_polls for each in brokers}
    names = {False: "broker_stop", True: "broker_stop_interrupting"}
    for each in sorted(interrupts):
        yield f"costs.{names[bool(each)]}", "brokers that stop cleanly"
