"""The SQL of result tables: common functions of Spark and DuckDB, and queries about intervals.

Queries are in Spark's dialect. Functions that one of the two lacks are defined here for both:

==================================  ===============================================================
``place(time, process, ...)``       the place of a row in the total order, to be compared
``replica_count(list)``             how many replicas a packed list holds
``replica_ids(list, slot_ids)``     their broker ids, in the order of the list
``array_without(one, other)``       the members of one array that the other lacks, in their order
``size(array)``                     how many members an array has
``sequence(first, last)``           the array of whole numbers from the first to the last one
``explode(array)``                  a row for each member of an array, with the other columns
``sorted_set(value)``               all different values of a group, in ascending order
==================================  ===============================================================

Replica lists are integers, as ``replication/records.py`` packs them: four bits for each slot.

An interval lasts from ``begin_us`` to just before ``end_us``. Functions of intervals return the
text of a query; their arguments are names of relations, or queries in parentheses.
"""

import re
from collections.abc import Sequence

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
    "create macro sequence(first, last) as generate_series(first, last)",
    "create macro explode(list) as unnest(list)",
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


# ruff: noqa: S608 - queries are put together from texts of this room


#: Columns that put the rows of a run into their total order, the first one first.
ORDER = ("time_us", "process", "sequence", "minor")

IN_ORDER = ", ".join(ORDER)

#: A change at the very beginning, before all rows: the order of rows begins with 0, 0, 0, 0.
FROM_THE_BEGINNING = "0 as time_us, -1 as process, -1 as sequence, 0 as minor"


def tiled(changes: str, keys: Sequence[str], says: Sequence[str], runs: str = "runs") -> str:
    """Each change of an object of ``keys``, as the interval until the next one.

    Args:
        changes: rows with the columns of :data:`ORDER`.
        keys: the columns of the object, ``run`` among them.
        says: the further columns of the result.
        runs: a relation with ``ends_us``, where the intervals of each run end.
    """
    columns = ", ".join((*keys, *says))
    return f"""
        select {columns}, time_us as begin_us, least(coalesce(next_us, ends_us), ends_us) as end_us
        from (
            select {", ".join(f"c.{each}" for each in (*keys, *says))}, c.time_us, e.ends_us,
                lead(c.time_us) over (
                    partition by {", ".join(f"c.{key}" for key in keys)}
                    order by {", ".join(f"c.{each}" for each in ORDER)}
                ) as next_us
            from {changes} as c join {runs} as e on e.run = c.run
        ) as followed
        -- Of changes at the same time only the last one lasts.
        where time_us < least(coalesce(next_us, ends_us), ends_us)
    """


def overlaid(
    one: str,
    other: str,
    keys: Sequence[str],
    one_says: Sequence[str],
    other_says: Sequence[str],
    *,
    whole: bool = False,
) -> str:
    """The parts of intervals that lie in others with the same keys, with columns of both.

    Args:
        one: the intervals.
        other: the others.
        keys: the columns of their object, ``run`` among them.
        one_says: further columns of the intervals.
        other_says: further columns of the others.
        whole: keep each interval that meets no other as it is, with nulls for ``other_says``.
    """
    columns = [*(f"a.{each}" for each in (*keys, *one_says)), *(f"b.{each}" for each in other_says)]
    same = " and ".join(f"a.{key} = b.{key}" for key in keys)
    return f"""
        select {", ".join(columns)}, greatest(a.begin_us, b.begin_us) as begin_us,
            least(a.end_us, b.end_us) as end_us
        from {one} as a
        {"left join" if whole else "join"} {other} as b
            on {same} and a.begin_us < b.end_us and b.begin_us < a.end_us
    """


def merged(intervals: str, keys: Sequence[str], same: Sequence[str]) -> str:
    """Consecutive intervals with equal values merged into one; only ``keys`` and ``same`` remain.

    Args:
        intervals: of one key no two overlap.
        keys: the columns of their object, ``run`` among them.
        same: the columns that are to be equal.
    """
    goes_on = " and ".join(
        [
            "lag(end_us) over in_order is not distinct from begin_us",
            *(f"lag({each}) over in_order is not distinct from {each}" for each in same),
        ]
    )
    columns = ", ".join((*keys, *same))
    return f"""
        select {columns}, min(begin_us) as begin_us, max(end_us) as end_us
        from (
            select {columns}, begin_us, end_us, sum(is_first) over (
                partition by {", ".join(keys)} order by begin_us
                rows between unbounded preceding and current row
            ) as place
            from (
                select {columns}, begin_us, end_us,
                    case when {goes_on} then 0 else 1 end as is_first
                from {intervals} as i
                window in_order as (partition by {", ".join(keys)} order by begin_us)
            ) as compared
        ) as numbered
        group by {columns}, place
    """


def united(intervals: str, keys: Sequence[str]) -> str:
    """Intervals of one key that overlap or touch, as one; only ``keys`` remain.

    Args:
        intervals: of one key they can overlap, and be equal.
        keys: the columns of their object, ``run`` among them.
    """
    columns = ", ".join(keys)
    return f"""
        select {columns}, min(begin_us) as begin_us, max(end_us) as end_us
        from (
            select {columns}, begin_us, end_us, sum(
                case when begin_us <= before_us then 0 else 1 end
            ) over (
                partition by {columns} order by begin_us
                rows between unbounded preceding and current row
            ) as place
            from (
                select {columns}, begin_us, end_us, max(end_us) over (
                    partition by {columns} order by begin_us
                    rows between unbounded preceding and 1 preceding
                ) as before_us
                -- Of those that begin together the longest: two windows may order equals unlike.
                from (
                    select {columns}, begin_us, max(end_us) as end_us
                    from {intervals} as i group by {columns}, begin_us
                ) as longest
            ) as compared
        ) as numbered
        group by {columns}, place
    """
