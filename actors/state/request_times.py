"""The times and waits of requests at a broker, and its connections to the controllers.

Times are measured as in Kafka (``RequestChannel.Request``):

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

No run depends on these: they are metrics, kept only if those are served
(``ClusterPlan.is_measured``). They are those of a process, and begin at 0 with each start.

A request waits on its thread for a partition's lock, a slow disk, its own work. Kafka writes an ISR
to ZooKeeper inside ``leaderIsrUpdateLock``: a request that meets it waits as long as ZooKeeper
takes.

A connection of a broker to the controllers has one request in flight. It has one timer for all its
requests, as most have a response long before their timeout.
"""

from tidegauge.actors.state import request_stats
from tidegauge.actors.state.brokers import NEVER_US, Brokers
from tidegauge.actors.state.lifecycles import RequestInFlight
from tidegauge.compiled.records import Records, blank, view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.errors import ERROR_COUNT, ERROR_PLACES
from tidegauge.simulation.events import append_event, set_timer
from tidegauge.simulation.faults import FAULT_CODES
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.client_requests import FetchRequest
from tidegauge.simulation.messages.event import ControllerRequest, Event, Timer
from tidegauge.simulation.messages.kinds import ERROR_TYPES, FETCH_FOLLOWER, TYPE_OF_KIND, TYPES
from tidegauge.simulation.messages.timers import HandlerResume
from tidegauge.simulation.sampled_stats import BUCKETS, Bucket, ErrorCount, bucket_of, weight_at
from tidegauge.simulation.topology import quorum_process


@inner_rule
def type_of_request(request: Event) -> int:
    """The type of a request to a broker (``simulation/messages/kinds.py``)."""
    if request.kind == FetchRequest.KIND and view_as(request, FetchRequest).replica_id != NONE:
        return FETCH_FOLLOWER
    return TYPE_OF_KIND[request.kind]


@inner_rule
def taken_us(world: Brokers, request: Event) -> int:
    """The time at which its thread took a request that it still has."""
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
    buckets = world.request_times[
        index * request_stats.PARTS * BUCKETS : (index + 1) * request_stats.PARTS * BUCKETS
    ]
    weight = weight_at(world.context[0].time_us, stats, buckets)
    buckets[request_stats.QUEUE * BUCKETS + bucket_of(taken - request.time_us)].weight += weight
    buckets[request_stats.LOCAL * BUCKETS + bucket_of(handled - taken)].weight += weight
    buckets[request_stats.REMOTE * BUCKETS + bucket_of(completed - handled)].weight += weight
    buckets[request_stats.TOTAL * BUCKETS + bucket_of(completed - request.time_us)].weight += weight


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
            _empty(
                world.request_times[
                    index * request_stats.PARTS * BUCKETS : (index + 1)
                    * request_stats.PARTS
                    * BUCKETS
                ]
            )
        blank(world.request_stats[index], request_stats.RequestStats)
    first, last = broker * ERROR_TYPES * ERROR_COUNT, (broker + 1) * ERROR_TYPES * ERROR_COUNT
    for index in range(first, min(last, len(world.request_errors))):
        blank(world.request_errors[index], ErrorCount)
    if len(world.zookeeper_stats) > 0:
        blank(world.zookeeper_stats[broker], request_stats.ZooKeeperClientStats)
        _empty(world.zookeeper_times[broker * BUCKETS : (broker + 1) * BUCKETS])


@inner_rule
def _empty(buckets: Records[Bucket]) -> None:
    for index in range(len(buckets)):
        buckets[index].weight = 0


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
    HandlerResume.after(world, delay_us, request_index=request.index)


@inner_rule
def known_leader(world: Brokers, broker: int) -> int:
    """The process of the controller that a broker takes for the active one; NONE if for none.

    Source: RaftControllerNodeProvider@3.8.0.
    """
    leader = world.lifecycles[broker].leader
    return quorum_process(world, leader) if leader != NONE else NONE


#: New connections of a broker to the controllers fail to authenticate.
AUTHENTICATION_FAILURE = FAULT_CODES.new("authentication_failure", 11)


@inner_rule
def fails_to_authenticate(world: Brokers, broker: int) -> bool:
    """Whether a new connection of a broker to a controller fails now, by a fault."""
    count = world.context[0].process_count
    for number, fault in enumerate(world.faults):
        role = world.fault_roles[number * count + broker]
        if fault.kind == AUTHENTICATION_FAILURE and role.active and role.side != 0:
            return True
    return False


@inner_rule
def depart(
    world: Brokers, broker: int, flight: RequestInFlight, request: ControllerRequest
) -> None:
    """Send a request, which is the one in flight from now on."""
    state = world.lifecycles[broker]
    state.requests += 1
    flight.number = state.requests
    flight.to = request.destination
    flight.sent_us = world.context[0].time_us
    request.correlation_id = flight.number
    send(world, request, flight.sent_us)


@inner_rule
def watch(world: Kernel, flight: RequestInFlight, timer: Timer, timeout_us: int) -> None:
    """Set the timer of the response's timeout; there is none yet."""
    flight.timer = True
    set_timer(world, timer, flight.sent_us + timeout_us)


@inner_rule
def has_timed_out(world: Kernel, flight: RequestInFlight, timeout_us: int) -> bool:
    """Whether a request has got no response in time."""
    return flight.number != 0 and world.context[0].time_us >= flight.sent_us + timeout_us


@inner_rule
def is_lost(flight: RequestInFlight, process: int, until_us: int) -> bool:
    """Whether a request is lost with the connection to a process, by the bytes sent until then."""
    return flight.number != 0 and flight.to == process and flight.sent_us <= until_us


@inner_rule
def mark_delayed(world: Brokers, request: Event, taken: int, handled: int) -> None:
    """A request that waited is answered: count it, and its times."""
    completed_us = world.context[0].time_us + request.cost_us
    mark_request(world, request, type_of_request(request), taken, handled, completed_us)
