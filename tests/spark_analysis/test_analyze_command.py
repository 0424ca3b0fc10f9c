"""``tidegauge analyze``, as a person at a shell meets it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from tidegauge.command_line import app
from tidegauge.traces.run_folder import RunFolder


def analyze(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["analyze", *map(str, arguments)])


@pytest.mark.usefixtures("spark")
def test_figures_are_those_of_the_summary_and_tables_are_parquet(
    crashed: RunFolder, tmp_path: Path
) -> None:
    result = analyze(crashed.path, "--out", tmp_path, "--json", "--table", "elections")
    assert result.exit_code == 0, (result.output, str(result.exception)[:600])
    (figures,) = json.loads(result.stdout)
    assert crashed.summary is not None
    # All but the name of the run.
    for name in figures.keys() - {"run"}:
        assert figures[name] == crashed.summary[name], name
    assert figures["leader_elections"] > 0

    # Whoever reads Parquet can read them, without Spark.
    pattern = tmp_path / "tables" / "elections" / "*.parquet"
    query = f"select count(*) from '{pattern}'"  # noqa: S608 - a path of this test
    ((elections,),) = duckdb.connect().execute(query).fetchall()
    assert elections > 0


@pytest.mark.usefixtures("spark")
def test_the_folder_of_a_sweep_is_analysed_as_a_whole(crashed: RunFolder, tmp_path: Path) -> None:
    """Its tables come into it."""
    sweep = tmp_path / "sweep"
    for name in ("seed=1", "seed=2"):
        shutil.copytree(crashed.path, sweep / name)
    (sweep / ".sweep.lock").touch()
    result = analyze(sweep, "--json", "--table", "faults")
    assert result.exit_code == 0, (result.output, str(result.exception)[:600])
    assert [figures["run"] for figures in json.loads(result.stdout)] == ["seed=1", "seed=2"]
    files = str(sweep / "tables" / "faults" / "*.parquet")
    found = duckdb.read_parquet(files).distinct().project("run").distinct().fetchall()
    assert {run for (run,) in found} == {"seed=1", "seed=2"}


@pytest.mark.long
def test_only_what_is_asked_for_is_made(
    spark: SparkSession, crashed: RunFolder, tmp_path: Path
) -> None:
    assert spark.version >= "4"
    result = analyze(crashed.path, "--out", tmp_path, "--table", "faults")
    assert result.exit_code == 0, (result.output, str(result.exception)[:600])
    made = {folder.name for folder in (tmp_path / "tables").iterdir() if folder.is_dir()}
    assert made == {"faults", "run_figures"}


@pytest.mark.usefixtures("spark")
def test_a_question_is_answered_for_people_and_for_programs(
    crashed: RunFolder, tmp_path: Path
) -> None:
    """Only the tables are made that it needs; the command that asks again ends the answer."""
    asked = (crashed.path, "--out", tmp_path, "--question", "unavailability")
    result = analyze(*asked)
    assert result.exit_code == 0, (result.output, str(result.exception)[:600])
    assert "Which topics were stalled, offline or below" in result.stdout
    assert f"Again: tidegauge analyze {crashed.path} --question unavailability" in result.stdout
    made = {folder.name for folder in (tmp_path / "tables").iterdir() if folder.is_dir()}
    assert made == {"unavailable"}

    (answer,) = json.loads(analyze(*asked, "--json").stdout)
    assert answer["question"] == "unavailability"
    units = {column["name"]: column["unit"] for column in answer["columns"]}
    assert units["longest_us"] == "us"
    offline = [row for row in answer["rows"] if row["condition"] == "offline"]
    assert crashed.summary is not None
    total = sum(row["total_seconds"] for row in offline)
    assert total == pytest.approx(crashed.summary["partition_seconds_offline"])
    assert units.keys() == offline[0].keys()


@pytest.mark.usefixtures("spark")
def test_runs_that_cannot_answer_a_question_are_told_so(crashed: RunFolder, tmp_path: Path) -> None:
    result = analyze(crashed.path, "--out", tmp_path, "--question", "first-divergence")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "first-divergence compares two runs, not 1" in result.stderr


def test_all_questions_are_listed_without_a_run() -> None:
    result = analyze("--questions")
    assert result.exit_code == 0
    assert "failover-budget" in result.stdout
    assert len(result.stdout.splitlines()) >= 10


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere",), "nowhere: no such folder"),
        (("nowhere/*",), "nowhere/*: matches no folder of a run"),
        (("nowhere", "--table", "electoins"), "no such table; did you mean elections?"),
        (("nowhere", "--question", "isr-flaping"), "no such question; did you mean isr-flapping?"),
    ],
)
def test_what_cannot_be_analysed_is_said_in_one_line_and_without_spark(
    arguments: tuple[str, ...], said: str
) -> None:
    result = analyze(*arguments)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert said in result.stderr
