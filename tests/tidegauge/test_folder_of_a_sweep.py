"""The folder of a sweep, given to commands that look at runs: it is no run, and has some."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from swept_scenario import CRASHES, sweep
from tidegauge.api import Result as RunResult
from tidegauge.command_line import app
from tidegauge.traces.run_files import SWEEP, RunError

pytestmark = pytest.mark.usefixtures("ray_here")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs."""
    folder = tmp_path_factory.mktemp("swept")
    (folder / "crashes.yaml").write_text(CRASHES)
    options = ("--figure", "events", "--out", folder / "of seeds")
    result = sweep(folder / "crashes.yaml", "--seeds", "9..11", *options)
    assert result.exit_code == 0, result.output
    return folder / "of seeds"


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.mark.parametrize("command", ["show partitions", "picture", "describe", "verify", "replay"])
def test_a_command_about_one_run_says_that_it_is_a_sweep_and_lists_its_runs(
    command: str, swept: Path
) -> None:
    result = invoke(*command.split(), swept)
    assert result.exit_code == 2, result.output
    first, *lines = result.stderr.splitlines()
    assert first == f"tidegauge: {swept}: is the folder of a sweep of 3 runs; {command} takes one"
    worst = json.loads((swept / SWEEP).read_text())["worst"]
    which = "the worst of them (the most events)"
    assert f"  {which}: tidegauge {command} '{swept}/{worst['folder']}'" in lines
    listed = [line.strip() for line in lines[lines.index("Its runs:") + 1 :]]
    assert listed == [f"'{swept}/seed={seed}'" for seed in (9, 10, 11)]
    assert not result.stdout


def test_the_command_that_it_proposes_looks_at_a_run(swept: Path) -> None:
    (line,) = (
        line for line in invoke("verify", swept).stderr.splitlines() if "the worst of them" in line
    )
    result = invoke("verify", line.partition("verify ")[2].strip("'"))
    assert result.exit_code == 0, result.output


def test_a_sweep_that_was_stopped_before_its_end_is_one_too(tmp_path: Path, swept: Path) -> None:
    """... by the lock that it leaves; what it has run is there."""
    stopped = tmp_path / "stopped"
    stopped.mkdir()
    (stopped / ".sweep.lock").touch()
    result = invoke("show", "partitions", stopped)
    assert result.exit_code == 2, result.output
    assert "the folder of a sweep, and no run of it has begun yet" in result.stderr
    (stopped / "seed=9").symlink_to(swept / "seed=9")
    said = invoke("show", "partitions", stopped).stderr
    assert "the folder of a sweep of 1 run; show partitions takes one" in said
    assert f"the first of them: tidegauge show partitions {stopped}/seed=9" in said


def test_from_python_it_is_an_error_that_says_so(swept: Path) -> None:
    with pytest.raises(RunError, match="the folder of a sweep, not of a run"):
        RunResult(swept)


def test_another_sweep_json_is_one_line(tmp_path: Path) -> None:
    (tmp_path / SWEEP).write_text('{"runs": 3}')
    result = invoke("show", "partitions", tmp_path)
    assert result.exit_code == 2, result.output
    assert result.stderr == (
        f"tidegauge: {tmp_path / SWEEP}: is not the table of a sweep of Tidegauge\n"
    )
