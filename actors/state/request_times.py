"""How long requests take, measured as Kafka measures it (``RequestChannel.Request``).

=======================  ===========================================================================
Kafka                    from ... to ...
=======================  ===========================================================================
RequestQueueTimeMs       it has arrived; a request handler takes it
LocalTimeMs              ... its handler is done with it, locks and a slow disk included
RemoteTimeMs             ... its response is complete: its time in a purgatory
ResponseQueueTimeMs      always 0: network threads take no simulated time
ResponseSendTimeMs       always 0: a response is on the link as soon as it is complete
TotalTimeMs              the sum of them all
=======================  ===========================================================================

Nothing in a run depends on these: they are served as metrics, and are kept only if those
are asked for (``ClusterPlan.is_measured``). As other counts they are those of a process, and begin
at 0 with each start.
"""

from __future__ import annotations

from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.state.request_stats import (
    LOCAL,
    PARTS,
    QUEUE,
    REMOTE,
    TOTAL,
    RequestStats,
    ZooKeeperClientStats,
)
from tidegauge.compiled.record_views import blank, view_as
from tidegauge.compiled.records import Records
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.errors import ERROR_COUNT, ERROR_PLACES
from tidegauge.simulation.histograms import (
    BUCKETS,
    Bucket,
    ErrorCount,
    bucket_of,
    weight_at,
)
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.client_requests import FetchRequest
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.request_types import (
    ERROR_TYPES,
    FETCH_FOLLOWER,
    TYPE_OF_KIND,
    TYPES,
)


@inner_rule
def type_of_request(request: Event) -> int:
    """The type of a request to a broker (``simulation/messages/request_types.py``)."""
    if request.kind == FetchRequest.KIND and view_as(request, FetchRequest).replica_id != NONE:
        return FETCH_FOLLOWER
    return TYPE_OF_KIND[request.kind]


@inner_rule
def taken_us(world: Brokers, request: Event) -> int:
    """When its thread has taken a request, as long as it has it."""
    thread = world.brokers[request.destination].first_thread + request.thread
    return world.threads[thread].taken_us


@inner_rule
def mark_request(
    world: Brokers, request: Event, type_: int, taken: int, handled: int, completed: int
) -> None:
    """Count a request, whose response is complete, and its times.

    ``handled`` is when its handler was done, which counts only until the response is complete.

    Source: RequestChannel.Request.updateRequestMetrics@2.6.0.
    """
    if len(world.request_stats) == 0:
        return
    index = request.destination * TYPES + type_
    stats = world.request_stats[index]
    handled = min(handled, completed)
    stats.requests += 1
    stats.queue_us += taken - request.time_us
    stats.local_us += handled - taken
    stats.remote_us += completed - handled
    buckets = world.request_times[index * PARTS * BUCKETS : (index + 1) * PARTS * BUCKETS]
    weight = weight_at(world.context[0].time_us, stats, buckets)
    buckets[QUEUE * BUCKETS + bucket_of(taken - request.time_us)].weight += weight
    buckets[LOCAL * BUCKETS + bucket_of(handled - taken)].weight += weight
    buckets[REMOTE * BUCKETS + bucket_of(completed - handled)].weight += weight
    buckets[TOTAL * BUCKETS + bucket_of(completed - request.time_us)].weight += weight


@inner_rule
def mark_error(world: Brokers, request: Event, error: int) -> None:
    """Count an error, or NONE, of a response, or of a partition in it; a fetch counts as Fetch.

    Source: RequestChannel.updateErrorMetrics@2.6.0.
    """
    if len(world.request_errors) == 0:
        return
    index = request.destination * ERROR_TYPES + TYPE_OF_KIND[request.kind]
    world.request_errors[index * ERROR_COUNT + ERROR_PLACES[error + 1]].responses += 1


@inner_rule
def mark_zookeeper_response(world: Brokers, broker: int, asked_us: int) -> None:
    """Count a response of ZooKeeper, and its latency.

    Source: ZooKeeperClient.handleRequests@2.6.0 (ZooKeeperRequestLatencyMs).
    """
    stats = world.zookeeper_stats[broker]
    buckets = world.zookeeper_times[broker * BUCKETS : (broker + 1) * BUCKETS]
    now_us = world.context[0].time_us
    stats.responses += 1
    weight = weight_at(now_us, stats, buckets)
    buckets[bucket_of(now_us - asked_us)].weight += weight


@inner_rule
def forget_request_times(world: Brokers, broker: int) -> None:
    """The next process counts from 0."""
    first, last = broker * TYPES, (broker + 1) * TYPES
    for index in range(first, min(last, len(world.request_stats))):
        if world.request_stats[index].requests > 0:
            _empty(world.request_times[index * PARTS * BUCKETS : (index + 1) * PARTS * BUCKETS])
        blank(world.request_stats[index], RequestStats)
    first, last = broker * ERROR_TYPES * ERROR_COUNT, (broker + 1) * ERROR_TYPES * ERROR_COUNT
    for index in range(first, min(last, len(world.request_errors))):
        blank(world.request_errors[index], ErrorCount)
    if len(world.zookeeper_stats) > 0:
        blank(world.zookeeper_stats[broker], ZooKeeperClientStats)
        _empty(world.zookeeper_times[broker * BUCKETS : (broker + 1) * BUCKETS])


@inner_rule
def _empty(buckets: Records[Bucket]) -> None:
    for index in range(len(buckets)):
        buckets[index].weight = 0
