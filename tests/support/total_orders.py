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

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import duckdb

from tidegauge.analysis.making.duckdb_engine import connected
from tidegauge.analysis.making.engine import CAUSES
from tidegauge.analysis.making.trace_relations import TO_THE_LAST
from tidegauge.analysis.requests import CANONICAL, KINDS
from tidegauge.analysis.tables.all_tables import TABLES, VIEWS
from tidegauge.analysis.tables.dialect import for_duckdb

Node = dict[str, Any]
#: A column by the alias of its relation, which is empty where the query leaves it out.
Column = tuple[str, str]
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
_OF_EXTREME = {"min_by", "max_by", "arg_min", "arg_max"}
_OF_ALL = {"list", "array_agg", "string_agg", "group_concat", "listagg"}
_OF_ANY = {"any_value", "first", "last", "arbitrary", "mode"}
#: Functions of several values whose result is another one wherever any of these is.
_TUPLES = {"place", "row"}
#: The keys of the objects behind numbers (``tables/topology.py``), beside their runs.
OBJECTS: Mapping[str, Sequence[tuple[str, ...]]] = {
    "runs": [()],
    "brokers": [("broker",), ("broker_id",)],
    "notification_rules": [("broker",)],
    "partitions": [("partition",)],
    "slots": [("partition", "slot"), ("partition", "broker"), ("partition", "broker_id")],
    "scenario_faults": [("fault",)],
    "processes": [("process",)],
    "scenario_steps": [("step",)],
    "names": [("enumeration", "number")],
    "notification_znodes": [()],
}
#: The handle of a row of the trace: rows of two kinds never have the same one.
_HANDLE = {"process", "sequence"}


def declared_keys() -> dict[str, list[set[str]]]:
    """The keys of all relations of result tables: of any of them no two rows have equal values."""
    made = {**TABLES, **VIEWS}
    keys = {name: [{*each.key}] for name, each in made.items() if each.key}
    for name, (key, *_) in keys.items():
        if key >= _HANDLE:
            keys[name] = [key - {"time_us"}]
    for kind in KINDS:
        handle = {"run", *_HANDLE} | (set() if kind in CANONICAL else {"minor"})
        keys[kind] = keys[kind + TO_THE_LAST] = [handle]
    keys[CAUSES] = [{"run", *_HANDLE}]
    return keys | {name: [{"run", *own} for own in its] for name, its in OBJECTS.items()}


def doubles() -> set[str]:
    """The columns of tables that are no whole numbers."""
    return {
        each.name for table in TABLES.values() for each in table.columns if each.type == "double"
    }


def parsed(sql: str) -> Node:
    """The statement that DuckDB reads in a query in the dialect of tables."""
    statement: Node = json.loads(_asked("select json_serialize_sql(?)", for_duckdb(sql)))
    assert not statement["error"], statement
    return statement


def _asked(query: str, value: str) -> str:
    ((text,),) = _database().execute(query, [value]).fetchall()
    return str(text)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return connected()


def with_ties_at(drawn: str, sql: str) -> str:
    """A query for DuckDB in which a function decides on ties of windows and aggregates.

    Args:
        drawn: the name of a function of one number.
        sql: the query in the dialect of tables; its result is the same if no tie matters to it.
    """
    statement = parsed(sql)
    for each in _within(statement, lambda node: "function_name" in node, in_queries=True):
        if each["class"] == "WINDOW" and each["orders"] and not _is_same_for_equals(each):
            each["orders"].append(_drawn(drawn, each["orders"][0]["expression"]))
        elif each["function_name"] in _OF_EXTREME:
            by = each["order_bys"]["orders"]
            by.append(_drawn(drawn, _arguments(each)[1]))
    return _asked("select json_deserialize_sql(?::json)", json.dumps(statement))


def _drawn(function: str, value: Node) -> Node:
    """The last part of an order: a function of a value."""
    (called,) = _tree(parsed(f"select {function}(hash(a))"))["select_list"]
    _arguments(called)[0]["arguments"][0]["expression"] = value
    return {"type": "ORDER_DEFAULT", "null_order": "ORDER_DEFAULT", "expression": called}


def varying(sql: str, keys: Keys, doubles: Iterable[str] = ()) -> list[str]:
    """The windows, aggregates and limits of a query that depend on the order of rows.

    Args:
        sql: the query.
        keys: of the relations that it reads.
        doubles: names of columns that are no whole numbers: their sums depend on the order.
    """
    return [*_Query(keys, frozenset(doubles), {}).varying(_tree(parsed(sql)))]


def has_order(sql: str, keys: Keys, *, of_one_run: bool = False) -> bool:
    """Whether the rows of an answer have but one order; rows of one run have the same ``run``."""
    alike = {("", "run")} if of_one_run else set()
    return _Query(keys, frozenset(), {}).has_order(_tree(parsed(sql)), alike)


class _Relations(NamedTuple):
    """What a query reads from: its relations by their aliases, and what their columns equal."""

    leaves: dict[str, Node]
    equal: list[tuple[Column, Column]]
    constant: set[Column]


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
        for expression in _expressions(node, "WINDOW", "FUNCTION"):
            if asked.is_varying(node, expression):
                yield _text(expression)
        for inner in _subqueries(node):
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
        columns = {column for each in orders for column in _columns(each)} | alike
        names = {name for _, name in columns}
        outputs = {_name(each) for each in _first(node)["select_list"]}
        # Rows that are equal in all columns cannot be told apart.
        return outputs <= names or self.fixes(node, names, columns)

    def is_varying(self, node: Node, expression: Node) -> bool:
        """Whether a window or an aggregate of a query gives equal rows unlike values."""
        name, arguments = expression["function_name"], _arguments(expression)
        if expression["class"] == "WINDOW":
            by = expression.get("partitions", []) + _orders(expression["orders"])
            return not _is_same_for_equals(expression) and not self._picks(node, by)
        groups = node.get("group_expressions", [])
        by = _all(_orders(expression["order_bys"].get("orders", [])))
        if name in _OF_ALL or (name in {"sum", "avg"} and self._is_double(arguments[0], node)):
            if name in _OF_ALL and expression["distinct"]:
                return not {*_columns(arguments[0])} & {*by}
            return not by or not self._fixed_by(node, {*_all(groups), *by})
        if name in _OF_EXTREME:
            value, least = {*_columns(arguments[0])}, {*_columns(arguments[1])}
            return not (value and value <= least) and not self._fixed_by(
                node, {*_all(groups), *least}
            )
        return name in _OF_ANY

    def _is_double(self, argument: Node, node: Node) -> bool:
        """Whether a value is no whole number: by a division, or by the columns that it is of."""
        names = {name for _, name in _mentioned(argument)}
        named = _within(node, lambda each: bool(each.get("alias")), in_queries=True)
        here = {each["alias"] for each in named if _divides(each)}
        return _divides(argument) or bool(names & (self._doubles | here))

    def _picks(self, node: Node, by: Iterable[Node]) -> bool:
        """Whether values fix a row that windows of a query see: those of groups, if it has any."""
        columns = {*_all(by)}
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
            return node["type"] == "SELECT_NODE"
        items = node["select_list"]
        if _within(items, lambda each: each.get("function_name") == "unnest"):
            return False
        columns = {*more, *(column for each in items for column in _behind(each, names, items))}
        if node.get("group_expressions"):
            return self._has_groups(node, names, columns)
        if any(each["type"] == "DISTINCT_MODIFIER" for each in node.get("modifiers", ())):
            outputs = [_name(each) for each in items]
            return {*outputs} <= names or self._fixed_by(node, columns)
        return self._fixed_by(node, columns)

    def _has_groups(self, node: Node, names: set[str], columns: set[Column]) -> bool:
        """Whether all that a query groups by is among outputs of these names, or these columns."""
        known = self._closed(node, columns)[0]
        made = [_bare(each) for each in node["select_list"] if _name(each) in names]
        return all(
            _bare(each) in made
            or any(_is_in(column, known) or column[1] in names for column in _columns(each))
            for each in node["group_expressions"]
        )

    def _fixes_one_of(self, node: Node, names: set[str]) -> bool:
        """Whether names fix a row of queries put together: in each, and no two have it both."""
        children = [*_put_together(node)]
        outputs = [[_name(item) for item in _first(child)["select_list"]] for child in children]
        if not node["setop_all"] and {*outputs[0]} <= names:
            return True
        places = [place for place, name in enumerate(outputs[0]) if name in names]
        of_each = [{own[place] for place in places if own[place]} for own in outputs]
        kinds = [{*_tables(child)} for child in children]
        return (
            names >= _HANDLE
            and not any(one & other for one, other in combinations(kinds, 2))
            and all(self.fixes(child, own) for child, own in zip(children, of_each, strict=True))
        )

    def _fixed_by(self, node: Node, columns: set[Column]) -> bool:
        return self._closed(node, columns)[1]

    def _closed(self, node: Node, columns: set[Column]) -> tuple[set[Column], bool]:
        """All columns that are fixed with these, and whether a row of each relation is."""
        leaves, equal, constant = _relations(node)
        known, is_fixed = columns | constant, dict.fromkeys(leaves, False)
        while True:
            before = len(known), sum(is_fixed.values())
            for one, other in equal:
                if _is_in(one, known) or is_fixed.get(one[0]):
                    known.add(other)
                if _is_in(other, known) or is_fixed.get(other[0]):
                    known.add(one)
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


def _tree(statement: Node) -> Node:
    node: Node = statement["statements"][0]["node"]
    return node


def _is_in(column: Column, known: set[Column]) -> bool:
    return column in known or ("", column[1]) in known


def _relations(node: Node) -> _Relations:
    """The relations of a query, and what its joins and its condition say of their columns."""
    found = _Relations({}, [], set())
    open_nodes = [node.get("from_table") or {"type": "EMPTY"}]
    conditions = [node.get("where_clause")]
    while open_nodes:
        each = open_nodes.pop()
        if each["type"] == "JOIN":
            open_nodes += [each["left"], each["right"]]
            conditions.append(each.get("condition"))
        elif each["type"] != "EMPTY":
            found.leaves[each.get("alias") or each.get("table_name", "")] = each
    for condition in conditions:
        for one in _conjuncts(condition):
            if one["type"] not in {"COMPARE_EQUAL", "COMPARE_NOT_DISTINCT_FROM"}:
                continue
            left, right = ([*_columns(one[side])] for side in ("left", "right"))
            if left and right:
                found.equal.append((left[0], right[0]))
            for side, other in ((left, one["right"]), (right, one["left"])):
                if side and other["class"] == "CONSTANT":
                    found.constant.add(side[0])
    return found


def _conjuncts(condition: Node | None) -> Iterator[Node]:
    if condition and condition["type"] == "CONJUNCTION_AND":
        for each in condition["children"]:
            yield from _conjuncts(each)
    elif condition:
        yield condition


def _is_one_row(node: Node) -> bool:
    """Whether a query has one row: it aggregates all rows, or reads none."""
    if node.get("group_expressions"):
        return False
    aggregates = _WHATEVER_ORDER | _OF_EXTREME | _OF_ALL | _OF_ANY
    return (node.get("from_table") or {"type": "EMPTY"})["type"] == "EMPTY" or any(
        each["function_name"] in aggregates for each in _expressions(node, "FUNCTION")
    )


def _is_same_for_equals(window: Node) -> bool:
    """Whether a window gives rows that are equal in its order the same, whichever comes first."""
    name, ends = window["function_name"], (window["start"], window["end"])
    by_value = all(end.startswith("UNBOUNDED") or end.endswith("RANGE") for end in ends)
    return name in _RANKS or (name in _WHATEVER_ORDER and by_value)


def _put_together(node: Node) -> Iterator[Node]:
    """The queries of a union of unions."""
    if node["type"] == "SET_OPERATION_NODE" and node["setop_type"] == "UNION":
        for child in node["children"]:
            yield from _put_together(child)
    else:
        yield node


def _first(node: Node) -> Node:
    return next(_put_together(node))


def _tables(node: Node) -> Iterator[str]:
    """The relations that a query reads rows from; what they are joined with has no handle."""
    source = node.get("from_table") or {"type": "EMPTY"}
    while source["type"] == "JOIN":
        source = source["left"]
    if source["type"] == "SUBQUERY":
        for child in _put_together(source["subquery"]["node"]):
            yield from _tables(child)
    else:
        yield source.get("table_name", "")


def _behind(item: Node, names: set[str], items: Sequence[Node]) -> Iterator[Column]:
    """The columns that outputs of these names are: the same values under other names."""
    if item["class"] == "STAR":
        others = {_name(each) for each in items}
        others |= {each["key"] for each in item.get("replace_list", ())}
        yield from ((item.get("relation_name", ""), name) for name in names - others)
    elif _name(item) in names:
        yield from _columns(item)


def _name(item: Node) -> str:
    """The name of an output; empty if it has none."""
    if item.get("alias"):
        return str(item["alias"])
    columns = [*_columns(item)] if item["class"] in {"COLUMN_REF", "CAST"} else []
    return columns[0][1] if columns else ""


def _columns(expression: Node) -> Iterator[Column]:
    """The columns that an expression fixes if it is fixed itself."""
    if expression["class"] == "COLUMN_REF":
        *of, name = expression["column_names"]
        yield (of[-1] if of else "", name)
    elif expression["class"] == "CAST":
        yield from _columns(expression["child"])
    elif expression.get("function_name") in _TUPLES or _is_negation(expression):
        yield from _all(_arguments(expression))


def _all(expressions: Iterable[Node]) -> list[Column]:
    return [column for each in expressions for column in _columns(each)]


def _is_negation(expression: Node) -> bool:
    return expression.get("function_name") == "-" and len(expression["arguments"]) == 1


def _arguments(expression: Node) -> list[Node]:
    return [each["expression"] for each in expression.get("arguments", ())]


def _orders(orders: Iterable[Node]) -> list[Node]:
    return [each["expression"] for each in orders]


def _mentioned(expression: Node) -> list[Column]:
    found = _within(expression, lambda n: n.get("class") == "COLUMN_REF")
    return [("", each["column_names"][-1]) for each in found]


def _divides(expression: Node) -> bool:
    return bool(_within(expression, lambda n: n.get("function_name") == "/"))


def _expressions(node: Node, *classes: str) -> list[Node]:
    """The expressions of a query, without those of queries within it."""
    parts = [node.get(part) for part in ("select_list", "having", "qualify", "modifiers")]
    return _within(parts, lambda n: n.get("class") in classes)


def _subqueries(node: Node) -> Iterator[Node]:
    """The queries right within a query; its ``with`` clauses apart."""
    parts = {name: part for name, part in node.items() if name not in {"cte_map", "children"}}
    for each in _within(parts, lambda n: "subquery" in n, deep=False):
        yield each["subquery"]["node"]


def _within(
    part: Any, holds: Callable[[Node], bool], *, deep: bool = True, in_queries: bool = False
) -> list[Node]:
    """The nodes of which something holds: all, or the outermost; in queries within, too, or not."""
    if isinstance(part, list):
        return [
            found
            for each in part
            for found in _within(each, holds, deep=deep, in_queries=in_queries)
        ]
    if not isinstance(part, dict):
        return []
    own = [part] if holds(part) else []
    if own and not deep:
        return own
    inner = [value for name, value in part.items() if in_queries or name != "subquery"]
    return own + _within(inner, holds, deep=deep, in_queries=in_queries)


def _bare(part: Any) -> Any:
    """A part of the tree without places in the text, and without its name."""
    if isinstance(part, list):
        return [_bare(each) for each in part]
    if not isinstance(part, dict):
        return part
    left_out = {"alias", "query_location", "query_location_length"}
    return {name: _bare(value) for name, value in part.items() if name not in left_out}


def _text(expression: Node) -> str:
    """A window or an aggregate, as a failure names it: ``sum by begin_us as place``."""
    orders = expression.get("orders", [])
    by = ", ".join(name for _, name in _all(_orders(orders)))
    named = f" as {expression['alias']}" if expression.get("alias") else ""
    return expression["function_name"] + (f" by {by}" if by else "") + named
