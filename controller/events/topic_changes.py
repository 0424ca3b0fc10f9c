"""Topics that are new, and unclean elections: a topic now allows them, or an operator asks for one.

The replicas that a controller is asked to move, by a znode or by AlterPartitionReassignments.

A partition in /admin/reassign_partitions stays there until it is done, so tools check it to see
whether anything is being moved. A request to the controller itself replaces the znode's content
about a partition (``reassignments.py`` does the work).
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.partitions.channels import send_requests_to_brokers
from tidegauge.controller.partitions.leader_and_isr import NO_LEADER, UNCLEAN
from tidegauge.controller.partitions.partition_changes import bring_online, elect_selected
from tidegauge.controller.partitions.replica_states import bring_replica_online
from tidegauge.controller.state import assignments
from tidegauge.controller.state.control_plane import (
    ControlPlane,
    broker_at,
    is_deleted,
    partition_at,
    state_at,
)
from tidegauge.replication.replica_list import EMPTY, contains, first, rest, without
from tidegauge.simulation.events import append_event, free_event, items_of, new_item
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_requests import (
    AlterReassignmentsRequest,
    UncleanElectionRequest,
)
from tidegauge.simulation.messages.zookeeper_requests import (
    NamedPartition,
    ZkResponse,
    ZkSetRequest,
    ZkWatch,
)
from tidegauge.simulation.topology import broker_of, controller_process
from tidegauge.simulation.trace_rows.codes import REASSIGNMENT_ALTERED, REASSIGNMENT_ASKED_FOR
from tidegauge.simulation.zookeeper_tree import TOPICS_ZNODE, reassign_partitions_znode

_TRUE = code(True)


@inner_rule
def advance_topic_change(world: ControlPlane, controller: int) -> None:
    """One phase of a topic change: list the topics, give new partitions a state.

    Source: KafkaController.processTopicChange and onNewPartitionCreation@2.4.0.
    """
    state = world.controllers[controller]
    phase = state.phase
    state.phase += 1
    if phase == 0:
        assignments.issue_children(world, controller, TOPICS_ZNODE)
    elif phase == 1:
        _start_new_replicas(world, controller)
        bring_online(world, controller, NONE)
    else:
        send_requests_to_brokers(world, controller)
        state.event = NONE


@inner_rule
def _start_new_replicas(world: ControlPlane, controller: int) -> None:
    """Replicas of new partitions are online, whether their brokers are alive or not."""
    for row in range(len(world.slots)):
        partition = world.slots[row].partition
        known = partition_at(world, controller, partition)
        slot = row - world.partitions[partition].first_slot
        if known.known and not known.has_state and contains(known.replicas, slot):
            bring_replica_online(world, controller, row)


@inner_rule
def advance_unclean_election(world: ControlPlane, controller: int) -> None:
    """One phase after unclean election was switched on for a topic.

    Source: KafkaController.processTopicUncleanLeaderElectionEnable@2.1.0.
    """
    state = world.controllers[controller]
    phase = state.phase
    state.phase += 1
    if phase == 0:
        bring_online(world, controller, state.topic)
    else:
        send_requests_to_brokers(world, controller)
        state.event = NONE


@inner_rule
def note_unclean_election(
    world: ControlPlane, controller: int, request: UncleanElectionRequest
) -> None:
    """Select the partitions of an ElectLeaders that have no live leader.

    Source: KafkaController.processReplicaLeaderElection@2.4.0 (KIP-460).
    """
    for named in items_of(world, request, NamedPartition):
        known = partition_at(world, controller, named.partition)
        leader = state_at(world, controller, named.partition).leader
        is_led = leader != NO_LEADER
        if is_led:
            is_led = broker_at(world, controller, broker_of(world, named.partition, leader)).alive
        is_gone = is_deleted(world, controller, named.partition)
        known.selected = known.has_state and not is_led and not is_gone


@inner_rule
def advance_requested_unclean_election(world: ControlPlane, controller: int) -> None:
    """One phase of an unclean election that an operator asks for.

    Source: KafkaController.onReplicaElection@2.4.0.
    """
    state = world.controllers[controller]
    phase = state.phase
    state.phase += 1
    if phase == 0:
        elect_selected(world, controller, UNCLEAN)
    else:
        send_requests_to_brokers(world, controller)
        state.event = NONE


#: The phase in which the next partition is chosen; the znode was read just before.
CHOOSE = code(2)


@inner_rule
def take_requested_moves(world: ControlPlane, controller: int, response: ZkResponse) -> None:
    """Take the content of /admin/reassign_partitions: to begin with it, or to remove partitions.

    Source: KafkaController.processZkPartitionReassignment@2.6.3.
    """
    state = world.controllers[controller]
    if state.phase != CHOOSE or state.event == REASSIGNMENT_ALTERED:
        _ask_less(world, controller, response)
        return
    for item in items_of(world, response, NamedPartition):
        known = partition_at(world, controller, item.partition)
        # Kafka fails on one without a leader only after it has written the assignment.
        is_gone = is_deleted(world, controller, item.partition)
        says_what_moves = world.rules[controller].assignment_says_what_moves
        is_there = not says_what_moves and known.replicas == item.replicas
        if known.known and known.has_state and not is_gone and not is_there:
            known.target = item.replicas
            assignments.want_move(world, controller, item.partition)
        else:
            known.move_refused = True
            state.moves_refused = True


@inner_rule
def note_altered_moves(
    world: ControlPlane, controller: int, request: AlterReassignmentsRequest
) -> None:
    """Take the partitions of an AlterPartitionReassignments; without replicas it cancels.

    It is refused if a replica that it adds is on a broker that is not alive; a request in
    /admin/reassign_partitions waits for that broker instead.

    Source: KafkaController.processApiPartitionReassignment, maybeBuildReassignment@2.6.3 (KIP-455).
    """
    for item in items_of(world, request, NamedPartition):
        known = partition_at(world, controller, item.partition)
        is_gone = is_deleted(world, controller, item.partition)
        is_cancelled = item.replicas == EMPTY
        if not known.has_state or is_gone or (is_cancelled and not known.reassigned):
            continue
        if _adds_dead(world, controller, item.partition, item.replicas):
            continue
        known.target = item.replicas
        if is_cancelled:
            known.target = without(known.replicas, known.adding)
        assignments.want_move(world, controller, item.partition)


@inner_rule
def _adds_dead(world: ControlPlane, controller: int, partition: int, target: int) -> bool:
    """Whether a replica that was not there before is on a broker that is dead or stops.

    Source: KafkaController.replicasAreValid@2.4.1, validateReplicas@2.6.3.
    """
    known = partition_at(world, controller, partition)
    origin = without(known.replicas, known.adding)
    while target != EMPTY:
        slot = first(target)
        target = rest(target)
        broker = broker_at(world, controller, broker_of(world, partition, slot))
        is_live = broker.alive and not broker.shutting_down
        if not contains(origin, slot) and not is_live:
            return True
    return False


@inner_rule
def _ask_less(world: ControlPlane, controller: int, response: ZkResponse) -> None:
    """Leave the partitions in the znode that are neither done nor refused; delete an empty one.

    Source: KafkaController.maybeRemoveFromZkReassignment@2.6.3.
    """
    state = world.controllers[controller]
    znode = reassign_partitions_znode(world)
    request = assignments.new_request(world, controller, ZkSetRequest)
    for item in items_of(world, response, NamedPartition):
        known = partition_at(world, controller, item.partition)
        is_done = item.partition == state.moving
        is_done = is_done and item.replicas == known.replicas
        # Before the first of the replaced ones is taken up.
        is_done = is_done or (state.phase == CHOOSE and known.moves)
        if not is_done and not known.move_refused:
            new_item(world, request, item.partition, NamedPartition, replicas=item.replicas)
    if request.item_count > 0:
        assignments.issue_write(world, controller, request, znode)
        return
    free_event(world, request)
    _look_again(world, controller)
    assignments.issue_delete(world, controller, znode)


@inner_rule
def _look_again(world: ControlPlane, controller: int) -> None:
    """Watch for the next reassignment, which may be there already: an event for the queue."""
    process = controller_process(world, controller)
    event = ZkWatch.to(
        world, process, time_us=world.context[0].time_us, phase=REASSIGNMENT_ASKED_FOR
    )
    append_event(world, world.controllers[controller].queue, event)
