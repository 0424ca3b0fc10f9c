"""Result tables of rows that come in any order: shuffled, to any number of threads, ties at random.

An engine may take the rows of a relation in any order, and rows of a window that are equal in its
order, too. With few rows DuckDB seldom does; here it has to.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from query_trees import Node, arguments_of, asked_of, nodes_within, parsed, tree_of
from recorded_tables import rows_in_files
from tidegauge.analysis.making.engine import TraceRelations
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.requests import FoundRun
from tidegauge.analysis.tables.all_tables import TABLES
from total_orders import OF_EXTREME, is_same_for_equals


class ShuffledRelations(TraceRelations):
    """The rows of runs, and the origins of rows, in an order that a seed draws."""

    def __init__(self, runs: Sequence[FoundRun], seed: int) -> None:
        """Take the runs, and the seed."""
        super().__init__(runs)
        self._draw = np.random.default_rng(seed)

    def __getitem__(self, name: str) -> Any:
        rows = super().__getitem__(name)
        return rows.take(self._draw.permutation(len(rows)))


def with_ties_at(drawn: str, sql: str) -> str:
    """A query for DuckDB in which a function decides on ties of windows and aggregates.

    Args:
        drawn: the name of a function of one number.
        sql: the query in the dialect of tables; its result is the same if no tie matters to it.
    """
    statement = parsed(sql)
    for each in nodes_within(statement, lambda node: "function_name" in node, in_queries=True):
        if each["class"] == "WINDOW" and each["orders"] and not is_same_for_equals(each):
            each["orders"].append(_drawn(drawn, each["orders"][0]["expression"]))
        elif each["function_name"] in OF_EXTREME:
            by = each["order_bys"]["orders"]
            by.append(_drawn(drawn, arguments_of(each)[1]))
    return asked_of("select json_deserialize_sql(?::json)", json.dumps(statement))


def _drawn(function: str, value: Node) -> Node:
    """The last part of an order: a function of a value."""
    (called,) = tree_of(parsed(f"select {function}(hash(a))"))["select_list"]
    arguments_of(called)[0]["arguments"][0]["expression"] = value
    return {"type": "ORDER_DEFAULT", "null_order": "ORDER_DEFAULT", "expression": called}


def unlike(one: RunTables, other: RunTables, names: Iterable[str] = TABLES) -> list[str]:
    """The tables of which any run has other rows, or the same in another order."""
    return [
        name
        for name in names
        if any(
            rows_in_files(one.folder, run, name) != rows_in_files(other.folder, run, name)
            for run in other.runs
        )
    ]
