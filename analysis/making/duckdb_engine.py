"""DuckDB makes result tables in this process: for one run, or a few, on this machine."""

# ruff: noqa: S608 - queries are put together from texts of these rooms

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import duckdb

from tidegauge.analysis.making.engine import CAUSES, TraceRelations, in_making_order, sql_of
from tidegauge.analysis.requests import FoundRun
from tidegauge.analysis.tables.dialect import DUCKDB, for_duckdb
from tidegauge.analysis.tables.result_table import ResultTable
from tidegauge.analysis.tables.topology import TOPOLOGY, Topology, ends_us_of

_PART = "part-0.parquet"


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
    """Makes tables in memory."""

    def __init__(
        self,
        reads: Callable[[Sequence[FoundRun], Mapping[str, int]], TraceRelations] = TraceRelations,
    ) -> None:
        """Take the source of rows of runs that end at given times."""
        self._reads = reads

    def write(
        self,
        runs: Sequence[FoundRun],
        tables: Sequence[ResultTable],
        files: Callable[[FoundRun, ResultTable], Path],
        begins: Callable[[str], None],
    ) -> None:
        """Make tables of runs, as :meth:`Engine.write`."""
        with closing(connected()) as database:
            known = Topology(runs)
            rows = self._reads(runs, ends_us_of(known))
            making = _Making(database, known, rows)
            by_name = {table.name: table for table in tables}
            for name in in_making_order(by_name):
                if name in by_name:
                    begins(name)
                making.make(name)
                if name in by_name:
                    for run in runs:
                        _write(database, by_name[name], run, files(run, by_name[name]))


class _Making:
    """Relations in a database, made one by one."""

    def __init__(
        self,
        database: duckdb.DuckDBPyConnection,
        known: Topology,
        rows: TraceRelations,
    ) -> None:
        self._database = database
        self._topology = known
        self._rows = rows

    def make(self, name: str) -> None:
        """Make a relation of which all that it needs is there."""
        sql = sql_of(name)
        if name in TOPOLOGY:
            self._database.register(name, self._topology[name])
        elif name == CAUSES:
            self._database.register(name, self._rows.causes())
        elif sql is None:
            self._make_kind(name)
        else:
            self._database.execute(f"create temp table {name} as {for_duckdb(sql)}")

    def _make_kind(self, name: str) -> None:
        parts = []
        for place, (run, rows) in enumerate(self._rows.rows(name)):
            self._database.register(f"{name}_{place}", rows)
            parts.append(f"select {quoted(run)} as run, * from {name}_{place}")
        self._database.execute(f"create temp view {name} as {' union all '.join(parts)}")


def _write(
    database: duckdb.DuckDBPyConnection, table: ResultTable, run: FoundRun, folder: Path
) -> None:
    folder.mkdir(parents=True)
    database.execute(
        f"copy (select * exclude (run) from {table.name} where run = {quoted(run.name)}"
        f" order by {', '.join(table.order)})"
        f" to {quoted(str(folder / _PART))} (format parquet)"
    )
