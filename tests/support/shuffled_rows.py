"""Result tables of rows that come in any order: shuffled, to any number of threads, ties at random.

An engine may take the rows of a relation in any order, and rows of a window that are equal in its
order, too. With few rows DuckDB seldom does; here it has to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it comes without types

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.making.trace_relations import TraceRelations
from tidegauge.analysis.making.written_tables import files_of
from tidegauge.analysis.run_paths import FoundRun
from tidegauge.analysis.tables.all_tables import TABLES


class ShuffledRelations(TraceRelations):
    """The rows of runs, and the origins of rows, in an order that a seed draws."""

    def __init__(self, runs: Sequence[FoundRun], ends_us: Mapping[str, int], seed: int) -> None:
        """Take the runs, where each ends, and the seed."""
        super().__init__(runs, ends_us)
        self._draw = np.random.default_rng(seed)

    def rows(self, name: str) -> list[tuple[str, Any]]:
        return [(run, self._shuffled(rows)) for run, rows in super().rows(name)]

    def causes(self) -> Any:
        return self._shuffled(super().causes())

    def _shuffled(self, rows: Any) -> Any:
        return rows.take(self._draw.permutation(len(rows)))


def unlike(one: RunTables, other: RunTables, names: Iterable[str] = TABLES) -> list[str]:
    """The tables of which any run has other rows, or the same in another order."""
    return [
        name
        for name in names
        if any(_rows(one, run, name) != _rows(other, run, name) for run in other.runs)
    ]


def _rows(tables: RunTables, run: FoundRun, name: str) -> list[dict[str, Any]]:
    files: list[Path] = files_of(tables.folder, run, name)
    return [row for file in files for row in pq.read_table(file, partitioning=None).to_pylist()]
