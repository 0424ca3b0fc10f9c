"""``tidegauge analyze --rows``: tables of exported rows, and the errors of rows that do not fit."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from recorded_tables import differences
from tidegauge.analysis.requests import runs_at
from tidegauge.analysis.rows.export import export_rows
from tidegauge.command_line import app
from tidegauge.traces.run_files import SUMMARY, TRACE
from tidegauge.traces.run_folder import RunFolder, write_json_atomically

#: A table of rows, one of causes, one of objects.
TABLES = ("isr_changes", "fault_costs", "faults")
ROWS = Path("the rows")


def analyzed(*arguments: str | Path) -> Result:
    tables = [word for name in TABLES for word in ("--table", name)]
    return CliRunner().invoke(app, ["analyze", *map(str, arguments), "--json", *tables])


def error_of(*arguments: str | Path) -> str:
    """The one line of an analysis that does not begin."""
    result = analyzed(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    return line


@pytest.fixture
def runs(
    recorded: dict[str, RunFolder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[Path]:
    """Two runs in folders of the same name."""
    monkeypatch.chdir(tmp_path)
    run = next(iter(recorded.values()))
    folders = [Path(name, "run") for name in ("one", "other")]
    for folder in folders:
        shutil.copytree(run.path, folder)
    return folders


def test_tables_are_made_of_rows_alone(runs: list[Path]) -> None:
    """Alone, the run has a shorter name than when it was exported with another one."""
    one = runs[0]
    assert analyzed(one, "--out", "of-trace").exit_code == 0
    assert [run.name for run in runs_at(runs)] == ["one/run", "other/run"]
    export_rows(runs_at(runs), ROWS)
    shutil.rmtree(one / TRACE)

    result = analyzed(one, "--out", "of-rows", "--rows", ROWS, "--engine", "duckdb")
    assert result.exit_code == 0, result.output
    (figures,) = json.loads(result.stdout)
    assert figures["run"] == "run"
    assert figures["isr_shrinks"] == json.loads((one / SUMMARY).read_text())["isr_shrinks"] > 0
    of_trace, of_rows = (Path(each, "tables") for each in ("of-trace", "of-rows"))
    assert differences(of_trace, of_rows, runs_at(one), ("run_figures", *TABLES)) == {}


def test_the_error_of_missing_rows_has_the_command_that_adds_them(runs: list[Path]) -> None:
    def invoked(error: str) -> Result:
        program, *arguments = shlex.split(error.split("`")[1])
        assert program == "tidegauge"
        return CliRunner().invoke(app, arguments)

    one, other = runs
    error = error_of(one, "--rows", ROWS)
    assert "the rows: has no rows.json; `tidegauge export one/run --to 'the rows'`" in error
    assert invoked(error).exit_code == 0
    assert analyzed(one, "--rows", ROWS).exit_code == 0

    last = other.rename("last")
    error = error_of(one, last, "--rows", ROWS)
    assert "the rows/rows.json: has no rows of run last; `tidegauge export last --to" in error
    another = shutil.copytree(one, Path("another"))
    error = error_of(one, last, another, "--rows", ROWS)
    assert "has no rows of run another (and 1 more of the runs);" in error
    assert invoked(error).exit_code == 0
    assert analyzed(one, last, another, "--rows", ROWS).exit_code == 0


def test_rows_of_another_trace_or_of_some_kinds_alone_are_refused(runs: list[Path]) -> None:
    one, other = runs
    export_rows(runs_at(runs), ROWS)
    summary = json.loads((other / SUMMARY).read_text())
    write_json_atomically(other / SUMMARY, {**summary, "trace_sha256": "0" * 64})
    error = error_of(*runs, "--rows", ROWS)
    assert "has rows of another trace of run other/run; `tidegauge export" in error
    assert analyzed(one, "--rows", ROWS).exit_code == 0

    export_rows(runs_at(one), Path("few"), ["isr_shrunk"])
    result = analyzed(one, "--rows", "few", "--out", "of-few")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "few/rows.json: has no relation" in result.stderr.splitlines()[-1]
    assert list(Path("of-few").glob("tables/*/*.parquet")) == []
