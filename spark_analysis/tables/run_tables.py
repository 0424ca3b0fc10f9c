"""The result tables of some runs for questions and reports, made when needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from tidegauge.spark_analysis.cluster import check_disk, is_cluster
from tidegauge.spark_analysis.events import runs as runs_themselves
from tidegauge.spark_analysis.run_paths import FoundRun, Paths, runs_at
from tidegauge.spark_analysis.session import FOR_ANALYSIS, FOR_QUICK_START, spark_session
from tidegauge.spark_analysis.tables.run_rows import RunRows, rows_of_runs
from tidegauge.spark_analysis.tables.written_tables import made_of, read_table, write_tables
from tidegauge.traces.run_files import trace_files

#: For traces longer than this, some ten million rows, Java's optimizing compiler pays off.
_LARGE_BYTES = 50_000_000


class RunTables:
    """The result tables of some runs, in a folder."""

    def __init__(self, spark: SparkSession, runs: Paths, folder: Path) -> None:
        """Find the runs; no table is made yet.

        Args:
            spark: the session.
            runs: folders of runs, or patterns of such folders.
            folder: the folder of the tables; executors must see it, too.

        Raises:
            RunError: a folder is not that of a run, or a pattern matches none.
        """
        self.spark = spark
        self.folder = folder
        self.runs = runs_at(runs)
        self._read: dict[str, DataFrame] = {}
        self._made_of = made_of(self.runs)
        self._disk_is_shared = not is_cluster(spark)

    def make(self, names: Iterable[str], begins: Callable[[str], None] = lambda _: None) -> None:
        """Make the missing ones of these tables, which is faster together than one by one.

        Args:
            names: the names of the tables.
            begins: called with the name of each missing table as its making begins.

        Raises:
            KeyError, RunError, ScenarioError, OSError: as :func:`write_tables`.
        """
        if not self._disk_is_shared:
            check_disk(self.spark, self.folder, [run.folder for run in self.runs])
            self._disk_is_shared = True
        write_tables(self.spark, self._made_of, self.folder, names, begins)

    def of(self, run: FoundRun) -> RunTables:
        """The tables of one of these runs, of its trace as it was when they were begun."""
        one = RunTables(self.spark, [run], self.folder)
        one._made_of = {run: self._made_of[run]}
        return one

    def __getitem__(self, name: str) -> DataFrame:
        """A table of these runs, with the columns in ``TABLES.md``; made if it is missing.

        Raises:
            KeyError, RunError, ScenarioError, OSError: as :meth:`make`.
        """
        if name not in self._read:
            self.make([name])
            self._read[name] = read_table(self.spark, self.folder, name, self.runs)
        return self._read[name]

    def about(self) -> DataFrame:
        """The runs themselves, a row for each: :func:`tidegauge.spark_analysis.events.runs`."""
        return runs_themselves(self.spark, self.runs)

    def rows(self) -> RunRows:
        """The rows of the traces themselves, for questions that no table answers.

        Raises:
            RunError, ScenarioError: as :func:`rows_of_runs`.
        """
        return rows_of_runs(self.spark, self.runs)


@contextmanager
def tables_of(runs: Paths, folder: Path, cores: int | None = None) -> Iterator[RunTables]:
    """The tables of runs, with a session of Spark, while the context lasts.

    Args:
        runs: folders of runs, or patterns of such folders.
        folder: the folder of the tables.
        cores: how many of this machine Spark uses; None: all.

    Raises:
        JavaError: no suitable Java for Spark was found.
        RunError: a folder is not that of a run, or a pattern matches none.
    """
    found = runs_at(runs)
    trace_bytes = sum(file.stat().st_size for run in found for file in trace_files(run.folder))
    options = FOR_ANALYSIS if trace_bytes > _LARGE_BYTES else FOR_QUICK_START
    with spark_session(cores, java_options=options) as spark:
        # Spark's Java stays in the working directory in which it was started.
        yield RunTables(spark, found, folder.absolute())
