"""Writes of znodes and settings; a write is conditional on the version that it names."""

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.state.assignments import begin_assignments, store_assignments
from tidegauge.controller.state.control_plane import ControlPlane, Znode
from tidegauge.controller.state.handlers import ZOOKEEPER
from tidegauge.controller.zookeeper import znodes
from tidegauge.controller.zookeeper.sessions import leaves_us, response_to_write
from tidegauge.controller.zookeeper.topic_configs import configure_topic, write_throttles
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation import zookeeper_tree
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import zookeeper_requests
from tidegauge.simulation.trace_rows import codes


@ZOOKEEPER.handles(zookeeper_requests.ZkCreateRequest)
@inner_rule
def handle_create(world: ControlPlane, request: zookeeper_requests.ZkCreateRequest) -> None:
    """Create a znode."""
    response = response_to_write(world, request)
    response.partition = request.partition
    departure_us = leaves_us(world, response)
    if response.error == codes.OK:
        if request.znode == zookeeper_tree.CONTROLLER_ZNODE:
            _create_controller(world, request, response, departure_us)
        else:
            _create(world, request, response, departure_us)
    send(world, response, departure_us)


@ZOOKEEPER.handles(zookeeper_requests.ZkSetRequest)
@inner_rule
def handle_set(world: ControlPlane, request: zookeeper_requests.ZkSetRequest) -> None:
    """Write a znode."""
    response = response_to_write(world, request)
    response.partition = request.partition
    departure_us = leaves_us(world, response)
    if response.error == codes.OK:
        _set(world, request, response, departure_us)
    send(world, response, departure_us)


@ZOOKEEPER.handles(zookeeper_requests.ZkDeleteRequest)
@inner_rule
def handle_delete(world: ControlPlane, request: zookeeper_requests.ZkDeleteRequest) -> None:
    """Delete a znode."""
    response = response_to_write(world, request)
    departure_us = leaves_us(world, response)
    if response.error == codes.OK and znodes.is_there(
        world, request.znode, request.sequence_number
    ):
        reason = codes.BROKER_DELETED
        znodes.delete_znode(world, request.znode, request.broker, reason, departure_us)
    elif response.error == codes.OK:
        response.error = codes.NO_NODE
    send(world, response, departure_us)


@ZOOKEEPER.handles(zookeeper_requests.ZkConfigureRequest)
@inner_rule
def handle_configure(world: ControlPlane, request: zookeeper_requests.ZkConfigureRequest) -> None:
    """Write a topic's settings."""
    response = response_to_write(world, request)
    departure_us = leaves_us(world, response)
    if response.error == codes.OK:
        configure_topic(world, request, departure_us)
    send(world, response, departure_us)


@ZOOKEEPER.handles(zookeeper_requests.ZkThrottleRequest)
@inner_rule
def handle_throttle(world: ControlPlane, request: zookeeper_requests.ZkThrottleRequest) -> None:
    """Write throttles of replication."""
    response = response_to_write(world, request)
    departure_us = leaves_us(world, response)
    if response.error == codes.OK:
        write_throttles(world, request, departure_us)
    send(world, response, departure_us)


@inner_rule
def _create_controller(
    world: ControlPlane,
    request: zookeeper_requests.ZkCreateRequest,
    response: zookeeper_requests.ZkResponse,
    departure_us: int,
) -> None:
    """Create /controller; if a controller epoch comes along, both or neither is written.

    Source: KafkaZkClient.registerControllerAndIncrementControllerEpoch@2.4.0.
    """
    if request.first_item == NONE:
        _create(world, request, response, departure_us)
        return
    epoch = world.znodes[zookeeper_tree.CONTROLLER_EPOCH_ZNODE]
    if world.znodes[zookeeper_tree.CONTROLLER_ZNODE].exists:
        response.error = codes.NODE_EXISTS
        return
    if request.version != UNDEFINED and request.version != epoch.version:
        response.error = codes.BAD_VERSION
        return
    data = view_as(world.items[request.first_item], zookeeper_requests.ZnodeData)
    epoch_number = data.controller_epoch
    if not epoch.exists:
        # The first controller of a cluster makes it before: with epoch 0.
        epoch.exists = True
        epoch.version = 0
        znodes.write_znode_row(
            world,
            request.broker,
            zookeeper_tree.CONTROLLER_EPOCH_ZNODE,
            codes.STATE_CREATED,
        )
    # /controller itself holds none.
    data.controller_epoch = 0
    epoch.controller_epoch = epoch_number
    _create(world, request, response, departure_us)
    world.ensemble[0].zxid += 1
    epoch.version += 1
    response.version = epoch.version
    znodes.write_znode_row(
        world,
        request.broker,
        zookeeper_tree.CONTROLLER_EPOCH_ZNODE,
        codes.STATE_WRITTEN,
    )


@inner_rule
def _create(
    world: ControlPlane,
    request: zookeeper_requests.ZkCreateRequest,
    response: zookeeper_requests.ZkResponse,
    departure_us: int,
) -> None:
    znode = request.znode
    if znode == zookeeper_tree.NOTIFICATIONS_ZNODE:
        znode = znodes.new_notification(world, request)
    elif zookeeper_tree.is_in(world, zookeeper_tree.LOG_DIR_EVENT, znode):
        znodes.number_log_dir_event(world, znode)
    elif znodes.holds_chain(world, znode) and not world.znodes[znode].exists:
        znodes.keep_chain(world.znodes[znode], request)
    node = world.znodes[znode]
    if node.exists:
        response.error = codes.NODE_EXISTS
        return
    ensemble = world.ensemble[0]
    ensemble.zxid += 1
    node.exists = True
    node.version = 0
    node.created_zxid = ensemble.zxid
    node.broker = request.broker
    is_ephemeral = (
        znode == zookeeper_tree.CONTROLLER_ZNODE
        or znodes.parent_of(world, znode) == zookeeper_tree.BROKER_IDS_ZNODE
    )
    node.session = request.session if is_ephemeral else UNDEFINED
    _take_data(world, node, request)
    response.created_zxid = node.created_zxid
    response.version = 0
    znodes.write_znode_row(world, request.broker, znode, codes.STATE_CREATED)
    parent = znodes.parent_of(world, znode)
    if parent == zookeeper_tree.TOPICS_ZNODE:
        begin_assignments(world, zookeeper_tree.place_in(world, zookeeper_tree.TOPICS, znode))
    if parent == zookeeper_tree.BROKER_IDS_ZNODE and request.sets_data:
        node.version = 1
        znodes.write_znode_row(world, request.broker, znode, codes.STATE_WRITTEN)
    znodes.fire_watches(world, znode, departure_us)
    znodes.fire_child_watches(world, parent, departure_us)


@inner_rule
def _take_data(world: Kernel, node: Znode, request: zookeeper_requests.ZkDataWrite) -> None:
    """Store the content of a create or a set; a notification has kept its chain already."""
    if request.first_item == NONE:
        return
    data = view_as(world.items[request.first_item], zookeeper_requests.ZnodeData)
    node.leader = data.leader
    node.leader_epoch = data.leader_epoch
    node.controller_epoch = data.controller_epoch
    node.isr = data.isr


@inner_rule
def _set(
    world: ControlPlane,
    request: zookeeper_requests.ZkSetRequest,
    response: zookeeper_requests.ZkResponse,
    departure_us: int,
) -> None:
    """Write data if the znode has the version that the writer knows.

    A write that is refused for its version, but whose content is already in the znode, is taken for
    one whose response was lost (``checkLeaderAndIsrZkData``).
    """
    node = world.znodes[request.znode]
    response.version = node.version
    if not node.exists:
        response.error = codes.NO_NODE
        return
    if request.version != UNDEFINED and request.version != node.version:
        data = view_as(world.items[request.first_item], zookeeper_requests.ZnodeData)
        same = (
            node.leader == data.leader
            and node.leader_epoch == data.leader_epoch
            and node.controller_epoch == data.controller_epoch
            and node.isr == data.isr
        )
        response.error = codes.OK if same else codes.BAD_VERSION
        return
    world.ensemble[0].zxid += 1
    if znodes.holds_chain(world, request.znode):
        znodes.replace_chain(world, node, request)
    elif znodes.parent_of(world, request.znode) == zookeeper_tree.TOPICS_ZNODE:
        store_assignments(world, request)
    else:
        _take_data(world, node, request)
    node.version += 1
    response.version = node.version
    znodes.write_znode_row(world, request.broker, request.znode, codes.STATE_WRITTEN)
    znodes.fire_watches(world, request.znode, departure_us)
