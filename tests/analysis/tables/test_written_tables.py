"""Tables as files: as they are documented, in groups of runs, whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it comes without types
import pytest

from recorded_tables import files_of_run, rows_in_files, table
from tidegauge.analysis.making.duckdb_engine import DuckDBEngine
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.making.written_tables import write_tables
from tidegauge.analysis.requests import FoundRun
from tidegauge.analysis.tables.all_tables import TABLES, documentation
from tidegauge.analysis.tables.result_table import ResultTable
from tidegauge.traces.run_folder import RunFolder

ROOT = Path(__file__).resolve().parents[3]

#: Two tables that are quickly made; of truncations the quickstart has none.
FEW = ("faults", "truncations")


def test_the_page_documents_the_tables_as_they_are() -> None:
    """``python -m tidegauge.analysis.tables`` writes it anew."""
    assert (ROOT / "analysis" / "TABLES.md").read_text() == documentation()


def test_every_column_says_what_it_means() -> None:
    for name, each in TABLES.items():
        assert name == each.name
        assert each.columns[0].name == "run"
        assert len({column.name for column in each.columns}) == len(each.columns)
        assert all(column.meaning for column in each.columns)
        # A time says its unit twice: in its name and in its column.
        assert all((c.unit == "us") == c.name.endswith("_us") for c in each.columns)


def documented_types(name: str) -> dict[str, str]:
    """The columns of a table's files."""
    arrow = {"bigint": "int64", "boolean": "bool", "array<bigint>": "list<element: int64>"}
    return {c.name: arrow.get(c.type, c.type) for c in TABLES[name].columns}


def folders_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_dir()}


def test_files_have_the_documented_columns_of_each_run(tables: RunTables) -> None:
    tables.make(TABLES)
    assert folders_in(tables.folder) == {*TABLES}
    for name in TABLES:
        for run in tables.runs:
            for file in files_of_run(tables.folder, run, name):
                types = {field.name: str(field.type) for field in pq.read_schema(file)}
                assert types == documented_types(name)
            rows = rows_in_files(tables.folder, run, name)
            assert sorted(map(repr, rows)) == sorted(map(repr, table(tables, name, run.name)))


def test_a_sweep_has_files_by_the_dozen_and_not_by_the_thousand(
    recorded: dict[str, RunFolder], tmp_path: Path
) -> None:
    """Small runs share their files, and a file has whole runs in the order of their names."""
    runs = [FoundRun(f"seed={seed}", recorded["schedule"].path) for seed in range(20)]
    RunTables(runs, tmp_path).make(FEW)
    (file,) = (tmp_path / "faults").iterdir()
    in_file = pq.read_table(file)["run"].to_pylist()
    assert in_file == sorted(in_file)
    assert {*in_file} == {run.name for run in runs}


def test_only_what_is_not_there_is_made_and_other_runs_are_left_alone(
    recorded: dict[str, RunFolder], tmp_path: Path
) -> None:
    made: list[str] = []
    quickstart, schedule = (
        RunTables(recorded[run].path, tmp_path) for run in ("quickstart-zookeeper", "schedule")
    )
    quickstart.make(["faults"], made.append)
    schedule.make(["faults"], made.append)
    quickstart.make(FEW, made.append)
    assert made == ["faults", "faults", "truncations"]
    assert len(quickstart.rows("select * from faults")) == 3
    assert len(schedule.rows("select * from faults")) > 0
    assert folders_in(tmp_path) == {*FEW}


@pytest.mark.parametrize("name", ["lag=10000,seed=1", "a b+c%d", "sweeps/Größe: 1*", "x" * 200])
def test_a_run_can_be_called_anything(
    recorded: dict[str, RunFolder], tmp_path: Path, name: str
) -> None:
    """Folders of a sweep are called after what is set in them."""
    one = FoundRun(name, recorded["quickstart-zookeeper"].path)
    other = FoundRun("other", recorded["schedule"].path)
    tables = RunTables([one, other], tmp_path)
    assert len(table(tables, "faults", name)) == 3
    assert table(RunTables([one], tmp_path), "faults") == table(tables, "faults", name)


def test_tables_of_another_trace_of_that_name_are_replaced_all_together(
    recorded: dict[str, RunFolder], tmp_path: Path
) -> None:
    """A scenario was changed and run again: no table of the run before may stay beside new ones."""
    RunTables(recorded["quickstart-zookeeper"].path, tmp_path).make(FEW)
    another = RunTables([FoundRun("quickstart-zookeeper", recorded["schedule"].path)], tmp_path)
    assert len(another.rows("select * from faults")) != 3
    assert folders_in(tmp_path) == {"faults"}


def test_new_runs_join_those_that_are_there(recorded: dict[str, RunFolder], tmp_path: Path) -> None:
    """A sweep with more seeds: the tables of the earlier ones stay as they are."""
    runs = [FoundRun(f"seed={seed}", recorded["schedule"].path) for seed in range(4)]
    RunTables(runs[:3], tmp_path).make(["faults"])
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "faults").iterdir()}
    made: list[str] = []
    four = RunTables(runs, tmp_path)
    four.make(["faults"], made.append)
    assert made == ["faults"]
    after = {file: file.stat().st_mtime_ns for file in (tmp_path / "faults").iterdir()}
    assert len(after) == 2
    assert before.items() <= after.items()
    counted = four.rows("select run, count(*) as faults from faults group by run")
    assert {row["run"] for row in counted} == {run.name for run in runs}
    assert len({row["faults"] for row in counted}) == 1


def test_a_run_that_has_changed_takes_nothing_from_those_beside_it(
    recorded: dict[str, RunFolder], tmp_path: Path
) -> None:
    """One run of a sweep was repeated with another scenario: the others keep their tables."""
    one, other = (FoundRun(name, recorded["schedule"].path) for name in ("one", "other"))
    both = RunTables([one, other], tmp_path)
    both.make(["faults"])
    kept = table(both, "faults", "other")
    changed = FoundRun("one", recorded["quickstart-zookeeper"].path)
    assert len(RunTables([changed], tmp_path).rows("from faults")) == 3
    made: list[str] = []
    again = RunTables([changed, other], tmp_path)
    again.make(["faults"], made.append)
    assert made == []
    assert table(again, "faults", "other") == kept
    assert len(table(again, "faults", "one")) == 3


def test_tables_that_were_deleted_are_made_again(
    recorded: dict[str, RunFolder], tmp_path: Path
) -> None:
    run = recorded["quickstart-zookeeper"].path
    RunTables(run, tmp_path).make(FEW)
    shutil.rmtree(tmp_path / "faults")
    assert len(RunTables(run, tmp_path).rows("from faults")) == 3


class Overtaken(DuckDBEngine):
    """While it works, another command makes the same tables of the same folder."""

    def write(
        self,
        runs: Sequence[FoundRun],
        tables: Sequence[ResultTable],
        folder: Path,
        begins: Callable[[str], None],
    ) -> list[list[FoundRun]]:
        RunTables([run.folder for run in runs], folder.parent).make(FEW)
        return super().write(runs, tables, folder, begins)


def test_two_commands_at_once_double_no_row(recorded: dict[str, RunFolder], tmp_path: Path) -> None:
    run = recorded["quickstart-zookeeper"].path
    tables = RunTables(run, tmp_path, Overtaken())
    tables.make(FEW)
    assert len(tables.rows("from faults")) == 3
    (file,) = (tmp_path / "faults").iterdir()
    assert pq.read_metadata(file).num_rows == 3


def test_the_name_of_a_folder_is_no_column(recorded: dict[str, RunFolder], tmp_path: Path) -> None:
    """Folders of sweeps have names such as ``brokers=3``: DuckDB would take 3 for each row's."""
    run = recorded["quickstart-zookeeper"].path
    rows = RunTables(run, tmp_path / "fault_name=elsewhere").rows("from faults")
    assert rows
    assert all(row["fault_name"] != "elsewhere" for row in rows)


def test_a_query_may_read_runs_and_tables_together(
    recorded: dict[str, RunFolder], tmp_path: Path
) -> None:
    tables = RunTables(recorded["quickstart-zookeeper"].path, tmp_path)
    (counted,) = tables.rows(
        "select count(*) as faults, max(ends_us) as ends_us"
        " from faults join runs on runs.run = faults.run"
    )
    assert counted["faults"] == 3
    assert counted["ends_us"] == tables.runs[0].end_us()


class FullDisk(DuckDBEngine):
    """Its disk is full after one table."""

    def write(
        self,
        runs: Sequence[FoundRun],
        tables: Sequence[ResultTable],
        folder: Path,
        begins: Callable[[str], None],
    ) -> list[list[FoundRun]]:
        super().write(runs, tables[:1], folder, begins)
        raise OSError("no space left")


def test_what_fails_leaves_the_tables_of_before(
    recorded: dict[str, RunFolder], tmp_path: Path
) -> None:
    run = recorded["quickstart-zookeeper"].path
    RunTables(run, tmp_path).make(["faults"])
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OSError, match="no space left"):
        RunTables(run, tmp_path, FullDisk()).make(["faults", "truncations", "elections"])
    assert sorted(tmp_path.rglob("*")) == before


def test_a_table_that_there_is_not_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    nowhere = FoundRun("nowhere", tmp_path / "nowhere")
    with pytest.raises(KeyError, match="elektions"):
        write_tables(DuckDBEngine(), {nowhere: {}}, tmp_path / "tables", ["elektions"])
    assert not (tmp_path / "tables").exists()
