"""The series of a whole run as one OpenMetrics file, to be imported by any Prometheus.

Each sample has its virtual time, counted from a beginning in real time, and the labels of its
target; ``up`` is 1 while the target responded. OpenMetrics requires all samples of a series one
after the other, so they are kept, as two arrays for each series, until the run has ended.

``promtool tsdb create-blocks-from openmetrics FILE DIR`` makes blocks of it, which a Prometheus
reads from its storage folder.
"""

from __future__ import annotations

import errno
import os
import time
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tidegauge.metrics.endpoint.formats import Format, number_text
from tidegauge.metrics.endpoint.text_writer import header_of
from tidegauge.metrics.samples.presentation import AS_STRIMZI, Presentation
from tidegauge.metrics.samples.scraping import Scraper
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.metrics.spellings.spelling import SpelledFamily
from tidegauge.scenario.cluster_plan import ClusterPlan


class _Series(NamedTuple):
    """The scrapes that found a series, as places in the list of scrapes, and its values."""

    scrapes: array[int]
    values: array[float]


class _Metric(NamedTuple):
    """A metric: the name of its samples, and its series by their labels."""

    header: str
    sample: str
    series: dict[str, _Series]


class OpenMetricsFile:
    """Keeps the samples of successive scrapes of a run, and writes them once it has ended."""

    def __init__(
        self,
        plan: ClusterPlan,
        path: Path,
        presentation: Presentation = AS_STRIMZI,
        begins_s: float | None = None,
    ) -> None:
        """Write to ``path``, whose folder must exist.

        Args:
            plan: the cluster.
            path: the file; an existing one is replaced at the end, not earlier.
            presentation: level of detail, names, and which controllers count.
            begins_s: real time of virtual time 0, in seconds since 1970;
            None: the run ends now.

        Raises:
            OSError: the file cannot be written.
        """
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        self._path = path
        self._unfinished = path.with_name(f"{path.name}.unfinished")
        self._unfinished.touch()
        duration_s = plan.scenario.duration_us / 1e6
        self._begins_s = time.time() - duration_s if begins_s is None else begins_s
        self._scraper = Scraper(plan, presentation)
        self._times_us: list[int] = []
        self._metrics: dict[str, _Metric] = {}

    def take(self, snapshot: Snapshot) -> None:
        """Scrape now, and keep the samples."""
        self._times_us.append(snapshot.time_us)
        for scraped in self._scraper.scrape(snapshot):
            metric = self._metric(scraped.family)
            for labels, value in zip(scraped.labels, scraped.values, strict=True):
                self._add(metric, labels, value)

    def _metric(self, family: SpelledFamily) -> _Metric:
        name = family.metric_name
        if name not in self._metrics:
            header = f"{header_of(family, Format.OPENMETRICS)}\n"
            self._metrics[name] = _Metric(header, family.name, {})
        return self._metrics[name]

    def _add(self, metric: _Metric, labels: str, value: float) -> None:
        series = metric.series.get(labels)
        if series is None:
            series = metric.series[labels] = _Series(array("L"), array("d"))
        series.scrapes.append(len(self._times_us) - 1)
        series.values.append(value)

    def write(self) -> bool:
        """Write the whole file, and return True; without any scrape an existing file is kept.

        Raises:
            OSError: the file cannot be written.
        """
        try:
            if self._times_us:
                with self._unfinished.open("w", encoding="utf-8") as file:
                    file.writelines(self._lines())
                self._unfinished.replace(self._path)
        finally:
            self._unfinished.unlink(missing_ok=True)
        return bool(self._times_us)

    def _lines(self) -> Iterator[str]:
        times = [f"{self._begins_s + time_us / 1e6:.3f}" for time_us in self._times_us]
        for metric in self._metrics.values():
            yield metric.header
            for labels, series in metric.series.items():
                begin = f"{metric.sample}{{{labels}}}"
                for scrape, value in zip(series.scrapes, series.values, strict=True):
                    yield f"{begin} {number_text(value)} {times[scrape]}\n"
        yield "# EOF\n"
