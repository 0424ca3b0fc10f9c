"""Reads of znodes: their content, their existence, their children. A read can set a watch."""

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.state.assignments import list_assignments
from tidegauge.controller.state.control_plane import NOTIFICATIONS, ControlPlane, Znode
from tidegauge.controller.state.handlers import ZOOKEEPER
from tidegauge.controller.zookeeper.sessions import read_us, response_to
from tidegauge.controller.zookeeper.znodes import add_watch, holds_chain, is_there
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation import zookeeper_tree
from tidegauge.simulation.events import items_of, new_item
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import zookeeper_requests
from tidegauge.simulation.trace_rows.codes import NO_NODE, OK


@inner_rule
def _response_to_read(
    world: ControlPlane, request: zookeeper_requests.ZkRead
) -> zookeeper_requests.ZkResponse:
    response = response_to(world, request)
    response.partition = request.partition
    response.continuation = request.continuation
    if response.error == OK and request.sets_watch:
        add_watch(world, request, request.kind == zookeeper_requests.ZkChildrenRequest.KIND)
    return response


@inner_rule
def _finds(
    world: ControlPlane, request: zookeeper_requests.ZkRead, response: zookeeper_requests.ZkResponse
) -> bool:
    """Whether the znode that is read exists; the response has the error."""
    if response.error != OK:
        return False
    if not is_there(world, request.znode, request.sequence_number):
        response.error = NO_NODE
        return False
    node = world.znodes[request.znode]
    response.version = node.version
    response.created_zxid = node.created_zxid
    response.owner = node.broker
    return True


@ZOOKEEPER.handles(zookeeper_requests.ZkGetRequest)
@inner_rule
def handle_get(world: ControlPlane, request: zookeeper_requests.ZkGetRequest) -> None:
    """Answer with a znode's content."""
    response = _response_to_read(world, request)
    if _finds(world, request, response):
        is_notification = zookeeper_tree.is_in(world, zookeeper_tree.NOTIFICATIONS, request.znode)
        if is_notification or holds_chain(world, request.znode):
            _name_partitions(world, world.znodes[request.znode], response)
        else:
            _tell_data(world, request, response)
    send(world, response, read_us(world, request.destination))


@ZOOKEEPER.handles(zookeeper_requests.ZkExistsRequest)
@inner_rule
def handle_exists(world: ControlPlane, request: zookeeper_requests.ZkExistsRequest) -> None:
    """Answer whether a znode exists, and with its creator."""
    response = _response_to_read(world, request)
    _finds(world, request, response)
    send(world, response, read_us(world, request.destination))


@ZOOKEEPER.handles(zookeeper_requests.ZkChildrenRequest)
@inner_rule
def handle_children(world: ControlPlane, request: zookeeper_requests.ZkChildrenRequest) -> None:
    """Name the children of a znode."""
    response = _response_to_read(world, request)
    if response.error == OK:
        _list_children(world, request.znode, response)
    send(world, response, read_us(world, request.destination))


@inner_rule
def _name_partitions(world: Kernel, node: Znode, response: zookeeper_requests.ZkResponse) -> None:
    """Name the partitions that a znode names."""
    for kept in items_of(world, node, zookeeper_requests.NamedPartition):
        new_item(world, response, kept.partition, zookeeper_requests.NamedPartition, kept)


@inner_rule
def _tell_data(
    world: ControlPlane,
    request: zookeeper_requests.ZkGetRequest,
    response: zookeeper_requests.ZkResponse,
) -> None:
    """Answer with a partition's state, or another content of a znode."""
    node = world.znodes[request.znode]
    data = new_item(world, response, request.partition, zookeeper_requests.ZnodeData, node)
    if request.partition != UNDEFINED:
        data.replicas = world.assignments[request.partition].replicas
        topic = world.partitions[request.partition].topic
        data.unclean_leader_election = world.topic_configs[topic].unclean_leader_election


@inner_rule
def _list_children(
    world: ControlPlane, parent: int, response: zookeeper_requests.ZkResponse
) -> None:
    """Name the children in the response's chain; of topics, their partitions."""
    if parent == zookeeper_tree.NOTIFICATIONS_ZNODE:
        for znode in NOTIFICATIONS.of(world, world.ensemble[0]):
            _add_child(world, response, znode)
        return
    sort = zookeeper_tree.BROKERS
    if zookeeper_tree.is_in(world, zookeeper_tree.LOG_DIR_EVENTS, parent):
        sort = zookeeper_tree.LOG_DIR_EVENT
    elif zookeeper_tree.is_in(world, zookeeper_tree.DELETIONS, parent):
        sort = zookeeper_tree.TOPIC_DELETIONS
    elif parent == zookeeper_tree.TOPICS_ZNODE:
        sort = zookeeper_tree.TOPICS
    children = world.tree_ranges[sort]
    for number in range(children.count):
        znode = children.first + number
        if world.znodes[znode].exists and parent == zookeeper_tree.TOPICS_ZNODE:
            list_assignments(world, number, response)
        elif world.znodes[znode].exists or sort == zookeeper_tree.BROKERS:
            _add_child(world, response, znode)


@inner_rule
def _add_child(world: ControlPlane, response: zookeeper_requests.ZkResponse, znode: int) -> None:
    node = world.znodes[znode]
    child = new_item(world, response, NONE, zookeeper_requests.Child)
    child.znode = znode
    child.created_zxid = node.created_zxid if node.exists else UNDEFINED
    child.row_sequence = node.row_sequence
    child.sequence_number = node.sequence_number
