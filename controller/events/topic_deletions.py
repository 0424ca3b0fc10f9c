"""Deleting topics: an operator's requests in /admin/delete_topics (``TopicDeletionManager``).

One topic after the other, and each goes through the same phases:

====================  ========================================================================
phase                 what it does
====================  ========================================================================
``_CHOOSE``           is there anything to be done for it? If not, it waits: for answers of
                      brokers, or for a broker that is dead, or for a reassignment
``_RETRY``            replicas on dead brokers were set aside: take them out of the ISR, too
``_BEGIN``            tell all brokers that nobody leads it; set aside what is on dead brokers
``_TAKE_OFFLINE``     broker by broker stop its replicas, and take them out of the ISR
``_DELETE``           have their logs deleted
``_DELETE_ZNODES``    all brokers have said that it is done: delete what ZooKeeper holds of it
====================  ========================================================================

A topic with a replica on a dead broker has its other logs deleted at once; its znodes stay until
that broker is back and has deleted its log. A requested deletion is examined again whenever
something may have changed: brokers have answered, come or gone, replicas were moved.

Source: TopicDeletionManager.resumeDeletions, onTopicDeletion, onPartitionDeletion and
completeDeleteTopic@2.4.0, @2.6.3 and @3.8.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.partitions import replica_state_machine
from tidegauge.controller.partitions.channels import (
    add_stop_replica_request,
    add_update_metadata_request,
    send_requests_to_brokers,
)
from tidegauge.controller.partitions.partition_changes import (
    NEW_PARTITION,
    NON_EXISTENT_PARTITION,
    has_directory,
    remove_from_isr,
)
from tidegauge.controller.partitions.replica_states import enter_replica_state, set_aside
from tidegauge.controller.state import control_plane
from tidegauge.controller.state.assignments import issue_children, issue_delete
from tidegauge.replication import errors
from tidegauge.replication.replica_list import contains
from tidegauge.simulation import zookeeper_tree
from tidegauge.simulation.events import items_of
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_requests import (
    StopReplicaPartition,
    StopReplicaRequest,
)
from tidegauge.simulation.messages.zookeeper_requests import Child, ZkResponse
from tidegauge.simulation.topology import row_of
from tidegauge.simulation.trace_rows.codes import PREFERRED_ELECTION, TOPIC_DELETION_ASKED_FOR
from tidegauge.simulation.trace_rows.controller_rows import TopicDeleted, TopicDeletionBegun

# Phases. An event that begins with the znodes lists them first.
_LIST = code(0)
_LISTED = code(1)
_CHOOSE = code(2)
_RETRY = code(3)
_BEGIN = code(4)
_TAKE_OFFLINE = code(5)
_DELETE = code(6)
_DELETE_ZNODES = code(7)
_DELETED = code(8)

_TRUE = code(True)
_FALSE = code(False)


@inner_rule
def is_any_topic_deleted(world: control_plane.ControlPlane, controller: int) -> bool:
    """Whether any topic is to be deleted, as far as a controller knows."""
    for topic in range(world.sizes[0].topics):
        if control_plane.topic_at(world, controller, topic).deleted:
            return True
    return False


@inner_rule
def resume_deletion(world: control_plane.ControlPlane, controller: int, topic: int) -> None:
    """The wait of a deletion may be over.

    Source: TopicDeletionManager.resumeDeletionForTopics@2.6.3.
    """
    control_plane.topic_at(world, controller, topic).ineligible = False


@inner_rule
def note_listed_deletions(
    world: control_plane.ControlPlane, controller: int, response: ZkResponse
) -> None:
    """Take the topics to be deleted; the request for a topic that does not exist is deleted.

    Source: KafkaController.processTopicDeletion and fetchTopicDeletionsInProgress@2.6.3.
    """
    for child in items_of(world, response, Child):
        topic = zookeeper_tree.place_in(world, zookeeper_tree.TOPIC_DELETIONS, child.znode)
        known = control_plane.topic_at(world, controller, topic)
        known.deleted = False
        for partition in range(world.sizes[0].partitions):
            of_topic = control_plane.partition_at(world, controller, partition)
            if world.partitions[partition].topic == topic and of_topic.known:
                known.deleted = True
                known.ineligible = known.ineligible or of_topic.reassigned
        if not known.deleted:
            issue_delete(world, controller, child.znode)


@inner_rule
def note_deleted_replicas(
    world: control_plane.ControlPlane, controller: int, request: StopReplicaRequest
) -> None:
    """A broker has answered a StopReplica that deletes; ``request`` has its error.

    Source: KafkaController.processTopicDeletionStopReplicaResponseReceived@2.6.3.
    """
    for item in items_of(world, request, StopReplicaPartition):
        topic = world.partitions[item.partition].topic
        row = row_of(world, item.partition, request.destination)
        if not item.deletes or not control_plane.topic_at(world, controller, topic).deleted:
            continue
        if request.error == errors.NONE:
            enter_replica_state(
                world, controller, row, replica_state_machine.REPLICA_DELETION_SUCCESSFUL
            )
        else:
            set_aside(world, controller, row)


@inner_rule
def advance_topic_deletion(world: control_plane.ControlPlane, controller: int) -> None:
    """One phase of an event that deletes topics, or looks whether it can go on."""
    state = world.controllers[controller]
    phase = state.phase
    state.phase += 1
    if phase == _LIST and state.event == TOPIC_DELETION_ASKED_FOR:
        znode = zookeeper_tree.delete_topics_znode(world)
        issue_children(world, controller, znode)
    elif phase <= _LISTED:
        state.deleting = NONE
        state.phase = _CHOOSE
    elif phase == _CHOOSE:
        _choose(world, controller)
    elif phase == _RETRY:
        _retry(world, controller)
    elif phase == _BEGIN:
        _begin(world, controller)
    elif phase == _TAKE_OFFLINE:
        _take_offline(world, controller)
    elif phase == _DELETE:
        _delete_logs(world, controller)
        state.phase = _CHOOSE
    elif phase == _DELETE_ZNODES:
        _delete_znodes(world, controller)
    else:
        _forget(world, controller)
        state.phase = _CHOOSE


@inner_rule
def _choose(world: control_plane.ControlPlane, controller: int) -> None:
    """Go to the next topic that is to be deleted, and to its next possible phase."""
    state = world.controllers[controller]
    state.deleting += 1
    state.deleting_broker = 0
    state.phase = _CHOOSE
    if state.deleting == world.sizes[0].topics:
        _end(state)
        return
    known = control_plane.topic_at(world, controller, state.deleting)
    if not known.deleted:
        return
    started = _count(world, controller, replica_state_machine.REPLICA_DELETION_STARTED)
    failed = _count(world, controller, replica_state_machine.REPLICA_DELETION_INELIGIBLE)
    if _count(world, controller, replica_state_machine.REPLICA_DELETION_SUCCESSFUL) == (
        _count_replicas(world, controller)
    ):
        state.phase = _DELETE_ZNODES
    elif started == 0 and failed > 0:
        state.phase = _RETRY
    elif started == 0 and not known.ineligible:
        state.phase = _BEGIN


@inner_rule
def _end(state: control_plane.Controller) -> None:
    state.event = NONE
    state.deleting = NONE
    if state.election_pending:
        # It was asked for when this controller took over.
        state.election_pending = False
        state.event = PREFERRED_ELECTION
        state.phase = 0


@inner_rule
def _is_of_topic(world: control_plane.ControlPlane, controller: int, row: int) -> bool:
    """Whether a row is a replica of the topic that is being deleted."""
    partition = world.slots[row].partition
    known = control_plane.partition_at(world, controller, partition)
    slot = row - world.partitions[partition].first_slot
    is_topic = world.partitions[partition].topic == world.controllers[controller].deleting
    return is_topic and known.known and contains(known.replicas, slot)


@inner_rule
def _count(world: control_plane.ControlPlane, controller: int, replica_state: int) -> int:
    count = 0
    for row in range(len(world.slots)):
        if _is_of_topic(world, controller, row):
            known = control_plane.replica_at(world, controller, row)
            count += 1 if known.state == replica_state else 0
    return count


@inner_rule
def _count_replicas(world: control_plane.ControlPlane, controller: int) -> int:
    count = 0
    for row in range(len(world.slots)):
        count += 1 if _is_of_topic(world, controller, row) else 0
    return count


@inner_rule
def _is_online(world: control_plane.ControlPlane, controller: int, row: int) -> bool:
    """Source: ControllerContext.isReplicaOnline@2.6.3."""
    partition = world.slots[row].partition
    known = control_plane.broker_at(world, controller, world.slots[row].broker)
    slot = row - world.partitions[partition].first_slot
    is_usable = has_directory(world, controller, partition, slot)
    return known.alive and not known.shutting_down and is_usable


@inner_rule
def _retry(world: control_plane.ControlPlane, controller: int) -> None:
    """Take the replicas set aside out of the ISR, broker by broker; then the deletion may restart.

    Source: TopicDeletionManager.retryDeletionForIneligibleReplicas@2.6.3.
    """
    state = world.controllers[controller]
    if state.deleting_broker < world.sizes[0].brokers:
        broker = state.deleting_broker
        state.deleting_broker += 1
        state.phase = _RETRY
        for row in range(len(world.slots)):
            was = control_plane.replica_at(world, controller, row).state
            is_set_aside = was == replica_state_machine.REPLICA_DELETION_INELIGIBLE
            if is_set_aside and _is_here(world, controller, row, broker):
                _stop(world, controller, row)
        return
    send_requests_to_brokers(world, controller)
    state.removing = NONE
    state.deleting_broker = 0
    known = control_plane.topic_at(world, controller, state.deleting)
    state.phase = _CHOOSE if known.ineligible else _BEGIN


@inner_rule
def _is_here(world: control_plane.ControlPlane, controller: int, row: int, broker: int) -> bool:
    is_there = world.slots[row].broker == broker
    return is_there and _is_of_topic(world, controller, row)


@inner_rule
def _stop(world: control_plane.ControlPlane, controller: int, row: int) -> None:
    """Let a replica fetch no more, and take it out of the ISR."""
    partition = world.slots[row].partition
    broker = world.slots[row].broker
    if not enter_replica_state(world, controller, row, replica_state_machine.OFFLINE_REPLICA):
        return
    if control_plane.broker_at(world, controller, broker).alive:
        add_stop_replica_request(world, controller, partition, broker, _FALSE)
    if control_plane.partition_at(world, controller, partition).has_state:
        remove_from_isr(world, controller, partition, broker)


@inner_rule
def _begin(world: control_plane.ControlPlane, controller: int) -> None:
    """Its partitions have no leader any more; replicas on dead brokers are set aside.

    Source: TopicDeletionManager.onTopicDeletion and onPartitionDeletion@2.6.3.
    """
    topic = world.controllers[controller].deleting
    known = control_plane.topic_at(world, controller, topic)
    if not known.deletion_started:
        known.deletion_started = True
        TopicDeletionBegun.write(world, topic=topic)
    for partition in range(world.sizes[0].partitions):
        of_topic = control_plane.partition_at(world, controller, partition)
        if world.partitions[partition].topic == topic and of_topic.known:
            of_topic.state = NON_EXISTENT_PARTITION
            add_update_metadata_request(world, controller, partition)
    send_requests_to_brokers(world, controller)
    for row in range(len(world.slots)):
        is_dead = not _is_online(world, controller, row)
        if is_dead and _is_of_topic(world, controller, row):
            set_aside(world, controller, row)


@inner_rule
def _take_offline(world: control_plane.ControlPlane, controller: int) -> None:
    """Stop the replicas of one broker after the other."""
    state = world.controllers[controller]
    broker = state.deleting_broker
    if broker == world.sizes[0].brokers:
        send_requests_to_brokers(world, controller)
        state.removing = NONE
        return
    state.deleting_broker += 1
    state.phase = _TAKE_OFFLINE
    for row in range(len(world.slots)):
        is_deleted = control_plane.replica_at(world, controller, row).state == (
            replica_state_machine.REPLICA_DELETION_SUCCESSFUL
        )
        is_online = _is_online(world, controller, row)
        if is_online and not is_deleted and _is_here(world, controller, row, broker):
            _stop(world, controller, row)


@inner_rule
def _delete_logs(world: control_plane.ControlPlane, controller: int) -> None:
    for row in range(len(world.slots)):
        broker = world.slots[row].broker
        is_online = _is_online(world, controller, row)
        if is_online and _is_of_topic(world, controller, row):
            partition = world.slots[row].partition
            if enter_replica_state(
                world, controller, row, replica_state_machine.REPLICA_DELETION_STARTED
            ):
                add_stop_replica_request(world, controller, partition, broker, _TRUE)
    send_requests_to_brokers(world, controller)


@inner_rule
def _delete_znodes(world: control_plane.ControlPlane, controller: int) -> None:
    """Delete the states, the topic, and the request to delete it.

    Source: TopicDeletionManager.completeDeleteTopic, ControllerDeletionClient.deleteTopic@2.6.3.
    """
    topic = world.controllers[controller].deleting
    for partition in range(world.sizes[0].partitions):
        known = control_plane.partition_at(world, controller, partition)
        if world.partitions[partition].topic == topic and known.has_state:
            issue_delete(world, controller, zookeeper_tree.state_znode(world, partition))
    for znode in (
        zookeeper_tree.topic_znode(world, topic),
        zookeeper_tree.topic_deletion_znode(world, topic),
    ):
        issue_delete(world, controller, znode)


@inner_rule
def _forget(world: control_plane.ControlPlane, controller: int) -> None:
    """The topic is gone: drop its state.

    Source: ControllerContext.removeTopic@2.6.3.
    """
    topic = world.controllers[controller].deleting
    for row in range(len(world.slots)):
        if world.partitions[world.slots[row].partition].topic == topic:
            control_plane.replica_at(
                world, controller, row
            ).state = replica_state_machine.NON_EXISTENT_REPLICA
    for partition in range(world.sizes[0].partitions):
        if world.partitions[partition].topic == topic:
            of_topic = control_plane.partition_at(world, controller, partition)
            of_topic.known = False
            of_topic.has_state = False
            of_topic.state = NEW_PARTITION
    known = control_plane.topic_at(world, controller, topic)
    known.deleted = False
    known.ineligible = False
    known.deletion_started = False
    TopicDeleted.write(world, topic=topic)
