"""What the control plane holds of brokers and partitions, for observers from outside.

Gauges and looks at the cluster ask here, where ZooKeeper holds it, and not for znodes.

Source: TopicPartitionStateZNode@2.6.0.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.state.control_plane import ControlPlane
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.topology import Cluster, broker_of, zookeeper_process
from tidegauge.simulation.zookeeper_tree import broker_znode, state_znode


@inner_rule
def is_control_plane_hosted(world: Cluster) -> bool:
    """Whether this group hosts the process that holds the states."""
    return world.processes[zookeeper_process(world)].hosted


@inner_rule
def is_registered(world: ControlPlane, broker: int) -> bool:
    """Whether a broker is registered."""
    return world.znodes[broker_znode(world, broker)].exists


@inner_rule
def has_state(world: ControlPlane, partition: int) -> bool:
    """Whether a partition has a state; else the functions below say nothing about it."""
    return world.znodes[state_znode(world, partition)].exists


@inner_rule
def leader_of(world: ControlPlane, partition: int) -> int:
    """The broker that leads a partition; NONE: nobody does."""
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
    """How many isr_change_notifications the controller has not dealt with yet."""
    count = 0
    znode = world.ensemble[0].first_notification
    while znode != NONE:
        count += 1
        znode = world.znodes[znode].next
    return count
