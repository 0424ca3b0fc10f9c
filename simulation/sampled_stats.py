"""Kafka's statistics of recent values: histograms, samples of a minute, and counts of channels.

**A histogram** is ``BUCKETS`` records in a row. Kafka (Yammer's ``ExponentiallyDecayingSample``,
with its alpha of 0.015 per second) draws a sample in which a value that is 46.2 s older is half as
likely. Nothing is drawn here: every value counts, in a bucket, with a weight that doubles every
46.2 s. As in Kafka, a histogram without new values stays as it is.

Values are rounded to milliseconds, as in Kafka. Below 32 ms each has its own bucket; above that 16
buckets of equal width share a power of two, so that the middle of a bucket is at most 1/32 (3.1 %)
from a value in it. The last bucket begins at 17 minutes.

**Averages, maxima and rates** put a value into one of two samples. When the newer one is 30 s old,
the next value begins a new one in place of the older. A sample that is a minute old does not count,
so an average is that of the last 30 to 60 s.

**A node's channel to the quorum's voters** (``raft-channel-metrics``) counts simulated requests and
responses. Their bytes are those of Kafka's protocol, with one topic, one partition, a client id of
16 letters and no hosts' names.

Source: SampledStat, Rate.windowSize@4.1.0, with metrics.num.samples = 2 and
metrics.sample.window.ms = 30000; Selector.SelectorMetrics, RequestHeader, ResponseHeader; the
schemas of FetchRequest 17, VoteRequest 2, BeginQuorumEpochRequest 1, EndQuorumEpochRequest 1 and
FetchSnapshotRequest 1@4.1.0.
"""

from tidegauge.compiled.records import Record, Records, i64
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.simulation.messages import quorum_requests
from tidegauge.simulation.messages.kinds import KINDS

#: Buckets up to 31 << 15 ms.
BUCKETS = code(272)

#: Buckets of one width.
_WIDTHS = code(16)
#: The time after which a weight is half as much: ln(2) / 0.015.
_HALF_LIFE_US = code(46_209_812)
#: Weights up to 2 ** 32 leave room for 2 ** 30 values.
_MOST_HALVES = code(32)
_MOST_SHIFT = code(62)


class Bucket(Record):
    """The sum of the weights of the values in one bucket."""

    weight: i64


class Measured(Record):
    """Something that histograms are kept of."""

    #: The time at which the weights in them are 1.
    since_us: i64


class ErrorCount(Record):
    """Responses, or partitions in them, with one error."""

    responses: i64


@rule
def bucket_of(time_us: int) -> int:
    """The bucket of a time."""
    time_ms = (time_us + 500) // 1000
    halves = 0
    while time_ms >= 2 * _WIDTHS:
        time_ms >>= 1
        halves += 1
    return min(halves * _WIDTHS + time_ms, BUCKETS - 1)


@rule
def middle_ms(bucket: int) -> int:
    """The time in the middle of a bucket."""
    if bucket < 2 * _WIDTHS:
        return bucket
    halves = bucket // _WIDTHS - 1
    return ((bucket - halves * _WIDTHS) << halves) + ((1 << halves) >> 1)


@inner_rule
def weight_at(now_us: int, measured: Measured, buckets: Records[Bucket]) -> int:
    """The weight of a value of now in histograms; if it is too large, others fade first."""
    halves = (now_us - measured.since_us) // _HALF_LIFE_US
    if halves >= _MOST_HALVES:
        shift = min(halves, _MOST_SHIFT)
        for index in range(len(buckets)):
            buckets[index].weight >>= shift
        measured.since_us += halves * _HALF_LIFE_US
        halves = 0
    return 1 << halves


@rule
def faded_by(since_us: int, until_us: int) -> int:
    """The bits by which weights that were 1 at ``since_us`` fade, for 1 to be that of later."""
    return min((until_us - since_us) // _HALF_LIFE_US, _MOST_SHIFT)


@rule
def total_weight(buckets: Records[Bucket]) -> int:
    """The weight of all values of a histogram; 0 if there are none."""
    total = 0
    for index in range(len(buckets)):
        total += buckets[index].weight
    return total


@rule
def quantile_ms(buckets: Records[Bucket], total: int, thousandths: int) -> int:
    """The value that so many thousandths of a histogram's weight do not exceed."""
    below = 0
    for index in range(len(buckets)):
        below += buckets[index].weight
        # ``below / total >= thousandths / 1000``, where products could be too large.
        if (
            total > 0
            and below
            >= (total // 1000) * thousandths + ((total % 1000) * thousandths + 999) // 1000
        ):
            return middle_ms(index)
    return 0


_WINDOW_US = code(30_000_000)


class SampledStat(Record):
    """Values of the last minute: the sample that grows, and the one before it."""

    since_us: i64
    values: i64
    total: i64
    most: i64
    since_before_us: i64
    values_before: i64
    total_before: i64
    most_before: i64


@rule
def record_value(stat: SampledStat, now_us: int, value: int) -> None:
    """Enter a value of now."""
    if stat.values == 0 or now_us - stat.since_us >= _WINDOW_US:
        stat.since_before_us = stat.since_us
        stat.values_before = stat.values
        stat.total_before = stat.total
        stat.most_before = stat.most
        stat.since_us = now_us
        stat.values = 0
        stat.total = 0
        stat.most = 0
    stat.values += 1
    stat.total += value
    stat.most = max(stat.most, value)


@inner_rule
def _counts(since_us: int, now_us: int) -> bool:
    return now_us - since_us < 2 * _WINDOW_US


@rule
def values_in(stat: SampledStat, now_us: int) -> int:
    """The number of values that count."""
    values = stat.values if _counts(stat.since_us, now_us) else 0
    return values + (stat.values_before if _counts(stat.since_before_us, now_us) else 0)


@rule
def total_of(stat: SampledStat, now_us: int) -> int:
    """The sum of the values that count."""
    total = stat.total if _counts(stat.since_us, now_us) else 0
    return total + (stat.total_before if _counts(stat.since_before_us, now_us) else 0)


@rule
def most_of(stat: SampledStat, now_us: int) -> int:
    """The largest value that counts; 0 if none does."""
    most = stat.most if _counts(stat.since_us, now_us) else 0
    return max(most, stat.most_before if _counts(stat.since_before_us, now_us) else 0)


@rule
def window_us(stat: SampledStat, now_us: int) -> int:
    """The span of the values that count: the divisor of a rate, at least 30 s."""
    since_us = now_us
    if stat.values_before > 0 and _counts(stat.since_before_us, now_us):
        since_us = stat.since_before_us
    elif stat.values > 0 and _counts(stat.since_us, now_us):
        since_us = stat.since_us
    elapsed_us = now_us - since_us
    return elapsed_us if elapsed_us >= _WINDOW_US else elapsed_us + _WINDOW_US


#: With the size in front and the header of each.
_SIZES = {
    quorum_requests.RaftFetchRequest: 165,
    quorum_requests.RaftFetchResponse: 87,
    quorum_requests.VoteRequest: 139,
    quorum_requests.VoteResponse: 50,
    quorum_requests.BeginQuorumEpochRequest: 111,
    quorum_requests.BeginQuorumEpochResponse: 49,
    quorum_requests.EndQuorumEpochRequest: 135,
    quorum_requests.EndQuorumEpochResponse: 49,
    quorum_requests.FetchSnapshotRequest: 135,
    quorum_requests.FetchSnapshotResponse: 89,
}
_SIZE_BY_KIND = {each.KIND: size for each, size in _SIZES.items()}
#: By kind of event; 0: it is none of them.
SIZE_BYTES = tuple(_SIZE_BY_KIND.get(kind, 0) for kind in range(KINDS))
_RESPONSES = {each.KIND for each in _SIZES if each.__name__.endswith("Response")}
#: By kind of event: whether it is a response of a voter.
IS_RAFT_RESPONSE = tuple(kind in _RESPONSES for kind in range(KINDS))


class ChannelStats(Record):
    """Counts of one process."""

    requests: i64
    outgoing_bytes: i64
    responses: i64
    incoming_bytes: i64


@inner_rule
def count_request(stats: ChannelStats, kind: int) -> None:
    """A request is sent."""
    stats.requests += 1
    stats.outgoing_bytes += SIZE_BYTES[kind]


@inner_rule
def count_response(stats: ChannelStats, kind: int) -> None:
    """A response has come, without the records in it."""
    stats.responses += 1
    stats.incoming_bytes += SIZE_BYTES[kind]
