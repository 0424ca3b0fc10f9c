"""The controller's queue: one event after the other, each in steps between answers.

ZooKeeper's watches and the broker's session bring events. They wait in a queue and are
processed one at a time (Kafka: ``ControllerEventManager``; up to 0.10.2 a lock has the same
effect). An event is a sequence of *phases*: a phase asks ZooKeeper for something, and the
next one begins when all answers are there.

===================  =================================================================
event                what its phases do
===================  =================================================================
ELECT                look whether there is a controller; if not, become it: take the
                     next epoch, read everything, tell everybody, take the dead out of
                     ISRs, elect (``events/failover.py``)
BROKER_CHANGE        list the brokers; start up those that appeared, then deal with the
                     failure of those that are gone (``events/broker_changes.py``)
TOPIC_CHANGE         list the topics; give new partitions a leader and an ISR
ISR_CHANGE           list and read the notifications, read the states that they name,
                     tell the brokers, delete the notifications
                     (``events/alter_partition.py``)
SHUT_DOWN_BROKER     move leaders away from a broker that is to stop, and take it out of
                     ISRs (``events/broker_changes.py``)
PREFERRED_ELECTION   let preferred replicas lead, as somebody asks
AUTO_REBALANCE       ... or as too many are led by others (``events/preferred_elections.py``)
UNCLEAN_ELECTION     let any live replica lead where there is no leader, as somebody asks
ELECT_UNCLEANLY      elect where there is no leader, as a topic now allows it
ALTER_PARTITION      write the ISRs that a leader proposes (``events/alter_partition.py``)
REASSIGNMENT_*       move replicas: somebody asks for it, an ISR has changed, brokers have
                     come that it waited for (``events/reassignments.py``)
LOG_DIR_CHANGE       ask a broker which of its replicas are offline: a log directory failed
LEADER_AND_ISR_*     ... and elect others, as it has answered (``events/log_dir_changes.py``)
TOPIC_DELETION_*,    delete topics: somebody asks for it, or something may go on; brokers have
REPLICAS_DELETED     deleted logs (``events/topic_deletions.py``)
===================  =================================================================
"""

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.events.alter_partition import (
    advance_alter_partition,
    advance_isr_change,
    answer_alter_partition,
    fail_what_is_written,
)
from tidegauge.controller.events.broker_changes import (
    advance_broker_change,
    advance_broker_shutdown,
    answer_shutdown,
)
from tidegauge.controller.events.failover import advance_election, resign
from tidegauge.controller.events.log_dir_changes import (
    advance_log_dir_change,
    advance_offline_replicas,
    note_offline_replicas,
)
from tidegauge.controller.events.preferred_elections import (
    advance_auto_rebalance,
    advance_preferred_election,
)
from tidegauge.controller.events.reassignments import advance_reassignment
from tidegauge.controller.events.topic_changes import (
    advance_requested_unclean_election,
    advance_topic_change,
    advance_unclean_election,
    note_altered_moves,
    note_unclean_election,
)
from tidegauge.controller.events.topic_deletions import (
    advance_topic_deletion,
    note_deleted_replicas,
)
from tidegauge.controller.state.assignments import note_isr_change
from tidegauge.controller.state.control_plane import Controller, ControlPlane
from tidegauge.replication import errors
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation import rows
from tidegauge.simulation.events import append_event, free_event, take_first
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.messages import controller_requests
from tidegauge.simulation.messages.controller_timers import ControllerWorks, UncleanElectionEnabled
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.zookeeper_requests import ZkResponse, ZkWatch
from tidegauge.simulation.topology import controller_process
from tidegauge.simulation.trace_rows import codes
from tidegauge.simulation.trace_rows.codes import ALTER_PARTITION as ALTER
from tidegauge.simulation.trace_rows.controller_rows import ControllerEvent, ControllerEventDone


@inner_rule
def enqueue(world: ControlPlane, controller: int, event: Event, what: int) -> None:
    """Let an event wait for its turn, which can be now.

    Source: ControllerEventManager.put@2.4.0.
    """
    state = world.controllers[controller]
    event.phase = what
    # While it waits the controller writes rows about other events.
    event.cause_process = world.context[0].cause_process
    event.cause_sequence = world.context[0].cause_sequence
    append_event(world, state.queue, event)
    if state.event == NONE:
        _begin_next(world, controller)


@inner_rule
def _begin_next(world: ControlPlane, controller: int) -> None:
    """Take the next event from the queue, if there is one.

    Source: ControllerEventManager.ControllerEventThread.doWork@2.4.0.
    """
    state = world.controllers[controller]
    if state.queue.first == NONE:
        return
    event = take_first(world, state.queue)
    rows.caused_by(world, event.cause_process, event.cause_sequence)
    state.event = event.phase
    state.done = event.phase
    state.phase = 0
    context = world.context[0]
    state.taken_us = context.time_us
    if state.active:
        ControllerEvent.write(
            world,
            event_kind=event.phase,
            queue_length=state.queue.length,
            queued_us=context.time_us - event.time_us,
        )
    if event.kind == ZkResponse.KIND:
        state.listing = event.index
    elif event.kind in (
        controller_requests.ControlledShutdownRequest.KIND,
        controller_requests.AlterPartitionRequest.KIND,
    ):
        state.request = event.index
    else:
        _note_content(world, controller, event)
        free_event(world, event)
    process = controller_process(world, controller)
    cost = rows.CONTROLLER_ELECTION if state.event == codes.ELECT else rows.CONTROLLER_EVENT_COST
    ControllerWorks.after(world, rows.cost_us(world, process, cost), world.controllers[controller])


@inner_rule
def _note_content(world: ControlPlane, controller: int, event: Event) -> None:
    """Take the parts of an event that are not kept; only the controller needs them."""
    state = world.controllers[controller]
    if event.kind == UncleanElectionEnabled.KIND:
        state.topic = view_as(event, UncleanElectionEnabled).topic
    elif not state.active:
        return
    elif event.phase == codes.REPLICAS_DELETED:
        note_deleted_replicas(
            world, controller, view_as(event, controller_requests.StopReplicaRequest)
        )
    elif event.phase == codes.LEADER_AND_ISR_RESPONSE:
        note_offline_replicas(
            world, controller, view_as(event, controller_requests.ControlResponse)
        )
    elif event.phase == codes.REASSIGNMENT_ALTERED:
        note_altered_moves(
            world, controller, view_as(event, controller_requests.AlterReassignmentsRequest)
        )
    elif event.phase == codes.UNCLEAN_ELECTION:
        note_unclean_election(
            world, controller, view_as(event, controller_requests.UncleanElectionRequest)
        )
    elif event.phase == codes.REASSIGNMENT_ISR_CHANGE:
        note_isr_change(world, controller, view_as(event, ZkWatch).znode)


@inner_rule
def advance(world: ControlPlane, controller: int) -> None:
    """Go through the phases of the event until responses have to be waited for.

    Source: KafkaController.process@2.4.0.
    """
    state = world.controllers[controller]
    if state.moved:
        # Source: KafkaController.process@2.4.0 after a ControllerMovedException; but with
        # AlterPartition the leader gets the error, and the watch on /controller does the rest.
        state.moved = False
        if state.event != ALTER:
            resign(world, controller)
        else:
            request = view_as(
                world.events[state.request], controller_requests.AlterPartitionRequest
            )
            request.error = errors.UNKNOWN_SERVER_ERROR
        end_event(world, controller)
    while state.event != NONE and state.pending == 0 and state.work_us == 0:
        if state.event in (codes.ELECT, codes.SHUT_DOWN_BROKER, ALTER):
            _advance_anyway(world, controller)
        elif not state.active:
            state.event = NONE
        else:
            _advance_as_controller(world, controller)
    if state.event == NONE:
        end_event(world, controller)
        if state.active:
            _write_end(world, controller)
        _begin_next(world, controller)
    elif state.pending == 0:
        go_on(world, controller)


@inner_rule
def _advance_anyway(world: ControlPlane, controller: int) -> None:
    """Advance an event that a former controller processes, too."""
    event = world.controllers[controller].event
    if event == codes.ELECT:
        advance_election(world, controller)
    elif event == codes.SHUT_DOWN_BROKER:
        advance_broker_shutdown(world, controller)
    else:
        advance_alter_partition(world, controller)


@inner_rule
def _advance_as_controller(world: ControlPlane, controller: int) -> None:
    event = world.controllers[controller].event
    if event == codes.BROKER_CHANGE:
        advance_broker_change(world, controller)
    elif event == codes.TOPIC_CHANGE:
        advance_topic_change(world, controller)
    elif event == codes.ISR_CHANGE:
        advance_isr_change(world, controller)
    elif event == codes.PREFERRED_ELECTION:
        advance_preferred_election(world, controller)
    elif event in codes.REASSIGNMENTS:
        advance_reassignment(world, controller)
    elif event in (
        codes.TOPIC_DELETION_ASKED_FOR,
        codes.TOPIC_DELETION_RESUMED,
        codes.REPLICAS_DELETED,
    ):
        advance_topic_deletion(world, controller)
    elif event in (codes.LOG_DIR_CHANGE, codes.LEADER_AND_ISR_RESPONSE):
        _advance_log_dirs(world, controller, event)
    elif event == codes.ELECT_UNCLEANLY:
        advance_unclean_election(world, controller)
    elif event == codes.UNCLEAN_ELECTION:
        advance_requested_unclean_election(world, controller)
    else:
        advance_auto_rebalance(world, controller)


@inner_rule
def _advance_log_dirs(world: ControlPlane, controller: int, event: int) -> None:
    if event == codes.LOG_DIR_CHANGE:
        advance_log_dir_change(world, controller)
    else:
        advance_offline_replicas(world, controller)


@inner_rule
def _write_end(world: ControlPlane, controller: int) -> None:
    state = world.controllers[controller]
    ControllerEventDone.write(
        world, event_kind=state.done, processing_us=world.context[0].time_us - state.taken_us
    )


@inner_rule
def end_event(world: ControlPlane, controller: int) -> None:
    """Nothing is processed any more, and the event's entries are freed.

    Source: ControllerEventManager.ControllerEventThread.doWork@2.4.0.
    """
    state = world.controllers[controller]
    state.event = NONE
    state.work_us = 0
    forget_listing(world, state)
    if state.request != NONE:
        # A controller that resigns writes rows about it; a process that has died writes none.
        request = world.events[state.request]
        state.request = NONE
        give_up_request(world, state, request)


@inner_rule
def forget_listing(world: Kernel, state: Controller) -> None:
    """Free the lists of children of the event.

    Source: KafkaController.processIsrChangeNotification@2.4.0.
    """
    if state.listing != NONE:
        free_event(world, world.events[state.listing])
        state.listing = NONE
    if state.log_dir_listing != NONE:
        free_event(world, world.events[state.log_dir_listing])
        state.log_dir_listing = NONE


@inner_rule
def go_on(world: ControlPlane, controller: int) -> None:
    """Let the event's next phase begin when all answers of this one are there, and its work done.

    Source: ControllerEventManager.ControllerEventThread.doWork@2.4.0.
    """
    state = world.controllers[controller]
    if state.pending == 0:
        process = controller_process(world, controller)
        partition_us = rows.cost_us(world, process, rows.CONTROLLER_PARTITION_COST)
        work_us = state.work_us + state.answers * partition_us
        state.answers = 0
        state.work_us = 0
        ControllerWorks.after(world, work_us, world.controllers[controller])


@inner_rule
def give_up_request(world: Kernel, state: Controller, request: Event) -> None:
    """Source: ControllerEventManager.clearAndPut@2.6.3.

    An AlterPartition that has still been in the queue gets no answer at all.
    """
    if state.running and request.kind == controller_requests.AlterPartitionRequest.KIND:
        altered = view_as(request, controller_requests.AlterPartitionRequest)
        fail_what_is_written(world, state, altered)
        answer_alter_partition(world, altered, altered.error)
    elif state.running:
        shutdown = view_as(request, controller_requests.ControlledShutdownRequest)
        answer_shutdown(world, shutdown, errors.STALE_CONTROLLER_EPOCH, UNDEFINED)
    else:
        free_event(world, request)
