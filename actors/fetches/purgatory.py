"""Purgatories: requests that wait until what they ask for is there (Kafka: ``Purgatory``).

A fetch waits until there are enough bytes, an acks=all produce until the high watermark has
reached its last record; each also waits no longer than its time-out. A waiting request is
*watched* by every partition that can complete it. It lies in its event's slot, and its
watches are taken out when it completes, so there is nothing to purge.

What wakes it (``delayed_operations.py``):

* an append wakes fetches of the partition. From 2.4 on Kafka wakes them once the high
  watermark has been tried, from 2.7 on after the request's other work is done: within one
  instant of virtual time all of these are the same;
* a high watermark that moves wakes fetches and produces;
* losing leadership wakes both, with an error.
"""

from __future__ import annotations

from tidegauge.actors.state.brokers import Brokers, WatchList
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.events import new_event, set_timer
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.messages.broker_timers import FetchExpires
from tidegauge.simulation.messages.client_requests import FetchRequest


@inner_rule
def new_watch(world: Brokers, event: int) -> int:
    """Take a watch of the pool."""
    pools = world.pools[0]
    index = pools.free_watch
    watch = world.watches[index]
    pools.free_watch = watch.next
    pools.free_watches -= 1
    watch.event = event
    watch.next = NONE
    return index


@inner_rule
def _free_watch(world: Brokers, index: int) -> None:
    pools = world.pools[0]
    world.watches[index].next = pools.free_watch
    pools.free_watch = index
    pools.free_watches += 1


@inner_rule
def watch(world: Brokers, waiting: WatchList, event: int) -> None:
    """Let a request wait for a replica, behind those that do already."""
    index = new_watch(world, event)
    if waiting.last == NONE:
        waiting.first = index
    else:
        world.watches[waiting.last].next = index
    waiting.last = index


@inner_rule
def unwatch(world: Brokers, waiting: WatchList, event: int) -> None:
    """Take a request that is complete out of the list of a replica."""
    previous = NONE
    index = waiting.first
    while index != NONE and world.watches[index].event != event:
        previous = index
        index = world.watches[index].next
    if index == NONE:
        return
    following = world.watches[index].next
    if previous == NONE:
        waiting.first = following
    else:
        world.watches[previous].next = following
    if waiting.last == index:
        waiting.last = previous
    _free_watch(world, index)


@inner_rule
def forget_watches_of(world: Brokers, row: int) -> None:
    """Give back all watches of a replica; what they were about is gone already."""
    _forget_list(world, world.delayed_fetches[row])
    _forget_list(world, world.delayed_produces[row])


@inner_rule
def _forget_list(world: Brokers, waiting: WatchList) -> None:
    index = waiting.first
    while index != NONE:
        following = world.watches[index].next
        _free_watch(world, index)
        index = following
    waiting.first = NONE
    waiting.last = NONE


@inner_rule
def expire_later(world: Kernel, request: FetchRequest) -> None:
    """Answer a fetch after its time-out, whatever there is by then."""
    timer = new_event(world, request.destination, request.destination, FetchExpires)
    timer.request_index = request.index
    timer.request_source = request.source
    timer.request_sequence = request.sequence
    set_timer(world, timer, world.context[0].time_us + request.max_wait_ms * 1000)


@inner_rule
def still_waits(world: Kernel, timer: FetchExpires) -> bool:
    """Whether the fetch that the timer is about still waits."""
    request = world.events[timer.request_index]
    return (
        request.kind == FetchRequest.KIND
        and request.source == timer.request_source
        and request.sequence == timer.request_sequence
    )
