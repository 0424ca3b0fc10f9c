"""The lines of all brokers' pages, kept from one snapshot to the next.

Most samples do not change in a second, and a broker has few samples of each metric. So metrics are
read once for all brokers, lines are rendered only for changed samples, and a page is joined from
its broker's part of each metric. Reading and writing every page separately took 50 ms for the 60
brokers of ``rack-power-loss``, as much as a scrape of them may cost; this takes 10 ms.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.endpoint.formats import Format
from tidegauge.metrics.endpoint.text_writer import by_name, header_of
from tidegauge.metrics.samples.exposition import Samples
from tidegauge.metrics.samples.layout import Numbers, Texts
from tidegauge.metrics.spellings.spelling import SpelledFamily


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
