"""Result tables that are written by hand: a test says only the columns that its story is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tidegauge.analysis.questions.all_questions import QUESTIONS
from tidegauge.analysis.run_paths import FoundRun
from tidegauge.analysis.tables.all_tables import TABLES
from tidegauge.analysis.tables.run_tables import RunTables
from tidegauge.spark_analysis.events import RUNS_SCHEMA

S = 1_000_000
_RUN = "run"


class WrittenTables(RunTables):
    """Tables of one run, and what its manifest says about it."""

    def __init__(
        self,
        spark: SparkSession,
        tables: Mapping[str, Sequence[Mapping[str, Any]]],
        **about: object,
    ) -> None:
        self.spark = spark
        self.runs = [FoundRun(_RUN, Path(_RUN))]
        self._about = {"run": _RUN, "duration_us": 100 * S, "settings": {}} | about
        self._tables = tables

    def __getitem__(self, name: str) -> DataFrame:
        columns = TABLES[name].columns
        given = [{"run": _RUN} | dict(row) for row in self._tables.get(name, ())]
        rows = [tuple(row.get(column.name) for column in columns) for row in given]
        schema = ", ".join(f"`{column.name}` {column.type}" for column in columns)
        return self.spark.createDataFrame(rows, schema)

    def about(self) -> DataFrame:
        return self.spark.createDataFrame([self._about], RUNS_SCHEMA)


def answer(question: str, tables: RunTables) -> list[dict[str, Any]]:
    """The rows of an answer."""
    found: list[dict[str, Any]] = QUESTIONS[question].of(tables).toArrow().to_pylist()
    return found
