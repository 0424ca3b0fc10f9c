"""The data source ``tidegauge-causes``: the origins of rows, found where the rows are read.

Its only option is ``paths``, as that of the data source ``tidegauge``. A run is one task.

The data source ``tidegauge``: traces of runs as DataFrames, for Spark's own ``read``.

.. code-block:: python

    spark.dataSource.register(TidegaugeTrace)
    spark.read.format("tidegauge").option("kind", "isr_shrunk").load("runs/*")

==============  ===========================================================================
option          meaning
==============  ===========================================================================
``kind``        rows of this kind only, with its own columns
``kinds``       rows of these kinds only (names with commas), with columns that all have
``from_us``     only rows from this virtual time on, in microseconds
``to_us``       only rows before this virtual time
``within_run``  ``true``: without the rows of the liveness phase, which comes after the run
``part_bytes``  about so many bytes of frames are read by one task; 4,000,000 by default
==============  ===========================================================================

``analysis/requests.py`` lists the columns; ``.schema("run STRING, time_us BIGINT, isr BIGINT")``
requests some of them, and the others are not even unpacked. ``events.py`` has all of that in one
call.

An unfinished run is read up to its state when its DataFrame was first used: to see more, load it
again. There is no ``pushFilters``: in Spark 4.3.0, where one DataFrame is used twice in a query,
the filters of one use apply to both.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import LongType, StringType, StructField, StructType

from tidegauge.analysis import requests
from tidegauge.analysis.attribution import arrow_of_causes
from tidegauge.analysis.trace_parts import FilePart, find_frames, frames_of, parts_of
from tidegauge.traces.trace_file import Frame

CAUSES_FORMAT = "tidegauge-causes"

_SCHEMA = """
    run string, process bigint, sequence bigint, time_us bigint, partition bigint, effect string,
    trigger_process bigint, trigger_us bigint, trigger_kind string,
    faults array<bigint>, fault bigint, fault_name string, fault_us bigint, reason string
"""


def found_causes(spark: SparkSession, path: requests.Paths) -> DataFrame:
    """The origins of the rows of the kinds in :data:`tidegauge.analysis.causes.FOLLOWED`.

    The columns are those of :func:`tidegauge.analysis.attribution.arrow_of_causes`.

    Args:
        spark: the session.
        path: folders of runs, or patterns of such folders.

    Raises:
        RunError: a folder is not that of a run, or a pattern matches none.
    """
    requests.runs_at(path)
    spark.dataSource.register(TidegaugeCauses)
    return spark.read.format(CAUSES_FORMAT).options(**requests.TraceRequest(path).options()).load()


class TidegaugeCauses(DataSource):
    """The origins of rows, as a data source of Spark."""

    @classmethod
    def name(cls) -> str:
        """The name for ``spark.read.format``."""
        return CAUSES_FORMAT

    def schema(self) -> str:
        """The columns of :func:`found_causes`."""
        return _SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - it has but one
        """The reader of the data source."""
        return CauseReader(requests.request_of(self.options))


class CauseReader(DataSourceReader):
    """Follows the links of each run."""

    def __init__(self, request: requests.TraceRequest) -> None:
        """Take the paths of a request."""
        self._paths = request.paths

    def partitions(self) -> list[InputPartition]:
        """The runs, each a task."""
        return [InputPartition(run) for run in requests.runs_at(self._paths)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The origins of the rows of one run."""
        run: requests.FoundRun = partition.value
        yield from arrow_of_causes(run).to_batches()


#: The name of the data source in ``spark.read.format``.
FORMAT = "tidegauge"


class TidegaugeTrace(DataSource):
    """The traces of runs, as a data source of Spark."""

    @classmethod
    def name(cls) -> str:
        """The name for ``spark.read.format``."""
        return FORMAT

    def schema(self) -> StructType:
        """The columns unless the reader is given a schema."""
        request = requests.request_of(self.options)
        return schema_of(request, request.columns)

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of rows with the columns of the schema."""
        return TraceReader(requests.request_of(self.options), schema)


class TraceReader(DataSourceReader):
    """Reads the requested rows, frame by frame."""

    def __init__(self, request: requests.TraceRequest, schema: StructType) -> None:
        """Take a request.

        Raises:
            RequestError: the schema has an unknown column, or one of another type.
        """
        request.check_columns(schema.names)
        for wanted, there in zip(schema, schema_of(request, schema.names), strict=True):
            if wanted.dataType != there.dataType:
                raise requests.RequestError(
                    f"column {wanted.name!r} is {there.dataType.simpleString()},"
                    f" not {wanted.dataType.simpleString()}"
                )
        self._request = request
        self._columns = [(each.name, each.nullable) for each in schema]

    def partitions(self) -> list[InputPartition]:
        """The frames, by task."""
        files = find_frames(self._request)
        parts = parts_of(files, self._request.part_bytes)
        # Without any, Spark would have one of its own making read.
        return [InputPartition(part) for part in parts or [[]]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task: a batch for each frame."""
        schema = pa.schema(
            pa.field(name, pa.string() if self._request.is_text(name) else pa.int64(), nullable)
            for name, nullable in self._columns
        )
        for piece, frame in frames_of(partition.value):
            which = piece.times.rows_of(frame)
            rows = frame.rows if isinstance(which, slice) else int(which.sum())
            columns = [
                _text(piece, frame, field.name, rows)
                if self._request.is_text(field.name)
                else _numbers(frame, field.name, which, rows)
                for field in schema
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _text(piece: FilePart, frame: Frame, name: str, rows: int) -> pa.Array:
    return pa.repeat(piece.run if name == "run" else frame.kind.name, rows)


def _numbers(frame: Frame, name: str, which: NDArray[np.bool_] | slice, rows: int) -> pa.Array:
    own = requests.own_column(frame.kind.name, name)
    if own is None or own not in frame.packed:
        return pa.nulls(rows, pa.int64())
    return pa.array(frame.column(own)[which])


def schema_of(request: requests.TraceRequest, columns: tuple[str, ...] | list[str]) -> StructType:
    """Spark's types of these columns."""
    return StructType(
        [
            StructField(name, StringType() if request.is_text(name) else LongType())
            for name in columns
        ]
    )
