"""Creation and deletion of topics (Kafka: ReplicationControlManager).

A creation is one batch of records, and a batch has 10,000 at most. A topic with more is refused;
before 3.5 its batch fails, and an active controller that fails renounces (KAFKA-14996).
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.handlers import WRITES
from tidegauge.controller.kraft.metadata_log import (
    append_partition,
    append_record,
    respond_when_committed,
)
from tidegauge.controller.kraft.partition_records import acceptable_leaders, count_partition
from tidegauge.controller.kraft.registrations import REMOVE_TOPIC_RECORD, TOPIC_RECORD
from tidegauge.controller.kraft.state import Quorum
from tidegauge.controller.kraft_partitions.partition_change import NO_LEADER, create_partition
from tidegauge.controller.raft.leadership import resign
from tidegauge.controller.raft.responses import respond
from tidegauge.replication import errors
from tidegauge.replication.replica_list import EMPTY, only
from tidegauge.simulation.events import new_response
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.quorum_requests import (
    MOST_RECORDS,
    AdminResponse,
    CreateTopicsRequest,
    DeleteTopicsRequest,
)


@WRITES.handles(CreateTopicsRequest)
@inner_rule
def handle_create_topics(world: Quorum, request: CreateTopicsRequest) -> None:
    """Create a topic: of each partition the first live replica leads, all live ones are in sync.

    Source: ReplicationControlManager.createTopic@4.1.0.
    """
    response = new_response(world, request, AdminResponse)
    response.error = _creation_error(world, request)
    if response.error != errors.NONE:
        respond(world, response)
        if response.error == errors.UNKNOWN_SERVER_ERROR:
            # QuorumController.handleEventException, renounce@3.4.0
            resign(world)
        return
    topic = world.quorum_topics[request.topic]
    topic.exists = True
    topic.topic_id = append_record(world, TOPIC_RECORD, request.topic).offset
    for number in range(topic.partition_count):
        partition = topic.first_partition + number
        acceptable = acceptable_leaders(world, partition, NONE, NONE)
        assignment = world.partitions[partition].replicas
        create_partition(world.registrations[partition], assignment, acceptable)
        count_partition(world, partition, 1)
        append_partition(world, partition)
    respond_when_committed(world, response)


@inner_rule
def _creation_error(world: Quorum, request: CreateTopicsRequest) -> int:
    topic = world.quorum_topics[request.topic]
    if topic.exists:
        return errors.TOPIC_ALREADY_EXISTS
    # One record is that of the topic itself.
    if topic.partition_count + 1 > MOST_RECORDS and not request.in_pieces:
        is_refused = world.active_controller[0].large_operations_are_refused
        return errors.POLICY_VIOLATION if is_refused else errors.UNKNOWN_SERVER_ERROR
    for place in range(topic.partition_count):
        partition = topic.first_partition + place
        acceptable = acceptable_leaders(world, partition, NONE, NONE)
        if only(world.partitions[partition].replicas, acceptable) == EMPTY:
            if topic.assigned_by_hand:
                return errors.INVALID_REPLICA_ASSIGNMENT
            return errors.INVALID_REPLICATION_FACTOR
    return errors.NONE


@WRITES.handles(DeleteTopicsRequest)
@inner_rule
def handle_delete_topics(world: Quorum, request: DeleteTopicsRequest) -> None:
    """Delete a topic at once, whether its replicas are live or not.

    Source: ReplicationControlManager.deleteTopic@4.1.0.
    """
    response = new_response(world, request, AdminResponse)
    topic = world.quorum_topics[request.topic]
    if not topic.exists:
        response.error = errors.UNKNOWN_TOPIC_OR_PARTITION
        respond(world, response)
        return
    for number in range(topic.partition_count):
        partition = topic.first_partition + number
        count_partition(world, partition, -1)
        registration = world.registrations[partition]
        registration.leader = NO_LEADER
        registration.isr = EMPTY
        registration.elr = EMPTY
        registration.last_known_elr = EMPTY
        registration.adding = EMPTY
        registration.removing = EMPTY
    topic.exists = False
    append_record(world, REMOVE_TOPIC_RECORD, request.topic)
    respond_when_committed(world, response)
