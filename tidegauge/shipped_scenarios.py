"""The scenarios that come with Tidegauge, and how one is found by its name."""

from __future__ import annotations

from pathlib import Path

import tidegauge.scenarios
from tidegauge.simulation.scenario import ScenarioError
from tidegauge.simulation.scenario_errors import did_you_mean

FOLDER = Path(tidegauge.scenarios.__file__).parent


def shipped_scenarios() -> dict[str, Path]:
    """Every scenario that comes along, by its name."""
    return {file.stem: file for file in sorted(FOLDER.rglob("*.yaml"))}


def find_scenario(name: str) -> Path:
    """The file of a scenario: a path, or the name of one that comes along.

    Raises:
        ScenarioError: there is neither.
    """
    file = Path(name)
    if file.suffix in {".yaml", ".yml"} or file.exists():
        return file
    shipped = shipped_scenarios()
    if name in shipped:
        return shipped[name]
    raise ScenarioError(
        f"{name}: no such file, and no scenario of that name comes along; "
        f"{did_you_mean(name, shipped)} (tidegauge scenarios lists them)"
    )
