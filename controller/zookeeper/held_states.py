"""A cluster from before the run: ZooKeeper's state at its start.

All its brokers come back at once, as after a loss of power of the whole site. Topics and the states
of partitions are there, and so is /controller: the session of the former controller ends with the
first tick, and only then is a controller elected. Until then live brokers have registered, so the
new controller finds leaders alive and leaves leadership and ISRs as they were.

The control plane's state of brokers and partitions, for observers from outside.

Gauges and views of the cluster read the state here, where ZooKeeper holds it, and not from znodes.

Source: TopicPartitionStateZNode@2.6.0.
"""

from tidegauge.compiled.codes import code
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.state.control_plane import (
    NOTIFICATIONS,
    ControlPlane,
    write_existing_records,
)
from tidegauge.controller.zookeeper.znodes import delete_znode, write_znode_row
from tidegauge.replication.records import UNDEFINED
from tidegauge.replication.replica_list import contains, size
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.topology import Cluster, broker_of, is_kraft, zookeeper_process
from tidegauge.simulation.trace_rows.codes import (
    BROKER_SESSION_EXPIRED,
    FORMER_WRITER,
    STATE_CREATED,
)
from tidegauge.simulation.zookeeper_tree import (
    CONTROLLER_ZNODE,
    LOG_DIR_EVENT,
    broker_znode,
    state_znode,
)

#: The session of the former controller; those of this run are counted from 1.
FORMER_SESSION = code(0)


@inner_rule
def restore_preexisting_states(world: ControlPlane) -> None:
    """Restore the znodes from before the run, without a writer; parents come first."""
    for znode, node in enumerate(world.znodes):
        if not node.was_there:
            continue
        node.exists = True
        node.broker = NONE
        if znode == CONTROLLER_ZNODE:
            node.session = FORMER_SESSION
        write_znode_row(world, FORMER_WRITER, znode, STATE_CREATED)
    for partition in range(world.sizes[0].partitions):
        epoch = world.znodes[state_znode(world, partition)].leader_epoch
        write_existing_records(world, partition, epoch)


@inner_rule
def end_former_session(world: ControlPlane) -> None:
    """Delete the former controller's /controller, if that is still there."""
    node = world.znodes[CONTROLLER_ZNODE]
    if not node.exists or node.session != FORMER_SESSION:
        return
    now_us = world.context[0].time_us
    reason = BROKER_SESSION_EXPIRED
    znode = CONTROLLER_ZNODE
    delete_znode(world, znode, UNDEFINED, reason, now_us)


#: The time without a write after which the ensemble counts as quiescent.
_QUIET_US = code(1_500_000)


@inner_rule
def is_control_plane_hosted(world: Cluster) -> bool:
    """Whether this group hosts ZooKeeper."""
    return not is_kraft(world) and world.processes[zookeeper_process(world)].hosted


@inner_rule
def is_registered(world: ControlPlane, broker: int) -> bool:
    """Whether a broker is registered."""
    return world.znodes[broker_znode(world, broker)].exists


@inner_rule
def has_state(world: ControlPlane, partition: int) -> bool:
    """Whether a partition has a state; else the functions below are undefined for it."""
    return world.znodes[state_znode(world, partition)].exists


@inner_rule
def leader_of(world: ControlPlane, partition: int) -> int:
    """The broker that leads a partition; NONE: there is no leader."""
    leader = world.znodes[state_znode(world, partition)].leader
    return broker_of(world, partition, leader)


@inner_rule
def leader_epoch_of(world: ControlPlane, partition: int) -> int:
    """The leader epoch of a partition."""
    return world.znodes[state_znode(world, partition)].leader_epoch


@inner_rule
def isr_of(world: ControlPlane, partition: int) -> int:
    """The ISR of a partition: a replica list."""
    return world.znodes[state_znode(world, partition)].isr


@inner_rule
def count_notifications(world: ControlPlane) -> int:
    """The number of isr_change_notifications that the controller has not handled."""
    count = 0
    for _ in NOTIFICATIONS.of(world, world.ensemble[0]):
        count += 1
    return count


@inner_rule
def is_quiescent(world: ControlPlane) -> bool:
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
