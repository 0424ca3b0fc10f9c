"""From a snapshot to samples: metric by metric, as arrays.

All output of metrics begins here: the pages of the endpoint, the file for backfilling, the
rehearsal of alert rules. A presentation sets the detail and the names of metrics, and the
controllers that count. A scope has its page, and its rows at one moment.

A scraper has the samples of a Prometheus that scrapes a run in virtual time, without HTTP in
between: those that the endpoint of a live run serves, each with the labels that the discovery gives
its target, and ``up``, which Prometheus adds itself: whether the target responded.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.families.all_families import FAMILIES
from tidegauge.metrics.families.family import Family, MBean, Scope
from tidegauge.metrics.samples import exporter_tables, layout, node_tables
from tidegauge.metrics.samples.node_tables import Sources, Table
from tidegauge.metrics.samples.successive_snapshots import SnapshotContext, SuccessiveSnapshots
from tidegauge.metrics.samples.targets import (
    CONTROL_PLANE,
    EXPORTER,
    SIMULATION,
    is_node,
    joined,
    label_text,
    label_texts,
    labels_of,
    responds,
    targets_of,
)
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.metrics.spellings.all_spellings import STRIMZI
from tidegauge.metrics.spellings.spelling import SpelledFamily, Spelling
from tidegauge.replication.release_versions import Release
from tidegauge.scenario.cluster_plan import ClusterPlan


class Presentation(NamedTuple):
    """The presentation of metrics: names, labels and suffixes."""

    #: The level of detail for single partitions; None: by the number of partitions.
    level: layout.Level | None = None
    spelling: Spelling = STRIMZI
    #: Every controller of a quorum reports the counts of the cluster, as in Kafka; else the active
    #: one alone, so that a sum over controllers is right.
    every_controller: bool = False


#: The default.
AS_STRIMZI = Presentation()


_NOTHING_MORE = SnapshotContext()


class Samples(NamedTuple):
    """The samples of one entry of the table of metrics; entries of one name follow each other."""

    family: SpelledFamily
    #: For each its target (``targets.py``), its own labels as a page has them, and its value.
    targets: layout.Numbers
    labels: layout.Texts
    values: NDArray[Any]


class Exposition:
    """The metrics of one cluster, presented in one way.

    It keeps no state of snapshots, so threads may share it: the texts that it keeps are always the
    same.
    """

    def __init__(self, plan: ClusterPlan, presentation: Presentation = AS_STRIMZI) -> None:
        self.plan = plan
        level = presentation.level
        self.level = layout.default_level(plan) if level is None else level
        release = Release.parse(plan.scenario.release)
        served = [
            each for each in FAMILIES if not each.since or Release.parse(each.since) <= release
        ]
        self.families = presentation.spelling.spelled(served)
        self.layout = layout.Layout(plan)
        self._every_controller = presentation.every_controller
        #: By metric with the labels of all its samples, and by label text of a row: the text as
        #: the spelling has it.
        self._respelled_texts: dict[tuple[MBean | str, str], dict[str, str]] = {}

    def series(
        self,
        snapshot: Snapshot,
        context: SnapshotContext = _NOTHING_MORE,
        target: int | None = None,
    ) -> Iterator[Samples]:
        """All samples, or those of one target; a metric that has none is left out.

        A broker that does not respond has none.
        """
        broker = target if target is not None and target >= 0 else None
        sources = Sources(
            self.layout, snapshot, context, self.level, broker, self._every_controller
        )
        unhealthy = None
        if self.level == layout.Level.SPARSE:
            unhealthy = layout.unhealthy_partitions(self.layout, snapshot)
        tables: dict[Scope, Table] = {}
        for family in self.families:
            scope = family.family.scope
            if not is_on_page(scope, target):
                continue
            if scope not in tables:
                tables[scope] = table_of(scope, sources)
            samples = self._samples(family, tables[scope], unhealthy)
            if target is not None:
                samples = _of_target(samples, target)
            if len(samples.values):
                yield samples

    def _samples(
        self, spelled: SpelledFamily, table: Table, unhealthy: layout.Flags | None
    ) -> Samples:
        family = spelled.family
        values = family.values(table.columns)
        there = table.there & family.shown(table.columns)
        if values.dtype.kind == "f" and not family.has_nan:
            there = there & ~np.isnan(values)
        elif values.dtype.kind == "b":
            values = values.astype(np.int64)
        if table.partitions is None or self.level == layout.Level.FULL:
            return self._of_rows(spelled, table, values, there)
        if self.level == layout.Level.OFF:
            return self._of_rows(spelled, table, values, np.zeros_like(there))
        if unhealthy is None:
            return self._of_totals(spelled, table, values, there & family.adds_up)
        zeros = self._of_totals(
            spelled, table, np.zeros_like(values), there & family.adds_up & family.has_zeros
        )
        shown = self._of_rows(spelled, table, values, there & unhealthy[table.partitions])
        return _together(zeros, shown)

    def _of_rows(
        self, spelled: SpelledFamily, table: Table, values: NDArray[Any], there: layout.Flags
    ) -> Samples:
        """A sample for each existing row."""
        rows = np.flatnonzero(there)
        texts = table.labels(rows)
        if spelled.only is not None:
            own = np.array([spelled.only.has(labels_of(text)) for text in texts.tolist()], bool)
            rows, texts = rows[own], texts[own]
        return Samples(spelled, table.targets[rows], self._respelled(spelled, texts), values[rows])

    def _of_totals(
        self, spelled: SpelledFamily, table: Table, values: NDArray[Any], there: layout.Flags
    ) -> Samples:
        """A sample for each sum of existing rows."""
        assert table.totals is not None
        of, targets, labels = table.totals
        counts = np.bincount(of[there], minlength=len(targets))
        sums = np.bincount(of[there], values[there], len(targets)).astype(values.dtype)
        rows = np.flatnonzero(counts)
        return Samples(spelled, targets[rows], self._respelled(spelled, labels[rows]), sums[rows])

    def _respelled(self, spelled: SpelledFamily, labels: layout.Texts) -> layout.Texts:
        """The labels of rows as a spelling has them, behind those that all samples have."""
        if not spelled.labels and spelled.renamed is None:
            return labels
        which = spelled.family.measured, label_text(spelled.labels)
        known = self._respelled_texts.setdefault(which, {})
        for text in labels.tolist():
            if text not in known:
                known[text] = _respelled_text(spelled, text)
        return layout.texts_of(known[text] for text in labels.tolist())


def _respelled_text(spelled: SpelledFamily, text: str) -> str:
    renamed = spelled.renamed
    if renamed is not None:
        own = {renamed[key]: value for key, value in labels_of(text).items() if key in renamed}
        text = label_text(own)
    return joined(label_text(spelled.labels), text)


def _of_target(samples: Samples, target: int) -> Samples:
    """The samples of one target."""
    own = samples.targets == target
    if own.all():
        return samples
    return Samples(samples.family, *(column[own] for column in samples[1:]))


def _together(one: Samples, other: Samples) -> Samples:
    columns = zip(one[1:], other[1:], strict=True)
    return Samples(one.family, *(np.concatenate(pair) for pair in columns))


class _Place(NamedTuple):
    #: The target of a scope; None: each broker, or each controller, has its own rows.
    target: int | None
    table: Callable[[Sources], Table]


_PLACES = {
    Scope.BROKER: _Place(None, node_tables.brokers),
    Scope.BROKER_TOPIC: _Place(None, node_tables.broker_topics),
    Scope.REQUEST: _Place(None, node_tables.requests),
    Scope.REQUEST_ERROR: _Place(None, node_tables.request_errors),
    Scope.CONTROLLER_REQUEST: _Place(None, node_tables.controller_requests),
    Scope.CONTROLLER_REQUEST_ERROR: _Place(None, node_tables.controller_request_errors),
    Scope.ZOOKEEPER_CLIENT: _Place(None, node_tables.zookeeper_clients),
    Scope.REPLICA: _Place(None, node_tables.replicas),
    Scope.FETCHED_REPLICA: _Place(None, node_tables.fetched_replicas),
    Scope.ZOOKEEPER_BROKER: _Place(None, node_tables.brokers_with_zookeeper),
    Scope.QUORUM_BROKER: _Place(None, node_tables.brokers_of_quorum),
    Scope.CONTROLLER: _Place(None, node_tables.controllers),
    Scope.QUORUM_CONTROLLER: _Place(None, node_tables.quorum_controllers),
    Scope.RAFT: _Place(None, node_tables.raft),
    Scope.RAFT_STATE: _Place(None, node_tables.raft_states),
    Scope.CLUSTER: _Place(EXPORTER, exporter_tables.cluster),
    Scope.REGISTERED_BROKER: _Place(EXPORTER, exporter_tables.registered_brokers),
    Scope.TOPIC: _Place(EXPORTER, exporter_tables.topics),
    Scope.PARTITION: _Place(EXPORTER, exporter_tables.partitions),
    Scope.GROUP: _Place(EXPORTER, exporter_tables.groups),
    Scope.GROUP_TOPIC: _Place(EXPORTER, exporter_tables.group_topics),
    Scope.GROUP_PARTITION: _Place(EXPORTER, exporter_tables.group_partitions),
    Scope.METADATA: _Place(CONTROL_PLANE, exporter_tables.metadata),
    Scope.ZOOKEEPER: _Place(CONTROL_PLANE, exporter_tables.zookeeper),
    Scope.CLIENTS: _Place(SIMULATION, exporter_tables.clients),
    Scope.SIMULATION: _Place(SIMULATION, exporter_tables.simulation),
    Scope.METRICS_LEVEL: _Place(SIMULATION, exporter_tables.metrics_level),
    Scope.ACTOR: _Place(SIMULATION, exporter_tables.actors),
    Scope.SCRAPED_TARGET: _Place(SIMULATION, exporter_tables.scraped_targets),
}


def is_on_page(scope: Scope, target: int | None) -> bool:
    """Whether a target's page has metrics of this scope; None is the page of all targets."""
    place = _PLACES[scope]
    if target is None:
        return True
    return is_node(target) if place.target is None else target == place.target


def table_of(scope: Scope, sources: Sources) -> Table:
    """The rows of a scope."""
    return _PLACES[scope].table(sources)


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
