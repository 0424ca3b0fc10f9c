"""A broker's controller: one event after the other, each in steps between answers.

ZooKeeper's watches and the broker's session bring events. They wait in a queue and are
processed one at a time (Kafka: ``ControllerEventManager``; up to 0.10.2 a lock has the same
effect). An event is a sequence of *phases*: a phase asks ZooKeeper for something, and the
next one begins when all answers are there.

===================  =================================================================
event                what its phases do
===================  =================================================================
ELECT                look whether there is a controller; if not, become it: take the
                     next epoch, read everything, tell everybody, take the dead out of
                     ISRs, elect (``failover.py``)
BROKER_CHANGE        list the brokers; start up those that appeared, then deal with the
                     failure of those that are gone (``broker_changes.py``)
TOPIC_CHANGE         list the topics; give new partitions a leader and an ISR
ISR_CHANGE           list and read the notifications, read the states that they name,
                     tell the brokers, delete the notifications
                     (``notification_changes.py``)
SHUT_DOWN_BROKER     move leaders away from a broker that is to stop, and take it out of
                     ISRs (``broker_shutdowns.py``)
PREFERRED_ELECTION   let preferred replicas lead, as somebody asks
AUTO_REBALANCE       ... or as too many are led by others (``preferred_elections.py``)
ELECT_UNCLEANLY      elect where there is no leader, as a topic now allows it
ALTER_PARTITION      write the ISRs that a leader proposes (``alter_partition.py``)
REASSIGNMENT_*       move replicas: somebody asks for it, an ISR has changed, brokers have
                     come that it waited for (``reassignments.py``)
LOG_DIR_CHANGE       ask a broker which of its replicas are offline: a log directory failed
LEADER_AND_ISR_*     ... and elect others, as it has answered (``log_dir_changes.py``)
TOPIC_DELETION_*,    delete topics: somebody asks for it, or something may go on; brokers have
REPLICAS_DELETED     deleted logs (``topic_deletions.py``)
===================  =================================================================
"""

from __future__ import annotations

from tidegauge.controller.alter_partition import (
    advance_alter_partition,
    answer_alter_partition,
    fail_what_is_written,
    take_altered_state,
)
from tidegauge.controller.assignments import know_assignment, note_isr_change
from tidegauge.controller.broker_changes import advance_broker_change
from tidegauge.controller.broker_shutdowns import advance_broker_shutdown, answer_shutdown
from tidegauge.controller.channels import (
    handle_control_gives_up,
    handle_control_retries,
    is_answer_awaited,
    lose_channel,
    take_control_response,
)
from tidegauge.controller.failover import advance_election, give_up_context, resign
from tidegauge.controller.log_dir_changes import (
    advance_log_dir_change,
    advance_offline_replicas,
    note_log_dir_event,
    note_offline_replicas,
)
from tidegauge.controller.notification_changes import advance_isr_change, note_notification
from tidegauge.controller.partition_changes import take_state_answer
from tidegauge.controller.phases import ALTER_PARTITION as ALTER
from tidegauge.controller.phases import (
    AUTO_REBALANCE,
    BROKER_CHANGE,
    ELECT,
    ELECT_UNCLEANLY,
    ISR_CHANGE,
    LEADER_AND_ISR_RESPONSE,
    LOG_DIR_CHANGE,
    PREFERRED_ELECTION,
    REASSIGNMENT_ASKED_FOR,
    REASSIGNMENT_ISR_CHANGE,
    REASSIGNMENT_RESUMED,
    REPLICAS_DELETED,
    SHUT_DOWN_BROKER,
    TOPIC_CHANGE,
    TOPIC_DELETION_ASKED_FOR,
    TOPIC_DELETION_RESUMED,
)
from tidegauge.controller.preferred_elections import (
    advance_auto_rebalance,
    advance_preferred_election,
    note_preferred_election,
)
from tidegauge.controller.reassignments import (
    advance_reassignment,
    take_asked_moves,
)
from tidegauge.controller.state import Controller, ControlPlane, broker_at, partition_at
from tidegauge.controller.topic_changes import advance_topic_change, advance_unclean_election
from tidegauge.controller.topic_deletions import (
    advance_topic_deletion,
    note_deleted_replicas,
    note_listed_deletions,
)
from tidegauge.controller.zookeeper_requests import issue_next, new_request
from tidegauge.replication import errors
from tidegauge.replication.compiled import inner_rule
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.costs import (
    CONTROLLER_ELECTION,
    CONTROLLER_EVENT_COST,
    CONTROLLER_PARTITION_COST,
    cost_us,
)
from tidegauge.simulation.events import (
    append_event,
    free_event,
    new_event,
    set_timer,
    take_first,
)
from tidegauge.simulation.faults import CRASH, POWER_LOSS, dies, lives, refuse_connection
from tidegauge.simulation.kernel import NONE, Event, Kernel
from tidegauge.simulation.kinds import (
    ALTER_PARTITION,
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
    ZK_SET,
    ZK_WATCH,
)
from tidegauge.simulation.links import send
from tidegauge.simulation.row_kinds import CONTROLLER_EVENT, CONTROLLER_EVENT_DONE
from tidegauge.simulation.rows import new_row, write_canonical
from tidegauge.simulation.topology import (
    BROKER_IDS_ZNODE,
    CONTROLLER_ZNODE,
    NOTIFICATIONS_ZNODE,
    PREFERRED_ELECTION_ZNODE,
    TOPICS_ZNODE,
    Topology,
    controller_process,
    delete_topics_znode,
    log_dir_events_znode,
    reassign_partitions_znode,
)
from tidegauge.simulation.zookeeper_errors import CONTROLLER_MOVED, SESSION_EXPIRED


@inner_rule
def handle_controller_event(
    kernel: Kernel, topology: Topology, plane: ControlPlane, event: Event
) -> None:
    """Let a controller context deal with one event, and give it back unless it is kept."""
    controller = event.destination - topology.sizes[0].brokers
    state = plane.controllers[controller]
    kind = event.kind
    if kind == CONTROLLER_START:
        state.running = True
        state.session = event.value
        _enqueue(kernel, topology, plane, controller, event, ELECT)
    elif not state.running:
        _refuse(kernel, event)
    elif kind == ZK_RESPONSE:
        _take_answer(kernel, topology, plane, controller, event)
    elif kind == ZK_WATCH:
        _take_watch(kernel, topology, plane, controller, event)
    elif kind in (CONTROLLED_SHUTDOWN, UNCLEAN_ELECTION_ENABLED):
        what = SHUT_DOWN_BROKER if kind == CONTROLLED_SHUTDOWN else ELECT_UNCLEANLY
        _enqueue(kernel, topology, plane, controller, event, what)
    elif kind == ALTER_PARTITION:
        _take_alter_partition(kernel, topology, plane, controller, event)
    elif kind == AUTO_LEADER_REBALANCE:
        if state.active and event.controller_epoch == state.controller_epoch:
            _enqueue(kernel, topology, plane, controller, event, AUTO_REBALANCE)
        else:
            free_event(kernel, event)
    elif kind == CONTROL_RESPONSE and event.item_count > 0 and state.context != NONE:
        _take_offline_replicas(kernel, topology, plane, controller, event)
    else:
        _take_other(kernel, topology, plane, controller, event)
        free_event(kernel, event)


@inner_rule
def _take_offline_replicas(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, answer: Event
) -> None:
    """A broker has dealt with a LeaderAndIsr, but for replicas that are offline there.

    Source: LeaderAndIsrResponseReceived@2.6.0.
    """
    is_awaited = is_answer_awaited(topology, plane, controller, answer)
    _use_channel(kernel, topology, plane, controller, answer)
    if is_awaited:
        _enqueue(kernel, topology, plane, controller, answer, LEADER_AND_ISR_RESPONSE)
    else:
        free_event(kernel, answer)


@inner_rule
def _refuse(kernel: Kernel, event: Event) -> None:
    """The broker of this controller does not run, and there is nobody to be asked."""
    has_power = kernel.processes[event.destination].without_power == 0
    if event.kind in (CONTROLLED_SHUTDOWN, ALTER_PARTITION) and has_power:
        refuse_connection(kernel, event)
    free_event(kernel, event)


@inner_rule
def _take_alter_partition(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, request: Event
) -> None:
    """Who is not controller says so at once, whatever its event thread waits for.

    Source: KafkaApis.handleAlterIsrRequest@2.7.0, handleAlterPartitionRequest@3.8.0.
    """
    if plane.controllers[controller].active:
        _enqueue(kernel, topology, plane, controller, request, ALTER)
    else:
        answer_alter_partition(kernel, request, errors.NOT_CONTROLLER)


@inner_rule
def _take_other(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, event: Event
) -> None:
    state = plane.controllers[controller]
    if event.kind == CONTROLLER_WORKS:
        if event.value == state.generation:
            _advance(kernel, topology, plane, controller)
    elif event.kind == SESSION_LOST:
        lose_session(kernel, topology, plane, controller)
    elif event.kind == BROKER_DIED:
        die(kernel, topology, plane, controller)
    elif state.context != NONE:
        _use_channel(kernel, topology, plane, controller, event)


@inner_rule
def _use_channel(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, event: Event
) -> None:
    """What concerns the sending of requests to brokers."""
    if event.kind == CONTROL_RESPONSE:
        deleted = take_control_response(kernel, topology, plane, controller, event)
        if deleted != NONE:
            request = kernel.events[deleted]
            request.time_us = kernel.context[0].time_us
            _enqueue(kernel, topology, plane, controller, request, REPLICAS_DELETED)
    elif event.kind == DISCONNECTED:
        if event.source < topology.sizes[0].brokers:
            lose_channel(kernel, topology, plane, controller, event.source, event.offset)
    elif event.value == plane.controllers[controller].generation:
        if event.kind == CONTROL_RETRIES:
            handle_control_retries(kernel, topology, plane, controller, event)
        elif event.kind == CONTROL_GIVES_UP:
            handle_control_gives_up(kernel, topology, plane, controller, event)


@inner_rule
def _take_watch(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, event: Event
) -> None:
    """A watch has fired: an event for the queue."""
    state = plane.controllers[controller]
    if event.value != state.session:
        free_event(kernel, event)
    elif event.znode == CONTROLLER_ZNODE:
        _enqueue(kernel, topology, plane, controller, event, ELECT)
    elif event.znode == BROKER_IDS_ZNODE:
        _enqueue(kernel, topology, plane, controller, event, BROKER_CHANGE)
    elif event.znode == TOPICS_ZNODE:
        _enqueue(kernel, topology, plane, controller, event, TOPIC_CHANGE)
    elif event.znode == PREFERRED_ELECTION_ZNODE:
        _enqueue(kernel, topology, plane, controller, event, PREFERRED_ELECTION)
    elif _is_of_log_dirs(topology, event.znode):
        _enqueue(kernel, topology, plane, controller, event, LOG_DIR_CHANGE)
    elif event.znode != NOTIFICATIONS_ZNODE:
        _take_watch_of_moves(kernel, topology, plane, controller, event)
    elif plane.rules[controller].notifications_listed_anew or not state.active:
        _enqueue(kernel, topology, plane, controller, event, ISR_CHANGE)
    else:
        # The thread of the ZooKeeper client lists the children, whatever the controller does.
        request = new_request(kernel, topology, plane, controller, ZK_CHILDREN, NOTIFICATIONS_ZNODE)
        request.acks = 1
        request.wait_ms = 1
        send(kernel, request, kernel.context[0].time_us)
        free_event(kernel, event)


@inner_rule
def _is_of_log_dirs(topology: Topology, znode: int) -> bool:
    return topology.sizes[0].log_dir_znodes > 0 and znode == log_dir_events_znode(topology)


@inner_rule
def _take_watch_of_moves(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, event: Event
) -> None:
    """Replicas are to be moved, a topic is to be deleted, or the ISR of what moves has changed.

    Source: PartitionReassignmentHandler, PartitionReassignmentIsrChangeHandler and
    TopicDeletionHandler@2.4.0.
    """
    if event.znode == delete_topics_znode(topology):
        _enqueue(kernel, topology, plane, controller, event, TOPIC_DELETION_ASKED_FOR)
    elif event.znode != reassign_partitions_znode(topology):
        _enqueue(kernel, topology, plane, controller, event, REASSIGNMENT_ISR_CHANGE)
    elif event.count == 1:
        _enqueue(kernel, topology, plane, controller, event, REASSIGNMENT_ASKED_FOR)
    else:
        # It was written or deleted, by the controller itself.
        free_event(kernel, event)


@inner_rule
def _enqueue(
    kernel: Kernel,
    topology: Topology,
    plane: ControlPlane,
    controller: int,
    event: Event,
    what: int,
) -> None:
    state = plane.controllers[controller]
    event.phase = what
    append_event(kernel, state.queue, event)
    if state.event == NONE:
        _begin_next(kernel, topology, plane, controller)


@inner_rule
def _begin_next(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    """Take the next event from the queue, if there is one.

    Source: ControllerEventManager.ControllerEventThread.doWork@2.4.0.
    """
    state = plane.controllers[controller]
    if state.queue.first == NONE:
        return
    event = take_first(kernel, state.queue)
    state.event = event.phase
    state.done = event.phase
    state.phase = 0
    context = kernel.context[0]
    state.taken_us = context.time_us
    if state.active:
        written = new_row(kernel, controller_process(topology, controller), CONTROLLER_EVENT)
        written.values[0] = event.phase
        written.values[1] = state.queue.length
        written.values[2] = context.time_us - event.time_us
        write_canonical(kernel, written)
    if event.kind == ZK_RESPONSE:
        state.listing = event.index
    elif event.kind in (CONTROLLED_SHUTDOWN, ALTER_PARTITION):
        state.request = event.index
    else:
        if event.kind == UNCLEAN_ELECTION_ENABLED:
            state.topic = event.offset
        elif event.phase == REPLICAS_DELETED and state.active:
            note_deleted_replicas(kernel, topology, plane, controller, event)
        elif event.phase == LEADER_AND_ISR_RESPONSE and state.active:
            note_offline_replicas(kernel, topology, plane, controller, event)
        elif event.phase == REASSIGNMENT_ISR_CHANGE and state.active:
            note_isr_change(topology, plane, controller, event.znode)
        free_event(kernel, event)
    process = controller_process(topology, controller)
    cost = CONTROLLER_ELECTION if state.event == ELECT else CONTROLLER_EVENT_COST
    _work(kernel, plane, controller, process, cost_us(kernel, process, cost))


@inner_rule
def _work(kernel: Kernel, plane: ControlPlane, controller: int, process: int, work_us: int) -> None:
    """Let the controller's own work take its time, then go on."""
    timer = new_event(kernel, process, process, CONTROLLER_WORKS)
    timer.value = plane.controllers[controller].generation
    set_timer(kernel, timer, kernel.context[0].time_us + work_us)


@inner_rule
def _advance(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    """Go through the phases of the event until answers have to be waited for."""
    state = plane.controllers[controller]
    if state.moved:
        # Source: KafkaController.process@2.4.0 after a ControllerMovedException; but with
        # AlterPartition the leader is told so, and the watch on /controller does the rest.
        state.moved = False
        if state.event != ALTER:
            resign(kernel, topology, plane, controller)
        else:
            kernel.events[state.request].error = errors.UNKNOWN_SERVER_ERROR
        _end_event(kernel, plane, controller)
    while state.event != NONE and state.pending == 0 and state.work_us == 0:
        if state.event in (ELECT, SHUT_DOWN_BROKER, ALTER):
            _advance_anyway(kernel, topology, plane, controller)
        elif not state.active:
            state.event = NONE
        else:
            _advance_as_controller(kernel, topology, plane, controller)
    if state.event == NONE:
        _end_event(kernel, plane, controller)
        if state.active:
            _write_end(kernel, topology, plane, controller)
        _begin_next(kernel, topology, plane, controller)
    elif state.pending == 0:
        _go_on(kernel, topology, plane, controller)


@inner_rule
def _advance_anyway(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int
) -> None:
    """Go on with an event that also those deal with who are not controller."""
    event = plane.controllers[controller].event
    if event == ELECT:
        advance_election(kernel, topology, plane, controller)
    elif event == SHUT_DOWN_BROKER:
        advance_broker_shutdown(kernel, topology, plane, controller)
    else:
        advance_alter_partition(kernel, topology, plane, controller)


@inner_rule
def _advance_as_controller(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int
) -> None:
    event = plane.controllers[controller].event
    if event == BROKER_CHANGE:
        advance_broker_change(kernel, topology, plane, controller)
    elif event == TOPIC_CHANGE:
        advance_topic_change(kernel, topology, plane, controller)
    elif event == ISR_CHANGE:
        advance_isr_change(kernel, topology, plane, controller)
    elif event == PREFERRED_ELECTION:
        advance_preferred_election(kernel, topology, plane, controller)
    elif event in (REASSIGNMENT_ASKED_FOR, REASSIGNMENT_RESUMED, REASSIGNMENT_ISR_CHANGE):
        advance_reassignment(kernel, topology, plane, controller)
    elif event in (TOPIC_DELETION_ASKED_FOR, TOPIC_DELETION_RESUMED, REPLICAS_DELETED):
        advance_topic_deletion(kernel, topology, plane, controller)
    elif event in (LOG_DIR_CHANGE, LEADER_AND_ISR_RESPONSE):
        _advance_log_dirs(kernel, topology, plane, controller, event)
    elif event == ELECT_UNCLEANLY:
        advance_unclean_election(kernel, topology, plane, controller)
    else:
        advance_auto_rebalance(kernel, topology, plane, controller)


@inner_rule
def _advance_log_dirs(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, event: int
) -> None:
    if event == LOG_DIR_CHANGE:
        advance_log_dir_change(kernel, topology, plane, controller)
    else:
        advance_offline_replicas(kernel, topology, plane, controller)


@inner_rule
def _write_end(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    state = plane.controllers[controller]
    written = new_row(kernel, controller_process(topology, controller), CONTROLLER_EVENT_DONE)
    written.values[0] = state.done
    written.values[1] = kernel.context[0].time_us - state.taken_us
    write_canonical(kernel, written)


@inner_rule
def _end_event(kernel: Kernel, plane: ControlPlane, controller: int) -> None:
    """Nothing is processed any more, and what the event has brought is given back."""
    state = plane.controllers[controller]
    state.event = NONE
    state.work_us = 0
    _forget_listing(kernel, state)
    if state.request != NONE:
        # Whoever resigns says so; a process that has died says nothing.
        request = kernel.events[state.request]
        state.request = NONE
        _give_up_request(kernel, state, request)


@inner_rule
def _forget_listing(kernel: Kernel, state: Controller) -> None:
    if state.listing != NONE:
        free_event(kernel, kernel.events[state.listing])
        state.listing = NONE
    if state.log_dir_listing != NONE:
        free_event(kernel, kernel.events[state.log_dir_listing])
        state.log_dir_listing = NONE


@inner_rule
def _take_answer(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, answer: Event
) -> None:
    """Take an answer of ZooKeeper; the last of a phase lets the event go on."""
    state = plane.controllers[controller]
    if answer.request != state.generation or answer.error == SESSION_EXPIRED:
        free_event(kernel, answer)
        return
    if answer.value == ZK_CHILDREN and answer.wait_ms == 1:
        _enqueue(kernel, topology, plane, controller, answer, ISR_CHANGE)
        return
    state.pending -= 1
    state.answers += 1
    state.answer_error = answer.error
    state.answer_version = answer.version
    state.answer_broker = answer.broker
    if answer.error == CONTROLLER_MOVED:
        state.moved = True
    issue_next(kernel, plane, controller)
    if _is_of_log_dirs(topology, answer.znode):
        state.log_dir_listing = answer.index
        _go_on(kernel, topology, plane, controller)
        return
    if answer.value == ZK_SET and state.event == ALTER:
        take_altered_state(kernel, plane, controller, answer)
    elif answer.partition != UNDEFINED:
        take_state_answer(kernel, topology, plane, controller, answer)
    elif answer.value == ZK_CHILDREN and answer.znode == NOTIFICATIONS_ZNODE:
        _forget_listing(kernel, state)
        state.listing = answer.index
        _go_on(kernel, topology, plane, controller)
        return
    elif answer.value == ZK_CHILDREN:
        _note_listed(kernel, topology, plane, controller, answer)
    elif answer.item_count > 0:
        _note_content(kernel, topology, plane, controller, answer)
    free_event(kernel, answer)
    _go_on(kernel, topology, plane, controller)


@inner_rule
def _go_on(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    state = plane.controllers[controller]
    if state.pending == 0:
        process = controller_process(topology, controller)
        partition_us = cost_us(kernel, process, CONTROLLER_PARTITION_COST)
        work_us = state.work_us + state.answers * partition_us
        state.answers = 0
        state.work_us = 0
        _work(kernel, plane, controller, process, work_us)


@inner_rule
def _note_listed(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, answer: Event
) -> None:
    if answer.znode == BROKER_IDS_ZNODE:
        _note_listed_brokers(kernel, topology, plane, controller, answer)
    elif answer.znode == TOPICS_ZNODE:
        _note_listed_topics(kernel, topology, plane, controller, answer)
    else:
        note_listed_deletions(kernel, topology, plane, controller, answer)


@inner_rule
def _note_listed_brokers(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, answer: Event
) -> None:
    for broker in range(topology.sizes[0].brokers):
        broker_at(topology, plane, controller, broker).listed_epoch = UNDEFINED
    cursor = answer.first_item
    while cursor != NONE:
        item = kernel.items[cursor]
        cursor = item.next
        broker_at(topology, plane, controller, item.partition).listed_epoch = item.offset


@inner_rule
def _note_listed_topics(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, answer: Event
) -> None:
    """Know the partitions of all topics that are listed; those not known before are new."""
    cursor = answer.first_item
    while cursor != NONE:
        item = kernel.items[cursor]
        cursor = item.next
        known = partition_at(topology, plane, controller, item.partition)
        if not known.known:
            know_assignment(known, item)


@inner_rule
def _note_content(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, answer: Event
) -> None:
    """Take what a znode holds: the controller epoch, or the partitions of a notification."""
    state = plane.controllers[controller]
    if state.event == ELECT:
        state.answer_epoch = kernel.items[answer.first_item].controller_epoch
        return
    if state.event == PREFERRED_ELECTION:
        note_preferred_election(kernel, topology, plane, controller, answer)
        return
    if state.event in (REASSIGNMENT_ASKED_FOR, REASSIGNMENT_RESUMED, REASSIGNMENT_ISR_CHANGE):
        take_asked_moves(kernel, topology, plane, controller, answer)
        return
    if state.event == LOG_DIR_CHANGE:
        note_log_dir_event(kernel, topology, plane, controller, answer.broker)
        return
    note_notification(kernel, topology, plane, controller, answer)


@inner_rule
def lose_session(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    """The session is gone: what was under way is void, and this is no controller any more.

    Source: KafkaController.processExpire@2.4.0.
    """
    resign(kernel, topology, plane, controller)
    _void(kernel, topology, plane, controller)


@inner_rule
def die(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    """The process is gone, and all that it knew as a controller."""
    plane.controllers[controller].running = False
    _void(kernel, topology, plane, controller)


@inner_rule
def _void(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    """Nothing is under way any more, nothing is known; answers to come are for nobody."""
    state = plane.controllers[controller]
    state.generation += 1
    state.session = UNDEFINED
    state.pending = 0
    state.answers = 0
    give_up_context(kernel, topology, plane, controller)
    _end_event(kernel, plane, controller)
    while state.queue.first != NONE:
        event = take_first(kernel, state.queue)
        if event.kind == CONTROLLED_SHUTDOWN:
            _give_up_request(kernel, state, event)
        else:
            free_event(kernel, event)


@inner_rule
def _give_up_request(kernel: Kernel, state: Controller, request: Event) -> None:
    """Source: ControllerEventManager.clearAndPut@2.6.3.

    An AlterPartition that has still been in the queue gets no answer at all.
    """
    if state.running and request.kind == ALTER_PARTITION:
        fail_what_is_written(kernel, request)
        answer_alter_partition(kernel, request, request.error)
    elif state.running:
        answer_shutdown(kernel, request, errors.STALE_CONTROLLER_EPOCH, UNDEFINED)
    else:
        free_event(kernel, request)


@inner_rule
def take_controller_fault(
    kernel: Kernel, topology: Topology, plane: ControlPlane, event: Event
) -> None:
    """A fault has begun at a controller: with its broker's process it dies, too."""
    kind = kernel.faults[event.value].kind
    if event.kind == FAULT_BEGIN and kind in (CRASH, POWER_LOSS):
        dies(kernel, event.destination)
        # Its place is not a process of its own: it waits for the broker to come back.
        lives(kernel, event.destination)
        die(kernel, topology, plane, event.destination - topology.sizes[0].brokers)
