"""The scraped samples of a run as series, in the form of promtool's unit tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from tidegauge.metrics.endpoint.openmetrics_file import number_text
from tidegauge.metrics.samples.exposition import Scraped


class Series(NamedTuple):
    """One series, with a value for each scrape from the beginning on; None where there was none."""

    #: Name and labels as in PromQL: ``up{job="kafka"}``.
    selector: str
    values: Sequence[float | None]


class Recording:
    """The samples of successive scrapes."""

    def __init__(self) -> None:
        #: The first scrape has no samples: it is at the time 0, when the cluster is started.
        self.scrapes = 1
        self._values: dict[str, list[float | None]] = {}

    def take(self, found: Iterable[Scraped]) -> None:
        """Keep the samples of the next scrape."""
        for scraped in found:
            for labels, value in zip(scraped.labels, scraped.values, strict=True):
                selector = f"{scraped.family.name}{{{labels}}}"
                values = self._values.setdefault(selector, [])
                values += [None] * (self.scrapes - len(values))
                values.append(value)
        self.scrapes += 1

    def series(self) -> Iterator[Series]:
        """All series, by selector."""
        for selector in sorted(self._values):
            values = self._values[selector]
            yield Series(selector, [*values, *[None] * (self.scrapes - len(values))])


def values_text(values: Iterable[float | None]) -> str:
    """The values of a series as promtool reads them.

    A series that is missing in a scrape is stale from then on: Prometheus marks it so when a target
    does not respond, or no longer has it.
    """
    parts: list[str] = []
    for value, run in groupby(values):
        count = len(list(run))
        if value is not None:
            parts.append(number_text(value) + (f"x{count - 1}" if count > 1 else ""))
            continue
        if parts:
            parts.append("stale")
            count -= 1
        if count:
            parts.append(f"_x{count}")
    return " ".join(parts)
