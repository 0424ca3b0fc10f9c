"""A thousand scenario files that are wrong, or odd, each given to ``tidegauge run``.

A mutant is a scenario after all and can be run, or the command says what is wrong, in one line
for each problem, with the file and the field, ends with status 2, and leaves nothing behind.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from scenario_mutations import ODD_VALUES, PLANNED, Mutant, mutant, odd
from tidegauge.command_line import app
from tidegauge.commands import performing
from tidegauge.engine.group import Group
from tidegauge.engine.simulate import manifest_of
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.traces.run_folder import json_parts

SEED = int(os.environ.get("TIDEGAUGE_MUTANTS_SEED", "0"))
MUTANTS = 1_000
PARTS = 10
#: Some seconds each: so many parts are among the short tests.
SHORT = 1
LONG = range(SHORT, PARTS)
#: Of a valid mutant so much is run, if its cluster is small; of the others only the plan is made.
VIRTUAL_US = 300_000
SMALL = 200


def play(scenario: Scenario, folder: Path, **_: Any) -> None:
    """Plan a run as a real one is planned, play its beginning, and write nothing."""
    plan = ClusterPlan(scenario)
    manifest = json.loads("".join(json_parts(manifest_of(plan))))
    assert scenario_from_mapping(manifest["scenario"], "manifest.json") == scenario
    if max(len(plan.partitions), len(plan.processes)) <= SMALL:
        group = Group(plan, range(len(plan.processes)), folder)
        group.run_to(min(VIRTUAL_US, scenario.duration_us), lambda _: None)
    raise typer.Exit(0)


def judge(file: Path, made: Mutant, status: int, stderr: str) -> None:
    """Whether this is how a command says that its input is wrong, or right."""
    assert "Traceback" not in stderr, made.about
    if made.field is not None:
        assert status == 2, made.about
        assert f": {made.field}" in stderr, (made.about, stderr)
    if status == 0:
        return
    assert status == 2, made.about
    lines = stderr.removeprefix("tidegauge: ").splitlines()
    assert lines, made.about
    for line in lines:
        assert re.match(rf"{re.escape(str(file))}(:\d+)?: \S", line), (made.about, line)
        assert line.isprintable(), (made.about, line)
        assert len(line) < 2_000, made.about


@pytest.mark.parametrize(
    "part", [*range(SHORT), *(pytest.param(each, marks=pytest.mark.long) for each in LONG)]
)
def test_a_mutant_is_played_or_refused_in_words(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(performing, "simulate", play)
    file, out = tmp_path / "mutant.yaml", tmp_path / "out"
    outcomes: Counter[int] = Counter()
    for number in range(part, MUTANTS, PARTS):
        made = mutant(SEED * MUTANTS + number)
        file.write_bytes(made.content)
        result = CliRunner().invoke(app, ["run", str(file), "--inline", "--out", str(out)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise AssertionError((number, made.about)) from result.exception
        judge(file, made, result.exit_code, result.stderr)
        assert not out.exists(), made.about
        outcomes[result.exit_code] += 1
    # Neither is everything refused, nor is everything taken.
    assert min(outcomes[0], outcomes[2]) >= MUTANTS // PARTS // 10


@pytest.mark.parametrize(("text", "field"), PLANNED)
def test_what_is_wrong_is_named(text: str, field: str, tmp_path: Path) -> None:
    file, out = tmp_path / "wrong.yaml", tmp_path / "out"
    file.write_text(text)
    result = CliRunner().invoke(app, ["run", str(file), "--inline", "--out", str(out)])
    judge(file, Mutant(text, text.encode(), field), result.exit_code, result.stderr)
    assert not out.exists()


@pytest.mark.parametrize("seed", [0, 1])
def test_a_process_of_its_own_says_the_same(seed: int, tmp_path: Path) -> None:
    file, out = tmp_path / "mutant.yaml", tmp_path / "out"
    made = odd(random.Random(seed + 40))  # noqa: S311  # nothing here is a secret
    file.write_bytes(made.content)
    arguments = ["run", str(file), "--inline", "--out", str(out)]
    inside = CliRunner().invoke(app, arguments)
    there = out.exists()
    if there:
        out.rename(tmp_path / "first")
    command = [sys.executable, "-m", "tidegauge", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (inside.exit_code, inside.stderr)
    assert out.exists() == there == (done.returncode == 0)
    judge(file, made, done.returncode, done.stderr)


def test_mutants_come_from_their_seed_alone() -> None:
    assert [mutant(seed).content for seed in range(50)] == [
        mutant(seed).content for seed in range(50)
    ]
    assert len({mutant(seed).content for seed in range(300)}) > 250
    assert len(ODD_VALUES) > 50
