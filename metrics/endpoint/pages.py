"""The pages of the endpoint: metrics of the last snapshot that it received.

Pages are rendered on request, in a thread of the endpoint, once for each snapshot. The run only
delivers its snapshots, and never waits. Pages of the usual size are written by prometheus_client.

The lines of all brokers' pages are kept from one snapshot to the next. Most samples do not change
in a second, and a broker has few samples of each metric. So metrics are read once for all brokers,
lines are rendered only for changed samples, and a page is joined from its broker's part of each
metric. Reading and writing every page separately took 50 ms for the 60 brokers of
``rack-power-loss``, as much as a scrape of them may cost; this takes 10 ms.
"""

import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from prometheus_client import Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector

from tidegauge.metrics.endpoint.openmetrics_file import Format, by_name, header_of, written_page
from tidegauge.metrics.samples.exposition import AS_STRIMZI, Exposition, Presentation, Samples
from tidegauge.metrics.samples.layout import Level, Numbers, Texts, texts_of
from tidegauge.metrics.samples.successive_snapshots import (
    Health,
    ScrapeCounts,
    SnapshotContext,
    SuccessiveSnapshots,
)
from tidegauge.metrics.samples.targets import (
    SIMULATION,
    is_alive,
    is_node,
    joined,
    label_texts,
    labels_of,
    node_of,
    responds,
    targets_of,
)
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.metrics.spellings.spelling import SpelledFamily
from tidegauge.scenario.cluster_plan import ClusterPlan


class PageLines:
    """All lines of all brokers; to be used by one thread at a time."""

    def __init__(self) -> None:
        self._metrics: dict[str, _MetricLines] = {}
        #: The targets of the last samples, and their order.
        self._orders: dict[int, tuple[Numbers, Numbers]] = {}

    def update(self, series: Iterable[Samples]) -> None:
        """Update all lines; samples of targets other than brokers are left out."""
        metrics = {}
        for samples in by_name(series):
            family = samples[0].family
            targets, labels, values = self._in_order(samples)
            if targets[-1] < 0:
                continue
            known = self._metrics.get(family.name)
            if known is None or not known.take_over(values, targets, labels):
                known = _MetricLines(family, targets, labels, values)
            metrics[family.name] = known
        self._metrics = metrics

    def _in_order(self, samples: list[Samples]) -> tuple[Numbers, Texts, NDArray[Any]]:
        """The columns of a metric, target by target."""
        targets, labels, values = (
            columns[0] if len(columns) == 1 else np.concatenate(columns)
            for columns in list(zip(*samples, strict=True))[1:]
        )
        if (targets[1:] >= targets[:-1]).all():
            return targets, labels, values
        # Most metrics of replicas have the same targets, in the order of partitions.
        known = self._orders.get(len(targets))
        if known is None or not np.array_equal(known[0], targets):
            known = self._orders[len(targets)] = targets, np.argsort(targets, kind="stable")
        order = known[1]
        return targets[order], labels[order], values[order]

    def page(self, broker: int, page_format: Format) -> bytes:
        """The page of a broker."""
        pieces = []
        for metric in self._metrics.values():
            lines = metric.lines_of(broker)
            if lines:
                pieces += [metric.headers[page_format], *lines]
        pieces.append("# EOF\n" if page_format is Format.OPENMETRICS else "")
        return "".join(pieces).encode()


class _MetricLines:
    """The lines of one metric, target by target."""

    def __init__(
        self, family: SpelledFamily, targets: Numbers, labels: Texts, values: NDArray[Any]
    ) -> None:
        self.headers = {each: f"{header_of(family, each)}\n" for each in Format}
        self._name = family.name
        self._targets = targets
        self._labels = labels
        self._values = values
        self._lines = self._written(labels, values)
        brokers = np.arange(int(targets[-1]) + 2)
        self._ends = np.searchsorted(targets, brokers).tolist()

    def take_over(self, values: NDArray[Any], targets: Numbers, labels: Texts) -> bool:
        """Update the lines if none is added or removed; return whether that was possible."""
        is_same = (
            np.array_equal(self._targets, targets)
            and np.array_equal(self._labels, labels)
            and self._values.dtype == values.dtype
        )
        if is_same:
            changed = np.flatnonzero(self._values != values)
            lines = self._written(labels[changed], values[changed])
            for place, line in zip(changed.tolist(), lines, strict=True):
                self._lines[place] = line
            self._values = values
        return is_same

    def _written(self, labels: Texts, values: NDArray[Any]) -> list[str]:
        name = self._name
        texts = map(repr if values.dtype.kind == "f" else str, values.tolist())
        return [
            f"{name}{{{own}}} {text}\n" if own else f"{name} {text}\n"
            for own, text in zip(labels.tolist(), texts, strict=True)
        ]

    def lines_of(self, broker: int) -> list[str]:
        """The lines of a broker's page."""
        if broker + 1 >= len(self._ends):
            return []
        return self._lines[self._ends[broker] : self._ends[broker + 1]]


#: A page of another target than a broker with at most this many samples is written by
#: prometheus_client, at 7 us for each sample.
MOST_SAMPLES_FOR_CLIENT = 250


class NoPageError(Exception):
    """A target that cannot be scraped now; the message is the reason."""


class _Publication(NamedTuple):
    snapshot: Snapshot
    context: SnapshotContext
    pages: dict[tuple[int | None, Format], bytes]


class Pages:
    """The pages of one cluster."""

    def __init__(self, plan: ClusterPlan, presentation: Presentation = AS_STRIMZI) -> None:
        self.plan = plan
        self.spelling = presentation.spelling
        self._exposition = Exposition(plan, presentation)
        self._history = SuccessiveSnapshots(self._exposition.layout)
        self._target_labels = texts_of(label_texts(plan, self.spelling))
        self._last: _Publication | None = None
        # Several threads respond; one at a time renders pages and counts.
        self._lock = threading.Lock()
        self._scrapes = dict.fromkeys(targets_of(plan), 0)
        self._render_cpu_seconds = 0.0
        self._lines = PageLines()
        self._lines_are_of: Snapshot | None = None

    @property
    def level(self) -> Level:
        """The level of detail for single partitions."""
        return self._exposition.level

    @property
    def time_us(self) -> int | None:
        """Virtual time of the last snapshot; None before the first."""
        last = self._last
        return None if last is None else last.snapshot.time_us

    def publish(self, snapshot: Snapshot, health: Health | None) -> None:
        """Serve this snapshot from now on; it must not change."""
        self._last = _Publication(snapshot, self._history.context(snapshot, health), {})

    def why_not(self, target: int | None) -> str | None:
        """The reason why a target cannot be scraped now, in a few words; None if it can."""
        return self._why_not(self._last, target)

    def _why_not(self, last: _Publication | None, target: int | None) -> str | None:
        if last is None:
            return "the run has not begun"
        if target is None or not is_node(target) or responds(last.snapshot, target):
            return None
        node = f"{'broker' if target >= 0 else 'controller'} {node_of(self.plan, target)}"
        return f"{node} is {'paused' if is_alive(last.snapshot, target) else 'down'}"

    def page(self, target: int | None, page_format: Format) -> bytes:
        """The page of a target, or that of all; ``NoPageError`` if it cannot be scraped."""
        last = self._last
        refusal = self._why_not(last, target)
        if last is None or refusal is not None:
            raise NoPageError(refusal)
        key = target, page_format
        with self._lock:
            if target is not None:
                self._scrapes[target] += 1
            # Scrapes and ages on the simulation's page change with each request.
            if key not in last.pages or target == SIMULATION:
                last.pages[key] = self._rendered(last, target, page_format)
            return last.pages[key]

    def _rendered(self, last: _Publication, target: int | None, page_format: Format) -> bytes:
        began_seconds = time.thread_time()
        scrapes = ScrapeCounts(dict(self._scrapes), self._render_cpu_seconds)
        context = last.context._replace(scrapes=scrapes, now_seconds=time.monotonic())
        if target is None:
            series = self._exposition.series(last.snapshot, context)
            page = written_page(series, page_format, self._target_labels)
        elif target >= 0:
            page = self._lines_of(last).page(target, page_format)
        else:
            samples = list(self._exposition.series(last.snapshot, context, target))
            is_small = sum(len(each.values) for each in samples) <= MOST_SAMPLES_FOR_CLIENT
            page = (client_page if is_small else written_page)(samples, page_format)
        self._render_cpu_seconds += time.thread_time() - began_seconds
        return page

    def _lines_of(self, last: _Publication) -> PageLines:
        """The lines of all brokers' pages of this snapshot."""
        if self._lines_are_of is not last.snapshot:
            self._lines.update(self._exposition.series(last.snapshot, last.context))
            self._lines_are_of = last.snapshot
        return self._lines


class SeriesCollector(Collector):
    """Collects samples that were read already, so that a page is of one snapshot."""

    def __init__(self, series: Iterable[Samples], target_labels: Texts | None = None) -> None:
        self._series = series
        self._target_labels = target_labels

    def collect(self) -> Iterator[Metric]:
        """Metric by metric."""
        for of_family in by_name(self._series):
            family = of_family[0].family
            metric = Metric(family.metric_name, family.help, family.kind)
            for samples in of_family:
                self._add(metric, samples)
            yield metric

    def _add(self, metric: Metric, samples: Samples) -> None:
        family, targets, labels, values = samples
        for target, text, value in zip(targets, labels, values.tolist(), strict=True):
            more = "" if self._target_labels is None else self._target_labels[target]
            metric.add_sample(family.name, labels_of(joined(text, more)), value)


def client_page(
    series: Iterable[Samples], page_format: Format, target_labels: Texts | None = None
) -> bytes:
    """A page as prometheus_client writes it; the arguments are those of ``written_page``."""
    collector = SeriesCollector(series, target_labels)
    if page_format is Format.OPENMETRICS:
        page: bytes = generate_openmetrics(collector)  # type: ignore[no-untyped-call]
        return page
    return generate_latest(collector)
