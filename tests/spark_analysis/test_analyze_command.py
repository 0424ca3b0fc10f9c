"""``tidegauge analyze``, as a person at a shell meets it."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from small_clusters import cluster_of, producers_of
from tidegauge.command_line import app
from tidegauge.run_folder import RunFolder
from tidegauge.simulate import simulate


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A leader is killed, and its partition has another one soon."""
    scenario = cluster_of(
        {"zookeeper.session.timeout.ms": 4000},
        duration="20s",
        liveness=True,
        workload={"producers": [producers_of(10, "2s", "18s", acks="all")]},
        faults=[{"kind": "crash", "at": "5s", "for": "9s", "brokers": [1]}],
    )
    return simulate(scenario, tmp_path_factory.mktemp("runs") / "crashed")


def analyze(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["analyze", *map(str, arguments)])


@pytest.mark.usefixtures("spark")
def test_figures_are_those_of_the_summary_and_tables_are_parquet(
    crashed: RunFolder, tmp_path: Path
) -> None:
    result = analyze(crashed.path, "--out", tmp_path, "--json", "--table", "elections")
    assert result.exit_code == 0, result.output
    (figures,) = json.loads(result.stdout)
    assert crashed.summary is not None
    # All but the name of the run.
    for name in figures.keys() - {"run"}:
        assert figures[name] == crashed.summary[name], name
    assert figures["leader_elections"] > 0

    # Whoever reads Parquet can read them, without Spark.
    pattern = tmp_path / "tables" / "run=crashed" / "elections" / "*.parquet"
    query = f"select count(*) from '{pattern}'"  # noqa: S608 - a path of this test
    ((elections,),) = duckdb.connect().execute(query).fetchall()
    assert elections > 0


@pytest.mark.long
def test_only_what_is_asked_for_is_made(
    spark: SparkSession, crashed: RunFolder, tmp_path: Path
) -> None:
    assert spark.version >= "4"
    result = analyze(crashed.path, "--out", tmp_path, "--table", "faults")
    assert result.exit_code == 0, result.output
    made = {folder.name for folder in (tmp_path / "tables" / "run=crashed").iterdir()}
    assert made == {"faults", "run_figures"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere",), "nowhere: there is no such folder"),
        (("nowhere/*",), "nowhere/*: matches no folder of a run"),
        (("nowhere", "--table", "electoins"), "no such table; did you mean elections?"),
    ],
)
def test_what_cannot_be_analysed_is_said_in_one_line_and_without_spark(
    arguments: tuple[str, ...], said: str
) -> None:
    result = analyze(*arguments)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert said in result.stderr
