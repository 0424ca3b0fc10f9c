"""Figures of a quorum: how near it was to its end, and what it cost (KIP-853)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from scenario_runs import run_of
from tidegauge.command_line import app
from tidegauge.replication.voter_set import unpack
from tidegauge.runs.quorum import answered_changes
from tidegauge.runs.quorum_margin import margin_spans, quorum_figures
from tidegauge.runs.run import Run
from tidegauge.scenario.reading import scenario_from_mapping


def quorum_run(
    folder: Path,
    *steps: dict[str, Any],
    faults: list[dict[str, Any]],
    controllers: dict[str, Any] | None = None,
) -> Run:
    """A minute of a cluster with one broker and three voters that may change."""
    scenario = {
        "release": "4.4",
        "mode": "kraft",
        "duration": "60s",
        "liveness": False,
        "cluster": {"brokers": 1},
        "controllers": controllers or {"count": 3, "voters": [0, 1, 2]},
        "topics": [{"name": "orders", "partitions": 1, "replication_factor": 1}],
        "faults": faults,
        "steps": list(steps),
    }
    return Run(run_of(scenario_from_mapping(scenario, "quorum"), folder).path)


def down(controller: int, at_s: int, for_s: int, kind: str = "crash") -> dict[str, Any]:
    name = f"controller:{controller}"
    return {"kind": kind, "at": f"{at_s}s", "for": f"{for_s}s", "brokers": [name]}


def courses(run: Run) -> list[tuple[float, int, int, bool]]:
    """From when on a quorum had so many voters, with what margin, and whether it was wedged."""
    return [
        (
            round(span.begin_us / 1e6, 1),
            len(unpack(span.margin.voters)),
            span.margin.beyond,
            span.margin.is_wedged,
        )
        for span in margin_spans(run)
    ]


def test_a_voter_that_is_down_or_paused_is_one_less_beyond_the_majority(tmp_path: Path) -> None:
    """Of three voters two are a majority. The start of a controller takes 0.7 s."""
    run = quorum_run(tmp_path / "r", faults=[down(2, 20, 10), down(1, 40, 10, "pause")])
    assert courses(run) == [
        *((0.0, 3, 1, False), (20.0, 3, 0, False), (30.7, 3, 1, False)),
        *((40.0, 3, 0, False), (50.0, 3, 1, False)),
    ]
    assert quorum_figures(run)["quorum.no_margin_seconds"] == pytest.approx(20.7)


def test_a_controller_with_a_new_disk_is_no_voter_and_wedges_the_quorum(tmp_path: Path) -> None:
    """Recorded as q18: two of three controllers run, and no leader can be elected."""
    run = quorum_run(tmp_path / "r", faults=[down(2, 10, 5, "disk_loss"), down(1, 30, 60)])
    assert courses(run) == [(0.0, 3, 1, False), (10.0, 3, 0, False), (30.0, 3, -1, True)]
    figures = quorum_figures(run)
    assert figures["quorum.wedged_seconds"] == figures["quorum.stopped_seconds"] == 30
    # The leader goes 1.5 fetch timeouts after the last fetch of a majority.
    assert 26 < figures["quorum.leaderless_longest_seconds"] < 28
    assert figures["quorum.commit_gap_seconds"] > 30
    assert figures["quorum.margin"] == -1


def test_static_voters_are_known_by_their_ids(tmp_path: Path) -> None:
    """With controller.quorum.voters an empty disk makes no other voter."""
    faults = [down(2, 10, 5, "disk_loss")]
    run = quorum_run(tmp_path / "r", faults=faults, controllers={"count": 3})
    assert courses(run) == [(0.0, 3, 1, False), (10.0, 3, 0, False), (15.7, 3, 1, False)]


def test_a_removal_that_timed_out_takes_effect_when_the_dead_voter_is_back(tmp_path: Path) -> None:
    """Recorded as q13: the active controller is removed beside a dead voter."""
    run = quorum_run(
        tmp_path / "r",
        {"do": "remove_controller", "at": "20s", "controller": 0},
        faults=[down(2, 10, 30)],
    )
    (answer,) = answered_changes(run)
    assert (answer.change, answer.voter, answer.error) == ("remove", "3000#1", "REQUEST_TIMED_OUT")
    figures = quorum_figures(run)
    assert (figures["quorum.changes"], figures["quorum.changes_timed_out"]) == (0, 1)
    # The record is in the logs of both that run, and they need each other now.
    assert courses(run)[2][1:] == (2, -1, True)
    assert (figures["quorum.voters"], figures["quorum.margin"]) == (2, 0)


def test_a_slow_voter_whose_vote_is_needed_makes_every_commit_slow(tmp_path: Path) -> None:
    """Of four voters three are a majority: without the dead one that of the slow disk counts."""
    slow = {"kind": "slow_disk", "at": "5s", "brokers": ["controller:3"], "delay": "200ms"}
    add = {"do": "add_controller", "at": "10s", "controller": 3}
    controllers = {"count": 4, "voters": [0, 1, 2]}
    waits_ms = []
    for name, faults in (("all", [slow]), ("one dead", [slow, down(2, 15, 60)])):
        run = quorum_run(tmp_path / name, add, faults=faults, controllers=controllers)
        waits_ms.append(quorum_figures(run)["quorum.commit_ms.p95"])
    assert waits_ms[0] < 100
    assert waits_ms[1] > 200


def test_a_sweep_has_the_figures_of_a_quorum_and_zookeeper_has_none() -> None:
    listed = CliRunner().invoke(app, ["sweep", "quickstart", "--figures", "--json"])
    names = {each["figure"] for each in json.loads(listed.stdout)}
    assert {"quorum.no_margin_seconds", "quorum.wedged_seconds", "quorum.voters"} < names
    listed = CliRunner().invoke(app, ["sweep", "quickstart-zookeeper", "--figures", "--json"])
    assert not [each for each in json.loads(listed.stdout) if each["figure"].startswith("quorum.")]
