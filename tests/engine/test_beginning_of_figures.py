"""Start-up does not count: where the figures of a run begin (``traces/checks/figures.py``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plain_reader import PlainReader
from small_clusters import cluster_of, producers_of
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.engine.simulate import simulate

CRASH = {"kind": "crash", "at": "3s", "for": "1s", "brokers": [1]}


def figures_of(folder: Path, **parts: Any) -> dict[str, Any]:
    """The summary of a run, after two other counts of it have come to the same figures."""
    run = simulate(cluster_of({"zookeeper.session.timeout.ms": 1000}, **parts), folder / "run")
    summary = run.summary
    assert summary is not None
    plain = PlainReader(run).counted()
    assert {name: summary[name] for name in plain} == plain
    (table,) = RunTables([run.path], folder / "tables").rows("select * from run_figures")
    shared = table.keys() & summary.keys()
    assert {name: table[name] for name in shared} == {name: summary[name] for name in shared}
    return summary


def test_the_wait_for_the_first_leader_is_no_unavailability(tmp_path: Path) -> None:
    """Brokers 1 and 2 start after half a second: the election that follows is not counted."""
    figures = figures_of(tmp_path)
    assert 0.5 < figures["figures_from_seconds"] < 1.5
    assert figures["partition_seconds_offline"] == 0
    assert figures["partition_seconds_not_accepting"] == 0
    assert figures["leader_elections"] == 0


def test_a_scenario_can_say_from_when_on_it_is_measured(tmp_path: Path) -> None:
    """From the start, the same wait counts in full, with the first election."""
    figures = figures_of(tmp_path / "start", measure_from="0s")
    assert figures["figures_from_seconds"] == 0
    assert 0.001 < figures["partition_seconds_not_accepting"] < 1
    assert figures["leader_elections"] == 1
    late = figures_of(tmp_path / "late", measure_from="4500ms", faults=[CRASH])
    assert late["figures_from_seconds"] == 4.5
    assert late["isr_removals"] == 0


def test_a_crash_after_start_up_counts(tmp_path: Path) -> None:
    figures = figures_of(tmp_path, faults=[CRASH])
    assert figures["partition_seconds_not_accepting"] > 0
    assert figures["leader_elections"] >= 1


@pytest.mark.parametrize("brokers", [[1], [1, 2, 3]])
def test_a_fault_before_the_first_leader_counts(tmp_path: Path, brokers: list[int]) -> None:
    """Its costs must not hide in a start-up that it makes longer."""
    early = CRASH | {"at": "400ms", "for": "3s", "brokers": brokers}
    figures = figures_of(tmp_path, faults=[early])
    assert figures["figures_from_seconds"] == pytest.approx(0.4)


def test_the_broken_start_of_a_partition_counts(tmp_path: Path) -> None:
    """A leader that never comes: there is no other beginning than that of the run."""
    figures = figures_of(
        tmp_path,
        cluster={"brokers": 3, "start": {3: "0s", 1: "20s", 2: "20s"}},
        topics=[{"name": "story", "assignment": {0: [1, 2]}}],
        workload={"producers": [producers_of(10, "1s", "4s")]},
    )
    assert figures["figures_from_seconds"] == 0
