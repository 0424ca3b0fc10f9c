"""``manifest.json``: the scenario of a run, and the names for the numbers in its rows."""

from __future__ import annotations

from typing import Any

from tidegauge.scenario.cluster_directory import directory_of
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.left_to_chance import left_to_chance
from tidegauge.simulation.trace_rows.schema import SCHEMA_VERSION, tidegauge_version
from tidegauge.traces.run_files import FORMAT


def manifest_of(plan: ClusterPlan, over_seeds: str | None = None) -> dict[str, Any]:
    """The manifest: the resolved scenario, and the names for its numbers.

    Args:
        plan: the scenario.
        over_seeds: the command that runs it with other seeds.
    """
    scenario = plan.scenario
    return {
        "format": FORMAT,
        "tidegauge": tidegauge_version(),
        "schema_version": SCHEMA_VERSION,
        "scenario": scenario.resolved(),
        "seed": scenario.seed,
        "trace": scenario.trace,
        "switches": dict(plan.switches),
        "left_to_chance": left_to_chance(scenario),
        "over_seeds": over_seeds,
        **directory_of(plan),
    }
