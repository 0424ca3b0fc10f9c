"""Writes of znodes and settings; a write is conditional on the version that it names."""

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.state.assignments import begin_assignments, store_assignments
from tidegauge.controller.state.control_plane import ControlPlane, Znode
from tidegauge.controller.state.handlers import ZOOKEEPER
from tidegauge.controller.zookeeper.sessions import leaves_us, response_to_write
from tidegauge.controller.zookeeper.topic_configs import configure_topic, write_throttles
from tidegauge.controller.zookeeper.znodes import (
    delete_znode,
    fire_child_watches,
    fire_watches,
    holds_chain,
    is_there,
    keep_chain,
    new_notification,
    number_log_dir_event,
    parent_of,
    replace_chain,
    write_znode_row,
)
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.zookeeper_requests import (
    ZkConfigureRequest,
    ZkCreateRequest,
    ZkDataWrite,
    ZkDeleteRequest,
    ZkResponse,
    ZkSetRequest,
    ZkThrottleRequest,
    ZnodeData,
)
from tidegauge.simulation.trace_rows.codes import (
    BAD_VERSION,
    BROKER_DELETED,
    NO_NODE,
    NODE_EXISTS,
    OK,
    STATE_CREATED,
    STATE_WRITTEN,
)
from tidegauge.simulation.zookeeper_tree import (
    BROKER_IDS_ZNODE,
    CONTROLLER_EPOCH_ZNODE,
    CONTROLLER_ZNODE,
    LOG_DIR_EVENT,
    NOTIFICATIONS_ZNODE,
    TOPICS,
    TOPICS_ZNODE,
    is_in,
    place_in,
)


@ZOOKEEPER.handles(ZkCreateRequest)
@inner_rule
def handle_create(world: ControlPlane, request: ZkCreateRequest) -> None:
    """Create a znode."""
    response = response_to_write(world, request)
    response.partition = request.partition
    departure_us = leaves_us(world, response)
    if response.error == OK:
        if request.znode == CONTROLLER_ZNODE:
            _create_controller(world, request, response, departure_us)
        else:
            _create(world, request, response, departure_us)
    send(world, response, departure_us)


@ZOOKEEPER.handles(ZkSetRequest)
@inner_rule
def handle_set(world: ControlPlane, request: ZkSetRequest) -> None:
    """Write a znode."""
    response = response_to_write(world, request)
    response.partition = request.partition
    departure_us = leaves_us(world, response)
    if response.error == OK:
        _set(world, request, response, departure_us)
    send(world, response, departure_us)


@ZOOKEEPER.handles(ZkDeleteRequest)
@inner_rule
def handle_delete(world: ControlPlane, request: ZkDeleteRequest) -> None:
    """Delete a znode."""
    response = response_to_write(world, request)
    departure_us = leaves_us(world, response)
    if response.error == OK and is_there(world, request.znode, request.sequence_number):
        zookeeper = request.destination
        reason = BROKER_DELETED
        delete_znode(world, zookeeper, request.znode, request.broker, reason, departure_us)
    elif response.error == OK:
        response.error = NO_NODE
    send(world, response, departure_us)


@ZOOKEEPER.handles(ZkConfigureRequest)
@inner_rule
def handle_configure(world: ControlPlane, request: ZkConfigureRequest) -> None:
    """Write a topic's settings."""
    response = response_to_write(world, request)
    departure_us = leaves_us(world, response)
    if response.error == OK:
        configure_topic(world, request, departure_us)
    send(world, response, departure_us)


@ZOOKEEPER.handles(ZkThrottleRequest)
@inner_rule
def handle_throttle(world: ControlPlane, request: ZkThrottleRequest) -> None:
    """Write throttles of replication."""
    response = response_to_write(world, request)
    departure_us = leaves_us(world, response)
    if response.error == OK:
        write_throttles(world, request, departure_us)
    send(world, response, departure_us)


@inner_rule
def _create_controller(
    world: ControlPlane,
    request: ZkCreateRequest,
    response: ZkResponse,
    departure_us: int,
) -> None:
    """Create /controller; if a controller epoch comes along, both or neither is written.

    Source: KafkaZkClient.registerControllerAndIncrementControllerEpoch@2.4.0.
    """
    if request.first_item == NONE:
        _create(world, request, response, departure_us)
        return
    epoch = world.znodes[CONTROLLER_EPOCH_ZNODE]
    if world.znodes[CONTROLLER_ZNODE].exists:
        response.error = NODE_EXISTS
        return
    if request.version != UNDEFINED and request.version != epoch.version:
        response.error = BAD_VERSION
        return
    data = view_as(world.items[request.first_item], ZnodeData)
    epoch_number = data.controller_epoch
    if not epoch.exists:
        # The first controller of a cluster makes it before: with epoch 0.
        epoch.exists = True
        epoch.version = 0
        write_znode_row(
            world,
            request.destination,
            request.broker,
            CONTROLLER_EPOCH_ZNODE,
            STATE_CREATED,
        )
    # /controller itself holds none.
    data.controller_epoch = 0
    epoch.controller_epoch = epoch_number
    _create(world, request, response, departure_us)
    world.ensemble[0].zxid += 1
    epoch.version += 1
    response.version = epoch.version
    write_znode_row(
        world,
        request.destination,
        request.broker,
        CONTROLLER_EPOCH_ZNODE,
        STATE_WRITTEN,
    )


@inner_rule
def _create(
    world: ControlPlane,
    request: ZkCreateRequest,
    response: ZkResponse,
    departure_us: int,
) -> None:
    znode = request.znode
    if znode == NOTIFICATIONS_ZNODE:
        znode = new_notification(world, request)
    elif is_in(world, LOG_DIR_EVENT, znode):
        number_log_dir_event(world, znode)
    elif holds_chain(world, znode) and not world.znodes[znode].exists:
        keep_chain(world.znodes[znode], request)
    node = world.znodes[znode]
    if node.exists:
        response.error = NODE_EXISTS
        return
    ensemble = world.ensemble[0]
    ensemble.zxid += 1
    node.exists = True
    node.version = 0
    node.created_zxid = ensemble.zxid
    node.broker = request.broker
    is_ephemeral = znode == CONTROLLER_ZNODE or parent_of(world, znode) == BROKER_IDS_ZNODE
    node.session = request.session if is_ephemeral else UNDEFINED
    _take_data(world, node, request)
    response.created_zxid = node.created_zxid
    response.version = 0
    write_znode_row(world, request.destination, request.broker, znode, STATE_CREATED)
    parent = parent_of(world, znode)
    if parent == TOPICS_ZNODE:
        begin_assignments(world, place_in(world, TOPICS, znode))
    if parent == BROKER_IDS_ZNODE and request.sets_data:
        node.version = 1
        write_znode_row(world, request.destination, request.broker, znode, STATE_WRITTEN)
    fire_watches(world, request.destination, znode, departure_us)
    fire_child_watches(world, request.destination, parent, departure_us)


@inner_rule
def _take_data(world: Kernel, node: Znode, request: ZkDataWrite) -> None:
    """Store what a create or a set brings; a notification has kept its chain already."""
    if request.first_item == NONE:
        return
    data = view_as(world.items[request.first_item], ZnodeData)
    node.leader = data.leader
    node.leader_epoch = data.leader_epoch
    node.controller_epoch = data.controller_epoch
    node.isr = data.isr


@inner_rule
def _set(
    world: ControlPlane,
    request: ZkSetRequest,
    response: ZkResponse,
    departure_us: int,
) -> None:
    """Write data if the znode has the version that the writer knows.

    A write that is refused for its version, but whose content is what the znode holds, is
    taken for one whose answer was lost (``checkLeaderAndIsrZkData``).
    """
    node = world.znodes[request.znode]
    response.version = node.version
    if not node.exists:
        response.error = NO_NODE
        return
    if request.version != UNDEFINED and request.version != node.version:
        data = view_as(world.items[request.first_item], ZnodeData)
        same = (
            node.leader == data.leader
            and node.leader_epoch == data.leader_epoch
            and node.controller_epoch == data.controller_epoch
            and node.isr == data.isr
        )
        response.error = OK if same else BAD_VERSION
        return
    world.ensemble[0].zxid += 1
    if holds_chain(world, request.znode):
        replace_chain(world, node, request)
    elif parent_of(world, request.znode) == TOPICS_ZNODE:
        store_assignments(world, request)
    else:
        _take_data(world, node, request)
    node.version += 1
    response.version = node.version
    write_znode_row(world, request.destination, request.broker, request.znode, STATE_WRITTEN)
    fire_watches(world, request.destination, request.znode, departure_us)
