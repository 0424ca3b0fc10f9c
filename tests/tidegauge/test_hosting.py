"""In one process or in actors of Ray: the options, the default, and the line that says it."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tidegauge.commands.performing import hosted
from tidegauge.commands.shared_options import Hosting
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import load_scenario
from tidegauge.scenario.shipped import find_scenario

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
        [*command, str(tmp_path / "run"), "-v"], capture_output=True, text=True, check=True
    )
    told = "inline: 0.0 million events, and actors pay from 12 million on (--ray: in actors of Ray)"
    assert f"\n{told}\n" in result.stdout
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


#: Pairs on two cores (docs/ray.md): actors are faster in the last alone.
MEASURED = [
    ("reassignment", {}, None),
    ("large-cluster", {}, None),
    (
        "rack-power-loss",
        {"duration": "75s", "faults.power.at": "45s", "faults.power.for": "15s"},
        None,
    ),
    ("rack-power-loss", {"duration": "8m", "faults": []}, None),
    ("rack-power-loss", {}, 2),
]


@pytest.mark.parametrize(("name", "changes", "actors"), MEASURED)
def test_the_choice_is_what_was_measured_to_be_faster(
    name: str, changes: dict[str, object], actors: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the batches go between actors: they save a sixth, and Ray has to start."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert (
        hosted(Hosting(), ClusterPlan(load_scenario(find_scenario(name), changes))).actors == actors
    )


@pytest.mark.parametrize(
    ("minutes", "are_apart", "told"),
    [
        (5, True, "in 2 actors of Ray: 26.9 million events, and with 0% of the batches between"),
        (5, False, "inline: 26.9 million events, and with 33% of the batches between"),
        (
            11,
            False,
            "in 2 actors of Ray: 59.4 million events, and with 33% of the batches between",
        ),
    ],
)
def test_the_more_goes_between_regions_the_longer_a_run_has_to_be_for_actors(
    minutes: int, are_apart: bool, told: str, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    changes = {**two_regions(are_apart=are_apart), "duration": f"{minutes}m"}
    choice = hosted(Hosting(), ClusterPlan(load_scenario(tiny, changes)))
    pays_from = 12 if are_apart else 40
    assert choice.description(Hosting()).startswith(told)
    assert f"2 actors these pay from {pays_from} million on" in choice.description(Hosting())


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "changes"),
    [("cut-and-pause", {}), ("rack-power-loss", {"duration": "8m", "faults": []})],
)
def test_the_default_is_not_a_tenth_slower_than_the_best_choice(
    name: str, changes: dict[str, object], tmp_path: Path
) -> None:
    """Commands as a user gives them, in turn; the least of two times, as others use the machine."""
    words = [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]
    choices = {"default": [], "inline": ["--inline"], "actors": ["--actors", "2"]}
    seconds = dict.fromkeys(choices, math.inf)
    for turn in range(2):
        for choice, options in choices.items():
            out = tmp_path / f"{choice}-{turn}"
            command = [sys.executable, "-m", "tidegauge", "run", name, *options, *words]
            began_s = time.perf_counter()
            subprocess.run([*command, "--out", str(out)], capture_output=True, check=True)
            seconds[choice] = min(seconds[choice], time.perf_counter() - began_s)
    assert seconds["default"] <= 1.1 * min(seconds["inline"], seconds["actors"]), seconds


def test_one_cpu_has_one_process(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    choice = hosted(Hosting(), ClusterPlan(load_scenario(tiny, two_regions(are_apart=True))))
    assert (choice.inline, choice.reason) == (True, "there is one CPU")
