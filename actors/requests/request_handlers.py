"""num.io.threads: the thread of a request, its time, and its waits.

A request that comes takes a free thread, else it waits in the queue, first come first served. The
thread is busy for the cost model's time, and, if the request meets the lock of a partition whose
ISR is being written, until ZooKeeper has answered.
"""

from tidegauge.actors.fetches.producer_connections import waits_for_connection
from tidegauge.actors.idle_fetches.arrivals import WINDOW_US
from tidegauge.actors.idle_fetches.pairs import leave_threads
from tidegauge.actors.leaders.isr_changes import continue_expiration
from tidegauge.actors.process import log_dir_moves
from tidegauge.actors.requests import group_coordinator, other_requests, produce, producer_ids
from tidegauge.actors.requests.controller_requests import (
    handle_leader_and_isr,
    handle_stop_replica,
    handle_update_metadata,
)
from tidegauge.actors.requests.other_requests import tell_observer
from tidegauge.actors.state.broker_records import Broker
from tidegauge.actors.state.brokers import NEVER_US, Brokers, listens
from tidegauge.actors.state.handlers import BROKER, REQUESTS
from tidegauge.actors.state.request_times import go_on_later, mark_request, type_of_request
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation import events
from tidegauge.simulation.faults import refuse_connection
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.client_requests import ProduceRequest
from tidegauge.simulation.messages.controller_requests import (
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.timers import ConnectionFree, HandlerFree, HandlerResume

#: The other modules in which requests are handled: they enter their handlers.
_HANDLED_IN = (produce, group_coordinator, other_requests, producer_ids, log_dir_moves)


@inner_rule
def take_request(world: Brokers, request: Event) -> None:
    """Handle a request now if a thread is free and none waits, else let it wait.

    A broker that is starting up does not listen yet, one that stops does not listen any more.
    """
    broker = world.brokers[request.destination]
    if broker.ends or not listens(world, request.destination):
        refuse_connection(world, request)
        events.free_event(world, request)
        return
    if request.kind == ProduceRequest.KIND and waits_for_connection(
        world, view_as(request, ProduceRequest)
    ):
        return
    _queue_request(world, request)


@inner_rule
def _queue_request(world: Brokers, request: Event) -> None:
    broker = world.brokers[request.destination]
    leave_threads(world, request.destination, 1)
    thread = free_thread(world, broker)
    if broker.queue.first == NONE and thread != NONE:
        _take_thread(world, broker, request, thread)
        handle(world, request)
        return
    events.append_event(world, broker.queue, request)
    _wake_when_free(world, request.destination)


@BROKER.handles(ConnectionFree)
@inner_rule
def handle_connection_free(world: Brokers, timer: ConnectionFree) -> None:
    """Read the next request of a producer from its connection."""
    connection = world.producer_connections[timer.connection]
    if connection.waiting.first == NONE or world.brokers[timer.destination].ends:
        return
    request = events.take_first(world, connection.waiting)
    request.time_us = world.context[0].time_us
    connection.busy = True
    _queue_request(world, request)


@inner_rule
def take_requests(world: Brokers, broker: int) -> None:
    """Take requests once the rest of the broker has started: it has registered.

    Source: KafkaServer.startup@2.6.0 (registerBroker, startProcessingRequests).
    """
    state = world.brokers[broker]
    if not state.registers:
        return
    state.registers = False
    state.ready_us = max(state.ready_us, world.context[0].time_us)
    if world.rules[broker].port_opened_last:
        state.port_opens_us = state.ready_us
    else:
        for thread in range(state.first_thread, state.first_thread + state.num_io_threads):
            world.threads[thread].free_us = state.ready_us
        _wake_when_free(world, broker)


@inner_rule
def free_thread(world: Brokers, broker: Broker) -> int:
    """A thread that is free now; NONE if all are busy, or the broker has still to register."""
    if broker.registers:
        return NONE
    for thread in range(broker.num_io_threads):
        if world.threads[broker.first_thread + thread].free_us <= world.context[0].time_us:
            return thread
    return NONE


@inner_rule
def _take_thread(world: Brokers, broker: Broker, request: Event, thread: int) -> None:
    """Give a request to a thread that has waited for one until now."""
    request.thread = thread
    taken = world.threads[broker.first_thread + thread]
    taken.taken_us = world.context[0].time_us
    taken.idle_us += taken.taken_us - max(taken.free_us, broker.port_opens_us)


@inner_rule
def _wake_when_free(world: Brokers, broker: int) -> None:
    """Serve the queue again when the first thread is free; locked ones do not count."""
    state = world.brokers[broker]
    if state.registers:
        return
    earliest_us = NEVER_US
    for thread in range(state.num_io_threads):
        earliest_us = min(earliest_us, world.threads[state.first_thread + thread].free_us)
    if state.queue.first == NONE or earliest_us == NEVER_US:
        return
    due_us = max(earliest_us, world.context[0].time_us)
    if 0 < state.handler_due_us <= due_us:
        return
    state.handler_due_us = due_us
    HandlerFree.at(world, due_us)


@BROKER.handles(HandlerFree)
@inner_rule
def handle_handler_free(world: Brokers, timer: HandlerFree) -> None:
    """Give waiting requests to the threads that are free."""
    broker = world.brokers[timer.destination]
    if world.context[0].time_us < broker.handler_due_us:
        # Another timer has served the queue meanwhile, and set the next.
        return
    broker.handler_due_us = 0
    thread = free_thread(world, broker)
    while broker.queue.first != NONE and thread != NONE:
        request = events.take_first(world, broker.queue)
        _take_thread(world, broker, request, thread)
        handle(world, request)
        thread = free_thread(world, broker)
    _wake_when_free(world, timer.destination)


@inner_rule
def handle(world: Brokers, request: Event) -> None:
    """Handle a request on its thread, or go on with it.

    Source: KafkaApis.handle@2.4.0.
    """
    broker = request.destination
    thread = world.threads[world.brokers[broker].first_thread + request.thread]
    now_us = world.context[0].time_us
    type_ = type_of_request(request)
    if _handle_request(world, request):
        # A request that was answered is given back, but its slot is not taken again yet.
        thread.free_us = now_us + request.cost_us
        if request.kind == NONE:
            mark_request(world, request, type_, thread.taken_us, thread.free_us, thread.free_us)
    if thread.free_us > now_us + WINDOW_US:
        leave_threads(world, broker, 0)


@REQUESTS.handles(LeaderAndIsrRequest)
@inner_rule
def _take_leader_and_isr(world: Brokers, request: LeaderAndIsrRequest) -> bool:
    request.cost_us = 0
    done = handle_leader_and_isr(world, request)
    _end_order(world, request, done)
    return done


@REQUESTS.handles(StopReplicaRequest)
@inner_rule
def _take_stop_replica(world: Brokers, request: StopReplicaRequest) -> bool:
    request.cost_us = 0
    done = handle_stop_replica(world, request)
    _end_order(world, request, done)
    return done


@inner_rule
def _end_order(world: Brokers, request: Event, done: bool) -> None:
    """A controller is obeyed; or that takes its time, or waits for a lock."""
    if done:
        events.free_event(world, request)
    elif request.cost_us > 0:
        go_on_later(world, request, request.cost_us)


@REQUESTS.handles(UpdateMetadataRequest)
@inner_rule
def _take_update_metadata(world: Brokers, request: UpdateMetadataRequest) -> bool:
    handle_update_metadata(world, request)
    events.free_event(world, request)
    return True


#: Calls the handler of a request's kind: whether it is done.
_handle_request = REQUESTS.dispatcher(__name__, "_handle_request", Brokers, Event)


@BROKER.handles(HandlerResume)
@inner_rule
def handle_handler_resume(world: Brokers, timer: HandlerResume) -> None:
    """Resume a request that takes its time, unless the broker has dropped all to stop."""
    if world.brokers[timer.destination].ends:
        return
    request = world.events[timer.request_index]
    handle(world, request)
    _wake_when_free(world, timer.destination)


@inner_rule
def unlock(world: Brokers, row: int) -> None:
    """An ISR write is over: its request goes on, then those that waited for the lock."""
    hosted = world.hosted[row]
    broker = hosted.broker
    writer = hosted.writing_request
    waiting = hosted.waiting.length
    hosted.writing_request = NONE
    tell_observer(world, row)
    if writer != NONE:
        handle(world, world.events[writer])
    # The lock may be taken again by one of the waiting requests: then the others wait behind it.
    for _ in range(waiting):
        handle(world, events.take_first(world, hosted.waiting))
    state = world.brokers[broker]
    if state.expiring:
        if writer == NONE and state.expiring_row == row:
            # Written or refused: the run goes on to the next partition either way.
            state.expiring_row = hosted.next_log
        continue_expiration(world, broker)
    _wake_when_free(world, broker)
