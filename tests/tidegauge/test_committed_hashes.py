"""What four scenarios come to, compared with what was committed.

A difference is a change of meaning: it is put into the change log, and the new hash into
``tests/data/hashes.json`` (the test prints it).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import load_scenario
from tidegauge.scenario.shipped import shipped_scenarios

DATA = Path(__file__).parents[1] / "data"
COMMITTED: dict[str, str] = json.loads((DATA / "hashes.json").read_text())
OWN = {name: DATA / "scenarios" / f"{name}.yaml" for name in ("small-cluster", "kraft-cluster")}
FILES = shipped_scenarios() | OWN


@pytest.mark.parametrize("name", COMMITTED)
def test_a_scenario_still_comes_to_its_committed_hash(name: str, tmp_path: Path) -> None:
    run = simulate(load_scenario(FILES[name]), tmp_path)
    assert run.summary is not None
    assert run.summary["trace_sha256"] == COMMITTED[name]
