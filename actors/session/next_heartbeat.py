"""When a broker of a KRaft cluster registers, or sends its next heartbeat.

Whatever changes in a broker that the controller has to hear of plans the next heartbeat here;
``metadata/broker_lifecycle.py`` sends it.

Source: BrokerLifecycleManager.scheduleNextCommunication@4.1.0.
"""

from __future__ import annotations

from tidegauge.actors.state.brokers import Brokers
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.events import new_event, set_timer
from tidegauge.simulation.messages.quorum_timers import HeartbeatDue


@inner_rule
def communicate_later(world: Brokers, broker: int, delay_us: int) -> None:
    """Plan the next request after a delay, or at once if that was asked for since."""
    state = world.lifecycles[broker]
    if state.next_is_immediate:
        state.next_is_immediate = False
        delay_us = 0
    state.plans += 1
    timer = new_event(world, broker, broker, HeartbeatDue)
    timer.number = state.plans
    set_timer(world, timer, world.context[0].time_us + delay_us)


@inner_rule
def report_offline_directory(world: Brokers, broker: int, directory: int) -> None:
    """A log directory has failed: the next heartbeat says so, and is sent at once.

    Source: BrokerLifecycleManager.OfflineDirEvent@3.7.0 (KIP-858).
    """
    state = world.lifecycles[broker]
    state.offline_directories |= 1 << directory
    if state.registered:
        communicate_later(world, broker, 0)
