"""What a controller counts and measures of its events; nothing in a run reads it.

Source: QuorumController.handleEventEnd, updateEventStartMetricsAndGetTime@4.1.0.
"""

from __future__ import annotations

from tidegauge.compiled.record_views import blank
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.kraft.state import ControllerStats, Quorum
from tidegauge.controller.raft.voters import voter_of
from tidegauge.simulation.histograms import BUCKETS, bucket_of, weight_at

#: The histograms of a controller, in their order.
QUEUE_TIMES = code(0)
PROCESSING_TIMES = code(1)


@inner_rule
def these_controller_stats(world: Quorum) -> ControllerStats:
    """Those of the controller that handles the event."""
    return world.controller_stats[voter_of(world, world.context[0].handling)]


@inner_rule
def note_event(world: Quorum, queued_us: int) -> None:
    """The thread takes an event that has waited for so long."""
    these_controller_stats(world).events += 1
    _measure(world, QUEUE_TIMES, queued_us)


@inner_rule
def note_event_end(world: Quorum, processing_us: int) -> None:
    """The thread is done with an event, which has taken it so long."""
    _measure(world, PROCESSING_TIMES, processing_us)


@inner_rule
def _measure(world: Quorum, histogram: int, time_us: int) -> None:
    stats = these_controller_stats(world)
    first = 2 * voter_of(world, world.context[0].handling) * BUCKETS
    times = world.controller_event_times[first : first + 2 * BUCKETS]
    weight = weight_at(world.context[0].time_us, stats, times)
    times[histogram * BUCKETS + bucket_of(time_us)].weight += weight


@inner_rule
def forget_controller_stats(world: Quorum) -> None:
    """The next process of this controller counts from 0."""
    blank(these_controller_stats(world), ControllerStats)
    first = 2 * voter_of(world, world.context[0].handling) * BUCKETS
    for index in range(first, first + 2 * BUCKETS):
        world.controller_event_times[index].weight = 0
