"""``tidegauge sweep``: a scenario with other values in it, side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tidegauge.command_line import app
from tidegauge.run_folder import RunFolder

#: A leader whose followers are cut off for a while, and that dies 20 s later.
SCENARIO = """\
name: fading
duration: 80s
liveness: false
cluster:
  brokers: 4
  start: {1: 500ms, 2: 600ms, 3: 700ms, 4: 0ms}
  settings: {auto.leader.rebalance.enable: false, zookeeper.session.timeout.ms: 6000}
topics: [{name: orders, assignment: {0: [1, 2, 3]}}]
workload:
  producers: [{name: shop, topics: [orders], batches_per_second: 4, settings: {acks: "1"}}]
faults:
  - {name: fades, kind: cut_link, at: 20s, between: [[1], [2, 3]]}
  - {name: dies, kind: crash, at: 40s, brokers: [1]}
"""
LAG = "cluster.settings.replica.lag.time.max.ms"


@pytest.fixture
def fading(tmp_path: Path) -> Path:
    file = tmp_path / "fading.yaml"
    file.write_text(SCENARIO)
    return file


def sweep(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["sweep", *map(str, arguments)])


def test_a_grid_says_for_which_pairs_nobody_can_be_elected(fading: Path, tmp_path: Path) -> None:
    """Question 8 of operators: an ISR of only the dead leader, if the lag time has passed."""
    out = tmp_path / "sweep"
    result = sweep(
        fading,
        *("--set", f"{LAG}=5000,30000"),
        *("--set", "cluster.settings.zookeeper.session.timeout.ms=6000,18000"),
        *("--figure", "partition_seconds_offline", "--jobs", "1", "--out", out),
    )
    assert result.exit_code == 0, result.output
    header, _, *rows = [
        line.split() for line in result.stdout.splitlines() if line and not line.startswith(" ")
    ][2:6]
    assert header == ["replica.lag.time.max.ms", "6000", "18000"]
    offline = {row[0]: [float(cell) for cell in row[1:]] for row in rows}
    assert min(offline["5000"]) > 20, "to the end of the run"
    assert max(offline["30000"]) < 1
    # Each cell is a run of its own.
    summary = RunFolder(out / "003").summary
    assert summary is not None
    assert round(summary["partition_seconds_offline"], 3) == offline["30000"][0]


def test_a_line_for_each_run_has_all_figures(fading: Path, tmp_path: Path) -> None:
    result = sweep(
        fading,
        *("--set", "faults.dies.at=30s,60s", "--figure", "dies.seconds"),
        *("--figure", "isr_shrinks", "--set", f"{LAG}=5000", "--json"),
        *("--jobs", "1", "--out", tmp_path / "sweep"),
    )
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    assert [each["dies.seconds"] for each in found["runs"]] == [50, 20]
    assert [each["isr_shrinks"] for each in found["runs"]] == [1, 1]
    assert [each["changes"] for each in found["runs"]] == [
        ["faults.dies.at=30s"],
        ["faults.dies.at=60s"],
    ]
    assert json.loads((tmp_path / "sweep" / "sweep.json").read_text()) == found


def test_a_run_that_is_not_as_expected_is_named_and_ends_with_1(
    fading: Path, tmp_path: Path
) -> None:
    text = SCENARIO.replace("liveness: false", "checks: {strong_isr: false}")
    fading.write_text(text)
    result = sweep(fading, "--set", "seed=1,2", "--jobs", "1", "--out", tmp_path / "sweep")
    assert result.exit_code == 1
    assert "seed=2: not as expected: strong_isr" in result.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--set", "seed"], "--set seed: must be PATH=VALUE,VALUE..."),
        (["--set", "faults=[1, 2]"], "no path has several values"),
        (["--set", "seed=1,x"], "seed: must be a whole number"),
        (["--set", "cluster.brokrs=1,2"], "cluster.brokrs"),
        (["--set", "seed=1,2", "--jobs", "0"], "--jobs 0: must be 1 or more"),
        (["--set", "seed=1,2", "--figure", "dies.second"], "did you mean dies.seconds?"),
        ([f"--set={part}={','.join(map(str, range(40)))}" for part in ("seed", LAG)], "too many"),
    ],
    ids=["path", "list", "value", "name", "jobs", "figure", "many"],
)
def test_what_cannot_be_swept_is_one_line(
    fading: Path, tmp_path: Path, options: list[str], said: str
) -> None:
    result = sweep(fading, *options, "--out", tmp_path / "sweep")
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
