"""What all responses of ZooKeeper have in common: the session, the fence, when they leave.

A read takes the time of one server, a write that of a quorum (``zookeeper_write``), and writes that
follow each other closely are pipelined.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.state.control_plane import ControlPlane
from tidegauge.controller.zookeeper.sessions import is_expired, touch_session
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.codes.zookeeper_errors import CONTROLLER_MOVED, OK, SESSION_EXPIRED
from tidegauge.simulation.costs import (
    ZOOKEEPER_PIPELINED_WRITE,
    ZOOKEEPER_READ,
    ZOOKEEPER_WRITE,
    cost_us,
)
from tidegauge.simulation.events import new_response
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.messages.zookeeper_requests import ZkResponse, ZkWrite, ZooKeeperRequest
from tidegauge.simulation.zookeeper_tree import CONTROLLER_EPOCH_ZNODE


@inner_rule
def response_to(world: ControlPlane, request: ZooKeeperRequest) -> ZkResponse:
    """The response to a request that keeps its session alive, or finds that it has expired."""
    response = new_response(world, request, ZkResponse)
    response.operation = request.kind
    response.session = request.session
    response.znode = request.znode
    if request.broker != NONE:
        if is_expired(world, request.session):
            response.error = SESSION_EXPIRED
            _tell_reason(world, request, response)
        else:
            touch_session(world, request.session)
    return response


@inner_rule
def _tell_reason(world: ControlPlane, request: ZooKeeperRequest, response: ZkResponse) -> None:
    """What a broker does as its session is gone is caused by the end of that session."""
    if request.session >= 0:
        response.cause_process = request.destination
        response.cause_sequence = world.zookeeper_sessions[request.session].ended_row


@inner_rule
def response_to_write(world: ControlPlane, request: ZkWrite) -> ZkResponse:
    """The response to a write, which is refused if another controller has taken over.

    Source: KafkaZkClient.retryRequestsUntilConnected with expectedControllerEpochZkVersion@2.4.0.
    """
    response = response_to(world, request)
    needed = request.controller_epoch_version
    is_fenced = needed not in (UNDEFINED, world.znodes[CONTROLLER_EPOCH_ZNODE].version)
    if response.error == OK and is_fenced:
        response.error = CONTROLLER_MOVED
    return response


@inner_rule
def leaves_us(world: ControlPlane, response: ZkResponse) -> int:
    """When the response to a write leaves; the server knows by itself that a session is over."""
    if response.error == SESSION_EXPIRED:
        return read_us(world, response.source)
    return write_us(world, response.source)


@inner_rule
def write_us(world: ControlPlane, zookeeper: int) -> int:
    """When a write that comes now is committed: after a quorum has it, and in order."""
    ensemble = world.ensemble[0]
    quorum_us = cost_us(world, zookeeper, ZOOKEEPER_WRITE)
    behind_us = cost_us(world, zookeeper, ZOOKEEPER_PIPELINED_WRITE)
    ensemble.committed_us = max(
        world.context[0].time_us + quorum_us, ensemble.committed_us + behind_us
    )
    return ensemble.committed_us


@inner_rule
def read_us(world: Kernel, zookeeper: int) -> int:
    """When the response to a read that comes now leaves."""
    return world.context[0].time_us + cost_us(world, zookeeper, ZOOKEEPER_READ)
