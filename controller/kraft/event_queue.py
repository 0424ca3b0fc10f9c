"""The active controller's one thread and its queue (Kafka: KafkaEventQueue, QuorumController).

An event is handled at once if the thread is free, else when its turn comes. Its handler works on
the state in memory, appends records, and leaves a response to wait for their commit. Reads answer
from the committed state (``observers.py``, ``described.py``), and pass by the queue.

Events that append records, other than a NoOpRecord, are rows of the trace.
"""

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.state import Quorum, note_event, note_event_end
from tidegauge.controller.raft.state import this_voter
from tidegauge.simulation.events import append_event
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_timers import QuorumWorks
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.rows import METADATA_RECORD, cost_us
from tidegauge.simulation.trace_rows.controller_rows import ControllerEvent, ControllerEventDone


@inner_rule
def waits_for_turn(world: Quorum, event: Event) -> bool:
    """Whether an event has to wait in the queue, in which it is then."""
    voter = this_voter(world)
    if not voter.works:
        return False
    append_event(world, voter.queue, event)
    return True


@inner_rule
def begin_event(world: Quorum, event: Event, kind: int) -> None:
    """The thread takes an event, of a type of ``simulation/trace_rows/codes.py``."""
    voter = this_voter(world)
    voter.event_kind = kind
    voter.event_came_us = event.time_us
    voter.event_taken_us = world.context[0].time_us
    voter.queue_length = voter.queue.length
    note_event(world, voter.event_taken_us - voter.event_came_us)
    voter.event_written = False
    voter.reason = 0
    voter.because_process = NONE
    voter.because_sequence = NONE


@inner_rule
def new_event_row(world: Quorum) -> ControllerEvent:
    """The row about the event that is being handled, which has still to be written."""
    voter = this_voter(world)
    voter.event_written = True
    return ControllerEvent.new(world, voter, queued_us=voter.event_taken_us - voter.event_came_us)


@inner_rule
def be_busy(world: Quorum, records: int) -> None:
    """The thread has handled an event that has made so many records: that takes its time."""
    voter = this_voter(world)
    if records == 0 and voter.queue.first == NONE:
        note_event_end(world, 0)
        return
    process = world.context[0].handling
    work_us = records * cost_us(world, process, METADATA_RECORD) if records > 0 else 0
    voter.works = True
    QuorumWorks.after(world, work_us)


@inner_rule
def end_event(world: Quorum) -> None:
    """The thread is done with the event that it has taken last."""
    voter = this_voter(world)
    voter.works = False
    note_event_end(world, world.context[0].time_us - voter.event_taken_us)
    if voter.event_written:
        voter.event_written = False
        ControllerEventDone.write(
            world, voter, processing_us=world.context[0].time_us - voter.event_taken_us
        )
