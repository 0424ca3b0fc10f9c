"""Moving replicas: what an operator asks for in /admin/reassign_partitions (from 2.4 on KIP-455).

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

AlterPartitionReassignments replaces what is on its way, or cancels it: then the target is what was
there before, so nothing is added or removed any more. What /admin/reassign_partitions says of such
a partition does not count from then on.

Before 2.4 a partition whose new replicas are all in sync goes to B3 at once. The assignment does
not say what is added and removed, so another controller finds what to go on with in the znode
alone; who asks for what is there already is refused. More than four replicas on the way stood in
the order of a hash set; here the new ones always come first.

Source: KafkaController.onPartitionReassignment@0.10.2.0, @2.2.0, @2.4.0, @2.6.3 and @3.8.0.
"""

from __future__ import annotations

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.events.asked_moves import CHOOSE
from tidegauge.controller.events.topic_deletions import is_any_topic_deleted, resume_deletion
from tidegauge.controller.partitions.elections import RAISE_EPOCH, REASSIGN
from tidegauge.controller.partitions.partition_changes import (
    decide_on,
    live_replicas,
    read_state,
    remove_from_isr,
)
from tidegauge.controller.partitions.replica_state_machine import (
    NEW_REPLICA,
    NON_EXISTENT_REPLICA,
    OFFLINE_REPLICA,
    REPLICA_DELETION_STARTED,
    REPLICA_DELETION_SUCCESSFUL,
)
from tidegauge.controller.partitions.replica_states import bring_replica_online, enter_replica_state
from tidegauge.controller.partitions.request_batch import (
    add_leader_and_isr_request,
    add_stop_replica_request,
    add_update_metadata_request,
    send_requests_to_brokers,
)
from tidegauge.controller.state.assignments import full_replica_set
from tidegauge.controller.state.control_plane import (
    ControllerPartition,
    ControlPlane,
    broker_at,
    partition_at,
    replica_at,
    state_at,
)
from tidegauge.controller.state.zookeeper_requests import issue, issue_read, new_request
from tidegauge.replication.replica_list import EMPTY, contains, first, rest, single, without
from tidegauge.simulation.controller_events import (
    PREFERRED_ELECTION,
    REASSIGNMENT_ALTERED,
    REASSIGNMENT_ASKED_FOR,
    REASSIGNMENT_ISR_CHANGE,
    TOPIC_DELETION_RESUMED,
)
from tidegauge.simulation.events import add_item
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.kinds import ZK_EXISTS, ZK_GET, ZK_SET
from tidegauge.simulation.row_kinds import REASSIGNMENT_BEGUN, REASSIGNMENT_DONE
from tidegauge.simulation.rows import new_row, write_canonical
from tidegauge.simulation.topology import (
    Topology,
    broker_of,
    controller_process,
    reassign_partitions_znode,
    topic_znode,
)
from tidegauge.simulation.zookeeper_errors import OK

# Phases. What begins with the znode looks for it first; then comes CHOOSE (``asked_moves.py``).
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
def advance_reassignment(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int
) -> None:
    """One phase of an event that moves replicas.

    Source: KafkaController.processZkPartitionReassignment, processPartitionReassignmentIsrChange
    and maybeResumeReassignments@2.6.3.
    """
    state = plane.controllers[controller]
    phase = state.phase
    state.phase += 1
    if phase == _LOOK and state.event in (REASSIGNMENT_ASKED_FOR, REASSIGNMENT_ALTERED):
        znode = reassign_partitions_znode(topology)
        watches = state.event == REASSIGNMENT_ASKED_FOR
        issue_read(kernel, topology, plane, controller, ZK_EXISTS, znode, watches)
    elif phase == _READ and state.answer_error == OK:
        _read_what_is_asked(kernel, topology, plane, controller)
    elif phase <= CHOOSE:
        _choose(kernel, topology, plane, controller)
    elif phase == _CHECKED:
        _check(kernel, topology, plane, controller)
    elif phase <= _STARTED:
        _bring_in(kernel, topology, plane, controller, phase)
    elif phase <= _WRITE_LESS:
        _take_out(kernel, topology, plane, controller, phase)
    elif phase == _DONE:
        _tell_end(kernel, topology, plane, controller)
        state.phase = CHOOSE
    else:
        _end(topology, plane, controller)


@inner_rule
def _read_what_is_asked(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int
) -> None:
    znode = reassign_partitions_znode(topology)
    issue_read(kernel, topology, plane, controller, ZK_GET, znode, _FALSE)


@inner_rule
def _choose(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    """Take up the next partition; if there is none, it is over but for those that are refused."""
    state = plane.controllers[controller]
    state.moving = state.first_move
    if state.moving == NONE:
        state.phase = _END
        if state.moves_refused:
            _read_what_is_asked(kernel, topology, plane, controller)
        return
    known = partition_at(topology, plane, controller, state.moving)
    known.moves = False
    state.first_move = known.next_move
    if state.first_move == NONE:
        state.last_move = NONE
    state.phase = _NOTE_ASSIGNMENT
    is_old = not plane.rules[controller].assignment_says_what_moves
    if is_old or state.event == REASSIGNMENT_ISR_CHANGE:
        state.phase = _CHECKED
        known.reassigned = True
        read_state(kernel, topology, plane, controller, state.moving)


@inner_rule
def _check(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    """Go on with a partition if all its new replicas are in sync; before 2.4 begin with it if not.

    Source: KafkaController.onPartitionReassignment@2.2.0, PartitionReassignmentIsrChange@2.2.0.
    """
    state = plane.controllers[controller]
    is_begun = state.event == REASSIGNMENT_ISR_CHANGE
    if not _is_complete(topology, plane, controller, state.moving):
        if is_begun:
            state.phase = CHOOSE
    elif not plane.rules[controller].assignment_says_what_moves:
        state.phase = _MOVE_LEADER
        if not is_begun:
            known = partition_at(topology, plane, controller, state.moving)
            _write_begun(kernel, topology, controller, state.moving, known)


@inner_rule
def _is_complete(topology: Topology, plane: ControlPlane, controller: int, partition: int) -> bool:
    """Whether all replicas that are to be there are in sync, by the state that was just read.

    Source: KafkaController.isReassignmentComplete@2.6.3.
    """
    target = partition_at(topology, plane, controller, partition).target
    return without(target, state_at(topology, plane, controller, partition).isr) == EMPTY


@inner_rule
def _bring_in(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, phase: int
) -> None:
    """Phases U and A of one partition."""
    state = plane.controllers[controller]
    known = partition_at(topology, plane, controller, state.moving)
    if phase == _NOTE_ASSIGNMENT:
        _update_current_reassignment(kernel, topology, plane, controller, known)
    elif phase == _STOP_UNNEEDED:
        if state.offline != EMPTY:
            _take_one_offline(kernel, topology, plane, controller)
            state.phase = _STOP_UNNEEDED
    elif phase == _DELETE_UNNEEDED:
        if state.leaving != EMPTY:
            send_requests_to_brokers(kernel, topology, plane, controller)
            state.removing = NONE
            _delete_logs(kernel, topology, plane, controller)
    elif phase == _KNOW_ASSIGNMENT:
        if known.adding != EMPTY or known.removing != EMPTY:
            read_state(kernel, topology, plane, controller, state.moving)
    elif phase == _COMPARE:
        is_new_order = known.adding == EMPTY and known.removing == EMPTY
        if is_new_order or _is_complete(topology, plane, controller, state.moving):
            state.phase = _MOVE_LEADER
        else:
            decide_on(kernel, topology, plane, controller, state.moving, RAISE_EPOCH)
    else:
        send_requests_to_brokers(kernel, topology, plane, controller)
        _start_new_replicas(kernel, topology, plane, controller, known.adding)
        state.phase = CHOOSE


@inner_rule
def _update_current_reassignment(
    kernel: Kernel,
    topology: Topology,
    plane: ControlPlane,
    controller: int,
    known: ControllerPartition,
) -> None:
    """Note what will be added and removed, if that is not noted yet.

    Source: KafkaController.updateCurrentReassignment@2.6.3.
    """
    state = plane.controllers[controller]
    origin = without(known.replicas, known.adding)
    replicas = full_replica_set(known.target, origin)
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
        _write_assignment(kernel, topology, plane, controller, state.moving)
    if state.event != REASSIGNMENT_ISR_CHANGE:
        _write_begun(kernel, topology, controller, state.moving, known)


@inner_rule
def _write_begun(
    kernel: Kernel, topology: Topology, controller: int, partition: int, known: ControllerPartition
) -> None:
    written = new_row(kernel, controller_process(topology, controller), REASSIGNMENT_BEGUN)
    written.values[0] = partition
    written.values[1] = known.replicas
    written.values[2] = known.adding
    written.values[3] = known.removing
    write_canonical(kernel, written)


@inner_rule
def _write_assignment(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, partition: int
) -> None:
    """Write a partition's assignment; Kafka writes those of its whole topic.

    Source: KafkaController.updateReplicaAssignmentForPartition@2.6.3.
    """
    known = partition_at(topology, plane, controller, partition)
    znode = topic_znode(topology, topology.partitions[partition].topic)
    request = new_request(kernel, topology, plane, controller, ZK_SET, znode)
    item = add_item(kernel, request, partition)
    item.replicas = known.replicas
    if plane.rules[controller].assignment_says_what_moves:
        item.adding = known.adding
        item.removing = known.removing
    issue(kernel, plane, controller, request)


@inner_rule
def _start_new_replicas(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, adding: int
) -> None:
    """Tell each replica that is new once more, by itself; one that was told before is not new.

    Source: KafkaController.startNewReplicasForReassignedPartition@2.6.3.
    """
    partition = plane.controllers[controller].moving
    while adding != EMPTY:
        slot = first(adding)
        adding = rest(adding)
        row = topology.partitions[partition].first_slot + slot
        broker = broker_of(topology, partition, slot)
        if enter_replica_state(topology, plane, controller, row, NEW_REPLICA):
            if broker_at(topology, plane, controller, broker).alive:
                add_leader_and_isr_request(kernel, topology, plane, controller, partition, broker)
            add_update_metadata_request(topology, plane, controller, partition)
            send_requests_to_brokers(kernel, topology, plane, controller)


@inner_rule
def _take_out(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, phase: int
) -> None:
    """Phase B of one partition: it has its new replicas, the others go."""
    state = plane.controllers[controller]
    if phase == _MOVE_LEADER:
        _move_leader(kernel, topology, plane, controller)
    elif phase == _TAKE_OFFLINE:
        send_requests_to_brokers(kernel, topology, plane, controller)
        state.offline = state.leaving
    elif phase == _NEXT_OFFLINE:
        if state.offline != EMPTY:
            _take_one_offline(kernel, topology, plane, controller)
            state.phase = _NEXT_OFFLINE
    elif phase == _DELETE:
        send_requests_to_brokers(kernel, topology, plane, controller)
        state.removing = NONE
        _delete_logs(kernel, topology, plane, controller)
    elif phase == _NOTE_END:
        _write_assignment(kernel, topology, plane, controller, state.moving)
    elif phase == _ASK_LESS:
        znode = reassign_partitions_znode(topology)
        issue_read(kernel, topology, plane, controller, ZK_EXISTS, znode, _FALSE)
    elif state.answer_error == OK:
        _read_what_is_asked(kernel, topology, plane, controller)


@inner_rule
def _move_leader(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    """Let a replica lead that stays, and tell those that stay of each other.

    Source: KafkaController.moveReassignedPartitionLeaderIfRequired@2.6.3.
    """
    state = plane.controllers[controller]
    partition = state.moving
    known = partition_at(topology, plane, controller, partition)
    _bring_added_online(kernel, topology, plane, controller, known.adding)
    state.leaving = without(known.replicas, known.target)
    known.replicas = known.target
    known.adding = EMPTY
    known.removing = EMPTY
    leader = state_at(topology, plane, controller, partition).leader
    live = live_replicas(topology, plane, controller, partition)
    stays = contains(known.target, leader) and contains(live, leader)
    if stays:
        decide_on(kernel, topology, plane, controller, partition, RAISE_EPOCH)
    else:
        decide_on(kernel, topology, plane, controller, partition, REASSIGN)


@inner_rule
def _bring_added_online(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, adding: int
) -> None:
    """Those that were new are online now; the others are told their role once more."""
    partition = plane.controllers[controller].moving
    while adding != EMPTY:
        slot = first(adding)
        adding = rest(adding)
        row = topology.partitions[partition].first_slot + slot
        was_new = replica_at(topology, plane, controller, row).state == NEW_REPLICA
        is_online = bring_replica_online(topology, plane, controller, row)
        broker = broker_of(topology, partition, slot)
        if is_online and not was_new and broker_at(topology, plane, controller, broker).alive:
            add_leader_and_isr_request(kernel, topology, plane, controller, partition, broker)
    send_requests_to_brokers(kernel, topology, plane, controller)


@inner_rule
def _take_one_offline(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int
) -> None:
    """Stop the one of those that go whose broker is the first, and take it out of the ISR.

    Source: KafkaController.stopRemovedReplicasOfReassignedPartition@2.6.3.
    """
    state = plane.controllers[controller]
    partition = state.moving
    slot = first(state.offline)
    others = rest(state.offline)
    while others != EMPTY:
        if broker_of(topology, partition, first(others)) < broker_of(topology, partition, slot):
            slot = first(others)
        others = rest(others)
    state.offline = without(state.offline, single(slot))
    broker = broker_of(topology, partition, slot)
    row = topology.partitions[partition].first_slot + slot
    if enter_replica_state(topology, plane, controller, row, OFFLINE_REPLICA):
        if broker_at(topology, plane, controller, broker).alive:
            add_stop_replica_request(kernel, topology, plane, controller, partition, broker, _FALSE)
        remove_from_isr(kernel, topology, plane, controller, partition, broker)


@inner_rule
def _delete_logs(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    """Have the logs of those deleted that went; nobody asks a dead broker again.

    Source: KafkaController.stopRemovedReplicasOfReassignedPartition@2.6.3.
    """
    partition = plane.controllers[controller].moving
    leaving = plane.controllers[controller].leaving
    while leaving != EMPTY:
        slot = first(leaving)
        leaving = rest(leaving)
        row = topology.partitions[partition].first_slot + slot
        broker = broker_of(topology, partition, slot)
        is_started = enter_replica_state(topology, plane, controller, row, REPLICA_DELETION_STARTED)
        if is_started and broker_at(topology, plane, controller, broker).alive:
            add_stop_replica_request(kernel, topology, plane, controller, partition, broker, _TRUE)
        enter_replica_state(topology, plane, controller, row, REPLICA_DELETION_SUCCESSFUL)
        enter_replica_state(topology, plane, controller, row, NON_EXISTENT_REPLICA)
    send_requests_to_brokers(kernel, topology, plane, controller)


@inner_rule
def _tell_end(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    """A partition has the replicas that it was to have: all brokers are told."""
    partition = plane.controllers[controller].moving
    known = partition_at(topology, plane, controller, partition)
    known.reassigned = False
    resume_deletion(topology, plane, controller, topology.partitions[partition].topic)
    add_update_metadata_request(topology, plane, controller, partition)
    send_requests_to_brokers(kernel, topology, plane, controller)
    written = new_row(kernel, controller_process(topology, controller), REASSIGNMENT_DONE)
    written.values[0] = partition
    written.values[1] = known.replicas
    write_canonical(kernel, written)


@inner_rule
def _end(topology: Topology, plane: ControlPlane, controller: int) -> None:
    state = plane.controllers[controller]
    state.event = NONE
    state.moving = NONE
    if state.moves_refused:
        state.moves_refused = False
        for partition in range(topology.sizes[0].partitions):
            partition_at(topology, plane, controller, partition).move_refused = False
    if is_any_topic_deleted(topology, plane, controller):
        state.event = TOPIC_DELETION_RESUMED
        state.phase = 0
    elif state.election_pending:
        # It was asked for when this controller took over.
        state.election_pending = False
        state.event = PREFERRED_ELECTION
        state.phase = 0
