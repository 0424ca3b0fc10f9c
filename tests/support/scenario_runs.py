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
    """The run of a scenario in a folder that is new; its producers' figures are consistent."""
    run = simulate(scenario, folder)
    assert_offered_adds_up(scenario, run)
    return run


def assert_offered_adds_up(scenario: Scenario, run: RunFolder) -> None:
    """Each record offered is in one place, and no send has waited for longer than it may.

    A batch expires after delivery.timeout.ms, in flight or not; an application waits in send() for
    max.block.ms (KIP-91).
    """
    summary = run.summary
    assert summary is not None
    outcomes = ("acknowledged", "failed", "unsent", "in_flight")
    counts = {name: summary[f"records_{name}"] for name in outcomes}
    assert sum(counts.values()) == summary["records_offered"], counts
    for group in scenario.workload.producers:
        settings = scenario.producer_settings(group)
        if "delivery.timeout.ms" in settings:
            longest_ms = max(settings["delivery.timeout.ms"], settings["max.block.ms"])
            assert summary["produce_ms"][group.name]["max"] <= longest_ms, group.name


def rows_of(run: RunFolder, kind: str, **columns: int) -> list[TraceRow]:
    """All rows of a kind, in order, whose columns have these values."""
    return [
        row for row in run.rows(kind) if all(row[name] == value for name, value in columns.items())
    ]
