"""A broker's controller: the handlers of the events that reach it.

ZooKeeper's watches, its answers and the broker's session bring events; those that are worth a
decision go into the queue (``event_queue.py``) and are processed one at a time.
"""

from tidegauge.compiled.rules import inner_rule, rule
from tidegauge.controller import zookeeper_responses  # noqa: F401 - its handler
from tidegauge.controller.event_queue import advance, end_event, enqueue, give_up_request
from tidegauge.controller.events.alter_partition import answer_alter_partition
from tidegauge.controller.events.failover import give_up_context, resign
from tidegauge.controller.partitions.channels import is_response_awaited, take_control_response
from tidegauge.controller.state.assignments import ENQUEUE, new_request, sign
from tidegauge.controller.state.control_plane import ControlPlane
from tidegauge.controller.state.handlers import CONTROLLER
from tidegauge.replication import errors
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation import zookeeper_tree
from tidegauge.simulation.events import free_event, take_first
from tidegauge.simulation.faults import RESTART, dies, lives, refuse_connection
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import controller_timers
from tidegauge.simulation.messages.controller_requests import (
    AlterPartitionRequest,
    AlterReassignmentsRequest,
    ControlledShutdownRequest,
    ControlResponse,
    UncleanElectionRequest,
)
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.timers import FaultBegin, FaultChange
from tidegauge.simulation.messages.zookeeper_requests import ZkChildrenRequest, ZkWatch
from tidegauge.simulation.topology import upgrade
from tidegauge.simulation.trace_rows import codes
from tidegauge.simulation.trace_rows.codes import ALTER_PARTITION as ALTER


@CONTROLLER.handles(controller_timers.ControllerStart)
@inner_rule
def handle_controller_start(world: ControlPlane, news: controller_timers.ControllerStart) -> bool:
    """The broker of this controller has a session: read /controller."""
    controller = world.processes[news.destination].number
    state = world.controllers[controller]
    state.running = True
    state.session = news.session
    enqueue(world, controller, news, codes.ELECT)
    return True


@CONTROLLER.handles(controller_timers.ControllerWorks)
@inner_rule
def handle_controller_works(world: ControlPlane, timer: controller_timers.ControllerWorks) -> bool:
    """Resume the event that is being processed."""
    controller = world.processes[timer.destination].number
    if timer.generation == world.controllers[controller].generation:
        advance(world, controller)
    return False


@CONTROLLER.handles(ControlledShutdownRequest)
@inner_rule
def handle_controlled_shutdown(world: ControlPlane, request: ControlledShutdownRequest) -> bool:
    """Source: KafkaApis.handleControlledShutdownRequest@2.4.0."""
    controller = world.processes[request.destination].number
    enqueue(world, controller, request, codes.SHUT_DOWN_BROKER)
    return True


@CONTROLLER.handles(AlterPartitionRequest)
@inner_rule
def handle_alter_partition(world: ControlPlane, request: AlterPartitionRequest) -> bool:
    """A broker that is not the controller answers so at once, whatever its event thread waits for.

    Source: KafkaApis.handleAlterIsrRequest@2.7.0, handleAlterPartitionRequest@3.8.0.
    """
    controller = world.processes[request.destination].number
    if world.controllers[controller].active:
        enqueue(world, controller, request, ALTER)
    else:
        answer_alter_partition(world, request, errors.NOT_CONTROLLER)
    return True


@CONTROLLER.handles(AlterReassignmentsRequest)
@inner_rule
def handle_alter_reassignments(world: ControlPlane, request: AlterReassignmentsRequest) -> bool:
    """Source: KafkaApis.handleAlterPartitionReassignmentsRequest@2.4.0."""
    controller = world.processes[request.destination].number
    enqueue(world, controller, request, codes.REASSIGNMENT_ALTERED)
    return True


@CONTROLLER.handles(UncleanElectionRequest)
@inner_rule
def handle_unclean_election(world: ControlPlane, request: UncleanElectionRequest) -> bool:
    """Source: KafkaApis.handleElectReplicaLeader@2.4.0 (KIP-460)."""
    controller = world.processes[request.destination].number
    enqueue(world, controller, request, codes.UNCLEAN_ELECTION)
    return True


@CONTROLLER.handles(controller_timers.UncleanElectionEnabled)
@inner_rule
def handle_unclean_election_enabled(
    world: ControlPlane, news: controller_timers.UncleanElectionEnabled
) -> bool:
    """Source: KafkaController.enableTopicUncleanLeaderElection@2.1.0."""
    controller = world.processes[news.destination].number
    enqueue(world, controller, news, codes.ELECT_UNCLEANLY)
    return True


@CONTROLLER.handles(controller_timers.AutoLeaderRebalance)
@inner_rule
def handle_auto_leader_rebalance(
    world: ControlPlane, timer: controller_timers.AutoLeaderRebalance
) -> bool:
    """Check the balance of leaders, unless the term is over in which the timer was set."""
    controller = world.processes[timer.destination].number
    state = world.controllers[controller]
    if not state.active or timer.controller_epoch != state.controller_epoch:
        return False
    enqueue(world, controller, timer, codes.AUTO_REBALANCE)
    return True


@CONTROLLER.handles(ControlResponse)
@inner_rule
def handle_control_response(world: ControlPlane, response: ControlResponse) -> bool:
    """A broker has dealt with a request, but for replicas that are offline there.

    Source: LeaderAndIsrResponseReceived@2.6.0.
    """
    controller = world.processes[response.destination].number
    if world.controllers[controller].context == NONE:
        return False
    is_awaited = is_response_awaited(world, controller, response)
    deleted = take_control_response(world, controller, response)
    if deleted != NONE:
        request = world.events[deleted]
        request.time_us = world.context[0].time_us
        enqueue(world, controller, request, codes.REPLICAS_DELETED)
    if is_awaited and response.item_count > 0:
        enqueue(world, controller, response, codes.LEADER_AND_ISR_RESPONSE)
        return True
    return False


@CONTROLLER.handles(ZkWatch)
@inner_rule
def handle_watch(world: ControlPlane, watch: ZkWatch) -> bool:
    """A watch has fired: an event for the queue."""
    controller = world.processes[watch.destination].number
    if watch.session != world.controllers[controller].session:
        return False
    if watch.znode == zookeeper_tree.NOTIFICATIONS_ZNODE:
        return _take_watch_of_notifications(world, controller, watch)
    what = _event_of(world, watch)
    if what == NONE:
        return False
    enqueue(world, controller, watch, what)
    return True


@inner_rule
def _take_watch_of_notifications(world: ControlPlane, controller: int, watch: ZkWatch) -> bool:
    """The children are listed by the event; up to 1.0 by the thread of the ZooKeeper client.

    That does it whatever the controller does.
    """
    state = world.controllers[controller]
    if world.rules[controller].notifications_listed_anew or not state.active:
        enqueue(world, controller, watch, codes.ISR_CHANGE)
        return True
    request = new_request(world, controller, ZkChildrenRequest)
    request.sets_watch = True
    request.continuation = ENQUEUE
    sign(world, controller, request, zookeeper_tree.NOTIFICATIONS_ZNODE)
    send(world, request, world.context[0].time_us)
    return False


@inner_rule
def _event_of(world: ControlPlane, watch: ZkWatch) -> int:
    """The event that a watch makes; NONE: the controller has made the change itself.

    Source: PartitionReassignmentHandler, PartitionReassignmentIsrChangeHandler and
    TopicDeletionHandler@2.4.0.
    """
    znode = watch.znode
    event = NONE
    if znode == zookeeper_tree.CONTROLLER_ZNODE:
        event = codes.ELECT
    elif znode == zookeeper_tree.BROKER_IDS_ZNODE:
        event = codes.BROKER_CHANGE
    elif znode == zookeeper_tree.TOPICS_ZNODE:
        event = codes.TOPIC_CHANGE
    elif znode == zookeeper_tree.PREFERRED_ELECTION_ZNODE:
        event = codes.PREFERRED_ELECTION
    elif zookeeper_tree.is_in(world, zookeeper_tree.LOG_DIR_EVENTS, znode):
        event = codes.LOG_DIR_CHANGE
    elif znode == zookeeper_tree.delete_topics_znode(world):
        event = codes.TOPIC_DELETION_ASKED_FOR
    elif znode != zookeeper_tree.reassign_partitions_znode(world):
        event = codes.REASSIGNMENT_ISR_CHANGE
    elif watch.is_created:
        event = codes.REASSIGNMENT_ASKED_FOR
    return event


@CONTROLLER.handles(controller_timers.SessionLost)
@inner_rule
def handle_session_lost(world: ControlPlane, news: controller_timers.SessionLost) -> bool:
    """The session is gone: its pending operations are void, and this is no controller any more.

    Source: KafkaController.processExpire@2.4.0.
    """
    controller = world.processes[news.destination].number
    resign(world, controller)
    _void(world, controller)
    return False


@CONTROLLER.handles(controller_timers.BrokerDied)
@inner_rule
def handle_broker_died(world: ControlPlane, news: controller_timers.BrokerDied) -> bool:
    """The broker's process is gone, and with it the controller."""
    _die(world, world.processes[news.destination].number)
    return False


@inner_rule
def _die(world: ControlPlane, controller: int) -> None:
    """The process is gone, and all that it knew as a controller."""
    state = world.controllers[controller]
    state.running = False
    state.leader_elections = 0
    state.unclean_elections = 0
    _void(world, controller)


@inner_rule
def _void(world: ControlPlane, controller: int) -> None:
    """Drop all pending operations and all state; later responses are ignored."""
    state = world.controllers[controller]
    state.generation += 1
    state.session = UNDEFINED
    state.pending = 0
    state.answers = 0
    give_up_context(world, controller)
    end_event(world, controller)
    while state.queue.first != NONE:
        event = take_first(world, state.queue)
        if event.kind == ControlledShutdownRequest.KIND:
            give_up_request(world, state, event)
        else:
            free_event(world, event)


@rule
def take_controller_fault(world: ControlPlane, event: FaultChange) -> None:
    """A fault has begun at a controller: it dies with its broker's process.

    Once a restart is over, its broker may have another release.
    """
    fault = world.faults[event.fault]
    controller = world.processes[event.destination].number
    if event.kind != FaultBegin.KIND and not world.controllers[controller].running:
        upgrade(world, controller, fault.upgrade)
    if event.kind == FaultBegin.KIND and fault.stops and fault.kind != RESTART:
        dies(world, event.destination)
        # Its place is not a process of its own: it waits for the broker to come back.
        lives(world, event.destination)
        _die(world, controller)


_handle = CONTROLLER.dispatcher(__name__, "_handle", ControlPlane, Event)


@rule
def handle_controller_event(world: ControlPlane, event: Event) -> None:
    """Let a controller context deal with one event, and give it back unless it is kept."""
    controller = world.processes[event.destination].number
    if (
        not world.controllers[controller].running
        and event.kind != controller_timers.ControllerStart.KIND
    ):
        _refuse(world, event)
    elif not _handle(world, event):
        free_event(world, event)


@inner_rule
def _refuse(world: Kernel, event: Event) -> None:
    """The broker of this controller does not run: the request gets no response."""
    has_power = world.processes[event.destination].without_power == 0
    is_request = event.kind in (ControlledShutdownRequest.KIND, AlterPartitionRequest.KIND)
    if is_request and has_power:
        refuse_connection(world, event)
    free_event(world, event)
