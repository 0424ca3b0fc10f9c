"""Pairs of brokers become idle when nothing is due at either end; what changes that wakes them."""

from tidegauge.actors.idle_fetches.ahead import begin_ahead, catch_up_with_span, go_ahead
from tidegauge.actors.idle_fetches.arrivals import SPAN_US, clear_slots, has_threads
from tidegauge.actors.idle_fetches.stages import (
    ANSWERED,
    HANDLED,
    REQUESTED,
    WAITS,
    advance,
    arrivals_until,
    begin_from_outside,
    catch_up,
    events_of,
    expiries_until,
    fetcher_at,
    first_of_pair,
    forget_marks,
    is_idle,
    response_us,
    responses_until,
    timer_number,
)
from tidegauge.actors.state.broker_records import Broker
from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.state.replica_records import IdleFetch, IdleStage
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.simulation.events import free_event, new_event, push
from tidegauge.simulation.kernel import NONE, Kernel, impairment_of, link_between
from tidegauge.simulation.messages.client_requests import FetchRequest, FetchResponse
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.timers import FollowerFetchExpires
from tidegauge.simulation.random_streams import QUANTILES
from tidegauge.simulation.rows import REQUEST, REQUEST_PARTITION

#: Event.phase of a fetch that waits in the purgatory (``requests/produce.py``).
READ_AND_COUNTED = code(4)


@inner_rule
def new_fetch_request(world: Brokers, index: int) -> FetchRequest:
    """A fetcher's request for records; it names no partition yet, and is still to be sent.

    Source: ReplicaFetcherThread.buildFetch@2.4.0, @2.8.0.
    """
    fetcher = world.fetchers[index]
    broker = world.brokers[fetcher.broker]
    request = new_event(world, fetcher.broker, fetcher.source_broker, FetchRequest)
    request.replica_id = fetcher.broker
    request.fetcher = index
    if world.rules[fetcher.broker].broker_epochs_checked:
        request.replica_epoch = broker.broker_epoch
    request.max_wait_ms = broker.replica_fetch_wait_max_ms
    request.min_bytes = broker.replica_fetch_min_bytes
    request.partition_max_bytes = broker.replica_fetch_max_bytes
    request.max_bytes = broker.replica_fetch_response_max_bytes
    return request


@inner_rule
def becomes_idle(world: Brokers, request: FetchRequest) -> bool:
    """Let the fetches of two brokers be computed from now on, if the last one begins to wait now.

    Each of them waits then, with a timer at its own deadline, and finds nothing.
    """
    context = world.context[0]
    one = request.source
    other = request.destination
    first = first_of_pair(world, one, other)
    last = first + 2 * world.pools[0].fetchers_of_source
    for place in range(first, last):
        if not _may_idle(world, fetcher_at(world, place, one, other), request.fetcher):
            return False
    if not (_is_quiet(world, one, other) and _is_quiet(world, other, one)):
        return False
    for place in range(first, last):
        waiting = world.fetch_sessions[fetcher_at(world, place, one, other)].waiting
        if waiting != NONE:
            _begin(world.idle_fetches[place], view_as(world.events[waiting], FetchRequest))
    begin_ahead(world, first, one, other)
    fits = go_ahead(world, first) and has_threads(world, one, 0) and has_threads(world, other, 1)
    for place in range(first, last):
        idle = world.idle_fetches[place]
        if idle.stage != HANDLED and fits:
            session = world.fetch_sessions[fetcher_at(world, place, one, other)]
            free_event(world, world.events[session.waiting])
            session.waiting = NONE
        elif idle.stage != HANDLED:
            idle.stage = HANDLED
    context.idle_pairs += 1 if fits else 0
    return fits


@inner_rule
def _may_idle(world: Brokers, index: int, waits_now: int) -> bool:
    """Whether a fetcher has nothing to fetch at all, or its fetch waits and will find nothing."""
    fetcher = world.fetchers[index]
    session = world.fetch_sessions[index]
    if session.waiting == NONE:
        return fetcher.row_count == 0 and fetcher.in_flight == 0
    request = view_as(world.events[session.waiting], FetchRequest)
    is_timed = index == waits_now or session.expiry_us == request.deadline_us
    return (
        is_timed
        and request.min_bytes > 0
        and session.first_active == NONE
        and fetcher.in_session
        and fetcher.first_moved == NONE
        and fetcher.looking_up == NONE
        and fetcher.in_flight == request.correlation_id
    )


@inner_rule
def _is_quiet(world: Brokers, source: int, destination: int) -> bool:
    """Whether nothing is under way between two brokers that a fetch could meet."""
    state = world.processes[destination]
    impairment = impairment_of(world, link_between(world, source, destination))
    return (
        state.hosted
        and state.alive
        and state.paused == 0
        and state.held.first == NONE
        and state.network_blocked_us <= world.context[0].time_us
        and impairment.cut == 0
        and not impairment.stalled
        and impairment.held.first == NONE
        and not world.brokers[destination].ends
        and world.context[0].ready.first == NONE
    )


@inner_rule
def _begin(idle: IdleFetch, request: FetchRequest) -> None:
    """Put a stage in the place of a fetch that waits."""
    idle.stage = WAITS
    idle.follower = request.source
    idle.leader = request.destination
    idle.due_us = request.deadline_us
    idle.max_wait_us = request.max_wait_ms * 1000
    idle.arrived_us = idle.due_us - idle.max_wait_us
    idle.sequence = timer_number(idle.arrived_us, request.sequence)
    idle.asked_us = request.asked_us
    idle.requests = request.correlation_id
    idle.cost_us = request.cost_us
    idle.cause_process = request.cause_process
    idle.cause_sequence = request.cause_sequence
    idle.on_thread = True
    idle.counted = events_of(view_as(idle, IdleStage))
    idle.read = idle.counted


@inner_rule
def wake_pair(world: Brokers, one: int, other: int) -> None:
    """Make the pending events of an idle pair: they are handled from now on."""
    if not is_idle(world, one, other):
        return
    catch_up(world, one, other)
    first = first_of_pair(world, one, other)
    for place in range(first, first + 2 * world.pools[0].fetchers_of_source):
        idle = world.idle_fetches[place]
        if idle.stage != HANDLED:
            _count(world, idle)
            _resume(world, idle, fetcher_at(world, place, one, other))
            idle.stage = HANDLED
    world.context[0].idle_pairs -= 1


@inner_rule
def wake_fetcher(world: Brokers, index: int) -> None:
    """Wake the pair of a fetcher."""
    if world.context[0].idle_pairs > 0:
        fetcher = world.fetchers[index]
        wake_pair(world, fetcher.broker, fetcher.source_broker)


@inner_rule
def wake_all(world: Brokers, broker: int) -> None:
    """Wake all pairs of a broker, before something changes that each of its fetches could meet."""
    if world.context[0].idle_pairs > 0:
        for other in range(world.sizes[0].brokers):
            if other != broker:
                wake_pair(world, broker, other)


@rule
def settle_idle(world: Brokers, time_us: int) -> None:
    """Bring all idle pairs to a time before which all events are handled; count their events."""
    context = world.context[0]
    if context.idle_pairs == 0:
        return
    now_us = context.time_us
    begin_from_outside(world, time_us)
    for broker in range(world.sizes[0].brokers):
        for other in range(broker):
            catch_up(world, broker, other)
    for idle in world.idle_fetches:
        if idle.stage != HANDLED:
            _count(world, idle)
    context.time_us = now_us


@inner_rule
def _count(world: Kernel, idle: IdleFetch) -> None:
    """Count the events that a fetch has had since they were counted, as if they were handled."""
    context = world.context[0]
    events = events_of(view_as(idle, IdleStage))
    arrivals = arrivals_until(events) - arrivals_until(idle.counted)
    expiries = expiries_until(events) - expiries_until(idle.counted)
    responses = responses_until(events) - responses_until(idle.counted)
    context.handled += events - idle.counted
    context.computed += events - idle.counted
    idle.counted = events
    world.kind_counts[FetchRequest.KIND].handled += arrivals
    world.kind_counts[FollowerFetchExpires.KIND].handled += expiries
    world.kind_counts[FetchResponse.KIND].handled += responses
    requests = world.quantile_uses[REQUEST]
    requests.times += arrivals + expiries
    requests.total_us += (arrivals + expiries) * response_us(world)
    partitions = world.quantile_uses[REQUEST_PARTITION]
    partitions.times += arrivals
    partitions.total_us += arrivals * world.quantiles[REQUEST_PARTITION * QUANTILES].value_us


@inner_rule
def _resume(world: Brokers, idle: IdleFetch, index: int) -> None:
    """Make the event for which the stage of a fetch stands."""
    fetcher = world.fetchers[index]
    timeout_us = world.brokers[idle.follower].replica_socket_timeout_ms * 1000
    fetcher.requests = idle.requests
    fetcher.in_flight = idle.requests
    fetcher.deadline_us = idle.asked_us + timeout_us
    if idle.stage == ANSWERED:
        response = new_event(world, idle.leader, idle.follower, FetchResponse, fetcher=index)
        _take_over(view_as(response, Event), idle)
        push(world, response)
        return
    request = new_fetch_request(world, index)
    _take_over(view_as(request, Event), idle)
    if idle.stage == REQUESTED:
        push(world, request)
        return
    _wait_again(world, idle, request)


@inner_rule
def _take_over(event: Event, idle: IdleFetch) -> None:
    """Give an event what it would have, had it been sent when its stage began."""
    event.time_us = idle.due_us
    event.asked_us = idle.asked_us
    event.sequence = idle.sequence
    event.source_rows = idle.source_rows
    event.cause_process = idle.cause_process
    event.cause_sequence = idle.cause_sequence
    event.correlation_id = idle.requests


@inner_rule
def _wait_again(world: Brokers, idle: IdleFetch, request: FetchRequest) -> None:
    """Put a fetch back into the purgatory, and on the thread that has not yet done with it."""
    leader = world.brokers[idle.leader]
    session = world.fetch_sessions[request.fetcher]
    request.max_bytes = min(request.max_bytes, leader.fetch_max_bytes)
    request.min_bytes = min(request.min_bytes, request.max_bytes)
    request.phase = READ_AND_COUNTED
    request.time_us = idle.arrived_us
    request.cost_us = idle.cost_us
    request.taken_us = idle.arrived_us
    request.handled_us = idle.arrived_us + idle.cost_us
    request.deadline_us = idle.due_us
    request.thread = 0
    session.waiting = request.index
    if request.handled_us > world.context[0].time_us and not idle.on_thread:
        _occupy_thread(world, leader, request)
    if session.expiry_us != 0:
        # The timer of its first wait has not fired yet.
        return
    session.expiry_us = idle.due_us
    timer = new_event(
        world, idle.leader, idle.leader, FollowerFetchExpires, fetcher=request.fetcher
    )
    _take_over(view_as(timer, Event), idle)
    timer.asked_us = idle.arrived_us
    timer.correlation_id = NONE
    process = world.processes[idle.leader]
    process.timer_set_us = max(process.timer_set_us, idle.arrived_us)
    timer.source_rows = process.rows
    push(world, timer)


@inner_rule
def _occupy_thread(world: Brokers, leader: Broker, request: FetchRequest) -> None:
    for number in range(leader.num_io_threads):
        thread = world.threads[leader.first_thread + number]
        if thread.free_us <= world.context[0].time_us:
            request.thread = number
            thread.taken_us = request.taken_us
            thread.free_us = request.handled_us
            return


@inner_rule
def leave_threads(world: Brokers, broker: int, more: int) -> None:
    """Wake the fetches from a broker if they and its other requests could need all handlers.

    ``more`` requests are about to get one.
    """
    if world.idle_threads[broker].peak > 0 and not has_threads(world, broker, more):
        _wake_followers(world, broker)


@inner_rule
def _wake_followers(world: Brokers, broker: int) -> None:
    wake_all(world, broker)
    clear_slots(world, broker)


@inner_rule
def look_ahead(world: Brokers) -> None:
    """Begin the next span: enter the arrivals in it of all idle fetches."""
    context = world.context[0]
    begin_from_outside(world, context.look_ahead_us)
    context.look_ahead_us += SPAN_US
    if context.idle_pairs == 0:
        return
    for broker in range(world.sizes[0].brokers):
        clear_slots(world, broker)
    for broker in range(world.sizes[0].brokers):
        for other in range(broker):
            if is_idle(world, broker, other):
                first = first_of_pair(world, broker, other)
                catch_up_with_span(world, first, broker, other)
                if not go_ahead(world, first):
                    wake_pair(world, broker, other)
    for broker in range(world.sizes[0].brokers):
        leave_threads(world, broker, 0)
    forget_marks(world)


@inner_rule
def make_room_for_marks(world: Brokers) -> None:
    """Bring all idle pairs to now, before the marks of rows run out."""
    for broker in range(world.sizes[0].brokers):
        for other in range(broker):
            if is_idle(world, broker, other):
                advance(world, first_of_pair(world, broker, other))
    forget_marks(world)
