"""What a broker keeps of its requests for JMX, type by type (Kafka: ``RequestMetrics``)."""

from __future__ import annotations

from tidegauge.compiled.records import Record, i64
from tidegauge.compiled.rules import code
from tidegauge.replication import errors

# The parts of a request's time of which there are histograms, in their order; the others are 0.
QUEUE = code(0)
LOCAL = code(1)
REMOTE = code(2)
TOTAL = code(3)
PARTS = code(4)

#: The errors that the simulation has, and the place of each code among them.
ERRORS = tuple(sorted(value for value in errors.NAMES if value not in errors.OTHERS.values()))
ERROR_COUNT = code(len(ERRORS))
#: At the code + 1, as the smallest is -1.
ERROR_PLACES = tuple(
    ERRORS.index(value) if value in ERRORS else 0 for value in range(-1, max(ERRORS) + 1)
)


class RequestStats(Record):
    """Requests of one type that a broker's process has responded to."""

    requests: i64
    #: How long they have taken in all: in the queue, on a thread, in a purgatory.
    queue_us: i64
    local_us: i64
    remote_us: i64
    #: When the weights in their histograms are 1 (``simulation/histograms.py``).
    since_us: i64


class ErrorCount(Record):
    """Responses, or partitions in them, that a broker's process has given one error."""

    responses: i64


class ZooKeeperClientStats(Record):
    """What a broker's process counts of its ZooKeeper client (Kafka: ``ZooKeeperClient``)."""

    #: Sessions that were opened, connections lost, sessions that expired.
    sync_connects: i64
    disconnects: i64
    expires: i64
    #: Responses to requests, and when the weights of their histogram are 1.
    responses: i64
    since_us: i64
