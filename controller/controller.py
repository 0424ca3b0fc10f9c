"""A broker's controller: what it does with each event that reaches it.

ZooKeeper's watches, its answers and the broker's session bring events; those that are worth a
decision go into the queue (``event_queue.py``) and are processed one at a time.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.event_queue import advance, end_event, enqueue, give_up_request
from tidegauge.controller.events.alter_partition import answer_alter_partition
from tidegauge.controller.events.failover import give_up_context, resign
from tidegauge.controller.partitions.channels import (
    handle_control_gives_up,
    handle_control_retries,
    is_answer_awaited,
    lose_channel,
    take_control_response,
)
from tidegauge.controller.state.control_plane import ControlPlane
from tidegauge.controller.state.zookeeper_requests import new_request
from tidegauge.controller.zookeeper_responses import take_answer
from tidegauge.replication import errors
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.codes.controller_events import ALTER_PARTITION as ALTER
from tidegauge.simulation.codes.controller_events import (
    AUTO_REBALANCE,
    BROKER_CHANGE,
    ELECT,
    ELECT_UNCLEANLY,
    ISR_CHANGE,
    LEADER_AND_ISR_RESPONSE,
    LOG_DIR_CHANGE,
    PREFERRED_ELECTION,
    REASSIGNMENT_ALTERED,
    REASSIGNMENT_ASKED_FOR,
    REASSIGNMENT_ISR_CHANGE,
    REPLICAS_DELETED,
    SHUT_DOWN_BROKER,
    TOPIC_CHANGE,
    TOPIC_DELETION_ASKED_FOR,
)
from tidegauge.simulation.events import free_event, take_first
from tidegauge.simulation.faults import RESTART, dies, lives, refuse_connection
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.kinds import (
    ALTER_PARTITION,
    ALTER_REASSIGNMENTS,
    AUTO_LEADER_REBALANCE,
    BROKER_DIED,
    CONTROL_GIVES_UP,
    CONTROL_RESPONSE,
    CONTROL_RETRIES,
    CONTROLLED_SHUTDOWN,
    CONTROLLER_START,
    CONTROLLER_WORKS,
    DISCONNECTED,
    FAULT_BEGIN,
    SESSION_LOST,
    UNCLEAN_ELECTION_ENABLED,
    ZK_CHILDREN,
    ZK_RESPONSE,
    ZK_WATCH,
)
from tidegauge.simulation.zookeeper_tree import (
    BROKER_IDS_ZNODE,
    CONTROLLER_ZNODE,
    LOG_DIR_EVENTS,
    NOTIFICATIONS_ZNODE,
    PREFERRED_ELECTION_ZNODE,
    TOPICS_ZNODE,
    delete_topics_znode,
    is_in,
    reassign_partitions_znode,
)


@inner_rule
def handle_controller_event(world: ControlPlane, event: Event) -> None:
    """Let a controller context deal with one event, and give it back unless it is kept."""
    controller = world.processes[event.destination].number
    state = world.controllers[controller]
    kind = event.kind
    if kind == CONTROLLER_START:
        state.running = True
        state.session = event.value
        enqueue(world, controller, event, ELECT)
    elif not state.running:
        _refuse(world, event)
    elif kind == ZK_RESPONSE:
        take_answer(world, controller, event)
    elif kind == ZK_WATCH:
        _take_watch(world, controller, event)
    elif kind == CONTROLLED_SHUTDOWN:
        enqueue(world, controller, event, SHUT_DOWN_BROKER)
    elif kind == ALTER_PARTITION:
        _take_alter_partition(world, controller, event)
    elif kind in (AUTO_LEADER_REBALANCE, ALTER_REASSIGNMENTS, UNCLEAN_ELECTION_ENABLED):
        _take_demand(world, controller, event)
    elif kind == CONTROL_RESPONSE and event.item_count > 0 and state.context != NONE:
        _take_offline_replicas(world, controller, event)
    else:
        _take_other(world, controller, event)
        free_event(world, event)


@inner_rule
def _take_demand(world: ControlPlane, controller: int, event: Event) -> None:
    """The controller is to do something of itself, or as an operator wants it."""
    state = world.controllers[controller]
    if event.kind == ALTER_REASSIGNMENTS:
        enqueue(world, controller, event, REASSIGNMENT_ALTERED)
    elif event.kind == UNCLEAN_ELECTION_ENABLED:
        enqueue(world, controller, event, ELECT_UNCLEANLY)
    elif state.active and event.controller_epoch == state.controller_epoch:
        enqueue(world, controller, event, AUTO_REBALANCE)
    else:
        free_event(world, event)


@inner_rule
def _take_offline_replicas(world: ControlPlane, controller: int, answer: Event) -> None:
    """A broker has dealt with a LeaderAndIsr, but for replicas that are offline there.

    Source: LeaderAndIsrResponseReceived@2.6.0.
    """
    is_awaited = is_answer_awaited(world, controller, answer)
    _use_channel(world, controller, answer)
    if is_awaited:
        enqueue(world, controller, answer, LEADER_AND_ISR_RESPONSE)
    else:
        free_event(world, answer)


@inner_rule
def _refuse(world: Kernel, event: Event) -> None:
    """The broker of this controller does not run, and there is nobody to be asked."""
    has_power = world.processes[event.destination].without_power == 0
    if event.kind in (CONTROLLED_SHUTDOWN, ALTER_PARTITION) and has_power:
        refuse_connection(world, event)
    free_event(world, event)


@inner_rule
def _take_alter_partition(world: ControlPlane, controller: int, request: Event) -> None:
    """Who is not controller says so at once, whatever its event thread waits for.

    Source: KafkaApis.handleAlterIsrRequest@2.7.0, handleAlterPartitionRequest@3.8.0.
    """
    if world.controllers[controller].active:
        enqueue(world, controller, request, ALTER)
    else:
        answer_alter_partition(world, request, errors.NOT_CONTROLLER)


@inner_rule
def _take_other(world: ControlPlane, controller: int, event: Event) -> None:
    state = world.controllers[controller]
    if event.kind == CONTROLLER_WORKS:
        if event.value == state.generation:
            advance(world, controller)
    elif event.kind == SESSION_LOST:
        lose_session(world, controller)
    elif event.kind == BROKER_DIED:
        die(world, controller)
    elif state.context != NONE:
        _use_channel(world, controller, event)


@inner_rule
def _use_channel(world: ControlPlane, controller: int, event: Event) -> None:
    """What concerns the sending of requests to brokers."""
    if event.kind == CONTROL_RESPONSE:
        deleted = take_control_response(world, controller, event)
        if deleted != NONE:
            request = world.events[deleted]
            request.time_us = world.context[0].time_us
            enqueue(world, controller, request, REPLICAS_DELETED)
    elif event.kind == DISCONNECTED:
        if event.source < world.sizes[0].brokers:
            lose_channel(world, controller, event.source, event.offset)
    elif event.value == world.controllers[controller].generation:
        if event.kind == CONTROL_RETRIES:
            handle_control_retries(world, controller, event)
        elif event.kind == CONTROL_GIVES_UP:
            handle_control_gives_up(world, controller, event)


@inner_rule
def _take_watch(world: ControlPlane, controller: int, event: Event) -> None:
    """A watch has fired: an event for the queue."""
    state = world.controllers[controller]
    if event.value != state.session:
        free_event(world, event)
    elif event.znode == CONTROLLER_ZNODE:
        enqueue(world, controller, event, ELECT)
    elif event.znode == BROKER_IDS_ZNODE:
        enqueue(world, controller, event, BROKER_CHANGE)
    elif event.znode == TOPICS_ZNODE:
        enqueue(world, controller, event, TOPIC_CHANGE)
    elif event.znode == PREFERRED_ELECTION_ZNODE:
        enqueue(world, controller, event, PREFERRED_ELECTION)
    elif is_in(world, LOG_DIR_EVENTS, event.znode):
        enqueue(world, controller, event, LOG_DIR_CHANGE)
    elif event.znode != NOTIFICATIONS_ZNODE:
        _take_watch_of_moves(world, controller, event)
    elif world.rules[controller].notifications_listed_anew or not state.active:
        enqueue(world, controller, event, ISR_CHANGE)
    else:
        # The thread of the ZooKeeper client lists the children, whatever the controller does.
        request = new_request(world, controller, ZK_CHILDREN, NOTIFICATIONS_ZNODE)
        request.acks = 1
        request.wait_ms = 1
        send(world, request, world.context[0].time_us)
        free_event(world, event)


@inner_rule
def _take_watch_of_moves(world: ControlPlane, controller: int, event: Event) -> None:
    """Replicas are to be moved, a topic is to be deleted, or the ISR of what moves has changed.

    Source: PartitionReassignmentHandler, PartitionReassignmentIsrChangeHandler and
    TopicDeletionHandler@2.4.0.
    """
    if event.znode == delete_topics_znode(world):
        enqueue(world, controller, event, TOPIC_DELETION_ASKED_FOR)
    elif event.znode != reassign_partitions_znode(world):
        enqueue(world, controller, event, REASSIGNMENT_ISR_CHANGE)
    elif event.count == 1:
        enqueue(world, controller, event, REASSIGNMENT_ASKED_FOR)
    else:
        # It was written or deleted, by the controller itself.
        free_event(world, event)


@inner_rule
def lose_session(world: ControlPlane, controller: int) -> None:
    """The session is gone: what was under way is void, and this is no controller any more.

    Source: KafkaController.processExpire@2.4.0.
    """
    resign(world, controller)
    _void(world, controller)


@inner_rule
def die(world: ControlPlane, controller: int) -> None:
    """The process is gone, and all that it knew as a controller."""
    state = world.controllers[controller]
    state.running = False
    state.leader_elections = 0
    state.unclean_elections = 0
    _void(world, controller)


@inner_rule
def _void(world: ControlPlane, controller: int) -> None:
    """Nothing is under way any more, nothing is known; answers to come are for nobody."""
    state = world.controllers[controller]
    state.generation += 1
    state.session = UNDEFINED
    state.pending = 0
    state.answers = 0
    give_up_context(world, controller)
    end_event(world, controller)
    while state.queue.first != NONE:
        event = take_first(world, state.queue)
        if event.kind == CONTROLLED_SHUTDOWN:
            give_up_request(world, state, event)
        else:
            free_event(world, event)


@inner_rule
def take_controller_fault(world: ControlPlane, event: Event) -> None:
    """A fault has begun at a controller: with its broker's process it dies, too."""
    fault = world.faults[event.value]
    if event.kind == FAULT_BEGIN and fault.stops and fault.kind != RESTART:
        dies(world, event.destination)
        # Its place is not a process of its own: it waits for the broker to come back.
        lives(world, event.destination)
        die(world, world.processes[event.destination].number)
