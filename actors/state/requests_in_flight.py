"""The one request that a connection of a broker to the controllers has in flight.

One timer looks after all requests of a connection, not one each: most are answered long before.
"""

from __future__ import annotations

from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.state.lifecycles import RequestInFlight
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.events import set_timer
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.event import ControllerRequest, Timer
from tidegauge.simulation.topology import quorum_process


@inner_rule
def known_leader(world: Brokers, broker: int) -> int:
    """The process of the controller that a broker takes for the active one; NONE if for none.

    Source: RaftControllerNodeProvider@3.8.0.
    """
    leader = world.lifecycles[broker].leader
    return quorum_process(world, leader) if leader != NONE else NONE


@inner_rule
def depart(
    world: Brokers, broker: int, flight: RequestInFlight, request: ControllerRequest
) -> None:
    """Send a request, which is the one in flight from now on."""
    state = world.lifecycles[broker]
    state.requests += 1
    flight.number = state.requests
    flight.to = request.destination
    flight.sent_us = world.context[0].time_us
    request.correlation_id = flight.number
    send(world, request, flight.sent_us)


@inner_rule
def watch(world: Kernel, flight: RequestInFlight, timer: Timer, timeout_us: int) -> None:
    """Look after the response when it should have come; no timer does so yet."""
    flight.timer = True
    set_timer(world, timer, flight.sent_us + timeout_us)


@inner_rule
def has_timed_out(world: Kernel, flight: RequestInFlight, timeout_us: int) -> bool:
    """Whether a request has got no response in time."""
    return flight.number != 0 and world.context[0].time_us >= flight.sent_us + timeout_us


@inner_rule
def is_lost(flight: RequestInFlight, process: int, until_us: int) -> bool:
    """Whether a request is lost with the connection to a process, by what was sent until then."""
    return flight.number != 0 and flight.to == process and flight.sent_us <= until_us
