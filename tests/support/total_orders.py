"""The places of a query whose result depends on the order in which rows happen to come.

DuckDB parses queries and hands out the tree (``json_serialize_sql``). A window whose order has
ties, an aggregate such as ``min_by`` of equal values, a limit, the rows of an answer: each varies,
unless the columns that order it, with those of its partition or group, fix one row.

The columns that fix a row are declared for tables and views (``key``), and for rows of traces and
the objects behind their numbers (:func:`declared_keys`). From these follow those of a query within
another one: ``group by`` and ``distinct`` fix a row by their columns, and the handle fixes one of
rows of several kinds that are put together. Of a join a row of either side must be fixed; columns
that are equal by its condition count for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from query_trees import (
    Column,
    Node,
    all_columns,
    arguments_of,
    bare,
    columns_behind,
    columns_of,
    expressions_of,
    first_of,
    name_of,
    nodes_within,
    ordered_by,
    parsed,
    put_together,
    relations_of,
    subqueries_of,
    tables_of,
    text_of,
    tree_of,
)
from tidegauge.analysis.making.engine import TO_THE_LAST
from tidegauge.analysis.requests import CANONICAL, KINDS
from tidegauge.analysis.rows.row_schema import CAUSES
from tidegauge.analysis.tables.all_tables import TABLES, VIEWS
from tidegauge.analysis.tables.result_table import ResultTable, View

#: Columns of a relation of which no two rows have the same values; there can be several such keys.
Keys = Mapping[str, Sequence[set[str]]]

#: Aggregates that equal rows, and the order of rows, do not change.
_WHATEVER_ORDER = {
    *("sum", "count", "count_star", "count_if", "min", "max", "bool_or", "bool_and", "avg"),
    *("percentile_disc", "quantile_disc", "median", "sorted_set"),
}
#: Windows that give equals the same.
_RANKS = {"rank", "dense_rank", "percent_rank", "cume_dist"}
#: Aggregates of the row with the least or greatest value, of all rows in their order, of any row.
OF_EXTREME = {"min_by", "max_by", "arg_min", "arg_max"}
_OF_ALL = {"list", "array_agg", "string_agg", "group_concat", "listagg"}
_OF_ANY = {"any_value", "first", "last", "arbitrary", "mode"}
#: The keys of the objects behind numbers (``tables/topology.py``), beside their runs.
OBJECTS: Mapping[str, Sequence[tuple[str, ...]]] = {
    "runs": [()],
    "brokers": [("broker",), ("broker_id",)],
    "notification_rules": [("broker",)],
    "partitions": [("partition",)],
    "slots": [("partition", "slot"), ("partition", "broker"), ("partition", "broker_id")],
    "scenario_faults": [("fault",)],
    "processes": [("process",)],
    "client_processes": [("process",)],
    "scenario_steps": [("step",)],
    "names": [("enumeration", "number")],
    "notification_znodes": [()],
}
#: The handle of a row of the trace: rows of two kinds never have the same one.
_HANDLE = {"process", "sequence"}


def declared_keys() -> dict[str, list[set[str]]]:
    """The keys of all relations of result tables: of any of them no two rows have equal values."""
    made: list[ResultTable | View] = [*TABLES.values(), *VIEWS.values()]
    keys = {each.name: [{*each.key}] for each in made if each.key}
    for name, (key, *_) in keys.items():
        if key >= _HANDLE:
            keys[name] = [key - {"time_us"}]
    for kind in KINDS:
        handle = {"run", *_HANDLE} | (set() if kind in CANONICAL else {"minor"})
        keys[kind] = keys[kind + TO_THE_LAST] = [handle]
    keys[CAUSES] = [{"run", *_HANDLE, "effect"}]
    return keys | {name: [{"run", *own} for own in its] for name, its in OBJECTS.items()}


def doubles() -> set[str]:
    """The columns of tables that are no whole numbers."""
    return {
        each.name for table in TABLES.values() for each in table.columns if each.type == "double"
    }


def varying(sql: str, keys: Keys, doubles: Iterable[str] = ()) -> list[str]:
    """The windows, aggregates and limits of a query that depend on the order of rows.

    Args:
        sql: the query.
        keys: of the relations that it reads.
        doubles: names of columns that are no whole numbers: their sums depend on the order.
    """
    return [*_Query(keys, frozenset(doubles), {}).varying(tree_of(parsed(sql)))]


def has_order(sql: str, keys: Keys, *, of_one_run: bool = False) -> bool:
    """Whether the rows of an answer have but one order; rows of one run have the same ``run``."""
    alike = {("", "run")} if of_one_run else set()
    return _Query(keys, frozenset(), {}).has_order(tree_of(parsed(sql)), alike)


class _Query:
    """A query whose ``with`` clauses, and those around it, are known."""

    def __init__(self, keys: Keys, doubles: frozenset[str], within: Mapping[str, _Named]) -> None:
        self._keys = keys
        self._doubles = doubles
        self._within = within

    def inside(self, node: Node) -> _Query:
        """The same with the ``with`` clauses of a node."""
        within = dict(self._within)
        for each in node.get("cte_map", {}).get("map", ()):
            asked = _Query(self._keys, self._doubles, dict(within))
            within[each["key"]] = _Named(asked, each["value"]["query_node"])
        return _Query(self._keys, self._doubles, within)

    def own(self, around: _Query) -> list[_Named]:
        """The ``with`` clauses that a query around this one lacks."""
        return [self._within[name] for name in self._within.keys() - around._within.keys()]

    def varying(self, node: Node) -> Iterator[str]:
        """What depends on the order of rows in a query and in all queries within it."""
        asked = self.inside(node)
        for named in asked.own(self):
            yield from named.asked.varying(named.node)
        is_cut = any(each["type"] == "LIMIT_MODIFIER" for each in node.get("modifiers", ()))
        if is_cut and not self.has_order(node, set()):
            yield "limit"
        for inner in node.get("children", ()):
            yield from asked.varying(inner)
        for expression in expressions_of(node, "WINDOW", "FUNCTION"):
            if asked.is_varying(node, expression):
                yield text_of(expression)
        for inner in subqueries_of(node):
            yield from asked.varying(inner)

    def has_order(self, node: Node, alike: set[Column]) -> bool:
        """Whether the rows of a query come in an order without ties."""
        asked = self.inside(node)
        if node["type"] == "SELECT_NODE" and _is_one_row(node):
            return True
        orders = [
            order["expression"]
            for each in node.get("modifiers", ())
            if each["type"] == "ORDER_MODIFIER"
            for order in each["orders"]
        ]
        if any(each["class"] == "STAR" for each in orders):
            return True
        source = node.get("from_table", {})
        if not orders and source.get("type") == "SUBQUERY":
            # DuckDB keeps the order of rows where a query around another one selects columns.
            return asked.has_order(source["subquery"]["node"], alike)
        columns = {column for each in orders for column in columns_of(each)} | alike
        names = {name for _, name in columns}
        outputs = {name_of(each) for each in first_of(node)["select_list"]}
        # Rows that are equal in all columns cannot be told apart.
        return outputs <= names or self.fixes(node, names, columns)

    def is_varying(self, node: Node, expression: Node) -> bool:
        """Whether a window or an aggregate of a query gives equal rows unlike values."""
        name, arguments = expression["function_name"], arguments_of(expression)
        if expression["class"] == "WINDOW":
            by = expression.get("partitions", []) + ordered_by(expression["orders"])
            return not is_same_for_equals(expression) and not self._picks(node, by)
        groups = node.get("group_expressions", [])
        by = all_columns(ordered_by(expression["order_bys"].get("orders", [])))
        if name in _OF_ALL or (name in {"sum", "avg"} and self._is_double(arguments[0], node)):
            if name in _OF_ALL and expression["distinct"]:
                return not {*columns_of(arguments[0])} & {*by}
            return not by or not self._fixed_by(node, {*all_columns(groups), *by})
        if name in OF_EXTREME:
            value, least = {*columns_of(arguments[0])}, {*columns_of(arguments[1])}
            return not (value and value <= least) and not self._fixed_by(
                node, {*all_columns(groups), *least}
            )
        return name in _OF_ANY

    def _is_double(self, argument: Node, node: Node) -> bool:
        """Whether a value is no whole number: by a division, or by the columns that it is of."""
        names = {name for _, name in _mentioned(argument)}
        named = nodes_within(node, lambda each: bool(each.get("alias")), in_queries=True)
        here = {each["alias"] for each in named if _divides(each)}
        return _divides(argument) or bool(names & (self._doubles | here))

    def _picks(self, node: Node, by: Iterable[Node]) -> bool:
        """Whether values fix a row that windows of a query see: those of groups, if it has any."""
        columns = {*all_columns(by)}
        if node.get("group_expressions"):
            return self._has_groups(node, {name for _, name in columns}, columns)
        return self._fixed_by(node, columns)

    def fixes(self, node: Node, names: set[str], more: Iterable[Column] = ()) -> bool:
        """Whether at most one row of a query has given values in the columns of these names.

        ``more`` are columns of what it reads from.
        """
        return self.inside(node).fixes_here(node, names, more)

    def fixes_here(self, node: Node, names: set[str], more: Iterable[Column]) -> bool:
        """The same, by the ``with`` clauses that are known here."""
        if node["type"] == "SET_OPERATION_NODE":
            return self._fixes_one_of(node, names)
        if node["type"] != "SELECT_NODE" or _is_one_row(node):
            return bool(node["type"] == "SELECT_NODE")
        items = node["select_list"]
        if nodes_within(items, lambda each: each.get("function_name") == "unnest"):
            return False
        columns = {
            *more,
            *(column for each in items for column in columns_behind(each, names, items)),
        }
        if node.get("group_expressions"):
            return self._has_groups(node, names, columns)
        if any(each["type"] == "DISTINCT_MODIFIER" for each in node.get("modifiers", ())):
            outputs = [name_of(each) for each in items]
            return {*outputs} <= names or self._fixed_by(node, columns)
        return self._fixed_by(node, columns)

    def _has_groups(self, node: Node, names: set[str], columns: set[Column]) -> bool:
        """Whether all that a query groups by is among outputs of these names, or these columns."""
        known = self._closed(node, columns)[0]
        made = [bare(each) for each in node["select_list"] if name_of(each) in names]
        return all(
            bare(each) in made
            or any(
                _is_in((of, name), known) or (not of and name in names)
                for of, name in columns_of(each)
            )
            for each in node["group_expressions"]
        )

    def _fixes_one_of(self, node: Node, names: set[str]) -> bool:
        """Whether names fix a row of queries put together: in each, and no two have it both."""
        children = [*put_together(node)]
        outputs = [[name_of(item) for item in first_of(child)["select_list"]] for child in children]
        if not node["setop_all"] and {*outputs[0]} <= names:
            return True
        places = [place for place, name in enumerate(outputs[0]) if name in names]
        of_each = [{own[place] for place in places if own[place]} for own in outputs]
        kinds = [{*tables_of(child)} for child in children]
        return (
            names >= _HANDLE
            and not any(one & other for one, other in combinations(kinds, 2))
            and all(self.fixes(child, own) for child, own in zip(children, of_each, strict=True))
        )

    def _fixed_by(self, node: Node, columns: set[Column]) -> bool:
        return self._closed(node, columns)[1]

    def _closed(self, node: Node, columns: set[Column]) -> tuple[set[Column], bool]:
        """All columns that are fixed with these, and whether a row of each relation is."""
        leaves, equal, constant = relations_of(node)
        known, is_fixed = columns | constant, dict.fromkeys(leaves, False)
        while True:
            before = len(known), sum(is_fixed.values())
            known |= {to for of, to in equal if _is_in(of, known) or is_fixed.get(of[0])}
            for alias, leaf in leaves.items():
                names = {name for of, name in known if of in {alias, ""}}
                is_fixed[alias] = is_fixed[alias] or self._fixes_leaf(leaf, names)
            if before == (len(known), sum(is_fixed.values())):
                return known, all(is_fixed.values())

    def _fixes_leaf(self, leaf: Node, names: set[str]) -> bool:
        if leaf["type"] == "SUBQUERY":
            return self.fixes(leaf["subquery"]["node"], names)
        name = leaf.get("table_name", "")
        if name in self._within:
            named = self._within[name]
            return named.asked.fixes(named.node, names)
        return any(key <= names for key in self._keys.get(name, ()))


class _Named(NamedTuple):
    """A query of a ``with`` clause, and those that it may name."""

    asked: _Query
    node: Node


def _is_in(column: Column, known: set[Column]) -> bool:
    return column in known or ("", column[1]) in known


def _is_one_row(node: Node) -> bool:
    """Whether a query has one row: it aggregates all rows, or reads none."""
    if node.get("group_expressions"):
        return False
    aggregates = _WHATEVER_ORDER | OF_EXTREME | _OF_ALL | _OF_ANY
    return (node.get("from_table") or {"type": "EMPTY"})["type"] == "EMPTY" or any(
        each["function_name"] in aggregates for each in expressions_of(node, "FUNCTION")
    )


def is_same_for_equals(window: Node) -> bool:
    """Whether a window gives rows that are equal in its order the same, whichever comes first."""
    name, ends = window["function_name"], (window["start"], window["end"])
    by_value = all(end.startswith("UNBOUNDED") or end.endswith("RANGE") for end in ends)
    return name in _RANKS or (name in _WHATEVER_ORDER and by_value)


def _mentioned(expression: Node) -> list[Column]:
    found = nodes_within(expression, lambda n: n.get("class") == "COLUMN_REF")
    return [("", each["column_names"][-1]) for each in found]


def _divides(expression: Node) -> bool:
    return bool(nodes_within(expression, lambda n: n.get("function_name") == "/"))
