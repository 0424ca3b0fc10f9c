"""What tests of result tables share: tables as dicts, and those of rows that are bent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from tidegauge.analysis.making.duckdb_engine import DuckDBEngine
from tidegauge.analysis.making.engine import TO_THE_LAST, TraceRelations
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.making.written_tables import files_of
from tidegauge.analysis.requests import FoundRun
from tidegauge.analysis.tables.all_tables import TABLES
from tidegauge.traces.run_folder import RunFolder

# ruff: noqa: S608 - queries are put together from names of tables and paths of tests

Row = dict[str, Any]


def table(tables: RunTables, name: str, run: str | None = None) -> list[Row]:
    """A table, of one run or of all, in the order of its columns."""
    found = tables.rows(f"select * from {name}")
    in_order = sorted(found, key=lambda row: [(each is None, each) for each in row.values()])
    return [row for row in in_order if run is None or row["run"] == run]


def figures(tables: RunTables, run: str) -> Row:
    """The figures of a run."""
    (found,) = table(tables, "run_figures", run)
    return found


def differences(
    one: Path, other: Path, runs: Sequence[FoundRun], names: Iterable[str] = TABLES
) -> dict[str, int]:
    """How many rows of each table are in one folder of tables only, where there are any."""
    database = duckdb.connect()
    counted: Counter[str] = Counter()
    for name in names:
        for run in runs:
            a, b = (_rows(folder, run, name) for folder in (one, other))
            ((count,),) = database.execute(
                f"select count(*) from (({a} except all {b}) union all ({b} except all {a}))"
            ).fetchall()
            counted[name] += count
    return {name: count for name, count in counted.items() if count}


def _rows(folder: Path, run: FoundRun, name: str) -> str:
    files = [str(file) for file in files_of(folder, run, name)]
    return f"(select * from read_parquet({files}, hive_partitioning = false))"


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
