"""Topics at KRaft's controller: creation, deletion, and replicas that are moved.

A creation (ReplicationControlManager) is one batch of records, and a batch has 10,000 at most. A
topic with more is refused; before 3.5 its batch fails, and an active controller that fails
renounces (KAFKA-14996).

AlterPartitionReassignments writes one record: the replicas are the new ones and then those to be
removed. Each new replica that has caught up is an ISR change of the leader. The one that makes the
target complete ends the reassignment in the same record (``kraft_partitions/partition_change.py``).
"""

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft import partition_records, state
from tidegauge.controller.kraft.metadata_log import (
    append_partition,
    append_record,
    respond_when_committed,
)
from tidegauge.controller.kraft_partitions.partition_change import NO_LEADER, create_partition
from tidegauge.controller.kraft_partitions.partition_target import (
    ONLINE,
    cancel_reassignment,
    reassign,
)
from tidegauge.controller.raft.leadership import resign
from tidegauge.controller.raft.measured import respond
from tidegauge.replication import errors
from tidegauge.replication.replica_list import EMPTY, first, only, rest
from tidegauge.simulation.events import items_of, new_item, new_response
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import quorum_requests
from tidegauge.simulation.topology import broker_of, slots_by_broker


@state.WRITES.handles(quorum_requests.CreateTopicsRequest)
@inner_rule
def handle_create_topics(world: state.Quorum, request: quorum_requests.CreateTopicsRequest) -> None:
    """Create a topic: of each partition the first live replica leads, all live ones are in sync.

    Source: ReplicationControlManager.createTopic@4.1.0.
    """
    response = new_response(world, request, quorum_requests.AdminResponse)
    response.error = _creation_error(world, request)
    if response.error != errors.NONE:
        respond(world, response)
        if response.error == errors.UNKNOWN_SERVER_ERROR:
            # QuorumController.handleEventException, renounce@3.4.0
            resign(world)
        return
    topic = world.quorum_topics[request.topic]
    topic.exists = True
    topic.topic_id = append_record(world, state.TOPIC_RECORD, request.topic).offset
    for number in range(topic.partition_count):
        partition = topic.first_partition + number
        acceptable = partition_records.acceptable_leaders(world, partition, NONE, NONE)
        assignment = world.partitions[partition].replicas
        create_partition(world.registrations[partition], assignment, acceptable)
        partition_records.count_partition(world, partition, 1)
        append_partition(world, partition)
    respond_when_committed(world, response)


@inner_rule
def _creation_error(world: state.Quorum, request: quorum_requests.CreateTopicsRequest) -> int:
    topic = world.quorum_topics[request.topic]
    if topic.exists:
        return errors.TOPIC_ALREADY_EXISTS
    # One record is that of the topic itself.
    if topic.partition_count + 1 > quorum_requests.MOST_RECORDS and not request.in_pieces:
        is_refused = world.active_controller[0].large_operations_are_refused
        return errors.POLICY_VIOLATION if is_refused else errors.UNKNOWN_SERVER_ERROR
    by_hand = topic.assigned_by_hand
    may_be_cordoned = by_hand and not world.active_controller[0].cordoned_assignments_are_refused
    for place in range(topic.partition_count):
        partition = topic.first_partition + place
        replicas = world.partitions[partition].replicas
        acceptable = partition_records.acceptable_leaders(world, partition, NONE, NONE)
        is_refused = not may_be_cordoned and _has_cordoned(world, partition, replicas)
        if is_refused or only(replicas, acceptable) == EMPTY:
            return (
                errors.INVALID_REPLICA_ASSIGNMENT
                if by_hand
                else (errors.INVALID_REPLICATION_FACTOR)
            )
    return errors.NONE


@inner_rule
def _has_cordoned(world: state.Quorum, partition: int, replicas: int) -> bool:
    """Whether a replica is that of a broker which has cordoned all log directories in use.

    Source: BrokerRegistration.hasUncordonedDirs@4.4.0.
    """
    everywhere = (1 << world.sizes[0].log_directories) - 1
    left = replicas
    while left != EMPTY:
        broker = world.quorum_brokers[broker_of(world, partition, first(left))]
        closed = broker.offline_directories | max(0, broker.cordoned_directories)
        if broker.cordoned_directories > 0 and closed == everywhere:
            return True
        left = rest(left)
    return False


@state.WRITES.handles(quorum_requests.DeleteTopicsRequest)
@inner_rule
def handle_delete_topics(world: state.Quorum, request: quorum_requests.DeleteTopicsRequest) -> None:
    """Delete a topic at once, whether its replicas are live or not.

    Source: ReplicationControlManager.deleteTopic@4.1.0.
    """
    response = new_response(world, request, quorum_requests.AdminResponse)
    topic = world.quorum_topics[request.topic]
    if not topic.exists:
        response.error = errors.UNKNOWN_TOPIC_OR_PARTITION
        respond(world, response)
        return
    for number in range(topic.partition_count):
        partition = topic.first_partition + number
        partition_records.count_partition(world, partition, -1)
        registration = world.registrations[partition]
        registration.leader = NO_LEADER
        registration.isr = EMPTY
        registration.elr = EMPTY
        registration.last_known_elr = EMPTY
        registration.adding = EMPTY
        registration.removing = EMPTY
    topic.exists = False
    append_record(world, state.REMOVE_TOPIC_RECORD, request.topic)
    respond_when_committed(world, response)


@state.WRITES.handles(quorum_requests.AlterPartitionReassignmentsRequest)
@inner_rule
def handle_alter_partition_reassignments(
    world: state.Quorum, request: quorum_requests.AlterPartitionReassignmentsRequest
) -> None:
    """Begin to move replicas, or move them back.

    Source: ReplicationControlManager.alterPartitionReassignments@4.1.0.
    """
    response = new_response(world, request, quorum_requests.AdminResponse)
    for asked in items_of(world, request, quorum_requests.AskedReassignment):
        outcome = new_item(world, response, asked.partition, quorum_requests.PartitionOutcome)
        if not world.quorum_topics[world.partitions[asked.partition].topic].exists:
            outcome.error = errors.UNKNOWN_TOPIC_OR_PARTITION
        elif asked.target == EMPTY:
            outcome.error = _cancel(world, asked.partition)
        else:
            outcome.error = _reassign(world, asked.partition, asked.target)
    respond_when_committed(world, response)


@inner_rule
def _reassign(world: state.Quorum, partition: int, replicas: int) -> int:
    """Source: ReplicationControlManager.changePartitionReassignment@4.1.0."""
    is_refused = world.active_controller[0].cordoned_assignments_are_refused
    if is_refused and _has_cordoned(world, partition, replicas):
        return errors.INVALID_REPLICA_ASSIGNMENT
    left = replicas
    while left != EMPTY:
        if not world.quorum_brokers[broker_of(world, partition, first(left))].registered:
            return errors.INVALID_REPLICA_ASSIGNMENT
        left = rest(left)
    target = partition_records.begin_change(world, partition, ONLINE)
    reassign(target, replicas, slots_by_broker(world, partition))
    partition_records.append_change(
        world, partition, partition_records.acceptable_leaders(world, partition, NONE, NONE), 0
    )
    return errors.NONE


@inner_rule
def _cancel(world: state.Quorum, partition: int) -> int:
    """Source: ReplicationControlManager.cancelPartitionReassignment@4.1.0."""
    registration = world.registrations[partition]
    if registration.adding == EMPTY and registration.removing == EMPTY:
        return errors.NO_REASSIGNMENT_IN_PROGRESS
    target = partition_records.begin_change(
        world, partition, partition_records.election_of(world, partition)
    )
    is_unclean = cancel_reassignment(target)
    topic = world.quorum_topics[world.partitions[partition].topic]
    if is_unclean and not topic.unclean_leader_election:
        return errors.INVALID_REPLICA_ASSIGNMENT
    partition_records.append_change(
        world, partition, partition_records.acceptable_leaders(world, partition, NONE, NONE), 0
    )
    return errors.NONE
