"""The same trace gives the same tables, whatever the order of its rows and the number of threads.

Brokers of a rack lose power at the same microsecond, so that many rows have ties in their times,
and partitions have outages of several conditions that begin and end together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
import pytest
from duckdb.func import ARROW
from pyspark.sql import SparkSession

from shuffled_rows import ShuffledRelations, unlike, with_ties_at
from tidegauge.analysis.making import duckdb_engine
from tidegauge.analysis.making.duckdb_engine import DuckDBEngine, connected
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.requests import FoundRun
from tidegauge.analysis.tables.all_tables import TABLES
from tidegauge.spark_analysis.engine import SparkEngine
from tidegauge.spark_analysis.relations import Relations

THREADS = (1, 2, 8)
#: The tables are made so many times with each number of threads.
TIMES = 20
#: A run in which outages of two conditions coincide, and one with ties at the same microsecond.
RUNS = ("quickstart", "rack-power-loss")


@pytest.fixture(scope="module")
def in_order(tables: RunTables) -> RunTables:
    """The tables of rows in their order."""
    tables.make(TABLES)
    return tables


def run_named(tables: RunTables, name: str) -> FoundRun:
    (found,) = (run for run in tables.runs if run.name == name)
    return found


def drawing(seed: int, threads: int) -> duckdb.DuckDBPyConnection:
    """A database with ``drawn``, which gives another number each time."""
    draw = np.random.default_rng(seed)
    database = connected()
    database.execute(f"set threads = {threads}")
    database.create_function(
        "drawn", lambda each: pa.array(draw.random(len(each))), ["ubigint"], "double", type=ARROW
    )
    return database


def shuffled(
    run: FoundRun, folder: Path, monkeypatch: pytest.MonkeyPatch, *, seed: int, threads: int
) -> RunTables:
    """All tables of the shuffled rows of a run, by DuckDB, with ties as they are drawn."""
    monkeypatch.setattr(duckdb_engine, "connected", partial(drawing, seed, threads))
    monkeypatch.setattr(duckdb_engine, "for_duckdb", partial(with_ties_at, "drawn"))
    made = RunTables([run], folder, DuckDBEngine(partial(ShuffledRelations, seed=seed)))
    made.make(TABLES)
    return made


def test_tables_of_shuffled_rows_are_the_same(
    in_order: RunTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window that united equal intervals once said 10, 11 or 12 refusals of the same run."""
    run = run_named(in_order, RUNS[0])
    assert unlike(in_order, shuffled(run, tmp_path, monkeypatch, seed=1, threads=8)) == []


def test_ties_are_taken_as_they_are_drawn() -> None:
    """The twin of the test above: a window whose order has ties gives other places each time."""
    places = "select range, row_number() over (order by range % 2) as place from range(20)"
    query = with_ties_at("drawn", places)
    with drawing(seed=1, threads=1) as database:
        found = {str(sorted(database.sql(query).fetchall())) for _ in range(5)}
    assert len(found) > 1


@pytest.mark.long
@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("name", RUNS)
def test_whatever_the_number_of_threads_duckdb_makes_the_same(
    in_order: RunTables,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    threads: int,
) -> None:
    run = run_named(in_order, name)
    for seed in range(TIMES):
        made = shuffled(run, tmp_path / str(seed), monkeypatch, seed=seed, threads=threads)
        assert unlike(in_order, made) == []


@pytest.mark.long
@pytest.mark.parametrize("parts", THREADS)
def test_in_however_many_parts_spark_makes_the_same(
    spark: SparkSession,
    in_order: RunTables,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    parts: int,
) -> None:
    """Spark cuts relations into parts, and hands them to its threads."""
    run = run_named(in_order, RUNS[0])
    with in_parts(spark, parts):
        for seed in range(TIMES):
            monkeypatch.setattr(Relations, "hold", shuffled_before(Relations.hold, seed))
            made = RunTables([run], tmp_path / str(seed), SparkEngine(lambda: spark))
            made.make(TABLES)
            assert unlike(in_order, made) == []


def shuffled_before(hold: Callable[..., None], seed: int) -> Callable[..., None]:
    """What holds a relation, of rows in an order that is drawn."""
    draw = np.random.default_rng(seed)

    def hold_shuffled(relations: Relations, name: str, rows: Any) -> None:
        hold(relations, name, rows.take(draw.permutation(len(rows))))

    return hold_shuffled


@contextmanager
def in_parts(spark: SparkSession, parts: int) -> Iterator[None]:
    """The session with its relations in so many parts."""
    names = ("spark.sql.shuffle.partitions", "spark.sql.leafNodeDefaultParallelism")
    before = {name: str(spark.conf.get(name)) for name in names}
    try:
        for name in names:
            spark.conf.set(name, str(parts))
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
