"""Spark makes result tables: of sweeps, of many runs, on clusters.

First rows become Parquet in buckets of runs, and from there on no Python is between Spark and the
data (``sources.py``). Relations are then made three at a time, each once those that it needs are
there (``relations.py``). Nothing is kept in executors, so that one may die.
"""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # the same
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as f

from tidegauge.analysis.making import engine
from tidegauge.analysis.making.engine_choice import is_submitted
from tidegauge.analysis.making.grouped_files import part_file
from tidegauge.analysis.requests import FoundRun
from tidegauge.analysis.rows.exported_rows import ExportedRows
from tidegauge.analysis.tables.result_table import ResultTable
from tidegauge.analysis.tables.topology import ARROW_TYPES
from tidegauge.spark_analysis.buckets import bucket_file
from tidegauge.spark_analysis.cluster import check_disk, is_cluster
from tidegauge.spark_analysis.relations import Relations
from tidegauge.spark_analysis.session import FOR_ANALYSIS, FOR_QUICK_START, spark_session
from tidegauge.spark_analysis.sources import Sources
from tidegauge.traces.run_files import MANIFEST, trace_bytes_of

#: For traces longer than this, some twenty million rows, Java's optimizing compiler pays off.
_LARGE_BYTES = 50_000_000

#: The traces of a bucket: some four million rows, of which tables read a third.
_BUCKET_BYTES = 10_000_000

#: With fewer runs for each bucket, some buckets would have most of them.
_RUNS_OF_A_BUCKET = 4

#: Relations that are made at the same time: while one is planned, another one uses the cores.
_AT_ONCE = 3

#: Each aggregate, sort and window takes a page for itself: with pages of 64 MB, as such a heap has
#: by default, most of the time went into clearing them.
_SETTINGS = {"spark.buffer.pageSize": "1m"}


@contextmanager
def spark_engine(
    runs: Sequence[FoundRun], cores: int | None = None, rows: ExportedRows | None = None
) -> Iterator[engine.Engine]:
    """An engine with a session of Spark that suits these runs, while the context lasts.

    Spark is started for the first missing table: tables that are there need none.

    Args:
        runs: the runs whose tables it is to make.
        cores: the number of this machine's cores for Spark; None: all.
        rows: the exported rows of the runs, to be read in place of their traces.

    Raises:
        JavaError: no suitable Java for Spark was found.
    """
    is_large = sum(trace_bytes_of(run.folder) for run in runs) > _LARGE_BYTES
    options = FOR_ANALYSIS if is_large else FOR_QUICK_START
    with ExitStack() as stack:
        session = spark_session(cores, java_options=options, settings=_SETTINGS)
        yield SparkEngine(lambda: stack.enter_context(session), cores, rows)


class SparkEngine:
    """Makes tables by Spark."""

    def __init__(
        self,
        start: Callable[[], SparkSession],
        cores: int | None = None,
        rows: ExportedRows | None = None,
    ) -> None:
        """Take what starts the session for the first missing table, and its number of cores.

        Exported rows are read in place of traces.
        """
        self._rows = rows
        self._start = start
        self._cores = cores or os.cpu_count() or 1
        self._spark: SparkSession | None = None

    def write(
        self,
        runs: Sequence[FoundRun],
        tables: Sequence[ResultTable],
        folder: Path,
        begins: Callable[[str], None],
    ) -> list[list[FoundRun]]:
        """Make tables of runs, as :meth:`Engine.write`.

        Raises:
            RunError: an executor does not see the folders of runs or tables.
        """
        by_name = {table.name: table for table in tables}
        trace_bytes = sum(trace_bytes_of(run.folder) for run in runs)
        buckets = max(self._cores, math.ceil(trace_bytes / _BUCKET_BYTES))
        graph = engine.graph_of(by_name)
        sources = Sources(runs, buckets, graph, folder / "sources", self._rows)
        spark = self._with_rows(sources, folder, is_small=trace_bytes <= _LARGE_BYTES)
        making = _Making(spark, sources, folder)
        try:
            making.write(by_name, begins)
        finally:
            making.relations.release()
        return list(sources.runs.values())

    def _with_rows(self, sources: Sources, folder: Path, *, is_small: bool) -> SparkSession:
        """The session, once the rows of all traces are Parquet."""
        if is_small and not is_submitted() and self._rows is None:
            # The driver has read small traces by the time at which Java is ready.
            with ThreadPoolExecutor(1) as meanwhile:
                written = meanwhile.submit(sources.write)
                spark = self._started()
                written.result()
            return spark
        spark = self._started()
        if is_cluster(spark):
            runs = [run for of_bucket in sources.runs.values() for run in of_bucket]
            check_disk(spark, folder, self._files_to_read(runs))
        if self._rows is None:
            sources.write_by(spark)
        return spark

    def _files_to_read(self, runs: Sequence[FoundRun]) -> list[Path]:
        """A file of each folder that executors read."""
        if self._rows is None:
            return [run.folder / MANIFEST for run in runs]
        return [self._rows.file]

    def _started(self) -> SparkSession:
        if self._spark is None:
            self._spark = self._start()
        return self._spark


class _Making:
    """Relations made one by one."""

    def __init__(self, spark: SparkSession, sources: Sources, folder: Path) -> None:
        self._sources = sources
        self._folder = folder
        self._context = spark.sparkContext
        #: Of all jobs of this making.
        self._tag = f"tidegauge-{uuid4().hex}"
        run_count = sum(map(len, sources.runs.values()))
        #: Of few runs, buckets would leave most cores idle: Spark divides their rows itself.
        self._is_bucketed = run_count >= _RUNS_OF_A_BUCKET * sources.buckets
        buckets = sources.buckets if self._is_bucketed else None
        self.relations = Relations(spark, sources.graph, buckets)

    def write(self, tables: Mapping[str, ResultTable], begins: Callable[[str], None]) -> None:
        """Write these tables."""
        self._sources.give(self.relations)
        order = TopologicalSorter(self._sources.graph)
        order.prepare()
        making: dict[Future[None], str] = {}
        ready: list[str] = []
        with ThreadPoolExecutor(_AT_ONCE) as threads, self._stopped_early():
            while order.is_active():
                for name in order.get_ready():
                    if engine.sql_of(name) is None or self.relations.is_part_of_its_reader(name):
                        order.done(name)
                    else:
                        ready.append(name)
                # The largest first: it would take the longest alone, with others waiting for it.
                ready.sort(key=self.relations.rows_of)
                while ready and len(making) < _AT_ONCE:
                    name = ready.pop()
                    making[threads.submit(self._make, name, tables.get(name))] = name
                    if name in tables:
                        begins(name)
                if making:
                    for work in wait(making, return_when=FIRST_COMPLETED).done:
                        work.result()
                        order.done(making.pop(work))
        for table in tables.values():
            self._put_files(table)

    @contextmanager
    def _stopped_early(self) -> Iterator[None]:
        """After an error or Ctrl-C, no thread waits for a job that nobody needs."""
        try:
            yield
        except BaseException:
            self._context.cancelJobsWithTag(self._tag)
            raise

    def _make(self, name: str, table: ResultTable | None) -> None:
        # It is of this thread, and stays: the threads are for these relations alone.
        self._context.addJobTag(self._tag)
        made, is_small = self.relations.query(name)
        order = [] if table is None else in_order(table)
        if is_small:
            one = made.coalesce(1).sortWithinPartitions(*order) if order else made
            self._have(name, one.toArrow(), table)
            return
        if self._is_bucketed or table is not None:
            made = made.repartition(self._sources.buckets, "run")
        if order:
            made = made.sortWithinPartitions(*order)
        made.write.parquet(str(self._sources.folder / name))
        self._sources.name_buckets(name)
        if self.relations.is_read(name):
            self._sources.give_files(name, self.relations)

    def _have(self, name: str, rows: Any, table: ResultTable | None) -> None:
        """Have a relation that has come here, and write it if it is a table."""
        if self.relations.is_read(name):
            self.relations.hold(name, rows)
        if table is not None:
            self._sources.write_buckets(name, rows)

    def _put_files(self, table: ResultTable) -> None:
        """Give the parts of a table their names; runs without a row get an empty part."""
        for number, bucket in enumerate(self._sources.runs):
            written = bucket_file(self._sources.folder / table.name, bucket)
            part = part_file(self._folder, table.name, number)
            part.parent.mkdir(exist_ok=True)
            if written.exists():
                written.replace(part)
            else:
                pq.write_table(_nothing(table), part)


def _nothing(table: ResultTable) -> Any:
    """A table without a row, as an Arrow table."""
    return pa.schema([(each.name, ARROW_TYPES[each.type]) for each in table.columns]).empty_table()


def in_order(table: ResultTable) -> list[Column]:
    """The order of a table's rows in its files."""
    return [f.col(name).asc_nulls_last() for name in table.order]
