"""A cluster that was there before the run: what ZooKeeper holds as it begins.

All its brokers come back at once, as after a loss of power of the whole site. Topics and the states
of partitions are there, and so is /controller: the session of the former controller ends with the
first tick, and only then is a controller elected. Until then live brokers have registered, so the
new controller finds leaders alive and leaves leadership and ISRs as they were.
"""

from __future__ import annotations

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.state.control_plane import ControlPlane
from tidegauge.controller.state.existing_records import write_existing_records
from tidegauge.controller.zookeeper.znodes import delete_znode, write_znode_row
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.codes.occasions import (
    BROKER_SESSION_EXPIRED,
    FORMER_WRITER,
    STATE_CREATED,
)
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.zookeeper_tree import CONTROLLER_ZNODE, state_znode

#: The session of the former controller; those of this run are counted from 1.
FORMER_SESSION = code(0)


@inner_rule
def restore_former_states(world: ControlPlane, zookeeper: int) -> None:
    """Have the znodes that were there before, by nobody's doing; parents come first."""
    for znode in range(len(world.znodes)):
        node = world.znodes[znode]
        if not node.was_there:
            continue
        node.exists = True
        node.broker = NONE
        if znode == CONTROLLER_ZNODE:
            node.session = FORMER_SESSION
        write_znode_row(world, zookeeper, FORMER_WRITER, znode, STATE_CREATED)
    for partition in range(world.sizes[0].partitions):
        epoch = world.znodes[state_znode(world, partition)].leader_epoch
        write_existing_records(world, zookeeper, partition, epoch)


@inner_rule
def end_former_session(world: ControlPlane, zookeeper: int) -> None:
    """Delete the former controller's /controller, if that is still there."""
    node = world.znodes[CONTROLLER_ZNODE]
    if not node.exists or node.session != FORMER_SESSION:
        return
    now_us = world.context[0].time_us
    reason = BROKER_SESSION_EXPIRED
    znode = CONTROLLER_ZNODE
    delete_znode(world, zookeeper, znode, UNDEFINED, reason, now_us)
