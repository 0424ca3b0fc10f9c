"""Assignments of replicas, as /brokers/topics/<topic> holds them and controllers know them.

From 2.4 on (KIP-455) an assignment also says which replicas are being added and which will be
removed; all of them are among the replicas. What a reassignment ends with comes first, in the
order in which it was asked for. So it can be taken up by another controller, and its end is
known from it: the replicas without those that will be removed.

Here is also which partitions wait to be moved (``events/reassignments.py``): a list, first come
first served.

Source: ReplicaAssignment@2.4.0.
"""

from __future__ import annotations

from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import inner_rule, rule
from tidegauge.controller.state.control_plane import ControllerPartition, ControlPlane, partition_at
from tidegauge.replication.replica_list import EMPTY, append, contains, first, rest, without
from tidegauge.simulation.events import new_item
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.zookeeper_requests import (
    TopicPartition,
    ZkResponse,
    ZkSetRequest,
)
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.trace_rows.control_plane_rows import PartitionReplicas
from tidegauge.simulation.zookeeper_tree import STATES, place_in


@rule
def full_replica_set(target: int, origin: int) -> int:
    """The replicas during a reassignment: where it leads to, then what else there was.

    Source: ReplicaAssignment.reassignTo@2.4.0.
    """
    others = without(origin, target)
    replicas = target
    while others != EMPTY:
        replicas = append(replicas, first(others))
        others = rest(others)
    return replicas


@inner_rule
def is_assigned(world: ControlPlane, controller: int, partition: int, slot: int) -> bool:
    """Whether a slot of a partition has a replica now, as far as a controller knows."""
    return contains(partition_at(world, controller, partition).replicas, slot)


@inner_rule
def is_anything_reassigned(world: ControlPlane, controller: int) -> bool:
    """Whether replicas of any partition are being moved."""
    for partition in range(world.sizes[0].partitions):
        if partition_at(world, controller, partition).reassigned:
            return True
    return False


@inner_rule
def know_assignment(known: ControllerPartition, listed: TopicPartition) -> None:
    """Take what ZooKeeper says of a partition that is new to a controller.

    Source: KafkaController.initializeControllerContext@2.4.0.
    """
    known.known = True
    known.replicas = listed.replicas
    known.adding = listed.adding
    known.removing = listed.removing
    known.reassigned = listed.adding != EMPTY or listed.removing != EMPTY


@inner_rule
def list_assignments(world: ControlPlane, topic: int, response: ZkResponse) -> None:
    """Name the partitions of a topic in a response's chain, and where their replicas are.

    Kafka lists topics first and then reads them; here both come in one response.
    """
    for partition in range(world.sizes[0].partitions):
        if world.partitions[partition].topic == topic:
            listed = new_item(world, response, partition, TopicPartition)
            listed.replicas = world.assignments[partition].replicas
            listed.adding = world.assignments[partition].adding
            listed.removing = world.assignments[partition].removing


@inner_rule
def store_assignments(world: ControlPlane, request: ZkSetRequest) -> None:
    """Take over what is written into /brokers/topics/<topic>: the partitions that change."""
    cursor = request.first_item
    while cursor != NONE:
        item = view_as(world.items[cursor], TopicPartition)
        cursor = item.next
        assignment = world.assignments[item.partition]
        assignment.replicas = item.replicas
        assignment.adding = item.adding
        assignment.removing = item.removing
        written = new_row(world, request.destination, PartitionReplicas)
        written.partition = item.partition
        written.replicas = item.replicas
        written.adding = item.adding
        written.removing = item.removing
        # Only KRaft keeps eligible leaders, and the last leader (KIP-966).
        written.eligible_leaders = EMPTY
        written.last_known_leader = NONE
        written.recovering = 0
        write_row(world, written)


@inner_rule
def begin_assignments(world: ControlPlane, topic: int) -> None:
    """A topic is created, perhaps once more: its replicas are where the scenario has them.

    Source: AdminZkClient.writeTopicPartitionAssignment@2.4.0.
    """
    for partition in range(world.sizes[0].partitions):
        if world.partitions[partition].topic == topic:
            assignment = world.assignments[partition]
            assignment.replicas = world.partitions[partition].replicas
            assignment.adding = EMPTY
            assignment.removing = EMPTY


@inner_rule
def want_move(world: ControlPlane, controller: int, partition: int) -> None:
    """Let the event being processed, or the next, deal with a partition: behind the others."""
    state = world.controllers[controller]
    known = partition_at(world, controller, partition)
    if known.moves:
        return
    known.moves = True
    known.next_move = NONE
    if state.last_move == NONE:
        state.first_move = partition
    else:
        partition_at(world, controller, state.last_move).next_move = partition
    state.last_move = partition


@inner_rule
def take_up_reassignments(world: ControlPlane, controller: int) -> None:
    """A new controller goes on with what another has begun.

    Source: KafkaController.initializePartitionReassignments@2.4.0.
    """
    for partition in range(world.sizes[0].partitions):
        known = partition_at(world, controller, partition)
        if known.reassigned:
            known.target = without(known.replicas, known.removing)
            want_move(world, controller, partition)


@inner_rule
def note_isr_change(world: ControlPlane, controller: int, znode: int) -> None:
    """The state of a partition that is being moved has changed."""
    partition = place_in(world, STATES, znode)
    known = partition_at(world, controller, partition)
    if known.reassigned:
        known.target = without(known.replicas, known.removing)
        want_move(world, controller, partition)
