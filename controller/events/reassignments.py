"""Moving replicas: an operator's requests in /admin/reassign_partitions (from 2.4 on KIP-455).

One partition after the other, and each goes through the same phases:

=========================  ===================================================================
phase                      what it does
=========================  ===================================================================
U  ``_NOTE_ASSIGNMENT``    write the assignment with what is added and removed; if another
                           reassignment was on its way, stop what that has added in vain and
                           delete its logs; read the state
A  ``_START``              not all target replicas are in sync: raise the leader epoch and tell
                           all replicas, old and new, so that the leader lets the new ones in
B3 ``_MOVE_LEADER``        all are: let one of the target lead, or raise the leader's epoch
B4 ``_TAKE_OFFLINE``       one by one take what is to go out of the ISR, and stop it
B5 ``_DELETE``             have its logs deleted
B6 ``_NOTE_END``           write the assignment as it is now
B7 ``_ASK_LESS``           take the partition out of /admin/reassign_partitions, which is deleted
                           with the last one; tell all brokers
=========================  ===================================================================

After A the controller does something else until an ISR changes: it watches the states of these
partitions, or (with AlterPartition) has written the ISR itself. Target replicas on brokers that
are dead, or come later, keep a partition in A; a broker that comes makes the controller begin
there again. So does a new controller, which finds everything in the assignment.

AlterPartitionReassignments replaces the present one, or cancels it: then the target is the former
set of replicas, so nothing is added or removed any more. The entry of such a partition in
/admin/reassign_partitions does not count from then on.

Before 2.4 a partition whose new replicas are all in sync goes to B3 at once. The assignment does
not have the replicas that are added and removed, so another controller resumes from the znode
alone; a request for the existing assignment is refused. More than four replicas on the way stood in
the order of a hash set; here the new ones always come first.

Source: KafkaController.onPartitionReassignment@0.10.2.0, @2.2.0, @2.4.0, @2.6.3 and @3.8.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.events.topic_changes import CHOOSE
from tidegauge.controller.events.topic_deletions import is_any_topic_deleted, resume_deletion
from tidegauge.controller.partitions import replica_state_machine
from tidegauge.controller.partitions.channels import (
    add_leader_and_isr_request,
    add_stop_replica_request,
    add_update_metadata_request,
    send_requests_to_brokers,
)
from tidegauge.controller.partitions.leader_and_isr import RAISE_EPOCH, REASSIGN
from tidegauge.controller.partitions.partition_changes import (
    decide_on,
    live_replicas,
    read_state,
    remove_from_isr,
)
from tidegauge.controller.partitions.replica_states import bring_replica_online, enter_replica_state
from tidegauge.controller.state import assignments, control_plane
from tidegauge.replication.replica_list import EMPTY, contains, first, rest, single, without
from tidegauge.simulation.events import new_item
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.zookeeper_requests import TopicPartition, ZkSetRequest
from tidegauge.simulation.topology import broker_of
from tidegauge.simulation.trace_rows import codes
from tidegauge.simulation.trace_rows.controller_rows import ReassignmentBegun, ReassignmentDone
from tidegauge.simulation.zookeeper_tree import reassign_partitions_znode, topic_znode

# Phases. An event that begins with the znode looks for it first; then comes CHOOSE
# (``topic_changes.py``).
_LOOK = code(0)
_READ = code(1)
_CHECKED = code(3)
_NOTE_ASSIGNMENT = code(4)
_STOP_UNNEEDED = code(5)
_DELETE_UNNEEDED = code(6)
_KNOW_ASSIGNMENT = code(7)
_COMPARE = code(8)
_STARTED = code(9)
_MOVE_LEADER = code(10)
_TAKE_OFFLINE = code(11)
_NEXT_OFFLINE = code(12)
_DELETE = code(13)
_NOTE_END = code(14)
_ASK_LESS = code(15)
_WRITE_LESS = code(16)
_DONE = code(17)
_END = code(18)

_TRUE = code(True)
_FALSE = code(False)


@inner_rule
def advance_reassignment(world: control_plane.ControlPlane, controller: int) -> None:
    """One phase of an event that moves replicas.

    Source: KafkaController.processZkPartitionReassignment, processPartitionReassignmentIsrChange
    and maybeResumeReassignments@2.6.3.
    """
    state = world.controllers[controller]
    phase = state.phase
    state.phase += 1
    if phase == _LOOK and state.event in (codes.REASSIGNMENT_ASKED_FOR, codes.REASSIGNMENT_ALTERED):
        znode = reassign_partitions_znode(world)
        watches = state.event == codes.REASSIGNMENT_ASKED_FOR
        assignments.issue_exists(world, controller, znode, watches)
    elif phase == _READ and state.answer_error == codes.OK:
        _read_what_is_asked(world, controller)
    elif phase <= CHOOSE:
        _choose(world, controller)
    elif phase == _CHECKED:
        _check(world, controller)
    elif phase <= _STARTED:
        _bring_in(world, controller, phase)
    elif phase <= _WRITE_LESS:
        _take_out(world, controller, phase)
    elif phase == _DONE:
        _tell_end(world, controller)
        state.phase = CHOOSE
    else:
        _end(world, controller)


@inner_rule
def _read_what_is_asked(world: control_plane.ControlPlane, controller: int) -> None:
    assignments.issue_get(world, controller, reassign_partitions_znode(world))


@inner_rule
def _choose(world: control_plane.ControlPlane, controller: int) -> None:
    """Take up the next partition; if there is none, it is over but for those that are refused."""
    state = world.controllers[controller]
    state.moving = state.first_move
    if state.moving == NONE:
        state.phase = _END
        if state.moves_refused:
            _read_what_is_asked(world, controller)
        return
    known = control_plane.partition_at(world, controller, state.moving)
    known.moves = False
    state.first_move = known.next_move
    if state.first_move == NONE:
        state.last_move = NONE
    state.phase = _NOTE_ASSIGNMENT
    is_old = not world.rules[controller].assignment_says_what_moves
    if is_old or state.event == codes.REASSIGNMENT_ISR_CHANGE:
        state.phase = _CHECKED
        known.reassigned = True
        read_state(world, controller, state.moving)


@inner_rule
def _check(world: control_plane.ControlPlane, controller: int) -> None:
    """Advance a partition if all its new replicas are in sync; before 2.4 begin with it if not.

    Source: KafkaController.onPartitionReassignment@2.2.0, PartitionReassignmentIsrChange@2.2.0.
    """
    state = world.controllers[controller]
    is_begun = state.event == codes.REASSIGNMENT_ISR_CHANGE
    if not _is_complete(world, controller, state.moving):
        if is_begun:
            state.phase = CHOOSE
    elif not world.rules[controller].assignment_says_what_moves:
        state.phase = _MOVE_LEADER
        if not is_begun:
            known = control_plane.partition_at(world, controller, state.moving)
            ReassignmentBegun.write(world, known, partition=state.moving)


@inner_rule
def _is_complete(world: control_plane.ControlPlane, controller: int, partition: int) -> bool:
    """Whether all replicas that are to be there are in sync, by the state that was just read.

    Source: KafkaController.isReassignmentComplete@2.6.3.
    """
    target = control_plane.partition_at(world, controller, partition).target
    return without(target, control_plane.state_at(world, controller, partition).isr) == EMPTY


@inner_rule
def _bring_in(world: control_plane.ControlPlane, controller: int, phase: int) -> None:
    """Phases U and A of one partition."""
    state = world.controllers[controller]
    known = control_plane.partition_at(world, controller, state.moving)
    if phase == _NOTE_ASSIGNMENT:
        _update_current_reassignment(world, controller, known)
    elif phase == _STOP_UNNEEDED:
        if state.offline != EMPTY:
            _take_one_offline(world, controller)
            state.phase = _STOP_UNNEEDED
    elif phase == _DELETE_UNNEEDED:
        if state.leaving != EMPTY:
            send_requests_to_brokers(world, controller)
            state.removing = NONE
            _delete_logs(world, controller)
    elif phase == _KNOW_ASSIGNMENT:
        if known.adding != EMPTY or known.removing != EMPTY:
            read_state(world, controller, state.moving)
    elif phase == _COMPARE:
        is_new_order = known.adding == EMPTY and known.removing == EMPTY
        if is_new_order or _is_complete(world, controller, state.moving):
            state.phase = _MOVE_LEADER
        else:
            decide_on(world, controller, state.moving, RAISE_EPOCH)
    else:
        send_requests_to_brokers(world, controller)
        _start_new_replicas(world, controller, known.adding)
        state.phase = CHOOSE


@inner_rule
def _update_current_reassignment(
    world: control_plane.ControlPlane,
    controller: int,
    known: control_plane.ControllerPartition,
) -> None:
    """Note the added and the removed replicas, if that is not done yet.

    Source: KafkaController.updateCurrentReassignment@2.6.3.
    """
    state = world.controllers[controller]
    origin = without(known.replicas, known.adding)
    replicas = assignments.full_replica_set(known.target, origin)
    adding = without(replicas, origin)
    removing = without(replicas, known.target)
    is_noted = replicas == known.replicas and adding == known.adding and removing == known.removing
    state.leaving = without(known.replicas, replicas)
    state.offline = state.leaving
    known.replicas = replicas
    known.adding = adding
    known.removing = removing
    known.reassigned = True
    if not is_noted:
        _write_assignment(world, controller, state.moving)
    if state.event != codes.REASSIGNMENT_ISR_CHANGE:
        ReassignmentBegun.write(world, known, partition=state.moving)


@inner_rule
def _write_assignment(world: control_plane.ControlPlane, controller: int, partition: int) -> None:
    """Write a partition's assignment; Kafka writes those of its whole topic.

    Source: KafkaController.updateReplicaAssignmentForPartition@2.6.3.
    """
    known = control_plane.partition_at(world, controller, partition)
    znode = topic_znode(world, world.partitions[partition].topic)
    request = assignments.new_request(world, controller, ZkSetRequest)
    assignment = new_item(world, request, partition, TopicPartition, replicas=known.replicas)
    if world.rules[controller].assignment_says_what_moves:
        assignment.adding = known.adding
        assignment.removing = known.removing
    assignments.issue_write(world, controller, request, znode)


@inner_rule
def _start_new_replicas(world: control_plane.ControlPlane, controller: int, adding: int) -> None:
    """Send each new replica its role once more, by itself; one that had it before is not new.

    Source: KafkaController.startNewReplicasForReassignedPartition@2.6.3.
    """
    partition = world.controllers[controller].moving
    while adding != EMPTY:
        slot = first(adding)
        adding = rest(adding)
        row = world.partitions[partition].first_slot + slot
        broker = broker_of(world, partition, slot)
        if enter_replica_state(world, controller, row, replica_state_machine.NEW_REPLICA):
            if control_plane.broker_at(world, controller, broker).alive:
                add_leader_and_isr_request(world, controller, partition, broker)
            add_update_metadata_request(world, controller, partition)
            send_requests_to_brokers(world, controller)


@inner_rule
def _take_out(world: control_plane.ControlPlane, controller: int, phase: int) -> None:
    """Phase B of one partition: it has its new replicas, the others go."""
    state = world.controllers[controller]
    if phase == _MOVE_LEADER:
        _move_leader(world, controller)
    elif phase == _TAKE_OFFLINE:
        send_requests_to_brokers(world, controller)
        state.offline = state.leaving
    elif phase == _NEXT_OFFLINE:
        if state.offline != EMPTY:
            _take_one_offline(world, controller)
            state.phase = _NEXT_OFFLINE
    elif phase == _DELETE:
        send_requests_to_brokers(world, controller)
        state.removing = NONE
        _delete_logs(world, controller)
    elif phase == _NOTE_END:
        _write_assignment(world, controller, state.moving)
    elif phase == _ASK_LESS:
        znode = reassign_partitions_znode(world)
        assignments.issue_exists(world, controller, znode, _FALSE)
    elif state.answer_error == codes.OK:
        _read_what_is_asked(world, controller)


@inner_rule
def _move_leader(world: control_plane.ControlPlane, controller: int) -> None:
    """Let a replica lead that stays, and send those that stay the new state.

    Source: KafkaController.moveReassignedPartitionLeaderIfRequired@2.6.3.
    """
    state = world.controllers[controller]
    partition = state.moving
    known = control_plane.partition_at(world, controller, partition)
    _bring_added_online(world, controller, known.adding)
    state.leaving = without(known.replicas, known.target)
    known.replicas = known.target
    known.adding = EMPTY
    known.removing = EMPTY
    leader = control_plane.state_at(world, controller, partition).leader
    live = live_replicas(world, controller, partition)
    stays = contains(known.target, leader) and contains(live, leader)
    if stays:
        decide_on(world, controller, partition, RAISE_EPOCH)
    else:
        decide_on(world, controller, partition, REASSIGN)


@inner_rule
def _bring_added_online(world: control_plane.ControlPlane, controller: int, adding: int) -> None:
    """Those that were new are online now; the others get their role once more."""
    partition = world.controllers[controller].moving
    while adding != EMPTY:
        slot = first(adding)
        adding = rest(adding)
        row = world.partitions[partition].first_slot + slot
        was_new = (
            control_plane.replica_at(world, controller, row).state
            == replica_state_machine.NEW_REPLICA
        )
        is_online = bring_replica_online(world, controller, row)
        broker = broker_of(world, partition, slot)
        if is_online and not was_new and control_plane.broker_at(world, controller, broker).alive:
            add_leader_and_isr_request(world, controller, partition, broker)
    send_requests_to_brokers(world, controller)


@inner_rule
def _take_one_offline(world: control_plane.ControlPlane, controller: int) -> None:
    """Stop the one of those that go whose broker is the first, and take it out of the ISR.

    Source: KafkaController.stopRemovedReplicasOfReassignedPartition@2.6.3.
    """
    state = world.controllers[controller]
    partition = state.moving
    slot = first(state.offline)
    others = rest(state.offline)
    while others != EMPTY:
        if broker_of(world, partition, first(others)) < broker_of(world, partition, slot):
            slot = first(others)
        others = rest(others)
    state.offline = without(state.offline, single(slot))
    broker = broker_of(world, partition, slot)
    row = world.partitions[partition].first_slot + slot
    if enter_replica_state(world, controller, row, replica_state_machine.OFFLINE_REPLICA):
        if control_plane.broker_at(world, controller, broker).alive:
            add_stop_replica_request(world, controller, partition, broker, _FALSE)
        remove_from_isr(world, controller, partition, broker)


@inner_rule
def _delete_logs(world: control_plane.ControlPlane, controller: int) -> None:
    """Delete the logs of removed replicas; a dead broker is not asked again.

    Source: KafkaController.stopRemovedReplicasOfReassignedPartition@2.6.3.
    """
    partition = world.controllers[controller].moving
    leaving = world.controllers[controller].leaving
    while leaving != EMPTY:
        slot = first(leaving)
        leaving = rest(leaving)
        row = world.partitions[partition].first_slot + slot
        broker = broker_of(world, partition, slot)
        is_started = enter_replica_state(
            world, controller, row, replica_state_machine.REPLICA_DELETION_STARTED
        )
        if is_started and control_plane.broker_at(world, controller, broker).alive:
            add_stop_replica_request(world, controller, partition, broker, _TRUE)
        enter_replica_state(
            world, controller, row, replica_state_machine.REPLICA_DELETION_SUCCESSFUL
        )
        enter_replica_state(world, controller, row, replica_state_machine.NON_EXISTENT_REPLICA)
    send_requests_to_brokers(world, controller)


@inner_rule
def _tell_end(world: control_plane.ControlPlane, controller: int) -> None:
    """A partition has its target replicas: all brokers get the update."""
    partition = world.controllers[controller].moving
    known = control_plane.partition_at(world, controller, partition)
    known.reassigned = False
    resume_deletion(world, controller, world.partitions[partition].topic)
    add_update_metadata_request(world, controller, partition)
    send_requests_to_brokers(world, controller)
    ReassignmentDone.write(world, partition=partition, replicas=known.replicas)


@inner_rule
def _end(world: control_plane.ControlPlane, controller: int) -> None:
    state = world.controllers[controller]
    state.event = NONE
    state.moving = NONE
    if state.moves_refused:
        state.moves_refused = False
        for partition in range(world.sizes[0].partitions):
            control_plane.partition_at(world, controller, partition).move_refused = False
    if is_any_topic_deleted(world, controller):
        state.event = codes.TOPIC_DELETION_RESUMED
        state.phase = 0
    elif state.election_pending:
        # It was asked for when this controller took over.
        state.election_pending = False
        state.event = codes.PREFERRED_ELECTION
        state.phase = 0
