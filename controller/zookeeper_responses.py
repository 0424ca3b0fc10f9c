"""Responses of ZooKeeper to a controller: lists and contents become its state."""

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.event_queue import enqueue, forget_listing, go_on
from tidegauge.controller.events.alter_partition import note_notification, take_altered_state
from tidegauge.controller.events.log_dir_changes import note_log_dir_event
from tidegauge.controller.events.preferred_elections import note_preferred_election
from tidegauge.controller.events.topic_changes import take_requested_moves
from tidegauge.controller.events.topic_deletions import note_listed_deletions
from tidegauge.controller.partitions.partition_changes import take_state_answer
from tidegauge.controller.state.assignments import ENQUEUE, issue_next, know_assignment
from tidegauge.controller.state.control_plane import ControlPlane, broker_at, partition_at
from tidegauge.controller.state.handlers import CONTROLLER
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation import zookeeper_tree
from tidegauge.simulation.events import items_of
from tidegauge.simulation.messages import zookeeper_requests
from tidegauge.simulation.trace_rows import codes
from tidegauge.simulation.trace_rows.codes import ALTER_PARTITION as ALTER


@CONTROLLER.handles(zookeeper_requests.ZkResponse)
@inner_rule
def handle_zookeeper_response(world: ControlPlane, response: zookeeper_requests.ZkResponse) -> bool:
    """Take a response of ZooKeeper; the last of a phase lets the event go on.

    Source: ZooKeeperClient.handleRequests@2.6.3.
    """
    controller = world.processes[response.destination].number
    state = world.controllers[controller]
    if response.correlation_id != state.generation or response.error == codes.SESSION_EXPIRED:
        return False
    if response.continuation == ENQUEUE:
        enqueue(world, controller, response, codes.ISR_CHANGE)
        return True
    state.pending -= 1
    state.answers += 1
    state.answer_error = response.error
    state.answer_version = response.version
    state.answer_broker = response.owner
    if response.error == codes.CONTROLLER_MOVED:
        state.moved = True
    issue_next(world, controller)
    is_kept = _take_content(world, controller, response)
    go_on(world, controller)
    return is_kept


@inner_rule
def _take_content(
    world: ControlPlane, controller: int, response: zookeeper_requests.ZkResponse
) -> bool:
    """Take the content of a read, or the outcome of a write; whether the response is kept."""
    state = world.controllers[controller]
    lists_children = response.operation == zookeeper_requests.ZkChildrenRequest.KIND
    if zookeeper_tree.is_in(world, zookeeper_tree.LOG_DIR_EVENTS, response.znode):
        state.log_dir_listing = response.index
        return True
    if response.operation == zookeeper_requests.ZkSetRequest.KIND and state.event == ALTER:
        take_altered_state(world, controller, response)
    elif response.partition != UNDEFINED:
        take_state_answer(world, controller, response)
    elif lists_children and response.znode == zookeeper_tree.NOTIFICATIONS_ZNODE:
        forget_listing(world, state)
        state.listing = response.index
        return True
    elif lists_children:
        _note_listed(world, controller, response)
    elif response.item_count > 0:
        _note_content(world, controller, response)
    return False


@inner_rule
def _note_listed(
    world: ControlPlane, controller: int, response: zookeeper_requests.ZkResponse
) -> None:
    if response.znode == zookeeper_tree.BROKER_IDS_ZNODE:
        _note_listed_brokers(world, controller, response)
    elif response.znode == zookeeper_tree.TOPICS_ZNODE:
        _note_listed_topics(world, controller, response)
    else:
        note_listed_deletions(world, controller, response)


@inner_rule
def _note_listed_brokers(
    world: ControlPlane, controller: int, response: zookeeper_requests.ZkResponse
) -> None:
    for child in items_of(world, response, zookeeper_requests.Child):
        known = broker_at(
            world, controller, zookeeper_tree.place_in(world, zookeeper_tree.BROKERS, child.znode)
        )
        known.listed_epoch = child.created_zxid
        known.listed_row = child.row_sequence


@inner_rule
def _note_listed_topics(
    world: ControlPlane, controller: int, response: zookeeper_requests.ZkResponse
) -> None:
    """Enter the partitions of all listed topics; those not known before are new."""
    for listed in items_of(world, response, zookeeper_requests.TopicPartition):
        known = partition_at(world, controller, listed.partition)
        if not known.known:
            know_assignment(known, listed)


@inner_rule
def _note_content(
    world: ControlPlane, controller: int, response: zookeeper_requests.ZkResponse
) -> None:
    """Take a znode's content: the controller epoch, or the partitions of a notification."""
    state = world.controllers[controller]
    if state.event == codes.ELECT:
        data = view_as(world.items[response.first_item], zookeeper_requests.ZnodeData)
        state.answer_epoch = data.controller_epoch
        return
    if state.event == codes.PREFERRED_ELECTION:
        note_preferred_election(world, controller, response)
        return
    if state.event in codes.REASSIGNMENTS:
        take_requested_moves(world, controller, response)
        return
    if state.event == codes.LOG_DIR_CHANGE:
        note_log_dir_event(world, controller, response.owner)
        return
    note_notification(world, controller, response)
