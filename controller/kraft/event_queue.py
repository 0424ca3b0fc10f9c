"""The active controller's one thread and its queue (Kafka: KafkaEventQueue, QuorumController).

An event is handled at once if the thread is free, else when its turn comes. Its handler works on
the state in memory, appends records, and leaves a response to wait for their commit. Reads answer
from what is committed (``observers.py``, ``described.py``), and pass by the queue.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.state import Quorum
from tidegauge.simulation.costs import METADATA_RECORD, cost_us
from tidegauge.simulation.events import append_event, new_event, set_timer
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.quorum_timers import QuorumWorks
from tidegauge.simulation.topology import active_controller_process


@inner_rule
def waits_for_turn(world: Quorum, event: Event) -> bool:
    """Whether an event has to wait in the queue, in which it is then."""
    state = world.active_controller[0]
    if world.context[0].time_us >= state.busy_until_us:
        return False
    append_event(world, state.queue, event)
    return True


@inner_rule
def be_busy(world: Quorum, records: int) -> None:
    """The thread has handled an event that has made so many records: that takes its time."""
    state = world.active_controller[0]
    process = active_controller_process(world)
    state.events += 1
    work_us = 1
    if records > 0:
        work_us += records * cost_us(world, process, METADATA_RECORD)
    state.busy_until_us = world.context[0].time_us + work_us
    if not state.works:
        state.works = True
        set_timer(world, new_event(world, process, process, QuorumWorks), state.busy_until_us)
