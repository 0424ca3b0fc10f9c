"""Idle fetches ahead of time: where they are at the end of a span, by the times alone.

At the end of the span a pair gets there in one step, if all rows that its messages bring news of
are the same, and stage by stage if not.
"""

from tidegauge.actors.idle_fetches.arrivals import enter_arrival, enter_present
from tidegauge.actors.idle_fetches.stages import (
    ANSWERED,
    HANDLED,
    REQUESTED,
    WAITS,
    advance,
    ask_again,
    begin_to_wait,
    earliest_ahead,
    known_us,
    response_us,
    source_of,
)
from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.state.replica_records import IdleStage, LinkAhead
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.kernel import NONE, Kernel, impairment_of, link_between
from tidegauge.simulation.links import latencies_between, path_between
from tidegauge.simulation.random_streams import QUANTILES, draw_from, quantile_us

#: A fetcher that has nothing to fetch.
_NEVER_US = code(2**62)


@inner_rule
def _links_of_pair(world: Brokers, first: int) -> int:
    """The place of the link from a pair's higher broker: the other one is behind it."""
    return first // world.pools[0].fetchers_of_source


@inner_rule
def begin_ahead(world: Brokers, first: int, one: int, other: int) -> None:
    """An idle pair is ahead by nothing."""
    for place in range(first, first + 2 * world.pools[0].fetchers_of_source):
        ahead = world.fetches_ahead[place]
        _copy(ahead, view_as(world.idle_fetches[place], IdleStage))
        if ahead.stage == HANDLED:
            ahead.due_us = _NEVER_US
    links = _links_of_pair(world, first)
    _begin_link(world, world.links_ahead[links], max(one, other), min(one, other))
    _begin_link(world, world.links_ahead[links + 1], min(one, other), max(one, other))


@inner_rule
def _copy(to: IdleStage, of: IdleStage) -> None:
    to.due_us = of.due_us
    to.sequence = of.sequence
    to.asked_us = of.asked_us
    to.arrived_us = of.arrived_us
    to.requests = of.requests
    to.stage = of.stage


@inner_rule
def _begin_link(world: Kernel, ahead: LinkAhead, source: int, destination: int) -> None:
    link = link_between(world, source, destination)
    ahead.last_delivery_us = link.last_delivery_us
    ahead.draws = link.draws
    ahead.stream = latencies_between(world, source, destination)
    ahead.first_quantile = path_between(world, source, destination) * QUANTILES
    ahead.delay_us = impairment_of(world, link).delay_us


@inner_rule
def go_ahead(world: Brokers, first: int) -> bool:
    """Enter the fetches of a pair up to the end of the span; False: too many.

    They are those that arrive, and those that a request handler still has.
    """
    if not enter_present(world, first):
        return False
    end_us = world.context[0].look_ahead_us
    cost_us = response_us(world)
    behind = first + world.pools[0].fetchers_of_source
    links = _links_of_pair(world, first)
    while True:
        place = earliest_ahead(world, first)
        ahead = world.fetches_ahead[place]
        idle = world.idle_fetches[place]
        if known_us(world, idle, ahead) >= end_us:
            return True
        requests = links if place < behind else links + 1
        responses = links + 1 if place < behind else links
        if ahead.stage == REQUESTED:
            until_us = ahead.due_us + idle.cost_us
            is_here = world.processes[idle.leader].hosted
            if is_here and not enter_arrival(world, idle.leader, ahead.due_us, until_us):
                return False
            begin_to_wait(ahead, idle.max_wait_us)
        elif ahead.stage == WAITS:
            _sends(world, ahead, world.links_ahead[responses], idle.leader, cost_us)
            ahead.stage = ANSWERED
        else:
            ask_again(ahead)
            _sends(world, ahead, world.links_ahead[requests], idle.follower, 0)
            ahead.stage = REQUESTED


@inner_rule
def _sends(world: Kernel, ahead: IdleStage, link: LinkAhead, source: int, cost_us: int) -> None:
    """Have the message of the next stage leave its process, as ``links.send`` does it."""
    latency_us = quantile_us(
        world.quantiles, link.first_quantile, draw_from(link.stream, link.draws)
    )
    arrival_us = ahead.due_us + cost_us + link.delay_us + latency_us
    link.draws += 1
    link.last_delivery_us = max(arrival_us, link.last_delivery_us)
    ahead.due_us = link.last_delivery_us
    ahead.sequence = world.processes[source].sent
    world.processes[source].sent += 1


@inner_rule
def catch_up_with_span(world: Brokers, first: int, one: int, other: int) -> None:
    """Bring an idle pair to the end of the span, up to which it went ahead."""
    if not _have_told_all(world, first, one, other):
        advance(world, first)
        return
    for place in range(first, first + 2 * world.pools[0].fetchers_of_source):
        idle = world.idle_fetches[place]
        if idle.stage != HANDLED:
            _copy(view_as(idle, IdleStage), world.fetches_ahead[place])
            idle.source_rows = world.processes[source_of(idle, idle.stage)].rows
            idle.on_thread = False
    links = _links_of_pair(world, first)
    _take_over(world, world.links_ahead[links], max(one, other), min(one, other))
    _take_over(world, world.links_ahead[links + 1], min(one, other), max(one, other))


@inner_rule
def _have_told_all(world: Brokers, first: int, one: int, other: int) -> bool:
    """Whether both brokers know all rows of the other one, and had no new one since.

    Of each fetch, a request and a response were sent and have arrived meanwhile.
    """
    if world.processes[one].last_mark != NONE or world.processes[other].last_mark != NONE:
        return False
    for place in range(first, first + 2 * world.pools[0].fetchers_of_source):
        idle = world.idle_fetches[place]
        if idle.stage != HANDLED and world.fetches_ahead[place].requests < idle.requests + 2:
            return False
    return True


@inner_rule
def _take_over(world: Kernel, ahead: LinkAhead, source: int, destination: int) -> None:
    link = link_between(world, source, destination)
    link.draws = ahead.draws
    link.last_delivery_us = ahead.last_delivery_us
    link.source_rows = world.processes[source].rows
