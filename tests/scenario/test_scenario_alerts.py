"""What a scenario expects of alert rules: how it is written, and that a run takes no notice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import Scenario, ScenarioError, scenario_from_mapping

CRASH = {"kind": "crash", "brokers": [1], "at": "1m", "for": "2m"}


def scenario_of(alerts: Any, **parts: Any) -> Scenario:
    story = {
        "duration": "10m",
        "release": "2.6",
        "cluster": {"brokers": 3},
        "faults": [CRASH],
        **parts,
    }
    return scenario_from_mapping(story | {"alerts": alerts}, "night.yaml")


def test_lateness_counts_from_the_first_fault_and_clearing_from_the_end_of_the_last() -> None:
    later = CRASH | {"at": "4m", "brokers": [2]}
    scenario = scenario_of({"fire": {"Under": "1m"}}, faults=[later, CRASH])
    assert (scenario.trouble_begins_us(), scenario.trouble_ends_us()) == (60_000_000, 360_000_000)


def test_a_scenario_can_say_itself_when_the_trouble_begins_and_ends() -> None:
    scenario = scenario_of({"after": "2m", "repaired": "150s"})
    assert (scenario.trouble_begins_us(), scenario.trouble_ends_us()) == (120_000_000, 150_000_000)


def test_all_are_silent_but_those_that_fire_or_may() -> None:
    alerts = scenario_of({"fire": {"A": "1m"}, "silent": "all", "may_fire": ["B"]}).alerts
    assert alerts is not None
    assert [alerts.stays_silent(name) for name in "ABC"] == [False, False, True]


def test_what_is_expected_can_be_written_down_and_read_again() -> None:
    scenario = scenario_of({"fire": {"A": "90s"}, "clear": {"A": "1m"}, "silent": ["B"]})
    again = scenario_from_mapping(json.loads(json.dumps(scenario.resolved())), "manifest.json")
    assert again == scenario


@pytest.mark.parametrize(
    ("alerts", "problem"),
    [
        ({"fyre": {}}, "alerts.fyre: unknown name; did you mean fire?"),
        ({"fire": ["A"]}, "alerts.fire: must be a mapping"),
        ({"fire": {"A": 90}}, "alerts.fire.A: must be a duration"),
        ({"fire": {"A": "9h"}}, "alerts.fire.A: is due by 541m, and the run ends at 10m"),
        ({"silent": "none"}, "alerts.silent: must be all, or a list of alerts, not 'none'"),
        ({"silent": ["A", "A"]}, "alerts.silent: A appears twice"),
        ({"fire": {"A": "1m"}, "silent": ["A"]}, "alerts.silent[0]: A is in `fire`, too"),
        ({"clear": {"A": "1m"}}, "alerts.clear.A: is resolved at some time"),
        ({"may_fire": ["A"]}, "alerts.may_fire: has a meaning only together with `silent: all`"),
        ({"after": "1h"}, "alerts.after: 1h is too late"),
    ],
)
def test_what_cannot_be_expected_is_refused_in_one_line(alerts: Any, problem: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario_of(alerts)
    (line,) = str(refused.value).splitlines()
    assert line.startswith(f"night.yaml: {problem}")


def test_an_alert_that_is_late_needs_something_to_be_late_after() -> None:
    with pytest.raises(ScenarioError, match=r"alerts\.after: is missing"):
        scenario_of({"fire": {"A": "1m"}}, faults=[])


def test_expecting_something_of_alerts_does_not_change_the_run(tmp_path: Path) -> None:
    hashes = set()
    for name, alerts in (("plain", None), ("expecting", {"silent": "all"})):
        scenario = scenario_of(alerts, duration="4m", liveness=False)
        run = simulate(scenario, tmp_path / name)
        assert run.summary is not None
        hashes.add(run.summary["trace_sha256"])
    assert len(hashes) == 1
