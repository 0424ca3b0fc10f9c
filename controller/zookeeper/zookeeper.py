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
from tidegauge.controller.zookeeper.held_states import is_registered
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
from tidegauge.simulation.codes.occasions import BROKER_DELETED, STATE_CREATED, STATE_WRITTEN
from tidegauge.simulation.codes.zookeeper_errors import (
    BAD_VERSION,
    CONTROLLER_MOVED,
    NO_NODE,
    NODE_EXISTS,
    OK,
    SESSION_EXPIRED,
)
from tidegauge.simulation.costs import (
    ZOOKEEPER_PIPELINED_WRITE,
    ZOOKEEPER_READ,
    ZOOKEEPER_WRITE,
    cost_us,
)
from tidegauge.simulation.events import add_item, free_event, old_event, old_response, set_timer
from tidegauge.simulation.faults import FAULT_CODES
from tidegauge.simulation.kernel import CONTROLLER, NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.kinds import (
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
from tidegauge.simulation.topology import broker_of
from tidegauge.simulation.zookeeper_tree import (
    BROKER_IDS_ZNODE,
    BROKERS,
    CONTROLLER_EPOCH_ZNODE,
    CONTROLLER_ZNODE,
    DELETIONS,
    LOG_DIR_EVENT,
    LOG_DIR_EVENTS,
    NOTIFICATIONS,
    NOTIFICATIONS_ZNODE,
    TOPIC_DELETIONS,
    TOPICS,
    TOPICS_ZNODE,
    is_in,
    place_in,
    state_znode,
)

CONTROLLER_MOVE = FAULT_CODES.new("controller_move", 8)

#: So long nothing is written where everything has come to rest.
_QUIET_US = code(1_500_000)


@inner_rule
def handle_zookeeper_event(world: ControlPlane, event: Event) -> None:
    """Let ZooKeeper deal with one request or tick."""
    if event.kind == ZK_TICK:
        _tick(world, event.destination)
        free_event(world, event)
        return
    if event.kind == DISCONNECTED:
        lose_connections(world, event.source, event.offset)
        free_event(world, event)
        return
    answer = old_response(world, event, ZK_RESPONSE)
    answer.value = event.kind
    answer.znode = event.znode
    answer.partition = event.partition
    answer.count = event.value
    answer.wait_ms = event.wait_ms
    departure_us = 0
    has_session = event.broker != NONE
    if event.kind == ZK_CONNECT:
        departure_us = _write_us(world, event.destination)
        answer.count = open_session(world, event)
        add_all_configs(world, answer)
    elif has_session and is_expired(world, event.value):
        departure_us = _read_us(world, event.destination)
        answer.error = SESSION_EXPIRED
    else:
        if has_session:
            touch_session(world, event.value)
        departure_us = _handle_request(world, event, answer)
    if event.kind == ZK_CLOSE or (event.kind == ZK_PING and answer.error == OK):
        free_event(world, answer)
    else:
        send(world, answer, departure_us)
    if event.kind == ZK_CONNECT and has_throttles(world):
        tell_throttles(world, event.destination, answer.count, departure_us)
    free_event(world, event)


@inner_rule
def take_zookeeper_fault(world: ControlPlane, event: Event) -> None:
    """An outage is over, or /controller is deleted by hand."""
    zookeeper = event.destination
    fault = world.faults[event.value]
    now_us = world.context[0].time_us
    if fault.kind == CONTROLLER_MOVE and event.kind == FAULT_BEGIN:
        if world.znodes[CONTROLLER_ZNODE].exists:
            znode = CONTROLLER_ZNODE
            reason = BROKER_DELETED
            delete_znode(world, zookeeper, znode, UNDEFINED, reason, now_us)
    elif (fault.suspends or fault.stops) and world.processes[zookeeper].paused == 0:
        # Sessions come before the requests that have waited.
        if fault.refreshes_sessions:
            refresh_sessions(world)
        check_sessions(world, zookeeper)


@inner_rule
def _tick(world: ControlPlane, zookeeper: int) -> None:
    if world.context[0].time_us == 0:
        restore_former_states(world, zookeeper)
    else:
        end_former_session(world, zookeeper)
    check_sessions(world, zookeeper)
    tick_us = world.ensemble[0].tick_us
    due_us = (world.context[0].time_us // tick_us + 1) * tick_us
    set_timer(world, old_event(world, zookeeper, zookeeper, ZK_TICK), due_us)


@inner_rule
def _handle_request(world: ControlPlane, request: Event, answer: Event) -> int:
    """Do what a request of a live session asks for; when its answer leaves."""
    if request.kind == ZK_PING:
        return world.context[0].time_us
    if request.kind == ZK_IS_QUIESCENT:
        answer.error = OK if _is_quiescent(world) else NO_NODE
        return world.context[0].time_us
    if not _is_write(request.kind):
        departure_us = _read_us(world, request.destination)
        _read(world, request, answer)
        return departure_us
    departure_us = _write_us(world, request.destination)
    if _is_fenced(world, request):
        answer.error = CONTROLLER_MOVED
    else:
        _do_write(world, request, answer, departure_us)
    return departure_us


@inner_rule
def _do_write(
    world: ControlPlane,
    request: Event,
    answer: Event,
    departure_us: int,
) -> None:
    if request.kind == ZK_CLOSE:
        close_session(world, request, departure_us)
    elif request.kind == ZK_CONFIGURE:
        configure_topic(world, request, departure_us)
    elif request.kind == ZK_THROTTLE:
        write_throttles(world, request, departure_us)
    elif request.kind == ZK_CREATE and request.znode == CONTROLLER_ZNODE:
        _create_controller(world, request, answer, departure_us)
    elif request.kind == ZK_CREATE:
        _create(world, request, answer, departure_us)
    elif request.kind == ZK_SET:
        _set(world, request, answer, departure_us)
    elif _is_there(world, request):
        delete_znode(
            world,
            request.destination,
            request.znode,
            request.broker,
            BROKER_DELETED,
            departure_us,
        )
    else:
        answer.error = NO_NODE


@inner_rule
def _is_write(kind: int) -> bool:
    return kind in (ZK_CREATE, ZK_SET, ZK_DELETE, ZK_CLOSE, ZK_CONFIGURE, ZK_THROTTLE)


@inner_rule
def _is_fenced(world: ControlPlane, request: Event) -> bool:
    """Whether a write depends on a controller epoch that is not the newest any more.

    Source: KafkaZkClient.retryRequestsUntilConnected with expectedControllerEpochZkVersion@2.4.0.
    """
    if world.processes[request.source].role != CONTROLLER or request.count == UNDEFINED:
        return False
    return request.count != world.znodes[CONTROLLER_EPOCH_ZNODE].version


@inner_rule
def _create_controller(
    world: ControlPlane,
    request: Event,
    answer: Event,
    departure_us: int,
) -> None:
    """Create /controller; if a controller epoch comes along, both or neither is written.

    Source: KafkaZkClient.registerControllerAndIncrementControllerEpoch@2.4.0.
    """
    if request.first_item == NONE:
        _create(world, request, answer, departure_us)
        return
    epoch = world.znodes[CONTROLLER_EPOCH_ZNODE]
    if world.znodes[CONTROLLER_ZNODE].exists:
        answer.error = NODE_EXISTS
        return
    if request.version != UNDEFINED and request.version != epoch.version:
        answer.error = BAD_VERSION
        return
    controller_epoch = world.items[request.first_item].controller_epoch
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
    world.items[request.first_item].controller_epoch = 0
    epoch.controller_epoch = controller_epoch
    _create(world, request, answer, departure_us)
    world.ensemble[0].zxid += 1
    epoch.version += 1
    answer.version = epoch.version
    write_znode_row(
        world,
        request.destination,
        request.broker,
        CONTROLLER_EPOCH_ZNODE,
        STATE_WRITTEN,
    )


@inner_rule
def _is_quiescent(world: ControlPlane) -> bool:
    """Whether everything has come to rest, as a test harness would see it.

    Every partition with a live leader has all its live replicas in sync, no notification is
    left, and nothing was written for a while.
    """
    ensemble = world.ensemble[0]
    if ensemble.first_notification != NONE or _any_log_dir_event(world):
        return False
    if world.context[0].time_us < ensemble.committed_us + _QUIET_US:
        return False
    for partition in range(world.sizes[0].partitions):
        node = world.znodes[state_znode(world, partition)]
        leader = broker_of(world, partition, node.leader)
        if not node.exists or leader < 0 or not is_registered(world, leader):
            continue
        live = 0
        for slot in range(world.partitions[partition].slot_count):
            broker = broker_of(world, partition, slot)
            if not contains(world.assignments[partition].replicas, slot):
                continue
            live += 1 if is_registered(world, broker) else 0
        if size(node.isr) < live:
            return False
    return True


@inner_rule
def _any_log_dir_event(world: ControlPlane) -> bool:
    events = world.tree_ranges[LOG_DIR_EVENT]
    for znode in range(events.first, events.first + events.count):
        if world.znodes[znode].exists:
            return True
    return False


@inner_rule
def _write_us(world: ControlPlane, zookeeper: int) -> int:
    """When a write that comes now is committed: after a quorum has it, and in order."""
    ensemble = world.ensemble[0]
    write_us = cost_us(world, zookeeper, ZOOKEEPER_WRITE)
    behind_us = cost_us(world, zookeeper, ZOOKEEPER_PIPELINED_WRITE)
    ensemble.committed_us = max(
        world.context[0].time_us + write_us, ensemble.committed_us + behind_us
    )
    return ensemble.committed_us


@inner_rule
def _read_us(world: Kernel, zookeeper: int) -> int:
    return world.context[0].time_us + cost_us(world, zookeeper, ZOOKEEPER_READ)


@inner_rule
def _create(
    world: ControlPlane,
    request: Event,
    answer: Event,
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
        answer.error = NODE_EXISTS
        return
    ensemble = world.ensemble[0]
    ensemble.zxid += 1
    node.exists = True
    node.version = 0
    node.created_zxid = ensemble.zxid
    node.broker = request.broker
    is_ephemeral = znode == CONTROLLER_ZNODE or parent_of(world, znode) == BROKER_IDS_ZNODE
    node.session = request.value if is_ephemeral else UNDEFINED
    _take_data(world, node, request)
    answer.offset = node.created_zxid
    answer.version = 0
    write_znode_row(world, request.destination, request.broker, znode, STATE_CREATED)
    parent = parent_of(world, znode)
    if parent == TOPICS_ZNODE:
        begin_assignments(world, place_in(world, TOPICS, znode))
    if parent == BROKER_IDS_ZNODE and request.count == 1:
        node.version = 1
        write_znode_row(world, request.destination, request.broker, znode, STATE_WRITTEN)
    fire_watches(world, request.destination, znode, departure_us)
    fire_child_watches(world, request.destination, parent, departure_us)


@inner_rule
def _take_data(world: Kernel, node: Znode, request: Event) -> None:
    """Store what a create or a set brings; a notification has kept its chain already."""
    if request.first_item == NONE:
        return
    item = world.items[request.first_item]
    node.leader = item.leader
    node.leader_epoch = item.leader_epoch
    node.controller_epoch = item.controller_epoch
    node.isr = item.isr


@inner_rule
def _set(
    world: ControlPlane,
    request: Event,
    answer: Event,
    departure_us: int,
) -> None:
    """Write data if the znode has the version that the writer knows.

    A write that is refused for its version, but whose content is what the znode holds, is
    taken for one whose answer was lost (``checkLeaderAndIsrZkData``).
    """
    node = world.znodes[request.znode]
    answer.version = node.version
    if not node.exists:
        answer.error = NO_NODE
        return
    if request.version != UNDEFINED and request.version != node.version:
        item = world.items[request.first_item]
        same = (
            node.leader == item.leader
            and node.leader_epoch == item.leader_epoch
            and node.controller_epoch == item.controller_epoch
            and node.isr == item.isr
        )
        answer.error = OK if same else BAD_VERSION
        return
    world.ensemble[0].zxid += 1
    if holds_chain(world, request.znode):
        replace_chain(world, node, request)
    elif parent_of(world, request.znode) == TOPICS_ZNODE:
        store_assignments(world, request)
    else:
        _take_data(world, node, request)
    node.version += 1
    answer.version = node.version
    write_znode_row(world, request.destination, request.broker, request.znode, STATE_WRITTEN)
    fire_watches(world, request.destination, request.znode, departure_us)


@inner_rule
def _read(world: ControlPlane, request: Event, answer: Event) -> None:
    """Answer a get, an exists or a list of children; ``acks`` 1 sets a watch with it."""
    node = world.znodes[request.znode]
    if request.acks == 1:
        add_watch(world, request, request.kind == ZK_CHILDREN)
    if request.kind == ZK_CHILDREN:
        _list_children(world, request.znode, answer)
        return
    if not _is_there(world, request):
        answer.error = NO_NODE
        return
    answer.version = node.version
    answer.offset = node.created_zxid
    answer.broker = node.broker
    if request.kind == ZK_EXISTS:
        return
    is_notification = is_in(world, NOTIFICATIONS, request.znode)
    if is_notification or holds_chain(world, request.znode):
        cursor = node.first_item
        while cursor != NONE:
            item = add_item(world, answer, world.items[cursor].partition)
            item.replicas = world.items[cursor].replicas
            cursor = world.items[cursor].next
        return
    item = add_item(world, answer, request.partition)
    item.leader = node.leader
    item.leader_epoch = node.leader_epoch
    item.controller_epoch = node.controller_epoch
    item.isr = node.isr
    item.version = node.version
    if request.partition != UNDEFINED:
        # The topic's unclean.leader.election.enable and its replicas, which are read beside it.
        item.replicas = world.assignments[request.partition].replicas
        topic = world.partitions[request.partition].topic
        item.may_move = world.topic_configs[topic].unclean_leader_election


@inner_rule
def _is_there(world: ControlPlane, request: Event) -> bool:
    """Whether the znode of a request exists; of a notification, the one with its number."""
    node = world.znodes[request.znode]
    is_numbered = is_in(world, LOG_DIR_EVENT, request.znode)
    if is_numbered or is_in(world, NOTIFICATIONS, request.znode):
        return node.exists and node.sequence_number == request.offset
    return node.exists


@inner_rule
def _list_children(world: ControlPlane, parent: int, answer: Event) -> None:
    """Name the children in the answer's chain: brokers with their czxid, znodes.

    Of topics it names the partitions.
    """
    if parent == NOTIFICATIONS_ZNODE:
        znode = world.ensemble[0].first_notification
        while znode != NONE:
            item = add_item(world, answer, znode)
            item.offset = world.znodes[znode].sequence_number
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
        node = world.znodes[children.first + number]
        if node.exists and parent == TOPICS_ZNODE:
            list_assignments(world, number, answer)
        elif node.exists:
            item = add_item(world, answer, number)
            item.offset = node.created_zxid
            item.version = node.sequence_number
