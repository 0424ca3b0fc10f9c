"""Tables of small traces: their rows come from this process, and so do the files.

For small traces nearly all of Spark's time is fixed: planning each query again with all that its
views are made of, generating classes, a job for each file. So each relation is made once, comes
here as Arrow, and goes back as a relation without a past; two are made at a time. Quickstart's 27
tables take a third of the time that they took with views in views and Spark's own writer.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # the same
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # the same
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as f

from tidegauge.analysis.making.engine import CAUSES, TraceRelations, graph_of, sql_of
from tidegauge.analysis.requests import FoundRun
from tidegauge.analysis.tables.dialect import for_spark
from tidegauge.analysis.tables.result_table import ResultTable
from tidegauge.analysis.tables.topology import TOPOLOGY, Topology, ends_us_of

#: Relations that are made at the same time.
_AT_ONCE = 2
_FILE = "part-0.parquet"


class SmallRuns:
    """Makes the tables of runs whose traces are small, relation by relation."""

    def __init__(self, spark: SparkSession, runs: Sequence[FoundRun]) -> None:
        """Take the runs.

        Raises:
            RunError, TraceError: a run cannot be read.
        """
        self._spark = spark
        self._runs = runs
        self._topology = Topology(runs)
        self._rows = TraceRelations(runs, ends_us_of(self._topology))

    def write(
        self,
        tables: Mapping[str, ResultTable],
        files: Callable[[FoundRun, ResultTable], Path],
        begins: Callable[[str], None],
    ) -> None:
        """Make tables, as :meth:`Engine.write`."""
        graph = graph_of(tables)
        read = {needed for all_needed in graph.values() for needed in all_needed}
        order = TopologicalSorter(graph)
        order.prepare()
        making: dict[Future[None], str] = {}
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            while order.is_active():
                for name in order.get_ready():
                    table = tables.get(name)
                    work = threads.submit(self._make, name, table, files, is_read=name in read)
                    making[work] = name
                done, _ = wait(making, return_when=FIRST_COMPLETED)
                for work in done:
                    name = making.pop(work)
                    work.result()
                    if name in tables:
                        begins(name)
                    order.done(name)
        for name in read:
            self._spark.catalog.dropTempView(name)

    def _make(
        self,
        name: str,
        table: ResultTable | None,
        files: Callable[[FoundRun, ResultTable], Path],
        *,
        is_read: bool,
    ) -> None:
        made = self._arrow(name, [] if table is None else in_order(table))
        if is_read:
            # At a chunk without a row Spark stops reading, and loses those that follow.
            relation = self._spark.createDataFrame(made.combine_chunks())
            relation.createOrReplaceTempView(name)
        if table is not None:
            for run in self._runs:
                place = files(run, table)
                place.mkdir(parents=True)
                own = made.filter(pc.equal(made["run"], run.name)).drop_columns(["run"])
                pq.write_table(own, place / _FILE)

    def _arrow(self, name: str, order: Sequence[Column]) -> Any:
        sql = sql_of(name)
        if name in TOPOLOGY:
            return self._topology[name]
        if name == CAUSES:
            return self._rows.causes()
        if sql is None:
            return pa.concat_tables(
                rows.add_column(0, "run", pa.repeat(run, len(rows)))
                for run, rows in self._rows.rows(name)
            )
        made = self._spark.sql(for_spark(sql))
        return (made.orderBy(*order) if order else made).toArrow()


def in_order(table: ResultTable) -> list[Column]:
    """The order of a table's rows in its files."""
    return [f.col(name).asc_nulls_last() for name in table.order]
