"""ZooKeeper: znodes, versions, ephemeral and sequential nodes, one-shot watches.

What a client may rely on: requests of one client are answered in their order; a write is
conditional on the version that it names; a watch fires once, and its event comes before the
answer to anything that its owner asks later; an ephemeral node goes with its session.

A read takes the time of one server, a write that of a quorum (``zookeeper_write``), and
writes that follow each other closely are pipelined. Sessions are in ``sessions.py``.
"""

from __future__ import annotations

from tidegauge.controller.sessions import (
    check_sessions,
    is_expired,
    open_session,
    touch_session,
)
from tidegauge.controller.state import ControlPlane, Znode
from tidegauge.controller.znodes import (
    add_watch,
    delete_znode,
    fire_child_watches,
    fire_watches,
    new_notification,
    parent_of,
)
from tidegauge.replication.compiled import inner_rule
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.costs import (
    ZOOKEEPER_PIPELINED_WRITE,
    ZOOKEEPER_READ,
    ZOOKEEPER_WRITE,
    cost_us,
)
from tidegauge.simulation.events import add_item, free_event, new_event, set_timer
from tidegauge.simulation.kernel import NONE, Event, Kernel
from tidegauge.simulation.kinds import (
    ZK_CHILDREN,
    ZK_CONNECT,
    ZK_CREATE,
    ZK_DELETE,
    ZK_EXISTS,
    ZK_PING,
    ZK_RESPONSE,
    ZK_SET,
    ZK_TICK,
)
from tidegauge.simulation.links import send
from tidegauge.simulation.row_kinds import ZNODE_CREATED, ZNODE_SET
from tidegauge.simulation.rows import new_row, write_canonical
from tidegauge.simulation.topology import (
    BROKER_IDS_ZNODE,
    CONTROLLER_ZNODE,
    FIXED_ZNODES,
    NOTIFICATIONS_ZNODE,
    TOPICS_ZNODE,
    Topology,
    first_notification_znode,
)
from tidegauge.simulation.zookeeper_errors import (
    BAD_VERSION,
    NO_NODE,
    NODE_EXISTS,
    OK,
    SESSION_EXPIRED,
)


@inner_rule
def handle_zookeeper_event(
    kernel: Kernel, topology: Topology, plane: ControlPlane, event: Event
) -> None:
    """Let ZooKeeper deal with one request or tick."""
    if event.kind == ZK_TICK:
        _tick(kernel, topology, plane, event.destination)
        free_event(kernel, event)
        return
    answer = new_event(kernel, event.destination, event.source, ZK_RESPONSE)
    answer.value = event.kind
    answer.znode = event.znode
    answer.partition = event.partition
    answer.request = event.request
    answer.count = event.value
    answer.wait_ms = event.wait_ms
    departure_us = 0
    if event.kind == ZK_CONNECT:
        departure_us = _write_us(kernel, plane, event.destination)
        answer.count = open_session(kernel, plane, event)
    elif event.broker != NONE and is_expired(plane, event.broker, event.value):
        departure_us = _read_us(kernel, event.destination)
        answer.error = SESSION_EXPIRED
    else:
        if event.broker != NONE:
            touch_session(kernel, plane, event.broker)
        departure_us = _handle_request(kernel, topology, plane, event, answer)
    if event.kind == ZK_PING and answer.error == OK:
        free_event(kernel, answer)
    else:
        send(kernel, answer, departure_us)
    free_event(kernel, event)


@inner_rule
def _tick(kernel: Kernel, topology: Topology, plane: ControlPlane, zookeeper: int) -> None:
    check_sessions(kernel, topology, plane, zookeeper)
    tick_us = plane.ensemble[0].tick_us
    due_us = (kernel.context[0].time_us // tick_us + 1) * tick_us
    set_timer(kernel, new_event(kernel, zookeeper, zookeeper, ZK_TICK), due_us)


@inner_rule
def _handle_request(
    kernel: Kernel, topology: Topology, plane: ControlPlane, request: Event, answer: Event
) -> int:
    """Do what a request of a live session asks for; when its answer leaves."""
    if request.kind == ZK_PING:
        return kernel.context[0].time_us
    if request.kind == ZK_CREATE:
        departure_us = _write_us(kernel, plane, request.destination)
        _create(kernel, topology, plane, request, answer, departure_us)
    elif request.kind == ZK_SET:
        departure_us = _write_us(kernel, plane, request.destination)
        _set(kernel, plane, request, answer, departure_us)
    elif request.kind == ZK_DELETE:
        departure_us = _write_us(kernel, plane, request.destination)
        if _is_there(topology, plane, request):
            delete_znode(
                kernel,
                topology,
                plane,
                request.destination,
                request.znode,
                request.broker,
                departure_us,
            )
        else:
            answer.error = NO_NODE
    else:
        departure_us = _read_us(kernel, request.destination)
        _read(kernel, topology, plane, request, answer)
    return departure_us


@inner_rule
def _write_us(kernel: Kernel, plane: ControlPlane, zookeeper: int) -> int:
    """When a write that comes now is committed: after a quorum has it, and in order."""
    ensemble = plane.ensemble[0]
    write_us = cost_us(kernel, zookeeper, ZOOKEEPER_WRITE)
    behind_us = cost_us(kernel, zookeeper, ZOOKEEPER_PIPELINED_WRITE)
    ensemble.committed_us = max(
        kernel.context[0].time_us + write_us, ensemble.committed_us + behind_us
    )
    return ensemble.committed_us


@inner_rule
def _read_us(kernel: Kernel, zookeeper: int) -> int:
    return kernel.context[0].time_us + cost_us(kernel, zookeeper, ZOOKEEPER_READ)


@inner_rule
def _create(
    kernel: Kernel,
    topology: Topology,
    plane: ControlPlane,
    request: Event,
    answer: Event,
    departure_us: int,
) -> None:
    znode = request.znode
    if znode == NOTIFICATIONS_ZNODE:
        znode = new_notification(kernel, plane, request)
    node = plane.znodes[znode]
    if node.exists:
        answer.error = NODE_EXISTS
        return
    ensemble = plane.ensemble[0]
    ensemble.zxid += 1
    node.exists = True
    node.version = 0
    node.created_zxid = ensemble.zxid
    node.broker = request.broker
    is_ephemeral = znode == CONTROLLER_ZNODE or parent_of(topology, znode) == BROKER_IDS_ZNODE
    node.session = request.value if is_ephemeral else UNDEFINED
    _take_data(kernel, node, request)
    answer.offset = node.created_zxid
    answer.version = 0
    written = new_row(kernel, request.destination, ZNODE_CREATED)
    written.values[0] = znode
    written.values[1] = request.broker
    written.values[2] = node.leader
    written.values[3] = node.leader_epoch
    written.values[4] = node.controller_epoch
    written.values[5] = node.isr
    written.values[6] = node.sequence_number
    write_canonical(kernel, written)
    parent = parent_of(topology, znode)
    fire_watches(kernel, plane, request.destination, znode, departure_us)
    fire_child_watches(kernel, plane, request.destination, parent, departure_us)


@inner_rule
def _take_data(kernel: Kernel, node: Znode, request: Event) -> None:
    """Store what a create or a set brings; a notification has kept its chain already."""
    if request.first_item == NONE:
        return
    item = kernel.items[request.first_item]
    node.leader = item.leader
    node.leader_epoch = item.leader_epoch
    node.controller_epoch = item.controller_epoch
    node.isr = item.isr


@inner_rule
def _set(
    kernel: Kernel, plane: ControlPlane, request: Event, answer: Event, departure_us: int
) -> None:
    """Write data if the znode has the version that the writer knows.

    A write that is refused for its version, but whose content is what the znode holds, is
    taken for one whose answer was lost (``checkLeaderAndIsrZkData``).
    """
    node = plane.znodes[request.znode]
    answer.version = node.version
    if not node.exists:
        answer.error = NO_NODE
        return
    if request.version != UNDEFINED and request.version != node.version:
        item = kernel.items[request.first_item]
        same = (
            node.leader == item.leader
            and node.leader_epoch == item.leader_epoch
            and node.controller_epoch == item.controller_epoch
            and node.isr == item.isr
        )
        answer.error = OK if same else BAD_VERSION
        return
    plane.ensemble[0].zxid += 1
    _take_data(kernel, node, request)
    node.version += 1
    answer.version = node.version
    written = new_row(kernel, request.destination, ZNODE_SET)
    written.values[0] = request.znode
    written.values[1] = request.broker
    written.values[2] = node.leader
    written.values[3] = node.leader_epoch
    written.values[4] = node.controller_epoch
    written.values[5] = node.isr
    written.values[6] = node.version
    write_canonical(kernel, written)
    fire_watches(kernel, plane, request.destination, request.znode, departure_us)


@inner_rule
def _read(
    kernel: Kernel, topology: Topology, plane: ControlPlane, request: Event, answer: Event
) -> None:
    """Answer a get, an exists or a list of children; ``acks`` 1 sets a watch with it."""
    node = plane.znodes[request.znode]
    if request.acks == 1:
        add_watch(plane, request.znode, request.source, request.kind == ZK_CHILDREN)
    if request.kind == ZK_CHILDREN:
        _list_children(kernel, topology, plane, request.znode, answer)
        return
    if not _is_there(topology, plane, request):
        answer.error = NO_NODE
        return
    answer.version = node.version
    answer.offset = node.created_zxid
    answer.broker = node.broker
    if request.kind == ZK_EXISTS:
        return
    if request.znode >= first_notification_znode(topology):
        cursor = node.first_item
        while cursor != NONE:
            add_item(kernel, answer, kernel.items[cursor].partition)
            cursor = kernel.items[cursor].next
        return
    item = add_item(kernel, answer, request.partition)
    item.leader = node.leader
    item.leader_epoch = node.leader_epoch
    item.controller_epoch = node.controller_epoch
    item.isr = node.isr
    item.version = node.version


@inner_rule
def _is_there(topology: Topology, plane: ControlPlane, request: Event) -> bool:
    """Whether the znode of a request exists; of a notification, the one with its number."""
    node = plane.znodes[request.znode]
    if request.znode >= first_notification_znode(topology):
        return node.exists and node.sequence_number == request.offset
    return node.exists


@inner_rule
def _list_children(
    kernel: Kernel, topology: Topology, plane: ControlPlane, parent: int, answer: Event
) -> None:
    """Name the children in the answer's chain: brokers with their czxid, topics, znodes."""
    sizes = topology.sizes[0]
    if parent == NOTIFICATIONS_ZNODE:
        znode = plane.ensemble[0].first_notification
        while znode != NONE:
            item = add_item(kernel, answer, znode)
            item.offset = plane.znodes[znode].sequence_number
            znode = plane.znodes[znode].next
        return
    first = FIXED_ZNODES
    count = sizes.brokers
    if parent == TOPICS_ZNODE:
        first = FIXED_ZNODES + sizes.brokers
        count = sizes.topics
    for number in range(count):
        node = plane.znodes[first + number]
        if node.exists:
            item = add_item(kernel, answer, number)
            item.offset = node.created_zxid
