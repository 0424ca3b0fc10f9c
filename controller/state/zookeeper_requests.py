"""A controller's requests to ZooKeeper.

From 1.1 on (KAFKA-5642) they are sent one behind the other and answered in that order, as long
as no more than zookeeper.max.in.flight.requests have no answer yet; before, each waits for the
answer to the one before.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.state.control_plane import ControlPlane
from tidegauge.simulation.events import append_event, old_event, take_first
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.topology import controller_process, zookeeper_process


@inner_rule
def new_request(world: ControlPlane, controller: int, kind: int, znode: int) -> Event:
    """A request under the broker's session that has still to be issued."""
    source = controller_process(world, controller)
    request = old_event(world, source, zookeeper_process(world), kind)
    request.broker = controller
    state = world.controllers[controller]
    request.value = state.session
    request.request = state.generation
    request.znode = znode
    # The version of /controller_epoch that a write depends on.
    request.count = NONE
    if state.active and world.rules[controller].controller_fenced_by_epoch:
        request.count = state.epoch_version
    return request


@inner_rule
def issue(world: ControlPlane, controller: int, request: Event) -> None:
    """Send a request, or let it wait for the answers to those before it.

    Source: ZooKeeperClient.handleRequests@2.6.3.
    """
    state = world.controllers[controller]
    state.pending += 1
    if state.pending - state.unsent.length <= state.zookeeper_max_in_flight_requests:
        send(world, request, world.context[0].time_us)
        return
    append_event(world, state.unsent, request)


@inner_rule
def issue_next(world: ControlPlane, controller: int) -> None:
    """An answer has come: send the request that waits for it."""
    state = world.controllers[controller]
    if state.unsent.first == NONE:
        return
    request = take_first(world, state.unsent)
    # It was made when the others were; it leaves, and takes its place in line, now.
    send(world, request, world.context[0].time_us)


@inner_rule
def issue_read(
    world: ControlPlane,
    controller: int,
    kind: int,
    znode: int,
    watch: bool,
) -> None:
    """Read a znode or its children, and watch it if ``watch``."""
    request = new_request(world, controller, kind, znode)
    request.acks = 1 if watch else 0
    issue(world, controller, request)
