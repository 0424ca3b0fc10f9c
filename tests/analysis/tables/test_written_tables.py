"""Tables as files: as they are documented, run by run, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from recorded_tables import table
from tidegauge.analysis.run_paths import FoundRun, runs_at
from tidegauge.analysis.tables.all_tables import TABLES, documentation
from tidegauge.analysis.tables.run_rows import RunRows
from tidegauge.analysis.tables.written_tables import made_of, read_table, write_tables
from tidegauge.traces.run_folder import RunFolder

ROOT = Path(__file__).resolve().parents[3]

#: Two tables that are quickly made; of truncations the quickstart has none.
FEW = ("faults", "truncations")


def test_the_page_documents_the_tables_as_they_are() -> None:
    """``python -m tidegauge.analysis.tables`` writes it anew."""
    assert (ROOT / "spark_analysis" / "TABLES.md").read_text() == documentation()


def test_every_column_says_what_it_means() -> None:
    for name, each in TABLES.items():
        assert name == each.name
        assert each.columns[0].name == "run"
        assert len({column.name for column in each.columns}) == len(each.columns)
        assert all(column.meaning for column in each.columns)
        # A time says its unit twice: in its name and in its column.
        assert all((c.unit == "us") == c.name.endswith("_us") for c in each.columns)


def test_tables_are_read_as_they_were_written(
    spark: SparkSession, rows: RunRows, recorded: dict[str, RunFolder], tmp_path: Path
) -> None:
    write_tables(spark, made_of(runs_at([run.path for run in recorded.values()])), tmp_path, FEW)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"run={n}" for n in recorded)
    for name in FEW:
        read = read_table(spark, tmp_path, name)
        assert [(column.name, column.type) for column in TABLES[name].columns] == read.dtypes
        found = read.toArrow().to_pylist()
        assert sorted(map(repr, found)) == sorted(map(repr, table(rows, name)))
    assert any((tmp_path / "run=quickstart" / "truncations").iterdir())


def test_only_what_is_not_there_is_made_and_other_runs_are_left_alone(
    spark: SparkSession, recorded: dict[str, RunFolder], tmp_path: Path
) -> None:
    made: list[str] = []
    quickstart, schedule = (runs_at(recorded[run].path) for run in ("quickstart", "schedule"))
    write_tables(spark, made_of(quickstart), tmp_path, ["faults"], made.append)
    write_tables(spark, made_of(schedule), tmp_path, ["faults"], made.append)
    write_tables(spark, made_of(quickstart), tmp_path, FEW, made.append)
    assert made == ["faults", "faults", "truncations"]
    runs = [row.run for row in read_table(spark, tmp_path, "faults").collect()]
    assert runs.count("quickstart") == 3
    assert runs.count("schedule") > 0
    assert {path.name for path in tmp_path.iterdir()} == {"run=quickstart", "run=schedule"}


@pytest.mark.parametrize("name", ["lag=10000,seed=1", "a b+c%d", "sweeps/Größe: 1*", "x" * 200])
def test_a_run_can_be_called_anything(
    spark: SparkSession, recorded: dict[str, RunFolder], tmp_path: Path, name: str
) -> None:
    """Folders of a sweep are called after what is set in them."""
    run = FoundRun(name, recorded["quickstart"].path)
    write_tables(spark, made_of([run]), tmp_path, ["faults"])
    for found in (
        read_table(spark, tmp_path, "faults"),
        read_table(spark, tmp_path, "faults", [run]),
    ):
        assert [row.run for row in found.collect()] == [name] * 3


def test_tables_of_another_trace_of_that_name_are_replaced_all_together(
    spark: SparkSession, recorded: dict[str, RunFolder], tmp_path: Path
) -> None:
    """A scenario was changed and run again: no table of the run before may stay beside new ones."""
    (quickstart,) = runs_at(recorded["quickstart"].path)
    write_tables(spark, made_of([quickstart]), tmp_path, FEW)
    another = FoundRun(quickstart.name, recorded["schedule"].path)
    write_tables(spark, made_of([another]), tmp_path, ["faults"])
    made = {path.name for path in (tmp_path / "run=quickstart").iterdir()}
    assert made == {"faults", "made_of.json"}
    faults = read_table(spark, tmp_path, "faults", [another]).count()
    assert faults != 3


def test_what_fails_leaves_the_tables_of_before(
    spark: SparkSession,
    recorded: dict[str, RunFolder],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = runs_at(recorded["quickstart"].path)
    write_tables(spark, made_of(run), tmp_path, ["faults"])
    before = sorted(tmp_path.rglob("*"))
    broken = TABLES["truncations"]._replace(build=lambda _: spark.range(1))
    monkeypatch.setitem(TABLES, "truncations", broken)
    with pytest.raises(Exception, match="run"):
        write_tables(spark, made_of(run), tmp_path, FEW)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_table_that_there_is_not_is_refused_before_anything_is_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    nowhere = FoundRun("nowhere", tmp_path / "nowhere")
    with pytest.raises(KeyError, match="elektions"):
        write_tables(spark, {nowhere: {}}, tmp_path / "tables", ["elektions"])
    assert not (tmp_path / "tables").exists()
