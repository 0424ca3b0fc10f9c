"""ISR changes of leaders at the controller: AlterPartition, and isr_change_notifications.

One AlterPartition names partitions of one leader (KIP-497). Those that pass by the controller's own
state (``partitions/leader_and_isr.py``) are written to ZooKeeper, all in one go, each on the
condition that its state still has the leader's version. Leader and leader epoch stay; the
controller epoch is that of this controller. The written state is read back, all brokers get an
update of every requested partition, and the leader gets a response for each.

A notification is a child of /isr_change_notification. The controller reads the children and the
states of all partitions that they name, sends them to every live broker and deletes the children.
Leaders and epochs do not change, and no replica gets a LeaderAndIsr: it is for brokers' metadata.
The watch fires for the deletion, too: that event finds nothing, and sends no request.

Source: KafkaController.processAlterIsr@2.7.0, tryProcessAlterPartition@3.3.0 and @3.8.0.
"""

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.partitions.channels import (
    add_update_metadata_request,
    send_requests_to_brokers,
)
from tidegauge.controller.partitions.leader_and_isr import (
    alter_partition_error,
    equals_but_for_version,
)
from tidegauge.controller.partitions.partition_changes import live_replicas, read_state, write_state
from tidegauge.controller.state.assignments import (
    issue_children,
    issue_for_children,
    note_isr_change,
)
from tidegauge.controller.state.control_plane import (
    Controller,
    ControlPlane,
    broker_at,
    partition_at,
    state_at,
)
from tidegauge.replication import errors
from tidegauge.replication.isr_update import version_to_write_over
from tidegauge.simulation.events import free_event, items_of, new_item, new_response
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.controller_requests import (
    AlterPartitionData,
    AlterPartitionRequest,
    AlterPartitionResponse,
)
from tidegauge.simulation.messages.event import PartitionData
from tidegauge.simulation.messages.zookeeper_requests import Child, ZkResponse
from tidegauge.simulation.topology import broker_of
from tidegauge.simulation.trace_rows.codes import OK, REASSIGNMENT_ISR_CHANGE
from tidegauge.simulation.trace_rows.controller_rows import IsrAltered, NotificationRead
from tidegauge.simulation.zookeeper_tree import NOTIFICATIONS_ZNODE, state_znode

# Phases.
_WRITE = code(0)
_READ_BACK = code(1)


@inner_rule
def advance_alter_partition(world: ControlPlane, controller: int) -> None:
    """One phase of an AlterPartition."""
    state = world.controllers[controller]
    request = view_as(world.events[state.request], AlterPartitionRequest)
    phase = state.phase
    state.phase += 1
    if phase == _WRITE:
        request.error = _request_error(world, controller, request)
        if request.error == errors.NONE:
            _write_all(world, controller, request)
            return
    elif phase == _READ_BACK:
        _read_back(world, controller, request)
        return
    else:
        _tell_all(world, controller, request)
    state.request = NONE
    state.event = NONE
    if _note_moves(world, controller, request):
        state.event = REASSIGNMENT_ISR_CHANGE
        state.phase = 0
    answer_alter_partition(world, request, request.error)


@inner_rule
def _note_moves(world: ControlPlane, controller: int, request: AlterPartitionRequest) -> bool:
    """An ISR that has grown can end the reassignment of its partition.

    Source: KafkaController.processAlterIsr and maybeCompleteReassignment@2.7.0.
    """
    if request.error != errors.NONE:
        return False
    for item in items_of(world, request, AlterPartitionData):
        if item.error == errors.NONE:
            note_isr_change(world, controller, state_znode(world, item.partition))
    return world.controllers[controller].first_move != NONE


@inner_rule
def _request_error(world: ControlPlane, controller: int, request: AlterPartitionRequest) -> int:
    """Why the request as a whole is refused, if it is."""
    if not world.controllers[controller].active:
        return errors.NOT_CONTROLLER
    known = broker_at(world, controller, request.broker_id)
    if not known.alive or known.broker_epoch != request.broker_epoch:
        return errors.STALE_BROKER_EPOCH
    return errors.NONE


@inner_rule
def _write_all(world: ControlPlane, controller: int, request: AlterPartitionRequest) -> None:
    """Write the proposals that pass; these entries are marked."""
    for item in items_of(world, request, AlterPartitionData):
        if partition_at(world, controller, item.partition).has_state:
            _write_if_it_passes(world, controller, request.broker_id, item)
        else:
            item.error = errors.UNKNOWN_TOPIC_OR_PARTITION
    # ZooKeeper answers in the order of the writes.
    request.cursor = request.first_item


@inner_rule
def _write_if_it_passes(
    world: ControlPlane,
    controller: int,
    broker: int,
    item: AlterPartitionData,
) -> None:
    current = state_at(world, controller, item.partition)
    proposal = world.proposal[0]
    proposal.leader = item.leader
    proposal.leader_epoch = item.leader_epoch
    proposal.isr = item.isr
    proposal.partition_epoch = item.partition_epoch
    live = live_replicas(world, controller, item.partition)
    item.error = alter_partition_error(world.rules[controller], current, proposal, live)
    if item.error == errors.INELIGIBLE_REPLICA and not _knows_ineligible(world, broker):
        item.error = errors.OPERATION_NOT_ATTEMPTED
    if item.error != errors.NONE:
        return
    if equals_but_for_version(current, proposal):
        item.partition_epoch = current.partition_epoch
    else:
        item.is_written = True
        proposal.partition_epoch = version_to_write_over(
            world.rules[controller], proposal.partition_epoch
        )
        write_state(world, controller, item.partition)


@inner_rule
def _knows_ineligible(world: ControlPlane, broker: int) -> bool:
    """Whether a leader asks in a version of the request that has INELIGIBLE_REPLICA: 3.3+."""
    return world.rules[broker].isr_update_reverts_if_ineligible


@inner_rule
def take_altered_state(world: ControlPlane, controller: int, response: ZkResponse) -> None:
    """Take ZooKeeper's response to one write."""
    request = world.events[world.controllers[controller].request]
    while world.items[request.cursor].partition != response.partition:
        request.cursor = world.items[request.cursor].next
    item = view_as(world.items[request.cursor], AlterPartitionData)
    if response.error == OK:
        item.partition_epoch = response.version
    else:
        item.error = errors.INVALID_UPDATE_VERSION


@inner_rule
def fail_what_is_written(world: Kernel, state: Controller, request: AlterPartitionRequest) -> None:
    """The session is gone, and with it the pending and the finished writes, and those to come.

    Source: KafkaZkClient.updateLeaderAndIsr@2.7.0.
    """
    is_begun = state.phase > _WRITE
    for item in items_of(world, request, AlterPartitionData):
        if item.is_written or not is_begun:
            item.error = errors.UNKNOWN_SERVER_ERROR


@inner_rule
def _read_back(world: ControlPlane, controller: int, request: AlterPartitionRequest) -> None:
    """Read the written states back from ZooKeeper.

    Source: KafkaController.updateLeaderAndIsrCache@2.7.0.
    """
    for item in items_of(world, request, AlterPartitionData):
        if item.is_written and item.error == errors.NONE:
            read_state(world, controller, item.partition)


@inner_rule
def _tell_all(world: ControlPlane, controller: int, request: AlterPartitionRequest) -> None:
    """Send all brokers every partition that the request names, whatever the outcome."""
    for item in items_of(world, request, AlterPartitionData):
        add_update_metadata_request(world, controller, item.partition)
        IsrAltered.write(
            world,
            item,
            leader=broker_of(world, item.partition, item.leader),
            version=item.partition_epoch,
        )
    send_requests_to_brokers(world, controller)


@inner_rule
def answer_alter_partition(world: Kernel, request: AlterPartitionRequest, error: int) -> None:
    """Send the leader the outcome of each partition, or one error for all."""
    response = new_response(world, request, AlterPartitionResponse, error=error)
    for item in items_of(world, request, AlterPartitionData):
        if error != errors.NONE:
            break
        told = new_item(world, response, item.partition, AlterPartitionData)
        told.error = item.error
        told.leader = item.leader
        told.leader_epoch = item.leader_epoch
        told.isr = item.isr
        told.partition_epoch = item.partition_epoch
    send(world, response, world.context[0].time_us)
    free_event(world, request)


# Phases.
_LIST = code(0)
_READ = code(1)
_READ_STATES = code(2)
_TELL = code(3)

_READ_THEM = code(False)
_DELETE_THEM = code(True)


@inner_rule
def advance_isr_change(world: ControlPlane, controller: int) -> None:
    """One phase of an ISR change.

    Source: KafkaController.processIsrChangeNotification@2.4.0, IsrChangeNotification@1.0.0.
    """
    state = world.controllers[controller]
    phase = state.phase
    state.phase += 1
    if phase == _LIST:
        # Up to 1.0 the event has brought the list of children with it.
        if state.listing == NONE:
            issue_children(world, controller, NOTIFICATIONS_ZNODE)
    elif phase == _READ:
        issue_for_children(world, controller, state.listing, _READ_THEM)
    elif phase == _READ_STATES:
        _read_states(world, controller)
    elif phase == _TELL:
        send_requests_to_brokers(world, controller)
        issue_for_children(world, controller, state.listing, _DELETE_THEM)
    else:
        state.event = NONE


@inner_rule
def note_notification(world: ControlPlane, controller: int, response: ZkResponse) -> None:
    """Take the content of a notification: the partitions whose ISRs have changed."""
    for item in items_of(world, response, PartitionData):
        add_update_metadata_request(world, controller, item.partition)
    for child in items_of(world, world.events[world.controllers[controller].listing], Child):
        if child.znode == response.znode:
            child.was_read = True


@inner_rule
def _read_states(world: ControlPlane, controller: int) -> None:
    """Read the states of all partitions that the notifications name."""
    count = 0
    partition = world.controllers[controller].first_touched
    while partition != NONE:
        count += 1
        read_state(world, controller, partition)
        partition = partition_at(world, controller, partition).next_touched
    for child in items_of(world, world.events[world.controllers[controller].listing], Child):
        if child.was_read:
            NotificationRead.write(world, notification=child.sequence_number, partition_count=count)
