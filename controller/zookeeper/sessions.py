"""ZooKeeper's sessions, and the times of its responses.

A read takes the time of one server, a write that of a quorum (``zookeeper_write``), and writes that
follow each other closely are pipelined.

The leader of the ensemble keeps sessions in buckets of one tick: a session expires at the first
tick that lies more than its timeout after its last message (``ExpiryQueue.roundToNextInterval``).
All sessions of a bucket expire together.

A session outlives its process, unless that closes it: a broker that was killed and is back has a
new session, and the old one, with its registration, until that expires.

An outage does not stop session clocks: when ZooKeeper goes on after a pause, expired sessions are
closed at once, before the messages that have arrived meanwhile are read. After a restart of the
ensemble (a new leader) all sessions have their full timeout again.
"""

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.state.control_plane import SESSIONS, ControlPlane, Session
from tidegauge.controller.zookeeper.znodes import delete_znode, forget_watches
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation import rows
from tidegauge.simulation.events import new_response
from tidegauge.simulation.faults import because_of
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.messages import zookeeper_requests
from tidegauge.simulation.trace_rows import codes
from tidegauge.simulation.trace_rows.controller_rows import (
    SessionClosed,
    SessionExpired,
    SessionOpened,
)
from tidegauge.simulation.zookeeper_tree import (
    CONTROLLER_EPOCH_ZNODE,
    CONTROLLER_ZNODE,
    broker_znode,
)


@inner_rule
def response_to(
    world: ControlPlane, request: zookeeper_requests.ZooKeeperRequest
) -> zookeeper_requests.ZkResponse:
    """The response to a request that keeps its session alive, or finds that it has expired."""
    response = new_response(world, request, zookeeper_requests.ZkResponse)
    response.operation = request.kind
    response.session = request.session
    response.znode = request.znode
    if request.broker != NONE:
        if is_expired(world, request.session):
            response.error = codes.SESSION_EXPIRED
            _tell_reason(world, request, response)
        else:
            touch_session(world, request.session)
    return response


@inner_rule
def _tell_reason(
    world: ControlPlane,
    request: zookeeper_requests.ZooKeeperRequest,
    response: zookeeper_requests.ZkResponse,
) -> None:
    """A broker's actions after the loss of its session are caused by the end of that session."""
    if request.session >= 0:
        response.cause_process = request.destination
        response.cause_sequence = world.zookeeper_sessions[request.session].ended_row


@inner_rule
def response_to_write(
    world: ControlPlane, request: zookeeper_requests.ZkWrite
) -> zookeeper_requests.ZkResponse:
    """The response to a write, which is refused if another controller has taken over.

    Source: KafkaZkClient.retryRequestsUntilConnected with expectedControllerEpochZkVersion@2.4.0.
    """
    response = response_to(world, request)
    needed = request.controller_epoch_version
    is_fenced = needed not in (UNDEFINED, world.znodes[CONTROLLER_EPOCH_ZNODE].version)
    if response.error == codes.OK and is_fenced:
        response.error = codes.CONTROLLER_MOVED
    return response


@inner_rule
def leaves_us(world: ControlPlane, response: zookeeper_requests.ZkResponse) -> int:
    """The time at which the response to a write leaves; an expired session needs no quorum."""
    if response.error == codes.SESSION_EXPIRED:
        return read_us(world, response.source)
    return write_us(world, response.source)


@inner_rule
def write_us(world: ControlPlane, zookeeper: int) -> int:
    """The commit time of a write that arrives now: after a quorum has it, and in order."""
    ensemble = world.ensemble[0]
    quorum_us = rows.cost_us(world, zookeeper, rows.ZOOKEEPER_WRITE)
    behind_us = rows.cost_us(world, zookeeper, rows.ZOOKEEPER_PIPELINED_WRITE)
    ensemble.committed_us = max(
        world.context[0].time_us + quorum_us, ensemble.committed_us + behind_us
    )
    return ensemble.committed_us


@inner_rule
def read_us(world: Kernel, zookeeper: int) -> int:
    """The time at which the response to a read that arrives now leaves."""
    return world.context[0].time_us + rows.cost_us(world, zookeeper, rows.ZOOKEEPER_READ)


@inner_rule
def open_session(world: ControlPlane, request: zookeeper_requests.ZkConnectRequest) -> int:
    """Open a session for a broker; its number."""
    ensemble = world.ensemble[0]
    number = ensemble.sessions
    ensemble.sessions += 1
    if ensemble.sessions + 1 >= len(world.zookeeper_sessions):
        world.context[0].needs_room = True
    session = world.zookeeper_sessions[number]
    session.broker = request.broker
    session.open = True
    session.opened_us = world.context[0].time_us
    session.timeout_ms = request.session_timeout_ms
    SESSIONS.append(world, ensemble, number)
    _touch(world, session)
    SessionOpened.write(world, broker=request.broker, session=number, timeout_ms=session.timeout_ms)
    return number


@inner_rule
def touch_session(world: ControlPlane, number: int) -> None:
    """Something has come from the session: it lives on."""
    _touch(world, world.zookeeper_sessions[number])


@inner_rule
def _touch(world: ControlPlane, session: Session) -> None:
    """Source: SessionTrackerImpl.touchSession and ExpiryQueue.update, ZooKeeper 3.5."""
    now_us = world.context[0].time_us
    tick_us = world.ensemble[0].tick_us
    session.heard_us = now_us
    session.expires_us = ((now_us + session.timeout_ms * 1000) // tick_us + 1) * tick_us


@inner_rule
def is_expired(world: ControlPlane, number: int) -> bool:
    """Whether a request has no open session."""
    return number < 0 or not world.zookeeper_sessions[number].open


@inner_rule
def check_sessions(world: ControlPlane) -> None:
    """Expire every session whose tick has come, in the order of brokers."""
    for broker in range(world.sizes[0].brokers):
        for number in SESSIONS.of(world, world.ensemble[0]):
            session = world.zookeeper_sessions[number]
            if session.broker == broker and session.expires_us <= world.context[0].time_us:
                _expire(world, number)


@inner_rule
def _expire(world: ControlPlane, number: int) -> None:
    session = world.zookeeper_sessions[number]
    now_us = world.context[0].time_us
    written = SessionExpired.new(
        world, session, session=number, silent_us=now_us - session.heard_us
    )
    because_of(world, written, session.broker, session.heard_us)
    rows.record_row(world, written)
    _end(world, number, codes.BROKER_SESSION_EXPIRED, now_us)


@inner_rule
def close_session(
    world: ControlPlane, request: zookeeper_requests.ZkCloseRequest, departure_us: int
) -> None:
    """End a session because its broker asks for it.

    Source: PrepRequestProcessor (OpCode.closeSession), ZooKeeper 3.5.
    """
    SessionClosed.write(world, request)
    reason = codes.BROKER_SESSION_CLOSED
    _end(world, request.session, reason, departure_us)


@inner_rule
def _end(world: ControlPlane, number: int, reason: int, departure_us: int) -> None:
    """Delete the znodes of a session, and its watches."""
    session = world.zookeeper_sessions[number]
    session.open = False
    session.ended_row = world.context[0].cause_sequence
    SESSIONS.remove(world, world.ensemble[0], number)
    forget_watches(world, number)
    for znode in (broker_znode(world, session.broker), CONTROLLER_ZNODE):
        node = world.znodes[znode]
        if node.exists and node.session == number:
            delete_znode(world, znode, UNDEFINED, reason, departure_us)


@inner_rule
def lose_connections(world: ControlPlane, broker: int, until_us: int) -> None:
    """The process of a broker is gone: its watches go with its connection, not its session.

    That may come late, when its next process has a session: only those count that were opened
    up to ``until_us``.

    Source: NIOServerCnxn.close, DataTree.removeCnxn, ZooKeeper 3.5.
    """
    for number in SESSIONS.of(world, world.ensemble[0]):
        session = world.zookeeper_sessions[number]
        if session.broker == broker and session.opened_us <= until_us:
            forget_watches(world, number)


@inner_rule
def refresh_sessions(world: ControlPlane) -> None:
    """A new leader of the ensemble gives every session its full time-out.

    Source: ZooKeeperServer.startSessionTracker, ZooKeeper 3.5.
    """
    for number in SESSIONS.of(world, world.ensemble[0]):
        session = world.zookeeper_sessions[number]
        heard_us = session.heard_us
        _touch(world, session)
        session.heard_us = heard_us
