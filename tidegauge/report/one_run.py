"""The run of a report: its tables, its manifest and its summary."""

# ruff: noqa: S608 - queries are put together from texts of these rooms

import shlex
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.requests import FoundRun, from_here
from tidegauge.analysis.tables.unavailable import REFUSING
from tidegauge.report.quantities import nice_step_us
from tidegauge.report.stalled_writes import (
    StalledPartitions,
    WithoutWrites,
    stalled_partitions,
    without_writes,
)
from tidegauge.simulation.quantities import parse_duration
from tidegauge.traces.run_files import OF_LOGS, read_manifest, read_summary

#: The most points of a line in a chart, for any length of the run.
_POINTS = 500
#: The number of bars in a chart.
_BARS = 160
#: The most runs that are named one by one.
_NAMED = 4


class WorstPartition(NamedTuple):
    """The partition with most lost records, else the one that was stalled for longest.

    For logs, which do not have that: else the one that refused writes for longest.
    """

    number: int
    name: str


class OneRun:
    """One run, and how it is asked."""

    def __init__(self, tables: RunTables, run: FoundRun) -> None:
        """Take a run.

        Args:
            tables: of this run, or of many of which it is one.
            run: the run.

        Raises:
            RunError: its manifest or its summary cannot be read.
        """
        self.run = run
        self.tables = tables.of(run)
        self.manifest = read_manifest(run.folder)
        #: None: the run is not complete, or was interrupted.
        self.summary = read_summary(run.folder)
        self.scenario: dict[str, Any] = self.manifest["scenario"]
        #: Its length; of a run that is not complete, until its last row.
        self.duration_us = run.end_us()

    @property
    def is_of_logs(self) -> bool:
        """Whether it is that of a real cluster, made of its logs."""
        return bool(self.manifest.get("source") == OF_LOGS)

    @property
    def bucket_us(self) -> int:
        """The distance of points of lines."""
        return nice_step_us(self.duration_us / _POINTS)

    @property
    def bar_us(self) -> int:
        """The width of bars that count events within them."""
        return nice_step_us(self.duration_us / _BARS)

    @property
    def sample_us(self) -> int:
        """The distance of points of lines that are drawn through samples."""
        return max(self.bucket_us, parse_duration(self.scenario["sample_every"]))

    def command(self, *words: str) -> str:
        """A command about this run, fit for a shell; ``RUN`` among the words is its folder."""
        folder = str(from_here(self.run.folder))
        return shlex.join(["tidegauge", *(folder if word == "RUN" else word for word in words)])

    @cached_property
    def figures(self) -> dict[str, Any]:
        """Its row of ``run_figures``."""
        (figures,) = self.tables.rows("select * from run_figures")
        return figures

    @cached_property
    def stalled(self) -> StalledPartitions | None:
        """The partitions whose writes were stalled."""
        return stalled_partitions(self.tables)

    @cached_property
    def without_writes(self) -> WithoutWrites:
        """The partitions that could take no writes."""
        return without_writes(self.tables)

    @property
    def figures_from_us(self) -> int:
        """The start of its figures: start-up does not count."""
        return round(float(self.figures["figures_from_seconds"]) * 1e6)

    @cached_property
    def faults(self) -> list[dict[str, Any]]:
        """Its faults, each time that one was active, in the order of time."""
        return self.tables.rows("select * from faults order by begin_us, fault")

    @cached_property
    def worst_partition(self) -> WorstPartition | None:
        """The subject of the story; None: no partition stalled, refused writes or lost a record."""
        worst = self.tables.rows(
            f"""
            select partition, topic_partition, sum(lost) as lost, sum(stalled_us) as stalled_us,
                sum(refused_us) as refused_us
            from (
                select partition, topic_partition, records as lost, 0 as stalled_us,
                    0 as refused_us
                from lost
                union all
                select partition, topic_partition, 0,
                    case when condition = 'stalled' then lasted_us else 0 end,
                    case when condition in {REFUSING} then lasted_us else 0 end
                from unavailable where condition in {("stalled", *REFUSING)}
            ) as either
            group by partition, topic_partition
            order by lost desc, stalled_us desc, refused_us desc, partition, topic_partition
            limit 1
            """
        )
        return WorstPartition(worst[0]["partition"], worst[0]["topic_partition"]) if worst else None


def folders_command(runs: Sequence[FoundRun], *words: str) -> str:
    """``tidegauge analyze`` of all these runs, fit for a shell: a pattern if there are many."""
    folders = [run.folder for run in runs]
    parents = list(dict.fromkeys(folder.parent for folder in folders))
    if len(runs) > _NAMED:
        texts = [f"{from_here(parent)}/*" for parent in parents]
    else:
        texts = [str(from_here(folder)) for folder in folders]
    return shlex.join(["tidegauge", "analyze", *texts, *words])
