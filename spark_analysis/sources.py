"""The relations of runs that no query makes, as Parquet for Spark: a file for each bucket of runs.

Rows and their origins are read from traces where Spark has executors, a task for each bucket; small
traces in this process, while Java starts. The objects behind numbers come from manifests, and those
are read in this process, which has all that reading a scenario needs.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # the same
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # the same
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tidegauge.analysis.making.engine import TO_THE_LAST, sql_of
from tidegauge.analysis.requests import KINDS, FoundRun
from tidegauge.analysis.rows.exported_rows import ExportedFile, ExportedRows, columns_of, rows_in
from tidegauge.analysis.tables.topology import TOPOLOGY, Topology
from tidegauge.spark_analysis.buckets import bucket_file, error_of_bucket, in_buckets, write_bucket
from tidegauge.spark_analysis.relations import SMALL_ROWS, Relations
from tidegauge.traces.run_files import RunError

#: A file of Spark's own, with the number of the partition that it is of.
_PARTITION = re.compile(r"part-(\d{5})-\S+\.parquet", re.ASCII)


class Sources:
    """The relations of some runs, in a folder of their own."""

    def __init__(
        self,
        runs: Sequence[FoundRun],
        buckets: int,
        graph: Mapping[str, tuple[str, ...]],
        folder: Path,
        exported: ExportedRows | None = None,
    ) -> None:
        """Take the runs, the number of buckets, the relations in need, and the folder.

        All relations are read from exported rows, if there are any.
        """
        self._exported = exported
        self.buckets = buckets
        self.runs = in_buckets(runs, buckets)
        self.graph = graph
        self.folder = folder
        #: Apart: a table can have the name of a kind.
        self._folder_of_rows = folder / "rows"
        given = [name for name in graph if sql_of(name) is None]
        self._objects = [name for name in given if name in TOPOLOGY]
        self._rows = sorted({name.removesuffix(TO_THE_LAST) for name in given} - {*TOPOLOGY})

    def write(self) -> None:
        """Write rows and origins in this process.

        Raises:
            RunError, TraceError, OSError: a run cannot be read, or no file written.
        """
        for each in self.runs.items():
            write_bucket(each, self._rows, self._folder_of_rows, "here")

    def write_by(self, spark: SparkSession) -> None:
        """Write rows and origins, a task for each bucket.

        Raises:
            RunError: a run cannot be read.
            PySparkException: no file can be written.
        """
        rows, folder = self._rows, self._folder_of_rows

        def write(bucket: tuple[int, list[FoundRun]]) -> str | None:
            context = TaskContext.get()
            assert context is not None
            return error_of_bucket(bucket, rows, folder, f"task-{context.taskAttemptId()}")

        tasks = spark.sparkContext.parallelize([*self.runs.items()], len(self.runs))
        for error in tasks.map(write).collect():
            if error is not None:
                raise RunError(error)

    def give(self, relations: Relations) -> None:
        """Have all of them among the relations.

        Raises:
            RunError, ScenarioError, TraceError: a run cannot be read.
            RowsError: a relation was not exported.
        """
        if self._exported is not None:
            for name in (*self._objects, *self._rows):
                self._give_exported(name, self._exported, relations)
            return
        known = Topology([run for runs in self.runs.values() for run in runs])
        for name in self._objects:
            if len(known[name]) <= SMALL_ROWS:
                relations.hold(name, known[name])
            else:
                self.write_buckets(name, known[name])
                self.give_files(name, relations)
        for name in self._rows:
            self._give_files(_with_all(name), self._folder_of_rows / name, relations)

    def _give_exported(self, name: str, exported: ExportedRows, relations: Relations) -> None:
        """Have an exported relation: a small one here, a large one in buckets if there are any."""
        files = exported.files_of(name, [run for runs in self.runs.values() for run in runs])
        rows = sum(each.rows for each in files)
        if rows <= SMALL_ROWS:
            relations.hold(_with_all(name), rows_in(files, name))
        elif relations.buckets is None:
            relations.have(_with_all(name), lambda spark: _frame(spark, files, name), rows)
        else:
            folder = self._folder_of_rows / name
            made = _frame(relations.spark, files, name).repartition(relations.buckets, "run")
            made.write.parquet(str(folder))
            _name_buckets(folder)
            self._give_files(_with_all(name), folder, relations)

    def give_files(self, name: str, relations: Relations) -> None:
        """Have a relation among others that was written; a small one is read."""
        self._give_files(name, self.folder / name, relations)

    def _give_files(self, name: str, folder: Path, relations: Relations) -> None:
        if sum(pq.read_metadata(file).num_rows for file in folder.iterdir()) <= SMALL_ROWS:
            relations.hold(name, pq.read_table(folder, partitioning=None))
        else:
            relations.have_files(name, folder)

    def write_buckets(self, name: str, rows: Any) -> None:
        """Write a relation of this process."""
        folder = self.folder / name
        folder.mkdir(parents=True)
        for bucket, runs in self.runs.items():
            names = pa.array([run.name for run in runs])
            own = rows if len(self.runs) == 1 else rows.filter(pc.is_in(rows["run"], names))
            pq.write_table(own, bucket_file(folder, bucket), compression="zstd")

    def name_buckets(self, name: str) -> None:
        """Give the files that Spark has written the names of their buckets."""
        _name_buckets(self.folder / name)


def _name_buckets(folder: Path) -> None:
    for file in folder.iterdir():
        partition = _PARTITION.fullmatch(file.name)
        if partition is None:
            file.unlink()
        else:
            file.rename(bucket_file(folder, int(partition[1])))


def _with_all(name: str) -> str:
    """The name of a relation of runs, of which each row is there."""
    return name + TO_THE_LAST if name in KINDS else name


def _frame(spark: SparkSession, files: Sequence[ExportedFile], relation: str) -> DataFrame:
    """An exported relation, with the names that runs have here."""
    columns = columns_of(relation)
    names = {name: here for each in files for name, here in each.names.items()}
    frame = spark.read.parquet(*(str(each.file.absolute()) for each in files)).select(*columns)
    if any(each.has_others for each in files):
        frame = frame.where(f.col("run").isin([*names]))
    if all(name == here for name, here in names.items()):
        return frame
    here = spark.createDataFrame(pa.table([[*names], [*names.values()]], ["run", "here"]))
    renamed = frame.join(f.broadcast(here), "run").drop("run").withColumnRenamed("here", "run")
    return renamed.select(*columns)
