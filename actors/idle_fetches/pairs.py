"""Pairs of brokers become idle when nothing is due at either end; what changes that wakes them."""

from tidegauge.actors.idle_fetches.across import leave, offer
from tidegauge.actors.idle_fetches.ahead import begin_ahead, catch_up_with_span, go_ahead
from tidegauge.actors.idle_fetches.arrivals import SPAN_US, clear_slots, has_threads
from tidegauge.actors.idle_fetches.pending import (
    begin,
    count,
    is_quiet,
    make_pending,
    may_idle,
    resume_fetcher,
)
from tidegauge.actors.idle_fetches.stages import (
    HANDLED,
    advance,
    begin_from_outside,
    catch_up,
    fetcher_at,
    first_of_pair,
    forget_marks,
    is_idle,
)
from tidegauge.actors.state.brokers import Brokers
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule, rule
from tidegauge.simulation.events import free_event
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.client_requests import FetchRequest


@inner_rule
def becomes_idle(world: Brokers, request: FetchRequest) -> bool:
    """Let the fetches of two brokers be computed from now on, if the last one begins to wait now.

    Each of them waits then, with a timer at its own deadline, and finds nothing.
    """
    context = world.context[0]
    one = request.source
    other = request.destination
    if not world.processes[one].hosted:
        offer(world, request)
        return False
    first = first_of_pair(world, one, other)
    last = first + 2 * world.pools[0].fetchers_of_source
    for place in range(first, last):
        if not may_idle(world, fetcher_at(world, place, one, other), request.fetcher):
            return False
    if not (is_quiet(world, one, other) and is_quiet(world, other, one)):
        return False
    for place in range(first, last):
        waiting = world.fetch_sessions[fetcher_at(world, place, one, other)].waiting
        if waiting != NONE:
            begin(world.idle_fetches[place], view_as(world.events[waiting], FetchRequest))
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
def wake_pair(world: Brokers, one: int, other: int) -> None:
    """Make the pending events of an idle pair: they are handled from now on."""
    if world.context[0].idle_pairs > 0 and not (
        world.processes[one].hosted and world.processes[other].hosted
    ):
        leave(world, one, other)
        return
    if not is_idle(world, one, other):
        return
    catch_up(world, one, other)
    first = first_of_pair(world, one, other)
    for place in range(first, first + 2 * world.pools[0].fetchers_of_source):
        idle = world.idle_fetches[place]
        if idle.stage != HANDLED:
            count(world, idle)
            index = fetcher_at(world, place, one, other)
            resume_fetcher(world, idle, index)
            make_pending(world, idle, index)
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
    process, source, sequence = (
        context.event_process,
        context.event_source,
        context.event_sequence,
    )
    begin_from_outside(world, time_us)
    for broker in range(world.sizes[0].brokers):
        for other in range(broker):
            catch_up(world, broker, other)
    for idle in world.idle_fetches:
        if idle.stage != HANDLED:
            count(world, idle)
    context.time_us = now_us
    context.event_process = process
    context.event_source = source
    context.event_sequence = sequence


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
    forget_marks(world, SPAN_US)


@inner_rule
def make_room_for_marks(world: Brokers) -> None:
    """Bring all idle pairs to now, before the marks of rows run out."""
    for broker in range(world.sizes[0].brokers):
        for other in range(broker):
            if is_idle(world, broker, other):
                advance(world, first_of_pair(world, broker, other))
    forget_marks(world, SPAN_US)
