"""ISRs that leaders propose (Kafka: AlterPartition, ReplicationControlManager.alterPartition).

``alter_partition.py`` says what is refused. What is taken completes a reassignment if it can, and
is answered, once it is committed, with the new state.
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
    is_active,
)
from tidegauge.controller.kraft.state import Quorum
from tidegauge.controller.kraft_partitions.alter_partition import (
    alter_partition_error,
    altered_partition_error,
)
from tidegauge.controller.kraft_partitions.partition_target import take_leaders_isr
from tidegauge.controller.raft.responses import respond
from tidegauge.replication import errors
from tidegauge.replication.replica_list import EMPTY, append, first, rest, single, without
from tidegauge.simulation.events import new_item, new_response
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_requests import (
    AlterPartitionData,
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrMember,
)
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.topology import broker_of, slot_of
from tidegauge.simulation.trace_rows.controller_rows import IsrAltered


@WRITES.handles(AlterPartitionRequest)
@inner_rule
def handle_alter_partition(world: Quorum, request: AlterPartitionRequest) -> None:
    """Decide on each ISR that a broker proposes as leader.

    Source: ReplicationControlManager.alterPartition@4.1.0.
    """
    response = new_response(world, request, AlterPartitionResponse)
    known = world.quorum_brokers[request.broker_id]
    if not known.registered or known.broker_epoch != request.broker_epoch:
        response.error = errors.STALE_BROKER_EPOCH
        respond(world, response)
        return
    cursor = request.first_item
    for _ in range(request.proposal_count):
        proposed = view_as(world.items[cursor], AlterPartitionData)
        cursor = proposed.next
        decided = new_item(world, response, proposed.partition, AlterPartitionData)
        decided.error = _take(world, request, proposed)
        registration = world.registrations[proposed.partition]
        decided.leader = registration.leader
        decided.leader_epoch = registration.leader_epoch
        decided.isr = registration.isr
        decided.partition_epoch = registration.partition_epoch
        _write_down(world, request, decided)
    respond_when_committed(world, response)


@inner_rule
def _take(world: Quorum, request: AlterPartitionRequest, proposed: AlterPartitionData) -> int:
    """Change a partition as its leader asks; the error that the leader gets."""
    partition = proposed.partition
    topic = world.quorum_topics[world.partitions[partition].topic]
    if not topic.exists or topic.topic_id != proposed.topic_id:
        return errors.UNKNOWN_TOPIC_ID
    registration = world.registrations[partition]
    sender = slot_of(world, partition, request.broker_id)
    # A leader takes its own recovery for done as soon as it leads: Partition.makeLeader@4.1.0.
    error = alter_partition_error(
        registration,
        sender,
        proposed.leader_epoch,
        proposed.partition_epoch,
        proposed.isr,
        False,
        _eligible_members(world, request, proposed),
    )
    if error != errors.NONE:
        return error
    target = begin_change(world, partition, election_of(world, partition))
    take_leaders_isr(target, proposed.isr, False)
    append_change(world, partition, acceptable_leaders(world, partition, NONE, NONE), 0)
    return altered_partition_error(registration, sender)


@inner_rule
def _eligible_members(
    world: Quorum, request: AlterPartitionRequest, proposed: AlterPartitionData
) -> int:
    """The members of a proposed ISR that may be in one; a replica list.

    Source: ReplicationControlManager.ineligibleReplicasForIsr@4.1.0.
    """
    eligible = EMPTY
    left = proposed.isr
    while left != EMPTY:
        if is_active(world, broker_of(world, proposed.partition, first(left))):
            eligible = append(eligible, first(left))
        left = rest(left)
    # Behind the proposals, the request has the broker epochs that the leader knows.
    cursor = request.first_item
    for _ in range(request.proposal_count):
        cursor = view_as(world.items[cursor], AlterPartitionData).next
    while cursor != NONE:
        member = view_as(world.items[cursor], IsrMember)
        cursor = member.next
        if member.partition != proposed.partition:
            continue
        known = world.quorum_brokers[broker_of(world, member.partition, member.replica)]
        if member.broker_epoch not in (NONE, known.broker_epoch):
            eligible = without(eligible, single(member.replica))
    return eligible


@inner_rule
def _write_down(world: Quorum, request: AlterPartitionRequest, decided: AlterPartitionData) -> None:
    altered = new_row(world, world.context[0].handling, IsrAltered)
    altered.partition = decided.partition
    altered.leader = request.broker_id
    altered.leader_epoch = decided.leader_epoch
    altered.isr = decided.isr
    altered.version = decided.partition_epoch
    altered.error = decided.error
    write_row(world, altered)
