"""ZooKeeper: znodes, versions, ephemeral and sequential nodes, one-shot watches.

What a client may rely on: requests of one client are answered in their order; a write is
conditional on the version that it names; a watch fires once, and its event comes before the
answer to anything that its owner asks later; an ephemeral node goes with its session.

A read takes the time of one server, a write that of a quorum (``zookeeper_write``), and
writes that follow each other closely are pipelined. Sessions are in ``sessions.py``.
"""

from __future__ import annotations

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.state.assignments import (
    begin_assignments,
    list_assignments,
    store_assignments,
)
from tidegauge.controller.state.control_plane import ControlPlane, Znode
from tidegauge.controller.zookeeper.former_states import end_former_session, restore_former_states
from tidegauge.controller.zookeeper.replication_throttles import (
    has_throttles,
    tell_throttles,
    write_throttles,
)
from tidegauge.controller.zookeeper.sessions import (
    check_sessions,
    close_session,
    is_expired,
    lose_connections,
    open_session,
    refresh_sessions,
    touch_session,
)
from tidegauge.controller.zookeeper.topic_configs import add_all_configs, configure_topic
from tidegauge.controller.zookeeper.znodes import (
    add_watch,
    delete_znode,
    fire_child_watches,
    fire_watches,
    holds_chain,
    keep_chain,
    new_notification,
    number_log_dir_event,
    parent_of,
    replace_chain,
    write_znode_row,
)
from tidegauge.replication.records import UNDEFINED
from tidegauge.replication.replica_list import contains, size
from tidegauge.simulation.costs import (
    ZOOKEEPER_PIPELINED_WRITE,
    ZOOKEEPER_READ,
    ZOOKEEPER_WRITE,
    cost_us,
)
from tidegauge.simulation.events import add_item, free_event, new_answer, new_event, set_timer
from tidegauge.simulation.faults import CONTROLLER_MOVE, POWER_LOSS, ZOOKEEPER_OUTAGE
from tidegauge.simulation.kernel import NONE, Event, Kernel
from tidegauge.simulation.kinds import (
    DISCONNECTED,
    FAULT_BEGIN,
    ZK_CHILDREN,
    ZK_CLOSE,
    ZK_CONFIGURE,
    ZK_CONNECT,
    ZK_CREATE,
    ZK_DELETE,
    ZK_EXISTS,
    ZK_IS_QUIESCENT,
    ZK_PING,
    ZK_RESPONSE,
    ZK_SET,
    ZK_THROTTLE,
    ZK_TICK,
)
from tidegauge.simulation.links import send
from tidegauge.simulation.row_kinds import ZNODE_CREATED, ZNODE_SET
from tidegauge.simulation.topology import (
    BROKER_IDS_ZNODE,
    CONTROLLER_EPOCH_ZNODE,
    CONTROLLER_ZNODE,
    FIXED_ZNODES,
    NOTIFICATIONS_ZNODE,
    TOPICS_ZNODE,
    Topology,
    broker_of,
    broker_znode,
    delete_topics_znode,
    first_notification_znode,
    is_log_dir_event,
    log_dir_events_znode,
    state_znode,
    topic_znode,
)
from tidegauge.simulation.zookeeper_errors import (
    BAD_VERSION,
    CONTROLLER_MOVED,
    NO_NODE,
    NODE_EXISTS,
    OK,
    SESSION_EXPIRED,
)

#: So long nothing is written where everything has come to rest.
_QUIET_US = code(1_500_000)
_FIRST_TOPIC = code(0)


@inner_rule
def handle_zookeeper_event(
    kernel: Kernel, topology: Topology, plane: ControlPlane, event: Event
) -> None:
    """Let ZooKeeper deal with one request or tick."""
    if event.kind == ZK_TICK:
        _tick(kernel, topology, plane, event.destination)
        free_event(kernel, event)
        return
    if event.kind == DISCONNECTED:
        lose_connections(topology, plane, event.source, event.offset)
        free_event(kernel, event)
        return
    answer = new_answer(kernel, event, ZK_RESPONSE)
    answer.value = event.kind
    answer.znode = event.znode
    answer.partition = event.partition
    answer.count = event.value
    answer.wait_ms = event.wait_ms
    departure_us = 0
    has_session = event.broker != NONE
    if event.kind == ZK_CONNECT:
        departure_us = _write_us(kernel, plane, event.destination)
        answer.count = open_session(kernel, plane, event)
        add_all_configs(kernel, topology, plane, answer)
    elif has_session and is_expired(plane, event.value):
        departure_us = _read_us(kernel, event.destination)
        answer.error = SESSION_EXPIRED
    else:
        if has_session:
            touch_session(kernel, plane, event.value)
        departure_us = _handle_request(kernel, topology, plane, event, answer)
    if event.kind == ZK_CLOSE or (event.kind == ZK_PING and answer.error == OK):
        free_event(kernel, answer)
    else:
        send(kernel, answer, departure_us)
    if event.kind == ZK_CONNECT and has_throttles(topology, plane):
        tell_throttles(kernel, topology, plane, event.destination, answer.count, departure_us)
    free_event(kernel, event)


@inner_rule
def take_zookeeper_fault(
    kernel: Kernel, topology: Topology, plane: ControlPlane, event: Event
) -> None:
    """An outage is over, or /controller is deleted by hand."""
    zookeeper = event.destination
    kind = kernel.faults[event.value].kind
    now_us = kernel.context[0].time_us
    if kind == CONTROLLER_MOVE and event.kind == FAULT_BEGIN:
        if plane.znodes[CONTROLLER_ZNODE].exists:
            delete_znode(kernel, topology, plane, zookeeper, CONTROLLER_ZNODE, UNDEFINED, now_us)
    elif kind in (ZOOKEEPER_OUTAGE, POWER_LOSS) and kernel.processes[zookeeper].paused == 0:
        # Sessions come before the requests that have waited.
        if kernel.faults[event.value].refreshes_sessions:
            refresh_sessions(kernel, plane)
        check_sessions(kernel, topology, plane, zookeeper)


@inner_rule
def _tick(kernel: Kernel, topology: Topology, plane: ControlPlane, zookeeper: int) -> None:
    if kernel.context[0].time_us == 0:
        restore_former_states(kernel, plane, zookeeper)
    else:
        end_former_session(kernel, topology, plane, zookeeper)
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
    if request.kind == ZK_IS_QUIESCENT:
        answer.error = OK if _is_quiescent(kernel, topology, plane) else NO_NODE
        return kernel.context[0].time_us
    if not _is_write(request.kind):
        departure_us = _read_us(kernel, request.destination)
        _read(kernel, topology, plane, request, answer)
        return departure_us
    departure_us = _write_us(kernel, plane, request.destination)
    if _is_fenced(topology, plane, request):
        answer.error = CONTROLLER_MOVED
    else:
        _do_write(kernel, topology, plane, request, answer, departure_us)
    return departure_us


@inner_rule
def _do_write(
    kernel: Kernel,
    topology: Topology,
    plane: ControlPlane,
    request: Event,
    answer: Event,
    departure_us: int,
) -> None:
    if request.kind == ZK_CLOSE:
        close_session(kernel, topology, plane, request, departure_us)
    elif request.kind == ZK_CONFIGURE:
        configure_topic(kernel, plane, request, departure_us)
    elif request.kind == ZK_THROTTLE:
        write_throttles(kernel, topology, plane, request, departure_us)
    elif request.kind == ZK_CREATE and request.znode == CONTROLLER_ZNODE:
        _create_controller(kernel, topology, plane, request, answer, departure_us)
    elif request.kind == ZK_CREATE:
        _create(kernel, topology, plane, request, answer, departure_us)
    elif request.kind == ZK_SET:
        _set(kernel, topology, plane, request, answer, departure_us)
    elif _is_there(topology, plane, request):
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


@inner_rule
def _is_write(kind: int) -> bool:
    return kind in (ZK_CREATE, ZK_SET, ZK_DELETE, ZK_CLOSE, ZK_CONFIGURE, ZK_THROTTLE)


@inner_rule
def _is_fenced(topology: Topology, plane: ControlPlane, request: Event) -> bool:
    """Whether a write depends on a controller epoch that is not the newest any more.

    Source: KafkaZkClient.retryRequestsUntilConnected with expectedControllerEpochZkVersion@2.4.0.
    """
    brokers = topology.sizes[0].brokers
    if not brokers <= request.source < 2 * brokers or request.count == UNDEFINED:
        return False
    return request.count != plane.znodes[CONTROLLER_EPOCH_ZNODE].version


@inner_rule
def _create_controller(
    kernel: Kernel,
    topology: Topology,
    plane: ControlPlane,
    request: Event,
    answer: Event,
    departure_us: int,
) -> None:
    """Create /controller; if a controller epoch comes along, both or neither is written.

    Source: KafkaZkClient.registerControllerAndIncrementControllerEpoch@2.4.0.
    """
    if request.first_item == NONE:
        _create(kernel, topology, plane, request, answer, departure_us)
        return
    epoch = plane.znodes[CONTROLLER_EPOCH_ZNODE]
    if plane.znodes[CONTROLLER_ZNODE].exists:
        answer.error = NODE_EXISTS
        return
    if request.version != UNDEFINED and request.version != epoch.version:
        answer.error = BAD_VERSION
        return
    controller_epoch = kernel.items[request.first_item].controller_epoch
    if not epoch.exists:
        # The first controller of a cluster makes it before: with epoch 0.
        epoch.exists = True
        epoch.version = 0
        write_znode_row(
            kernel,
            plane,
            request.destination,
            request.broker,
            CONTROLLER_EPOCH_ZNODE,
            ZNODE_CREATED,
        )
    kernel.items[request.first_item].controller_epoch = 0
    _create(kernel, topology, plane, request, answer, departure_us)
    plane.ensemble[0].zxid += 1
    epoch.controller_epoch = controller_epoch
    epoch.version += 1
    answer.version = epoch.version
    write_znode_row(
        kernel, plane, request.destination, request.broker, CONTROLLER_EPOCH_ZNODE, ZNODE_SET
    )


@inner_rule
def _is_quiescent(kernel: Kernel, topology: Topology, plane: ControlPlane) -> bool:
    """Whether everything has come to rest, as a test harness would see it.

    Every partition with a live leader has all its live replicas in sync, no notification is
    left, and nothing was written for a while.
    """
    ensemble = plane.ensemble[0]
    if ensemble.first_notification != NONE or _any_log_dir_event(topology, plane):
        return False
    if kernel.context[0].time_us < ensemble.committed_us + _QUIET_US:
        return False
    for partition in range(topology.sizes[0].partitions):
        node = plane.znodes[state_znode(topology, partition)]
        leader = broker_of(topology, partition, node.leader)
        if not node.exists or leader < 0 or not plane.znodes[broker_znode(leader)].exists:
            continue
        live = 0
        for slot in range(topology.partitions[partition].slot_count):
            broker = broker_of(topology, partition, slot)
            if not contains(plane.assignments[partition].replicas, slot):
                continue
            live += 1 if plane.znodes[broker_znode(broker)].exists else 0
        if size(node.isr) < live:
            return False
    return True


@inner_rule
def _any_log_dir_event(topology: Topology, plane: ControlPlane) -> bool:
    first = log_dir_events_znode(topology) + 1
    for znode in range(first, first_notification_znode(topology)):
        if plane.znodes[znode].exists:
            return True
    return False


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
    elif is_log_dir_event(topology, znode):
        number_log_dir_event(topology, plane, znode)
    elif holds_chain(topology, znode) and not plane.znodes[znode].exists:
        keep_chain(plane.znodes[znode], request)
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
    write_znode_row(kernel, plane, request.destination, request.broker, znode, ZNODE_CREATED)
    parent = parent_of(topology, znode)
    if parent == TOPICS_ZNODE:
        begin_assignments(topology, plane, znode - topic_znode(topology, _FIRST_TOPIC))
    if parent == BROKER_IDS_ZNODE and request.count == 1:
        node.version = 1
        write_znode_row(kernel, plane, request.destination, request.broker, znode, ZNODE_SET)
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
    kernel: Kernel,
    topology: Topology,
    plane: ControlPlane,
    request: Event,
    answer: Event,
    departure_us: int,
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
    if holds_chain(topology, request.znode):
        replace_chain(kernel, node, request)
    elif parent_of(topology, request.znode) == TOPICS_ZNODE:
        store_assignments(kernel, plane, request)
    else:
        _take_data(kernel, node, request)
    node.version += 1
    answer.version = node.version
    write_znode_row(kernel, plane, request.destination, request.broker, request.znode, ZNODE_SET)
    fire_watches(kernel, plane, request.destination, request.znode, departure_us)


@inner_rule
def _read(
    kernel: Kernel, topology: Topology, plane: ControlPlane, request: Event, answer: Event
) -> None:
    """Answer a get, an exists or a list of children; ``acks`` 1 sets a watch with it."""
    node = plane.znodes[request.znode]
    if request.acks == 1:
        add_watch(kernel, plane, request, request.kind == ZK_CHILDREN)
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
    is_notification = request.znode >= first_notification_znode(topology)
    if is_notification or holds_chain(topology, request.znode):
        cursor = node.first_item
        while cursor != NONE:
            item = add_item(kernel, answer, kernel.items[cursor].partition)
            item.replicas = kernel.items[cursor].replicas
            cursor = kernel.items[cursor].next
        return
    item = add_item(kernel, answer, request.partition)
    item.leader = node.leader
    item.leader_epoch = node.leader_epoch
    item.controller_epoch = node.controller_epoch
    item.isr = node.isr
    item.version = node.version
    if request.partition != UNDEFINED:
        # The topic's unclean.leader.election.enable and its replicas, which are read beside it.
        item.replicas = plane.assignments[request.partition].replicas
        topic = topology.partitions[request.partition].topic
        item.may_move = plane.topic_configs[topic].unclean_leader_election


@inner_rule
def _is_there(topology: Topology, plane: ControlPlane, request: Event) -> bool:
    """Whether the znode of a request exists; of a notification, the one with its number."""
    node = plane.znodes[request.znode]
    is_numbered = is_log_dir_event(topology, request.znode)
    if is_numbered or request.znode >= first_notification_znode(topology):
        return node.exists and node.sequence_number == request.offset
    return node.exists


@inner_rule
def _list_children(
    kernel: Kernel, topology: Topology, plane: ControlPlane, parent: int, answer: Event
) -> None:
    """Name the children in the answer's chain: brokers with their czxid, znodes.

    Of topics it names the partitions.
    """
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
    if sizes.log_dir_znodes > 0 and parent == log_dir_events_znode(topology):
        first = log_dir_events_znode(topology) + 1
        count = sizes.log_dir_znodes - 1
    elif sizes.admin_znodes > 0 and parent == delete_topics_znode(topology):
        first = delete_topics_znode(topology) + 1
        count = sizes.topics
    if parent == TOPICS_ZNODE:
        first = FIXED_ZNODES + sizes.brokers
        count = sizes.topics
    for number in range(count):
        node = plane.znodes[first + number]
        if node.exists and parent == TOPICS_ZNODE:
            list_assignments(kernel, topology, plane, number, answer)
        elif node.exists:
            item = add_item(kernel, answer, number)
            item.offset = node.created_zxid
            item.version = node.sequence_number
