"""Runs in which every event leaves a state that can be: ``make checked`` validates after each.

As a part of the other tests they are validated less often, and the long ones left out.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fault_schedules import schedule
from gates import assert_met
from kraft_schedules import kraft_schedule
from scenario_runs import run_of, shipped
from tidegauge.scenario.reading import scenario_from_mapping

pytestmark = pytest.mark.long

#: The liveness phase, too: it begins by ending all faults at once.
SCHEDULES = range(100, 120)


@pytest.mark.parametrize("name", ["quickstart", "quickstart-zookeeper"])
def test_quickstart(name: str, tmp_path: Path) -> None:
    """Its first fault alone: a broker is killed, and comes back."""
    crash = {"name": "crash", "kind": "crash", "at": "30s", "for": "40s", "brokers": [2]}
    run = run_of(shipped(name, {"duration": "75s", "faults": [crash]}), tmp_path / "run")
    assert run.summary is not None
    assert run.summary["events"] > 50_000


@pytest.mark.parametrize("seed", SCHEDULES)
def test_a_generated_schedule_of_faults(seed: int, tmp_path: Path) -> None:
    story = schedule(seed).resolved() | {"liveness": True}
    run = run_of(scenario_from_mapping(story, f"schedule-{seed}"), tmp_path / "run")
    assert_met(run)


@pytest.mark.parametrize("seed", range(10))
def test_a_generated_schedule_of_a_kraft_cluster(seed: int, tmp_path: Path) -> None:
    run = run_of(kraft_schedule(seed), tmp_path / "run")
    assert_met(run)
