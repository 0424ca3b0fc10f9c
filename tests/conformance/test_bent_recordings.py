"""A recording in which one thing is bent is found out, at the step where it was bent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from recordings import GOLDEN, golden, written
from tidegauge.command_line import app
from tidegauge.laboratory.conformance.conform import conform
from tidegauge.laboratory.conformance.known_differences import KnownDifferences, known_differences
from tidegauge.laboratory.conformance.recorded_schedule import load_schedule

NOTHING_KNOWN = KnownDifferences(())

#: Three brokers, two elections: epochs 0, 1 and 2 come to stand in each log.
NAME = "h1_epochs_0_1_2"


def partition(step: dict[str, Any]) -> Any:
    return step["obs"]["exact"]["partitions"]["t-0"]


def another_leader(step: dict[str, Any]) -> None:
    partition(step)["zk"]["leader"] = 3


def a_shorter_log(step: dict[str, Any]) -> None:
    partition(step)["logs"]["2"]["leo"] -= 1


def another_epoch(step: dict[str, Any]) -> None:
    partition(step)["logs"]["2"]["runs"][-1][0] += 1


def a_write_more(step: dict[str, Any]) -> None:
    writes = step["state_writes"]["t-0"]["writes"]
    writes.append([*writes[-1][:-1], writes[-1][-1] + 1])


def a_later_write(step: dict[str, Any]) -> None:
    written_once = step["state_writes"]["t-0"]
    written_once["t_ms"] = [[0, 1e6] for _ in written_once["writes"]]
    written_once["t_ms"][-1] = [500_000, 600_000]


def another_answer(step: dict[str, Any]) -> None:
    step["result"]["exact"]["results"]["t-0"][0]["base_offset"] += 1


#: The bend, the number of its step, and the path of the field that is bent.
BENDS = [
    (another_leader, 2, "partitions.t-0.zk.leader"),
    (a_shorter_log, 3, "partitions.t-0.logs.2.leo"),
    (another_epoch, 3, "partitions.t-0.logs.2.runs"),
    (a_write_more, 2, "state_writes.t-0"),
    (a_later_write, 2, "state_writes.t-0.0.t_ms"),
    (another_answer, 3, "results.t-0.0.base_offset"),
]


def test_the_recording_as_it_is_has_no_difference(tmp_path: Path) -> None:
    file = written(golden(NAME), tmp_path / "good.json")
    result = conform(load_schedule(file), tmp_path / "runs", NOTHING_KNOWN, seeds=1)
    assert result.differences == []
    assert result.compared.total() > 300

    shown = CliRunner().invoke(app, ["conform", str(file)])
    assert shown.exit_code == 0, shown.output
    assert "around it" not in shown.output


@pytest.mark.parametrize(("bend", "number", "path"), BENDS)
def test_what_is_bent_is_found_where_it_was_bent(
    tmp_path: Path, bend: Callable[[dict[str, Any]], None], number: int, path: str
) -> None:
    recording = golden(NAME)
    bend(recording["steps"][number])
    file = written(recording, tmp_path / "bent.json")

    result = conform(load_schedule(file), tmp_path / "runs", NOTHING_KNOWN, seeds=1)
    assert [(each.step.number, each.field.path) for each in result.parting] == [(number, path)]

    shown = CliRunner().invoke(app, ["conform", str(file), "--seeds", "1"])
    assert shown.exit_code == 1
    assert f"step {number}, at " in shown.stdout
    assert f"    {path}: " in shown.stdout
    assert "t-0 around it:" in shown.stdout


def no_writes(step: dict[str, Any]) -> None:
    del step["state_writes"]


def a_log_less(step: dict[str, Any]) -> None:
    del partition(step)["logs"]["2"]


def far_later_writes(step: dict[str, Any]) -> None:
    """By more than isr-expiration's period of 2 s."""
    for writes in step["state_writes"].values():
        writes["t_ms"] = [[begin + 2500, end + 2500] for begin, end in writes["t_ms"]]


def another_recovery_point(step: dict[str, Any]) -> None:
    partition(step)["logs"]["2"]["recovery_point"] = 999


#: The recording, the bend, its step, the path: what the table that comes along must not explain.
BENDS_OF_WHAT_IS_KNOWN = [
    ("h1_epochs_0_1_2", another_leader, 2, "partitions.t-0.zk.leader"),
    ("h1_epochs_0_1_2", another_recovery_point, 3, "partitions.t-0.logs.2.recovery_point"),
    ("h1_epochs_0_1_2", no_writes, 2, "state_writes.t-0"),
    ("h1_epochs_0_1_2", a_log_less, 3, "partitions.t-0.logs.2"),
    ("d2_lag_shrink_4s", far_later_writes, 4, "state_writes.t-0.0.t_ms"),
]


@pytest.mark.parametrize(("name", "bend", "number", "path"), BENDS_OF_WHAT_IS_KNOWN)
def test_the_table_that_comes_along_does_not_explain_a_bend(
    tmp_path: Path, name: str, bend: Callable[[dict[str, Any]], None], number: int, path: str
) -> None:
    recording = json.loads((GOLDEN / f"{name}.json").read_text())
    bend(recording["steps"][number])
    file = written(recording, tmp_path / f"{name}.json")

    result = conform(load_schedule(file), tmp_path / "runs", known_differences(), seeds=3)
    assert (number, path) in [(each.step.number, each.field.path) for each in result.parting]
