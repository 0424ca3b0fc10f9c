"""The rows of a scope at one moment, and what they are made from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.families.family import Columns
from tidegauge.metrics.samples.health import SnapshotContext
from tidegauge.metrics.samples.layout import Flags, Layout, Numbers, Texts, Totals, texts_of
from tidegauge.metrics.samples.levels import Level
from tidegauge.metrics.snapshots.snapshot import Snapshot


class Table(NamedTuple):
    """The rows of a scope at one moment."""

    targets: Numbers
    #: Which of them there are.
    there: Flags
    columns: Columns
    #: The label texts of some of them.
    labels: Callable[[Numbers], Texts]
    #: The number of each one's partition, and what it adds up to, where it is one of a partition.
    partitions: Numbers | None = None
    totals: Totals | None = None


class Sources(NamedTuple):
    """What tables are made from."""

    layout: Layout
    snapshot: Snapshot
    context: SnapshotContext
    level: Level
    #: The only broker whose rows are asked for; None: all.
    broker: int | None = None

    def answers(self, brokers: Numbers) -> Flags:
        """Whether these brokers can be scraped."""
        answers: Flags = self.snapshot.brokers["answers"][brokers]
        return answers


def columns_of(rows: NDArray[np.void]) -> dict[str, NDArray[Any]]:
    """The columns of records, by name; they share the records' memory."""
    assert rows.dtype.names is not None
    return {name: rows[name] for name in rows.dtype.names}


def one_row(target: int, there: bool, columns: Columns) -> Table:
    """A table of one row that has no labels."""
    return Table(np.array([target]), np.array([there]), columns, texts_of([""]).__getitem__)


def all_rows(target: int, labels: Texts, columns: Columns) -> Table:
    """A table of rows of one target, all of which are there."""
    count = len(labels)
    return Table(np.full(count, target), np.ones(count, bool), columns, labels.__getitem__)
