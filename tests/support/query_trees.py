"""The parse trees of queries, as DuckDB hands them out, and what a node of one says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import duckdb

from tidegauge.analysis.making.duckdb_engine import connected
from tidegauge.analysis.tables.dialect import for_duckdb

Node = dict[str, Any]
#: A column by the alias of its relation, which is empty where the query leaves it out.
Column = tuple[str, str]

#: Functions of several values whose result is another one wherever any of these is.
_TUPLES = {"place", "row"}


def parsed(sql: str) -> Node:
    """The statement that DuckDB reads in a query in the dialect of tables."""
    statement: Node = json.loads(asked_of("select json_serialize_sql(?)", for_duckdb(sql)))
    assert not statement["error"], statement
    return statement


def asked_of(query: str, value: str) -> str:
    """The text that a query of one text gives."""
    ((text,),) = _database().execute(query, [value]).fetchall()
    return str(text)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return connected()


def tree_of(statement: Node) -> Node:
    """The query of a statement."""
    node: Node = statement["statements"][0]["node"]
    return node


class Relations(NamedTuple):
    """What a query reads from: its relations by their aliases, and what their columns equal."""

    leaves: dict[str, Node]
    #: Columns, each with one that is the same in all rows in which it is not null.
    equal: list[tuple[Column, Column]]
    constant: set[Column]


def relations_of(node: Node) -> Relations:
    """The relations of a query, and what its joins and its condition say of their columns."""
    found = Relations({}, [], set())
    open_nodes = [node.get("from_table") or {"type": "EMPTY"}]
    conditions = [(node.get("where_clause"), "")]
    while open_nodes:
        each = open_nodes.pop()
        if each["type"] == "JOIN":
            open_nodes += [each["left"], each["right"]]
            optional = _alias(each["right"]) if each["join_type"] == "LEFT" else ""
            conditions.append((each.get("condition"), optional))
        elif each["type"] != "EMPTY":
            found.leaves[_alias(each)] = each
    for condition, optional in conditions:
        for one in _conjuncts(condition):
            if one["type"] not in {"COMPARE_EQUAL", "COMPARE_NOT_DISTINCT_FROM"}:
                continue
            sides = [[*columns_of(one[side])][:1] for side in ("left", "right")]
            for (of, to), value in zip(
                (sides, sides[::-1]), (one["right"], one["left"]), strict=True
            ):
                # A row without a match equals nothing: a left join says nothing of its left side.
                found.equal.extend((a, b) for a in of for b in to if optional in {"", b[0]})
                found.constant.update(of if value["class"] == "CONSTANT" else ())
    return found


def _alias(source: Node) -> str:
    return str(source.get("alias") or source.get("table_name", ""))


def _conjuncts(condition: Node | None) -> Iterator[Node]:
    if condition and condition["type"] == "CONJUNCTION_AND":
        for each in condition["children"]:
            yield from _conjuncts(each)
    elif condition:
        yield condition


def put_together(node: Node) -> Iterator[Node]:
    """The queries of a union of unions."""
    if node["type"] == "SET_OPERATION_NODE" and node["setop_type"] == "UNION":
        for child in node["children"]:
            yield from put_together(child)
    else:
        yield node


def first_of(node: Node) -> Node:
    return next(put_together(node))


def tables_of(node: Node) -> Iterator[str]:
    """The relations that a query reads rows from; what they are joined with has no handle."""
    source = node.get("from_table") or {"type": "EMPTY"}
    while source["type"] == "JOIN":
        source = source["left"]
    if source["type"] == "SUBQUERY":
        for child in put_together(source["subquery"]["node"]):
            yield from tables_of(child)
    else:
        yield source.get("table_name", "")


def columns_behind(item: Node, names: set[str], items: Sequence[Node]) -> Iterator[Column]:
    """The columns that outputs of these names are: the same values under other names."""
    if item["class"] == "STAR":
        others = {name_of(each) for each in items}
        others |= {each["key"] for each in item.get("replace_list", ())}
        yield from ((item.get("relation_name", ""), name) for name in names - others)
    elif name_of(item) in names:
        yield from columns_of(item)


def name_of(item: Node) -> str:
    """The name of an output; empty if it has none."""
    if item.get("alias"):
        return str(item["alias"])
    columns = [*columns_of(item)] if item["class"] in {"COLUMN_REF", "CAST"} else []
    return columns[0][1] if columns else ""


def columns_of(expression: Node) -> Iterator[Column]:
    """The columns that an expression fixes if it is fixed itself."""
    if expression["class"] == "COLUMN_REF":
        *of, name = expression["column_names"]
        yield (of[-1] if of else "", name)
    elif expression["class"] == "CAST":
        yield from columns_of(expression["child"])
    elif expression.get("function_name") in _TUPLES or _is_negation(expression):
        yield from all_columns(arguments_of(expression))


def all_columns(expressions: Iterable[Node]) -> list[Column]:
    return [column for each in expressions for column in columns_of(each)]


def _is_negation(expression: Node) -> bool:
    return expression.get("function_name") == "-" and len(expression["arguments"]) == 1


def arguments_of(expression: Node) -> list[Node]:
    return [each["expression"] for each in expression.get("arguments", ())]


def ordered_by(orders: Iterable[Node]) -> list[Node]:
    return [each["expression"] for each in orders]


def expressions_of(node: Node, *classes: str) -> list[Node]:
    """The expressions of a query, without those of queries within it."""
    parts = [node.get(part) for part in ("select_list", "having", "qualify", "modifiers")]
    return nodes_within(parts, lambda n: n.get("class") in classes)


def subqueries_of(node: Node) -> Iterator[Node]:
    """The queries right within a query; its ``with`` clauses apart."""
    parts = {name: part for name, part in node.items() if name not in {"cte_map", "children"}}
    for each in nodes_within(parts, lambda n: "subquery" in n, deep=False):
        yield each["subquery"]["node"]


def nodes_within(
    part: Any, holds: Callable[[Node], bool], *, deep: bool = True, in_queries: bool = False
) -> list[Node]:
    """The nodes of which something holds: all, or the outermost; in queries within, too, or not."""
    if isinstance(part, list):
        return [
            found
            for each in part
            for found in nodes_within(each, holds, deep=deep, in_queries=in_queries)
        ]
    if not isinstance(part, dict):
        return []
    own = [part] if holds(part) else []
    if own and not deep:
        return own
    inner = [value for name, value in part.items() if in_queries or name != "subquery"]
    return own + nodes_within(inner, holds, deep=deep, in_queries=in_queries)


def bare(part: Any) -> Any:
    """A part of the tree without places in the text, and without its name."""
    if isinstance(part, list):
        return [bare(each) for each in part]
    if not isinstance(part, dict):
        return part
    left_out = {"alias", "query_location", "query_location_length"}
    return {name: bare(value) for name, value in part.items() if name not in left_out}


def text_of(expression: Node) -> str:
    """A window or an aggregate, as a failure names it: ``sum by begin_us as place``."""
    orders = expression.get("orders", [])
    by = ", ".join(name for _, name in all_columns(ordered_by(orders)))
    named = f" as {expression['alias']}" if expression.get("alias") else ""
    return f"{expression['function_name']}{f' by {by}' if by else ''}{named}"
