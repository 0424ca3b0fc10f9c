"""Where Spark's SQL and DuckDB's differ: the functions that tables call, and null handling.

Queries are in Spark's dialect. Functions that only one of the two has, or that neither has, are
defined here for both:

==================================  ===============================================================
``place(time, process, ...)``       the place of a row in the total order, to be compared
``replica_count(list)``             how many replicas a packed list holds
``replica_ids(list, slot_ids)``     their broker ids, in the order of the list
``array_without(one, other)``       the members of one array that the other lacks, in their order
``size(array)``                     how many members an array has
``sorted_set(value)``               all different values of a group, in ascending order
==================================  ===============================================================

Replica lists are integers, as ``replication/replica_list.py`` packs them: four bits for each slot.
"""

from __future__ import annotations

import re

from tidegauge.replication.records import SLOTS

_DIGITS = ", ".join(str(place) for place in range(SLOTS))

#: Statements that define the functions in DuckDB.
DUCKDB = (
    "create macro place(a, b, c, d) as row(a, b, c, d)",
    "create macro replica_count(list) as case when list = 0 then 0 else length(hex(list)) end",
    # Of [9, 8], slot 0 is the place 1, and the digit of slot 0 in a list is 1.
    f"""create macro replica_ids(list, slot_ids) as list_filter(
        list_transform([{_DIGITS}], lambda d: slot_ids[(list >> (4 * d)) & 15]),
        lambda id: id is not null)""",
    """create macro array_without(one, other) as
        list_filter(one, lambda each: not list_contains(other, each))""",
    "create macro size(one) as len(one)",
    "create macro sorted_set(value) as list_sort(list_distinct(list(value)))",
)

#: ... and in Spark.
SPARK = (
    """create or replace temporary function place(a bigint, b bigint, c bigint, d bigint)
        returns struct<a: bigint, b: bigint, c: bigint, d: bigint>
        return named_struct('a', a, 'b', b, 'c', c, 'd', d)""",
    """create or replace temporary function replica_count(list bigint) returns bigint
        return case when list = 0 then 0 else length(hex(list)) end""",
    f"""create or replace temporary function replica_ids(list bigint, slot_ids array<bigint>)
        returns array<bigint>
        return filter(transform(array({_DIGITS}),
            d -> get(slot_ids, cast(shiftright(list, 4 * d) & 15 as int) - 1)),
            id -> id is not null)""",
    """create or replace temporary function array_without(one array<bigint>, other array<bigint>)
        returns array<bigint> return filter(one, each -> not array_contains(other, each))""",
)

_SORTED_SET = re.compile(r"\bsorted_set\((\w+)\)")
_IGNORE_NULLS = re.compile(r"\((\w+)\) ignore nulls\b")
_ARRAY_TYPE = re.compile(r"\barray<(\w+)>")


def for_spark(sql: str) -> str:
    """A query for Spark, which cannot be taught functions of groups by SQL."""
    return _SORTED_SET.sub(r"sort_array(collect_set(\1))", sql)


def for_duckdb(sql: str) -> str:
    """A query for DuckDB: it ignores nulls inside of the parentheses, and calls arrays lists."""
    return _ARRAY_TYPE.sub(r"\1[]", _IGNORE_NULLS.sub(r"(\1 ignore nulls)", sql))
