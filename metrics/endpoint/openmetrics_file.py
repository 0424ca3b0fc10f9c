"""Pages of samples as text, and the series of a whole run as one OpenMetrics file.

A page has Prometheus's own format (0.0.4) or OpenMetrics (1.0), as the client prefers. The writer
is for large pages: it joins existing pieces once, some thirty times faster than prometheus_client;
a test compares both. ``pages.py`` keeps the unchanged lines of a target's page.

A file can be imported by any Prometheus. Each sample has its virtual time, counted from a beginning
in real time, and the labels of its target; ``up`` is 1 while the target responded. OpenMetrics
requires all samples of a series one after the other, so they are kept, as two arrays for each
series, until the run has ended. ``promtool tsdb create-blocks-from openmetrics FILE DIR`` makes
blocks of it, which a Prometheus reads from its storage folder.
"""

from __future__ import annotations

import errno
import os
import time
from array import array
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import groupby
from math import isnan
from pathlib import Path
from typing import NamedTuple

from tidegauge.metrics.samples.exposition import AS_STRIMZI, Presentation, Samples, Scraper
from tidegauge.metrics.samples.layout import Texts
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


def written_page(
    series: Iterable[Samples], page_format: Format, target_labels: Texts | None = None
) -> bytes:
    """A page. With ``target_labels`` (a label text by target) each sample has its target's, too."""
    blocks = [_block(samples, page_format, target_labels) for samples in by_name(series)]
    if page_format is Format.OPENMETRICS:
        blocks.append(b"# EOF")
    return b"\n".join([*blocks, b""])


def by_name(series: Iterable[Samples]) -> Iterator[list[Samples]]:
    """Samples of one name together: a metric can have several entries."""
    for _, of_one_name in groupby(series, lambda samples: samples.family.name):
        yield list(of_one_name)


def header_of(family: SpelledFamily, page_format: Format) -> str:
    """The header of a metric's samples, without the end of its last line."""
    name, text = family.name, family.help.replace("\\", r"\\").replace("\n", r"\n")
    kind: str = family.kind
    if page_format is Format.OPENMETRICS:
        # Here the name of a metric is that of its samples without the suffix.
        name, text = family.metric_name, text.replace('"', r"\"")
    elif kind == "unknown":
        kind = "untyped"
    return f"# HELP {name} {text}\n# TYPE {name} {kind}"


def _block(series: list[Samples], page_format: Format, target_labels: Texts | None) -> bytes:
    """The header and samples of one metric, without the end of the last line."""
    pieces = [header_of(series[0].family, page_format)]
    for samples in series:
        pieces += _lines(samples, target_labels)
    return "".join(pieces).encode()


def _lines(samples: Samples, target_labels: Texts | None) -> list[str]:
    """Lines of samples in pieces, each behind the end of the line before.

    Either all of them have labels of their own, or none has.
    """
    family, targets, labels, values = samples
    pieces = [f"\n{family.name}{{", "", "} ", ""] * len(values)
    pieces[1::4] = labels.tolist()
    pieces[3::4] = map(float_text if values.dtype.kind == "f" else str, values.tolist())
    if target_labels is not None:
        comma = "," if labels[0] else ""
        pieces[2::4] = (comma + target_labels + "} ")[targets].tolist()
    elif not labels[0]:
        # Empty braces are valid, but unusual.
        pieces[0::4] = [f"\n{family.name} "] * len(values)
        pieces[2::4] = [""] * len(values)
    return pieces


_OPENMETRICS = "application/openmetrics-text"
#: Versions of OpenMetrics that a client may name; 0.0.1 was Prometheus's name for it before 1.0.0.
_OPENMETRICS_VERSIONS = {"", "0.0.1", "1.0.0"}
_TEXTS = {"text/plain", "text/*", "*/*"}
#: Above this a number with a fraction of 0 differs from the integer.
_EXACT = 2**53


class Format(Enum):
    """The format of a page; the value is its content type."""

    TEXT = "text/plain; version=0.0.4; charset=utf-8"
    OPENMETRICS = f"{_OPENMETRICS}; version=1.0.0; charset=utf-8"


def wanted_format(accept: str) -> Format:
    """The format that an ``Accept`` header prefers; text is the default."""
    wishes = {Format.TEXT: 0.0, Format.OPENMETRICS: 0.0}
    for wish in accept.split(","):
        media, *written = [part.strip().lower() for part in wish.split(";")]
        parameters = dict(part.split("=", 1) for part in written if "=" in part)
        version = parameters.get("version", "").strip('"')
        if media == _OPENMETRICS and version in _OPENMETRICS_VERSIONS:
            wished = Format.OPENMETRICS
        elif media in _TEXTS:
            wished = Format.TEXT
        else:
            continue
        wishes[wished] = max(wishes[wished], _weight(parameters.get("q", "1")))
    return max(Format, key=wishes.__getitem__)


def _weight(quality: str) -> float:
    """A weight between 0 and 1; any other text counts as 0."""
    try:
        weight = float(quality)
    except ValueError:
        return 0.0
    return weight if 0 <= weight <= 1 else 0.0


def number_text(value: float) -> str:
    """A number in both formats: an integer without a fraction, where that is equal."""
    is_whole = float(value).is_integer() and abs(value) < _EXACT
    return str(int(value)) if is_whole else float_text(float(value))


def float_text(value: float) -> str:
    """A number in both formats, with a fraction."""
    return "NaN" if isnan(value) else repr(value)
