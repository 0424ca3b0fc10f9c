"""The metrics that parameters are fitted from, and the sources that have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median
from typing import NamedTuple

from tidegauge.metrics.families.all_families import FAMILIES
from tidegauge.metrics.families.family import Family, MBean
from tidegauge.metrics.spellings.all_spellings import SPELLINGS
from tidegauge.real_cluster.rates.rate_source import Over, RateSource, Selected, Together
from tidegauge.real_cluster.rates.sought_metrics import BYTES_IN, BYTES_OUT, Found, Vocabulary

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
