"""The rows of a scope at one moment, and their sources."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.metrics.families.family import Columns
from tidegauge.metrics.samples.health import SnapshotContext
from tidegauge.metrics.samples.layout import Flags, Layout, Level, Numbers, Texts, Totals, texts_of
from tidegauge.metrics.snapshots.snapshot import Snapshot


class Table(NamedTuple):
    """The rows of a scope at one moment."""

    targets: Numbers
    #: Flags of the existing rows.
    there: Flags
    columns: Columns
    #: The label texts of some of them.
    labels: Callable[[Numbers], Texts]
    #: The partition of each row and the totals that it counts for, where a row belongs to a
    #: partition.
    partitions: Numbers | None = None
    totals: Totals | None = None


class Sources(NamedTuple):
    """The sources of tables."""

    layout: Layout
    snapshot: Snapshot
    context: SnapshotContext
    level: Level
    #: The only broker whose rows are requested; None: all.
    broker: int | None = None
    every_controller: bool = False

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
    """A table of rows of one target, all of which exist."""
    count = len(labels)
    return Table(np.full(count, target), np.ones(count, bool), columns, labels.__getitem__)
