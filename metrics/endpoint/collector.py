"""The same samples for prometheus_client, which writes pages of the usual size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector

from tidegauge.metrics.endpoint.formats import Format
from tidegauge.metrics.endpoint.text_writer import by_name
from tidegauge.metrics.samples.exposition import Samples
from tidegauge.metrics.samples.labels import joined, labels_of
from tidegauge.metrics.samples.layout import Texts


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
