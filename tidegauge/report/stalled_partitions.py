"""The answer of a run in one sentence: which partitions were stalled for producers, how long."""

from __future__ import annotations

from typing import NamedTuple

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.report.quantities import duration_text
from tidegauge.scenario.text.errors import counted


class StalledPartitions(NamedTuple):
    """The partitions that producers write to, and those of them that were stalled."""

    written: int
    stalled: int
    #: The longest stall without a break of each partition: of these the shortest and the longest.
    shortest_us: int
    longest_us: int
    #: The partition of the longest one; None: none was stalled.
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
    """The account of a run; None: no producer writes, or its logs do not tell of producers.

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
