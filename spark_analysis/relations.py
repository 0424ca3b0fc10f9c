"""The relations that tables are made of, as sessions of Spark see them: here, or in files.

A small relation is an Arrow table of this process: as files it would cost a job and a listing, ten
times as long. A large one is Parquet in buckets of runs (``buckets.py``). A view that only one
query reads is a part of that query.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # the same
from pyspark.sql import DataFrame, SparkSession

from tidegauge.analysis.making.engine import TO_THE_LAST, sql_of
from tidegauge.analysis.tables.all_tables import VIEWS
from tidegauge.analysis.tables.dialect import SPARK, for_spark

#: Queries over fewer rows are interpreted, and their results come here. Generating code for a
#: query takes longer than looking through so many rows.
SMALL_ROWS = 50_000

#: The settings of a session whose queries are interpreted ...
_INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
#: ... and compiled.
_COMPILED = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}
_OF_BOTH = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    # Relations in buckets of runs are joined by run and partition without a shuffle.
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    "spark.sql.sources.bucketing.autoBucketedScan.enabled": "false",
    # Rows of traces take twenty times as much memory as disk; a table that seems small is sent to
    # all executors.
    "spark.sql.sources.fileCompressionFactor": "20",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.lightweightPlanChangeValidation": "false",
    # The text of a plan is for Spark's own pages; some have 300,000 characters.
    "spark.sql.maxPlanStringLength": "0",
}

#: Spark's types of columns, by Arrow's.
_TYPES = {
    "int32": "int",
    "int64": "bigint",
    "string": "string",
    "bool": "boolean",
    "double": "double",
}


class _Files(NamedTuple):
    """A relation in files."""

    #: Makes it known to a session.
    frame_in: Callable[[SparkSession], DataFrame]
    rows: int


class Relations:
    """Relations by their names, each for the sessions that need it."""

    def __init__(
        self, spark: SparkSession, graph: Mapping[str, tuple[str, ...]], buckets: int | None
    ) -> None:
        """Have two sessions beside that of the user, whose settings and views stay as they are.

        Args:
            spark: the session.
            graph: all relations, and the ones that the query of each reads.
            buckets: the number of buckets of runs in files; None: files are in no buckets.
        """
        self._spark = spark
        self._graph = graph
        #: The number of buckets of runs in files; None: files are in no buckets.
        self.buckets = buckets
        self._uses = Counter(needed for all_needed in graph.values() for needed in all_needed)
        #: In the catalog, which sessions share, the relations have this prefix.
        self._prefix = f"tidegauge_{uuid4().hex}_"
        self._tables: list[str] = []
        self._held: dict[str, Any] = {}
        partitions = {} if buckets is None else {"spark.sql.shuffle.partitions": str(buckets)}
        self._sessions = [
            _Session(spark, {**_OF_BOTH, **partitions, **settings})
            for settings in (_INTERPRETED, _COMPILED)
        ]

    @property
    def spark(self) -> SparkSession:
        """The session for large relations."""
        return self._sessions[1].spark

    def is_part_of_its_reader(self, name: str) -> bool:
        """Whether a relation is a view that one query reads, and about as large as its source."""
        return name in VIEWS and self._uses[name] == 1 and not VIEWS[name].is_small

    def is_read(self, name: str) -> bool:
        """Whether any query reads a relation."""
        return self._uses[name] > 0

    def hold(self, name: str, rows: Any) -> None:
        """Have a relation as an Arrow table."""
        # At a chunk without a row Spark stops reading, and loses those that follow.
        self._held[name] = rows.cast(_without_dictionaries(rows.schema)).combine_chunks()

    def have_files(self, name: str, folder: Path) -> None:
        """Have a relation in the Parquet files of a folder, each of a bucket if there are any."""
        files = list(folder.glob("*.parquet"))
        rows = sum(pq.read_metadata(file).num_rows for file in files)
        if self.buckets is None:
            self.have(name, lambda spark: spark.read.parquet(str(folder.absolute())), rows)
            return
        table = self._prefix + name
        columns = ", ".join(
            f"{field.name} {_type_of(field.type)}" for field in pq.read_schema(files[0])
        )
        self._sessions[0].spark.sql(
            f"create table {table} ({columns}) using parquet"
            f" clustered by (run) into {self.buckets} buckets location {_quoted(folder.absolute())}"
        )
        self._tables.append(table)
        self.have(name, lambda spark: spark.table(table), rows)

    def have(self, name: str, frame_in: Callable[[SparkSession], DataFrame], rows: int) -> None:
        """Have a relation of so many rows that is made in each session which needs it."""
        self._held[name] = _Files(frame_in, rows)

    def rows_of(self, name: str) -> int:
        """The number of rows of a relation, or of the largest one that a view reads."""
        held = self._held_of(name)
        if held is None:
            return max((self.rows_of(needed) for needed in self._graph[name]), default=0)
        return held.rows if isinstance(held, _Files) else len(held)

    def query(self, name: str) -> tuple[DataFrame, bool]:
        """The query of a relation over the others, and whether it reads small ones only."""
        is_small = max(self.rows_of(needed) for needed in self._graph[name]) <= SMALL_ROWS
        session = self._sessions[0 if is_small else 1]
        with session.lock:
            for needed in self._graph[name]:
                self._have_in(session, needed)
            return session.spark.sql(for_spark(sql_of(name) or "")), is_small

    def _have_in(self, session: "_Session", name: str) -> None:
        if name in session.known:
            return
        session.known.add(name)
        held = self._held_of(name)
        if held is None:
            for needed in self._graph[name]:
                self._have_in(session, needed)
            made = session.spark.sql(for_spark(sql_of(name) or ""))
        elif isinstance(held, _Files):
            made = held.frame_in(session.spark)
        else:
            made = session.spark.createDataFrame(held)
        if held is not None and name not in self._held:
            made = made.where("not liveness")
        made.createOrReplaceTempView(name)

    def _held_of(self, name: str) -> Any:
        """A relation, or all rows of a kind; None: it is a part of its reader."""
        return self._held.get(name, self._held.get(name + TO_THE_LAST))

    def release(self) -> None:
        """Forget all relations; their files stay."""
        for table in self._tables:
            self._sessions[0].spark.sql(f"drop table {table}")
        # PySpark takes the session that was made last for the active one, until another one is used
        # so: the user's has to be it again.
        self._spark.createDataFrame([], "nothing bigint")


class _Session:
    """A session, and the names of the relations that it knows as views."""

    def __init__(self, spark: SparkSession, settings: Mapping[str, str]) -> None:
        self.spark = spark.newSession()
        self.known: set[str] = set()
        self.lock = threading.Lock()
        for name, value in settings.items():
            self.spark.conf.set(name, value)
        for statement in SPARK:
            self.spark.sql(statement)


def _quoted(path: Path) -> str:
    """A path as a literal of Spark's SQL."""
    escaped = str(path).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _without_dictionaries(schema: Any) -> Any:
    """A schema in which texts are written out, as Spark takes them."""
    return pa.schema(
        [
            field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field
            for field in schema
        ]
    )


def _type_of(kind: Any) -> str:
    """Spark's type of Arrow's."""
    if pa.types.is_list(kind):
        return f"array<{_type_of(kind.value_type)}>"
    return _type_of(kind.value_type) if pa.types.is_dictionary(kind) else _TYPES[str(kind)]
