"""An engine makes result tables of runs: the interface, and the order of a table's sources.

The rows of runs, and the origins of rows, as Arrow tables.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types

from tidegauge.analysis.attribution import arrow_of_causes
from tidegauge.analysis.requests import KINDS, FoundRun
from tidegauge.analysis.tables.all_tables import TABLES, VIEWS
from tidegauge.analysis.tables.result_table import ResultTable, read_by
from tidegauge.analysis.tables.topology import TOPOLOGY
from tidegauge.traces.run_folder import RunFolder
from tidegauge.traces.trace_file import ROW_COLUMNS, Table

#: The origins of rows, which no query can follow (``analysis/attribution.py``).
CAUSES = "causes"


class Engine(Protocol):
    """Makes result tables."""

    def write(
        self,
        runs: Sequence[FoundRun],
        tables: Sequence[ResultTable],
        files: Callable[[FoundRun, ResultTable], Path],
        begins: Callable[[str], None],
    ) -> None:
        """Make tables of runs together.

        Args:
            runs: the runs.
            tables: the tables.
            files: the folder, to be made, of the Parquet files of a run's table, without ``run``.
            begins: called with the name of each table as its making begins.

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

#: The columns of every row that tables use.
_OF_ALL = ("time_us", "process", "sequence", "minor")


class TraceRelations:
    """The rows of some runs, read kind by kind when they are asked for."""

    def __init__(self, runs: Sequence[FoundRun], ends_us: Mapping[str, int]) -> None:
        """Take the runs, and the end of each by its name.

        Raises:
            RunError: a folder is not that of a run.
        """
        self._runs = [(run, RunFolder(run.folder)) for run in runs]
        self._ends_us = ends_us

    def rows(self, name: str) -> list[tuple[str, Any]]:
        """The rows of a relation of rows, of each run by its name; a column it lacks is null.

        Args:
            name: the name of a kind, or that with :data:`TO_THE_LAST`.

        Raises:
            TraceError: a trace file is damaged.
        """
        kind, has_all = name.removesuffix(TO_THE_LAST), name.endswith(TO_THE_LAST)
        return [
            (
                run.name,
                _arrow(folder.table(kind), kind, None if has_all else self._ends_us[run.name]),
            )
            for run, folder in self._runs
        ]

    def causes(self) -> Any:
        """The origins of rows of all runs.

        Raises:
            TraceError: a trace file is damaged.
        """
        return pa.concat_tables([arrow_of_causes(run) for run, _ in self._runs])


def _arrow(table: Table, kind: str, until_us: int | None) -> Any:
    columns = [*_OF_ALL, *(each for each in KINDS[kind].columns if each not in ROW_COLUMNS)]
    times_us = table["time_us"] if table else np.zeros(0, np.int64)
    # Rows are in their order, so that all before a time are a slice, which copies nothing.
    rows = len(times_us) if until_us is None else int(np.searchsorted(times_us, until_us))
    arrays = [
        pa.array(table[name][:rows], pa.int64()) if name in table else pa.nulls(rows, pa.int64())
        for name in columns
    ]
    return pa.table(arrays, names=columns)
