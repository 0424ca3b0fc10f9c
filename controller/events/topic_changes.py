"""Topics that are new, and topics that now allow unclean election."""

from __future__ import annotations

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.partitions.partition_changes import bring_online
from tidegauge.controller.partitions.replica_states import bring_replica_online
from tidegauge.controller.partitions.request_batch import send_requests_to_brokers
from tidegauge.controller.state.control_plane import ControlPlane, partition_at
from tidegauge.controller.state.zookeeper_requests import issue_children
from tidegauge.replication.replica_list import contains
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.zookeeper_tree import TOPICS_ZNODE

_TRUE = code(True)


@inner_rule
def advance_topic_change(world: ControlPlane, controller: int) -> None:
    """One phase of a topic change: list the topics, give new partitions a state.

    Source: KafkaController.processTopicChange and onNewPartitionCreation@2.4.0.
    """
    state = world.controllers[controller]
    phase = state.phase
    state.phase += 1
    if phase == 0:
        issue_children(world, controller, TOPICS_ZNODE)
    elif phase == 1:
        _start_new_replicas(world, controller)
        bring_online(world, controller, NONE)
    else:
        send_requests_to_brokers(world, controller)
        state.event = NONE


@inner_rule
def _start_new_replicas(world: ControlPlane, controller: int) -> None:
    """Replicas of new partitions are online, whether their brokers are alive or not."""
    for row in range(len(world.slots)):
        partition = world.slots[row].partition
        known = partition_at(world, controller, partition)
        slot = row - world.partitions[partition].first_slot
        if known.known and not known.has_state and contains(known.replicas, slot):
            bring_replica_online(world, controller, row)


@inner_rule
def advance_unclean_election(world: ControlPlane, controller: int) -> None:
    """One phase after unclean election was switched on for a topic.

    Source: KafkaController.processTopicUncleanLeaderElectionEnable@2.1.0.
    """
    state = world.controllers[controller]
    phase = state.phase
    state.phase += 1
    if phase == 0:
        bring_online(world, controller, state.topic)
    else:
        send_requests_to_brokers(world, controller)
        state.event = NONE
