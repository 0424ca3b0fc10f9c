"""Deleting topics: what an operator asks for in /admin/delete_topics (``TopicDeletionManager``).

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

A topic of which a replica is on a dead broker has its other logs deleted at once; its znodes stay
until that broker is back and has deleted its log, too. What is asked for is looked at again
whenever something may have changed: brokers have answered, come or gone, replicas were moved.

Source: TopicDeletionManager.resumeDeletions, onTopicDeletion, onPartitionDeletion and
completeDeleteTopic@2.4.0, @2.6.3 and @3.8.0.
"""

from __future__ import annotations

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.partitions.partition_changes import has_directory, remove_from_isr
from tidegauge.controller.partitions.partition_state_machine import (
    NEW_PARTITION,
    NON_EXISTENT_PARTITION,
)
from tidegauge.controller.partitions.replica_state_machine import (
    NON_EXISTENT_REPLICA,
    OFFLINE_REPLICA,
    REPLICA_DELETION_INELIGIBLE,
    REPLICA_DELETION_STARTED,
    REPLICA_DELETION_SUCCESSFUL,
)
from tidegauge.controller.partitions.replica_states import enter_replica_state, set_aside
from tidegauge.controller.partitions.request_batch import (
    add_stop_replica_request,
    add_update_metadata_request,
    send_requests_to_brokers,
)
from tidegauge.controller.state.control_plane import (
    Controller,
    ControlPlane,
    broker_at,
    partition_at,
    replica_at,
    topic_at,
)
from tidegauge.controller.state.zookeeper_requests import issue, issue_read, new_request
from tidegauge.replication import errors
from tidegauge.replication.replica_list import contains
from tidegauge.simulation.controller_events import PREFERRED_ELECTION, TOPIC_DELETION_ASKED_FOR
from tidegauge.simulation.kernel import NONE, Event, Kernel
from tidegauge.simulation.kinds import ZK_CHILDREN, ZK_DELETE
from tidegauge.simulation.row_kinds import TOPIC_DELETED, TOPIC_DELETION_BEGUN
from tidegauge.simulation.rows import new_row, write_canonical
from tidegauge.simulation.topology import (
    Topology,
    controller_process,
    delete_topics_znode,
    row_of,
    state_znode,
    topic_deletion_znode,
    topic_znode,
)

# Phases. What begins with the znodes lists them first.
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
def is_any_topic_deleted(topology: Topology, plane: ControlPlane, controller: int) -> bool:
    """Whether any topic is to be deleted, as far as a controller knows."""
    for topic in range(topology.sizes[0].topics):
        if topic_at(topology, plane, controller, topic).deleted:
            return True
    return False


@inner_rule
def resume_deletion(topology: Topology, plane: ControlPlane, controller: int, topic: int) -> None:
    """What a deletion has waited for may be over.

    Source: TopicDeletionManager.resumeDeletionForTopics@2.6.3.
    """
    topic_at(topology, plane, controller, topic).ineligible = False


@inner_rule
def note_listed_deletions(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, answer: Event
) -> None:
    """Take which topics are to be deleted; of one that is not there the request is deleted.

    Source: KafkaController.processTopicDeletion and fetchTopicDeletionsInProgress@2.6.3.
    """
    cursor = answer.first_item
    while cursor != NONE:
        topic = kernel.items[cursor].partition
        cursor = kernel.items[cursor].next
        known = topic_at(topology, plane, controller, topic)
        known.deleted = False
        for partition in range(topology.sizes[0].partitions):
            of_topic = partition_at(topology, plane, controller, partition)
            if topology.partitions[partition].topic == topic and of_topic.known:
                known.deleted = True
                known.ineligible = known.ineligible or of_topic.reassigned
        if not known.deleted:
            znode = topic_deletion_znode(topology, topic)
            request = new_request(kernel, topology, plane, controller, ZK_DELETE, znode)
            issue(kernel, plane, controller, request)


@inner_rule
def note_deleted_replicas(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, request: Event
) -> None:
    """A broker has answered a StopReplica that deletes; ``request`` has its error.

    Source: KafkaController.processTopicDeletionStopReplicaResponseReceived@2.6.3.
    """
    cursor = request.first_item
    while cursor != NONE:
        item = kernel.items[cursor]
        cursor = item.next
        topic = topology.partitions[item.partition].topic
        row = row_of(topology, item.partition, request.destination)
        if not item.deletes or not topic_at(topology, plane, controller, topic).deleted:
            continue
        if request.error == errors.NONE:
            enter_replica_state(topology, plane, controller, row, REPLICA_DELETION_SUCCESSFUL)
        else:
            set_aside(topology, plane, controller, row)


@inner_rule
def advance_topic_deletion(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int
) -> None:
    """One phase of an event that deletes topics, or looks whether it can go on."""
    state = plane.controllers[controller]
    phase = state.phase
    state.phase += 1
    if phase == _LIST and state.event == TOPIC_DELETION_ASKED_FOR:
        znode = delete_topics_znode(topology)
        issue_read(kernel, topology, plane, controller, ZK_CHILDREN, znode, _TRUE)
    elif phase <= _LISTED:
        state.deleting = NONE
        state.phase = _CHOOSE
    elif phase == _CHOOSE:
        _choose(topology, plane, controller)
    elif phase == _RETRY:
        _retry(kernel, topology, plane, controller)
    elif phase == _BEGIN:
        _begin(kernel, topology, plane, controller)
    elif phase == _TAKE_OFFLINE:
        _take_offline(kernel, topology, plane, controller)
    elif phase == _DELETE:
        _delete_logs(kernel, topology, plane, controller)
        state.phase = _CHOOSE
    elif phase == _DELETE_ZNODES:
        _delete_znodes(kernel, topology, plane, controller)
    else:
        _forget(kernel, topology, plane, controller)
        state.phase = _CHOOSE


@inner_rule
def _choose(topology: Topology, plane: ControlPlane, controller: int) -> None:
    """Go to the next topic that is to be deleted, and to what can be done for it."""
    state = plane.controllers[controller]
    state.deleting += 1
    state.deleting_broker = 0
    state.phase = _CHOOSE
    if state.deleting == topology.sizes[0].topics:
        _end(state)
        return
    known = topic_at(topology, plane, controller, state.deleting)
    if not known.deleted:
        return
    started = _count(topology, plane, controller, REPLICA_DELETION_STARTED)
    failed = _count(topology, plane, controller, REPLICA_DELETION_INELIGIBLE)
    if _count(topology, plane, controller, REPLICA_DELETION_SUCCESSFUL) == (
        _count_replicas(topology, plane, controller)
    ):
        state.phase = _DELETE_ZNODES
    elif started == 0 and failed > 0:
        state.phase = _RETRY
    elif started == 0 and not known.ineligible:
        state.phase = _BEGIN


@inner_rule
def _end(state: Controller) -> None:
    state.event = NONE
    state.deleting = NONE
    if state.election_pending:
        # It was asked for when this controller took over.
        state.election_pending = False
        state.event = PREFERRED_ELECTION
        state.phase = 0


@inner_rule
def _is_of_topic(topology: Topology, plane: ControlPlane, controller: int, row: int) -> bool:
    """Whether a row is a replica of the topic that is being deleted."""
    partition = topology.slots[row].partition
    known = partition_at(topology, plane, controller, partition)
    slot = row - topology.partitions[partition].first_slot
    is_topic = topology.partitions[partition].topic == plane.controllers[controller].deleting
    return is_topic and known.known and contains(known.replicas, slot)


@inner_rule
def _count(topology: Topology, plane: ControlPlane, controller: int, replica_state: int) -> int:
    count = 0
    for row in range(len(topology.slots)):
        if _is_of_topic(topology, plane, controller, row):
            known = replica_at(topology, plane, controller, row)
            count += 1 if known.state == replica_state else 0
    return count


@inner_rule
def _count_replicas(topology: Topology, plane: ControlPlane, controller: int) -> int:
    count = 0
    for row in range(len(topology.slots)):
        count += 1 if _is_of_topic(topology, plane, controller, row) else 0
    return count


@inner_rule
def _is_online(topology: Topology, plane: ControlPlane, controller: int, row: int) -> bool:
    """Source: ControllerContext.isReplicaOnline@2.6.3."""
    partition = topology.slots[row].partition
    known = broker_at(topology, plane, controller, topology.slots[row].broker)
    slot = row - topology.partitions[partition].first_slot
    is_usable = has_directory(topology, plane, controller, partition, slot)
    return known.alive and not known.shutting_down and is_usable


@inner_rule
def _retry(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    """Take what was set aside out of the ISR, broker by broker; then it may begin anew.

    Source: TopicDeletionManager.retryDeletionForIneligibleReplicas@2.6.3.
    """
    state = plane.controllers[controller]
    if state.deleting_broker < topology.sizes[0].brokers:
        broker = state.deleting_broker
        state.deleting_broker += 1
        state.phase = _RETRY
        for row in range(len(topology.slots)):
            was = replica_at(topology, plane, controller, row).state
            is_set_aside = was == REPLICA_DELETION_INELIGIBLE
            if is_set_aside and _is_here(topology, plane, controller, row, broker):
                _stop(kernel, topology, plane, controller, row)
        return
    send_requests_to_brokers(kernel, topology, plane, controller)
    state.removing = NONE
    state.deleting_broker = 0
    known = topic_at(topology, plane, controller, state.deleting)
    state.phase = _CHOOSE if known.ineligible else _BEGIN


@inner_rule
def _is_here(
    topology: Topology, plane: ControlPlane, controller: int, row: int, broker: int
) -> bool:
    is_there = topology.slots[row].broker == broker
    return is_there and _is_of_topic(topology, plane, controller, row)


@inner_rule
def _stop(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, row: int
) -> None:
    """Let a replica fetch no more, and take it out of the ISR."""
    partition = topology.slots[row].partition
    broker = topology.slots[row].broker
    if not enter_replica_state(topology, plane, controller, row, OFFLINE_REPLICA):
        return
    if broker_at(topology, plane, controller, broker).alive:
        add_stop_replica_request(kernel, topology, plane, controller, partition, broker, _FALSE)
    if partition_at(topology, plane, controller, partition).has_state:
        remove_from_isr(kernel, topology, plane, controller, partition, broker)


@inner_rule
def _begin(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    """Nobody leads its partitions any more; replicas on dead brokers are set aside.

    Source: TopicDeletionManager.onTopicDeletion and onPartitionDeletion@2.6.3.
    """
    topic = plane.controllers[controller].deleting
    known = topic_at(topology, plane, controller, topic)
    if not known.deletion_started:
        known.deletion_started = True
        written = new_row(kernel, controller_process(topology, controller), TOPIC_DELETION_BEGUN)
        written.values[0] = topic
        write_canonical(kernel, written)
    for partition in range(topology.sizes[0].partitions):
        of_topic = partition_at(topology, plane, controller, partition)
        if topology.partitions[partition].topic == topic and of_topic.known:
            of_topic.state = NON_EXISTENT_PARTITION
            add_update_metadata_request(topology, plane, controller, partition)
    send_requests_to_brokers(kernel, topology, plane, controller)
    for row in range(len(topology.slots)):
        is_dead = not _is_online(topology, plane, controller, row)
        if is_dead and _is_of_topic(topology, plane, controller, row):
            set_aside(topology, plane, controller, row)


@inner_rule
def _take_offline(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    """Stop the replicas of one broker after the other."""
    state = plane.controllers[controller]
    broker = state.deleting_broker
    if broker == topology.sizes[0].brokers:
        send_requests_to_brokers(kernel, topology, plane, controller)
        state.removing = NONE
        return
    state.deleting_broker += 1
    state.phase = _TAKE_OFFLINE
    for row in range(len(topology.slots)):
        is_deleted = replica_at(topology, plane, controller, row).state == (
            REPLICA_DELETION_SUCCESSFUL
        )
        is_online = _is_online(topology, plane, controller, row)
        if is_online and not is_deleted and _is_here(topology, plane, controller, row, broker):
            _stop(kernel, topology, plane, controller, row)


@inner_rule
def _delete_logs(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    for row in range(len(topology.slots)):
        broker = topology.slots[row].broker
        is_online = _is_online(topology, plane, controller, row)
        if is_online and _is_of_topic(topology, plane, controller, row):
            partition = topology.slots[row].partition
            if enter_replica_state(topology, plane, controller, row, REPLICA_DELETION_STARTED):
                add_stop_replica_request(
                    kernel, topology, plane, controller, partition, broker, _TRUE
                )
    send_requests_to_brokers(kernel, topology, plane, controller)


@inner_rule
def _delete_znodes(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int
) -> None:
    """Delete the states, the topic, and the request to delete it.

    Source: TopicDeletionManager.completeDeleteTopic, ControllerDeletionClient.deleteTopic@2.6.3.
    """
    topic = plane.controllers[controller].deleting
    for partition in range(topology.sizes[0].partitions):
        known = partition_at(topology, plane, controller, partition)
        if topology.partitions[partition].topic == topic and known.has_state:
            znode = state_znode(topology, partition)
            request = new_request(kernel, topology, plane, controller, ZK_DELETE, znode)
            issue(kernel, plane, controller, request)
    for znode in (topic_znode(topology, topic), topic_deletion_znode(topology, topic)):
        request = new_request(kernel, topology, plane, controller, ZK_DELETE, znode)
        issue(kernel, plane, controller, request)


@inner_rule
def _forget(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    """There is no such topic any more.

    Source: ControllerContext.removeTopic@2.6.3.
    """
    topic = plane.controllers[controller].deleting
    for row in range(len(topology.slots)):
        if topology.partitions[topology.slots[row].partition].topic == topic:
            replica_at(topology, plane, controller, row).state = NON_EXISTENT_REPLICA
    for partition in range(topology.sizes[0].partitions):
        if topology.partitions[partition].topic == topic:
            of_topic = partition_at(topology, plane, controller, partition)
            of_topic.known = False
            of_topic.has_state = False
            of_topic.state = NEW_PARTITION
    known = topic_at(topology, plane, controller, topic)
    known.deleted = False
    known.ineligible = False
    known.deletion_started = False
    written = new_row(kernel, controller_process(topology, controller), TOPIC_DELETED)
    written.values[0] = topic
    write_canonical(kernel, written)
