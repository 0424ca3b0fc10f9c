"""Running a scenario in a test: through the public door, into a folder of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.scenario.shipped import shipped_scenarios
from tidegauge.scenario.text.yaml_file import read_scenario_file
from tidegauge.traces.run_folder import RunFolder, TraceRow


def shipped(name: str, changes: Mapping[str, Any] | None = None) -> Scenario:
    """A scenario that comes along, with some of its top-level parts exchanged.

    What the file does not say comes from the changes: another release has its own defaults. The
    story ends with the run: there is no liveness phase unless the changes ask for it.
    """
    written = read_scenario_file(shipped_scenarios()[name]).data
    assert isinstance(written, dict)
    return scenario_from_mapping({**written, "liveness": False, **(changes or {})}, name)


def run_of(scenario: Scenario, folder: Path) -> RunFolder:
    """The run of a scenario in a folder that is new."""
    return simulate(scenario, folder)


def rows_of(run: RunFolder, kind: str, **columns: int) -> list[TraceRow]:
    """All rows of a kind, in order, whose columns have these values."""
    return [
        row for row in run.rows(kind) if all(row[name] == value for name, value in columns.items())
    ]
