"""A controller's work when log directories of brokers have failed (KIP-112).

The broker has written a child of /log_dir_event_notification, which has only its id. The controller
sends it a LeaderAndIsr of all its replicas, and the broker answers KAFKA_STORAGE_ERROR for those
that are offline. That answer is an event of its own: partitions that were led there get other
leaders, and the replicas leave the ISRs that they are in. An offline replica stays so until the
broker registers again. A new controller sends all replicas their roles anyway and so gets the
offline ones; it deletes existing children unread.

Only answers that name replicas become events here; in Kafka all do.

Source: KafkaController.processLogDirEventNotification, onBrokerLogDirFailure,
processLeaderAndIsrResponseReceived and onReplicasBecomeOffline@2.6.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.partitions import partition_changes
from tidegauge.controller.partitions.channels import (
    add_leader_and_isr_request,
    send_requests_to_brokers,
    send_update_metadata_request,
)
from tidegauge.controller.partitions.replica_state_machine import OFFLINE_REPLICA
from tidegauge.controller.partitions.replica_states import (
    bring_replica_online,
    enter_replica_state,
    set_aside,
)
from tidegauge.controller.state import control_plane
from tidegauge.controller.state.assignments import is_assigned, issue_children, issue_for_children
from tidegauge.replication.replica_list import contains
from tidegauge.simulation.events import items_of
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_requests import ControlResponse
from tidegauge.simulation.messages.event import PartitionData
from tidegauge.simulation.topology import row_of
from tidegauge.simulation.trace_rows.controller_rows import LogDirEventRead, ReplicaFoundOffline
from tidegauge.simulation.zookeeper_tree import directories_fail, log_dir_events_znode

# Phases of LOG_DIR_CHANGE.
_LIST = code(0)
_READ = code(1)
_TELL = code(2)

# Phases of LEADER_AND_ISR_RESPONSE.
_ELECT = code(0)
_ELECTED = code(1)
_REMOVE = code(2)

# ControllerReplica.directory_offline
_ONLINE = code(0)
_OFFLINE = code(1)
_FOUND_NOW = code(2)

_READ_THEM = code(False)
_DELETE_THEM = code(True)


@inner_rule
def watch_log_dir_events(world: control_plane.ControlPlane, controller: int) -> None:
    """List brokers' notifications of failed directories, and watch them, if any ever fails."""
    if directories_fail(world):
        znode = log_dir_events_znode(world)
        issue_children(world, controller, znode)


@inner_rule
def advance_log_dir_change(world: control_plane.ControlPlane, controller: int) -> None:
    """One phase of a log directory's failure: list, read, ask the brokers, delete.

    Source: KafkaController.processLogDirEventNotification@2.6.0.
    """
    state = world.controllers[controller]
    phase = state.phase
    state.phase += 1
    if phase == _LIST:
        watch_log_dir_events(world, controller)
    elif phase == _READ:
        issue_for_children(world, controller, state.log_dir_listing, _READ_THEM)
    elif phase == _TELL:
        for broker in range(world.sizes[0].brokers):
            known = control_plane.broker_at(world, controller, broker)
            if known.log_dir_failed:
                known.log_dir_failed = False
                _tell_all_replicas(world, controller, broker)
        send_requests_to_brokers(world, controller)
        issue_for_children(world, controller, state.log_dir_listing, _DELETE_THEM)
    else:
        state.event = NONE


@inner_rule
def note_log_dir_event(world: control_plane.ControlPlane, controller: int, broker: int) -> None:
    """It is read of which broker a directory has failed."""
    control_plane.broker_at(world, controller, broker).log_dir_failed = True
    LogDirEventRead.write(world, broker=broker)


@inner_rule
def _tell_all_replicas(world: control_plane.ControlPlane, controller: int, broker: int) -> None:
    """Source: KafkaController.onBrokerLogDirFailure@2.6.0."""
    if not control_plane.broker_at(world, controller, broker).alive:
        return
    for row in range(len(world.slots)):
        partition = world.slots[row].partition
        slot = row - world.partitions[partition].first_slot
        if world.slots[row].broker != broker or not (
            control_plane.partition_at(world, controller, partition).known
            and is_assigned(world, controller, partition, slot)
        ):
            continue
        is_online = bring_replica_online(world, controller, row)
        if is_online and control_plane.partition_at(world, controller, partition).has_state:
            add_leader_and_isr_request(world, controller, partition, broker)


@inner_rule
def note_offline_replicas(
    world: control_plane.ControlPlane, controller: int, response: ControlResponse
) -> None:
    """Take the offline replicas from a broker's response to a LeaderAndIsr."""
    for item in items_of(world, response, PartitionData):
        row = row_of(world, item.partition, response.broker_id)
        replica = control_plane.replica_at(world, controller, row)
        if replica.directory_offline == _ONLINE:
            replica.directory_offline = _FOUND_NOW
            ReplicaFoundOffline.write(world, partition=item.partition, replica=response.broker_id)


@inner_rule
def forget_offline_replicas(
    world: control_plane.ControlPlane, controller: int, broker: int
) -> None:
    """A broker has come or is gone: the state of its log directories is void.

    Source: KafkaController.onBrokerStartup and onBrokerFailure@2.6.0 (replicasOnOfflineDirs).
    """
    if not directories_fail(world):
        return
    for row in range(len(world.slots)):
        if world.slots[row].broker == broker:
            control_plane.replica_at(world, controller, row).directory_offline = _ONLINE


@inner_rule
def advance_offline_replicas(world: control_plane.ControlPlane, controller: int) -> None:
    """One phase of replicas that are found offline: elect, then take them out of the ISRs.

    Source: KafkaController.onReplicasBecomeOffline@2.6.0.
    """
    state = world.controllers[controller]
    phase = state.phase
    state.phase += 1
    if phase == _ELECT:
        if not _any_found(world, controller):
            state.event = NONE
            return
        state.leaders_lost = _take_partitions_offline(world, controller)
        partition_changes.bring_online(world, controller, NONE)
    elif phase == _ELECTED:
        send_requests_to_brokers(world, controller)
    elif phase == _REMOVE:
        for row in range(len(world.slots)):
            _take_offline(world, controller, row)
    else:
        send_requests_to_brokers(world, controller)
        if not state.leaders_lost:
            send_update_metadata_request(world, controller)
        state.event = NONE


@inner_rule
def _any_found(world: control_plane.ControlPlane, controller: int) -> bool:
    for row in range(len(world.slots)):
        if control_plane.replica_at(world, controller, row).directory_offline == _FOUND_NOW:
            return True
    return False


@inner_rule
def _take_partitions_offline(world: control_plane.ControlPlane, controller: int) -> bool:
    """Find the partitions whose leader is not online; whether there are any."""
    found = False
    for partition in range(world.sizes[0].partitions):
        known = control_plane.partition_at(world, controller, partition)
        if not known.has_state or control_plane.is_deleted(world, controller, partition):
            continue
        leader = control_plane.state_at(world, controller, partition).leader
        online = partition_changes.live_replicas(world, controller, partition)
        if not contains(online, leader):
            found = True
            if partition_changes.may_enter(known.state, partition_changes.OFFLINE_PARTITION):
                known.state = partition_changes.OFFLINE_PARTITION
    return found


@inner_rule
def _take_offline(world: control_plane.ControlPlane, controller: int, row: int) -> None:
    replica = control_plane.replica_at(world, controller, row)
    if replica.directory_offline != _FOUND_NOW:
        return
    replica.directory_offline = _OFFLINE
    partition = world.slots[row].partition
    if control_plane.is_deleted(world, controller, partition):
        set_aside(world, controller, row)
    elif enter_replica_state(world, controller, row, OFFLINE_REPLICA) and (
        control_plane.partition_at(world, controller, partition).has_state
    ):
        broker = world.slots[row].broker
        partition_changes.remove_from_isr(world, controller, partition, broker)
