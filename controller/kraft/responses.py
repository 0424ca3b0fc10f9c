"""Responses of a controller: each is sent here, and its request counted for JMX.

Source: ControllerApis@4.1.0, RequestChannel.Request.updateRequestMetrics@4.1.0. What a request
waits for, the controller's queue and the commit of its records, is RemoteTimeMs there: a request
handler only hands it to the controller's thread, which takes no simulated time.
"""

from __future__ import annotations

from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.state import Quorum
from tidegauge.replication.errors import ERROR_COUNT, ERROR_PLACES
from tidegauge.simulation.histograms import BUCKETS, bucket_of, weight_at
from tidegauge.simulation.kernel import QUORUM_CONTROLLER
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.event import Event, EventSlot
from tidegauge.simulation.messages.kinds import ERROR_WORD
from tidegauge.simulation.messages.request_types import CONTROLLER_TYPE_COUNT, TYPE_OF_RESPONSE


@inner_rule
def respond(world: Quorum, response: Event) -> None:
    """Send a response now, and count the request that it is to."""
    now_us = world.context[0].time_us
    if TYPE_OF_RESPONSE[response.kind] >= 0:
        _mark(world, response, now_us)
    send(world, response, now_us)


@inner_rule
def _mark(world: Quorum, response: Event, now_us: int) -> None:
    controller = response.source - world.process_ranges[QUORUM_CONTROLLER].first
    index = controller * CONTROLLER_TYPE_COUNT + TYPE_OF_RESPONSE[response.kind]
    stats = world.controller_requests[index]
    # Until a response is sent it has the time at which its request came.
    waited_us = now_us - response.time_us
    stats.requests += 1
    stats.remote_us += waited_us
    buckets = world.controller_request_times[index * BUCKETS : (index + 1) * BUCKETS]
    weight = weight_at(now_us, stats, buckets)
    buckets[bucket_of(waited_us)].weight += weight
    error = view_as(response, EventSlot).body[ERROR_WORD[response.kind]]
    place = index * ERROR_COUNT + ERROR_PLACES[error + 1]
    world.controller_request_errors[place].responses += 1
