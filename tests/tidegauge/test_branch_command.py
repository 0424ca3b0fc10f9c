"""``tidegauge branch`` and ``tidegauge sweep --from``: other futures of one past."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from importing import in_one_line
from scenario_runs import shipped
from tidegauge import TidegaugeError, branch
from tidegauge.command_line import app
from tidegauge.engine.simulate import simulate
from tidegauge.traces.run_folder import RunFolder

SECOND = 1_000_000
LOST = '{name: lost, kind: power_loss, at: 45s, for: 10s, brokers: ["rack:b"]}'


def tidegauge(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, words)])


def refused(*words: str | Path) -> str:
    result = tidegauge(*words)
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.stderr.strip()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A minute of six brokers, of which one crashes at 30 s, with a snapshot at 40 s."""
    folder = tmp_path_factory.mktemp("branch") / "run"
    crash = {"kind": "crash", "at": "30s", "for": "20s", "brokers": [2]}
    scenario = shipped("quickstart", {"duration": "1m", "faults": [crash]})
    simulate(scenario, folder, snapshots_us=[40 * SECOND])
    return folder


def test_a_branch_is_a_run_with_the_past_of_another_one(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "branch"
    result = tidegauge("branch", run, "--at", "40s", "--fault", LOST, "--out", out)
    assert result.exit_code == 0, result.output
    output = in_one_line(result.output)
    assert f"seed 1, from 40s of {run}" in output
    assert "Again: tidegauge branch" in output
    assert tidegauge("verify", out).exit_code == 0
    assert f"is a branch of {run} from 40s" in refused("replay", out)
    shown = tidegauge("show", "faults", out)
    assert shown.exit_code == 0
    assert "30.0" in shown.output
    assert "lost" in shown.output
    assert RunFolder(out).manifest["past"] == {"run": str(run), "at_us": 40 * SECOND}
    assert [each["name"] for each in RunFolder(out).manifest["faults"]][1:] == ["lost"]


def test_a_branch_begins_at_any_time(run: Path, tmp_path: Path) -> None:
    """At 20 s there is no snapshot: the run is repeated until then, and the run stays as it is."""
    before = sorted(run.rglob("*"))
    result = tidegauge("branch", run, "--at", "20s", "--out", tmp_path / "b", "--json")
    assert result.exit_code == 0, result.output
    recorded = RunFolder(run).summary
    assert recorded is not None
    assert json.loads(result.stdout)["trace_sha256"] == recorded["trace_sha256"]
    assert sorted(run.rglob("*")) == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--at", "2m"], "has no time 2m: it ends at 1m"),
        (["--at", "soon"], "--at soon: "),
        (["--at", "40s", "--fault", "kind: [crash"], "--fault=kind: [crash: the value is not"),
        (["--at", "40s", "--fault", "crash"], "--fault crash: must be a mapping"),
        (["--at", "40s", "--fault", "{kind: quake, at: 50s}"], "faults[1].kind: "),
        (["--at", "40s", "--set", "topics.orders.partitions=3"], "cannot change while a run"),
        (["--at", "40s", "--set", "faults.0.at=50s"], "faults[0].at: must not be before 40s"),
    ],
)
def test_what_cannot_be_is_one_line(
    run: Path, tmp_path: Path, options: list[str], said: str
) -> None:
    assert said in refused("branch", run, *options, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_python_refuses_as_the_command_does(run: Path, tmp_path: Path) -> None:
    with pytest.raises(TidegaugeError, match="at: must be"):
        branch(run, "soon", out=tmp_path / "out")
    with pytest.raises(TidegaugeError, match="has no time 2m"):
        branch(run, "2m", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_sweep_runs_many_futures_of_one_past(run: Path, tmp_path: Path) -> None:
    """Each seed has the crash at 30 s in common, and the same command runs nothing twice."""
    out = tmp_path / "sweep"
    words = ("sweep", "--from", run, "--at", "35s", "--seeds", "1..3", "--out", out, "--json")
    result = tidegauge(*words)
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert [each["seed"] for each in content["runs"]] == [1, 2, 3]
    assert content["worst"]["command"].startswith(f"tidegauge branch {run} --at 35s --seed ")
    hashes = {each["trace_sha256"] for each in content["runs"]}
    recorded = RunFolder(run).summary
    assert recorded is not None
    assert recorded["trace_sha256"] in hashes
    assert len(hashes) == 3
    times = {}
    for each in content["runs"]:
        rows = RunFolder(out / each["folder"]).rows("fault_began")
        times[each["seed"]] = [row["time_us"] for row in rows]
    assert times[1] == times[2] == times[3]
    assert "3 of them already finished" in in_one_line(tidegauge(*words).output)


def test_a_sweep_of_futures_refuses_what_no_run_can_change(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "sweep"
    words = ("sweep", "--from", run, "--at", "35s", "--out", out)
    assert "cannot change while a run goes on" in refused(
        *words, "--set", "topics.orders.partitions=2,3"
    )
    assert "--from RUN needs --at TIME" in refused("sweep", "--from", run, "--seeds", "1..3")
    assert "--at needs --from RUN" in refused(
        "sweep", "quickstart", "--at", "3s", "--seeds", "1..2"
    )
