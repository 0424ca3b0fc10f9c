"""A broker's counts of its requests for JMX, type by type (Kafka: ``RequestMetrics``)."""

from tidegauge.compiled.records import i64
from tidegauge.compiled.rules import code
from tidegauge.simulation.sampled_stats import Measured

# The parts of a request's time of which there are histograms, in their order; the others are 0.
QUEUE = code(0)
LOCAL = code(1)
REMOTE = code(2)
TOTAL = code(3)
PARTS = code(4)


class RequestStats(Measured):
    """Requests of one type that a broker's process has responded to."""

    requests: i64
    #: Total times of the requests: in the queue, on a thread, in a purgatory.
    queue_us: i64
    local_us: i64
    remote_us: i64


class ZooKeeperClientStats(Measured):
    """Counts of a broker's process about its ZooKeeper client (Kafka: ``ZooKeeperClient``)."""

    #: Sessions that were opened, connections lost, sessions that expired.
    sync_connects: i64
    disconnects: i64
    expires: i64
    #: Responses to requests.
    responses: i64
