"""What a request waits for on its thread: a partition's lock, a slow disk, its own work.

Kafka writes an ISR to ZooKeeper inside ``leaderIsrUpdateLock``. A request that meets it
waits on its thread, however long ZooKeeper takes.
"""

from __future__ import annotations

from tidegauge.actors.state.brokers import NEVER_US, Brokers
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.events import append_event, new_event, set_timer
from tidegauge.simulation.messages.broker_timers import HandlerGoesOn
from tidegauge.simulation.messages.event import Event


@inner_rule
def wait_for_lock(world: Brokers, row: int, request: Event) -> None:
    """Let a request wait for a replica's lock, behind those that do already."""
    append_event(world, world.hosted[row].waiting, request)
    hold_thread(world, request)


@inner_rule
def hold_thread(world: Brokers, request: Event) -> None:
    """Keep the request's thread busy until the request goes on."""
    thread = world.brokers[request.destination].first_thread + request.thread
    world.threads[thread].free_us = NEVER_US


@inner_rule
def go_on_later(world: Brokers, request: Event, delay_us: int) -> None:
    """Let a request's work take its time; the request goes on after it."""
    hold_thread(world, request)
    timer = new_event(world, request.destination, request.destination, HandlerGoesOn)
    timer.request_index = request.index
    set_timer(world, timer, world.context[0].time_us + delay_us)
