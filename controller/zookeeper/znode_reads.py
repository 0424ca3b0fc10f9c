"""Reads of znodes: what they hold, whether they exist, their children. A read can set a watch."""

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.state.assignments import list_assignments
from tidegauge.controller.state.control_plane import ControlPlane, Znode
from tidegauge.controller.state.handlers import ZOOKEEPER
from tidegauge.controller.zookeeper.sessions import read_us, response_to
from tidegauge.controller.zookeeper.znodes import add_watch, holds_chain, is_there
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.events import new_item
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.zookeeper_requests import (
    Child,
    NamedPartition,
    ZkChildrenRequest,
    ZkExistsRequest,
    ZkGetRequest,
    ZkRead,
    ZkResponse,
    ZnodeData,
)
from tidegauge.simulation.trace_rows.codes import NO_NODE, OK
from tidegauge.simulation.zookeeper_tree import (
    BROKERS,
    DELETIONS,
    LOG_DIR_EVENT,
    LOG_DIR_EVENTS,
    NOTIFICATIONS,
    NOTIFICATIONS_ZNODE,
    TOPIC_DELETIONS,
    TOPICS,
    TOPICS_ZNODE,
    is_in,
)


@inner_rule
def _response_to_read(world: ControlPlane, request: ZkRead) -> ZkResponse:
    response = response_to(world, request)
    response.partition = request.partition
    response.continuation = request.continuation
    if response.error == OK and request.sets_watch:
        add_watch(world, request, request.kind == ZkChildrenRequest.KIND)
    return response


@inner_rule
def _finds(world: ControlPlane, request: ZkRead, response: ZkResponse) -> bool:
    """Whether the znode is there that is read; the response says so."""
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


@ZOOKEEPER.handles(ZkGetRequest)
@inner_rule
def handle_get(world: ControlPlane, request: ZkGetRequest) -> None:
    """Tell what a znode holds."""
    response = _response_to_read(world, request)
    if _finds(world, request, response):
        is_notification = is_in(world, NOTIFICATIONS, request.znode)
        if is_notification or holds_chain(world, request.znode):
            _name_partitions(world, world.znodes[request.znode], response)
        else:
            _tell_data(world, request, response)
    send(world, response, read_us(world, request.destination))


@ZOOKEEPER.handles(ZkExistsRequest)
@inner_rule
def handle_exists(world: ControlPlane, request: ZkExistsRequest) -> None:
    """Tell whether a znode exists, and who has created it."""
    response = _response_to_read(world, request)
    _finds(world, request, response)
    send(world, response, read_us(world, request.destination))


@ZOOKEEPER.handles(ZkChildrenRequest)
@inner_rule
def handle_children(world: ControlPlane, request: ZkChildrenRequest) -> None:
    """Name the children of a znode."""
    response = _response_to_read(world, request)
    if response.error == OK:
        _list_children(world, request.znode, response)
    send(world, response, read_us(world, request.destination))


@inner_rule
def _name_partitions(world: Kernel, node: Znode, response: ZkResponse) -> None:
    """Name the partitions that a znode names."""
    cursor = node.first_item
    while cursor != NONE:
        kept = view_as(world.items[cursor], NamedPartition)
        cursor = kept.next
        named = new_item(world, response, kept.partition, NamedPartition)
        named.replicas = kept.replicas


@inner_rule
def _tell_data(world: ControlPlane, request: ZkGetRequest, response: ZkResponse) -> None:
    """Tell a partition's state, or whatever else a znode holds."""
    node = world.znodes[request.znode]
    data = new_item(world, response, request.partition, ZnodeData)
    data.leader = node.leader
    data.leader_epoch = node.leader_epoch
    data.controller_epoch = node.controller_epoch
    data.isr = node.isr
    data.version = node.version
    if request.partition != UNDEFINED:
        data.replicas = world.assignments[request.partition].replicas
        topic = world.partitions[request.partition].topic
        data.unclean_leader_election = world.topic_configs[topic].unclean_leader_election


@inner_rule
def _list_children(world: ControlPlane, parent: int, response: ZkResponse) -> None:
    """Name the children in the response's chain; of topics, their partitions."""
    if parent == NOTIFICATIONS_ZNODE:
        znode = world.ensemble[0].first_notification
        while znode != NONE:
            _add_child(world, response, znode)
            znode = world.znodes[znode].next
        return
    sort = BROKERS
    if is_in(world, LOG_DIR_EVENTS, parent):
        sort = LOG_DIR_EVENT
    elif is_in(world, DELETIONS, parent):
        sort = TOPIC_DELETIONS
    elif parent == TOPICS_ZNODE:
        sort = TOPICS
    children = world.tree_ranges[sort]
    for number in range(children.count):
        znode = children.first + number
        if world.znodes[znode].exists and parent == TOPICS_ZNODE:
            list_assignments(world, number, response)
        elif world.znodes[znode].exists or sort == BROKERS:
            _add_child(world, response, znode)


@inner_rule
def _add_child(world: ControlPlane, response: ZkResponse, znode: int) -> None:
    node = world.znodes[znode]
    child = new_item(world, response, NONE, Child)
    child.znode = znode
    child.created_zxid = node.created_zxid if node.exists else UNDEFINED
    child.row_sequence = node.row_sequence
    child.sequence_number = node.sequence_number
