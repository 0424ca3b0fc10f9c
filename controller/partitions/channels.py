"""How a controller's requests reach brokers: for each a queue and a sender that never gives up.

The first request of a broker's queue is in flight. If its connection fails or it is not
answered within controller.socket.timeout.ms it is sent again after 100 ms, again and again,
until the broker is removed because it is gone from ZooKeeper.

Source: ControllerChannelManager and RequestSendThread@0.10.2.0 and @2.4.0.
"""

from __future__ import annotations

from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.state.control_plane import (
    ControllerBroker,
    ControlPlane,
    broker_at,
    is_deleted,
)
from tidegauge.controller.state.handlers import CONTROLLER
from tidegauge.simulation.events import (
    append_event,
    copy_event,
    free_all,
    free_event,
    new_event,
    set_timer,
    take_first,
)
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.controller_requests import (
    ControlResponse,
    StopReplicaPartition,
    StopReplicaRequest,
)
from tidegauge.simulation.messages.controller_timers import ControlGivesUp, ControlRetries
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.fault_events import Disconnected
from tidegauge.simulation.topology import controller_process

#: RequestSendThread.backoff: between two attempts.
_BACKOFF_US = code(100_000)


@inner_rule
def queue_request(world: ControlPlane, controller: int, broker: int, index: int) -> None:
    """Send a request when all before it are answered; nobody else is told what it says."""
    known = broker_at(world, controller, broker)
    append_event(world, known.queue, world.events[index])
    if known.queue.length == 1:
        _send_first(world, controller, broker)


@inner_rule
def _send_first(world: ControlPlane, controller: int, broker: int) -> None:
    """Send the first request of the queue; it stays there until it is answered."""
    known = broker_at(world, controller, broker)
    request = world.events[known.queue.first]
    copy = copy_event(world, request)
    # What is sent again later was still decided for the same reason.
    copy.cause_process = request.cause_process
    copy.cause_sequence = request.cause_sequence
    known.requests += 1
    known.in_flight = known.requests
    known.sent_us = world.context[0].time_us
    copy.correlation_id = known.in_flight
    send(world, copy, known.sent_us)
    if not known.deadline_timer:
        _watch_deadline(world, controller, broker)


@inner_rule
def _watch_deadline(world: ControlPlane, controller: int, broker: int) -> None:
    known = broker_at(world, controller, broker)
    known.deadline_timer = True
    process = controller_process(world, controller)
    timer = new_event(world, process, process, ControlGivesUp)
    timer.generation = world.controllers[controller].generation
    timer.broker = broker
    timeout_us = world.controllers[controller].controller_socket_timeout_ms * 1000
    set_timer(world, timer, known.sent_us + timeout_us)


@inner_rule
def is_response_awaited(world: ControlPlane, controller: int, response: ControlResponse) -> bool:
    """Whether a response is that to the request in flight: no earlier one's, or term's."""
    known = broker_at(world, controller, response.broker_id)
    # The number of an earlier term may come again, its time does not.
    return known.in_flight == response.correlation_id and known.sent_us == response.asked_us


@inner_rule
def take_control_response(world: ControlPlane, controller: int, response: ControlResponse) -> int:
    """A broker has dealt with a request: send the next.

    The request is given back, unless it has deleted replicas of a topic that is to be deleted:
    then its index is returned, for the controller to go on with that; else NONE.
    """
    known = broker_at(world, controller, response.broker_id)
    if not is_response_awaited(world, controller, response):
        return NONE
    known.in_flight = NONE
    request = take_first(world, known.queue)
    if known.queue.length > 0:
        _send_first(world, controller, response.broker_id)
    if _deletes_a_topic(world, controller, request):
        view_as(request, StopReplicaRequest).error = response.error
        return request.index
    free_event(world, request)
    return NONE


@inner_rule
def _deletes_a_topic(world: ControlPlane, controller: int, request: Event) -> bool:
    cursor = request.first_item
    while request.kind == StopReplicaRequest.KIND and cursor != NONE:
        item = view_as(world.items[cursor], StopReplicaPartition)
        cursor = item.next
        if item.deletes and is_deleted(world, controller, item.partition):
            return True
    return False


@inner_rule
def _lose_channel(world: ControlPlane, controller: int, broker: int, until_us: int) -> None:
    """The connection to a broker is gone: what was sent up to ``until_us`` is sent again."""
    known = broker_at(world, controller, broker)
    if known.in_flight != NONE and known.sent_us <= until_us:
        known.in_flight = NONE
        process = controller_process(world, controller)
        timer = new_event(world, process, process, ControlRetries)
        timer.generation = world.controllers[controller].generation
        timer.broker = broker
        timer.correlation_id = known.requests
        set_timer(world, timer, world.context[0].time_us + _BACKOFF_US)


@inner_rule
def _is_current(world: ControlPlane, controller: int, generation: int) -> bool:
    """Whether a timer was set in the term that the controller is in now."""
    state = world.controllers[controller]
    return state.context != NONE and generation == state.generation


@CONTROLLER.handles(ControlGivesUp)
@inner_rule
def handle_control_gives_up(world: ControlPlane, timer: ControlGivesUp) -> bool:
    """A request may not have been answered within controller.socket.timeout.ms."""
    controller = world.processes[timer.destination].number
    if not _is_current(world, controller, timer.generation):
        return False
    known = broker_at(world, controller, timer.broker)
    known.deadline_timer = False
    if known.in_flight == NONE:
        return False
    now_us = world.context[0].time_us
    timeout_us = world.controllers[controller].controller_socket_timeout_ms * 1000
    if now_us < known.sent_us + timeout_us:
        _watch_deadline(world, controller, timer.broker)
    else:
        _lose_channel(world, controller, timer.broker, now_us)
    return False


@CONTROLLER.handles(ControlRetries)
@inner_rule
def handle_control_retries(world: ControlPlane, timer: ControlRetries) -> bool:
    """The pause is over: send the first request once more."""
    controller = world.processes[timer.destination].number
    if not _is_current(world, controller, timer.generation):
        return False
    known = broker_at(world, controller, timer.broker)
    is_last = known.requests == timer.correlation_id
    if known.in_flight == NONE and is_last and known.queue.length > 0:
        _send_first(world, controller, timer.broker)
    return False


@CONTROLLER.handles(Disconnected)
@inner_rule
def handle_disconnected(world: ControlPlane, news: Disconnected) -> bool:
    """A process is gone: if it is a broker's, with the connection to it."""
    controller = world.processes[news.destination].number
    is_broker = news.source < world.sizes[0].brokers
    if is_broker and world.controllers[controller].context != NONE:
        _lose_channel(world, controller, news.source, news.until_us)
    return False


@inner_rule
def close_channel(world: ControlPlane, controller: int, broker: int) -> None:
    """A broker is gone: what was to be sent to it is dropped.

    Source: ControllerChannelManager.removeBroker@2.4.0.
    """
    known = broker_at(world, controller, broker)
    _drop_unsent(world, known)
    free_all(world, known.queue)
    known.in_flight = NONE


@inner_rule
def _drop_unsent(world: Kernel, known: ControllerBroker) -> None:
    """What was being put together will not be sent."""
    if known.building != NONE:
        free_event(world, world.events[known.building])
        known.building = NONE
    if known.stopping != NONE:
        free_event(world, world.events[known.stopping])
        known.stopping = NONE
