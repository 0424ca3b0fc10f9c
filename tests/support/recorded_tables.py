"""What tests of result tables share: tables as dicts, and those of rows that are bent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it comes without types

from tidegauge.analysis.making.duckdb_engine import DuckDBEngine
from tidegauge.analysis.making.engine import TO_THE_LAST, TraceRelations
from tidegauge.analysis.making.grouped_files import groups_in, part_file
from tidegauge.analysis.making.run_tables import RunTables
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
    files = [str(file) for file in files_of_run(folder, run, name)]
    named = run.name.replace("'", "''")
    return f"(select * from read_parquet({files}) where run = '{named}')"


def files_of_run(folder: Path, run: FoundRun, name: str) -> list[Path]:
    """The files that have a table of a run, beside those of other runs."""
    return [
        part_file(folder, name, group.number)
        for group in groups_in(folder)
        if run.name in group.runs and name in group.relations
    ]


def rows_in_files(folder: Path, run: FoundRun, name: str) -> list[Row]:
    """The rows of a run's table in the order in which its files have them."""
    return [
        row
        for file in files_of_run(folder, run, name)
        for row in pq.read_table(file).to_pylist()
        if row["run"] == run.name
    ]


class BentRelations(TraceRelations):
    """Rows of runs, those of some kinds otherwise than they were recorded."""

    def __init__(self, runs: Sequence[FoundRun], bends: Mapping[str, str]) -> None:
        """Take the runs, and for each kind a query over its recorded ``rows``."""
        super().__init__(runs)
        self._bends = bends

    def rows(self, name: str) -> Any:
        bend = self._bends.get(name.removesuffix(TO_THE_LAST))
        rows = super().rows(name)
        return rows if bend is None else _asked(bend, rows)


def bent(run: RunFolder, folder: Path, bends: Mapping[str, str]) -> RunTables:
    """The tables of a run whose rows are bent, as :class:`BentRelations` says."""
    engine = DuckDBEngine(partial(BentRelations, bends=bends))
    return RunTables(run.path, folder, engine)


def _asked(query: str, rows: Any) -> Any:
    database = duckdb.connect()
    database.register("rows", rows)
    return database.sql(query).to_arrow_table()
