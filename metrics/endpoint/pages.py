"""The pages of the endpoint: metrics of the last snapshot that it received.

Pages are rendered on request, in a thread of the endpoint, once for each snapshot. The run only
delivers its snapshots, and never waits.
"""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from tidegauge.metrics.endpoint.collector import client_page
from tidegauge.metrics.endpoint.formats import Format
from tidegauge.metrics.endpoint.page_lines import PageLines
from tidegauge.metrics.endpoint.text_writer import written_page
from tidegauge.metrics.samples.exposition import Exposition
from tidegauge.metrics.samples.health import Health, ScrapeCounts, SnapshotContext
from tidegauge.metrics.samples.layout import texts_of
from tidegauge.metrics.samples.levels import Level
from tidegauge.metrics.samples.presentation import AS_STRIMZI, Presentation
from tidegauge.metrics.samples.successive_snapshots import SuccessiveSnapshots
from tidegauge.metrics.samples.targets import (
    SIMULATION,
    is_alive,
    is_node,
    label_texts,
    node_of,
    responds,
    targets_of,
)
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.scenario.cluster_plan import ClusterPlan

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
        """Serve this snapshot from now on; it must not change any more."""
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
