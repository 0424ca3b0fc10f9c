"""Idle fetches: what is known to happen is computed when it is needed, not handled event by event.

A follower that has all there is fetches again and again, and each fetch waits in the purgatory for
replica.fetch.wait.max.ms and brings nothing. In a large cluster these are nine of ten events. Their
times are known in advance: they follow from latencies, whose draws are keyed by link and number,
and from costs that are fixed. So two brokers whose fetches from each other are all of this kind are
an *idle pair*: their fetches are no events, but a stage and its time (``IdleFetch``).

==============  ============================================================================
stage           the event in its place
==============  ============================================================================
``REQUESTED``   the request arrives at the leader, where it finds nothing
``WAITS``       it expires in the purgatory, and an empty response is sent
``ANSWERED``    the response arrives at the follower, which sends its next request
==============  ============================================================================

:func:`catch_up` brings a pair to the event that is being handled: whatever the stages before it
leave behind is what their events would have left. A reader of that state calls it first. Whatever
changes what a fetch finds, or what its messages meet, calls :func:`wake_pair` or :func:`wake_all`
first: the pair's pending events are then made, and handled as all others.

An idle fetch takes no request handler. So that none is missed, the arrivals of idle fetches are
entered ahead of time in spans of ``SPAN_US`` (:func:`look_ahead`), in slots that each bound how
many are handled at one time. If these and the other requests of a broker could need all of its
num.io.threads, its pairs are woken, and the request handlers decide as ever.

The events of a run are handled one by one where an idle fetch would leave more than this behind:
if metrics are served, at trace level ``all``, and if the costs of a request are drawn. The
environment variable ``TIDEGAUGE_EAGER=1`` demands it. The hash is the same in each case.
"""

from tidegauge.actors.state.broker_records import Broker
from tidegauge.actors.state.brokers import CLOCK_OFFSET_MS, Brokers
from tidegauge.actors.state.replica_records import IdleFetch
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.simulation.events import TIMER_RANK_BITS, free_event, new_event, push
from tidegauge.simulation.kernel import NONE, Kernel, RowMark
from tidegauge.simulation.links import drawn_latency_us
from tidegauge.simulation.messages.client_requests import FetchRequest, FetchResponse
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.timers import FollowerFetchExpires
from tidegauge.simulation.random_streams import QUANTILES
from tidegauge.simulation.rows import REQUEST, REQUEST_PARTITION

# IdleFetch.stage
HANDLED = code(0)  #: its events are handled one by one
REQUESTED = code(1)
WAITS = code(2)
ANSWERED = code(3)

#: Event.phase of a fetch that waits in the purgatory (``requests/produce.py``).
READ_AND_COUNTED = code(4)

_ONE = code(1)
#: Arrivals are entered so far ahead, in slots of 512 us; eight counts are one number.
SPAN_US = code(1 << 22)
_SLOT_BITS = code(9)
_COUNT_BITS = code(8)
_SLOTS = code(1 << 13)
WORDS_OF_SPAN = code(1 << 10)
#: Request handlers of a broker that are left to all other requests.
_THREADS_LEFT = code(3)
#: The rank of a timer of an idle fetch among those set at the same time (``events.stamp``).
_TIMER_RANK = code(1 << 17)


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


# The places of a pair.


@inner_rule
def _first_of_pair(world: Brokers, one: int, other: int) -> int:
    """The place of a pair's first idle fetch: those of the higher broker come first."""
    high = max(one, other)
    low = min(one, other)
    return (high * (high - 1) // 2 + low) * 2 * world.pools[0].fetchers_of_source


@inner_rule
def _place_of(world: Brokers, follower: int, leader: int, number: int) -> int:
    room = world.pools[0].fetchers_of_source
    return _first_of_pair(world, follower, leader) + number + (0 if follower > leader else room)


@inner_rule
def _fetcher_at(world: Brokers, place: int, one: int, other: int) -> int:
    """The fetcher of a place among those of a pair."""
    room = world.pools[0].fetchers_of_source
    number = place - _first_of_pair(world, one, other)
    high = max(one, other)
    low = min(one, other)
    if number < room:
        return (high * world.sizes[0].brokers + low) * room + number
    return (low * world.sizes[0].brokers + high) * room + number - room


@inner_rule
def is_idle(world: Brokers, one: int, other: int) -> bool:
    """Whether the fetches of two brokers from each other are computed."""
    if world.context[0].idle_pairs == 0:
        return False
    first = _first_of_pair(world, one, other)
    for place in range(first, first + 2 * world.pools[0].fetchers_of_source):
        if world.idle_fetches[place].stage != HANDLED:
            return True
    return False


@inner_rule
def is_computed(world: Brokers, index: int) -> bool:
    """Whether the fetches of one fetcher are computed."""
    if world.context[0].idle_pairs == 0:
        return False
    fetcher = world.fetchers[index]
    number = index % world.pools[0].fetchers_of_source
    place = _place_of(world, fetcher.broker, fetcher.source_broker, number)
    return world.idle_fetches[place].stage != HANDLED


# From stage to stage.


@inner_rule
def _process_of(idle: IdleFetch) -> int:
    """The process at which the next event would be handled."""
    return idle.follower if idle.stage == ANSWERED else idle.leader


@inner_rule
def _source_of(idle: IdleFetch) -> int:
    """The process that would have sent that event."""
    return idle.follower if idle.stage == REQUESTED else idle.leader


@inner_rule
def _comes_before(idle: IdleFetch, time_us: int, process: int, source: int, sequence: int) -> bool:
    """Whether the next event of a fetch comes before another one, in the order of all events."""
    if idle.due_us != time_us:
        return idle.due_us < time_us
    if _process_of(idle) != process:
        return _process_of(idle) < process
    if _source_of(idle) != source:
        return _source_of(idle) < source
    return idle.sequence < sequence


@inner_rule
def _is_over(world: Kernel, idle: IdleFetch) -> bool:
    """Whether the next event of a fetch comes before the event that is being handled."""
    context = world.context[0]
    return _comes_before(
        idle, context.time_us, context.event_process, context.event_source, context.event_sequence
    )


@inner_rule
def _earliest(world: Brokers, first: int) -> int:
    """The place of the fetch of a pair whose next event comes first; NONE: none is computed."""
    found = NONE
    for place in range(first, first + 2 * world.pools[0].fetchers_of_source):
        idle = world.idle_fetches[place]
        if idle.stage == HANDLED:
            continue
        if found == NONE:
            found = place
            continue
        best = world.idle_fetches[found]
        if _comes_before(idle, best.due_us, _process_of(best), _source_of(best), best.sequence):
            found = place
    return found


@inner_rule
def _is_later(mark: RowMark, time_us: int, source: int, sequence: int) -> bool:
    if mark.time_us != time_us:
        return mark.time_us > time_us
    if mark.source != source:
        return mark.source > source
    return mark.sequence > sequence


@inner_rule
def _rows_at(world: Kernel, process: int, idle: IdleFetch) -> int:
    """The canonical rows that a process had as it handled the next event of a fetch."""
    state = world.processes[process]
    rows = state.rows
    mark = state.last_mark
    source = _source_of(idle)
    while mark != NONE and _is_later(world.row_marks[mark], idle.due_us, source, idle.sequence):
        rows = world.row_marks[mark].rows
        mark = world.row_marks[mark].previous
    return rows


@inner_rule
def _sends(world: Kernel, idle: IdleFetch, source: int, destination: int, cost_us: int) -> None:
    """Have the message of the next stage leave its process, as ``links.send`` does it."""
    rows = _rows_at(world, source, idle)
    link = world.links[source * world.context[0].process_count + destination]
    departure_us = idle.due_us + cost_us + link.delay_us
    arrival_us = departure_us + drawn_latency_us(world, link, source, destination)
    idle.due_us = max(arrival_us, link.last_delivery_us)
    link.last_delivery_us = idle.due_us
    idle.source_rows = rows
    idle.sequence = world.processes[source].sent
    world.processes[source].sent += 1


@inner_rule
def _arrives(world: Kernel, idle: IdleFetch, source: int, destination: int) -> None:
    link = world.links[source * world.context[0].process_count + destination]
    link.source_rows = max(link.source_rows, idle.source_rows)


@inner_rule
def _go_on(world: Kernel, idle: IdleFetch) -> None:
    """Do what the next event of a fetch would do.

    Source: AbstractFetcherThread.processFetchRequest@2.4.0; ReplicaManager.fetchMessages@2.4.0 and
    DelayedFetch.onComplete@2.4.0 of a fetch session without news (KIP-227).
    """
    if idle.stage == REQUESTED:
        _arrives(world, idle, idle.follower, idle.leader)
        idle.arrived_us = idle.due_us
        idle.on_thread = False
        idle.arrivals += 1
        idle.sequence = (idle.due_us << TIMER_RANK_BITS) + _TIMER_RANK
        idle.due_us += idle.max_wait_us
        idle.stage = WAITS
    elif idle.stage == WAITS:
        idle.expiries += 1
        response_us = world.quantiles[REQUEST * QUANTILES].value_us
        _sends(world, idle, idle.leader, idle.follower, response_us)
        idle.stage = ANSWERED
    else:
        _arrives(world, idle, idle.leader, idle.follower)
        idle.responses += 1
        idle.requests += 1
        idle.asked_us = idle.due_us
        _sends(world, idle, idle.follower, idle.leader, 0)
        idle.stage = REQUESTED


@inner_rule
def _advance(world: Brokers, first: int) -> None:
    """Bring a pair's fetches to the event that is being handled."""
    place = _earliest(world, first)
    while place != NONE and _is_over(world, world.idle_fetches[place]):
        _go_on(world, world.idle_fetches[place])
        place = _earliest(world, first)


@inner_rule
def catch_up(world: Brokers, one: int, other: int) -> None:
    """Bring an idle pair to the event that is being handled, and its sessions with it."""
    if not is_idle(world, one, other):
        return
    first = _first_of_pair(world, one, other)
    _advance(world, first)
    for place in range(first, first + 2 * world.pools[0].fetchers_of_source):
        idle = world.idle_fetches[place]
        if idle.stage != HANDLED:
            session = world.fetch_sessions[_fetcher_at(world, place, one, other)]
            session.fetched_ms = CLOCK_OFFSET_MS + idle.arrived_us // 1000
            session.reads += idle.arrivals + idle.expiries - idle.reads
            idle.reads = idle.arrivals + idle.expiries


@inner_rule
def deadline_us(world: Brokers, index: int) -> int:
    """The deadline of a fetcher's request in flight, whose fetches are computed."""
    fetcher = world.fetchers[index]
    catch_up(world, fetcher.broker, fetcher.source_broker)
    number = index % world.pools[0].fetchers_of_source
    place = _place_of(world, fetcher.broker, fetcher.source_broker, number)
    timeout_us = world.brokers[fetcher.broker].replica_socket_timeout_ms * 1000
    return world.idle_fetches[place].asked_us + timeout_us


# A pair becomes idle.


@inner_rule
def becomes_idle(world: Brokers, request: FetchRequest) -> bool:
    """Let the fetches of two brokers be computed from now on, if the last one begins to wait now.

    Each of them waits then, with a timer at its own deadline, and finds nothing.
    """
    context = world.context[0]
    one = request.source
    other = request.destination
    first = _first_of_pair(world, one, other)
    last = first + 2 * world.pools[0].fetchers_of_source
    for place in range(first, last):
        if not _may_idle(world, _fetcher_at(world, place, one, other), request.fetcher):
            return False
    if not (_is_quiet(world, one, other) and _is_quiet(world, other, one)):
        return False
    for place in range(first, last):
        waiting = world.fetch_sessions[_fetcher_at(world, place, one, other)].waiting
        if waiting != NONE:
            _begin(world.idle_fetches[place], view_as(world.events[waiting], FetchRequest))
    fits = _enter_arrivals(world, first) and _has_threads(world, one) and _has_threads(world, other)
    for place in range(first, last):
        idle = world.idle_fetches[place]
        if idle.stage != HANDLED and fits:
            session = world.fetch_sessions[_fetcher_at(world, place, one, other)]
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
    link = world.links[source * world.context[0].process_count + destination]
    return (
        state.hosted
        and state.alive
        and state.paused == 0
        and state.held.first == NONE
        and state.network_blocked_us <= world.context[0].time_us
        and link.cut == 0
        and not link.stalled
        and link.held.first == NONE
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
    idle.sequence = (idle.arrived_us << TIMER_RANK_BITS) + _TIMER_RANK
    idle.asked_us = request.asked_us
    idle.requests = request.correlation_id
    idle.cost_us = request.cost_us
    idle.cause_process = request.cause_process
    idle.cause_sequence = request.cause_sequence
    idle.on_thread = True
    idle.arrivals = 0
    idle.expiries = 0
    idle.responses = 0
    idle.reads = 0


# A pair is woken.


@inner_rule
def wake_pair(world: Brokers, one: int, other: int) -> None:
    """Make the pending events of an idle pair: they are handled from now on."""
    if not is_idle(world, one, other):
        return
    catch_up(world, one, other)
    first = _first_of_pair(world, one, other)
    for place in range(first, first + 2 * world.pools[0].fetchers_of_source):
        idle = world.idle_fetches[place]
        if idle.stage != HANDLED:
            _count(world, idle)
            _resume(world, idle, _fetcher_at(world, place, one, other))
            idle.stage = HANDLED
    world.context[0].idle_pairs -= 1


@inner_rule
def wake_fetcher(world: Brokers, index: int) -> None:
    """Wake the pair of a fetcher."""
    if world.context[0].idle_pairs > 0:
        fetcher = world.fetchers[index]
        wake_pair(world, fetcher.broker, fetcher.source_broker)


@inner_rule
def catch_up_fetcher(world: Brokers, index: int) -> None:
    """Bring the pair of a fetcher to the event that is being handled."""
    if world.context[0].idle_pairs > 0:
        fetcher = world.fetchers[index]
        catch_up(world, fetcher.broker, fetcher.source_broker)


@inner_rule
def wake_all(world: Brokers, broker: int) -> None:
    """Wake all pairs of a broker, before something changes that each of its fetches could meet."""
    if world.context[0].idle_pairs > 0:
        for other in range(world.sizes[0].brokers):
            if other != broker:
                wake_pair(world, broker, other)


@rule
def settle_idle(world: Brokers, time_us: int) -> None:
    """Bring all idle pairs to a time before which all events are handled, and count their events."""
    _begin_from_outside(world, time_us)
    if world.context[0].idle_pairs == 0:
        return
    for broker in range(world.sizes[0].brokers):
        for other in range(broker):
            catch_up(world, broker, other)
    for idle in world.idle_fetches:
        if idle.stage != HANDLED:
            _count(world, idle)


@inner_rule
def _begin_from_outside(world: Kernel, time_us: int) -> None:
    """An act comes before all events of its time."""
    context = world.context[0]
    context.time_us = time_us
    context.event_process = NONE
    context.event_source = NONE
    context.event_sequence = NONE


@inner_rule
def _count(world: Kernel, idle: IdleFetch) -> None:
    """Count the events that a fetch has had since it is idle, as if they had been handled."""
    context = world.context[0]
    computed = idle.arrivals + idle.expiries + idle.responses
    context.handled += computed
    context.computed += computed
    world.kind_counts[FetchRequest.KIND].handled += idle.arrivals
    world.kind_counts[FollowerFetchExpires.KIND].handled += idle.expiries
    world.kind_counts[FetchResponse.KIND].handled += idle.responses
    requests = world.quantile_uses[REQUEST]
    requests.times += idle.arrivals + idle.expiries
    requests.total_us += (idle.arrivals + idle.expiries) * world.quantiles[
        REQUEST * QUANTILES
    ].value_us
    partitions = world.quantile_uses[REQUEST_PARTITION]
    partitions.times += idle.arrivals
    partitions.total_us += idle.arrivals * world.quantiles[REQUEST_PARTITION * QUANTILES].value_us
    idle.arrivals = 0
    idle.expiries = 0
    idle.responses = 0
    idle.reads = 0


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


# Request handlers.


@inner_rule
def _threads(world: Brokers, broker: int) -> int:
    return world.brokers[broker].num_io_threads


@inner_rule
def _busy_threads(world: Brokers, broker: int) -> int:
    """The request handlers of a broker that have a request."""
    state = world.brokers[broker]
    busy = 0
    for thread in range(state.first_thread, state.first_thread + state.num_io_threads):
        busy += 1 if world.threads[thread].free_us > world.context[0].time_us else 0
    return busy


@inner_rule
def _has_threads(world: Brokers, broker: int) -> bool:
    """Whether a broker has a thread for each request, the one that begins to wait included."""
    return _busy_threads(world, broker) + world.idle_threads[broker].peak < _threads(world, broker)


@inner_rule
def leave_threads(world: Brokers, broker: int) -> None:
    """Wake the fetches from a broker if a request that comes and they could need all handlers."""
    if world.idle_threads[broker].peak > 0 and not _has_threads(world, broker):
        _wake_followers(world, broker)


@inner_rule
def _wake_followers(world: Brokers, broker: int) -> None:
    wake_all(world, broker)
    _clear_slots(world, broker)


@inner_rule
def _clear_slots(world: Brokers, broker: int) -> None:
    world.idle_threads[broker].peak = 0
    for word in range(broker * WORDS_OF_SPAN, (broker + 1) * WORDS_OF_SPAN):
        world.idle_arrivals[word].counts = 0


@inner_rule
def _enter_arrivals(world: Brokers, first: int) -> bool:
    """Enter the arrivals of a pair's fetches up to the end of the span; False: too many.

    The fetches themselves stay where they are.
    """
    room = 2 * world.pools[0].fetchers_of_source
    context = world.context[0]
    for number in range(room):
        world.kept_fetches[number] = world.idle_fetches[first + number]
    place = _earliest(world, first)
    one = world.idle_fetches[place].follower
    other = world.idle_fetches[place].leader
    forth = world.links[one * context.process_count + other]
    back = world.links[other * context.process_count + one]
    world.kept_links[0] = forth
    world.kept_links[1] = back
    one_sent = world.processes[one].sent
    other_sent = world.processes[other].sent
    fits = _enter_present(world, first)
    idle = world.idle_fetches[place]
    while fits and idle.due_us < context.look_ahead_us:
        if idle.stage == REQUESTED:
            fits = _enter_arrival(world, idle.leader, idle.due_us, idle.due_us + idle.cost_us)
        _go_on(world, idle)
        idle = world.idle_fetches[_earliest(world, first)]
    world.links[one * context.process_count + other] = world.kept_links[0]
    world.links[other * context.process_count + one] = world.kept_links[1]
    world.processes[one].sent = one_sent
    world.processes[other].sent = other_sent
    for number in range(room):
        world.idle_fetches[first + number] = world.kept_fetches[number]
    return fits


@inner_rule
def _enter_present(world: Brokers, first: int) -> bool:
    """Enter the fetches of a pair that a request handler would still have."""
    now_us = world.context[0].time_us
    fits = True
    for place in range(first, first + 2 * world.pools[0].fetchers_of_source):
        idle = world.idle_fetches[place]
        until_us = idle.arrived_us + idle.cost_us
        if idle.stage == WAITS and until_us > now_us and not idle.on_thread:
            fits = _enter_arrival(world, idle.leader, now_us, until_us) and fits
    return fits


@inner_rule
def _enter_arrival(world: Brokers, broker: int, from_us: int, until_us: int) -> bool:
    """Count a fetch that a request handler has for a while; False: the broker has too many."""
    threads = world.idle_threads[broker]
    begin_us = world.context[0].look_ahead_us - SPAN_US
    slot = (from_us - begin_us) >> _SLOT_BITS
    last = min((until_us - begin_us) >> _SLOT_BITS, _SLOTS - 1)
    while slot <= last:
        word = world.idle_arrivals[broker * WORDS_OF_SPAN + (slot >> 3)]
        shift = (slot & 7) * _COUNT_BITS
        count = ((word.counts >> shift) & 0xFF) + 1
        if count > _threads(world, broker) - _THREADS_LEFT or count > 0x7F:
            return False
        word.counts += _ONE << shift
        threads.peak = max(threads.peak, count)
        slot += 1
    return True


@inner_rule
def look_ahead(world: Brokers) -> None:
    """Begin the next span: enter the arrivals in it of all idle fetches."""
    context = world.context[0]
    _begin_from_outside(world, context.look_ahead_us)
    context.look_ahead_us += SPAN_US
    if context.idle_pairs == 0:
        return
    for broker in range(world.sizes[0].brokers):
        _clear_slots(world, broker)
    for broker in range(world.sizes[0].brokers):
        for other in range(broker):
            if is_idle(world, broker, other):
                first = _first_of_pair(world, broker, other)
                _advance(world, first)
                if not _enter_arrivals(world, first):
                    wake_pair(world, broker, other)
    for broker in range(world.sizes[0].brokers):
        if _busy_threads(world, broker) + world.idle_threads[broker].peak > _threads(world, broker):
            _wake_followers(world, broker)
    forget_marks(world)


@inner_rule
def forget_marks(world: Kernel) -> None:
    """No idle fetch has an event left that is earlier than what rows are known from now on."""
    world.context[0].row_marks = 0
    for process in range(world.context[0].process_count):
        world.processes[process].last_mark = NONE


@inner_rule
def make_room_for_marks(world: Brokers) -> None:
    """Bring all idle pairs to now, before the marks of rows run out."""
    for broker in range(world.sizes[0].brokers):
        for other in range(broker):
            if is_idle(world, broker, other):
                _advance(world, _first_of_pair(world, broker, other))
    forget_marks(world)
