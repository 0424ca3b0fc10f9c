"""``tidegauge ask`` with plans: in which order the voters of a quorum are changed (KIP-853)."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from tidegauge.command_line import app
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.what_if.asked_scenario import PlanScenarios, begins_us, plan_scenarios
from tidegauge.what_if.question import read_question
from tidegauge.what_if.questions import QUESTIONS
from tidegauge.what_if.voter_plans import second_failure

CLUSTER: dict[str, Any] = {
    "duration": "1m",
    "release": "4.4",
    "cluster": {"brokers": 3},
    "controllers": {"count": 3},
    "topics": [{"name": "orders", "partitions": 2, "replication_factor": 3}],
}
PLAN_QUESTIONS = [each for each in QUESTIONS if each.plans is not None]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(yaml.safe_dump(CLUSTER))


def ask(*words: str) -> Result:
    return CliRunner().invoke(app, ["ask", "mine.yaml", *words])


def plans_of(text: str, **parts: Any) -> dict[str, PlanScenarios]:
    """The plans of a question by their names."""
    data = {**CLUSTER, **parts}
    own = scenario_from_mapping(data, "mine.yaml")
    made = plan_scenarios(data, own, read_question(text, QUESTIONS, own))
    return {each.plan.name: each for each in made}


def answer(question: str) -> dict[str, dict[str, Any]]:
    """The outcome of each plan over two seeds."""
    result = ask(*question.split(), "--seeds", "2", "--json")
    assert result.exit_code == 0, result.output
    return {each["plan"]: each for each in json.loads(result.stdout)["plans"]}


@pytest.mark.parametrize("question", PLAN_QUESTIONS, ids=lambda each: each.name)
@pytest.mark.parametrize("voters", [3, 5])
def test_every_plan_is_a_valid_scenario_with_and_without_a_second_failure(
    question: Any, voters: int
) -> None:
    for each in plans_of(question.example, controllers={"count": voters}).values():
        alone, second = (
            scenario_from_mapping(made.data, "mine.yaml") for made in (each.alone, each.with_second)
        )
        assert alone.controllers.first_voters == tuple(range(voters))
        assert alone.controllers.voters, "they may change"
        assert len(second.faults) == len(alone.faults) + 1
        assert set(each.plan.others) < {*range(voters)} or question.name == "add controller"


def test_a_dead_voter_is_replaced_in_all_orders_of_three_commands() -> None:
    """The second command comes 10 s after the first; without a restart the voter stays dead."""
    plans = plans_of("replace dead controller")
    assert {name for name in plans if name.count(",") == 2} == {
        *("remove, add, restart", "remove, restart, add", "add, remove, restart"),
        *("add, restart, remove", "restart, remove, add", "restart, add, remove"),
    }
    case = plans["add, restart, remove"].plan.case
    assert [(step["do"], step["at"], step["controller"]) for step in case.steps] == [
        ("add_controller", "90s", 3),
        ("remove_controller", "110s", 2),
    ]
    assert case.faults[0]["for"] == "40s"
    assert "for" not in plans["add, remove"].plan.case.faults[0]


def test_the_second_failure_is_the_same_in_all_plans_and_spread_over_the_seeds() -> None:
    own = scenario_from_mapping(CLUSTER, "mine.yaml")
    plans = [each.plan for each in plans_of("replace controller").values()]
    begin_us = begins_us(own)
    for seed in (1, 2, 77):
        assert len({tuple(second_failure(plan, begin_us, seed).items()) for plan in plans}) == 1
    seconds, victims = [], set()
    for seed in range(1, 21):
        failure = second_failure(plans[0], begin_us, seed)
        seconds.append(int(failure["faults.second.at"].removesuffix("ms")) / 1000)
        victims.add(failure["faults.second.brokers"])
    assert victims == {'["controller:0"]', '["controller:1"]'}
    # In each ten of the sixty seconds from the first command on.
    assert {int((at - 90) // 10) for at in seconds} == set(range(6))


@pytest.mark.usefixtures("ray_here")
def test_a_controller_with_a_new_disk_is_removed_first_then_added() -> None:
    """DUPLICATE_VOTER: its id is a voter, with the old directory. Without that it is wedged."""
    plans = answer("replace controller disk")
    good, refused = plans["remove, add"], plans["add, remove"]
    assert [each["error"] for each in good["answers"]] == ["NONE", "NONE"]
    assert [each["error"] for each in refused["answers"]] == ["DUPLICATE_VOTER", "NONE"]
    assert good["with_second_failure"]["wedged"]["above_zero"] == 0
    for each in (plans["nothing"], refused):
        assert each["share_one_failure_from_stopping"] == pytest.approx(1)
        assert each["with_second_failure"]["wedged"]["above_zero"] == 2
    # KIP-1186: it removes its old entry, and adds itself, within some fetch timeouts of 2 s.
    joined = plans["auto-join"]
    assert 0.1 < joined["share_one_failure_from_stopping"] < 0.2
    assert joined["with_second_failure"]["wedged"]["above_zero"] == 0


@pytest.mark.usefixtures("ray_here")
def test_the_active_controller_hands_over_when_it_is_removed_but_not_beside_a_dead_voter() -> None:
    """Recorded as q03 and q13: the next leader after a second; or REQUEST_TIMED_OUT, and none."""
    plans = answer("remove active controller")
    assert 0 < plans["remove"]["alone"]["without_leader"]["largest"] < 4
    beside = plans["remove, a voter dead"]
    assert [each["error"] for each in beside["answers"]] == ["REQUEST_TIMED_OUT"]
    # Until the dead one is back: then the removal takes effect after all.
    assert 25 < beside["alone"]["without_leader"]["smallest"] < 40
    swapped = plans["add another, remove"]
    assert swapped["share_one_failure_from_stopping"] == 0
    assert swapped["with_second_failure"]["stopped"]["above_zero"] == 0


@pytest.mark.usefixtures("ray_here")
def test_the_answer_fits_on_a_screen_and_its_worst_run_can_be_run_again() -> None:
    result = ask("add", "controller", "by", "500ms", "--seeds", "2")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines[:-1])) <= 100
    assert "…" not in result.stdout
    assert "Answers of add a dead one: add REQUEST_TIMED_OUT" in lines
    assert "All other requests were taken." in lines
    # The third vote of four is that of the slow disk.
    slow_ms = re.search(r"writes 500ms .* (\d+) ms$", result.stdout, re.MULTILINE)
    assert slow_ms is not None
    assert int(slow_ms[1]) > 400
    longest = re.search(r"Longest without a leader \(.*, ([\d.]+) s\):", result.stdout)
    assert longest is not None
    command = shlex.split(lines[-1])[1:]
    again = CliRunner().invoke(app, [*command, "--out", "again", "--json"])
    assert again.exit_code in (0, 1), again.output
    assert (
        sorted(each.suffix for each in Path("runs/mine-add-controller").iterdir()) == [".yaml"] * 12
    )


@pytest.mark.parametrize(
    ("text", "parts", "error"),
    [
        (
            "replace controller",
            {"release": "3.8", "mode": "kraft"},
            "replace controller: voters of a quorum change from 3.9 on, not in 3.8",
        ),
        (
            "replace controller disk",
            {"release": "3.9", "mode": "zookeeper", "controllers": {}},
            "replace controller disk: the cluster has ZooKeeper, whose servers do not change",
        ),
        (
            "remove active controller",
            {"controllers": {"count": 1}},
            "the quorum has 1 voter; it needs 3 to bear a failure",
        ),
        ("replace controller for 5m", {}, "replace controller: 'for' is not a part of it"),
    ],
)
def test_a_quorum_whose_voters_do_not_change_is_one_clear_error(
    text: str, parts: dict[str, Any], error: str
) -> None:
    data = {name: part for name, part in {**CLUSTER, **parts}.items() if part}
    Path("mine.yaml").write_text(yaml.safe_dump(data))
    result = ask(*text.split())
    assert result.exit_code == 2
    assert error in result.stderr
    assert len(result.stderr.splitlines()) == 1
