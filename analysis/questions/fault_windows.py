"""The time that belongs to each fault, for questions about single faults.

Many effects of a fault follow its end: sessions expire, replicas catch up. So its time lasts until
the next fault begins, or the run ends.
"""

from __future__ import annotations

#: A query for each time that a fault was on, with ``next_us``: when another began, or the run's
#: end.
FAULT_WINDOWS = """
    select f.*, coalesce(
        min(f.begin_us) over (
            partition by f.run order by f.begin_us
            range between 1 following and unbounded following
        ),
        runs.ends_us
    ) as next_us
    from faults as f join runs on runs.run = f.run
"""
