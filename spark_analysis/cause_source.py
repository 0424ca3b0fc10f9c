"""The data source ``tidegauge-causes``: the origins of rows, found where the rows are read.

Its only option is ``paths``, as that of the data source ``tidegauge``. A run is one task.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from tidegauge.analysis.cause_table import arrow_of_causes
from tidegauge.analysis.requests import TraceRequest, request_of
from tidegauge.analysis.run_paths import FoundRun, Paths, runs_at

FORMAT = "tidegauge-causes"

_SCHEMA = """
    run string, process bigint, sequence bigint, time_us bigint, partition bigint, effect string,
    trigger_process bigint, trigger_us bigint, trigger_kind string,
    faults array<bigint>, fault bigint, fault_name string, fault_us bigint, reason string
"""


def found_causes(spark: SparkSession, path: Paths) -> DataFrame:
    """The origins of the rows of the kinds in :data:`tidegauge.analysis.causes.FOLLOWED`.

    The columns are those of :func:`tidegauge.analysis.cause_table.arrow_of_causes`.

    Args:
        spark: the session.
        path: folders of runs, or patterns of such folders.

    Raises:
        RunError: a folder is not that of a run, or a pattern matches none.
    """
    runs_at(path)
    spark.dataSource.register(TidegaugeCauses)
    return spark.read.format(FORMAT).options(**TraceRequest(path).options()).load()


class TidegaugeCauses(DataSource):
    """The origins of rows, as a data source of Spark."""

    @classmethod
    def name(cls) -> str:
        """The name for ``spark.read.format``."""
        return FORMAT

    def schema(self) -> str:
        """The columns of :func:`found_causes`."""
        return _SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - it has but one
        """The reader of the data source."""
        return CauseReader(request_of(self.options))


class CauseReader(DataSourceReader):
    """Follows the links of each run."""

    def __init__(self, request: TraceRequest) -> None:
        """Take the paths of a request."""
        self._paths = request.paths

    def partitions(self) -> list[InputPartition]:
        """The runs, each a task."""
        return [InputPartition(run) for run in runs_at(self._paths)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The origins of the rows of one run."""
        run: FoundRun = partition.value
        yield from arrow_of_causes(run).to_batches()
