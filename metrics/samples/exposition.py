"""From a snapshot to samples: metric by metric, as arrays.

All output of metrics begins here: the pages of the endpoint, the file for backfilling, the
rehearsal of alert rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.families.all_families import FAMILIES
from tidegauge.metrics.families.family import Scope
from tidegauge.metrics.families.mbean import MBean
from tidegauge.metrics.samples.health import SnapshotContext
from tidegauge.metrics.samples.labels import joined, label_text, labels_of
from tidegauge.metrics.samples.layout import Flags, Layout, Numbers, Texts, texts_of
from tidegauge.metrics.samples.levels import Level, default_level, unhealthy_partitions
from tidegauge.metrics.samples.presentation import AS_STRIMZI, Presentation
from tidegauge.metrics.samples.table import Sources, Table
from tidegauge.metrics.samples.tables import is_on_page, table_of
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.metrics.spellings.spelling import SpelledFamily
from tidegauge.scenario.cluster_plan import ClusterPlan

_NOTHING_MORE = SnapshotContext()


class Samples(NamedTuple):
    """The samples of one entry of the table of metrics; entries of one name follow each other."""

    family: SpelledFamily
    #: For each its target (``targets.py``), its own labels as a page has them, and its value.
    targets: Numbers
    labels: Texts
    values: NDArray[Any]


class Exposition:
    """The metrics of one cluster, presented in one way.

    It keeps no state of snapshots, so threads may share it: the texts that it keeps are always the
    same.
    """

    def __init__(self, plan: ClusterPlan, presentation: Presentation = AS_STRIMZI) -> None:
        self.plan = plan
        level = presentation.level
        self.level = default_level(plan) if level is None else level
        self.families = presentation.spelling.spelled(FAMILIES)
        self.layout = Layout(plan)
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
        if self.level == Level.SPARSE:
            unhealthy = unhealthy_partitions(self.layout, snapshot)
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

    def _samples(self, spelled: SpelledFamily, table: Table, unhealthy: Flags | None) -> Samples:
        family = spelled.family
        values = family.values(table.columns)
        there = table.there & family.shown(table.columns)
        if values.dtype.kind == "f" and not family.has_nan:
            there = there & ~np.isnan(values)
        elif values.dtype.kind == "b":
            values = values.astype(np.int64)
        if table.partitions is None or self.level == Level.FULL:
            return self._of_rows(spelled, table, values, there)
        if self.level == Level.OFF:
            return self._of_rows(spelled, table, values, np.zeros_like(there))
        if unhealthy is None:
            return self._of_totals(spelled, table, values, there & family.adds_up)
        zeros = self._of_totals(
            spelled, table, np.zeros_like(values), there & family.adds_up & family.has_zeros
        )
        shown = self._of_rows(spelled, table, values, there & unhealthy[table.partitions])
        return _together(zeros, shown)

    def _of_rows(
        self, spelled: SpelledFamily, table: Table, values: NDArray[Any], there: Flags
    ) -> Samples:
        """A sample for each existing row."""
        rows = np.flatnonzero(there)
        labels = self._respelled(spelled, table.labels(rows))
        return Samples(spelled, table.targets[rows], labels, values[rows])

    def _of_totals(
        self, spelled: SpelledFamily, table: Table, values: NDArray[Any], there: Flags
    ) -> Samples:
        """A sample for each sum of existing rows."""
        assert table.totals is not None
        of, targets, labels = table.totals
        counts = np.bincount(of[there], minlength=len(targets))
        sums = np.bincount(of[there], values[there], len(targets)).astype(values.dtype)
        rows = np.flatnonzero(counts)
        return Samples(spelled, targets[rows], self._respelled(spelled, labels[rows]), sums[rows])

    def _respelled(self, spelled: SpelledFamily, labels: Texts) -> Texts:
        """The labels of rows as a spelling has them, behind those that all samples have."""
        if not spelled.labels and spelled.renamed is None:
            return labels
        which = spelled.family.measured, label_text(spelled.labels)
        known = self._respelled_texts.setdefault(which, {})
        for text in labels.tolist():
            if text not in known:
                known[text] = _respelled_text(spelled, text)
        return texts_of(known[text] for text in labels.tolist())


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
