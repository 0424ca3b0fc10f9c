"""Rows of what the control plane holds: the states of partitions, brokers and the controller.

These rows do not depend on the kind of control plane. Here ZooKeeper holds the truth, so each is
written after the row of the znode that holds it: a partition's state in .../state, a broker in
/brokers/ids, the active controller in /controller. The replicas of partitions are in
``state/assignments.py``.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.state.control_plane import ControlPlane
from tidegauge.replication.replica_list import EMPTY
from tidegauge.simulation.codes.occasions import (
    BROKER_ABSENT,
    BROKER_ACTIVE,
    STATE_DELETED,
    STATE_WRITTEN,
)
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.topology import broker_of
from tidegauge.simulation.trace_rows.control_plane_rows import (
    BrokerState,
    ControllerActive,
    PartitionState,
)
from tidegauge.simulation.zookeeper_tree import (
    BROKERS,
    CONTROLLER_EPOCH_ZNODE,
    CONTROLLER_ZNODE,
    STATES,
    is_in,
    place_in,
    state_znode,
)


@inner_rule
def write_control_plane_row(
    world: ControlPlane,
    zookeeper: int,
    znode: int,
    writer: int,
    change: int,
    reason: int,
) -> None:
    """Write down what a changed znode says of a partition, a broker or the controller.

    Args:
        world: with what ZooKeeper holds, after the change.
        zookeeper: the process of ZooKeeper.
        znode: the znode.
        writer: the process that has changed it; -1: the operator or the end of a session.
        change: one of STATE_CHANGES.
        reason: of a broker's registration, one of STATE_REASONS.
    """
    if is_in(world, STATES, znode):
        partition = place_in(world, STATES, znode)
        _write_partition_state(world, zookeeper, partition, writer, change)
    elif change == STATE_WRITTEN:
        return
    elif is_in(world, BROKERS, znode):
        registered = new_row(world, zookeeper, BrokerState)
        registered.broker = place_in(world, BROKERS, znode)
        registered.state = BROKER_ABSENT if change == STATE_DELETED else BROKER_ACTIVE
        registered.broker_epoch = world.znodes[znode].created_zxid
        registered.state_reason = reason
        write_row(world, registered)
    elif znode == CONTROLLER_ZNODE:
        active = new_row(world, zookeeper, ControllerActive)
        active.broker = NONE if change == STATE_DELETED else writer
        active.controller_epoch = world.znodes[CONTROLLER_EPOCH_ZNODE].controller_epoch
        write_row(world, active)


@inner_rule
def _write_partition_state(
    world: ControlPlane,
    zookeeper: int,
    partition: int,
    writer: int,
    change: int,
) -> None:
    node = world.znodes[state_znode(world, partition)]
    is_deleted = change == STATE_DELETED
    row = new_row(world, zookeeper, PartitionState)
    row.partition = partition
    row.change = change
    row.leader = NONE if is_deleted else broker_of(world, partition, node.leader)
    row.leader_epoch = node.leader_epoch
    row.partition_epoch = node.version
    row.isr = EMPTY if is_deleted else node.isr
    row.controller_epoch = node.controller_epoch
    row.writer = writer
    write_row(world, row)
