"""Spark makes result tables: of sweeps, of many runs, on clusters.

Small traces have a way of their own (``small_runs.py``). All canonical rows of a large run are read
at once, as it takes a third of a second to begin to read. There is one job for each table; one that
others read is read back from its files, instead of made again within their queries.
"""

# ruff: noqa: S608 - queries are put together from texts of these rooms

import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it comes without types
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tidegauge.analysis.making import engine
from tidegauge.analysis.making.written_tables import nothing
from tidegauge.analysis.requests import CANONICAL, KINDS, VALUES, FoundRun
from tidegauge.analysis.tables.all_tables import TABLES, VIEWS
from tidegauge.analysis.tables.dialect import SPARK, for_spark
from tidegauge.analysis.tables.result_table import ResultTable
from tidegauge.analysis.tables.topology import TOPOLOGY, Topology
from tidegauge.spark_analysis.cluster import check_disk, is_cluster
from tidegauge.spark_analysis.events import events
from tidegauge.spark_analysis.session import FOR_ANALYSIS, FOR_QUICK_START, spark_session
from tidegauge.spark_analysis.small_runs import SmallRuns, in_order
from tidegauge.spark_analysis.trace_source import found_causes
from tidegauge.traces.run_files import trace_files

#: For traces longer than this, some ten million rows, Java's optimizing compiler pays off.
_LARGE_BYTES = 50_000_000

#: Small traces: interpreting each query takes less time than compiling it. Quickstart's tables take
#: half as long.
FOR_SMALL = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    # Each aggregate, sort and window takes a page for itself: with pages of 64 MB, as such a heap
    # has by default, most of the time went into clearing them.
    "spark.buffer.pageSize": "1m",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.lightweightPlanChangeValidation": "false",
}

_ORDER = ("time_us", "process", "sequence", "minor")

#: All canonical rows, with their own columns by place: each kind is a filter over it.
_ROWS = "canonical_rows"


@contextmanager
def spark_engine(runs: Sequence[FoundRun], cores: int | None = None) -> Iterator[engine.Engine]:
    """An engine with a session of Spark that suits these runs, while the context lasts.

    Spark is started for the first missing table: tables that are there need none.

    Args: runs: the runs whose tables it is to make. cores: the number of this machine's cores for
    Spark; None: all.

    Raises:
        JavaError: no suitable Java for Spark was found.
    """
    is_large = trace_bytes_of(runs) > _LARGE_BYTES
    options = FOR_ANALYSIS if is_large else FOR_QUICK_START
    settings = {} if is_large else FOR_SMALL
    with ExitStack() as stack:
        session = spark_session(cores, java_options=options, settings=settings)
        yield _StartedLater(lambda: SparkEngine(stack.enter_context(session)))


def trace_bytes_of(runs: Sequence[FoundRun]) -> int:
    """The size of all trace files of runs."""
    return sum(file.stat().st_size for run in runs for file in trace_files(run.folder))


class _StartedLater:
    """An engine that is started when it is needed."""

    def __init__(self, start: Callable[[], engine.Engine]) -> None:
        self._start = start

    @cached_property
    def write(self) -> Callable[..., None]:
        """:meth:`Engine.write` of the engine that is started by now."""
        return self._start().write


class SparkEngine:
    """Makes tables by Spark."""

    def __init__(self, spark: SparkSession) -> None:
        """Take a session."""
        self._spark = spark
        for statement in SPARK:
            spark.sql(statement)

    def write(
        self,
        runs: Sequence[FoundRun],
        tables: Sequence[ResultTable],
        files: Callable[[FoundRun, ResultTable], Path],
        begins: Callable[[str], None],
    ) -> None:
        """Make tables of runs, as :meth:`Engine.write`.

        Raises:
            RunError: an executor does not see the folders of runs or tables.
        """
        draft = files(runs[0], tables[0]).parent.parent
        if is_cluster(self._spark):
            check_disk(self._spark, draft, [run.folder for run in runs])
        by_name = {table.name: table for table in tables}
        if trace_bytes_of(runs) <= _LARGE_BYTES and not is_cluster(self._spark):
            SmallRuns(self._spark, runs).write(by_name, files, begins)
            return
        making = _Making(self._spark, runs, draft)
        try:
            for name in making.prepared(by_name):
                begins(name)
                making.write(by_name[name])
            for table in tables:
                making.put(table, files)
        finally:
            making.release()


class _Making:
    """Temporary views in a session, made one by one."""

    def __init__(self, spark: SparkSession, runs: Sequence[FoundRun], draft: Path) -> None:
        self._spark = spark
        self._runs = runs
        self._together = draft / "together"
        self._kept: list[DataFrame] = []
        self._views: list[str] = []
        self._topology = Topology(runs)

    def prepared(self, wanted: Sequence[str] | dict[str, ResultTable]) -> Iterator[str]:
        """Each wanted table as soon as all that it needs is there."""
        order = list(engine.in_making_order(wanted))
        self._read = {needed for name in order for needed in engine.needed_by(name)}
        uses = Counter(needed for name in order for needed in engine.needed_by(name))
        kinds = {name.removesuffix(engine.TO_THE_LAST) for name in order} & CANONICAL.keys()
        if kinds:
            self._read_canonical(kinds)
        for name in order:
            if name in wanted:
                yield name
            else:
                self._make(name, is_kept=uses[name] > 1)

    def _make(self, name: str, *, is_kept: bool) -> None:
        sql = engine.sql_of(name)
        if name in TOPOLOGY:
            made = self._spark.createDataFrame(self._topology[name])
        elif name == engine.CAUSES:
            made = found_causes(self._spark, self._runs)
        elif sql is None:
            made, is_kept = self._kind(name), False
        else:
            made = self._spark.sql(for_spark(sql))
        if is_kept and (name in VIEWS or name in TABLES or name == engine.CAUSES):
            self._kept.append(made.persist())
        self._have(name, made)

    def _have(self, name: str, made: DataFrame) -> None:
        made.createOrReplaceTempView(name)
        self._views.append(name)

    def _read_canonical(self, kinds: set[str]) -> None:
        """Read all canonical rows at once: it takes a third of a second to begin to read."""
        values = VALUES[: max(len(CANONICAL[kind].columns) for kind in kinds)]
        wanted = ("run", "kind", *_ORDER, *values)
        rows = events(self._spark, self._runs, kind=sorted(kinds), columns=wanted)
        self._kept.append(rows.persist())
        self._have(_ROWS, rows)

    def _kind(self, name: str) -> DataFrame:
        kind = name.removesuffix(engine.TO_THE_LAST)
        columns = KINDS[kind].columns
        if kind in CANONICAL:
            own = [f"{VALUES[place]} as {column}" for place, column in enumerate(columns)]
            source = f"(select * from {_ROWS} where kind = '{kind}')"
            listed = ", ".join(("run", *_ORDER, *own))
            rows = self._spark.sql(f"select {listed} from {source} as r")
        else:
            rows = events(self._spark, self._runs, kind=kind, columns=("run", *_ORDER, *columns))
        if name.endswith(engine.TO_THE_LAST):
            return rows
        ends = self._spark.createDataFrame(self._topology["runs"])
        return rows.join(f.broadcast(ends), "run").where("time_us < ends_us").drop("ends_us")

    def write(self, table: ResultTable) -> None:
        """Write a table of all runs, and have it for others that read it."""
        made = self._spark.sql(for_spark(table.documented))
        folder, order = self._together / table.name, in_order(table)
        if len(self._runs) == 1:
            # A partition costs a sort and a name; one file is enough.
            folder /= _folder_of(self._runs[0])
            made.coalesce(1).sortWithinPartitions(order).drop("run").write.parquet(str(folder))
        else:
            # A run can be called anything, and Spark has its own mind about names of folders.
            by_run = made.withColumn("_run", f.sha2("run", 256)).repartition("_run")
            by_run = by_run.sortWithinPartitions(["_run", *order]).drop("run")
            by_run.write.partitionBy("_run").parquet(str(folder))
        if table.name in self._read:
            self._have(table.name, self._read_back(table, folder))

    def _read_back(self, table: ResultTable, folder: Path) -> DataFrame:
        schema = ", ".join(f"{name} {kind}" for name, kind, *_ in table.columns if name != "run")
        columns = [each.name for each in table.columns]
        if len(self._runs) == 1:
            one = self._spark.read.schema(schema).parquet(str(folder))
            return one.withColumn("run", f.lit(self._runs[0].name)).select(*columns)
        read = self._spark.read.schema(f"{schema}, _run string").parquet(str(folder))
        names = [(_hashed(run), run.name) for run in self._runs]
        runs = self._spark.createDataFrame(names, "_run string, run string")
        return read.join(f.broadcast(runs), "_run").select(*columns)

    def put(self, table: ResultTable, files: Callable[[FoundRun, ResultTable], Path]) -> None:
        """Give each run its files; a run without a row gets an empty one."""
        for run in self._runs:
            written = self._together / table.name / _folder_of(run)
            place = files(run, table)
            place.parent.mkdir(exist_ok=True)
            if written.exists():
                written.rename(place)
            else:
                place.mkdir()
                pq.write_table(nothing(table), place / "part-0.parquet")

    def release(self) -> None:
        """Let go of all that was kept."""
        for kept in self._kept:
            kept.unpersist()
        for name in self._views:
            self._spark.catalog.dropTempView(name)
        shutil.rmtree(self._together, ignore_errors=True)


def _folder_of(run: FoundRun) -> str:
    return f"_run={_hashed(run)}"


def _hashed(run: FoundRun) -> str:
    return hashlib.sha256(run.name.encode()).hexdigest()
