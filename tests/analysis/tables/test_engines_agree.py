"""Spark and DuckDB make the same tables of the same runs, row by row, of traces and exported rows.

The plain reader of the tests counts the figures in a third way, and shares no code with the two.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # the same
import pytest
from pyspark.sql import SparkSession

from both_modes import MODES, in_mode
from fault_schedules import schedule
from plain_reader import PlainReader
from recorded_tables import differences, figures, files_of_run
from sampled_replicas import with_all_samples, with_changes_alone
from scenario_runs import shipped
from swept_scenario import CRASHES
from tidegauge.analysis.making.duckdb_engine import DuckDBEngine
from tidegauge.analysis.making.engine import ExportedRelations
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.requests import FoundRun, runs_at
from tidegauge.analysis.rows.export import export_rows
from tidegauge.analysis.rows.exported_rows import ExportedRows
from tidegauge.analysis.tables.all_tables import TABLES
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import load_scenario
from tidegauge.spark_analysis.engine import SparkEngine
from tidegauge.traces.run_folder import RunFolder

#: Seeds of schedules beside the one that is recorded: elections of each kind, losses.
SEEDS = (3, 18)

#: A table and another that reads it: Spark takes seconds for each.
OF_STATES = ("partition_states", "unavailable")


@pytest.fixture(scope="module")
def runs(
    recorded: dict[str, RunFolder], tmp_path_factory: pytest.TempPathFactory
) -> list[FoundRun]:
    """Quickstart, a rack without power, three schedules, a lost quorum, both modes, a sweep."""
    folder = tmp_path_factory.mktemp("runs")
    paths = [run.path for run in recorded.values()]
    paths += [simulate(schedule(seed), folder / f"schedule-{seed}").path for seed in SEEDS]
    paths.append(
        simulate(shipped("22-quorum-lost", {"liveness": True}), folder / "quorum-lost").path
    )
    # One has a row of each replica at every sample, one only where something has changed.
    for mode, rewritten in zip(MODES, (with_all_samples, with_changes_alone), strict=True):
        run = simulate(in_mode(mode, liveness=True), folder / "recorded" / mode)
        paths.append(rewritten(run, folder / mode).path)
    file = folder / "crashes.yaml"
    file.write_text(CRASHES)
    for seed in (1, 2):
        scenario = load_scenario(file, {"seed": seed})
        paths.append(simulate(scenario, folder / "sweep" / f"seed={seed}").path)
    return runs_at(paths)


@pytest.fixture(scope="module")
def of_duckdb(runs: list[FoundRun], tmp_path_factory: pytest.TempPathFactory) -> RunTables:
    """All tables of all runs, made together by DuckDB."""
    tables = RunTables(runs, tmp_path_factory.mktemp("duckdb"))
    tables.make(TABLES)
    return tables


@pytest.fixture(scope="module")
def rows(runs: list[FoundRun], tmp_path_factory: pytest.TempPathFactory) -> ExportedRows:
    """The rows of all runs in parts of their own or shared ones, half of them under other names."""
    folder = tmp_path_factory.mktemp("exported") / "rows"
    middle = len(runs) // 2
    export_rows(runs[:middle], folder)
    export_rows([FoundRun(f"renamed/{run.name}", run.folder) for run in runs[middle:]], folder)
    return ExportedRows(folder, runs)


@pytest.fixture(scope="module")
def of_spark(
    spark: SparkSession, runs: list[FoundRun], tmp_path_factory: pytest.TempPathFactory
) -> RunTables:
    """All tables of all runs, made together by Spark."""
    tables = RunTables(runs, tmp_path_factory.mktemp("spark"), SparkEngine(lambda: spark))
    tables.make(TABLES)
    return tables


def swept(runs: list[FoundRun]) -> list[FoundRun]:
    return [run for run in runs if "seed=" in run.name]


def test_every_table_is_the_same_row_by_row(
    runs: list[FoundRun], of_duckdb: RunTables, of_spark: RunTables
) -> None:
    assert differences(of_duckdb.folder, of_spark.folder, runs) == {}
    assert all(of_duckdb.rows(f"from {name} limit 1") for name in TABLES)


def test_one_other_value_is_found(
    runs: list[FoundRun], of_duckdb: RunTables, tmp_path: Path
) -> None:
    """The twin of the test above: the comparison sees a single microsecond."""
    RunTables(runs, tmp_path).make(TABLES)
    (file,) = files_of_run(tmp_path, runs[0], "elections")
    elections = pq.read_table(file)
    column = elections.column_names.index("queue_us")
    queued = elections["queue_us"].to_pylist()
    later = pa.array([queued[0] + 1, *queued[1:]], pa.int64())
    pq.write_table(elections.set_column(column, "queue_us", later), file)
    assert differences(of_duckdb.folder, tmp_path, runs) == {"elections": 2}


def test_the_figures_are_those_of_a_plain_reader(
    runs: list[FoundRun], of_duckdb: RunTables, of_spark: RunTables
) -> None:
    for run in runs:
        plain = PlainReader(RunFolder(run.folder)).counted()
        for tables in (of_duckdb, of_spark):
            found = figures(tables, run.name)
            counted = {name: plain[name] for name in found.keys() & plain.keys()}
            assert len(counted) > len(found) // 2
            assert {name: found[name] for name in counted} == pytest.approx(counted)


def test_of_exported_rows_duckdb_makes_the_same(
    runs: list[FoundRun], rows: ExportedRows, of_duckdb: RunTables, tmp_path: Path
) -> None:
    RunTables(runs, tmp_path, DuckDBEngine(partial(ExportedRelations, rows))).make(TABLES)
    assert differences(of_duckdb.folder, tmp_path, runs) == {}


def test_of_exported_rows_spark_makes_the_same(
    spark: SparkSession,
    runs: list[FoundRun],
    rows: ExportedRows,
    of_duckdb: RunTables,
    tmp_path: Path,
) -> None:
    few = swept(runs)
    RunTables(few, tmp_path, SparkEngine(lambda: spark, rows=rows)).make(OF_STATES)
    assert differences(of_duckdb.folder, tmp_path, few, OF_STATES) == {}


@pytest.mark.long
@pytest.mark.parametrize(("runs_of_a_bucket", "tables"), [(1, TABLES), (1000, OF_STATES)])
def test_of_large_exported_rows_spark_makes_the_same(
    spark: SparkSession,
    runs: list[FoundRun],
    rows: ExportedRows,
    of_duckdb: RunTables,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    runs_of_a_bucket: int,
    tables: Collection[str],
) -> None:
    """Many runs are put in buckets first. Of few runs Spark reads the exported files themselves."""
    monkeypatch.setattr("tidegauge.spark_analysis.engine._LARGE_BYTES", 0)
    monkeypatch.setattr("tidegauge.spark_analysis.engine._RUNS_OF_A_BUCKET", runs_of_a_bucket)
    monkeypatch.setattr("tidegauge.spark_analysis.relations.SMALL_ROWS", -1)
    monkeypatch.setattr("tidegauge.spark_analysis.sources.SMALL_ROWS", -1)
    some = runs[1:]
    RunTables(some, tmp_path, SparkEngine(lambda: spark, rows=rows)).make(tables)
    assert differences(of_duckdb.folder, tmp_path, some, tables) == {}


@pytest.mark.long
def test_of_a_single_run_spark_makes_the_same(
    spark: SparkSession, runs: list[FoundRun], of_duckdb: RunTables, tmp_path: Path
) -> None:
    """One run has no buckets: Spark divides its rows itself."""
    one = [run for run in runs if run.name.endswith("rack-power-loss")]
    RunTables(one, tmp_path, SparkEngine(lambda: spark)).make(OF_STATES)
    assert differences(of_duckdb.folder, tmp_path, one, OF_STATES) == {}


@pytest.mark.long
def test_of_large_traces_spark_makes_the_same(
    spark: SparkSession,
    runs: list[FoundRun],
    of_duckdb: RunTables,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tasks read their traces, and all relations are files in buckets of runs."""
    monkeypatch.setattr("tidegauge.spark_analysis.engine._LARGE_BYTES", 0)
    monkeypatch.setattr("tidegauge.spark_analysis.engine._RUNS_OF_A_BUCKET", 1)
    monkeypatch.setattr("tidegauge.spark_analysis.relations.SMALL_ROWS", -1)
    monkeypatch.setattr("tidegauge.spark_analysis.sources.SMALL_ROWS", -1)
    RunTables(runs, tmp_path, SparkEngine(lambda: spark)).make(TABLES)
    assert differences(of_duckdb.folder, tmp_path, runs, TABLES) == {}


def test_either_engine_uses_the_tables_of_the_other(
    spark: SparkSession, runs: list[FoundRun], of_duckdb: RunTables, of_spark: RunTables
) -> None:
    made: list[str] = []
    RunTables(runs, of_duckdb.folder, SparkEngine(lambda: spark)).make(TABLES, made.append)
    RunTables(runs, of_spark.folder).make(TABLES, made.append)
    assert made == []


def test_what_one_engine_lacks_the_other_adds(
    spark: SparkSession, runs: list[FoundRun], of_duckdb: RunTables, tmp_path: Path
) -> None:
    made: list[str] = []
    few = swept(runs)
    RunTables(few, tmp_path).make(["run_figures", "faults"])
    every = RunTables(few, tmp_path, SparkEngine(lambda: spark))
    every.make(["run_figures", "faults", "leader_intervals"], made.append)
    assert made == ["leader_intervals"]
    for run in few:
        (added,) = every.of(run).rows("select count(*) as rows from leader_intervals")
        (expected,) = of_duckdb.of(run).rows("select count(*) as rows from leader_intervals")
        assert added == expected != {"rows": 0}


def test_columns_have_the_same_types_whichever_engine_made_them(
    of_duckdb: RunTables, of_spark: RunTables
) -> None:
    for name in TABLES:
        one, other = (tables.arrow(f"from {name}") for tables in (of_duckdb, of_spark))
        assert one.schema == other.schema
