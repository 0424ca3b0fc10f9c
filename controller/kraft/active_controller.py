"""The active controller of a KRaft quorum: what it does with each event that reaches it.

:func:`handle_quorum_event` is the door to everything that it does; in Kafka's words:

==============================  =========================================================
Kafka                           here
==============================  =========================================================
QuorumController, event queue   ``event_queue.py``, ``write_events.py``
KafkaRaftClient, its batches    ``metadata_log.py``; observers' fetches: ``observers.py``
ClusterControlManager           ``broker_registrations.py``
BrokerHeartbeatManager          ``broker_heartbeats.py``
PartitionChangeBuilder          ``partition_change.py``
ReplicationControlManager       ``partition_records.py``, ``broker_changes.py``,
..                              ``isr_proposals.py``, ``topics.py``, ``elections.py``,
..                              ``reassignments.py``
PeriodicTaskControlManager      ``periodic_tasks.py``
ConfigurationControlManager     ``topic_configs.py``
(what an operator asks)         ``described.py``
==============================  =========================================================
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft import described, metadata_log, observers, periodic_tasks
from tidegauge.controller.kraft.event_queue import be_busy, waits_for_turn
from tidegauge.controller.kraft.handlers import QUORUM, WRITES
from tidegauge.controller.kraft.state import Quorum
from tidegauge.simulation.events import free_event, take_first
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.fault_events import FaultChange
from tidegauge.simulation.messages.kinds import KINDS
from tidegauge.simulation.messages.quorum_timers import QuorumWorks

#: Modules of which only the handlers are used: they enter them.
_HANDLED_IN = (described, metadata_log, observers, periodic_tasks)


@inner_rule
def handle_quorum_event(world: Quorum, event: Event) -> None:
    """Let the controller deal with one event, and give it back unless it is kept."""
    if IS_WRITE[event.kind]:
        if not waits_for_turn(world, event):
            _write(world, event)
    elif not _handle(world, event):
        free_event(world, event)


@inner_rule
def _write(world: Quorum, event: Event) -> None:
    """Handle an event of the queue: compute records from the state in memory, and append them."""
    before = world.active_controller[0].log_end_offset
    _decide(world, event)
    be_busy(world, world.active_controller[0].log_end_offset - before)
    free_event(world, event)


@QUORUM.handles(QuorumWorks)
@inner_rule
def handle_quorum_works(world: Quorum, _: QuorumWorks) -> bool:
    """Take the next event of the queue."""
    state = world.active_controller[0]
    state.works = False
    if state.queue.first != NONE:
        _write(world, take_first(world, state.queue))
    return False


#: Call the handler of an event's kind.
_handle = QUORUM.dispatcher(__name__, "_handle", Quorum, Event)
_decide = WRITES.dispatcher(__name__, "_decide", Quorum, Event)

#: Whether an event of a kind goes into the queue.
_WRITTEN = {each.KIND for each in WRITES.classes}
IS_WRITE = tuple(kind in _WRITTEN for kind in range(KINDS))


@inner_rule
def take_quorum_fault(world: Quorum, event: FaultChange) -> None:
    """A fault has begun or ended at a controller: those that would stop it come with the quorum."""
