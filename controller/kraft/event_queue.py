"""The active controller's one thread and its queue (Kafka: KafkaEventQueue, QuorumController).

An event is handled at once if the thread is free, else when its turn comes. Its handler works on
the state in memory, appends records, and leaves a response to wait for their commit. Reads answer
from what is committed (``observers.py``, ``described.py``), and pass by the queue.

Events that append records, other than a NoOpRecord, are rows of the trace.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.state import Quorum
from tidegauge.simulation.costs import METADATA_RECORD, cost_us
from tidegauge.simulation.events import append_event, new_event, set_timer
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.quorum_timers import QuorumWorks
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.topology import active_controller_process
from tidegauge.simulation.trace_rows.controller_rows import ControllerEvent, ControllerEventDone


@inner_rule
def waits_for_turn(world: Quorum, event: Event) -> bool:
    """Whether an event has to wait in the queue, in which it is then."""
    state = world.active_controller[0]
    if not state.works:
        return False
    append_event(world, state.queue, event)
    return True


@inner_rule
def begin_event(world: Quorum, event: Event, kind: int) -> None:
    """The thread takes an event, of a type of ``simulation/codes/controller_events.py``."""
    state = world.active_controller[0]
    state.event_kind = kind
    state.event_came_us = event.time_us
    state.event_taken_us = world.context[0].time_us
    state.queue_length = state.queue.length
    state.event_written = False
    state.reason = 0
    state.because_process = NONE
    state.because_sequence = NONE


@inner_rule
def new_event_row(world: Quorum) -> ControllerEvent:
    """The row about the event that is being handled, which has still to be written."""
    state = world.active_controller[0]
    state.event_written = True
    row = new_row(world, active_controller_process(world), ControllerEvent)
    row.event_kind = state.event_kind
    row.queue_length = state.queue_length
    row.queued_us = state.event_taken_us - state.event_came_us
    return row


@inner_rule
def be_busy(world: Quorum, records: int) -> None:
    """The thread has handled an event that has made so many records: that takes its time."""
    state = world.active_controller[0]
    if records == 0 and state.queue.first == NONE:
        return
    process = active_controller_process(world)
    work_us = records * cost_us(world, process, METADATA_RECORD) if records > 0 else 0
    state.works = True
    timer = new_event(world, process, process, QuorumWorks)
    set_timer(world, timer, world.context[0].time_us + work_us)


@inner_rule
def end_event(world: Quorum) -> None:
    """The thread is done with the event that it has taken last."""
    state = world.active_controller[0]
    state.works = False
    if state.event_written:
        state.event_written = False
        done = new_row(world, active_controller_process(world), ControllerEventDone)
        done.event_kind = state.event_kind
        done.processing_us = world.context[0].time_us - state.event_taken_us
        write_row(world, done)
