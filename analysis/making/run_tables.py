"""The result tables of some runs for questions and reports: made when needed, asked in SQL."""

# ruff: noqa: S608 - queries are put together from texts of these rooms

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types

from tidegauge.analysis.making.duckdb_engine import DuckDBEngine, connected, quoted
from tidegauge.analysis.making.engine import Engine
from tidegauge.analysis.making.grouped_files import FileOfRuns, files_of, groups_in
from tidegauge.analysis.making.written_tables import made_of, write_tables
from tidegauge.analysis.requests import FoundRun, Paths, QueryError, runs_at
from tidegauge.analysis.tables.all_tables import TABLES, catalogue, no_table
from tidegauge.analysis.tables.dialect import for_duckdb
from tidegauge.analysis.tables.result_table import read_by
from tidegauge.scenario.text.errors import one_line

#: The relation of where the figures of each run end, as in ``tables/topology.py``.
_RUNS = "runs"


_READS = (
    duckdb.StatementType.SELECT,
    duckdb.StatementType.EXPLAIN,
    duckdb.StatementType.COPY,
    duckdb.StatementType.MULTI,
)
_ONE = "a query has to be one statement,"
_READS_ONLY = "a query reads tables; only copy (select ...) to 'FILE' writes"
#: Errors of DuckDB about a query, and not about the machine.
_OF_QUERIES = (duckdb.ProgrammingError, duckdb.DataError, duckdb.NotSupportedError)
_NO_TABLE = re.compile(r"Table with name (\S+) does not exist")


def _reason(error: duckdb.Error) -> str:
    """The reason why a query is wrong, in one line and in our own tables."""
    missing = _NO_TABLE.search(str(error))
    if missing is not None:
        return no_table(missing[1])
    return " ".join(str(error).partition("\n\nLINE ")[0].split())


class RunTables:
    """The result tables of some runs, in a folder; and ``runs``, as tables are made of them."""

    def __init__(self, runs: Paths, folder: Path, engine: Engine | None = None) -> None:
        """Find the runs; no table is made yet.

        Args:
            runs: folders of runs, or patterns of such folders.
            folder: the folder of the tables; executors of a cluster must see it, too.
            engine: makes missing tables; None: DuckDB, in this process.

        Raises:
            RunError: a folder is not that of a run, or a pattern matches none.
        """
        self.folder = folder.absolute()
        self.runs = runs_at(runs)
        self._engine = engine or DuckDBEngine()
        self._made_of = made_of(self.runs)
        self._database = connected()
        self._known: set[str] = set()

    def make(self, names: Iterable[str], begins: Callable[[str], None] = lambda _: None) -> None:
        """Make the missing ones of these tables, which is faster together than one by one.

        Args:
            names: the names of the tables.
            begins: called with the name of each missing table as its making begins.

        Raises:
            KeyError, RunError, ScenarioError, OSError: as :func:`write_tables`.
        """
        write_tables(self._engine, self._made_of, self.folder, names, begins)

    def of(self, run: FoundRun) -> RunTables:
        """The tables of one of these runs, of its trace as it was when they were begun."""
        one = RunTables([run], self.folder, self._engine)
        one._made_of = {run: self._made_of[run]}
        return one

    def add(self, name: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
        """Have a small relation beside the tables, for queries that compare with it.

        Args:
            name: its name in queries.
            columns: their names and types, as ``create table`` takes them.
            rows: its rows.
        """
        self._database.execute(f"create or replace table {name} ({for_duckdb(columns)})")
        if rows:
            places = ", ".join("?" * len(rows[0]))
            self._database.executemany(f"insert into {name} values ({places})", rows)

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """The rows that a query finds in tables, which are made if they are missing.

        Raises:
            KeyError, RunError, ScenarioError, OSError: as :meth:`make`.
        """
        found: list[dict[str, Any]] = self.arrow(sql).to_pylist()
        return found

    def arrow(self, sql: str) -> Any:
        """The same as an Arrow table.

        ``show tables`` lists the tables and their meanings, ``describe TABLE`` its columns.

        Raises:
            QueryError: the query is wrong, is not one statement, or changes tables.
        """
        listed = catalogue(sql)
        if listed is not None:
            return pa.Table.from_pylist(listed)
        text = for_duckdb(sql)
        try:
            statements = self._database.extract_statements(text)
            if len(statements) != 1:
                raise QueryError(one_line(f"{sql.strip()}: {_ONE} and has {len(statements)}"))
            if statements[0].type not in _READS:
                kind = statements[0].type.name.lower()
                raise QueryError(one_line(f"{sql.strip()}: {kind}: {_READS_ONLY}"))
            self._have(self._read_by(text))
            return _of_64_bits(self._database.sql(text).to_arrow_table())
        except duckdb.Error as error:
            if isinstance(error, _OF_QUERIES):
                raise QueryError(one_line(f"{sql.strip()}: {_reason(error)}")) from error
            raise

    def _read_by(self, sql: str) -> set[str]:
        """The names that a query of DuckDB reads from."""
        try:
            return {name.lower() for name in self._database.get_table_names(sql)}
        except duckdb.Error:
            # It cannot be bound before its tables are there, such as with `using` and `pivot`.
            return read_by(sql.lower()) or set(re.findall(r"\w+", sql.lower()))

    def _have(self, names: Iterable[str]) -> None:
        if _RUNS in names and _RUNS not in self._known:
            run_names = pa.array([run.name for run in self.runs])
            ends_us = pa.array([run.end_us() for run in self.runs], pa.int64())
            self._database.register(_RUNS, pa.table([run_names, ends_us], ["run", "ends_us"]))
            self._known.add(_RUNS)
        missing = [name for name in TABLES if name in names and name not in self._known]
        if not missing:
            return
        self.make(missing)
        inputs = {run.name: of_run for run, of_run in self._made_of.items()}
        groups = groups_in(self.folder)
        for name in missing:
            self._add_table(name, files_of(self.folder, groups, name, inputs))
            self._known.add(name)

    def _add_table(self, name: str, files: Sequence[FileOfRuns]) -> None:
        """Have a view of a table; other runs in its files are left out."""
        columns = ", ".join(column.name for column in TABLES[name].columns)
        whole = [each.file for each in files if not each.has_others]
        parts = [_read(whole)] if whole else []
        for each in files:
            if each.has_others:
                wanted = ", ".join(quoted(run) for run in each.runs)
                parts.append(f"{_read([each.file])} where run in ({wanted})")
        made = " union all ".join(f"select {columns} from {part}" for part in parts)
        self._database.execute(f"create view {name} as {made}")


def _read(files: Sequence[Path]) -> str:
    """The relation of some files, of which no folder's name is a column."""
    listed = ", ".join(quoted(str(file)) for file in files)
    return f"read_parquet([{listed}], hive_partitioning = false)"


def _of_64_bits(table: Any) -> Any:
    """A table whose sums are bigints, as Spark's are: DuckDB adds up in 128 bits."""
    fields = [
        field.with_type(pa.int64()) if pa.types.is_decimal(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))
