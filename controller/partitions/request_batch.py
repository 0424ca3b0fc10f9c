"""What a controller has to tell brokers, gathered and then sent (``ControllerBrokerRequestBatch``).

The changes of one step make one LeaderAndIsr for each broker with replicas among them, one
UpdateMetadata for every live broker, and one StopReplica for each broker of which replicas are
to stop; they are sent in this order. What an UpdateMetadata says is written down once for all
brokers (``simulation/metadata_log.py``).

Source: ControllerBrokerRequestBatch.sendRequestsToBrokers@0.10.2.0 and @2.4.0.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.partitions.channels import queue_request
from tidegauge.controller.partitions.elections import CONTROLLED_SHUTDOWN
from tidegauge.controller.partitions.replica_state_machine import NEW_REPLICA
from tidegauge.controller.state.assignments import is_assigned
from tidegauge.controller.state.control_plane import (
    ControlPlane,
    broker_at,
    is_deleted,
    partition_at,
    replica_at,
    state_at,
)
from tidegauge.replication.controller_requests import EPOCH_DURING_DELETE
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.codes.controller_events import BROKER_CHANGE
from tidegauge.simulation.events import new_event, new_item
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_requests import (
    ControlRequest,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from tidegauge.simulation.metadata_log import broker_subject, log_change
from tidegauge.simulation.topology import broker_of, controller_process, row_of, zookeeper_process


@inner_rule
def add_update_metadata_request(world: ControlPlane, controller: int, partition: int) -> None:
    """Put a partition into the next UpdateMetadata.

    Source: ControllerBrokerRequestBatch.addUpdateMetadataRequestForBrokers@2.4.0.
    """
    known = partition_at(world, controller, partition)
    if known.touched:
        return
    state = world.controllers[controller]
    known.touched = True
    known.next_touched = NONE
    if state.last_touched == NONE:
        state.first_touched = partition
    else:
        partition_at(world, controller, state.last_touched).next_touched = partition
    state.last_touched = partition


@inner_rule
def add_leader_and_isr_request_for_replicas(
    world: ControlPlane, controller: int, partition: int
) -> None:
    """Put a partition into the LeaderAndIsr of all its live replicas.

    Not if its topic is to be deleted.

    Source: ControllerBrokerRequestBatch.addLeaderAndIsrRequestForBrokers@2.4.0.
    """
    if is_deleted(world, controller, partition):
        return
    add_update_metadata_request(world, controller, partition)
    partition_at(world, controller, partition).led_anew = True


@inner_rule
def add_leader_and_isr_request(
    world: ControlPlane,
    controller: int,
    partition: int,
    broker: int,
) -> None:
    """Put a partition into the LeaderAndIsr that is being made for a broker.

    Source: ControllerBrokerRequestBatch.addLeaderAndIsrRequestForBrokers@2.4.0.
    """
    known = broker_at(world, controller, broker)
    if known.building == NONE:
        process = controller_process(world, controller)
        request = new_event(world, process, broker, LeaderAndIsrRequest)
        _sign(world, controller, broker, request)
        known.building = request.index
    add_update_metadata_request(world, controller, partition)
    item = new_item(world, world.events[known.building], partition, LeaderAndIsrPartition)
    state = state_at(world, controller, partition)
    item.leader = state.leader
    item.leader_epoch = state.leader_epoch
    item.isr = state.isr
    item.partition_epoch = state.partition_epoch
    known_partition = partition_at(world, controller, partition)
    item.replicas = known_partition.replicas
    item.adding = known_partition.adding
    item.controller_epoch = known_partition.controller_epoch
    item.removing = known_partition.removing
    replica = replica_at(world, controller, row_of(world, partition, broker))
    item.is_new = known_partition.is_new or replica.state == NEW_REPLICA
    _tell_reason(world, controller, item, broker)


@inner_rule
def _tell_reason(
    world: ControlPlane, controller: int, item: LeaderAndIsrPartition, broker: int
) -> None:
    """Say why a replica is told: its partition's state was written, or its broker has come."""
    state = world.controllers[controller]
    item.row_process = controller_process(world, controller)
    item.row_sequence = partition_at(world, controller, item.partition).row_sequence
    if item.row_sequence == NONE and state.event == BROKER_CHANGE:
        item.row_process = zookeeper_process(world)
        item.row_sequence = broker_at(world, controller, broker).listed_row


@inner_rule
def add_stop_replica_request(
    world: ControlPlane,
    controller: int,
    partition: int,
    broker: int,
    deletes: bool,
) -> None:
    """Put a partition into the StopReplica that is being made for a broker.

    ``deletes``: its log is to be deleted, too. Who is not alive is told nothing.

    Source: ControllerBrokerRequestBatch.addStopReplicaRequestForBrokers@2.6.3.
    """
    known = broker_at(world, controller, broker)
    if known.stopping == NONE:
        process = controller_process(world, controller)
        request = new_event(world, process, broker, StopReplicaRequest)
        _sign(world, controller, broker, request)
        known.stopping = request.index
    item = new_item(world, world.events[known.stopping], partition, StopReplicaPartition)
    item.leader_epoch = state_at(world, controller, partition).leader_epoch
    if is_deleted(world, controller, partition):
        item.leader_epoch = EPOCH_DURING_DELETE
    item.deletes = deletes


@inner_rule
def _sign(world: ControlPlane, controller: int, broker: int, request: ControlRequest) -> None:
    request.controller_id = controller
    request.controller_epoch = world.controllers[controller].controller_epoch
    request.broker_epoch = broker_at(world, controller, broker).broker_epoch


@inner_rule
def send_requests_to_brokers(world: ControlPlane, controller: int) -> None:
    """Send what was gathered: LeaderAndIsr, then UpdateMetadata, then StopReplica.

    Source: ControllerBrokerRequestBatch.sendRequestsToBrokers@2.4.0.
    """
    partition = world.controllers[controller].first_touched
    anything_touched = partition != NONE
    while partition != NONE:
        known = partition_at(world, controller, partition)
        if known.led_anew:
            known.led_anew = False
            _add_to_live_replicas(world, controller, partition)
            known.is_new = False
            known.row_sequence = NONE
        partition = known.next_touched
    for broker in range(world.sizes[0].brokers):
        told = broker_at(world, controller, broker)
        if told.building != NONE:
            queue_request(world, controller, broker, told.building)
            told.building = NONE
    if anything_touched:
        send_update_metadata_request(world, controller)
    for broker in range(world.sizes[0].brokers):
        stopped = broker_at(world, controller, broker)
        if stopped.stopping != NONE:
            queue_request(world, controller, broker, stopped.stopping)
            stopped.stopping = NONE


@inner_rule
def _add_to_live_replicas(world: ControlPlane, controller: int, partition: int) -> None:
    facts = world.partitions[partition]
    removing = world.controllers[controller].removing
    elects = removing == NONE and world.controllers[controller].strategy != CONTROLLED_SHUTDOWN
    for slot in range(facts.slot_count):
        broker = world.slots[facts.first_slot + slot].broker
        known = broker_at(world, controller, broker)
        # Who is about to stop is told what was decided for that reason only.
        is_told = broker != removing and not (elects and known.shutting_down)
        is_replica = is_assigned(world, controller, partition, slot)
        if known.alive and is_told and is_replica:
            add_leader_and_isr_request(world, controller, partition, broker)


@inner_rule
def send_update_metadata_request(world: ControlPlane, controller: int) -> None:
    """Tell every live broker of the partitions that were touched, and of who is alive.

    Source: KafkaController.sendUpdateMetadataRequest@2.4.0.
    """
    _write_down(world, controller)
    process = controller_process(world, controller)
    for broker in range(world.sizes[0].brokers):
        if broker_at(world, controller, broker).alive:
            request = new_event(world, process, broker, UpdateMetadataRequest)
            _sign(world, controller, broker, request)
            request.position = world.controllers[controller].told
            request.names_all = world.controllers[controller].tells_all
            queue_request(world, controller, broker, request.index)
    world.controllers[controller].tells_all = False


@inner_rule
def _write_down(world: ControlPlane, controller: int) -> None:
    """Write down what brokers are told now."""
    state = world.controllers[controller]
    partition = state.first_touched
    while partition != NONE:
        known = partition_at(world, controller, partition)
        known.touched = False
        if known.has_state:
            current = state_at(world, controller, partition)
            leader = broker_of(world, partition, current.leader)
            if is_deleted(world, controller, partition):
                leader = UNDEFINED
            _write_change(world, controller, partition, leader, current.leader_epoch)
        partition = known.next_touched
    state.first_touched = NONE
    state.last_touched = NONE
    for broker in range(world.sizes[0].brokers):
        told = broker_at(world, controller, broker)
        alive = 1 if told.alive else 0
        if alive != told.told_alive:
            told.told_alive = alive
            subject = broker_subject(broker)
            _write_change(world, controller, subject, alive, UNDEFINED)


@inner_rule
def _write_change(
    world: ControlPlane,
    controller: int,
    subject: int,
    leader: int,
    leader_epoch: int,
) -> None:
    state = world.controllers[controller]
    state.told += 1
    log_change(world, subject, leader, leader_epoch, state.controller_epoch, state.told)
