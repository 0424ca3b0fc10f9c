"""Idle pairs whose brokers are in two groups: both compute all of it, each for its own end.

A leader at which the other's fetch begins to wait *offers* its half, if it is calm. If the other
end is calm, too, when the offer arrives, it computes from then on, and *answers* with its half.
If either end has to send something meanwhile, the offer is withdrawn, as a computed pair is woken.

An end that wakes a pair makes its own pending events, and *ends*: it tells the other end how far
it has computed. The other one goes as far, makes its own pending events, and ends likewise. It may
have computed more of its own: what has become pending at the first end by that is made there now.
Until then the first end waits before the time at which that could arrive.
"""

from tidegauge.actors.idle_fetches.ahead import begin_ahead, go_ahead
from tidegauge.actors.idle_fetches.arrivals import SPAN_US, has_threads
from tidegauge.actors.idle_fetches.pending import (
    asks_for_nothing,
    begin,
    count,
    is_quiet,
    make_pending,
    resume_fetcher,
    waits_in_vain,
)
from tidegauge.actors.idle_fetches.stages import (
    HANDLED,
    WAITS,
    begin_from_outside,
    catch_up,
    earliest,
    events_of,
    fetcher_at,
    first_of_pair,
    go_on,
    is_elsewhere,
    place_of,
    timer_number,
)
from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.state.replica_records import IdleFetch, IdlePair, IdleStage
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.events import free_event, new_event
from tidegauge.simulation.kernel import NONE, UNIMPAIRED, Kernel, link_between
from tidegauge.simulation.links import route, shortest_latency_us
from tidegauge.simulation.messages.client_requests import FetchRequest
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.idle_fetches import (
    OTHER_END,
    IdleAnswer,
    IdleEnds,
    IdleHalf,
    IdleOffer,
)

# IdlePair.phase
APART = code(0)  #: its events are handled
OFFERED = code(1)  #: this end has offered its half
WITHDRAWN = code(2)  #: ... and has to be handled: the answer is still to come
COMPUTED = code(3)
ENDING = code(4)  #: this end is handled, and the other one has still to tell how far it was


@inner_rule
def _pair_of(world: Brokers, one: int, other: int) -> IdlePair:
    high = max(one, other)
    return world.idle_pairs[high * (high - 1) // 2 + min(one, other)]


@inner_rule
def offer(world: Brokers, request: FetchRequest) -> None:
    """Offer this leader's half, as a follower's fetch from another group begins to wait here.

    Of two brokers that fetch from each other the lower one offers.
    """
    context = world.context[0]
    here = request.destination
    there = request.source
    pair = _pair_of(world, here, there)
    own = place_of_fetcher(world, here, there)
    fetches = world.fetchers[own].row_count > 0
    least_us = shortest_latency_us(world, here, there)
    if not (
        context.idles_across
        and pair.phase == APART
        and not (fetches and there < here)
        and request.deadline_us > context.time_us + 2 * least_us
        and 4 * least_us < SPAN_US
        and waits_in_vain(world, request.fetcher, request.fetcher)
        and _is_calm(world, here, there)
        and has_threads(world, here, 1)
    ):
        return
    pair.phase = OFFERED
    pair.offered_us = context.time_us + least_us
    context.idle_pairs += 1
    message = new_event(world, OTHER_END, there, IdleOffer)
    _fill_half(world, view_as(message, IdleHalf), here, there)
    _send(world, view_as(message, Event), here, context.time_us + least_us)


@inner_rule
def place_of_fetcher(world: Brokers, follower: int, leader: int) -> int:
    """The one fetcher of a follower from a leader."""
    return follower * world.sizes[0].brokers + leader


@inner_rule
def _is_calm(world: Brokers, here: int, there: int) -> bool:
    """Whether nothing is under way at this end, and it has nothing new to ask for."""
    own = place_of_fetcher(world, here, there)
    fetcher = world.fetchers[own]
    asks = fetcher.in_flight != 0 and asks_for_nothing(world, own)
    return (
        is_quiet(world, there, here)
        and link_between(world, here, there).impairment == UNIMPAIRED
        and link_between(world, there, here).impairment == UNIMPAIRED
        and (asks or (fetcher.row_count == 0 and fetcher.in_flight == 0))
    )


@inner_rule
def _fill_half(world: Brokers, half: IdleHalf, here: int, there: int) -> None:
    """Tell the other end all about the fetch that waits here, the own one, and the link."""
    link = link_between(world, here, there)
    session = world.fetch_sessions[place_of_fetcher(world, there, here)]
    half.broker = here
    half.in_flight = world.fetchers[place_of_fetcher(world, here, there)].in_flight
    half.draws = link.draws
    half.last_delivery_us = link.last_delivery_us
    half.timer = 0
    half.correlation_id = 0
    if session.waiting != NONE:
        request = view_as(world.events[session.waiting], FetchRequest)
        half.correlation_id = request.correlation_id
        half.deadline_us = request.deadline_us
        half.asked_us = request.asked_us
        half.cause_process = request.cause_process
        half.cause_sequence = request.cause_sequence
        half.timer = request.sequence


@inner_rule
def _send(world: Kernel, message: Event, here: int, time_us: int) -> None:
    """Send news to the other end: they keep their order."""
    process = world.processes[here]
    message.time_us = time_us
    message.sequence = process.sent
    message.source_rows = process.rows
    process.sent += 1
    route(world, message)


@inner_rule
def take_news(world: Brokers, message: Event) -> None:
    """Take news of the other end, which can be behind the time that this group has reached."""
    context = world.context[0]
    context.handled -= 1
    world.kind_counts[message.kind].handled -= 1
    if message.time_us > context.time_us:
        begin_from_outside(world, message.time_us)
    if message.kind == IdleOffer.KIND:
        _take_offer(world, view_as(message, IdleHalf))
    elif message.kind == IdleAnswer.KIND:
        _take_answer(world, view_as(message, IdleHalf))
    else:
        _take_end(world, view_as(message, IdleEnds))
    free_event(world, message)


@inner_rule
def _take_offer(world: Brokers, half: IdleHalf) -> None:
    here = half.destination
    there = half.broker
    least_us = shortest_latency_us(world, here, there)
    answer = new_event(world, OTHER_END, there, IdleAnswer)
    _fill_half(world, view_as(answer, IdleHalf), here, there)
    answer.accepts = _may_accept(world, half) and _compute(world, half, least_us)
    _send(world, view_as(answer, Event), here, world.context[0].time_us + least_us)


@inner_rule
def _may_accept(world: Brokers, half: IdleHalf) -> bool:
    """Whether both fetches wait, and this end is calm."""
    here = half.destination
    there = half.broker
    waiting = place_of_fetcher(world, there, here)
    session = world.fetch_sessions[waiting]
    own = world.fetchers[place_of_fetcher(world, here, there)]
    if not (
        world.context[0].idles_across
        and _pair_of(world, here, there).phase == APART
        and own.in_flight == half.correlation_id
        and _is_calm(world, here, there)
    ):
        return False
    if session.waiting == NONE:
        return half.in_flight == 0
    request = view_as(world.events[session.waiting], FetchRequest)
    return request.correlation_id == half.in_flight and waits_in_vain(world, waiting, NONE)


@inner_rule
def _compute(world: Brokers, half: IdleHalf, least_us: int) -> bool:
    """Compute the pair from now on, if there are request handlers for its fetches."""
    here = half.destination
    there = half.broker
    first = first_of_pair(world, here, there)
    session = world.fetch_sessions[place_of_fetcher(world, there, here)]
    if session.waiting != NONE:
        place = place_of(world, there, here, 0)
        begin(world.idle_fetches[place], view_as(world.events[session.waiting], FetchRequest))
        world.idle_fetches[place].across_us = least_us
    if half.correlation_id != 0:
        _begin_there(world, half, least_us)
    link = link_between(world, there, here)
    link.draws = half.draws
    link.last_delivery_us = half.last_delivery_us
    rows = max(world.processes[there].rows, half.source_rows)
    world.processes[there].rows = rows
    begin_ahead(world, first, here, there)
    if not (go_ahead(world, first) and has_threads(world, here, 0)):
        world.idle_fetches[first].stage = HANDLED
        world.idle_fetches[first + 1].stage = HANDLED
        return False
    if session.waiting != NONE:
        free_event(world, world.events[session.waiting])
        session.waiting = NONE
    world.context[0].idle_pairs += 1
    _pair_of(world, here, there).phase = COMPUTED
    return True


@inner_rule
def _begin_there(world: Brokers, half: IdleHalf, least_us: int) -> None:
    """Put a stage in the place of the own fetch, which waits at the other end."""
    here = half.destination
    idle = world.idle_fetches[place_of(world, here, half.broker, 0)]
    idle.stage = WAITS
    idle.follower = here
    idle.leader = half.broker
    idle.due_us = half.deadline_us
    idle.max_wait_us = world.brokers[here].replica_fetch_wait_max_ms * 1000
    idle.arrived_us = idle.due_us - idle.max_wait_us
    idle.sequence = timer_number(idle.arrived_us, half.timer)
    idle.asked_us = half.asked_us
    idle.requests = half.correlation_id
    idle.cost_us = 0
    idle.cause_process = half.cause_process
    idle.cause_sequence = half.cause_sequence
    idle.on_thread = True
    idle.across_us = least_us
    idle.counted = events_of(view_as(idle, IdleStage))
    idle.read = idle.counted


@inner_rule
def _take_answer(world: Brokers, half: IdleHalf) -> None:
    """The other end computes, or it does not."""
    here = half.destination
    there = half.broker
    pair = _pair_of(world, here, there)
    was_withdrawn = pair.phase == WITHDRAWN
    pair.phase = APART
    least_us = shortest_latency_us(world, here, there)
    if not was_withdrawn:
        world.context[0].idle_pairs -= 1
        if half.accepts and not _compute(world, half, least_us):
            # The other end does already.
            pair.phase = OFFERED
            world.context[0].idle_pairs += 1
            _withdraw(world, here, there)
            was_withdrawn = True
    if half.accepts and was_withdrawn:
        pair.phase = ENDING
        own = world.idle_fetches[place_of(world, here, there, 0)]
        world.idle_fetches[place_of(world, there, here, 0)].left_at = HANDLED
        own.left_at = HANDLED
        if half.correlation_id != 0:
            _begin_there(world, half, least_us)
            own.left_at = own.stage
            own.stage = HANDLED
            link = link_between(world, there, here)
            link.draws = half.draws
            link.last_delivery_us = half.last_delivery_us
            world.processes[there].rows = max(world.processes[there].rows, half.source_rows)


@inner_rule
def leave(world: Brokers, one: int, other: int) -> None:
    """Handle a pair from now on, if this end has offered it, or computes it."""
    here = one if world.processes[one].hosted else other
    there = other if here == one else one
    pair = _pair_of(world, here, there)
    if pair.phase == OFFERED:
        _withdraw(world, here, there)
    elif pair.phase == COMPUTED:
        catch_up(world, here, there)
        _end(world, here, there)
        pair.phase = ENDING


@inner_rule
def _withdraw(world: Brokers, here: int, there: int) -> None:
    """Tell the other end that nothing counts which it has computed of this one since the offer."""
    pair = _pair_of(world, here, there)
    pair.phase = WITHDRAWN
    world.context[0].idle_pairs -= 1
    message = new_event(world, OTHER_END, there, IdleEnds, broker=here, of_higher=0, of_lower=0)
    _send(world, view_as(message, Event), here, pair.offered_us)


@inner_rule
def _end(world: Brokers, here: int, there: int) -> None:
    """Make the events that are pending at this end, and tell the other one how far it is."""
    context = world.context[0]
    first = first_of_pair(world, here, there)
    message = new_event(world, OTHER_END, there, IdleEnds, broker=here)
    message.of_higher = _told(world.idle_fetches[first])
    message.of_lower = _told(world.idle_fetches[first + 1])
    time_us = context.time_us + shortest_latency_us(world, here, there)
    for place in range(first, first + 2):
        idle = world.idle_fetches[place]
        idle.left_at = HANDLED
        if idle.stage == HANDLED:
            continue
        count(world, idle)
        index = fetcher_at(world, place, here, there)
        if idle.follower == here:
            resume_fetcher(world, idle, index)
        if is_elsewhere(world, idle, view_as(idle, IdleStage)):
            idle.left_at = idle.stage
            time_us = min(time_us, idle.due_us)
        else:
            make_pending(world, idle, index)
        idle.stage = HANDLED
    context.idle_pairs -= 1
    _send(world, view_as(message, Event), here, time_us)


@inner_rule
def _told(idle: IdleFetch) -> int:
    return events_of(view_as(idle, IdleStage)) if idle.stage != HANDLED else 0


@inner_rule
def _take_end(world: Brokers, message: IdleEnds) -> None:
    """The other end is handled from where it says."""
    here = message.destination
    there = message.broker
    pair = _pair_of(world, here, there)
    first = first_of_pair(world, here, there)
    if pair.phase == COMPUTED:
        catch_up(world, here, there)
        _go_as_far(world, first, message)
        catch_up(world, here, there)
        _end(world, here, there)
        pair.phase = APART
    elif pair.phase == ENDING:
        for place in range(first, first + 2):
            world.idle_fetches[place].stage = world.idle_fetches[place].left_at
        _go_as_far(world, first, message)
        for place in range(first, first + 2):
            idle = world.idle_fetches[place]
            if idle.stage != HANDLED and not is_elsewhere(world, idle, view_as(idle, IdleStage)):
                make_pending(world, idle, fetcher_at(world, place, here, there))
            idle.stage = HANDLED
        pair.phase = APART


@inner_rule
def _go_as_far(world: Brokers, first: int, message: IdleEnds) -> None:
    """Go on to where the other end has got, in the order of its events."""
    while True:
        found = NONE
        if _is_behind(world.idle_fetches[first], message.of_higher):
            found = first
        if _is_behind(world.idle_fetches[first + 1], message.of_lower):
            found = first + 1 if found == NONE else earliest(world, first)
        if found == NONE:
            return
        go_on(world, world.idle_fetches[found])


@inner_rule
def _is_behind(idle: IdleFetch, events: int) -> bool:
    return idle.stage != HANDLED and events_of(view_as(idle, IdleStage)) < events
