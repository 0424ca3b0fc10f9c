"""The rows of one or many runs, as tables ask for them, and what tables share.

Tables do not know where rows come from: they are given a function that asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from tidegauge.simulation.run_files import read_manifest
from tidegauge.spark_analysis.events import events
from tidegauge.spark_analysis.run_paths import Paths, runs_at
from tidegauge.spark_analysis.tables.topology import Topology

#: Columns that put the rows of a run into their total order, the first one first.
ORDER = ("time_us", "process", "sequence", "minor")


class Events(Protocol):
    """Gives rows as :func:`tidegauge.spark_analysis.events.events` does, of runs that are known."""

    def __call__(self, *, kind: str | None, columns: Sequence[str], within_run: bool) -> DataFrame:
        """These columns of a kind's rows, or (None) of all rows; without the liveness phase."""
        ...


class RunRows:
    """The rows of some runs, and who their numbers stand for."""

    def __init__(
        self, spark: SparkSession, rows: Events, manifests: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Take the rows of runs.

        Args:
            spark: makes the small tables that manifests become.
            rows: gives the rows.
            manifests: what each run's ``manifest.json`` holds, by the name of the run.

        Raises:
            ScenarioError: this Tidegauge cannot read the scenario of a manifest.
        """
        self.runs = tuple(manifests)
        self.topology = Topology(spark, manifests)
        self._rows = rows
        self._shared: dict[Callable[[RunRows], DataFrame], DataFrame] = {}

    def of_kind(self, kind: str, *columns: str) -> DataFrame:
        """``run``, the order and these columns of a kind's rows, without the liveness phase."""
        wanted = ("run", *ORDER, *columns)
        return self._rows(kind=kind, columns=wanted, within_run=True)

    def to_the_last(self, kind: str, *columns: str) -> DataFrame:
        """The same with the rows of the liveness phase, which comes after the run."""
        wanted = ("run", *ORDER, *columns)
        return self._rows(kind=kind, columns=wanted, within_run=False)

    def of_all_kinds(self, *columns: str) -> DataFrame:
        """``run``, ``kind``, the order and these columns, which each row has, of all rows."""
        wanted = ("run", "kind", *ORDER, *columns)
        return self._rows(kind=None, columns=wanted, within_run=False)

    def shared(self, build: Callable[[RunRows], DataFrame]) -> DataFrame:
        """What several tables are made of: it is computed once, and kept until :meth:`release`."""
        if build not in self._shared:
            self._shared[build] = build(self).persist()
        return self._shared[build]

    def release(self) -> None:
        """Let go of all that was kept."""
        for kept in self._shared.values():
            kept.unpersist()
        self._shared.clear()


def rows_of_runs(spark: SparkSession, runs: Paths) -> RunRows:
    """The rows of the runs in these folders, or in those that patterns match.

    Raises:
        RunError: a folder is no run, or a pattern matches none.
        ScenarioError: this Tidegauge cannot read the scenario of a manifest.
    """
    manifests = {run.name: read_manifest(run.folder) for run in runs_at(runs)}
    return RunRows(spark, partial(events, spark, runs), manifests)
