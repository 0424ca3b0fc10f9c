"""From states alone to the changes of a quorum's voters behind them (KIP-853)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

import tidegauge
from real_clusters import recorded
from tidegauge.real_cluster.incident.proposal import Proposal, proposed_scenario
from tidegauge.real_cluster.incident.sightings import Sightings, log_sightings
from tidegauge.real_cluster.logs.log_files import found_logs
from tidegauge.real_cluster.logs.logged_run import write_run
from tidegauge.real_cluster.logs.real_history import real_history
from tidegauge.runs.quorum import voters_over_time
from tidegauge.runs.run import Run
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.simulation.quantities import parse_duration

S = 1_000_000
LOST_DISK = "kraft-4.4.0-q07_lost_disk_auto_join"
CLUSTER: dict[str, Any] = {
    "name": "changes",
    "duration": "60s",
    "release": "4.4",
    "cluster": {"brokers": 2, "start_spread": "0s"},
    "topics": [{"name": "orders", "partitions": 1, "replication_factor": 2}],
    "liveness": False,
}


def run_of(**parts: Any) -> Run:
    folder = Path(mkdtemp()) / "run"
    tidegauge.run(scenario_from_mapping(CLUSTER | parts, "changes"), out=folder)
    return Run(folder)


@cache
def lost_disk() -> tuple[Run, Proposal]:
    """A controller is killed, its directory is emptied, and it joins again by itself."""
    logs = recorded(LOST_DISK, Path(mkdtemp()))
    found = found_logs(logs)
    run = write_run(real_history(found), Path(mkdtemp()) / "run")
    sightings = log_sightings(found.files, run.manifest["logs"])
    return Run(run.path), proposed_scenario(Run(run.path), sightings=sightings)


def test_a_controller_that_replaces_its_own_key_has_lost_its_disk() -> None:
    """KIP-1186: with automatic join neither its removal nor its addition is the operator's."""
    _, proposal = lost_disk()
    controllers = proposal.data["controllers"]
    assert (controllers["count"], controllers["voters"]) == (3, [0, 1, 2])
    assert controllers["settings"]["controller.quorum.auto.join.enable"] is True
    (fault,) = proposal.data["faults"]
    assert (fault["kind"], fault["brokers"]) == ("disk_loss", ["controller:1"])
    assert [step["do"] for step in proposal.data["steps"]] == ["create_topic"]


def test_the_proposed_run_has_the_same_voters_as_the_logs() -> None:
    run, proposal = lost_disk()
    folder = Path(mkdtemp()) / "again"
    tidegauge.run(proposal.scenario, out=folder)
    changes = [
        [(each.time_us, [key.partition("#")[2] for key in each.voters]) for each in sets[-2:]]
        for sets in (voters_over_time(run), voters_over_time(Run(folder)))
    ]
    assert [[numbers for _, numbers in each] for each in changes] == [
        [["1", "1"], ["1", "2", "1"]]
    ] * 2
    for (logged_us, _), (played_us, _) in zip(*changes, strict=True):
        assert abs(logged_us - proposal.earlier_us - played_us) < 1_000_000


def steps_of(proposal: Proposal) -> list[tuple[str, int, int]]:
    """The steps that change voters: their names, controllers and times in whole seconds."""
    return [
        (step["do"], step["controller"], round(parse_duration(step["at"]) / 1e6))
        for step in proposal.data["steps"]
        if step["do"].endswith("_controller")
    ]


def test_steps_that_change_voters_are_proposed() -> None:
    """The active controller leaves by its own removal: that is no fault."""
    run = run_of(
        controllers={"count": 4, "voters": [0, 1, 2]},
        steps=[
            {"do": "add_controller", "at": "10s", "controller": 3},
            {"do": "remove_controller", "at": "20s", "controller": 2},
            {"do": "remove_controller", "at": "30s", "controller": 0},
        ],
    )
    proposal = proposed_scenario(run)
    # 3003 is the next active one, so it is controller:1 there, and 3002 is controller:3.
    assert proposal.data["controllers"]["voters"] == [0, 2, 3]
    lead_s = round(proposal.earlier_us / 1e6)
    assert [(do, number, at_s + lead_s) for do, number, at_s in steps_of(proposal)] == [
        ("add_controller", 1, 10),
        ("remove_controller", 3, 20),
        ("remove_controller", 0, 30),
    ]
    assert "faults" not in proposal.data


def test_a_controller_that_starts_later_and_joins_has_its_start() -> None:
    """Recording q04: a new controller is a voter by automatic join, which is no step."""
    settings = {"controller.quorum.auto.join.enable": True}
    controllers = {"count": 4, "voters": [0, 1, 2], "start": {3: "15s"}, "settings": settings}
    run = run_of(controllers=controllers)
    lines = {node: [(0, 60 * S)] for node in (3000, 3001, 3002)} | {3003: [(15 * S, 60 * S)]}
    proposal = proposed_scenario(run, sightings=Sightings(lines_us=lines))
    proposed = proposal.data["controllers"]
    assert (proposed["count"], proposed["voters"]) == (4, [0, 1, 2])
    start_us = parse_duration(proposed["start"][3]) + proposal.earlier_us
    assert start_us == pytest.approx(15 * S, abs=1000)
    assert steps_of(proposal) == []


def test_a_replaced_disk_without_automatic_join_has_steps() -> None:
    """Recording q06: the operator removes the old key, and adds the new one."""
    run = run_of(
        controllers={"count": 3, "voters": [0, 1, 2]},
        faults=[{"kind": "disk_loss", "brokers": ["controller:2"], "at": "10s", "for": "5s"}],
        steps=[
            {"do": "remove_controller", "at": "20s", "controller": 2, "directory": 1},
            {"do": "add_controller", "at": "30s", "controller": 2},
        ],
    )
    proposal = proposed_scenario(run)
    assert [fault["kind"] for fault in proposal.data["faults"]] == ["disk_loss"]
    steps = [(step["do"], step.get("directory")) for step in proposal.data["steps"]]
    assert steps[1:] == [("remove_controller", 1), ("add_controller", 2)]


@pytest.mark.parametrize(
    ("steps", "proposed"),
    [
        pytest.param([], [], id="static"),
        pytest.param(
            [{"do": "update_features", "at": "20s", "kraft_version": 1}],
            ["update_features"],
            id="raised",
        ),
    ],
)
def test_static_voters_are_proposed_without_voters(
    steps: list[dict[str, Any]], proposed: list[str]
) -> None:
    """KAFKA-16538: with kraft.version 1 the log names the directories of the same voters."""
    proposal = proposed_scenario(run_of(controllers={"count": 3}, steps=steps))
    assert "voters" not in proposal.data["controllers"]
    assert [step["do"] for step in proposal.data["steps"]] == ["create_topic", *proposed]
