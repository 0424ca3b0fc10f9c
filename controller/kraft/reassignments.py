"""Replicas that are moved (Kafka: AlterPartitionReassignments, ReplicationControlManager).

The request writes one record: the replicas are the new ones and then those to be removed. Each new
replica that has caught up is an ISR change of the leader. The one that makes the target complete
ends the reassignment in the same record (``kraft_partitions/partition_change.py``).
"""

from __future__ import annotations

from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.handlers import WRITES
from tidegauge.controller.kraft.metadata_log import respond_when_committed
from tidegauge.controller.kraft.partition_records import (
    acceptable_leaders,
    append_change,
    begin_change,
    election_of,
)
from tidegauge.controller.kraft.state import Quorum
from tidegauge.controller.kraft_partitions.partition_target import (
    ONLINE,
    cancel_reassignment,
    reassign,
)
from tidegauge.replication import errors
from tidegauge.replication.replica_list import EMPTY, first, rest
from tidegauge.simulation.events import new_item, new_response
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.quorum_requests import (
    AdminResponse,
    AlterPartitionReassignmentsRequest,
    AskedReassignment,
    PartitionOutcome,
)
from tidegauge.simulation.topology import broker_of, slots_by_broker


@WRITES.handles(AlterPartitionReassignmentsRequest)
@inner_rule
def handle_alter_partition_reassignments(
    world: Quorum, request: AlterPartitionReassignmentsRequest
) -> None:
    """Begin to move replicas, or go back to where they were.

    Source: ReplicationControlManager.alterPartitionReassignments@4.1.0.
    """
    response = new_response(world, request, AdminResponse)
    cursor = request.first_item
    while cursor != NONE:
        asked = view_as(world.items[cursor], AskedReassignment)
        cursor = asked.next
        outcome = new_item(world, response, asked.partition, PartitionOutcome)
        if not world.quorum_topics[world.partitions[asked.partition].topic].exists:
            outcome.error = errors.UNKNOWN_TOPIC_OR_PARTITION
        elif asked.target == EMPTY:
            outcome.error = _cancel(world, asked.partition)
        else:
            outcome.error = _reassign(world, asked.partition, asked.target)
    respond_when_committed(world, response)


@inner_rule
def _reassign(world: Quorum, partition: int, replicas: int) -> int:
    """Source: ReplicationControlManager.changePartitionReassignment@4.1.0."""
    left = replicas
    while left != EMPTY:
        if not world.quorum_brokers[broker_of(world, partition, first(left))].registered:
            return errors.INVALID_REPLICA_ASSIGNMENT
        left = rest(left)
    target = begin_change(world, partition, ONLINE)
    reassign(target, replicas, slots_by_broker(world, partition))
    append_change(world, partition, acceptable_leaders(world, partition, NONE, NONE), 0)
    return errors.NONE


@inner_rule
def _cancel(world: Quorum, partition: int) -> int:
    """Source: ReplicationControlManager.cancelPartitionReassignment@4.1.0."""
    registration = world.registrations[partition]
    if registration.adding == EMPTY and registration.removing == EMPTY:
        return errors.NO_REASSIGNMENT_IN_PROGRESS
    target = begin_change(world, partition, election_of(world, partition))
    is_unclean = cancel_reassignment(target)
    topic = world.quorum_topics[world.partitions[partition].topic]
    if is_unclean and not topic.unclean_leader_election:
        return errors.INVALID_REPLICA_ASSIGNMENT
    append_change(world, partition, acceptable_leaders(world, partition, NONE, NONE), 0)
    return errors.NONE
