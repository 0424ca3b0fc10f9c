"""The events of a fetch that a stage takes the place of, and those that take its place again."""

from tidegauge.actors.idle_fetches.stages import (
    ANSWERED,
    REQUESTED,
    WAITS,
    arrivals_until,
    events_of,
    expiries_until,
    response_us,
    responses_until,
    timer_number,
)
from tidegauge.actors.state.broker_records import Broker
from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.state.replica_records import Fetcher, IdleFetch, IdleStage
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.events import new_event, push
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
    fetcher.replica_epoch = _replica_epoch(world, fetcher)
    request = new_event(world, fetcher.broker, fetcher.source_broker, FetchRequest)
    request.replica_id = fetcher.broker
    request.fetcher = index
    request.replica_epoch = fetcher.replica_epoch
    request.max_wait_ms = broker.replica_fetch_wait_max_ms
    request.min_bytes = broker.replica_fetch_min_bytes
    request.partition_max_bytes = broker.replica_fetch_max_bytes
    request.max_bytes = broker.replica_fetch_response_max_bytes
    return request


@inner_rule
def _replica_epoch(world: Brokers, fetcher: Fetcher) -> int:
    """The epoch of a fetcher's broker that it names in a request; UNDEFINED: none.

    Source: RemoteLeaderEndPoint.buildFetch@3.5.0 (KIP-903).
    """
    if not world.rules[fetcher.broker].broker_epochs_checked:
        return UNDEFINED
    return world.brokers[fetcher.broker].broker_epoch


@inner_rule
def may_idle(world: Brokers, index: int, waits_now: int) -> bool:
    """Whether a fetcher has nothing to fetch at all, or its fetch waits and will find nothing."""
    fetcher = world.fetchers[index]
    session = world.fetch_sessions[index]
    if session.waiting == NONE:
        return fetcher.row_count == 0 and fetcher.in_flight == 0
    request = view_as(world.events[session.waiting], FetchRequest)
    return (
        waits_in_vain(world, index, waits_now)
        and asks_for_nothing(world, index)
        and fetcher.in_flight == request.correlation_id
    )


@inner_rule
def waits_in_vain(world: Brokers, index: int, waits_now: int) -> bool:
    """Whether a fetch that waits at its leader will expire there: the leader's half."""
    session = world.fetch_sessions[index]
    if session.waiting == NONE:
        return False
    request = view_as(world.events[session.waiting], FetchRequest)
    is_timed = index == waits_now or session.expiry_us == request.deadline_us
    return is_timed and request.min_bytes > 0 and session.first_active == NONE


@inner_rule
def asks_for_nothing(world: Brokers, index: int) -> bool:
    """Whether a fetcher would ask for nothing new: the follower's half."""
    fetcher = world.fetchers[index]
    return (
        fetcher.in_session
        and fetcher.first_moved == NONE
        and fetcher.looking_up == NONE
        and fetcher.replica_epoch == _replica_epoch(world, fetcher)
    )


@inner_rule
def is_quiet(world: Brokers, source: int, destination: int) -> bool:
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
def begin(idle: IdleFetch, request: FetchRequest) -> None:
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
    idle.across_us = 0
    idle.replica_epoch = request.replica_epoch
    idle.counted = events_of(view_as(idle, IdleStage))
    idle.read = idle.counted


@inner_rule
def count(world: Kernel, idle: IdleFetch) -> None:
    """Count the events that a fetch has had since they were counted, as if they were handled.

    A broker of another group has its own counted there.
    """
    context = world.context[0]
    events = events_of(view_as(idle, IdleStage))
    arrivals = arrivals_until(events) - arrivals_until(idle.counted)
    expiries = expiries_until(events) - expiries_until(idle.counted)
    responses = responses_until(events) - responses_until(idle.counted)
    if not world.processes[idle.leader].hosted:
        arrivals = expiries = 0
    if not world.processes[idle.follower].hosted:
        responses = 0
    context.handled += arrivals + expiries + responses
    context.computed += arrivals + expiries + responses
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
def resume_fetcher(world: Brokers, idle: IdleFetch, index: int) -> None:
    """Have a fetcher await the response to its last request."""
    fetcher = world.fetchers[index]
    timeout_us = world.brokers[idle.follower].replica_socket_timeout_ms * 1000
    fetcher.requests = idle.requests
    fetcher.in_flight = idle.requests
    fetcher.deadline_us = idle.asked_us + timeout_us


@inner_rule
def make_pending(world: Brokers, idle: IdleFetch, index: int) -> None:
    """Make the event for which the stage of a fetch stands."""
    if idle.stage == ANSWERED:
        response = new_event(world, idle.leader, idle.follower, FetchResponse, fetcher=index)
        _take_over(view_as(response, Event), idle)
        push(world, response)
        return
    request = new_fetch_request(world, index)
    request.replica_epoch = idle.replica_epoch
    world.fetchers[index].replica_epoch = idle.replica_epoch
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
