"""ZooKeeper's sessions: they live as long as something comes from the client.

The leader of the ensemble keeps sessions in buckets of one tick: a session expires at the
first tick that lies more than its time-out after it was last heard of
(``ExpiryQueue.roundToNextInterval``). All sessions of a bucket expire together.

An outage stops the clock of nobody: when ZooKeeper goes on after a pause, sessions whose
time is up are closed at once, before what has come in meanwhile is read. After a restart of
the ensemble (a new leader) all sessions have their full time-out again.
"""

from __future__ import annotations

from tidegauge.controller.state import ControlPlane
from tidegauge.controller.znodes import delete_znode, forget_watches
from tidegauge.replication.compiled import inner_rule
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.faults import because_of
from tidegauge.simulation.kernel import Event, Kernel
from tidegauge.simulation.row_kinds import SESSION_EXPIRED, SESSION_OPENED
from tidegauge.simulation.rows import new_row, write_canonical
from tidegauge.simulation.topology import (
    CONTROLLER_ZNODE,
    Topology,
    broker_znode,
    controller_process,
)


@inner_rule
def open_session(kernel: Kernel, plane: ControlPlane, request: Event) -> int:
    """Open a session for a broker; its number."""
    session = plane.sessions[request.broker]
    session.number += 1
    session.open = True
    session.timeout_ms = request.wait_ms
    touch_session(kernel, plane, request.broker)
    written = new_row(kernel, request.destination, SESSION_OPENED)
    written.values[0] = request.broker
    written.values[1] = session.number
    written.values[2] = session.timeout_ms
    write_canonical(kernel, written)
    return session.number


@inner_rule
def touch_session(kernel: Kernel, plane: ControlPlane, broker: int) -> None:
    """Something has come from the session: it lives on.

    Source: SessionTrackerImpl.touchSession and ExpiryQueue.update, ZooKeeper 3.5.
    """
    session = plane.sessions[broker]
    now_us = kernel.context[0].time_us
    tick_us = plane.ensemble[0].tick_us
    session.heard_us = now_us
    session.expires_us = ((now_us + session.timeout_ms * 1000) // tick_us + 1) * tick_us


@inner_rule
def is_expired(plane: ControlPlane, broker: int, number: int) -> bool:
    """Whether a request comes from a session that is not open any more."""
    session = plane.sessions[broker]
    return not session.open or session.number != number


@inner_rule
def check_sessions(kernel: Kernel, topology: Topology, plane: ControlPlane, zookeeper: int) -> None:
    """Expire every session whose tick has come."""
    for broker in range(topology.sizes[0].brokers):
        session = plane.sessions[broker]
        if session.open and session.expires_us <= kernel.context[0].time_us:
            _expire(kernel, topology, plane, zookeeper, broker)


@inner_rule
def _expire(
    kernel: Kernel, topology: Topology, plane: ControlPlane, zookeeper: int, broker: int
) -> None:
    session = plane.sessions[broker]
    session.open = False
    now_us = kernel.context[0].time_us
    written = new_row(kernel, zookeeper, SESSION_EXPIRED)
    written.values[0] = broker
    written.values[1] = session.number
    written.values[2] = now_us - session.heard_us
    because_of(kernel, written, broker)
    write_canonical(kernel, written)
    forget_watches(plane, broker)
    forget_watches(plane, controller_process(topology, broker))
    for znode in (broker_znode(broker), CONTROLLER_ZNODE):
        node = plane.znodes[znode]
        if node.exists and node.broker == broker and node.session == session.number:
            delete_znode(kernel, topology, plane, zookeeper, znode, UNDEFINED, now_us)


@inner_rule
def refresh_sessions(kernel: Kernel, topology: Topology, plane: ControlPlane) -> None:
    """A new leader of the ensemble gives every session its full time-out.

    Source: ZooKeeperServer.startSessionTracker, ZooKeeper 3.5.
    """
    for broker in range(topology.sizes[0].brokers):
        if plane.sessions[broker].open:
            heard_us = plane.sessions[broker].heard_us
            touch_session(kernel, plane, broker)
            plane.sessions[broker].heard_us = heard_us
