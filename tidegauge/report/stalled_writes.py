"""Writes that could not be made: stalls of producers, and partitions that took no acks=all."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tidegauge.analysis.tables.dialect import united
from tidegauge.analysis.tables.unavailable import REFUSING
from tidegauge.report.quantities import duration_text
from tidegauge.scenario.text.errors import counted

if TYPE_CHECKING:
    from tidegauge.analysis.making.run_tables import RunTables

# ruff: noqa: S608 - queries are put together from texts of these rooms


class StalledPartitions(NamedTuple):
    """The partitions that producers write to, and those of them that were stalled."""

    written: int
    stalled: int
    #: The longest stall without a break of each partition: of these the shortest and the longest.
    shortest_us: int
    longest_us: int
    #: The partition of the longest one; None: there was no stall.
    longest: str | None
    #: All stalls of all partitions.
    partition_seconds: float

    @property
    def text(self) -> str:
        """It in words, such as ``60 of 60 partitions stalled for producers, for 35 to 65 s``."""
        of_all = counted(self.written, "partition")
        if not self.stalled:
            return f"0 of {of_all} stalled for producers"
        lasted = span_text(self.shortest_us, self.longest_us)
        return f"{self.stalled:,} of {of_all} stalled for producers, for {lasted}"


def span_text(least_us: int, most_us: int) -> str:
    """Two durations as one span, with the unit once: ``35.0 to 64.9 s``."""
    least, most = duration_text(least_us), duration_text(most_us)
    if least == most:
        return most
    value, unit = least.split(" ", 1)
    return f"{value if most.endswith(f' {unit}') else least} to {most}"


def stalled_partitions(tables: RunTables) -> StalledPartitions | None:
    """The account of a run; None: no producer writes, or its logs have no producers.

    Raises:
        KeyError, RunError, ScenarioError, OSError: as :meth:`RunTables.make`.
    """
    (found,) = tables.rows(
        """
        select count(*) filter (where is_written) as written,
            count(*) filter (where stalled_us > 0) as stalled,
            coalesce(min(longest_stall_us) filter (where stalled_us > 0), 0) as shortest_us,
            coalesce(max(longest_stall_us), 0) as longest_us,
            max_by(topic_partition, row(longest_stall_us, -partition, run))
                filter (where stalled_us > 0) as longest,
            coalesce(sum(stalled_us), 0) / 1e6 as partition_seconds
        from partition_figures
        """
    )
    return StalledPartitions(**found) if found["written"] else None


class WithoutWrites(NamedTuple):
    """The partitions that could not take acks=all writes for a time, if there were any."""

    #: Those that took them before or after.
    partitions: int
    #: ... and could not for more than a second: not just as leaders changed.
    for_long: int
    longest_us: int
    #: The partition that could not for longest without a break.
    longest: str
    #: Those that never took any, as their topic asks for more replicas than it has.
    always: int

    @property
    def is_bad(self) -> bool:
        """Whether some partition could not take them for long."""
        return bool(self.for_long or self.always)


def without_writes(tables: RunTables) -> WithoutWrites:
    """The partitions without a leader that accepts writes, or under min ISR.

    A partition whose conditions follow each other without a break could take none all that time.
    """
    refused = united(
        f"(select * from unavailable where condition in {REFUSING})",
        ("partition", "topic_partition"),
    )
    (found,) = tables.rows(
        f"""
        with spans as (
            select partition, topic_partition, begin_us / 1e6 <= figures_from_seconds
                and end_us / 1e6 >= virtual_seconds as always, end_us - begin_us as lasted_us
            from ({refused}) as refused cross join run_figures
        )
        select count(distinct partition) filter (where not always) as partitions,
            count(distinct partition) filter (where not always and lasted_us > 1000000) as for_long,
            coalesce(max(lasted_us) filter (where not always), 0) as longest_us,
            max_by(topic_partition, row(lasted_us, -partition, topic_partition))
                filter (where not always) as longest,
            count(distinct partition) filter (where always) as always
        from spans
        """
    )
    return WithoutWrites(**found)
