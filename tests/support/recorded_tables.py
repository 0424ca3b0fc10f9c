"""What tests of result tables share: which runs there are, tables as dicts, rows that are bent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from tidegauge.analysis.requests import own_column
from tidegauge.analysis.tables.all_tables import TABLES
from tidegauge.analysis.tables.run_rows import RunRows
from tidegauge.spark_analysis.cause_source import found_causes
from tidegauge.spark_analysis.events import events
from tidegauge.traces.run_folder import RunFolder

#: The names of the runs that are recorded.
RUNS = ("quickstart", "rack-power-loss", "schedule")

#: Draws a schedule with nine faults, in which records are lost.
WILD_SEED = 5

Row = dict[str, Any]


#: Tables that a test has asked for: making one takes longer than all that is held against it.
_MADE: WeakKeyDictionary[RunRows, dict[str, list[Row]]] = WeakKeyDictionary()


def table(rows: RunRows, name: str, run: str | None = None) -> list[Row]:
    """A table, of one run or of all, in the order of its columns."""
    made = _MADE.setdefault(rows, {})
    if name not in made:
        found: list[Row] = TABLES[name].of(rows).toArrow().to_pylist()
        made[name] = sorted(found, key=lambda row: [(each is None, each) for each in row.values()])
    return [row for row in made[name] if run is None or row["run"] == run]


def figures(rows: RunRows, run: str) -> Row:
    """The figures of a run."""
    (found,) = table(rows, "run_figures", run)
    return dict(found)


def bent(
    spark: SparkSession, run: RunFolder, bends: Mapping[str, Callable[[DataFrame], DataFrame]]
) -> RunRows:
    """The rows of a run, those of some kinds otherwise than they were recorded."""

    def bent_rows(kind: str, within_run: bool) -> DataFrame:
        # A bend may look at any column.
        return bends[kind](events(spark, run.path, kind, within_run=within_run))

    def rows(*, kind: str | Sequence[str], columns: Sequence[str], within_run: bool) -> DataFrame:
        if isinstance(kind, str) and kind in bends:
            return bent_rows(kind, within_run).select(*columns)
        found = events(spark, run.path, kind, columns, within_run=within_run)
        for name in {*bends} & {*kind}:
            ours = bent_rows(name, within_run).select(*(_by_place(name, c) for c in columns))
            found = found.where(f.col("kind") != name).unionByName(ours)
        return found

    causes = partial(found_causes, spark, run.path)
    name = run.path.name
    return RunRows(
        spark,
        rows,
        causes,
        {name: run.manifest},
        {name: run.end_us},
        {name: run.enumerations},
    )


def _by_place(kind: str, column: str) -> Column:
    """A column of rows of many kinds, taken from those of one kind."""
    own = own_column(kind, column)
    if column == "kind":
        return f.lit(kind).alias(column)
    return (f.lit(None).cast("bigint") if own is None else f.col(own)).alias(column)
