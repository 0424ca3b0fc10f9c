"""Assignments of replicas that a controller knows, and its requests to ZooKeeper.

An assignment is the content of /brokers/topics/<topic>. From 2.4 on (KIP-455) it also has the
replicas that are being added and those that will be removed; all of them are among the replicas.
The last replicas of a reassignment come first, in the order in which it was asked for. So another
controller can resume it, and its end is known: the replicas without those that will be removed.
Partitions that wait to be moved (``events/reassignments.py``) are a list, first come first served.

From 1.1 on (KAFKA-5642) requests are sent one behind the other and answered in that order, while no
more than zookeeper.max.in.flight.requests are in flight; before, each waits for the response to the
one before.

Source: ReplicaAssignment@2.4.0.
"""

from typing import TypeVar

from tidegauge.compiled.filled_records import filled, made_by
from tidegauge.compiled.records import Record
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.controller.state.control_plane import ControllerPartition, ControlPlane, partition_at
from tidegauge.replication.replica_list import EMPTY, append, contains, first, rest, without
from tidegauge.simulation.events import append_event, items_of, new_item, take_first, take_slot
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import zookeeper_requests
from tidegauge.simulation.messages.event import EventSlot
from tidegauge.simulation.topology import controller_process, zookeeper_process
from tidegauge.simulation.trace_rows.controller_rows import PartitionReplicas
from tidegauge.simulation.zookeeper_tree import STATES, place_in


@rule
def full_replica_set(target: int, origin: int) -> int:
    """The replicas during a reassignment: the target, then the others of before.

    Source: ReplicaAssignment.reassignTo@2.4.0.
    """
    others = without(origin, target)
    replicas = target
    while others != EMPTY:
        replicas = append(replicas, first(others))
        others = rest(others)
    return replicas


@inner_rule
def is_assigned(world: ControlPlane, controller: int, partition: int, slot: int) -> bool:
    """Whether a slot of a partition has a replica now, as far as a controller knows."""
    return contains(partition_at(world, controller, partition).replicas, slot)


@inner_rule
def is_anything_reassigned(world: ControlPlane, controller: int) -> bool:
    """Whether replicas of any partition are being moved."""
    for partition in range(world.sizes[0].partitions):
        if partition_at(world, controller, partition).reassigned:
            return True
    return False


@inner_rule
def know_assignment(known: ControllerPartition, listed: zookeeper_requests.TopicPartition) -> None:
    """Take ZooKeeper's state of a partition that is new to a controller.

    Source: KafkaController.initializeControllerContext@2.4.0.
    """
    known.known = True
    known.replicas = listed.replicas
    known.adding = listed.adding
    known.removing = listed.removing
    known.reassigned = listed.adding != EMPTY or listed.removing != EMPTY


@inner_rule
def list_assignments(
    world: ControlPlane, topic: int, response: zookeeper_requests.ZkResponse
) -> None:
    """Name the partitions of a topic in a response's chain, and where their replicas are.

    Kafka lists topics first and then reads them; here both come in one response.
    """
    for partition in range(world.sizes[0].partitions):
        if world.partitions[partition].topic == topic:
            assignment = world.assignments[partition]
            new_item(world, response, partition, zookeeper_requests.TopicPartition, assignment)


@inner_rule
def store_assignments(world: ControlPlane, request: zookeeper_requests.ZkSetRequest) -> None:
    """Take the partitions that a write to /brokers/topics/<topic> changes."""
    for item in items_of(world, request, zookeeper_requests.TopicPartition):
        assignment = world.assignments[item.partition]
        assignment.replicas = item.replicas
        assignment.adding = item.adding
        assignment.removing = item.removing
        # Only KRaft keeps eligible leaders, and the last leader (KIP-966).
        PartitionReplicas.write(
            world, item, eligible_leaders=EMPTY, last_known_leader=NONE, recovering=0
        )


@inner_rule
def begin_assignments(world: ControlPlane, topic: int) -> None:
    """A topic is created, perhaps once more: its replicas are where the scenario has them.

    Source: AdminZkClient.writeTopicPartitionAssignment@2.4.0.
    """
    for partition in range(world.sizes[0].partitions):
        if world.partitions[partition].topic == topic:
            assignment = world.assignments[partition]
            assignment.replicas = world.partitions[partition].replicas
            assignment.adding = EMPTY
            assignment.removing = EMPTY


@inner_rule
def want_move(world: ControlPlane, controller: int, partition: int) -> None:
    """Let the event being processed, or the next, deal with a partition: behind the others."""
    state = world.controllers[controller]
    known = partition_at(world, controller, partition)
    if known.moves:
        return
    known.moves = True
    known.next_move = NONE
    if state.last_move == NONE:
        state.first_move = partition
    else:
        partition_at(world, controller, state.last_move).next_move = partition
    state.last_move = partition


@inner_rule
def take_up_reassignments(world: ControlPlane, controller: int) -> None:
    """A new controller resumes another one's reassignments.

    Source: KafkaController.initializePartitionReassignments@2.4.0.
    """
    for partition in range(world.sizes[0].partitions):
        known = partition_at(world, controller, partition)
        if known.reassigned:
            known.target = without(known.replicas, known.removing)
            want_move(world, controller, partition)


@inner_rule
def note_isr_change(world: ControlPlane, controller: int, znode: int) -> None:
    """The state of a partition that is being moved has changed."""
    partition = place_in(world, STATES, znode)
    known = partition_at(world, controller, partition)
    if known.reassigned:
        known.target = without(known.replicas, known.removing)
        want_move(world, controller, partition)


# ZkRead.continuation.
#: A state that is read is taken over, and no more; all else follows from the event's phase.
TAKE_OVER = code(-1)
#: ... or the rules decide on it.
DECIDE = code(0)
#: The children that are listed are an event for the queue.
ENQUEUE = code(1)

SomeRequest = TypeVar("SomeRequest", bound=zookeeper_requests.ZooKeeperRequest)


@inner_rule
def _slot_of_request(world: ControlPlane, controller: int, kind: int) -> EventSlot:
    source = controller_process(world, controller)
    return take_slot(world, source, zookeeper_process(world), kind)


@made_by(_slot_of_request)
def new_request(
    world: ControlPlane, controller: int, kind: type[SomeRequest], *sources: Record, **fields: int
) -> SomeRequest:
    """A request of a controller that has still to be issued."""
    return filled(_slot_of_request(world, controller, kind.KIND), kind, sources, fields)


@inner_rule
def sign(
    world: ControlPlane, controller: int, request: zookeeper_requests.ZooKeeperRequest, znode: int
) -> None:
    """Let a request be about a znode, under the session of the controller's broker."""
    state = world.controllers[controller]
    request.broker = controller
    request.session = state.session
    request.correlation_id = state.generation
    request.znode = znode


@inner_rule
def issue(
    world: ControlPlane, controller: int, request: zookeeper_requests.ZooKeeperRequest, znode: int
) -> None:
    """Send a request about a znode, or let it wait for the answers to those before it.

    Source: ZooKeeperClient.handleRequests@2.6.3.
    """
    sign(world, controller, request, znode)
    state = world.controllers[controller]
    state.pending += 1
    if state.pending - state.unsent.length <= state.zookeeper_max_in_flight_requests:
        send(world, request, world.context[0].time_us)
        return
    append_event(world, state.unsent, request)


@inner_rule
def issue_next(world: ControlPlane, controller: int) -> None:
    """An answer has come: send the request that waits for it."""
    state = world.controllers[controller]
    if state.unsent.first == NONE:
        return
    request = take_first(world, state.unsent)
    # It was made when the others were; it leaves, and takes its place in line, now.
    send(world, request, world.context[0].time_us)


@inner_rule
def issue_write(
    world: ControlPlane, controller: int, request: zookeeper_requests.ZkWrite, znode: int
) -> None:
    """Write a znode, unless another controller has taken over (if the release checks that)."""
    state = world.controllers[controller]
    if state.active and world.rules[controller].controller_fenced_by_epoch:
        request.controller_epoch_version = state.epoch_version
    issue(world, controller, request, znode)


@inner_rule
def issue_delete(world: ControlPlane, controller: int, znode: int) -> None:
    """Delete a znode."""
    request = new_request(world, controller, zookeeper_requests.ZkDeleteRequest)
    issue_write(world, controller, request, znode)


@inner_rule
def issue_get(world: ControlPlane, controller: int, znode: int) -> None:
    """Read a znode's content."""
    issue(world, controller, new_request(world, controller, zookeeper_requests.ZkGetRequest), znode)


@inner_rule
def issue_exists(world: ControlPlane, controller: int, znode: int, watch: bool) -> None:
    """Ask whether a znode exists, and watch it if ``watch``."""
    request = new_request(world, controller, zookeeper_requests.ZkExistsRequest, sets_watch=watch)
    issue(world, controller, request, znode)


@inner_rule
def issue_children(world: ControlPlane, controller: int, znode: int) -> None:
    """List the children of a znode, and watch them."""
    request = new_request(world, controller, zookeeper_requests.ZkChildrenRequest, sets_watch=True)
    issue(world, controller, request, znode)


@inner_rule
def issue_for_children(world: ControlPlane, controller: int, listing: int, deletes: bool) -> None:
    """Read or delete all sequential children that a response lists, also those gone by now.

    A znode's place is taken again once it is deleted; its number identifies it.
    """
    if listing == NONE:
        return
    for child in items_of(world, world.events[listing], zookeeper_requests.Child):
        if deletes:
            deletion = new_request(world, controller, zookeeper_requests.ZkDeleteRequest)
            deletion.sequence_number = child.sequence_number
            issue_write(world, controller, deletion, child.znode)
        else:
            read = new_request(world, controller, zookeeper_requests.ZkGetRequest)
            read.sequence_number = child.sequence_number
            issue(world, controller, read, child.znode)
