"""Series over time, as a few numbers for each bucket of time, so that charts stay small.

Each function makes a query with the columns ``series``, ``at_us`` (when its bucket begins),
``value`` and ``later`` (of a level: what is left when the bucket ends). A bucket in which nothing
happened has no row.
"""

# ruff: noqa: S608 - queries are put together from texts of this room

from __future__ import annotations

from collections.abc import Iterable, Mapping


def levels(intervals: str, bucket_us: int, run_us: int) -> str:
    """The number of intervals open at once: ``value`` is the most at any time within the bucket.

    ``later`` is the number of those that are open when the bucket ends, until the next row.

    Args:
        intervals: a query for ``series``, ``begin_us``, ``end_us``.
        bucket_us: the length of a bucket.
        run_us: when the run ends; what is open then is not closed by that.
    """
    return f"""
        with intervals as ({intervals}),
        changes as (
            select series, time_us, sum(change) as change
            from (
                select series, begin_us as time_us, 1 as change from intervals
                union all
                select series, end_us, -1 from intervals where end_us < {run_us}
            ) as both_ends
            group by series, time_us
        ),
        counted as (
            select *, sum(change) over (partition by series order by time_us) as still_open
            from changes
        )
        -- Intervals open before the first change of a bucket were open in it, too.
        select series, {_bucket(bucket_us)} as at_us,
            cast(max(greatest(still_open, still_open - change)) as double) as value,
            cast(max_by(still_open, time_us) as double) as later
        from counted group by series, at_us
    """


def counts(happened: str, bucket_us: int) -> str:
    """The number of events in each bucket.

    Args:
        happened: a query for ``series``, ``time_us``.
        bucket_us: the length of a bucket.
    """
    return f"""
        select series, {_bucket(bucket_us)} as at_us, cast(count(*) as double) as value,
            cast(null as double) as later
        from ({happened}) as happened group by series, at_us
    """


def measured(source: str, bucket_us: int, values: Mapping[str, str]) -> str:
    """Aggregates of the measurements in each bucket, each a series of its name.

    Args:
        source: a table, or a query in parentheses, with ``time_us``.
        bucket_us: the length of a bucket.
        values: an aggregate for each series.
    """
    together = ", ".join(f"cast({value} as double) as {name}" for name, value in values.items())
    apart = " union all ".join(
        f"select '{name}' as series, at_us, {name} as value, cast(null as double) as later"
        f" from together where {name} is not null"
        for name in values
    )
    return f"""
        with together as (
            select {_bucket(bucket_us)} as at_us, {together} from {source} as rows_
            group by at_us
        )
        {apart}
    """


def in_order(queries: Iterable[str]) -> str:
    """The rows of several of these queries, series by series in the order of time."""
    united = " union all ".join(f"select * from ({query}) as q" for query in queries)
    return f"select * from ({united}) as united order by all"


def _bucket(bucket_us: int) -> str:
    return f"time_us - time_us % {bucket_us}"
