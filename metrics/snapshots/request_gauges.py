"""Reading times and errors of requests to brokers and controllers, type by type.

Fetch is the sum of FetchConsumer and FetchFollower, as in Kafka: of its histograms, too.
"""

from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.state.request_stats import PARTS, REMOTE, TOTAL
from tidegauge.compiled.records import Records, new_records
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.controller.kraft.state import Quorum
from tidegauge.metrics.families import requests
from tidegauge.replication.errors import ERROR_COUNT
from tidegauge.simulation.kernel import NONE, QUORUM_CONTROLLER
from tidegauge.simulation.messages import kinds
from tidegauge.simulation.sampled_stats import BUCKETS, Bucket, faded_by

#: The types that are served: those of requests, and Fetch, of two of them.
SERVED_TYPES = (*kinds.REQUEST_TYPES, kinds.FETCH)
_FETCH = code(len(kinds.REQUEST_TYPES))
_SERVED = code(len(SERVED_TYPES))
_ERRORS = code(int(kinds.ERROR_TYPES * ERROR_COUNT))
#: Those of controllers: Fetch is all of them that are FetchFollower.
SERVED_CONTROLLER_TYPES = (*kinds.CONTROLLER_TYPES, kinds.FETCH)
_CONTROLLER_SERVED = code(len(SERVED_CONTROLLER_TYPES))


@rule
def read_requests(
    world: Brokers,
    gauges: Records[requests.RequestGauges],
    error_gauges: Records[requests.ErrorGauges],
    histograms: Records[requests.HistogramGauges],
    sums: Records[Bucket],
) -> None:
    """Enter the requests of the brokers that are hosted here and run.

    ``sums`` has room for the histograms of one type.

    Source: RequestChannel.Metrics@2.6.0.
    """
    for broker in range(world.sizes[0].brokers):
        is_measured = len(world.request_stats) > 0
        process = world.processes[broker]
        if not (is_measured and process.hosted and process.alive):
            continue
        fetch = broker * _SERVED + _FETCH
        for type_ in range(kinds.TYPES):
            index = broker * kinds.TYPES + type_
            served = broker * _SERVED + type_
            if world.request_stats[index].requests == 0:
                continue
            _add(world, index, gauges[served])
            times = world.request_times[index * PARTS * BUCKETS : (index + 1) * PARTS * BUCKETS]
            _read_parts(times, histograms[served * PARTS : (served + 1) * PARTS])
            if type_ in (kinds.FETCH_CONSUMER, kinds.FETCH_FOLLOWER):
                _add(world, index, gauges[fetch])
        if gauges[fetch].requests > 0:
            _add_up_fetches(world, broker, sums)
            _read_parts(sums, histograms[fetch * PARTS : (fetch + 1) * PARTS])
        for place in range(broker * _ERRORS, (broker + 1) * _ERRORS):
            error_gauges[place].responses = world.request_errors[place].responses


@inner_rule
def _add(world: Brokers, index: int, gauge: requests.RequestGauges) -> None:
    stats = world.request_stats[index]
    gauge.requests += stats.requests
    gauge.queue_us += stats.queue_us
    gauge.local_us += stats.local_us
    gauge.remote_us += stats.remote_us


@inner_rule
def _add_up_fetches(world: Brokers, broker: int, sums: Records[Bucket]) -> None:
    """Add up the histograms of consumers' and of followers' fetches.

    Weights that began earlier are larger for the same time: they fade to those of the other.
    """
    for bucket in range(len(sums)):
        sums[bucket].weight = 0
    consumers_us = world.request_stats[broker * kinds.TYPES + kinds.FETCH_CONSUMER].since_us
    since_us = max(
        consumers_us, world.request_stats[broker * kinds.TYPES + kinds.FETCH_FOLLOWER].since_us
    )
    for type_ in (kinds.FETCH_CONSUMER, kinds.FETCH_FOLLOWER):
        index = broker * kinds.TYPES + type_
        shift = faded_by(world.request_stats[index].since_us, since_us)
        first = index * PARTS * BUCKETS
        for bucket in range(len(sums)):
            sums[bucket].weight += world.request_times[first + bucket].weight >> shift


@inner_rule
def _read_parts(times: Records[Bucket], histograms: Records[requests.HistogramGauges]) -> None:
    for part in range(PARTS):
        requests.read_histogram(times[part * BUCKETS : (part + 1) * BUCKETS], histograms[part])


@rule
def read_controller_requests(
    world: Quorum,
    gauges: Records[requests.RequestGauges],
    error_gauges: Records[requests.ErrorGauges],
    histograms: Records[requests.HistogramGauges],
) -> None:
    """Enter the requests of the controllers of a quorum that are hosted here and run.

    Source: ControllerServer@4.1.0, its SocketServer's RequestChannel.Metrics.
    """
    controllers = world.process_ranges[QUORUM_CONTROLLER]
    for controller in range(controllers.count):
        process = world.processes[controllers.first + controller]
        if not (process.hosted and process.alive):
            continue
        for type_ in range(_CONTROLLER_SERVED):
            # Fetches of the metadata log are those of followers.
            of = min(type_, kinds.CONTROLLER_TYPE_COUNT - 1)
            index = controller * kinds.CONTROLLER_TYPE_COUNT + of
            served = controller * _CONTROLLER_SERVED + type_
            stats = world.controller_requests[index]
            gauges[served].requests = stats.requests
            gauges[served].remote_us = stats.remote_us
            times = world.controller_request_times[index * BUCKETS : (index + 1) * BUCKETS]
            requests.read_histogram(times, histograms[served * PARTS + REMOTE])
            requests.read_histogram(times, histograms[served * PARTS + TOTAL])
        first = controller * kinds.CONTROLLER_TYPE_COUNT * ERROR_COUNT
        for place in range(first, first + kinds.CONTROLLER_TYPE_COUNT * ERROR_COUNT):
            error_gauges[place].responses = world.controller_request_errors[place].responses


@rule
def read_zookeeper_clients(
    world: Brokers,
    gauges: Records[requests.ZooKeeperClientGauges],
    latencies: Records[requests.HistogramGauges],
) -> None:
    """Enter the ZooKeeper clients of the brokers that are hosted here and run.

    Requests of a broker's controller are not among those of its client.

    Source: ZooKeeperClient@2.6.0.
    """
    for broker in range(len(world.zookeeper_stats)):
        if not (world.processes[broker].hosted and world.processes[broker].alive):
            continue
        stats = world.zookeeper_stats[broker]
        state = world.brokers[broker]
        gauge = gauges[broker]
        gauge.exists = True
        gauge.sync_connects = stats.sync_connects
        gauge.disconnects = stats.disconnects
        gauge.expires = stats.expires
        gauge.connected = state.session != NONE and not state.reconnecting
        gauge.responses = stats.responses
        times = world.zookeeper_times[broker * BUCKETS : (broker + 1) * BUCKETS]
        requests.read_histogram(times, latencies[broker])


def new_sums() -> Records[Bucket]:
    """Room for the histograms of one type."""
    return new_records(Bucket, int(PARTS * BUCKETS))
