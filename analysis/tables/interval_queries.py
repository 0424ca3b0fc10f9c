"""Queries about intervals: changes made to intervals, and intervals laid over each other.

An interval lasts from ``begin_us`` to just before ``end_us``. Each function returns the text of a
query; the texts that it is given are names of relations, or queries in parentheses.
"""

# ruff: noqa: S608 - queries are put together from texts of this room

from __future__ import annotations

from collections.abc import Sequence

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
    one: str, other: str, keys: Sequence[str], one_says: Sequence[str], other_says: Sequence[str]
) -> str:
    """The parts of intervals that lie in others with the same keys, with columns of both."""
    columns = [*(f"a.{each}" for each in (*keys, *one_says)), *(f"b.{each}" for each in other_says)]
    same = " and ".join(f"a.{key} = b.{key}" for key in keys)
    return f"""
        select {", ".join(columns)}, greatest(a.begin_us, b.begin_us) as begin_us,
            least(a.end_us, b.end_us) as end_us
        from {one} as a
        join {other} as b on {same} and a.begin_us < b.end_us and b.begin_us < a.end_us
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
