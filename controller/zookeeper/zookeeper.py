"""ZooKeeper: znodes, versions, ephemeral and sequential nodes, one-shot watches.

What a client may rely on: requests of one client are answered in their order; a write is
conditional on the version that it names; a watch fires once, and its event comes before the
answer to anything that its owner asks later; an ephemeral node goes with its session.

A read takes the time of one server, a write that of a quorum (``zookeeper_write``), and
writes that follow each other closely are pipelined. Sessions are in ``sessions.py``.
"""

from __future__ import annotations

from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.state.assignments import (
    begin_assignments,
    list_assignments,
    store_assignments,
)
from tidegauge.controller.state.control_plane import ControlPlane, Znode
from tidegauge.controller.state.handlers import ZOOKEEPER
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
from tidegauge.simulation.events import free_event, new_event, new_item, new_response, set_timer
from tidegauge.simulation.faults import CONTROLLER_MOVE, POWER_LOSS, ZOOKEEPER_OUTAGE
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.event import Event, ZooKeeperRequest
from tidegauge.simulation.messages.fault_events import Disconnected, FaultBegin, FaultChange
from tidegauge.simulation.messages.zookeeper_requests import (
    Child,
    NamedPartition,
    ZkChildrenRequest,
    ZkCloseRequest,
    ZkConfigureRequest,
    ZkConnectRequest,
    ZkCreateRequest,
    ZkDataWrite,
    ZkDeleteRequest,
    ZkExistsRequest,
    ZkGetRequest,
    ZkIsQuiescentRequest,
    ZkPingRequest,
    ZkRead,
    ZkResponse,
    ZkSetRequest,
    ZkThrottleRequest,
    ZkTick,
    ZkWrite,
    ZnodeData,
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

#: So long nothing is written where everything has come to rest.
_QUIET_US = code(1_500_000)


@inner_rule
def take_zookeeper_fault(world: ControlPlane, event: FaultChange) -> None:
    """An outage is over, or /controller is deleted by hand."""
    zookeeper = event.destination
    kind = world.faults[event.fault].kind
    now_us = world.context[0].time_us
    if kind == CONTROLLER_MOVE and event.kind == FaultBegin.KIND:
        if world.znodes[CONTROLLER_ZNODE].exists:
            znode = CONTROLLER_ZNODE
            reason = BROKER_DELETED
            delete_znode(world, zookeeper, znode, UNDEFINED, reason, now_us)
    elif kind in (ZOOKEEPER_OUTAGE, POWER_LOSS) and world.processes[zookeeper].paused == 0:
        # Sessions come before the requests that have waited.
        if world.faults[event.fault].refreshes_sessions:
            refresh_sessions(world)
        check_sessions(world, zookeeper)


@ZOOKEEPER.handles(ZkTick)
@inner_rule
def handle_tick(world: ControlPlane, timer: ZkTick) -> None:
    """Expire sessions; the first tick begins, or ends, what was there before the run."""
    zookeeper = timer.destination
    if world.context[0].time_us == 0:
        restore_former_states(world, zookeeper)
    else:
        end_former_session(world, zookeeper)
    check_sessions(world, zookeeper)
    tick_us = world.ensemble[0].tick_us
    due_us = (world.context[0].time_us // tick_us + 1) * tick_us
    set_timer(world, new_event(world, zookeeper, zookeeper, ZkTick), due_us)


@ZOOKEEPER.handles(Disconnected)
@inner_rule
def handle_disconnected(world: ControlPlane, news: Disconnected) -> None:
    """A broker's process is gone."""
    lose_connections(world, news.source, news.until_us)


# Requests about sessions, or of a test harness.


@inner_rule
def _response_to(world: ControlPlane, request: ZooKeeperRequest) -> ZkResponse:
    """The response to a request that keeps its session alive, or finds that it has expired."""
    response = new_response(world, request, ZkResponse)
    response.operation = request.kind
    response.session = request.session
    response.znode = request.znode
    if request.broker != NONE:
        if is_expired(world, request.session):
            response.error = SESSION_EXPIRED
        else:
            touch_session(world, request.session)
    return response


@ZOOKEEPER.handles(ZkConnectRequest)
@inner_rule
def handle_connect(world: ControlPlane, request: ZkConnectRequest) -> None:
    """Open a session. Its broker is told all settings, which it reads as it starts."""
    departure_us = _write_us(world, request.destination)
    response = new_response(world, request, ZkResponse)
    response.operation = ZkConnectRequest.KIND
    response.session = open_session(world, request)
    add_all_configs(world, response)
    send(world, response, departure_us)
    if has_throttles(world):
        tell_throttles(world, request.destination, response.session, departure_us)


@ZOOKEEPER.handles(ZkPingRequest)
@inner_rule
def handle_ping(world: ControlPlane, request: ZkPingRequest) -> None:
    """Keep a session alive; only one that has expired is answered."""
    response = _response_to(world, request)
    if response.error == OK:
        free_event(world, response)
    else:
        send(world, response, _read_us(world, request.destination))


@ZOOKEEPER.handles(ZkCloseRequest)
@inner_rule
def handle_close(world: ControlPlane, request: ZkCloseRequest) -> None:
    """End a session; nobody is there any more to be answered."""
    response = _response_to_write(world, request)
    departure_us = _departure_us(world, response)
    if response.error == OK:
        close_session(world, request, departure_us)
    free_event(world, response)


@ZOOKEEPER.handles(ZkIsQuiescentRequest)
@inner_rule
def handle_is_quiescent(world: ControlPlane, request: ZkIsQuiescentRequest) -> None:
    """Say whether everything has come to rest; that takes no time."""
    response = _response_to(world, request)
    response.continuation = request.continuation
    response.error = OK if _is_quiescent(world) else NO_NODE
    send(world, response, world.context[0].time_us)


# Reads.


@inner_rule
def _response_to_read(world: ControlPlane, request: ZkRead) -> ZkResponse:
    response = _response_to(world, request)
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
    if not _is_there(world, request.znode, request.sequence_number):
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
    send(world, response, _read_us(world, request.destination))


@ZOOKEEPER.handles(ZkExistsRequest)
@inner_rule
def handle_exists(world: ControlPlane, request: ZkExistsRequest) -> None:
    """Tell whether a znode exists, and who has created it."""
    response = _response_to_read(world, request)
    _finds(world, request, response)
    send(world, response, _read_us(world, request.destination))


@ZOOKEEPER.handles(ZkChildrenRequest)
@inner_rule
def handle_children(world: ControlPlane, request: ZkChildrenRequest) -> None:
    """Name the children of a znode."""
    response = _response_to_read(world, request)
    if response.error == OK:
        _list_children(world, request.znode, response)
    send(world, response, _read_us(world, request.destination))


# Writes.


@inner_rule
def _response_to_write(world: ControlPlane, request: ZkWrite) -> ZkResponse:
    """The response to a write, which is refused if another controller has taken over.

    Source: KafkaZkClient.retryRequestsUntilConnected with expectedControllerEpochZkVersion@2.4.0.
    """
    response = _response_to(world, request)
    needed = request.controller_epoch_version
    is_fenced = needed not in (UNDEFINED, world.znodes[CONTROLLER_EPOCH_ZNODE].version)
    if response.error == OK and is_fenced:
        response.error = CONTROLLER_MOVED
    return response


@inner_rule
def _departure_us(world: ControlPlane, response: ZkResponse) -> int:
    """When the response to a write leaves; the server knows by itself that a session is over."""
    if response.error == SESSION_EXPIRED:
        return _read_us(world, response.source)
    return _write_us(world, response.source)


@ZOOKEEPER.handles(ZkCreateRequest)
@inner_rule
def handle_create(world: ControlPlane, request: ZkCreateRequest) -> None:
    """Create a znode."""
    response = _response_to_write(world, request)
    response.partition = request.partition
    departure_us = _departure_us(world, response)
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
    response = _response_to_write(world, request)
    response.partition = request.partition
    departure_us = _departure_us(world, response)
    if response.error == OK:
        _set(world, request, response, departure_us)
    send(world, response, departure_us)


@ZOOKEEPER.handles(ZkDeleteRequest)
@inner_rule
def handle_delete(world: ControlPlane, request: ZkDeleteRequest) -> None:
    """Delete a znode."""
    response = _response_to_write(world, request)
    departure_us = _departure_us(world, response)
    if response.error == OK and _is_there(world, request.znode, request.sequence_number):
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
    response = _response_to_write(world, request)
    departure_us = _departure_us(world, response)
    if response.error == OK:
        configure_topic(world, request, departure_us)
    send(world, response, departure_us)


@ZOOKEEPER.handles(ZkThrottleRequest)
@inner_rule
def handle_throttle(world: ControlPlane, request: ZkThrottleRequest) -> None:
    """Write throttles of replication."""
    response = _response_to_write(world, request)
    departure_us = _departure_us(world, response)
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
def _is_there(world: ControlPlane, znode: int, sequence_number: int) -> bool:
    """Whether a znode exists; of a notification, the one with this number."""
    node = world.znodes[znode]
    if is_in(world, LOG_DIR_EVENT, znode) or is_in(world, NOTIFICATIONS, znode):
        return node.exists and node.sequence_number == sequence_number
    return node.exists


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
        elif world.znodes[znode].exists:
            _add_child(world, response, znode)


@inner_rule
def _add_child(world: ControlPlane, response: ZkResponse, znode: int) -> None:
    child = new_item(world, response, NONE, Child)
    child.znode = znode
    child.created_zxid = world.znodes[znode].created_zxid
    child.sequence_number = world.znodes[znode].sequence_number


_handle = ZOOKEEPER.dispatcher(__name__, "_handle", ControlPlane, Event)


@inner_rule
def handle_zookeeper_event(world: ControlPlane, event: Event) -> None:
    """Let ZooKeeper deal with one request, or tick, and give it back."""
    _handle(world, event)
    free_event(world, event)
