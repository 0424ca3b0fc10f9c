"""The data source ``tidegauge``: traces of runs as DataFrames, for Spark's own ``read``.

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
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import LongType, StringType, StructField, StructType

from tidegauge.analysis import requests
from tidegauge.analysis.trace_parts import FilePart, find_frames, frames_of, parts_of
from tidegauge.traces.trace_file import Frame

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
    if name not in frame.packed:
        return pa.nulls(rows, pa.int64())
    return pa.array(frame.column(name)[which])


def schema_of(request: requests.TraceRequest, columns: tuple[str, ...] | list[str]) -> StructType:
    """Spark's types of these columns."""
    return StructType(
        [
            StructField(name, StringType() if request.is_text(name) else LongType())
            for name in columns
        ]
    )
