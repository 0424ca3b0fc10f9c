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
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.row_kinds import (
    BROKER_ABSENT,
    BROKER_ACTIVE,
    BROKER_STATE,
    CONTROLLER_ACTIVE,
    PARTITION_STATE,
    STATE_DELETED,
    STATE_WRITTEN,
)
from tidegauge.simulation.rows import new_row, write_canonical
from tidegauge.simulation.topology import (
    CONTROLLER_EPOCH_ZNODE,
    CONTROLLER_ZNODE,
    FIXED_ZNODES,
    broker_of,
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
        kernel: the kernel.
        topology: who is who.
        plane: what ZooKeeper holds, after the change.
        zookeeper: the process of ZooKeeper.
        znode: the znode.
        writer: the process that has changed it; -1: the operator or the end of a session.
        change: one of STATE_CHANGES.
        reason: of a broker's registration, one of STATE_REASONS.
    """
    brokers = world.sizes[0].brokers
    partition = znode - state_znode(world, 0)
    if 0 <= partition < world.sizes[0].partitions:
        _write_partition_state(world, zookeeper, partition, writer, change)
    elif change == STATE_WRITTEN:
        return
    elif FIXED_ZNODES <= znode < FIXED_ZNODES + brokers:
        row = new_row(world, zookeeper, BROKER_STATE)
        row.values[0] = znode - FIXED_ZNODES
        row.values[1] = BROKER_ABSENT if change == STATE_DELETED else BROKER_ACTIVE
        row.values[2] = world.znodes[znode].created_zxid
        row.values[3] = reason
        write_canonical(world, row)
    elif znode == CONTROLLER_ZNODE:
        row = new_row(world, zookeeper, CONTROLLER_ACTIVE)
        row.values[0] = NONE if change == STATE_DELETED else world.znodes[znode].broker
        row.values[1] = world.znodes[CONTROLLER_EPOCH_ZNODE].controller_epoch
        write_canonical(world, row)


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
    row = new_row(world, zookeeper, PARTITION_STATE)
    row.values[0] = partition
    row.values[1] = change
    row.values[2] = NONE if is_deleted else broker_of(world, partition, node.leader)
    row.values[3] = node.leader_epoch
    row.values[4] = node.version
    row.values[5] = EMPTY if is_deleted else node.isr
    row.values[6] = node.controller_epoch
    row.values[7] = writer
    write_canonical(world, row)
