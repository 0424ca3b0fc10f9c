"""The run of a report: its tables, its manifest and its summary."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tidegauge.analysis.report.quantities import nice_step_us
from tidegauge.analysis.run_paths import FoundRun, from_here
from tidegauge.analysis.tables.run_tables import RunTables
from tidegauge.simulation.durations import parse_duration
from tidegauge.traces.run_files import read_manifest, read_summary

#: The most points of a line in a chart, for any length of the run.
_POINTS = 1200
#: The number of bars in a chart.
_BARS = 160
#: The most runs that are named one by one.
_NAMED = 4


class OneRun:
    """One run, and how it is asked."""

    def __init__(self, tables: RunTables, run: FoundRun) -> None:
        """Take a run.

        Args:
            tables: of this run, or of many of which it is one.
            run: it.

        Raises:
            RunError: its manifest or its summary cannot be read.
        """
        self.run = run
        self.tables = tables.of(run)
        self.manifest = read_manifest(run.folder)
        #: None: the run is not complete, or was interrupted.
        self.summary = read_summary(run.folder)
        self.scenario: dict[str, Any] = self.manifest["scenario"]
        #: How long it has been; of one that has not come to its end, until its last row.
        self.duration_us = run.end_us()

    @property
    def bucket_us(self) -> int:
        """Points of lines are so far apart."""
        return nice_step_us(self.duration_us / _POINTS)

    @property
    def bar_us(self) -> int:
        """How wide bars are that count what happened within them."""
        return nice_step_us(self.duration_us / _BARS)

    @property
    def sample_us(self) -> int:
        """Points of lines that are drawn through samples are so far apart."""
        return max(self.bucket_us, parse_duration(self.scenario["sample_every"]))

    def command(self, *words: str) -> str:
        """A command about this run, fit for a shell; ``RUN`` among the words is its folder."""
        folder = str(from_here(self.run.folder))
        return shlex.join(["tidegauge", *(folder if word == "RUN" else word for word in words)])

    @cached_property
    def worst_partition(self) -> tuple[int, str] | None:
        """The partition with most lost records, else the one that refused writes for longest.

        Its number and its name; None: all partitions were well all the time.
        """
        lost = self.tables["lost"].selectExpr("partition", "topic_partition", "records lost", "0 l")
        refused = _refused(self.tables["unavailable"]).selectExpr(
            "partition", "topic_partition", "0 lost", "lasted_us l"
        )
        worst = (
            lost.unionByName(refused)
            .groupBy("partition", "topic_partition")
            .agg(f.sum("lost").alias("lost"), f.sum("l").alias("lasted_us"))
            .orderBy(f.desc("lost"), f.desc("lasted_us"), "partition")
            .first()
        )
        return None if worst is None else (worst["partition"], worst["topic_partition"])


def _refused(unavailable: DataFrame) -> DataFrame:
    return unavailable.where("condition in ('offline', 'not_accepting', 'under_min_isr')")


def folders_command(runs: Sequence[FoundRun], *words: str) -> str:
    """``tidegauge analyze`` of all these runs, fit for a shell: a pattern if there are many."""
    folders = [run.folder for run in runs]
    parents = list(dict.fromkeys(folder.parent for folder in folders))
    if len(runs) > _NAMED:
        texts = [f"{from_here(parent)}/*" for parent in parents]
    else:
        texts = [str(from_here(folder)) for folder in folders]
    return shlex.join(["tidegauge", "analyze", *texts, *words])
