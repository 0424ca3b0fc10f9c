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
    assert f"into {tmp_path / 'run'}; inline (--ray: in actors of Ray)" in result.stdout
    assert "imported: []" in result.stdout


@pytest.mark.parametrize(
    ("asked", "decided", "told"),
    [
        (Hosting(), Hosting(inline=True), "inline (--ray: in actors of Ray)"),
        (Hosting(inline=True), Hosting(inline=True), "inline"),
        (Hosting(ray=True), Hosting(ray=True), "in actors of Ray"),
        (Hosting(actors=2), Hosting(actors=2), "in actors of Ray"),
        (Hosting(address="host:6379"), Hosting(address="host:6379"), "in actors of Ray"),
    ],
)
def test_options_decide_where_processes_run(
    asked: Hosting, decided: Hosting, told: str, tiny: Path
) -> None:
    plan = ClusterPlan(load_scenario(tiny))
    assert hosted(asked, plan) == decided
    assert hosted(asked, plan).description(asked) == told


def test_racks_that_are_far_apart_and_busy_run_in_actors(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows as long as the way between racks hold enough events for two groups then."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    busy = {"name": "shop", "topics": ["orders"], "batches_per_second": 30_000, "stop": "3s"}
    latency = {"min": "20ms", "p50": "25ms", "p99": "30ms"}
    far = {
        "cluster": {"brokers": 10, "racks": ["a", "b"]},
        "network": {"between_racks": latency, "clients": latency},
        "topics": [{"name": "orders", "partitions": 10, "replication_factor": 2}],
        "workload": {"producers": [busy]},
    }
    plan = ClusterPlan(load_scenario(tiny, far))
    assert hosted(Hosting(), plan) == Hosting(ray=True, actors=2)
    assert (
        hosted(Hosting(), plan).description(Hosting()).startswith("in 2 actors of Ray, faster here")
    )
