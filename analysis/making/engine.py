"""An engine makes result tables of runs: the interface, and the order of what a table needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Protocol

from tidegauge.analysis.making.trace_relations import TO_THE_LAST
from tidegauge.analysis.requests import KINDS
from tidegauge.analysis.run_paths import FoundRun
from tidegauge.analysis.tables.all_tables import TABLES, VIEWS
from tidegauge.analysis.tables.result_table import ResultTable, read_by
from tidegauge.analysis.tables.topology import TOPOLOGY

#: The origins of rows, which no query can follow (``analysis/cause_table.py``).
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
    """Whether a name is that of a relation: a query has names of its own, too."""
    kind = name.removesuffix(TO_THE_LAST)
    return name in TABLES or name in VIEWS or name in TOPOLOGY or name == CAUSES or (kind in KINDS)


def in_making_order(names: Iterable[str]) -> Iterator[str]:
    """Relations, each after all those that it needs.

    Raises:
        CycleError: two queries need each other; a name within one may be that of a relation.
    """
    yield from TopologicalSorter(graph_of(names)).static_order()


def graph_of(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Relations and all that they need, each with what its own query reads."""
    graph: dict[str, tuple[str, ...]] = {}
    open_names = list(names)
    while open_names:
        name = open_names.pop()
        if name not in graph:
            graph[name] = needed_by(name)
            open_names += graph[name]
    return graph
