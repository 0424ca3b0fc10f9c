"""Invariants of ZooKeeper: sessions and their znodes, states of partitions, watches."""

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.state.control_plane import NOTIFICATIONS, SESSIONS, ZNODE_WATCHES
from tidegauge.controller.zookeeper.held_states import FORMER_SESSION, is_control_plane_hosted
from tidegauge.engine.invariants import checked
from tidegauge.replication.replica_list import contains
from tidegauge.simulation import zookeeper_tree
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.zookeeper_requests import ZkTick
from tidegauge.simulation.topology import zookeeper_process

ZOOKEEPER = checked.Invariants()

_walk_sessions = checked.walk_of(__name__, "_walk_sessions", SESSIONS)
_walk_notifications = checked.walk_of(__name__, "_walk_notifications", NOTIFICATIONS)
_walk_watches = checked.walk_of(__name__, "_walk_watches", ZNODE_WATCHES)


@ZOOKEEPER.of("zookeeper_sessions")
def open_sessions_are_listed(world: checked.Checked) -> int:
    """ZooKeeper lists the sessions that are open."""
    checked.clear_marks(world, len(world.zookeeper_sessions))
    ensemble = world.ensemble[0]
    if _walk_sessions(world, ensemble.first_session, ensemble.last_session, 0) < 0:
        return max(0, ensemble.first_session)
    for session in range(len(world.zookeeper_sessions)):
        if world.zookeeper_sessions[session].open != (world.visits[session].found == 1):
            return session
    return checked.HOLDS


@ZOOKEEPER.of("zookeeper_sessions")
def sessions_expire_at_a_tick(world: checked.Checked) -> int:
    """An open session expires at a tick, later than its timeout after its last message."""
    for number, session in enumerate(world.zookeeper_sessions):
        if not session.open:
            continue
        if session.expires_us % world.ensemble[0].tick_us != 0:
            return number
        if session.expires_us <= session.heard_us + session.timeout_ms * 1000:
            return number
        if not session.opened_us <= world.context[0].time_us >= session.heard_us:
            return number
    return checked.HOLDS


@ZOOKEEPER.of("znodes")
def registrations_have_a_session(world: checked.Checked) -> int:
    """A broker's registration, and /controller, are owned by an open session of that broker.

    The former controller's /controller, of a cluster that was there before, has no broker.
    """
    for number in range(world.sizes[0].brokers):
        if not _is_owned(world, zookeeper_tree.broker_znode(world, number), number):
            return zookeeper_tree.broker_znode(world, number)
    node = world.znodes[zookeeper_tree.CONTROLLER_ZNODE]
    is_former = node.was_there and node.broker == NONE and node.session == FORMER_SESSION
    if not is_former and not _is_owned(world, zookeeper_tree.CONTROLLER_ZNODE, node.broker):
        return zookeeper_tree.CONTROLLER_ZNODE
    return checked.HOLDS


@inner_rule
def _is_owned(world: checked.Checked, znode: int, broker: int) -> bool:
    """Whether a znode, if it exists, belongs to an open session of a broker."""
    node = world.znodes[znode]
    if not node.exists:
        return True
    if node.broker != broker or not 0 <= node.session < world.ensemble[0].sessions:
        return False
    session = world.zookeeper_sessions[node.session]
    return session.open and session.broker == broker


@ZOOKEEPER.of("znodes")
def persistent_znodes_have_no_session(world: checked.Checked) -> int:
    """No session owns any other znode, nor one that does not exist."""
    for znode, node in enumerate(world.znodes):
        first = zookeeper_tree.broker_znode(world, 0)
        is_ephemeral = (
            znode == zookeeper_tree.CONTROLLER_ZNODE
            or first <= znode < first + world.sizes[0].brokers
        )
        if node.session != NONE and not (is_ephemeral and node.exists):
            return znode
    return checked.HOLDS


@ZOOKEEPER.of("znodes")
def states_name_replicas(world: checked.Checked) -> int:
    """The state of a partition has a leader that is in its ISR, and only slots of the partition.

    The last to leave an ISR leaves it empty where unclean elections are allowed, up to 1.0.
    """
    for partition in range(world.sizes[0].partitions):
        znode = zookeeper_tree.state_znode(world, partition)
        node = world.znodes[znode]
        if not node.exists:
            continue
        if not checked.is_within(
            node.isr, checked.all_slots(world.partitions[partition].slot_count)
        ):
            return znode
        if node.leader >= 0 and not contains(node.isr, node.leader):
            return znode
    return checked.HOLDS


@ZOOKEEPER.of("znodes")
def states_are_not_ahead_of_the_controller(world: checked.Checked) -> int:
    """No state was written in a later controller epoch than /controller_epoch has."""
    newest = world.znodes[zookeeper_tree.CONTROLLER_EPOCH_ZNODE]
    for partition in range(world.sizes[0].partitions):
        node = world.znodes[zookeeper_tree.state_znode(world, partition)]
        if node.exists and node.controller_epoch > newest.controller_epoch:
            return zookeeper_tree.state_znode(world, partition)
    return checked.HOLDS


@ZOOKEEPER.of("assignments")
def assignments_are_within_slots(world: checked.Checked) -> int:
    """Replicas that a reassignment adds and removes are assigned, and all have a slot."""
    for partition, assignment in enumerate(world.assignments):
        if not checked.is_within(
            assignment.replicas, checked.all_slots(world.partitions[partition].slot_count)
        ):
            return partition
        if not checked.is_within(assignment.adding, assignment.replicas) or (
            not checked.is_within(assignment.removing, assignment.replicas)
        ):
            return partition
    return checked.HOLDS


@ZOOKEEPER.of("znodes")
def notifications_are_children_or_free(world: checked.Checked) -> int:
    """A znode for notifications is free, or a child of /isr_change_notification that exists."""
    checked.clear_marks(world, len(world.znodes))
    ensemble = world.ensemble[0]
    first = ensemble.first_notification
    children = _walk_notifications(world, first, ensemble.last_notification, 1)
    if min(children, _walk_notifications(world, ensemble.free_notification, checked.ANY, 0)) < 0:
        return max(0, first)
    for znode in range(len(world.znodes)):
        found = world.visits[znode].found
        if znode < zookeeper_tree.first_notification_znode(world):
            if found != 0:
                return znode
        elif found != (2 if world.znodes[znode].exists else 1):
            return znode
    return checked.HOLDS


@ZOOKEEPER.of("znode_watches")
def watches_are_set_or_free(world: checked.Checked) -> int:
    """Each watch of ZooKeeper is free, or set on one znode once."""
    checked.clear_marks(world, len(world.znode_watches))
    if _walk_watches(world, world.ensemble[0].free_watch, checked.ANY, 0) < 0:
        return max(0, world.ensemble[0].free_watch)
    for node in world.znodes:
        for first in (node.first_watch, node.first_child_watch):
            if _walk_watches(world, first, checked.ANY, 0) < 0:
                return max(0, first)
    return checked.first_unmarked(world, len(world.znode_watches))


@ZOOKEEPER.of("znode_watches")
def watches_end_with_their_session(world: checked.Checked) -> int:
    """A watch that is set belongs to a session that is open, or to the operator."""
    for node in world.znodes:
        for first in (node.first_watch, node.first_child_watch):
            index = first
            while index != NONE:
                session = world.znode_watches[index].session
                if session != NONE and not world.zookeeper_sessions[session].open:
                    return index
                index = world.znode_watches[index].next
    return checked.HOLDS


@ZOOKEEPER.of("processes")
def zookeeper_ticks_once(world: checked.Checked) -> int:
    """ZooKeeper checks its sessions by one timer."""
    process = zookeeper_process(world)
    if is_control_plane_hosted(world) and checked.pending(world, process, ZkTick.KIND) != 1:
        return process
    return checked.HOLDS


@ZOOKEEPER.of("brokers")
def brokers_have_sessions_of_their_own(world: checked.Checked) -> int:
    """A broker's session was opened for it, and may be over."""
    if not is_control_plane_hosted(world):
        return checked.HOLDS
    for number in range(len(world.brokers)):
        session = world.brokers[number].session
        if session == NONE or not world.processes[number].hosted:
            continue
        if not 0 <= session < world.ensemble[0].sessions:
            return number
        if world.zookeeper_sessions[session].broker != number:
            return number
    return checked.HOLDS
