"""Parameters from a broker's metrics, in any spelling: times of requests, bandwidths of disks.

Kafka rounds the times in its histograms to whole milliseconds: a median of 0 means only that a
request takes less than half of one. Its percentiles are of the last minutes, and begin at the
median: the least duration of a parameter is set to the median, too.
"""

from collections.abc import Iterator, Mapping
from statistics import median
from typing import NamedTuple

from tidegauge.metrics.families.all_families import FAMILIES
from tidegauge.metrics.families.family import Family, MBean
from tidegauge.metrics.spellings.all_spellings import SPELLINGS
from tidegauge.real_cluster.costs.calibration import COSTS, RESOURCES, Fitted, Unfitted, written_us
from tidegauge.real_cluster.rates.rate_source import Over, RateSource, Selected, Together
from tidegauge.real_cluster.rates.sought_metrics import BYTES_IN, BYTES_OUT, Found, Vocabulary
from tidegauge.replication.release_versions import ZOOKEEPER_MODE, Mode
from tidegauge.simulation.quantities import format_bandwidth

#: The percentiles that exporters have of Kafka's histograms: attribute, and share of a thousand.
PERCENTILES = {
    "50thPercentile": 500,
    "75thPercentile": 750,
    "95thPercentile": 950,
    "98thPercentile": 980,
    "99thPercentile": 990,
    "999thPercentile": 999,
}
LOCAL_TIME = "LocalTimeMs"
ZOOKEEPER_LATENCY = "ZooKeeperRequestLatencyMs"
_HISTOGRAMS = (LOCAL_TIME, ZOOKEEPER_LATENCY)
#: node_exporter's counters of a disk, and its label of the disk.
DISK_WRITTEN = "node_disk_written_bytes_total"
DISK_READ = "node_disk_read_bytes_total"
DISK_BUSY = "node_disk_io_time_seconds_total"
DEVICE = "device"
INSTANCE = "instance"
_OF_NODES = (DISK_WRITTEN, DISK_READ, DISK_BUSY)


def _families() -> Iterator[Family]:
    """The percentiles of the histograms; of one of brokers and of controllers that of brokers."""
    seen = set()
    for family in FAMILIES:
        bean = family.measured
        if not isinstance(bean, MBean) or bean.keys.get("name") not in _HISTOGRAMS:
            continue
        if bean.attribute in PERCENTILES and bean not in seen:
            seen.add(bean)
            yield family


_PERCENTILES = tuple(_families())


def wanted_names() -> set[str]:
    """The names, in small letters, of all series that can be of use, in all spellings."""
    families = (*_PERCENTILES, BYTES_IN, BYTES_OUT)
    spelled = (spelling.spell(each) for spelling in SPELLINGS.values() for each in families)
    return {each.name.lower() for each in spelled if each is not None} | set(_OF_NODES)


class Histogram(NamedTuple):
    """A histogram's percentiles in the mean of the window, each the median of all brokers."""

    #: The metric's name.
    name: str
    #: In milliseconds, by share of a thousand.
    values_ms: Mapping[int, float]
    #: The number of samples of the median.
    samples: int


class MeasuredSeries:
    """The series of a source under Kafka's own names."""

    def __init__(self, source: RateSource) -> None:
        """Recognise the names that the source has."""
        self.source = source
        names = source.names(wanted_names())
        self._vocabulary = Vocabulary(names, None)
        self._names = {name.lower() for name in names}

    def histogram(self, name: str, request: str | None = None) -> Histogram | None:
        """A histogram; None: the source has none."""
        values_ms: dict[int, float] = {}
        metric, samples = "", 0
        for family in _PERCENTILES:
            assert isinstance(family.measured, MBean)
            if family.measured.keys.get("name") != name:
                continue
            found = self._find(family)
            if found is None:
                continue
            selected = found.selected
            if request is not None:
                labels = {**selected.labels, found.label("request"): request}
                selected = selected._replace(labels=labels)
            read = self.source.read(selected, Over.MEAN, [INSTANCE], Together.MEAN)
            if read:
                share = PERCENTILES[family.measured.attribute]
                values_ms[share] = median(read.values())
                if share == PERCENTILES["50thPercentile"]:
                    metric, samples = selected.name, self._samples(selected)
        return Histogram(metric, values_ms, samples) if metric else None

    def _find(self, family: Family) -> Found | None:
        """The series of a metric, by the recognised names, or where there are none by any."""
        found = self._vocabulary.find(family)
        return found or next(iter(self._vocabulary.in_any_spelling(family)), None)

    def _samples(self, selected: Selected) -> int:
        counts = self.source.read(selected, Over.COUNT, [INSTANCE], Together.SUM)
        return round(sum(counts.values()))

    def rates_of_disks(self, name: str) -> dict[tuple[str, ...], float]:
        """A counter of node_exporter by instance and device, per second."""
        by = [INSTANCE, DEVICE]
        return self.source.read(Selected(name), Over.RATE, by, Together.SUM)

    def most_bytes(self, family: Family) -> float | None:
        """The bytes per second of the busiest broker; None: the source does not have them."""
        found = self._find(family)
        if found is None:
            return None
        # Sums over topics have no topic; where there are none, topics are summed here.
        topic = found.label("topic")
        by = [INSTANCE, topic]
        read = self.source.read(found.selected, Over.RATE, by, Together.SUM)
        whole = {labels[0]: value for labels, value in read.items() if not labels[1]}
        if not whole:
            for (instance, _), value in read.items():
                whole[instance] = whole.get(instance, 0.0) + value
        return max(whole.values(), default=None)


#: The quantiles of a scenario, in thousandths; there is none below the median.
_SHARES = {"min": 500, "p50": 500, "p90": 900, "p99": 990, "max": 999}
_MS_US = 1000
#: A disk that is busy for less of the time has written too little for an estimate.
_LEAST_BUSY = 0.05
#: A disk's bandwidth is that of the direction in which most of its bytes go.
_MOST_OF_BYTES = 0.9
#: Bandwidths are rounded to this.
_STEP = 100_000
_FOLLOWER_FETCH, _PRODUCE, _LEADER_AND_ISR = "FetchFollower", "Produce", "LeaderAndIsr"


class _Times(NamedTuple):
    """A parameter from a histogram."""

    cost: str
    histogram: str
    request: str | None
    bias: str
    #: The name of another request, whose median is subtracted.
    less: str | None = None
    #: Only the median is about one partition: large requests have many.
    only_median: bool = False
    mode: Mode | None = None


_WHOLE_REQUEST = "of whole requests; those in a quiet cluster are about one partition or a few"
_TIMES = (
    _Times(
        "request", LOCAL_TIME, _FOLLOWER_FETCH, "holds request_partition of the fetched partitions"
    ),
    _Times("append", LOCAL_TIME, _PRODUCE, "holds request_partition", less=_FOLLOWER_FETCH),
    _Times(
        "become_leader",
        LOCAL_TIME,
        _LEADER_AND_ISR,
        _WHOLE_REQUEST,
        only_median=True,
        mode=ZOOKEEPER_MODE,
    ),
    _Times(
        "become_follower",
        LOCAL_TIME,
        _LEADER_AND_ISR,
        _WHOLE_REQUEST,
        only_median=True,
        mode=ZOOKEEPER_MODE,
    ),
    _Times(
        "zookeeper_write",
        ZOOKEEPER_LATENCY,
        None,
        "of reads and writes of brokers together",
        mode=ZOOKEEPER_MODE,
    ),
)


def measured_parameters(series: MeasuredSeries, mode: Mode) -> Iterator[Fitted | Unfitted]:
    """The parameters of a mode that metrics can have, fitted or not."""
    for times in _TIMES:
        if times.mode in (None, mode):
            yield _of_times(series, times)
    yield from _of_disks(series)
    for field, family, words in (
        ("network_in", BYTES_IN, "received"),
        ("network_out", BYTES_OUT, "sent"),
    ):
        most = series.most_bytes(family)
        if most is not None:
            said = f"the busiest broker {words} {format_bandwidth(round(most))}: no limit shows"
            yield Unfitted(RESOURCES, field, said)


def _of_times(series: MeasuredSeries, times: _Times) -> Fitted | Unfitted:
    found = series.histogram(times.histogram, times.request)
    name = times.histogram if times.request is None else f"{times.histogram} of {times.request}"
    if found is None:
        return Unfitted(COSTS, times.cost, f"no series {name}")
    less_ms = 0.0
    if times.less is not None:
        other = series.histogram(times.histogram, times.less)
        less_ms = other.values_ms[500] if other is not None else 0.0
        name += f", less the median of {times.less}"
    values_us = {
        quantile: round((_at(found, share) - less_ms) * _MS_US)
        for quantile, share in _SHARES.items()
    }
    if values_us["p50"] <= 0:
        return Unfitted(COSTS, times.cost, f"the median {name} is 0 ms, which Kafka has rounded")
    value: Mapping[str, str] | str = {
        quantile: written_us(value_us) for quantile, value_us in values_us.items()
    }
    if times.only_median:
        value, name = written_us(values_us["p50"]), f"the median {name}"
    return Fitted(COSTS, times.cost, value, found.samples, [found.name], name, times.bias)


def _at(histogram: Histogram, share: int) -> float:
    """The value at a share of a thousand, linear between two percentiles."""
    known = sorted(histogram.values_ms.items())
    below = [(at, value) for at, value in known if at <= share] or known[:1]
    above = [(at, value) for at, value in known if at >= share] or known[-1:]
    (low, low_ms), (high, high_ms) = below[-1], above[0]
    if low >= high:
        return low_ms
    return low_ms + (high_ms - low_ms) * (share - low) / (high - low)


def _of_disks(series: MeasuredSeries) -> Iterator[Fitted | Unfitted]:
    """The bytes of a disk by the time that it was busy, of the busiest disk of each machine."""
    busy = series.rates_of_disks(DISK_BUSY)
    written, read = series.rates_of_disks(DISK_WRITTEN), series.rates_of_disks(DISK_READ)
    disks: dict[str, tuple[str, ...]] = {}
    for disk, share in sorted(busy.items()):
        if disk[0] not in disks or share > busy[disks[disk[0]]]:
            disks[disk[0]] = disk
    for field, moved, name in (
        ("disk_write", written, DISK_WRITTEN),
        ("disk_read", read, DISK_READ),
    ):
        if not disks or not moved:
            yield Unfitted(RESOURCES, field, f"no series {name} and {DISK_BUSY}")
            continue
        found = [
            moved.get(disk, 0.0) / busy[disk]
            for disk in disks.values()
            if busy[disk] >= _LEAST_BUSY
            and moved.get(disk, 0.0)
            >= _MOST_OF_BYTES * (written.get(disk, 0.0) + read.get(disk, 0.0))
        ]
        if found and median(found) > 0:
            yield Fitted(
                RESOURCES,
                field,
                format_bandwidth(round(median(found) / _STEP) * _STEP),
                len(found),
                [name],
                f"{name} by {DISK_BUSY}",
                "of transfers of the sizes that there were; larger ones are faster",
            )
        else:
            reason = (
                f"no disk was busy for {_LEAST_BUSY:.0%} of the time with {_MOST_OF_BYTES:.0%} of "
                "its bytes in this direction"
            )
            yield Unfitted(RESOURCES, field, reason)
