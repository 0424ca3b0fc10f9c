"""A controller's context: taken when it becomes controller, given back when it resigns.

Becoming controller, and ceasing to be.

The broker that creates /controller first is controller. It takes the next controller epoch (from
2.1 on in the same transaction), sets its watches and reads everything. Then it sends all brokers
the list of live brokers and each replica its role, takes dead replicas out of ISRs (from 2.3 on)
and elects leaders where there is none: in this order, so that a partition whose leader died with
the controller has its leader epoch raised twice.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.events.log_dir_changes import watch_log_dir_events
from tidegauge.controller.events.preferred_elections import rebalance_later
from tidegauge.controller.partitions import partition_changes
from tidegauge.controller.partitions.channels import (
    add_leader_and_isr_request_for_replicas,
    close_channel,
    send_requests_to_brokers,
    send_update_metadata_request,
)
from tidegauge.controller.partitions.replica_state_machine import (
    NON_EXISTENT_REPLICA,
    ONLINE_REPLICA,
    REPLICA_DELETION_INELIGIBLE,
)
from tidegauge.controller.partitions.replica_states import ALL_REPLICAS, take_replicas_offline
from tidegauge.controller.state import assignments, control_plane
from tidegauge.replication.records import UNDEFINED
from tidegauge.replication.replica_list import EMPTY, contains
from tidegauge.simulation import zookeeper_tree
from tidegauge.simulation.events import free_all, new_item
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.zookeeper_requests import (
    ZkCreateRequest,
    ZkDataWrite,
    ZkSetRequest,
    ZnodeData,
)
from tidegauge.simulation.rows import CONTROLLER_FAILOVER_PARTITION, cost_us
from tidegauge.simulation.topology import broker_of, controller_process
from tidegauge.simulation.trace_rows.codes import OK, PREFERRED_ELECTION, REASSIGNMENT_ASKED_FOR
from tidegauge.simulation.trace_rows.controller_rows import ControllerElected, ControllerResigned


@inner_rule
def take_context(world: control_plane.ControlPlane, controller: int) -> None:
    """Take a context that is free; there is one, and will be one for the next."""
    taken = NONE
    for context in range(len(world.controller_contexts)):
        if world.controller_contexts[context].controller != NONE:
            continue
        if taken != NONE:
            return
        taken = context
        world.controller_contexts[context].controller = controller
        world.controllers[controller].context = context
    world.context[0].needs_room = True


@inner_rule
def give_back_context(world: control_plane.ControlPlane, controller: int) -> None:
    """Leave the context to the next controller."""
    state = world.controllers[controller]
    world.controller_contexts[state.context].controller = NONE
    state.context = NONE


@inner_rule
def forget_everything(world: control_plane.ControlPlane, controller: int) -> None:
    """Begin with an empty context."""
    sizes = world.sizes[0]
    state = world.controllers[controller]
    state.told = 0
    state.tells_all = False
    state.removing = NONE
    state.strategy = 0
    state.first_touched = NONE
    state.last_touched = NONE
    state.first_move = NONE
    state.last_move = NONE
    state.moves_refused = False
    for partition in range(sizes.partitions):
        known = control_plane.partition_at(world, controller, partition)
        known.known = False
        known.replicas = EMPTY
        known.adding = EMPTY
        known.removing = EMPTY
        known.reassigned = False
        known.moves = False
        known.move_refused = False
        known.has_state = False
        known.is_new = False
        known.state = partition_changes.NEW_PARTITION
        known.touched = False
        known.led_anew = False
        known.row_sequence = NONE
        known.selected = False
        known.is_followed = False
        known.unclean_enabled = False
    for topic in range(sizes.topics):
        known_topic = control_plane.topic_at(world, controller, topic)
        known_topic.deleted = False
        known_topic.ineligible = False
        known_topic.deletion_started = False
    for row in range(len(world.slots)):
        replica = control_plane.replica_at(world, controller, row)
        replica.state = NON_EXISTENT_REPLICA
        replica.directory_offline = 0
    for broker in range(sizes.brokers):
        known_broker = control_plane.broker_at(world, controller, broker)
        known_broker.alive = False
        known_broker.shutting_down = False
        known_broker.log_dir_failed = False
        known_broker.told_alive = NONE
        known_broker.deadline_timer = False
        known_broker.in_flight = NONE


# Phases of ELECT.
_LOOK = code(0)
_CREATE = code(1)
_READ_EPOCH = code(2)
_RAISE_EPOCH = code(3)
_TAKE_OVER = code(4)
_READ_STATES = code(5)
_TELL = code(6)
#: From here on one phase per broker: take it out of the ISRs if it is dead.
_FIRST_BROKER = code(7)

_TRUE = code(True)
_FALSE = code(False)


@inner_rule
def advance_election(world: control_plane.ControlPlane, controller: int) -> None:
    """One phase of becoming controller, or of finding out that another is.

    Source: KafkaController.processReelect and elect@2.4.0,
    KafkaZkClient.registerControllerAndIncrementControllerEpoch@2.4.0.
    """
    state = world.controllers[controller]
    phase = state.phase
    state.phase += 1
    in_one_transaction = world.rules[controller].controller_fenced_by_epoch
    if phase == _LOOK:
        assignments.issue_exists(world, controller, zookeeper_tree.CONTROLLER_ZNODE, _TRUE)
    elif phase == _CREATE:
        if state.active and (state.answer_error != OK or state.answer_broker != controller):
            resign(world, controller)
        if state.answer_error == OK:
            state.event = NONE
        elif not in_one_transaction:
            request = assignments.new_request(world, controller, ZkCreateRequest)
            assignments.issue_write(world, controller, request, zookeeper_tree.CONTROLLER_ZNODE)
    elif phase == _READ_EPOCH:
        if not in_one_transaction and state.answer_error != OK:
            state.event = NONE
            return
        state.answer_epoch = 0
        assignments.issue_get(world, controller, zookeeper_tree.CONTROLLER_EPOCH_ZNODE)
    elif phase == _RAISE_EPOCH:
        _raise_epoch(world, controller, in_one_transaction)
    else:
        _advance_failover(world, controller, phase)


@inner_rule
def _raise_epoch(
    world: control_plane.ControlPlane, controller: int, in_one_transaction: bool
) -> None:
    """Take the next controller epoch; in one transaction with /controller, or after it."""
    state = world.controllers[controller]
    state.controller_epoch = state.answer_epoch + 1
    if in_one_transaction:
        request = assignments.new_request(world, controller, ZkCreateRequest)
        _issue_epoch(world, controller, request, zookeeper_tree.CONTROLLER_ZNODE)
    elif state.answer_error != OK:
        request = assignments.new_request(world, controller, ZkCreateRequest)
        _issue_epoch(world, controller, request, zookeeper_tree.CONTROLLER_EPOCH_ZNODE)
    else:
        update = assignments.new_request(world, controller, ZkSetRequest)
        _issue_epoch(world, controller, update, zookeeper_tree.CONTROLLER_EPOCH_ZNODE)


@inner_rule
def _issue_epoch(
    world: control_plane.ControlPlane, controller: int, request: ZkDataWrite, znode: int
) -> None:
    """Write the epoch, if /controller_epoch has the version that was read, or is not there yet."""
    state = world.controllers[controller]
    request.version = state.answer_version if state.answer_error == OK else UNDEFINED
    new_item(world, request, NONE, ZnodeData, controller_epoch=state.controller_epoch)
    assignments.issue_write(world, controller, request, znode)


@inner_rule
def _advance_failover(world: control_plane.ControlPlane, controller: int, phase: int) -> None:
    """Source: KafkaController.onControllerFailover@2.4.0."""
    state = world.controllers[controller]
    brokers = world.sizes[0].brokers
    if phase == _TAKE_OVER:
        if state.answer_error != OK:
            # Somebody else was faster; the watch on /controller is set.
            state.event = NONE
            return
        _take_over(world, controller)
    elif phase == _READ_STATES:
        _read_everything(world, controller)
    elif phase == _TELL:
        # Live brokers first: brokers follow only a leader that they know as alive.
        send_update_metadata_request(world, controller)
        _start_replicas(world, controller)
        state.tells_all = True
        send_requests_to_brokers(world, controller)
    elif phase < _FIRST_BROKER + brokers:
        if world.rules[controller].failover_removes_dead_replicas:
            broker = phase - _FIRST_BROKER
            take_replicas_offline(world, controller, broker, ALL_REPLICAS)
    elif phase == _FIRST_BROKER + brokers:
        send_requests_to_brokers(world, controller)
        _start_partitions(world, controller)
        partition_changes.bring_online(world, controller, NONE)
    else:
        send_requests_to_brokers(world, controller)
        rebalance_later(world, controller, _TRUE)
        state.event = NONE
        state.phase = 0
        if zookeeper_tree.is_administered(world):
            state.event = REASSIGNMENT_ASKED_FOR
            assignments.take_up_reassignments(world, controller)
        elif state.election_pending:
            state.election_pending = False
            state.event = PREFERRED_ELECTION


@inner_rule
def _take_over(world: control_plane.ControlPlane, controller: int) -> None:
    """Be controller: set the watches, and list the children."""
    state = world.controllers[controller]
    state.active = True
    state.failovers += 1
    state.epoch_version = state.answer_version
    ControllerElected.write(world, broker=controller, controller_epoch=state.controller_epoch)
    take_context(world, controller)
    forget_everything(world, controller)
    for parent in (
        zookeeper_tree.BROKER_IDS_ZNODE,
        zookeeper_tree.TOPICS_ZNODE,
        zookeeper_tree.NOTIFICATIONS_ZNODE,
    ):
        assignments.issue_children(world, controller, parent)
    if zookeeper_tree.is_administered(world):
        znode = zookeeper_tree.delete_topics_znode(world)
        assignments.issue_children(world, controller, znode)
    watch_log_dir_events(world, controller)
    assignments.issue_exists(world, controller, zookeeper_tree.PREFERRED_ELECTION_ZNODE, _TRUE)


@inner_rule
def _read_everything(world: control_plane.ControlPlane, controller: int) -> None:
    """Take over the lists, delete notifications unread (from 1.1 on), read all states.

    Source: KafkaController.initializeControllerContext@2.4.0.
    """
    sizes = world.sizes[0]
    state = world.controllers[controller]
    # The last of the answers is that about /admin/preferred_replica_election.
    state.election_pending = state.answer_error == OK
    for broker in range(sizes.brokers):
        known = control_plane.broker_at(world, controller, broker)
        known.alive = known.listed_epoch != UNDEFINED
        known.has_channel = known.alive
        known.broker_epoch = known.listed_epoch
    if state.listing != NONE and world.rules[controller].notifications_deleted_at_failover:
        assignments.issue_for_children(world, controller, state.listing, _TRUE)
    assignments.issue_for_children(world, controller, state.log_dir_listing, _TRUE)
    process = controller_process(world, controller)
    for partition in range(sizes.partitions):
        if control_plane.partition_at(world, controller, partition).known:
            state.work_us += cost_us(world, process, CONTROLLER_FAILOVER_PARTITION)
            partition_changes.read_state(world, controller, partition)


@inner_rule
def _start_replicas(world: control_plane.ControlPlane, controller: int) -> None:
    """Find the online replicas, and send each of these its role.

    Source: ReplicaStateMachine.startup@0.10.2.0 and @2.4.0.
    """
    for partition in range(world.sizes[0].partitions):
        known = control_plane.partition_at(world, controller, partition)
        if not known.known:
            continue
        facts = world.partitions[partition]
        for row in range(facts.first_slot, facts.first_slot + facts.slot_count):
            if not contains(known.replicas, row - facts.first_slot):
                continue
            replica = control_plane.replica_at(world, controller, row)
            replica.state = REPLICA_DELETION_INELIGIBLE
            if control_plane.broker_at(world, controller, world.slots[row].broker).alive:
                replica.state = ONLINE_REPLICA
            elif control_plane.is_deleted(world, controller, partition):
                control_plane.topic_at(world, controller, facts.topic).ineligible = True
        if known.has_state:
            add_leader_and_isr_request_for_replicas(world, controller, partition)


@inner_rule
def _start_partitions(world: control_plane.ControlPlane, controller: int) -> None:
    """A partition is online if its leader is alive.

    Source: PartitionStateMachine.initializePartitionState@2.4.0.
    """
    for partition in range(world.sizes[0].partitions):
        known = control_plane.partition_at(world, controller, partition)
        if known.has_state:
            leader = broker_of(
                world, partition, control_plane.state_at(world, controller, partition).leader
            )
            known.state = partition_changes.OFFLINE_PARTITION
            if leader >= 0 and control_plane.broker_at(world, controller, leader).alive:
                known.state = partition_changes.ONLINE_PARTITION


@inner_rule
def resign(world: control_plane.ControlPlane, controller: int) -> None:
    """Another is controller, or will be: drop the state, and send nothing.

    Source: KafkaController.onControllerResignation@2.4.0.
    """
    state = world.controllers[controller]
    if not state.active:
        return
    ControllerResigned.write(world, broker=controller, controller_epoch=state.controller_epoch)
    give_up_context(world, controller)


@inner_rule
def give_up_context(world: control_plane.ControlPlane, controller: int) -> None:
    """Be controller no longer, without any request."""
    state = world.controllers[controller]
    if state.context != NONE:
        for broker in range(world.sizes[0].brokers):
            close_channel(world, controller, broker)
        give_back_context(world, controller)
    state.active = False
    state.moved = False
    free_all(world, state.unsent)
