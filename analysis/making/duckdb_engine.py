"""DuckDB makes result tables in this process: for one run, or a few, on this machine."""

# ruff: noqa: S608 - queries are put together from texts of these rooms

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import duckdb

from tidegauge.analysis.making.engine import (
    RelationsOfRuns,
    TraceRelations,
    in_making_order,
    sql_of,
)
from tidegauge.analysis.making.grouped_files import part_file
from tidegauge.analysis.requests import FoundRun
from tidegauge.analysis.tables.dialect import DUCKDB, for_duckdb
from tidegauge.analysis.tables.result_table import ResultTable
from tidegauge.traces.run_files import trace_bytes_of

#: The traces of a group of runs: some four million rows, whose tables take a gigabyte at most.
GROUP_BYTES = 10_000_000


def quoted(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def connected() -> duckdb.DuckDBPyConnection:
    """A database in memory that has the functions of tables; it reads no Python variables."""
    database = duckdb.connect(":memory:", config={"python_enable_replacements": False})
    for statement in DUCKDB:
        database.execute(statement)
    return database


class DuckDBEngine:
    """Makes tables in memory, a group of runs after the other."""

    def __init__(
        self, reads: Callable[[Sequence[FoundRun]], RelationsOfRuns] = TraceRelations
    ) -> None:
        """Take the source of the relations of runs."""
        self._reads = reads

    def write(
        self,
        runs: Sequence[FoundRun],
        tables: Sequence[ResultTable],
        folder: Path,
        begins: Callable[[str], None],
    ) -> list[list[FoundRun]]:
        """Make tables of runs, as :meth:`Engine.write`."""
        groups = groups_of(runs, GROUP_BYTES)
        by_name = {table.name: table for table in tables}
        for number, group in enumerate(groups):
            which = "" if len(groups) == 1 else f" of runs {number + 1}/{len(groups)}"
            with closing(connected()) as database:
                making = _Making(database, self._reads(group))
                for name in in_making_order(by_name):
                    if name in by_name:
                        begins(f"{name}{which}")
                    making.make(name)
                    if name in by_name:
                        _write(database, by_name[name], part_file(folder, name, number))
        return groups


def groups_of(runs: Sequence[FoundRun], group_bytes: int) -> list[list[FoundRun]]:
    """Runs in groups whose traces have about so many bytes, each of one run at least."""
    groups: list[list[FoundRun]] = []
    room_bytes = 0
    for run in runs:
        if room_bytes <= 0:
            groups.append([])
            room_bytes = group_bytes
        groups[-1].append(run)
        room_bytes -= trace_bytes_of(run.folder)
    return groups


class _Making:
    """Relations in a database, made one by one."""

    def __init__(self, database: duckdb.DuckDBPyConnection, relations: RelationsOfRuns) -> None:
        self._database = database
        self._relations = relations

    def make(self, name: str) -> None:
        """Make a relation of which all that it needs is there."""
        sql = sql_of(name)
        if sql is None:
            self._database.register(name, self._relations[name])
        else:
            self._database.execute(f"create temp table {name} as {for_duckdb(sql)}")


def _write(database: duckdb.DuckDBPyConnection, table: ResultTable, file: Path) -> None:
    file.parent.mkdir(exist_ok=True)
    database.execute(
        f"copy (select * from {table.name} order by {', '.join(table.order)})"
        f" to {quoted(str(file))} (format parquet, compression zstd)"
    )
