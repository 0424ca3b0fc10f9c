"""The samples of a Prometheus that scrapes a run in virtual time, without HTTP in between.

These are the samples that the endpoint of a live run serves, each with the labels that the
discovery gives its target, and ``up``, which Prometheus adds itself: whether the target responded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from tidegauge.metrics.families.family import Family, Scope
from tidegauge.metrics.samples.exposition import Exposition
from tidegauge.metrics.samples.labels import joined
from tidegauge.metrics.samples.presentation import AS_STRIMZI, Presentation
from tidegauge.metrics.samples.successive_snapshots import SuccessiveSnapshots
from tidegauge.metrics.samples.targets import label_texts, responds, targets_of
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.metrics.spellings.spelling import SpelledFamily
from tidegauge.scenario.cluster_plan import ClusterPlan

_HELP = "1 while the target responds."
UP = SpelledFamily(
    "up", "gauge", Family("up", "gauge", Scope.SCRAPED_TARGET, "answers", _HELP, "Prometheus")
)


class Scraped(NamedTuple):
    """The samples of one metric that one scrape of all targets has found."""

    family: SpelledFamily
    #: All labels of each sample, as a page has them, and its value.
    labels: list[str]
    values: list[float]


class Scraper:
    """Scrapes one snapshot after the other, each later than those before."""

    def __init__(
        self,
        plan: ClusterPlan,
        presentation: Presentation = AS_STRIMZI,
        only: Collection[str] | None = None,
    ) -> None:
        """Scrape all metrics, or ``only`` those whose samples have these names."""
        self._exposition = Exposition(plan, presentation)
        self._history = SuccessiveSnapshots(self._exposition.layout)
        self._only = only
        texts = label_texts(plan, presentation.spelling)
        self._targets = {target: texts[target] for target in targets_of(plan)}

    def scrape(self, snapshot: Snapshot) -> Iterator[Scraped]:
        """The samples of a scrape now; a metric can appear several times."""
        if self._is_wanted(UP):
            up = [float(responds(snapshot, target)) for target in self._targets]
            yield Scraped(UP, list(self._targets.values()), up)
        context = self._history.context(snapshot)
        for family, targets, labels, values in self._exposition.series(snapshot, context):
            if self._is_wanted(family):
                whole = [
                    joined(own, self._targets[target])
                    for own, target in zip(labels.tolist(), targets.tolist(), strict=True)
                ]
                yield Scraped(family, whole, values.tolist())

    def _is_wanted(self, family: SpelledFamily) -> bool:
        return self._only is None or family.name in self._only
