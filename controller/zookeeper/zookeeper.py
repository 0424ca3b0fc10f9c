"""ZooKeeper: znodes, versions, ephemeral and sequential nodes, one-shot watches.

A client may rely on this: requests of one client are answered in their order; a write is
conditional on the version that it names; a watch fires once, and its event comes before the
answer to anything that its owner asks later; an ephemeral node goes with its session.

Here are sessions (``sessions.py`` has their rules) and the clock; ``znode_reads.py`` and
``znode_writes.py`` handle the other requests.
"""

from tidegauge.compiled.rules import inner_rule, rule
from tidegauge.controller.state.control_plane import ControlPlane
from tidegauge.controller.state.handlers import ZOOKEEPER
from tidegauge.controller.zookeeper import sessions, znode_reads, znode_writes  # noqa: F401 - their handlers
from tidegauge.controller.zookeeper.held_states import (
    end_former_session,
    is_quiescent,
    restore_preexisting_states,
)
from tidegauge.controller.zookeeper.topic_configs import (
    add_all_configs,
    has_throttles,
    tell_throttles,
)
from tidegauge.controller.zookeeper.znodes import delete_znode
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.events import free_event, new_response
from tidegauge.simulation.faults import FAULT_CODES
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import zookeeper_requests
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.timers import Disconnected, FaultBegin, FaultChange
from tidegauge.simulation.trace_rows.codes import BROKER_DELETED, NO_NODE, OK
from tidegauge.simulation.zookeeper_tree import CONTROLLER_ZNODE

CONTROLLER_MOVE = FAULT_CODES.new("controller_move", 8)


@rule
def take_zookeeper_fault(world: ControlPlane, event: FaultChange) -> None:
    """An outage is over, or /controller is deleted by hand."""
    zookeeper = event.destination
    fault = world.faults[event.fault]
    now_us = world.context[0].time_us
    if fault.kind == CONTROLLER_MOVE and event.kind == FaultBegin.KIND:
        if world.znodes[CONTROLLER_ZNODE].exists:
            znode = CONTROLLER_ZNODE
            reason = BROKER_DELETED
            delete_znode(world, znode, UNDEFINED, reason, now_us)
    elif (fault.suspends or fault.stops) and world.processes[zookeeper].paused == 0:
        # Sessions come before the requests that have waited.
        if fault.refreshes_sessions:
            sessions.refresh_sessions(world)
        sessions.check_sessions(world)


@ZOOKEEPER.handles(zookeeper_requests.ZkTick)
@inner_rule
def handle_tick(world: ControlPlane, _: zookeeper_requests.ZkTick) -> None:
    """Expire sessions; the first tick begins, or ends, the sessions of before the run."""
    if world.context[0].time_us == 0:
        restore_preexisting_states(world)
    else:
        end_former_session(world)
    sessions.check_sessions(world)
    tick_us = world.ensemble[0].tick_us
    due_us = (world.context[0].time_us // tick_us + 1) * tick_us
    zookeeper_requests.ZkTick.at(world, due_us)


@ZOOKEEPER.handles(Disconnected)
@inner_rule
def handle_disconnected(world: ControlPlane, news: Disconnected) -> None:
    """A broker's process is gone."""
    sessions.lose_connections(world, news.source, news.until_us)


@ZOOKEEPER.handles(zookeeper_requests.ZkConnectRequest)
@inner_rule
def handle_connect(world: ControlPlane, request: zookeeper_requests.ZkConnectRequest) -> None:
    """Open a session. Its broker gets all settings, which it reads as it starts."""
    departure_us = sessions.write_us(world, request.destination)
    response = new_response(world, request, zookeeper_requests.ZkResponse)
    response.operation = zookeeper_requests.ZkConnectRequest.KIND
    response.session = sessions.open_session(world, request)
    add_all_configs(world, response)
    send(world, response, departure_us)
    if has_throttles(world):
        tell_throttles(world, response.session, departure_us)


@ZOOKEEPER.handles(zookeeper_requests.ZkPingRequest)
@inner_rule
def handle_ping(world: ControlPlane, request: zookeeper_requests.ZkPingRequest) -> None:
    """Keep a session alive; only one that has expired is answered."""
    response = sessions.response_to(world, request)
    if response.error == OK:
        free_event(world, response)
    else:
        send(world, response, sessions.read_us(world, request.destination))


@ZOOKEEPER.handles(zookeeper_requests.ZkCloseRequest)
@inner_rule
def handle_close(world: ControlPlane, request: zookeeper_requests.ZkCloseRequest) -> None:
    """End a session; the client is gone, so there is no response."""
    response = sessions.response_to_write(world, request)
    departure_us = sessions.leaves_us(world, response)
    if response.error == OK:
        sessions.close_session(world, request, departure_us)
    free_event(world, response)


@ZOOKEEPER.handles(zookeeper_requests.ZkIsQuiescentRequest)
@inner_rule
def handle_is_quiescent(
    world: ControlPlane, request: zookeeper_requests.ZkIsQuiescentRequest
) -> None:
    """Answer whether the cluster is quiescent; that takes no time."""
    response = sessions.response_to(world, request)
    response.continuation = request.continuation
    response.error = OK if is_quiescent(world) else NO_NODE
    send(world, response, world.context[0].time_us)


_handle = ZOOKEEPER.dispatcher(__name__, "_handle", ControlPlane, Event)


@rule
def handle_zookeeper_event(world: ControlPlane, event: Event) -> None:
    """Let ZooKeeper deal with one request, or tick, and give it back."""
    _handle(world, event)
    free_event(world, event)
