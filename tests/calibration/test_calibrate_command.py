"""``tidegauge calibrate``, as a person at a shell meets it."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from tidegauge.command_line import app
from tidegauge.scenario.reading import load_scenario
from tidegauge.scenario.used_resources import leaned_on

REAL_LOGS = Path(__file__).parents[1] / "data" / "real_logs"
RANDOM = REAL_LOGS / "zk-2.6.3-rand312"
KRAFT = REAL_LOGS / "kraft-4.1.0-c1_term_leader"

MINE = """\
# My cluster.
release: "2.6"
mode: zookeeper
duration: 1m
cluster: {brokers: 3}
costs:
  # Measured by hand.
  request: 300us
  broker_stop: 1s
topics:   # two
  - {name: t, partitions: 2, replication_factor: 3}
faults:
  - {kind: restart, name: stop, at: 20s, for: 10s, brokers: [1]}
"""


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


def calibrated(*arguments: str | Path) -> str:
    """The output of a calibration that succeeds."""
    result = run("calibrate", *arguments)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    file = tmp_path / "mine.yaml"
    file.write_text(MINE)
    return file


def test_each_parameter_has_its_samples_its_source_and_its_default() -> None:
    output = calibrated("--logs", RANDOM)
    (row,) = (line.split() for line in output.splitlines() if line.startswith("costs.broker_start"))
    quantiles = ["1.68s", "2.3s", "2.57s", "2.58s", "2.58s"]
    assert row == ["costs.broker_start", *quantiles, "4", "1.54x", "700ms"]
    assert "costs.broker_start: server.log: first line of a start" in output
    assert "costs.controller_election: no line marks" in output


def test_a_clock_of_whole_seconds_leaves_out_what_is_shorter(tmp_path: Path) -> None:
    logs = shutil.copytree(RANDOM, tmp_path / "logs")
    milliseconds = re.compile(r"^(\[20[^,\]]*),\d{3}\]", re.MULTILINE)
    for file in logs.glob("*/*.log"):
        file.write_text(milliseconds.sub(r"\1]", file.read_text()))
    output = calibrated("--logs", logs)
    (row,) = (line.split() for line in output.splitlines() if line.startswith("costs.broker_start"))
    assert row[1:7] == [*["2s"] * 5, "4"]
    assert "costs.zookeeper_write: shorter than the whole seconds of the lines" in output
    fitted = [line.split()[0] for line in output.splitlines() if line.startswith("costs.")]
    assert fitted == ["costs.broker_start", "costs.broker_stop"]


def test_validate_marks_no_calibrated_parameter(tmp_path: Path, mine: Path) -> None:
    costs = tmp_path / "costs.yaml"
    assert f"Use it:  tidegauge run SCENARIO --costs {costs}" in calibrated(
        "--logs", RANDOM, "-o", costs
    )
    fitted = yaml.safe_load(costs.read_text())["costs"]
    before = run("validate", mine, "--verbose")
    after = run("validate", mine, "--verbose", "--costs", costs)
    assert after.exit_code == 0, after.output
    assert "* costs.broker_start " in before.output
    assert "* costs.controller_election " in after.output
    for cost in fitted:
        assert f"* costs.{cost} " not in after.output
    assert "  costs.broker_stop                           3.62 s" in after.output


def test_an_option_overrides_a_calibrated_parameter(tmp_path: Path, mine: Path) -> None:
    costs = tmp_path / "costs.yaml"
    calibrated("--logs", RANDOM, "-o", costs)
    result = run("validate", mine, "-v", "--costs", costs, "--set", "costs.broker_stop=2s")
    assert "costs.broker_stop                           2.00 s" in result.output


def test_a_run_repeats_with_its_costs(tmp_path: Path, mine: Path) -> None:
    costs = tmp_path / "costs.yaml"
    calibrated("--logs", RANDOM, "-o", costs)
    out = tmp_path / "run"
    assert run("run", mine, "--inline", "--costs", costs, "--out", out).exit_code == 0
    manifest = (out / "manifest.json").read_text()
    assert '"broker_stop": "3620ms"' in manifest


def test_a_copy_of_a_scenario_keeps_its_lines(tmp_path: Path, mine: Path) -> None:
    copy = tmp_path / "copy.yaml"
    output = calibrated("--logs", RANDOM, "--scenario", mine, "-o", copy)
    assert f"Next:    tidegauge validate {copy}" in output
    text = copy.read_text()
    for line in ("# My cluster.", "  # Measured by hand.", "topics:   # two"):
        assert line in text.splitlines()
    scenario = load_scenario(copy)
    starred = {each.name for each in leaned_on(scenario) if each.is_default}
    assert "costs.request" not in starred
    assert "costs.broker_stop" not in starred
    assert "costs.request_partition" in starred
    own = scenario.costs.model_dump(mode="json")
    assert (own["request"], own["broker_stop"]) == ("300us", "3620ms")


REST = "duration: 1m\nmode: zookeeper\nrelease: '2.6'\ncluster: {brokers: 3}\n"


@pytest.mark.parametrize(
    "text",
    [
        f"{REST}costs: {{append: 1ms}}\n",
        f"costs: {{append: 1ms}}\n{REST}".rstrip(),
        f"costs:\n  append:\n    min: 1ms\n    p50: 1ms\n\n# end\n{REST}",
        REST,
    ],
)
def test_a_scenario_may_have_its_costs_anywhere(tmp_path: Path, text: str) -> None:
    scenario, copy = tmp_path / "mine.yaml", tmp_path / "copy.yaml"
    scenario.write_text(text)
    calibrated("--logs", RANDOM, "--scenario", scenario, "-o", copy)
    costs = load_scenario(copy).costs.model_dump(mode="json")
    assert costs["broker_stop"] == "3620ms"
    assert costs["append"] == ("1ms" if "append" in text else "200us")
    assert ("# end" in text) == ("# end" in copy.read_text())


def test_costs_of_the_other_mode_are_refused(tmp_path: Path, mine: Path) -> None:
    costs = tmp_path / "costs.yaml"
    calibrated("--logs", KRAFT, "-o", costs)
    result = run("validate", mine, "--costs", costs)
    assert result.exit_code == 2
    assert "costs.metadata_publication" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "calibrate needs --logs, --samples or --prometheus"),
        (["--logs", "nowhere"], "nowhere: does not exist"),
        (["--logs", "empty"], "empty: has no log of Kafka"),
        (["--logs", RANDOM, "--scenario", "mine.yaml"], "--scenario needs -o"),
        (["--logs", RANDOM, "-o", "mine.yaml"], "mine.yaml: exists; --force overwrites it"),
        (["--logs", RANDOM, "-o", "mine.yaml/x"], "mine.yaml/x: cannot be written"),
        (["--logs", RANDOM, "--logs", KRAFT], "are logs of ZooKeeper and of KRaft clusters"),
        (
            ["--logs", KRAFT, "--scenario", "mine.yaml", "-o", "x"],
            "mine.yaml: is of a ZooKeeper cluster",
        ),
        (["--logs", RANDOM, "--schedule", "mine.yaml"], "mine.yaml: is not JSON"),
        (["--logs", RANDOM, "--schedule", "none.json"], "none.json: No such file or directory"),
        (["--logs", RANDOM, "--schedule", KRAFT / "schedule.json"], "is of a KRaft cluster, not"),
        (["--samples", "none.txt"], "none.txt: cannot be read"),
        (["--prometheus", "ftp://x"], "--prometheus: must be a URL"),
        (["--logs", RANDOM, "--over", "1m"], "--over needs --prometheus or --samples"),
    ],
)
def test_an_error_is_one_line(
    mine: Path, arguments: list[str | Path], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mine.parent)
    (mine.parent / "empty").mkdir()
    result = run("calibrate", *arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert len(result.output.splitlines()) == 1


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    result = run("calibrate", "--logs", RANDOM, "-o", tmp_path / "costs.yaml")
    assert f"{tmp_path / 'costs.yaml'}: cannot be written" in result.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("topics: []\n", "must have costs and resources, and nothing else"),
        ("costs: 3\n", "costs: must be a mapping"),
        ("", "is empty"),
        ("costs:\n  nothing: 3ms\n", "costs.nothing"),
    ],
)
def test_a_file_of_costs_has_costs(tmp_path: Path, mine: Path, text: str, message: str) -> None:
    costs = tmp_path / "costs.yaml"
    costs.write_text(text)
    result = run("validate", mine, "--costs", costs)
    assert result.exit_code == 2
    assert message in result.output
