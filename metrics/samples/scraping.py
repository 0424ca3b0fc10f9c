"""The samples of a Prometheus that scrapes a run in virtual time, without HTTP in between.

These are the samples that the endpoint of a live run serves, each with the labels that the
discovery gives its target, and ``up``, which Prometheus adds itself: whether the target responded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from tidegauge.metrics.families.family import Family, Scope
from tidegauge.metrics.samples.exposition import Exposition
from tidegauge.metrics.samples.labels import joined, label_text
from tidegauge.metrics.samples.levels import Level
from tidegauge.metrics.samples.successive_snapshots import SuccessiveSnapshots
from tidegauge.metrics.samples.targets import target_labels, targets_of
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.scenario.cluster_plan import ClusterPlan

UP = Family(
    *("up", "gauge", Scope.SCRAPED_TARGET, "answers"),
    *("1 while the target responds.", "Prometheus"),
)


class Scraped(NamedTuple):
    """The samples of one metric that one scrape of all targets has found."""

    family: Family
    #: All labels of each sample, as a page has them, and its value.
    labels: list[str]
    values: list[float]


class Scraper:
    """Scrapes one snapshot after the other, each later than those before."""

    def __init__(
        self, plan: ClusterPlan, level: Level | None = None, only: Collection[str] | None = None
    ) -> None:
        """Scrape all metrics, or ``only`` those whose samples have these names."""
        self._exposition = Exposition(plan, level)
        self._history = SuccessiveSnapshots(self._exposition.layout)
        self._only = only
        self._targets = {
            target: label_text(target_labels(plan, target)) for target in targets_of(plan)
        }

    def scrape(self, snapshot: Snapshot) -> Iterator[Scraped]:
        """The samples of a scrape now; a metric can appear several times."""
        if self._is_wanted(UP):
            answers = snapshot.brokers["answers"]
            yield Scraped(
                UP,
                list(self._targets.values()),
                [float(target < 0 or answers[target]) for target in self._targets],
            )
        context = self._history.context(snapshot)
        for family, targets, labels, values in self._exposition.series(snapshot, context):
            if self._is_wanted(family):
                whole = [
                    joined(own, self._targets[target])
                    for own, target in zip(labels.tolist(), targets.tolist(), strict=True)
                ]
                yield Scraped(family, whole, values.tolist())

    def _is_wanted(self, family: Family) -> bool:
        return self._only is None or family.name in self._only
