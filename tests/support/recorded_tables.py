"""What tests of result tables share: tables as dicts, and those of rows that are bent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from tidegauge.analysis.making.duckdb_engine import DuckDBEngine
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.making.trace_relations import TO_THE_LAST, TraceRelations
from tidegauge.analysis.run_paths import FoundRun
from tidegauge.traces.run_folder import RunFolder

Row = dict[str, Any]


def table(tables: RunTables, name: str, run: str | None = None) -> list[Row]:
    """A table, of one run or of all, in the order of its columns."""
    found = tables.rows(f"select * from {name}")  # noqa: S608 - the name of a table
    in_order = sorted(found, key=lambda row: [(each is None, each) for each in row.values()])
    return [row for row in in_order if run is None or row["run"] == run]


def figures(tables: RunTables, run: str) -> Row:
    """The figures of a run."""
    (found,) = table(tables, "run_figures", run)
    return found


class BentRelations(TraceRelations):
    """Rows of runs, those of some kinds otherwise than they were recorded."""

    def __init__(
        self, runs: Sequence[FoundRun], ends_us: Mapping[str, int], bends: Mapping[str, str]
    ) -> None:
        """Take the runs, where each ends, and for each kind a query over its recorded ``rows``."""
        super().__init__(runs, ends_us)
        self._bends = bends

    def rows(self, name: str) -> list[tuple[str, Any]]:
        bend = self._bends.get(name.removesuffix(TO_THE_LAST), "from rows")
        return [(run, _asked(bend, rows)) for run, rows in super().rows(name)]


def bent(run: RunFolder, folder: Path, bends: Mapping[str, str]) -> RunTables:
    """The tables of a run whose rows are bent, as :class:`BentRelations` says."""
    engine = DuckDBEngine(partial(BentRelations, bends=bends))
    return RunTables(run.path, folder, engine)


def _asked(query: str, rows: Any) -> Any:
    database = duckdb.connect()
    database.register("rows", rows)
    return database.sql(query).to_arrow_table()
