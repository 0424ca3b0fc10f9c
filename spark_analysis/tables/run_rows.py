"""The rows of one or many runs for tables, and sources that tables share.

Tables do not know where rows come from: they are given a function that asks for them. It takes
Spark a third of a second to begin to read anything, and tables look at some eighty kinds: so all
canonical rows are read at once, with their columns by place, and kept; a kind's rows are then a
filter over what is kept. Samples and details, which are most of a trace, are read when they are
asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from tidegauge.simulation.enumerations import Enumerations
from tidegauge.spark_analysis.cause_source import found_causes
from tidegauge.spark_analysis.events import events
from tidegauge.spark_analysis.requests import CANONICAL, VALUES
from tidegauge.spark_analysis.run_paths import Paths, runs_at
from tidegauge.spark_analysis.tables.topology import RunTopologies
from tidegauge.traces.run_files import read_manifest

#: Columns that put the rows of a run into their total order, the first one first.
ORDER = ("time_us", "process", "sequence", "minor")


class Events(Protocol):
    """Gives rows as :func:`tidegauge.spark_analysis.events.events` does, of runs that are known."""

    def __call__(
        self, *, kind: str | Sequence[str], columns: Sequence[str], within_run: bool
    ) -> DataFrame:
        """These columns of the rows of a kind or of several; without the liveness phase."""
        ...


#: The own columns of canonical rows by their places.
CANONICAL_VALUES = VALUES[: max(len(kind.columns) for kind in CANONICAL.values())]


def _canonical(rows: RunRows) -> DataFrame:
    """All canonical rows, with their own columns by place, and whether they are ``within_run``."""
    return (
        rows.canonical(*CANONICAL_VALUES)
        .join(rows.topology.ends, "run")
        .withColumn("within_run", f.expr("time_us < ends_us"))
        .drop("ends_us")
    )


class RunRows:
    """The rows of some runs, and the objects behind their numbers."""

    def __init__(
        self,
        spark: SparkSession,
        rows: Events,
        causes: Callable[[], DataFrame],
        manifests: Mapping[str, Mapping[str, Any]],
        ends_us: Mapping[str, int],
        enumerations: Mapping[str, Enumerations],
    ) -> None:
        """Take the rows of runs.

        Args:
            spark: makes the small tables that manifests become.
            rows: gives the rows.
            causes: gives what rows go back to, as
                :func:`tidegauge.spark_analysis.cause_source.found_causes` does.
            manifests: what each run's ``manifest.json`` holds, by the name of the run.
            ends_us: where each run ends, by its name, too.
            enumerations: the names of numbers in the rows of each run, by its name.

        Raises:
            ScenarioError: this Tidegauge cannot read the scenario of a manifest.
        """
        self.runs = tuple(manifests)
        self.topology = RunTopologies(spark, manifests, ends_us)
        self._enumerations = enumerations
        self.read = rows
        self.causes = causes
        self._shared: dict[Callable[[RunRows], DataFrame], DataFrame] = {}

    def of_kind(self, kind: str, *columns: str) -> DataFrame:
        """``run``, the order and these columns of a kind's rows, without the liveness phase."""
        return self._of_kind(kind, columns, within_run=True)

    def to_the_last(self, kind: str, *columns: str) -> DataFrame:
        """The same with the rows of the liveness phase, which comes after the run."""
        return self._of_kind(kind, columns, within_run=False)

    def canonical(self, *columns: str) -> DataFrame:
        """``run``, ``kind``, the order and these columns of all canonical rows, to the last."""
        wanted = ("run", "kind", *ORDER, *columns)
        return self.read(kind=tuple(CANONICAL), columns=wanted, within_run=False)

    def named(self, column: str) -> Column:
        """The names of the numbers in a column, as the release that wrote each run has them."""
        runs_of: dict[tuple[tuple[int, str], ...], list[str]] = {}
        for run, names in self._enumerations.items():
            runs_of.setdefault(tuple(names[column].items()), []).append(run)
        found = f.lit(None).cast("string")
        for pairs, runs in runs_of.items():
            name_of = f.create_map(*(f.lit(each) for pair in pairs for each in pair))
            is_theirs = f.lit(col=True) if len(runs_of) == 1 else f.col("run").isin(runs)
            found = f.when(is_theirs, name_of[f.col(column)]).otherwise(found)
        return found

    def shared(self, build: Callable[[RunRows], DataFrame]) -> DataFrame:
        """A source of several tables: computed once, and kept until :meth:`release`."""
        if build not in self._shared:
            self._shared[build] = build(self).persist()
        return self._shared[build]

    def _of_kind(self, kind: str, columns: Sequence[str], *, within_run: bool) -> DataFrame:
        if kind not in CANONICAL:
            wanted = ("run", *ORDER, *columns)
            return self.read(kind=kind, columns=wanted, within_run=within_run)
        found = self.shared(_canonical).where(f.col("kind") == kind)
        if within_run:
            found = found.where("within_run")
        own = CANONICAL[kind].columns
        named = (f.col(CANONICAL_VALUES[own.index(name)]).alias(name) for name in columns)
        return found.select("run", *ORDER, *named)

    def release(self) -> None:
        """Let go of all that was kept."""
        for kept in self._shared.values():
            kept.unpersist()
        self._shared.clear()


def rows_of_runs(spark: SparkSession, runs: Paths) -> RunRows:
    """The rows of the runs in these folders, or in those that patterns match.

    Raises:
        RunError: a folder is not that of a run, or a pattern matches none.
        ScenarioError: this Tidegauge cannot read the scenario of a manifest.
    """
    found = runs_at(runs)
    manifests = {run.name: read_manifest(run.folder) for run in found}
    ends_us = {run.name: run.end_us() for run in found}
    rows, causes = partial(events, spark, found), partial(found_causes, spark, found)
    enumerations = {run.name: run.enumerations() for run in found}
    return RunRows(spark, rows, causes, manifests, ends_us, enumerations)
