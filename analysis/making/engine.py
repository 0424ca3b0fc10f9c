"""An engine makes result tables of runs: the interface, and the order of a table's sources.

The relations of runs that all tables are made of, as Arrow tables: rows, the origins of rows, and
the objects behind numbers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # the same

from tidegauge.analysis.attribution import arrow_of_causes
from tidegauge.analysis.requests import KINDS, FoundRun
from tidegauge.analysis.rows.exported_rows import ExportedRows, rows_in
from tidegauge.analysis.rows.row_schema import CAUSES
from tidegauge.analysis.tables.all_tables import TABLES, VIEWS
from tidegauge.analysis.tables.dialect import ORDER
from tidegauge.analysis.tables.result_table import ResultTable, read_by
from tidegauge.analysis.tables.topology import TOPOLOGY, Topology, ends_us_of
from tidegauge.traces.run_folder import RunFolder
from tidegauge.traces.trace_file import ROW_COLUMNS, Table


class Engine(Protocol):
    """Makes result tables."""

    def write(
        self,
        runs: Sequence[FoundRun],
        tables: Sequence[ResultTable],
        folder: Path,
        begins: Callable[[str], None],
    ) -> list[list[FoundRun]]:
        """Make tables of runs together.

        Args:
            runs: the runs.
            tables: the tables.
            folder: the files go there, each with all rows of some runs in the order of ``run`` and
                that of the table, named by ``part_file`` (``grouped_files.py``).
            begins: called with the name of each table as its making begins.

        Returns:
            The runs of part 0, those of part 1, ... of every table.

        Raises:
            RunError, ScenarioError, TraceError, OSError: a run cannot be read, or no file written.
        """
        ...


def sql_of(name: str) -> str | None:
    """The query of a table or a view; None: the relation is one of the runs themselves."""
    if name in TABLES:
        return TABLES[name].documented
    return VIEWS[name].sql if name in VIEWS else None


@cache
def needed_by(name: str) -> tuple[str, ...]:
    """The relations that the query of a table or a view reads, in any order."""
    return tuple(each for each in sorted(read_by(sql_of(name) or "")) if is_relation(each))


def is_relation(name: str) -> bool:
    """Whether a name is that of a relation: a query has names of its own."""
    kind = name.removesuffix(TO_THE_LAST)
    return name in TABLES or name in VIEWS or name in TOPOLOGY or name == CAUSES or (kind in KINDS)


def in_making_order(names: Iterable[str]) -> Iterator[str]:
    """Relations, each after all those that it needs.

    Raises:
        CycleError: two queries need each other; a name within one may be that of a relation.
    """
    yield from TopologicalSorter(graph_of(names)).static_order()


def graph_of(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Relations and all that they need, each with the sources of its own query."""
    graph: dict[str, tuple[str, ...]] = {}
    open_names = list(names)
    while open_names:
        name = open_names.pop()
        if name not in graph:
            graph[name] = needed_by(name)
            open_names += graph[name]
    return graph


#: Ends the name of the relation of a kind with the rows of the liveness phase.
TO_THE_LAST = "_to_the_last"


class RelationsOfRuns(Protocol):
    """The relations of some runs that no query makes, each by its name as an Arrow table."""

    def __getitem__(self, name: str) -> Any:
        """A relation of all runs."""
        ...


class TraceRelations:
    """The relations of some runs that no query makes, read from their folders one by one."""

    def __init__(self, runs: Sequence[FoundRun]) -> None:
        """Take the runs.

        Raises:
            RunError: a folder is not that of a run.
            TraceError: a trace file is damaged.
        """
        self._runs = [(run, RunFolder(run.folder)) for run in runs]
        self._topology = Topology(runs)
        self._ends_us = ends_us_of(self._topology)

    def __getitem__(self, name: str) -> Any:
        """A relation of all runs.

        Raises:
            ScenarioError: this Tidegauge cannot read the scenario of a manifest.
            TraceError: a trace file is damaged.
        """
        if name in TOPOLOGY:
            return self._topology[name]
        if name == CAUSES:
            return pa.concat_tables([arrow_of_causes(run) for run, _ in self._runs])
        return self.rows(name)

    def rows(self, name: str) -> Any:
        """The rows of a kind, each run's in their order; a column that a run lacks is null.

        Args:
            name: the name of a kind, or that with :data:`TO_THE_LAST`.

        Raises:
            TraceError: a trace file is damaged.
        """
        kind, has_all = name.removesuffix(TO_THE_LAST), name.endswith(TO_THE_LAST)
        tables = []
        for run, folder in self._runs:
            ends_us = None if has_all else self._ends_us[run.name]
            rows = _arrow(folder.table(kind), kind, ends_us)
            tables.append(rows.add_column(0, "run", _repeated(run.name, len(rows))))
        return pa.concat_tables(tables)


class ExportedRelations:
    """The same of rows that were exported: nothing is read from the folders of the runs."""

    def __init__(self, rows: ExportedRows, runs: Sequence[FoundRun]) -> None:
        """Take the rows, and the runs among theirs."""
        self._rows = rows
        self._runs = runs

    def __getitem__(self, name: str) -> Any:
        """A relation of all runs.

        Raises:
            RowsError: the relation was not exported.
            OSError: a file cannot be read.
        """
        kind = name.removesuffix(TO_THE_LAST)
        rows = rows_in(self._rows.files_of(kind, self._runs), kind)
        if kind not in KINDS:
            return rows
        within = rows if name.endswith(TO_THE_LAST) else rows.filter(~pc.field("liveness"))
        return within.drop_columns(["liveness"])


def _repeated(name: str, rows: int) -> Any:
    """A column with the same name in each row, which takes no memory for its text."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), [name])


def _arrow(table: Table, kind: str, until_us: int | None) -> Any:
    columns = [*ORDER, *(each for each in KINDS[kind].columns if each not in ROW_COLUMNS)]
    times_us = table["time_us"] if table else np.zeros(0, np.int64)
    # Rows are in their order, so that all before a time are a slice, which copies nothing.
    rows = len(times_us) if until_us is None else int(np.searchsorted(times_us, until_us))
    arrays = [
        pa.array(table[name][:rows], pa.int64()) if name in table else pa.nulls(rows, pa.int64())
        for name in columns
    ]
    return pa.table(arrays, names=columns)
