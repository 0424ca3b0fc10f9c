"""Becoming controller, and topics that are new.

The broker that creates /controller first is controller. It takes the next controller epoch,
watches what it has to know, reads everything, tells all brokers, takes dead replicas out
of ISRs and then elects leaders where there is none: in this order, so that a partition
whose leader died with the controller has its leader epoch raised twice.
"""

from __future__ import annotations

from tidegauge.controller.channels import broker_at, send_metadata, send_requests
from tidegauge.controller.notification_changes import issue_for_notifications
from tidegauge.controller.partition_changes import bring_online, read_state, remove_from_isrs
from tidegauge.controller.partition_state_machine import (
    NEW_PARTITION,
    OFFLINE_PARTITION,
    ONLINE_PARTITION,
)
from tidegauge.controller.state import ControlPlane
from tidegauge.controller.zookeeper_requests import issue, issue_read, new_request
from tidegauge.replication.compiled import code, inner_rule
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.events import add_item
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.kinds import (
    ZK_CHILDREN,
    ZK_CREATE,
    ZK_DELETE,
    ZK_EXISTS,
    ZK_GET,
    ZK_SET,
)
from tidegauge.simulation.row_kinds import CONTROLLER_ELECTED
from tidegauge.simulation.rows import new_row, write_canonical
from tidegauge.simulation.topology import (
    BROKER_IDS_ZNODE,
    CONTROLLER_EPOCH_ZNODE,
    CONTROLLER_ZNODE,
    NOTIFICATIONS_ZNODE,
    TOPICS_ZNODE,
    Topology,
    broker_of,
    controller_process,
)
from tidegauge.simulation.zookeeper_errors import OK

# Phases of ELECT.
_LOOK = code(0)
_CREATE = code(1)
_READ_EPOCH = code(2)
_RAISE_EPOCH = code(3)
_TAKE_OVER = code(4)
_READ_STATES = code(5)
_TELL = code(6)
#: From here on one phase per broker: take it out of the ISRs if it is dead.
_FIRST_BROKER = code(7)

_TRUE = code(True)
_FALSE = code(False)


@inner_rule
def advance_election(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int
) -> None:
    """One phase of becoming controller, or of finding out that another is.

    Source: KafkaController.elect@2.4.0, registerControllerAndIncrementControllerEpoch@2.4.0.
    """
    state = plane.controllers[controller]
    phase = state.phase
    state.phase += 1
    if phase == _LOOK:
        if state.active:
            state.event = NONE
            return
        issue_read(kernel, topology, plane, controller, ZK_EXISTS, CONTROLLER_ZNODE, _TRUE)
    elif phase == _CREATE:
        if state.answer_error == OK:
            state.event = NONE
            return
        request = new_request(kernel, topology, plane, controller, ZK_CREATE, CONTROLLER_ZNODE)
        issue(kernel, plane, controller, request)
    elif phase == _READ_EPOCH:
        if state.answer_error != OK:
            state.event = NONE
            return
        state.answer_epoch = 0
        issue_read(kernel, topology, plane, controller, ZK_GET, CONTROLLER_EPOCH_ZNODE, _FALSE)
    elif phase == _RAISE_EPOCH:
        _raise_epoch(kernel, topology, plane, controller)
    else:
        _advance_failover(kernel, topology, plane, controller, phase)


@inner_rule
def _raise_epoch(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    """Take the next controller epoch."""
    state = plane.controllers[controller]
    kind = ZK_SET if state.answer_error == OK else ZK_CREATE
    state.controller_epoch = state.answer_epoch + 1
    request = new_request(kernel, topology, plane, controller, kind, CONTROLLER_EPOCH_ZNODE)
    request.version = state.answer_version if kind == ZK_SET else UNDEFINED
    item = add_item(kernel, request, NONE)
    item.controller_epoch = state.controller_epoch
    issue(kernel, plane, controller, request)


@inner_rule
def _advance_failover(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, phase: int
) -> None:
    """Source: KafkaController.onControllerFailover@2.4.0."""
    state = plane.controllers[controller]
    if phase == _TAKE_OVER:
        if state.answer_error != OK:
            state.event = NONE
            return
        state.active = True
        written = new_row(kernel, controller_process(topology, controller), CONTROLLER_ELECTED)
        written.values[0] = controller
        written.values[1] = state.controller_epoch
        write_canonical(kernel, written)
        _forget_everything(topology, plane, controller)
        for parent in (BROKER_IDS_ZNODE, TOPICS_ZNODE, NOTIFICATIONS_ZNODE):
            issue_read(kernel, topology, plane, controller, ZK_CHILDREN, parent, _TRUE)
    elif phase == _READ_STATES:
        _read_everything(kernel, topology, plane, controller)
    elif phase == _TELL:
        _tell_everybody(kernel, topology, plane, controller)
    elif phase < _FIRST_BROKER + topology.sizes[0].brokers:
        broker = phase - _FIRST_BROKER
        if not broker_at(topology, plane, controller, broker).alive:
            remove_from_isrs(kernel, topology, plane, controller, broker)
    elif phase == _FIRST_BROKER + topology.sizes[0].brokers:
        _find_offline(topology, plane, controller)
        bring_online(kernel, topology, plane, controller)
    else:
        _send_all_roles(topology, plane, controller)
        send_requests(kernel, topology, plane, controller)
        state.event = NONE


@inner_rule
def _forget_everything(topology: Topology, plane: ControlPlane, controller: int) -> None:
    sizes = topology.sizes[0]
    for partition in range(sizes.partitions):
        known = plane.partitions[controller * sizes.partitions + partition]
        known.known = False
        known.has_state = False
        known.state = NEW_PARTITION
        known.touched = False
        known.led_anew = False
    for broker in range(sizes.brokers):
        broker_at(topology, plane, controller, broker).alive = False


@inner_rule
def _read_everything(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int
) -> None:
    """Take over the lists, delete notifications unread (from 1.1 on), read all states.

    Source: KafkaController.initializeControllerContext@2.4.0.
    """
    sizes = topology.sizes[0]
    for broker in range(sizes.brokers):
        known = broker_at(topology, plane, controller, broker)
        known.alive = known.listed_epoch != UNDEFINED
        known.broker_epoch = known.listed_epoch
    listing = plane.controllers[controller].listing
    if listing != NONE and plane.rules[controller].notifications_deleted_at_failover:
        issue_for_notifications(kernel, topology, plane, controller, ZK_DELETE)
    for partition in range(sizes.partitions):
        if plane.partitions[controller * sizes.partitions + partition].known:
            read_state(kernel, topology, plane, controller, partition)


@inner_rule
def _tell_everybody(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int
) -> None:
    for broker in range(topology.sizes[0].brokers):
        if broker_at(topology, plane, controller, broker).alive:
            send_metadata(kernel, topology, plane, controller, broker, _TRUE)


@inner_rule
def _find_offline(topology: Topology, plane: ControlPlane, controller: int) -> None:
    """A partition is online if its leader is alive.

    Source: PartitionStateMachine.initializePartitionState@2.4.0.
    """
    sizes = topology.sizes[0]
    for partition in range(sizes.partitions):
        index = controller * sizes.partitions + partition
        known = plane.partitions[index]
        if known.has_state:
            leader = broker_of(topology, partition, plane.leader_and_isr[index].leader)
            known.state = OFFLINE_PARTITION
            if leader >= 0 and broker_at(topology, plane, controller, leader).alive:
                known.state = ONLINE_PARTITION


@inner_rule
def _send_all_roles(topology: Topology, plane: ControlPlane, controller: int) -> None:
    """A new controller tells every live replica its role.

    Source: ReplicaStateMachine.startup@2.4.0.
    """
    sizes = topology.sizes[0]
    for partition in range(sizes.partitions):
        known = plane.partitions[controller * sizes.partitions + partition]
        if known.has_state:
            known.led_anew = True
            known.touched = True


@inner_rule
def advance_topic_change(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int
) -> None:
    """One phase of a topic change: list the topics, give new partitions a state.

    Source: KafkaController.processTopicChange and onNewPartitionCreation@2.4.0.
    """
    state = plane.controllers[controller]
    phase = state.phase
    state.phase += 1
    if phase == 0:
        issue_read(kernel, topology, plane, controller, ZK_CHILDREN, TOPICS_ZNODE, _TRUE)
    elif phase == 1:
        bring_online(kernel, topology, plane, controller)
    else:
        send_requests(kernel, topology, plane, controller)
        state.event = NONE
