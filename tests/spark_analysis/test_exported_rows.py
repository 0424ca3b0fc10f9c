"""Exported rows are the same in Spark, DuckDB, Polars, pandas, and in the plain reader."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import duckdb
import pandas as pd  # type: ignore[import-untyped]  # its types are a package of their own
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
import pytest
from pyspark.sql import SparkSession

from analysed_runs import recovered_run
from exported_rows import Rows, in_any_order, plain_rows
from tidegauge.analysis.requests import FoundRun, runs_at
from tidegauge.analysis.rows.export import export_rows
from tidegauge.analysis.rows.row_schema import RELATIONS
from tidegauge.traces.run_folder import RunFolder

#: Of these Spark reads all types of columns, and rows of both runs.
FEW = ("partition_state", "message", "partitions", "causes")


@pytest.fixture(scope="module")
def runs(crashed: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> list[FoundRun]:
    """One with ZooKeeper, one with a quorum, each in a part of its own."""
    other = recovered_run(tmp_path_factory.mktemp("runs") / "recovered")
    return runs_at([crashed.path, other.path])


@pytest.fixture(scope="module")
def folder(runs: list[FoundRun], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "rows"
    for run in runs:
        export_rows([run], folder)
    return folder


def by_duckdb(relation: Path) -> Rows:
    with duckdb.connect() as database:
        return list(database.read_parquet(f"{relation}/*.parquet").to_arrow_table().to_pylist())


def by_polars(relation: Path) -> Rows:
    return pl.read_parquet(relation / "*.parquet").to_dicts()


def by_pandas(relation: Path) -> Rows:
    frame = pd.read_parquet(relation, dtype_backend="pyarrow")
    return list(pa.Table.from_pandas(frame, preserve_index=False).to_pylist())


@pytest.fixture(scope="module")
def expected(runs: list[FoundRun]) -> Callable[[str], list[str]]:
    """The rows of a relation."""
    return cache(lambda relation: in_any_order(plain_rows(runs, relation)))


@pytest.mark.parametrize("reader", [by_duckdb, by_polars, by_pandas])
def test_all_rows_and_columns_are_those_of_the_plain_reader(
    reader: Callable[[Path], Rows], folder: Path, expected: Callable[[str], list[str]]
) -> None:
    for relation in RELATIONS:
        assert in_any_order(reader(folder / relation)) == expected(relation), relation


def assert_same_by_spark(
    spark: SparkSession, relation: str, folder: Path, expected: Callable[[str], list[str]]
) -> None:
    rows = spark.read.parquet(str(folder / relation)).toArrow().to_pylist()
    assert in_any_order(rows) == expected(relation), relation


def test_spark_reads_the_same(
    spark: SparkSession, folder: Path, expected: Callable[[str], list[str]]
) -> None:
    for relation in FEW:
        assert_same_by_spark(spark, relation, folder, expected)


@pytest.mark.long
def test_spark_reads_the_same_of_all_relations(
    spark: SparkSession, folder: Path, expected: Callable[[str], list[str]]
) -> None:
    for relation in RELATIONS:
        assert_same_by_spark(spark, relation, folder, expected)
