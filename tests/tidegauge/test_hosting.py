"""In one process or in actors of Ray: the options, the default, and the line that says it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tidegauge.commands.performing import hosted
from tidegauge.commands.shared_options import Hosting
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import load_scenario

SCENARIO = """\
name: tiny
duration: 4s
release: "2.6"
cluster: {brokers: 2}
topics: [{name: orders, partitions: 1, replication_factor: 2}]
workload:
  producers: [{name: shop, topics: [orders], batches_per_second: 5, stop: 3s}]
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    file = tmp_path / "tiny.yaml"
    file.write_text(SCENARIO)
    return file


#: A program that runs a command, and prints which of these modules it has imported.
WATCHED_IMPORTS = """
import sys
from tidegauge.command_line import app
app(sys.argv[1:], standalone_mode=False)
print("imported:", [name for name in ("ray", "pyspark") if name in sys.modules])
"""


def test_a_run_is_inline_by_default_and_says_so(tiny: Path, tmp_path: Path) -> None:
    """One process is faster than actors here; Ray alone takes seconds to start."""
    command = [sys.executable, "-c", WATCHED_IMPORTS, "run", str(tiny), "--out"]
    result = subprocess.run(
        [*command, str(tmp_path / "run")], capture_output=True, text=True, check=True
    )
    told = "inline: done before Ray would have started (--ray: in actors of Ray)"
    assert f"into {tmp_path / 'run'}; {told}" in result.stdout
    assert "imported: []" in result.stdout


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (Hosting(inline=True), "inline"),
        (Hosting(ray=True), "in actors of Ray"),
        (Hosting(actors=2), "in actors of Ray"),
        (Hosting(address="host:6379"), "in actors of Ray"),
    ],
)
def test_options_decide_where_processes_run(asked: Hosting, told: str, tiny: Path) -> None:
    plan = ClusterPlan(load_scenario(tiny))
    assert hosted(asked, plan) == asked
    assert hosted(asked, plan).description(asked) == told


def two_regions(*, are_apart: bool) -> dict[str, object]:
    """Ten brokers in two regions for ten minutes; a topic is in one region, or in both."""
    regions = {"east": [1, 2, 3, 4, 5], "west": [6, 7, 8, 9, 10]}
    names = ("east", "west")
    replicas = {
        "east": [1, 2, 3] if are_apart else [1, 6, 2],
        "west": [6, 7, 8] if are_apart else [7, 3, 8],
    }
    return {
        "duration": "10m",
        "cluster": {"brokers": 10, "racks": regions},
        "network": {"between_racks": "20ms"},
        "topics": [{"name": name, "assignment": {0: replicas[name]}} for name in names],
        "workload": {
            "producers": [
                {"name": name, "topics": [name], "batches_per_second": 15_000, "rack": name}
                for name in names
            ]
        },
    }


def test_regions_without_much_between_them_run_in_actors(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two actors take 0.5 to 0.6 of the time of one process then."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    choice = hosted(Hosting(), ClusterPlan(load_scenario(tiny, two_regions(are_apart=True))))
    assert (choice.ray, choice.actors) == (True, 2)
    told = "in 2 actors of Ray: 0% of the batches go between them (--inline: without)"
    assert choice.description(Hosting()) == told


def test_replicas_that_are_in_both_regions_keep_a_run_inline(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    choice = hosted(Hosting(), ClusterPlan(load_scenario(tiny, two_regions(are_apart=False))))
    assert choice.inline
    told = "inline: 33% of the batches would go between 2 actors (--ray: in actors of Ray)"
    assert choice.description(Hosting()) == told


def test_one_cpu_has_one_process(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    choice = hosted(Hosting(), ClusterPlan(load_scenario(tiny, two_regions(are_apart=True))))
    assert (choice.inline, choice.reason) == (True, "there is one CPU")
