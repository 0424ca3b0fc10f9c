"""Rows of the control plane's state: partitions, brokers and the controller.

These rows do not depend on the kind of control plane. Here ZooKeeper holds the truth, so each is
written after the row of the znode that holds it: a partition's state in .../state, a broker in
/brokers/ids, the active controller in /controller. The replicas of partitions are in
``state/assignments.py``.

The tree: creating, deleting and watching znodes.

Parents count their children. The children of /brokers/ids and /brokers/topics are the znodes of
brokers and topics that exist; those of /isr_change_notification are a list in the order of their
sequence numbers.
"""

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.state import control_plane
from tidegauge.replication.records import UNDEFINED
from tidegauge.replication.replica_list import EMPTY
from tidegauge.simulation import zookeeper_tree
from tidegauge.simulation.events import ITEM_SLOTS
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.zookeeper_requests import ZkRead, ZkWatch
from tidegauge.simulation.topology import Topology, broker_of
from tidegauge.simulation.trace_rows import codes, controller_rows


@inner_rule
def write_control_plane_row(
    world: control_plane.ControlPlane,
    znode: int,
    writer: int,
    change: int,
    reason: int,
) -> None:
    """Write the row of a changed znode about a partition, a broker or the controller.

    Args: world: with ZooKeeper's state after the change. zookeeper: the process of ZooKeeper.
    znode: the znode. writer: the process that has changed it; -1: the operator or the end of a
    session. change: one of STATE_CHANGES. reason: of a broker's registration, one of STATE_REASONS.
    """
    if zookeeper_tree.is_in(world, zookeeper_tree.STATES, znode):
        partition = zookeeper_tree.place_in(world, zookeeper_tree.STATES, znode)
        _write_partition_state(world, partition, writer, change)
    elif change == codes.STATE_WRITTEN:
        return
    elif zookeeper_tree.is_in(world, zookeeper_tree.BROKERS, znode):
        controller_rows.BrokerState.write(
            world,
            broker=zookeeper_tree.place_in(world, zookeeper_tree.BROKERS, znode),
            state=codes.BROKER_ABSENT if change == codes.STATE_DELETED else codes.BROKER_ACTIVE,
            broker_epoch=world.znodes[znode].created_zxid,
            state_reason=reason,
        )
    elif znode == zookeeper_tree.CONTROLLER_ZNODE:
        controller_rows.ControllerActive.write(
            world,
            broker=NONE if change == codes.STATE_DELETED else writer,
            controller_epoch=world.znodes[zookeeper_tree.CONTROLLER_EPOCH_ZNODE].controller_epoch,
        )


@inner_rule
def _write_partition_state(
    world: control_plane.ControlPlane,
    partition: int,
    writer: int,
    change: int,
) -> None:
    node = world.znodes[zookeeper_tree.state_znode(world, partition)]
    is_deleted = change == codes.STATE_DELETED
    controller_rows.PartitionState.write(
        world,
        node,
        partition=partition,
        change=change,
        leader=NONE if is_deleted else broker_of(world, partition, node.leader),
        partition_epoch=node.version,
        isr=EMPTY if is_deleted else node.isr,
        writer=writer,
    )


@inner_rule
def parent_of(world: Topology, znode: int) -> int:
    """The parent whose children are watched; NONE for all other znodes."""
    parent = NONE
    if zookeeper_tree.is_in(world, zookeeper_tree.BROKERS, znode):
        parent = zookeeper_tree.BROKER_IDS_ZNODE
    elif zookeeper_tree.is_in(world, zookeeper_tree.TOPICS, znode):
        parent = zookeeper_tree.TOPICS_ZNODE
    elif zookeeper_tree.is_in(world, zookeeper_tree.NOTIFICATIONS, znode):
        parent = zookeeper_tree.NOTIFICATIONS_ZNODE
    elif zookeeper_tree.is_in(world, zookeeper_tree.LOG_DIR_EVENT, znode):
        parent = zookeeper_tree.log_dir_events_znode(world)
    elif zookeeper_tree.is_in(world, zookeeper_tree.TOPIC_DELETIONS, znode):
        parent = zookeeper_tree.delete_topics_znode(world)
    return parent


@inner_rule
def holds_chain(world: Topology, znode: int) -> bool:
    """Whether a znode is a request to the controller that names partitions."""
    return znode == zookeeper_tree.PREFERRED_ELECTION_ZNODE or zookeeper_tree.is_in(
        world, zookeeper_tree.REASSIGNMENT, znode
    )


@inner_rule
def add_watch(world: control_plane.ControlPlane, request: ZkRead, on_children: bool) -> None:
    """Watch a znode, or its children, once; a watch that is set already is not set twice."""
    znode = request.znode
    session = request.session
    node = world.znodes[znode]
    index = node.first_child_watch if on_children else node.first_watch
    while index != NONE:
        watch = world.znode_watches[index]
        if watch.process == request.source and watch.session == session:
            return
        index = world.znode_watches[index].next
    ensemble = world.ensemble[0]
    index = control_plane.FREE_ZNODE_WATCHES.take_first(world, ensemble)
    free = ensemble.free_watch
    if free == NONE or world.znode_watches[free].next == NONE:
        world.context[0].needs_room = True
    watch = world.znode_watches[index]
    watch.process = request.source
    watch.session = session
    if on_children:
        control_plane.CHILD_WATCHES.insert(world, node, NONE, index)
    else:
        control_plane.ZNODE_WATCHES.insert(world, node, NONE, index)


@inner_rule
def fire_watches(world: control_plane.ControlPlane, znode: int, departure_us: int) -> None:
    """Notify all watchers of a znode's data or existence, and drop the watches."""
    node = world.znodes[znode]
    index = node.first_watch
    node.first_watch = NONE
    _tell_watchers(world, znode, index, departure_us)


@inner_rule
def fire_child_watches(world: control_plane.ControlPlane, znode: int, departure_us: int) -> None:
    """Notify all watchers of a znode's children, and drop the watches."""
    if znode == NONE:
        return
    node = world.znodes[znode]
    index = node.first_child_watch
    node.first_child_watch = NONE
    _tell_watchers(world, znode, index, departure_us)


@inner_rule
def _tell_watchers(
    world: control_plane.ControlPlane, znode: int, index: int, departure_us: int
) -> None:
    ensemble = world.ensemble[0]
    is_created = world.znodes[znode].exists and world.znodes[znode].version == 0
    while index != NONE:
        watch = world.znode_watches[index]
        news = ZkWatch.to(world, watch.process, watch, znode=znode, is_created=is_created)
        send(world, news, departure_us)
        following = watch.next
        watch.next = ensemble.free_watch
        ensemble.free_watch = index
        index = following


@inner_rule
def forget_watches(world: control_plane.ControlPlane, session: int) -> None:
    """Remove the watches of a session that is gone, or has lost its connection."""
    # Those behind the fixed ones are watched where replicas move or log directories fail.
    count = zookeeper_tree.FIXED_ZNODES
    if zookeeper_tree.is_administered(world) or zookeeper_tree.directories_fail(world):
        count = zookeeper_tree.first_notification_znode(world)
    for znode in range(count):
        node = world.znodes[znode]
        node.first_watch = _without_watches(world, node.first_watch, session)
        node.first_child_watch = _without_watches(world, node.first_child_watch, session)


@inner_rule
def _without_watches(world: control_plane.ControlPlane, first: int, session: int) -> int:
    """The list of watches without those of a session: its first watch."""
    ensemble = world.ensemble[0]
    kept = NONE
    previous = NONE
    index = first
    while index != NONE:
        watch = world.znode_watches[index]
        following = watch.next
        if watch.session == session:
            watch.next = ensemble.free_watch
            ensemble.free_watch = index
            if previous != NONE:
                world.znode_watches[previous].next = following
        else:
            if kept == NONE:
                kept = index
            previous = index
        index = following
    return kept


@inner_rule
def new_notification(world: control_plane.ControlPlane, request: Event) -> int:
    """Take a znode for a child of /isr_change_notification; it keeps the request's chain."""
    ensemble = world.ensemble[0]
    znode = control_plane.FREE_NOTIFICATIONS.take_first(world, ensemble)
    node = world.znodes[znode]
    if ensemble.free_notification == NONE or world.znodes[ensemble.free_notification].next == NONE:
        world.context[0].needs_room = True
    parent = world.znodes[zookeeper_tree.NOTIFICATIONS_ZNODE]
    node.sequence_number = parent.sequence_number
    parent.sequence_number += 1
    keep_chain(node, request)
    control_plane.NOTIFICATIONS.append(world, ensemble, znode)
    return znode


@inner_rule
def number_log_dir_event(world: control_plane.ControlPlane, znode: int) -> None:
    """Give a child of /log_dir_event_notification its number.

    A directory that has failed again, before the controller has dealt with the failure before,
    takes the place of that: there is one child of it, with the newer number.
    """
    parent = world.znodes[zookeeper_tree.log_dir_events_znode(world)]
    world.znodes[znode].sequence_number = parent.sequence_number
    world.znodes[znode].exists = False
    parent.sequence_number += 1


@inner_rule
def keep_chain(node: control_plane.Znode, request: Event) -> None:
    """Let a znode hold the partitions that a request names; they are the request's no more."""
    node.first_item = request.first_item
    node.last_item = request.last_item
    node.item_count = request.item_count
    request.first_item = NONE
    request.last_item = NONE
    request.item_count = 0


@inner_rule
def replace_chain(world: Kernel, node: control_plane.Znode, request: Event) -> None:
    """Let a znode hold the partitions that a request names instead of others."""
    _free_chain(world, node)
    keep_chain(node, request)


@inner_rule
def _free_chain(world: Kernel, node: control_plane.Znode) -> None:
    """Give back the partitions that a znode names."""
    if node.first_item != NONE:
        slots = world.context[0].item_slots
        ITEM_SLOTS.give_back_list(world, slots, node.first_item, node.last_item, node.item_count)
    node.first_item = NONE
    node.item_count = 0


@inner_rule
def _free_notification(world: control_plane.ControlPlane, znode: int) -> None:
    ensemble = world.ensemble[0]
    control_plane.NOTIFICATIONS.remove(world, ensemble, znode)
    _free_chain(world, world.znodes[znode])
    control_plane.FREE_NOTIFICATIONS.insert(world, ensemble, NONE, znode)


@inner_rule
def write_znode_row(
    world: control_plane.ControlPlane,
    writer: int,
    znode: int,
    change: int,
) -> None:
    """Write the content of a znode after it was created, or written (``change``)."""
    node = world.znodes[znode]
    if change == codes.STATE_CREATED:
        created = controller_rows.ZnodeCreated.write(world, node, znode=znode, writer=writer)
        node.row_sequence = created.sequence
    else:
        controller_rows.ZnodeSet.write(world, node, znode=znode, writer=writer)
    write_control_plane_row(world, znode, writer, change, codes.BROKER_REGISTERS)


@inner_rule
def delete_znode(
    world: control_plane.ControlPlane,
    znode: int,
    writer: int,
    reason: int,
    departure_us: int,
) -> None:
    """Delete a znode; ``writer`` is the broker that did it, -1 the end of its session.

    ``reason`` is one of STATE_REASONS.
    """
    node = world.znodes[znode]
    node.exists = False
    node.session = UNDEFINED
    written = controller_rows.ZnodeDeleted.write(world, znode=znode, writer=writer)
    node.row_sequence = written.sequence
    write_control_plane_row(world, znode, writer, codes.STATE_DELETED, reason)
    parent = parent_of(world, znode)
    if parent == zookeeper_tree.NOTIFICATIONS_ZNODE:
        _free_notification(world, znode)
    elif holds_chain(world, znode):
        _free_chain(world, node)
    fire_watches(world, znode, departure_us)
    fire_child_watches(world, parent, departure_us)


@inner_rule
def is_there(world: control_plane.ControlPlane, znode: int, sequence_number: int) -> bool:
    """Whether a znode exists; of a notification, the one with this number."""
    node = world.znodes[znode]
    if zookeeper_tree.is_in(world, zookeeper_tree.LOG_DIR_EVENT, znode) or zookeeper_tree.is_in(
        world, zookeeper_tree.NOTIFICATIONS, znode
    ):
        return node.exists and node.sequence_number == sequence_number
    return node.exists
