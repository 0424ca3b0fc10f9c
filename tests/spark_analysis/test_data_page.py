"""The examples of docs/data.md: what they say is the same in four tools is the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd  # type: ignore[import-untyped]  # its types are a package of their own
import polars as pl
import pytest
from pyspark.sql import SparkSession

import tidegauge
from documented import ROOT, code_in, value_of
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.questions.all_questions import QUESTIONS
from tidegauge.analysis.requests import runs_at
from tidegauge.analysis.rows.export import export_rows

PAGE = ROOT / "docs" / "data.md"
BLOCKS = list(code_in(PAGE, "sql", "python"))
SETTING = "replica.lag.time.max.ms"
LAG_TIMES_MS = (10_000, 60_000)
#: The sections with the same question four times.
FOUR_TIMES = ("Rows", "Tables")
#: Begins the path of a file in Spark SQL.
OF_SPARK = "parquet.`"

Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first commands of the page were: four runs, their rows and one of their tables."""
    folder = tmp_path_factory.mktemp("data")
    swept = folder / "runs" / "lag-time"
    for lag_time_ms in LAG_TIMES_MS:
        for seed in (1, 2):
            tidegauge.run(
                "lag-time",
                seed=seed,
                changes={f"cluster.settings.{SETTING}": lag_time_ms},
                out=swept / f"{SETTING}={lag_time_ms},seed={seed}",
            )
    runs = runs_at(str(swept / "*seed*"))
    export_rows(runs, folder / "rows")
    RunTables(runs, swept / "tables").make(["elections", "partition_figures", "run_figures"])
    return folder


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.fixture
def tables(folder: Path) -> RunTables:
    """The tables as ``tidegauge sql runs/lag-time`` has them."""
    swept = folder / "runs" / "lag-time"
    return RunTables(str(swept / "*seed*"), swept / "tables")


@pytest.fixture
def by_spark(spark: SparkSession, folder: Path) -> Callable[[str], Rows]:
    """The rows of a query of Spark, whose session was started in another folder."""

    def rows(query: str) -> Rows:
        absolute = query.replace(OF_SPARK, f"{OF_SPARK}{folder}/")
        return [tuple(row) for row in spark.sql(absolute).collect()]

    return rows


def blocks_of(section: str, language: str) -> list[str]:
    return [each.text for each in BLOCKS if each.section == section and each.language == language]


def of_python(block: str) -> Rows:
    """The rows that a block ends with."""
    match value_of(block, {}, PAGE.name):
        case pl.DataFrame() as frame:
            return frame.rows()
        case pd.DataFrame() as frame:
            return list(frame.itertuples(index=False, name=None))
        case duckdb.DuckDBPyRelation() as relation:
            return relation.fetchall()
        case other:
            raise AssertionError(f"neither of the tools of the page: {type(other)}")


@pytest.mark.parametrize("section", FOUR_TIMES)
def test_four_tools_give_the_same_rows(section: str, by_spark: Callable[[str], Rows]) -> None:
    in_spark, in_duckdb = blocks_of(section, "sql")
    expected = by_spark(in_spark)
    assert {row[0] for row in expected} <= {run.name for run in runs_at("runs/lag-time/*seed*")}
    assert len(expected) > 1
    assert duckdb.execute(in_duckdb).fetchall() == expected
    in_polars, in_pandas = blocks_of(section, "python")
    assert of_python(in_polars) == expected
    assert of_python(in_pandas) == expected


def test_files_that_the_lists_name_are_all_files() -> None:
    shrinks, elections = blocks_of("How files are divided", "python")
    for block, files in (
        (shrinks, "rows/isr_shrunk/*.parquet"),
        (elections, "runs/lag-time/tables/elections/*.parquet"),
    ):
        counts = duckdb.read_parquet(files).aggregate("run, count(*)").order("run")
        assert of_python(block) == counts.fetchall()


def test_queries_over_thousands_of_runs_are_those_of_the_questions(
    tables: RunTables, spark: SparkSession, by_spark: Callable[[str], Rows], folder: Path
) -> None:
    """Spark and ``tidegauge sql`` take them alike."""
    figures = folder / "runs" / "lag-time" / "tables" / "run_figures"
    spark.read.parquet(str(figures)).createOrReplaceTempView("run_figures")
    queries = blocks_of("Thousands of runs", "sql")
    answers = [tables.rows(query) for query in queries]
    for query, rows in zip(queries, answers, strict=True):
        assert by_spark(query) == [tuple(row.values()) for row in rows]

    distributions, curve, _ = answers
    told = of_question("over-seeds", tables, "partition_seconds_offline")
    assert [(row["seeds"], row["p50"], row["largest"]) for row in distributions] == [
        (row["seeds"], row["p50"], row["largest"]) for row in told
    ]
    told = of_question("curves", tables, "partition_seconds_under_min_isr")
    assert [(row["lag_time_ms"], row["mean_s"], row["mean_change_s"]) for row in curve] == [
        (int(row["value"]), row["mean"], row["change"]) for row in told
    ]


def test_a_rare_event_is_that_of_one_run_in_hundreds() -> None:
    (query,) = [text for text in blocks_of("Thousands of runs", "sql") if "showing" in text]
    with duckdb.connect() as database:
        database.execute("""
            create table run_figures as
            select 'a=' || a || ',seed=' || seed as run,
                -- With a=2 one in ten runs loses records.
                case when (a = 1 and seed = 7) or (a = 2 and seed % 10 = 0) then seed else 0 end
                    as records_acknowledged_lost
            from range(1, 3) as settings(a), range(1, 301) as seeds(seed)
        """)
        assert database.sql(query).fetchall() == [("a=1", "a=1,seed=7", 7, 1, 300)]


def of_question(name: str, tables: RunTables, figure: str) -> Sequence[dict[str, Any]]:
    """The answers of a question about one figure."""
    return [row for row in QUESTIONS[name].of(tables) if row["figure"] == figure]
