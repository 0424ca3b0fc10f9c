"""``tidegauge compare`` with the folders of two runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import tidegauge
from tidegauge.command_line import app

SCENARIO: dict[str, Any] = {
    "name": "dies",
    "duration": "60s",
    "release": "2.6",
    "liveness": False,
    "cluster": {
        "brokers": 3,
        "start": {3: "0s"},
        "settings": {"auto.leader.rebalance.enable": False},
    },
    "topics": [{"name": "orders", "partitions": 3, "replication_factor": 3}],
    "workload": {"producers": [{"name": "shop", "topics": ["orders"], "batches_per_second": 4}]},
    "faults": [{"name": "dies", "kind": "crash", "at": "15s", "for": "25s", "brokers": [1]}],
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A run, the same 10 s later, and one in which another broker dies."""
    folder = tmp_path_factory.mktemp("runs")
    tidegauge.run(SCENARIO, out=folder / "one")
    later = SCENARIO | {
        "duration": "70s",
        "faults": [SCENARIO["faults"][0] | {"at": "25s"}],
    }
    tidegauge.run(later, out=folder / "later")
    other = SCENARIO | {"faults": [SCENARIO["faults"][0] | {"brokers": [2]}]}
    tidegauge.run(other, out=folder / "other")
    return folder / "one", folder / "later", folder / "other"


def compare(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["compare-runs", *map(str, arguments)])


def content(*arguments: str | Path) -> dict[str, Any]:
    result = compare(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_a_run_is_equal_to_itself(runs: tuple[Path, Path, Path]) -> None:
    found = content(runs[0], runs[0])
    assert [each["shift_us"] for each in found["runs"]] == [0, 0]
    assert found["partitions"]["same"] == found["partitions"]["compared"] == 3
    assert all(each["values"][0] == each["values"][1] for each in found["figures"])
    (incident,) = found["incidents"]
    assert incident["broker"] == 1
    assert [each["manner"] for each in incident["runs"]] == ["crash", "crash"]
    assert [each["begin_s"] for each in incident["runs"]] == [15.0, 15.0]
    assert incident["runs"][0]["away_s"] == pytest.approx(25.7, abs=0.1)


def test_runs_are_aligned_by_their_first_changes(runs: tuple[Path, Path, Path]) -> None:
    """A session ends on a tick, so changes are between 8 and 12 s apart."""
    found = content(runs[0], runs[1])
    later = found["runs"][1]
    assert -12_000_000 <= later["shift_us"] <= -8_000_000
    assert later["aligned_by_partitions"] == 3
    assert found["partitions"]["same"] == 3


def test_an_option_says_the_shift(runs: tuple[Path, Path, Path]) -> None:
    found = content(runs[0], runs[1], "--shift", "-10s")
    later = found["runs"][1]
    assert (later["shift_us"], later["aligned_by_partitions"]) == (-10_000_000, None)
    assert [each["begin_s"] for each in found["incidents"][0]["runs"]] == [15.0, 15.0]


def test_the_first_state_that_differs_is_named_with_commands(
    runs: tuple[Path, Path, Path],
) -> None:
    found = content(runs[0], runs[2])
    assert found["partitions"]["same"] == 0
    assert len(found["partitions"]["different"]) == 3
    first = found["partitions"]["different"][0]
    assert first["same_states"] == 1
    assert first["show"][0] == f"tidegauge show partition {runs[0]} {first['partition']}"
    assert [each["broker"] for each in found["incidents"]] == [1, 2]
    text = " ".join(compare(runs[0], runs[2]).output.split())
    assert "the same in 0 of 3 partitions" in text
    assert first["show"][1] in text


def test_figures_stand_side_by_side(runs: tuple[Path, Path, Path]) -> None:
    found = {each["figure"]: each["values"] for each in content(runs[0], runs[1])["figures"]}
    assert found["leader_elections"] == [1, 1]
    assert found["isr_expands"] == [3, 3]
    assert found["sessions_expired"] == [1, 1]
    assert found["records_acknowledged"][0] > 0


def test_a_shift_that_is_no_time_is_refused(runs: tuple[Path, Path, Path]) -> None:
    result = compare(runs[0], runs[1], "--shift", "soon")
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("tidegauge: --shift soon:")
    assert len(result.stderr.splitlines()) == 1


def test_a_folder_that_is_no_run_is_refused(runs: tuple[Path, Path, Path], tmp_path: Path) -> None:
    result = compare(runs[0], tmp_path)
    assert result.exit_code == 2, result.output
    assert "not the folder of a run" in result.stderr
