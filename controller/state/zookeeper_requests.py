"""A controller's requests to ZooKeeper.

From 1.1 on (KAFKA-5642) they are sent one behind the other and answered in that order, as long
as no more than zookeeper.max.in.flight.requests have no answer yet; before, each waits for the
answer to the one before.
"""

from __future__ import annotations

from typing import TypeVar

from tidegauge.compiled.record_views import blank, made_by, view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.state.control_plane import ControlPlane
from tidegauge.simulation.events import append_event, take_first, take_slot
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.event import EventSlot
from tidegauge.simulation.messages.zookeeper_requests import (
    Child,
    ZkChildrenRequest,
    ZkDeleteRequest,
    ZkExistsRequest,
    ZkGetRequest,
    ZkWrite,
    ZooKeeperRequest,
)
from tidegauge.simulation.topology import controller_process, zookeeper_process

# ZkRead.continuation.
#: A state that is read is taken over, and no more; all else is told by the event's phase.
TAKE_OVER = code(-1)
#: ... or the rules decide on it.
DECIDE = code(0)
#: The children that are listed are an event for the queue.
ENQUEUE = code(1)

SomeRequest = TypeVar("SomeRequest", bound=ZooKeeperRequest)


@inner_rule
def _slot_of_request(world: ControlPlane, controller: int, kind: int) -> EventSlot:
    source = controller_process(world, controller)
    return take_slot(world, source, zookeeper_process(world), kind)


@made_by(_slot_of_request)
def new_request(world: ControlPlane, controller: int, kind: type[SomeRequest]) -> SomeRequest:
    """A blank request of a controller that has still to be issued."""
    return blank(_slot_of_request(world, controller, kind.KIND), kind)


@inner_rule
def sign(world: ControlPlane, controller: int, request: ZooKeeperRequest, znode: int) -> None:
    """Let a request be about a znode, under the session of the controller's broker."""
    state = world.controllers[controller]
    request.broker = controller
    request.session = state.session
    request.correlation_id = state.generation
    request.znode = znode


@inner_rule
def issue(world: ControlPlane, controller: int, request: ZooKeeperRequest, znode: int) -> None:
    """Send a request about a znode, or let it wait for the answers to those before it.

    Source: ZooKeeperClient.handleRequests@2.6.3.
    """
    sign(world, controller, request, znode)
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
def issue_write(world: ControlPlane, controller: int, request: ZkWrite, znode: int) -> None:
    """Write a znode, unless another controller has taken over (if the release checks that)."""
    state = world.controllers[controller]
    if state.active and world.rules[controller].controller_fenced_by_epoch:
        request.controller_epoch_version = state.epoch_version
    issue(world, controller, request, znode)


@inner_rule
def issue_delete(world: ControlPlane, controller: int, znode: int) -> None:
    """Delete a znode."""
    request = new_request(world, controller, ZkDeleteRequest)
    issue_write(world, controller, request, znode)


@inner_rule
def issue_get(world: ControlPlane, controller: int, znode: int) -> None:
    """Read what a znode holds."""
    issue(world, controller, new_request(world, controller, ZkGetRequest), znode)


@inner_rule
def issue_exists(world: ControlPlane, controller: int, znode: int, watch: bool) -> None:
    """Look whether a znode exists, and watch it if ``watch``."""
    request = new_request(world, controller, ZkExistsRequest)
    request.sets_watch = watch
    issue(world, controller, request, znode)


@inner_rule
def issue_children(world: ControlPlane, controller: int, znode: int) -> None:
    """List the children of a znode, and watch them."""
    request = new_request(world, controller, ZkChildrenRequest)
    request.sets_watch = True
    issue(world, controller, request, znode)


@inner_rule
def issue_for_children(world: ControlPlane, controller: int, listing: int, deletes: bool) -> None:
    """Read or delete all sequential children that a response lists, also those gone by now.

    A znode's place is taken again once it is deleted; its number tells which one is meant.
    """
    cursor = world.events[listing].first_item if listing != NONE else NONE
    while cursor != NONE:
        child = view_as(world.items[cursor], Child)
        cursor = child.next
        if deletes:
            deletion = new_request(world, controller, ZkDeleteRequest)
            deletion.sequence_number = child.sequence_number
            issue_write(world, controller, deletion, child.znode)
        else:
            read = new_request(world, controller, ZkGetRequest)
            read.sequence_number = child.sequence_number
            issue(world, controller, read, child.znode)
