"""Responses of a controller: each is sent here, and its request counted for JMX.

Source: ControllerApis@4.1.0, RequestChannel.Request.updateRequestMetrics@4.1.0. What a request
waits for, the controller's queue, its disk and the commit of its records, is RemoteTimeMs there: a
request handler only hands it to the controller's thread, which takes no simulated time.
"""

from __future__ import annotations

from tidegauge.compiled.record_views import blank, view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.raft.state import ControllerRequestStats, Raft
from tidegauge.controller.raft.voters import this_voter, voter_of
from tidegauge.replication.errors import ERROR_COUNT, ERROR_PLACES
from tidegauge.simulation.histograms import BUCKETS, bucket_of, weight_at
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.event import Event, EventSlot
from tidegauge.simulation.messages.kinds import ERROR_WORD
from tidegauge.simulation.messages.request_types import CONTROLLER_TYPE_COUNT, TYPE_OF_RESPONSE


@inner_rule
def respond(world: Raft, response: Event) -> None:
    """Send a response now, and count the request that it is to."""
    _respond_at(world, response, world.context[0].time_us)


@inner_rule
def respond_when_written(world: Raft, response: Event) -> None:
    """Send a response once all is on disk that it may rest on."""
    _respond_at(world, response, max(world.context[0].time_us, this_voter(world).writes_until_us))


@inner_rule
def respond_after(world: Raft, response: Event, delay_us: int) -> None:
    """Send a response that takes so long to send."""
    _respond_at(world, response, world.context[0].time_us + delay_us)


@inner_rule
def _respond_at(world: Raft, response: Event, at_us: int) -> None:
    if TYPE_OF_RESPONSE[response.kind] >= 0:
        _mark(world, response, at_us)
    send(world, response, at_us)


@inner_rule
def _mark(world: Raft, response: Event, at_us: int) -> None:
    controller = voter_of(world, response.source)
    index = controller * CONTROLLER_TYPE_COUNT + TYPE_OF_RESPONSE[response.kind]
    stats = world.controller_requests[index]
    # Until a response is sent it has the time at which its request came.
    waited_us = at_us - response.time_us
    stats.requests += 1
    stats.remote_us += waited_us
    buckets = world.controller_request_times[index * BUCKETS : (index + 1) * BUCKETS]
    weight = weight_at(at_us, stats, buckets)
    buckets[bucket_of(waited_us)].weight += weight
    error = view_as(response, EventSlot).body[ERROR_WORD[response.kind]]
    place = index * ERROR_COUNT + ERROR_PLACES[error + 1]
    world.controller_request_errors[place].responses += 1


@inner_rule
def forget_request_times(world: Raft) -> None:
    """The next process of this controller counts from 0."""
    controller = voter_of(world, world.context[0].handling)
    first, last = controller * CONTROLLER_TYPE_COUNT, (controller + 1) * CONTROLLER_TYPE_COUNT
    for index in range(first, last):
        blank(world.controller_requests[index], ControllerRequestStats)
    for index in range(first * BUCKETS, last * BUCKETS):
        world.controller_request_times[index].weight = 0
    for index in range(first * ERROR_COUNT, last * ERROR_COUNT):
        world.controller_request_errors[index].responses = 0
