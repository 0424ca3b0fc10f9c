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
from tidegauge.metrics.families.family import Family, Scope
from tidegauge.metrics.samples.health import SnapshotContext
from tidegauge.metrics.samples.labels import joined, label_text
from tidegauge.metrics.samples.layout import Flags, Layout, Numbers, Texts, texts_of
from tidegauge.metrics.samples.levels import Level, default_level, unhealthy_partitions
from tidegauge.metrics.samples.table import Sources, Table
from tidegauge.metrics.samples.tables import is_on_page, table_of
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.scenario.cluster_plan import ClusterPlan

_NOTHING_MORE = SnapshotContext()


class Samples(NamedTuple):
    """The samples of one entry of the table of metrics; entries of one name follow each other."""

    family: Family
    #: For each its target (``targets.py``), its own labels as a page has them, and its value.
    targets: Numbers
    labels: Texts
    values: NDArray[Any]


class Exposition:
    """The metrics of one cluster, at one level.

    It keeps no state of snapshots, so threads may share it.
    """

    def __init__(self, plan: ClusterPlan, level: Level | None = None) -> None:
        self.plan = plan
        self.level = default_level(plan) if level is None else level
        self.layout = Layout(plan)

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
        sources = Sources(self.layout, snapshot, context, self.level, broker)
        unhealthy = None
        if self.level == Level.SPARSE:
            unhealthy = unhealthy_partitions(self.layout, snapshot)
        tables: dict[Scope, Table] = {}
        for family in FAMILIES:
            if not is_on_page(family.scope, target):
                continue
            if family.scope not in tables:
                tables[family.scope] = table_of(family.scope, sources)
            samples = self._samples(family, tables[family.scope], unhealthy)
            if len(samples.values):
                yield samples

    def _samples(self, family: Family, table: Table, unhealthy: Flags | None) -> Samples:
        values = family.values(table.columns)
        there = table.there & family.shown(table.columns)
        if values.dtype.kind == "f":
            there = there & ~np.isnan(values)
        elif values.dtype.kind == "b":
            values = values.astype(np.int64)
        if table.partitions is None or self.level == Level.FULL:
            return _of_rows(family, table, values, there)
        if self.level == Level.OFF:
            return _of_rows(family, table, values, np.zeros_like(there))
        if unhealthy is None:
            return _of_totals(family, table, values, there & family.adds_up)
        zeros = _of_totals(
            family, table, np.zeros_like(values), there & family.adds_up & family.has_zeros
        )
        shown = _of_rows(family, table, values, there & unhealthy[table.partitions])
        return _together(zeros, shown)


def _of_rows(family: Family, table: Table, values: NDArray[Any], there: Flags) -> Samples:
    """A sample for each existing row."""
    rows = np.flatnonzero(there)
    labels = table.labels(rows)
    if family.labels:
        own = label_text(family.labels)
        labels = texts_of(joined(text, own) for text in labels)
    return Samples(family, table.targets[rows], labels, values[rows])


def _of_totals(family: Family, table: Table, values: NDArray[Any], there: Flags) -> Samples:
    """A sample for each sum of existing rows."""
    assert table.totals is not None
    of, targets, labels = table.totals
    counts = np.bincount(of[there], minlength=len(targets))
    sums = np.bincount(of[there], values[there], len(targets)).astype(values.dtype)
    rows = np.flatnonzero(counts)
    return Samples(family, targets[rows], labels[rows], sums[rows])


def _together(one: Samples, other: Samples) -> Samples:
    columns = zip(one[1:], other[1:], strict=True)
    return Samples(one.family, *(np.concatenate(pair) for pair in columns))
